// Reads a benchmark's report from any bytes: what is none is an error of two kinds, what is one is written and read again, and shown.
// covers: debug/benchmark io/json/json_value io/json/json_parse

#include <tenon/core/error.hpp>
#include <tenon/debug/benchmark.hpp>

#include "fuzz/fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using tenon::benchmark_report;
    try {
        const benchmark_report read =
            benchmark_report::from_json(std::string(reinterpret_cast<const char*>(data), size));
        const std::string written = read.to_json();
        const benchmark_report again = benchmark_report::from_json(written);
        if (again.to_json() != written) {
            std::fprintf(stderr, "what was read is not what was written:\n%s\n", written.c_str());
            std::abort();
        }
        (void)again.to_text();
        (void)tenon::compare(read, again);
    } catch (const tenon::invalid_argument_error&) {
    } catch (const tenon::data_loss_error&) {
    }
    return 0;
}
