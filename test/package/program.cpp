// A user's program, as small as one can be and still needs the library: built by each project beside it.
#include <tenon/core/error.hpp>
#include <tenon/data/idx.hpp>
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
#ifdef TENON_EXPECTED_VERSION
    if (std::strcmp(TENON_VERSION, TENON_EXPECTED_VERSION) != 0) {
        std::puts("the package is of another version than " TENON_VERSION);
        return 1;
    }
#endif
    try {
        tenon::read_idx("/there/is/no/such.file"); // thrown in the library, caught here
    } catch (const tenon::not_found_error& e) {
        const auto* base = dynamic_cast<const tenon::error*>(static_cast<const std::exception*>(&e));
        return base && std::strcmp(tenon::name_of(base->code()), "not_found") == 0 ? 0 : 1;
    }
    return 1;
}
