// Reads what is written down of a run from any bytes: what is none is an error of two kinds, what is one is written and read again.
// covers: net/launch/run_files

#include <net/launch/run_files.hpp>
#include <tenon/core/error.hpp>

#include "fuzz/fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    tenon::net::run_file read;
    try {
        read = tenon::net::read_run_file(std::string(reinterpret_cast<const char*>(data), size));
    } catch (const tenon::invalid_argument_error&) {
        return 0;
    } catch (const tenon::data_loss_error&) {
        return 0;
    }
    const tenon::net::run_file again = tenon::net::read_run_file(to_json(read));
    if (again.run != read.run || again.token != read.token || again.process != read.process ||
        !(again.tasks == read.tasks)) {
        std::fprintf(stderr, "a run that was read is not the one that was written\n");
        std::abort();
    }
    return 0;
}
