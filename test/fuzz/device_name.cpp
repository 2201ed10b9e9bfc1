// Whatever the text, it is the name of a device, which is written and read again, or an invalid_argument_error.
// covers: core/device_name

#include <tenon/core/device_name.hpp>
#include <tenon/core/error.hpp>

#include "fuzz/fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    try {
        const tenon::device_name name = text;
        const std::string written = to_string(name);
        if (tenon::device_name(written) != name || (name.index >= 0 && name.type.empty())) {
            std::fprintf(stderr, "a name that was read is not the one that was written: %s\n", written.c_str());
            std::abort();
        }
    } catch (const tenon::invalid_argument_error&) { // as it should be
    }
    return 0;
}
