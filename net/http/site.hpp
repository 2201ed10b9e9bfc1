#pragma once

#include <memory>
#include <optional>
#include <string>

#include <net/http/respond.hpp>
#include <net/http/shown_token.hpp>
#include <net/http/status/cluster_view.hpp>
#include <net/http/status/facts.hpp>

/// What is served where: /, /status.json, /metrics, /healthz, /readyz.

namespace tenon::net {

struct site_options {
    std::string token = {}; ///< empty: nothing has to be shown
    bool is_secure = false; ///< HTTPS: cookies are for it alone
};

/// Used by one thread.
class site {
public:
    /// Outlived by `of`. `came` is called by any thread, also after this has ended, when a request that had no answer may have one.
    site(http_facts& of, const site_options& o, std::function<void()> came);

    /// The response to a request's head; nothing where it waits for what other tasks say, unless it is the last time.
    std::optional<std::string> answer(const std::string& head, bool is_last);

private:
    http_reply reply_to(const http_request& r);
    http_reply page_for(const http_request& r);
    http_reply status();
    bool shows_token(const http_request& r) const;

    http_facts& of_;
    const token_check token_;
    const bool is_secure_;
    cluster_view cluster_;
    const std::unique_ptr<responder> responder_;
    bool is_last_ = false, waits_ = false; // of the request that is being answered
};

} // namespace tenon::net
