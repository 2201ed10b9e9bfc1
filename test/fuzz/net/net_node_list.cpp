// Reads a list of nodes from any bytes: what is none is an error of one kind, what is one has names
// that are lists of themselves.
// covers: net/launch/node_list net/client/settings

#include <net/launch/node_list.hpp>
#include <tenon/core/error.hpp>

#include "fuzz/fuzzing.hpp"

using namespace tenon::net;

void try_input(const fuzz::input& in) {
    const named_value list{"LIST", in.text()};
    fuzz::is_read<tenon::invalid_argument_error>([&] {
        const auto names = expand_node_list(list);
        std::string plain;
        for (const std::string& name : names) plain += (plain.empty() ? "" : ",") + name;
        fuzz::require(!names.empty() && names.size() <= most_nodes && expand_node_list({"LIST", plain}) == names,
                      "the names of a list are not a list of them");
    });
}
