// Reads a cluster from any bytes: what is no cluster is an error of two kinds, what is one is written and read again.
// covers: cluster/cluster io/json/json_value io/json/json_parse

#include <tenon/cluster/cluster.hpp>
#include <tenon/core/error.hpp>

#include "fuzz/fuzzing.hpp"

void try_input(const fuzz::input& in) {
    tenon::cluster read;
    if (fuzz::is_read<tenon::invalid_argument_error, tenon::data_loss_error>(
            [&] { read = tenon::cluster::from_json(in.text()); }))
        fuzz::require(tenon::cluster::from_json(read.to_json()) == read, "a cluster is not read as it was written");
}
