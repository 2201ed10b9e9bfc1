// Reads a benchmark's report from any bytes: what is none is an error of two kinds, what is one is written and read again, and shown.
// covers: debug/benchmark io/json/json_value io/json/json_parse

#include <tenon/core/error.hpp>
#include <tenon/debug/benchmark.hpp>

#include "fuzz/fuzzing.hpp"

void try_input(const fuzz::input& in) {
    using tenon::benchmark_report;
    fuzz::is_read<tenon::invalid_argument_error, tenon::data_loss_error>([&] {
        const benchmark_report read = benchmark_report::from_json(in.text());
        const benchmark_report again = benchmark_report::from_json(read.to_json());
        fuzz::require_same(again.to_json(), read.to_json());
        (void)again.to_text();
        (void)tenon::compare(read, again);
    });
}
