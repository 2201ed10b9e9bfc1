// Reads measurements from any bytes: what are none is an error of two kinds, what are some is written and read again.
// covers: runtime/trace/cost_measurements io/json/json_value io/json/json_parse

#include <tenon/core/error.hpp>
#include <tenon/runtime/trace/cost_measurements.hpp>

#include "fuzz/fuzzing.hpp"

void try_input(const fuzz::input& in) {
    using tenon::cost_measurements;
    fuzz::is_read<tenon::invalid_argument_error, tenon::data_loss_error>([&] {
        const std::string written = cost_measurements::from_json(in.text()).to_json();
        fuzz::require_same(cost_measurements::from_json(written).to_json(), written);
    });
}
