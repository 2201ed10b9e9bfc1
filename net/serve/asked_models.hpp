#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <net/rpc/dispatcher.hpp>
#include <net/rpc/service.hpp>
#include <net/serve/model_table.hpp>
#include <net/wire/calls.hpp>

/// What a server's clients ask of the models that are served there.

namespace tenon::net {

/// Thread-safe. Calls return before what they begin has ended.
class asked_models {
public:
    model_table& models() noexcept { return models_; }

    /// Enters what clients ask.
    void handle(dispatcher& calls);
    void cancelled(link_number client, std::uint64_t request);
    /// Nobody waits for what it has asked.
    void peer_lost(link_number client);

private:
    using asked = std::shared_ptr<tenon::detail::asked_request>;
    any_served_model find(const std::string& name) const;
    void ask(link_number client, ask_model&& c, replier& answer);

    model_table models_;
    // Those that are under way, by link and call. Shared with what they call when they have ended, which may be after this has.
    struct under_way {
        std::mutex guard;
        std::map<std::pair<link_number, std::uint64_t>, asked> all;
    };
    const std::shared_ptr<under_way> requests_ = std::make_shared<under_way>();
};

} // namespace tenon::net
