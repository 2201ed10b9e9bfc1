// Reads the bodies of a handshake's messages from any bytes; the first says which. What is none is a data_loss_error, what is one is
// written and read again, and is the same.
// covers: net/link/handshake

#include <net/link/handshake.hpp>

#include "fuzz/fuzzing.hpp"

namespace {

using namespace tenon::net;

template <class Read> void again(Read read, std::span<const std::byte> from) {
    const bytes written = write(read(from));
    fuzz::require(write(read(written)) == written, "what was read is not what was written");
}

} // namespace

void try_input(const fuzz::input& in) {
    if (in.size() == 0) return;
    const std::span<const std::byte> from = in.bytes(1);
    fuzz::is_read<tenon::data_loss_error>([&] {
        switch (in[0] % 6) {
        case 0: {
            const hello h = read_hello(from);
            if (h.oldest <= newest_link_version && h.newest >= oldest_link_version) again(read_hello, from);
            break;
        }
        case 1: again(read_challenge, from); break;
        case 2: again(read_proof, from); break;
        case 3: again(read_ready, from); break;
        case 4: again(read_goodbye, from); break;
        case 5: {
            bytes body(from.begin(), from.end());
            const time_point now{std::chrono::hours(1)};
            delays late(std::chrono::seconds(6)), none(std::chrono::seconds(6));
            const time_point deadline = take_time_left(body, now, late);
            bytes next = body;
            add_time_left(next, deadline, now);
            fuzz::require(take_time_left(next, now, none) == deadline && next == body, "a deadline is another one");
        }
        }
    });
}
