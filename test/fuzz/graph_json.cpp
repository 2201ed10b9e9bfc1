// Reads a graph from any bytes: what is no sound graph is an error of two kinds, what is one is written and read again.
// covers: graph/json graph/json_value graph/json_write graph/graph graph/scope graph/attributes core/device_name

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/graph/json.hpp>
#include <tenon/tenon.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    std::string written;
    try {
        written = tenon::to_json(tenon::graph_from_json(text));
    } catch (const tenon::invalid_argument_error&) {
        return 0;
    } catch (const tenon::data_loss_error&) {
        return 0;
    }
    // What was accepted must be accepted again, and be the same.
    if (tenon::to_json(tenon::graph_from_json(written)) != written) {
        std::fprintf(stderr, "a graph that was read is not the one that was written:\n%s\n", written.c_str());
        std::abort();
    }
    return 0;
}
