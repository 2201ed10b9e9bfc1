#pragma once

#include <map>
#include <mutex>

#include <tenon/core/error.hpp>
#include <tenon/runtime/session/scheme.hpp>

namespace tenon::detail {

struct session_schemes {
    std::mutex guard;
    std::map<std::string, const session_scheme*> known;
    static session_schemes& get() {
        static auto& all = *new session_schemes; // libraries register before main
        return all;
    }
};

TENON_INLINE void register_session_scheme(const std::string& name, const session_scheme& s) {
    session_schemes& all = session_schemes::get();
    const std::lock_guard lock(all.guard);
    all.known[name] = &s;
}

TENON_INLINE std::pair<const session_scheme&, std::string> scheme_of(const std::string& target) {
    const std::size_t end = target.find("://");
    if (end == std::string::npos)
        throw invalid_argument_error("session: the target \"" + target +
                                     "\" is no \"tenon://host:port\"; give what a server's target() says, or \"\" for "
                                     "this process");
    const std::string name = target.substr(0, end);
    session_schemes& all = session_schemes::get();
    const std::lock_guard lock(all.guard);
    if (const auto at = all.known.find(name); at != all.known.end()) return {*at->second, target.substr(end + 3)};
    throw invalid_argument_error(
        "session: nothing in this program opens \"" + target + "\"; " +
        (name == "tenon"
             ? "link the library that does, tenon::net (in CMake: target_link_libraries(program tenon::net))"
             : "targets are \"tenon://host:port\""));
}

} // namespace tenon::detail
