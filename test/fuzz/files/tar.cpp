// Whatever the bytes, a tar_reader gives files that are in them, or throws a tenon::error.
// covers: io/records/tar

#include <tenon/core/error.hpp>
#include <tenon/io/records/tar.hpp>

#include "fuzz/fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        tenon::tar_reader r(tenon::detail::file_of_bytes(data, size), "input",
                            {.compressed = tenon::compression::none});
        std::size_t all = 0;
        for (tenon::tar_entry e; r.next(e);) all += e.bytes.size();
        if (all > size) std::abort();
    } catch (const tenon::error&) { // as it should be
    }
    return 0;
}
