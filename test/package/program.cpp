// A user's program, as small as one can be and still needs the library: built by each project beside it.
#include <tenon/core/error.hpp>
#include <tenon/runtime/session/print_config.hpp>

#include <cstdio>
#include <cstring>
#include <string>

int main() {
    tenon::print_config();
    const char* wanted = TENON_HEADER_ONLY ? "header-only" : "compiled";
    if (tenon::config_text().find(wanted) == std::string::npos) {
        std::printf("this should be a %s library\n", wanted);
        return 1;
    }
    try {
        throw tenon::not_found_error("caught by its base");
    } catch (const tenon::error& error) {
        return std::strcmp(tenon::name_of(error.code()), "not_found") == 0 ? 0 : 1;
    }
}
