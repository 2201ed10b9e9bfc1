// Reads what processes say at a rendezvous, and through mpiexec, from any bytes, and lets one join; what is none is an error of two kinds.
// covers: net/launch/rendezvous/rendezvous_table net/launch/pmi_board

#include <span>

#include <net/launch/pmi_board.hpp>
#include <net/launch/rendezvous/rendezvous_table.hpp>
#include <tenon/core/error.hpp>

#include "fuzz/fuzzing.hpp"

using namespace tenon::net;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span<const std::byte> body(reinterpret_cast<const std::byte*>(data), size);
    try {
        const joining who = decode_joining(body);
        rendezvous_table table("run", 2);
        const bool first = table.join({"run", 2, 0, "ps", -1, "a:1", 1}).empty();
        const bool welcome = table.join(who).empty();
        if (!first || table.complete() != (welcome && who.rank == 1)) {
            std::fprintf(stderr, "a table that is complete when it should not be\n");
            std::abort();
        }
        if (table.complete() && table.come_again(who) != "") std::abort();
        if (table.complete() && decode_placed(encode(table.place_of(1))).tasks != table.place_of(0).tasks) std::abort();
    } catch (const tenon::data_loss_error&) {
    }
    const std::string line(reinterpret_cast<const char*>(data), size);
    if (pmi_value(line, "cmd").find(' ') != std::string::npos) std::abort();
    try {
        const placed place = decode_placed(body);
        if (!place.tasks.has(place.job, place.task)) std::abort();
    } catch (const tenon::data_loss_error&) {
    } catch (const tenon::invalid_argument_error&) {
    }
    return 0;
}
