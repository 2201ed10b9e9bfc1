// Reads a connection's bytes, in pieces that the first byte decides: what is no frame is an error of two kinds; a message that
// comes out is written and read again, and is the same.
// covers: net/wire/decode net/wire/encode io/files/crc32c net/wire/message

#include <tenon/io/files/crc32c.hpp>

#include "fuzz/fuzzing.hpp"
#include "net/messages.hpp"

namespace {

using namespace net_test;

// So that what stands behind a checksum is reached too: those of frames where they should be are made right.
void mend_checksums(bytes& all) {
    for (std::size_t at = 0; all.size() - at >= sizeof(frame_header);) {
        frame_header h;
        std::memcpy(&h, all.data() + at, sizeof h);
        const std::span<const std::byte> rest = std::span(all).subspan(at);
        const std::size_t left = rest.size() - sizeof h;
        if (h.metadata_bytes > left) return;
        h.checksum = tenon::crc32c(rest.subspan(sizeof h, h.metadata_bytes),
                                   tenon::crc32c(rest.first(sizeof h - sizeof h.checksum)));
        std::memcpy(all.data() + at, &h, sizeof h);
        const std::uint64_t payload = h.flags & frame_flags::beside ? 0 : h.payload_bytes;
        if (payload > left - h.metadata_bytes) return;
        at += sizeof h + h.metadata_bytes + payload;
    }
}

message_limits modest() {
    return message_limits{.body_bytes = std::size_t{1} << 20, .payload_bytes = std::size_t{1} << 20};
}

} // namespace

void try_input(const fuzz::input& in) {
    if (in.size() == 0) return;
    const std::size_t piece = in[0] % 64 == 0 ? ~std::size_t{0} : in[0] % 64, most = 1 + in[0] / 64 * 100;
    bytes all(in.bytes(1).begin(), in.bytes(1).end());
    mend_checksums(all);
    collector c;
    c.most = modest();
    c.beside = all;
    message_decoder d;
    fuzz::is_read<tn::data_loss_error, tn::resource_exhausted_error>([&] {
        for (std::span<const std::byte> left = all; !left.empty();) {
            const auto now = left.first(std::min(piece, left.size()));
            d.push(now, c);
            left = left.subspan(now.size());
        }
    });
    for (const message& m : c.messages) {
        const std::vector<message> again = decoded(frames_of(m.share(), 3, most));
        fuzz::require(again.size() == 1 && equal(again[0], m), "a message is not read as it was written");
    }
}
