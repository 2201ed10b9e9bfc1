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
    message_limits most;
    most.payload_bytes = std::size_t{1} << 20;
    most.body_bytes = std::size_t{1} << 20;
    return most;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::size_t piece = data[0] % 64 == 0 ? ~std::size_t{0} : data[0] % 64, most = 1 + data[0] / 64 * 100;
    bytes all(size - 1);
    if (size > 1) std::memcpy(all.data(), data + 1, size - 1);
    mend_checksums(all);
    collector c;
    c.most = modest();
    c.beside = all;
    message_decoder d;
    try {
        for (std::span<const std::byte> left = all; !left.empty();) {
            const auto now = left.first(std::min(piece, left.size()));
            d.push(now, c);
            left = left.subspan(now.size());
        }
    } catch (const tn::data_loss_error&) {
    } catch (const tn::resource_exhausted_error&) {
    }
    for (const message& m : c.messages) {
        const std::vector<message> again = decoded(frames_of(m.share(), 3, most));
        if (again.size() == 1 && equal(again[0], m)) continue;
        std::fprintf(stderr, "a message that was read is not the one that was written\n");
        std::abort();
    }
    return 0;
}
