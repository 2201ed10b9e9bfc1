// Reads a cluster from any bytes: what is no cluster is an error of two kinds, what is one is written and read again.
// covers: cluster/cluster io/json/json_value io/json/json_parse

#include <tenon/cluster/cluster.hpp>
#include <tenon/core/error.hpp>

#include "fuzz/fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    tenon::cluster read;
    try {
        read = tenon::cluster::from_json(std::string(reinterpret_cast<const char*>(data), size));
    } catch (const tenon::invalid_argument_error&) {
        return 0;
    } catch (const tenon::data_loss_error&) {
        return 0;
    }
    const std::string written = read.to_json();
    if (!(tenon::cluster::from_json(written) == read)) {
        std::fprintf(stderr, "a cluster that was read is not the one that was written: %s\n", written.c_str());
        std::abort();
    }
    return 0;
}
