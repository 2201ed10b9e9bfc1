// Reads the bodies of a handshake's messages from any bytes; the first says which. What is none is a data_loss_error, what is one is
// written and read again, and is the same.
// covers: net/link/handshake

#include <span>

#include <net/link/handshake.hpp>

#include "fuzz/fuzzing.hpp"

namespace {

using namespace tenon::net;

void check(bool same, const char* what) {
    if (same) return;
    std::fprintf(stderr, "a %s that was read is not the one that was written\n", what);
    std::abort();
}

template <class Read> void again(Read read, std::span<const std::byte> from, const char* what) {
    const auto found = read(from);
    const bytes written = write(found);
    check(write(read(written)) == written, what);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::span from(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
    try {
        switch (data[0] % 6) {
        case 0: {
            const hello h = read_hello(from);
            if (h.oldest <= newest_link_version && h.newest >= oldest_link_version) again(read_hello, from, "hello");
            break;
        }
        case 1: again(read_challenge, from, "challenge"); break;
        case 2: again(read_proof, from, "proof"); break;
        case 3: again(read_ready, from, "ready"); break;
        case 4: again(read_goodbye, from, "goodbye"); break;
        case 5: {
            bytes body(from.begin(), from.end());
            const time_point now{std::chrono::hours(1)};
            delays late(std::chrono::seconds(6)), none(std::chrono::seconds(6));
            const time_point deadline = take_time_left(body, now, late);
            bytes next = body;
            add_time_left(next, deadline, now);
            check(take_time_left(next, now, none) == deadline && next == body, "deadline");
        }
        }
    } catch (const tenon::data_loss_error&) {
    }
    return 0;
}
