// Reads what is written down of a run from any bytes: what is none is an error of two kinds, what is one is written and read again.
// covers: net/launch/run_files

#include <net/launch/run_files.hpp>
#include <tenon/core/error.hpp>

#include "fuzz/fuzzing.hpp"

void try_input(const fuzz::input& in) {
    tenon::net::run_file read;
    if (!fuzz::is_read<tenon::invalid_argument_error, tenon::data_loss_error>(
            [&] { read = tenon::net::read_run_file(in.text()); }))
        return;
    const tenon::net::run_file again = tenon::net::read_run_file(to_json(read));
    fuzz::require(again.run == read.run && again.token == read.token && again.process == read.process &&
                      again.tasks == read.tasks,
                  "a run is not read as it was written");
}
