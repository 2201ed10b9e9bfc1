// Reads attributes, arrays and devices from any bytes: what is refused is so with an error of two kinds; what is read is
// written and read again, and is the same.
// covers: net/wire/values

#include "net_packed.hpp"

#include <tenon/op/attribute.hpp>

namespace {

using namespace tenon::net;

template <class Take> void try_it(const packed& input, Take&& take) {
    packed p = input.share();
    packed written, again;
    if (!fuzz::is_taken([&] {
            value_reader from(p.body, p.arrays, "input");
            const auto value = take(from);
            value_writer to;
            put(to, value);
            written = to.take_packed();
        }))
        return;
    packed copy = written.share();
    value_reader from(copy.body, copy.arrays, "what was written");
    const auto value = take(from);
    from.end();
    value_writer to;
    put(to, value);
    again = to.take_packed();
    if (!fuzz::same(written, again)) fuzz::stop("a value that was read is not the one that was written");
}

} // namespace

void try_input(const fuzz::input& in) {
    if (in.size() == 0) return;
    const packed input = fuzz::packed_of(in.bytes(1));
    switch (in[0] % 5) {
    case 0: try_it(input, [](value_reader& r) { return take_attributes(r); }); break;
    case 1: try_it(input, [](value_reader& r) { return take_array(r); }); break;
    case 2: try_it(input, [](value_reader& r) { return take_types(r); }); break;
    case 3: try_it(input, [](value_reader& r) { return take_failure(r); }); break;
    case 4: try_it(input, [](value_reader& r) { return take_device(r); }); break;
    }
}
