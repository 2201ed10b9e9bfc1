#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/runtime/session/backend.hpp>

/// Sessions elsewhere: what a target, "SCHEME://address", stands for.

namespace tenon::detail {

/// What a library makes of targets. Thread-safe.
class session_scheme {
public:
    virtual ~session_scheme() = default;
    virtual std::shared_ptr<session_state> make(const std::string& address, const graph& g,
                                                const session_options& o) const = 0;
    /// session::reset
    virtual void reset(const std::string& address, const std::vector<std::string>& containers) const = 0;
};

/// Called by a library when it is loaded; the last one stays. `s` lives for ever.
void register_session_scheme(const std::string& name, const session_scheme& s);
/// The scheme of a target, and its address. invalid_argument_error where it has none or one that nobody has registered; it says what
/// to link.
std::pair<const session_scheme&, std::string> scheme_of(const std::string& target);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/runtime/session/scheme.ipp>
#endif
