// Reads a list of nodes from any bytes: what is none is an error of one kind, what is one has names
// that are lists of themselves.
// covers: net/launch/node_list net/client/settings

#include <net/launch/node_list.hpp>
#include <tenon/core/error.hpp>

#include "fuzz/fuzzing.hpp"

using namespace tenon::net;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const named_value list{"LIST", std::string(reinterpret_cast<const char*>(data), size)};
    try {
        const auto names = expand_node_list(list);
        std::string plain;
        for (const std::string& name : names) plain += (plain.empty() ? "" : ",") + name;
        if (names.empty() || names.size() > most_nodes || expand_node_list({"LIST", plain}) != names) {
            std::fprintf(stderr, "the names of a list are not a list of them: %s\n", list.text().c_str());
            std::abort();
        }
    } catch (const tenon::invalid_argument_error&) {
    }
    return 0;
}
