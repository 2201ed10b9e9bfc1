// Whatever the bytes, a tar_reader gives files that are in them, or throws a tenon::error.
// covers: io/records/tar

#include <tenon/core/error.hpp>
#include <tenon/io/records/tar.hpp>

#include "fuzz/fuzzing.hpp"

void try_input(const fuzz::input& in) {
    tenon::tar_reader r(tenon::detail::file_of_bytes(in.view().data(), in.size()), "input",
                        {.compressed = tenon::compression::none, .largest_file = 1 << 12});
    std::size_t all = 0;
    for (tenon::tar_entry e;;) {
        try {
            if (!r.next(e)) break;
            all += e.bytes.size();
        } catch (const tenon::error&) { // as it should be; what follows is read, where it can be
        }
    }
    if (all > in.size()) std::abort();
}
