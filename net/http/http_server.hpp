#pragma once

#include <memory>
#include <optional>
#include <string>

#include <net/http/place.hpp>
#include <net/http/request_loop.hpp>
#include <net/http/site.hpp>
#include <net/http/status/facts.hpp>

/// A server tells by HTTP how it is. Nothing is changed by it.

namespace tenon::net {

class http_server {
public:
    /// `of` outlives it. Throws what http_address and check_http_address do, unavailable_error where the address cannot be had, and
    /// unimplemented_error where this build cannot.
    http_server(http_facts& of, const http_options& o, const request_limits& limits = {});

    /// "http://127.0.0.1:8080", or https.
    std::string url() const { return scheme_ + loop_->address(); }
    const std::string& address() const noexcept { return loop_->address(); }

private:
    const std::string address_, scheme_;
    const std::shared_ptr<request_loop::waker> waker_;
    site site_;
    std::optional<request_loop> loop_;
};

} // namespace tenon::net
