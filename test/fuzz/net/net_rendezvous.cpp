// Reads what processes say at a rendezvous, and through mpiexec, from any bytes, and lets one join; what is none is an error of two kinds.
// covers: net/launch/rendezvous/rendezvous_table net/launch/pmi_board

#include <net/launch/pmi_board.hpp>
#include <net/launch/rendezvous/rendezvous_table.hpp>
#include <tenon/core/error.hpp>

#include "fuzz/fuzzing.hpp"

using namespace tenon::net;

void try_input(const fuzz::input& in) {
    const std::span<const std::byte> body = in.bytes();
    fuzz::is_read<tenon::data_loss_error>([&] {
        const joining who = decode_joining(body);
        rendezvous_table table("run", 2);
        const bool first = table.join({"run", 2, 0, "ps", -1, "a:1", 1}).empty();
        const bool welcome = table.join(who).empty();
        fuzz::require(first && table.complete() == (welcome && who.rank == 1),
                      "a table that should not be complete is");
        if (table.complete() && table.come_again(who) != "") std::abort();
        if (table.complete() && decode_placed(encode(table.place_of(1))).tasks != table.place_of(0).tasks) std::abort();
    });
    const std::string line = in.text();
    if (pmi_value(line, "cmd").find(' ') != std::string::npos) std::abort();
    fuzz::is_read<tenon::data_loss_error, tenon::invalid_argument_error>([&] {
        const placed place = decode_placed(body);
        if (!place.tasks.has(place.job, place.task)) std::abort();
    });
}
