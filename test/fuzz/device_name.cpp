// Whatever the text, it is the name of a device, which is written and read again, or an invalid_argument_error.
// covers: core/device_name

#include <tenon/core/device_name.hpp>
#include <tenon/core/error.hpp>

#include "fuzz/fuzzing.hpp"

void try_input(const fuzz::input& in) {
    fuzz::is_read<tenon::invalid_argument_error>([&] {
        const tenon::device_name name = in.view();
        fuzz::require(tenon::device_name(to_string(name)) == name, "a name is not read as it was written");
        fuzz::require(name.index < 0 || !name.type.empty(), "a number of no type is a device");
    });
}
