#include <net/command/hosts.hpp>

#include <algorithm>
#include <cstdlib>

#include <tenon/core/device_name.hpp>
#include <tenon/core/error.hpp>

namespace tenon::command {

namespace {

bool is_plain(const std::string& text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return tenon::detail::is_letter(c) || tenon::detail::is_digit(c) || c == '.' || c == '-' || c == '_' ||
               c == ':' || c == '%';
    });
}

} // namespace

std::vector<host> read_hosts(const std::string& flag, const std::string& list) {
    std::vector<host> hosts;
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(',', at), list.size());
        const std::string part = list.substr(at, end - at);
        at = end + 1;
        const std::size_t equals = part.find('=');
        host h{part.substr(0, equals), ""};
        const std::size_t name = h.login.rfind('@') + 1; // 0: there is no user
        h.address = equals == std::string::npos ? h.login.substr(name) : part.substr(equals + 1);
        // What begins with a dash would be an option of ssh.
        if (h.login.starts_with('-') || !is_plain(h.login.substr(name)) ||
            (name > 0 && !is_plain(h.login.substr(0, name - 1))) || !is_plain(h.address))
            throw invalid_argument_error(flag + " \"" + list + "\": \"" + part +
                                         "\" is no host; give hosts as ssh takes them with commas between, as "
                                         "\"gpu1,ada@gpu2\", and NAME=ADDRESS where others reach it by another name");
        hosts.push_back(std::move(h));
    }
    return hosts;
}

std::string before_port(const std::string& address) {
    return address.find(':') == std::string::npos ? address : "[" + address + "]";
}

std::vector<std::pair<std::string, std::string>> variables_of_shell(const std::vector<std::string>& names) {
    std::vector<std::pair<std::string, std::string>> found;
    for (const std::string& name : names) {
        const bool is_name =
            !name.empty() && !tenon::detail::is_digit(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
                return tenon::detail::is_letter(c) || tenon::detail::is_digit(c) || c == '_';
            });
        if (!is_name)
            throw invalid_argument_error("--env " + name +
                                         ": this is no variable's name; its value is taken from this shell");
        const char* const value = std::getenv(name.c_str());
        if (!value)
            throw invalid_argument_error("--env " + name + ": this shell has no such variable; set it and export it");
        found.emplace_back(name, value);
    }
    return found;
}

} // namespace tenon::command
