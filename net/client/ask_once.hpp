#pragma once

#include <string>

#include <net/client/client.hpp>
#include <net/rpc/asking.hpp>

/// One question to a server by who has no session there.

namespace tenon::net {

/// "tenon://host:port" and "host:port" => "host:port".
inline std::string address_of_target(const std::string& target) {
    const std::string scheme = "tenon://";
    return target.starts_with(scheme) ? target.substr(scheme.size()) : target;
}

/// What the server answers within so many seconds; throws what it was answered, or unavailable_error, deadline_exceeded_error.
template <Call C> typename C::reply ask_once(const std::string& target, const C& question, double seconds) {
    dialed_server s = dial_as_client(address_of_target(target));
    const auto to = peer::make(*s.over, std::move(s.to));
    const time_point deadline = s.over->now() + seconds_of(seconds);
    struct closing {
        peer& of;
        ~closing() { of.close(); }
    } const whatever_happens{*to};
    return ask(*to, question, deadline);
}

} // namespace tenon::net
