#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <net/rpc/service.hpp>
#include <net/wire/calls.hpp>
#include <tenon/resources/iterator.hpp>

/// The data sets of a session's client, as the iterators of its master's task see them: what they are asked, the client is asked.

namespace tenon::net {

/// Thread-safe. The client waits to be asked, by a call that is answered then.
class client_data final : public element_sources, public std::enable_shared_from_this<client_data> {
public:
    client_data(std::string client, std::size_t most_open) : client_(std::move(client)), most_open_(most_open) {}

    std::shared_ptr<const element_source> find(std::uint64_t number,
                                               const std::vector<tensor_type>& components) override;
    void describe(resource_info& to) const override { to.description = client_; }
    /// The client can be asked: the answer is what.
    void wait_to_be_asked(replier&& client);
    /// What it was asked.
    void take(give_data&& given);
    /// Nothing is asked any more; who waits is told why.
    void end(const std::exception_ptr& why) noexcept;

    /// Asks the client and waits for its answer; throws the error that it gives, and cancelled_error where the thread's stop_source is
    /// stopped first.
    give_data ask(data_wanted what);
    /// The number of a stream, until it is closed. resource_exhausted_error where too many are open: each has a thread.
    std::uint64_t new_stream();
    /// It is not wanted any more.
    void close(std::uint64_t stream) noexcept;

private:
    struct asked;
    void send(std::unique_lock<std::mutex>& lock);

    const std::string client_;
    const std::size_t most_open_;
    std::mutex guard_; // of what follows
    std::vector<data_wanted> to_ask_;
    replier to_;
    std::map<std::uint64_t, std::shared_ptr<asked>> asked_; // by request
    std::uint64_t requests_ = 0, streams_ = 0;
    std::size_t open_ = 0;
    std::exception_ptr ended_;
};

} // namespace tenon::net
