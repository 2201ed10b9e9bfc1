// Reads measurements from any bytes: what are none is an error of two kinds, what are some is written and read again.
// covers: runtime/trace/cost_measurements io/json/json_value io/json/json_parse

#include <tenon/core/error.hpp>
#include <tenon/runtime/trace/cost_measurements.hpp>

#include "fuzz/fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using tenon::cost_measurements;
    try {
        const std::string text(reinterpret_cast<const char*>(data), size);
        const std::string written = cost_measurements::from_json(text).to_json();
        if (cost_measurements::from_json(written).to_json() != written) {
            std::fprintf(stderr, "what was read is not what was written:\n%s\n", written.c_str());
            std::abort();
        }
    } catch (const tenon::invalid_argument_error&) {
    } catch (const tenon::data_loss_error&) {
    }
    return 0;
}
