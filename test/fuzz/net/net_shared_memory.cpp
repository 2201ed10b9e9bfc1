// A ring whose other side writes what it likes into the memory, at any time: either end finds damage, or stays within its memory and
// its counts. And offers of memory: what is none is an error, what is one is written as it was read.
// covers: net/transport/shared_ring net/transport/handover

#include <algorithm>
#include <cstring>
#include <net/transport/handover.hpp>
#include <net/transport/shared_ring.hpp>
#include <tenon/core/error.hpp>

#include "fuzz/fuzzing.hpp"

namespace {

using namespace tenon::net;

struct numbers {
    std::span<const std::byte> left;
    std::uint64_t number(std::size_t bytes) {
        std::uint64_t n = 0;
        const std::size_t count = std::min(bytes, left.size());
        if (count > 0) std::memcpy(&n, left.data(), count);
        left = left.subspan(count);
        return n;
    }
};

void rings(numbers in) {
    const auto capacity = static_cast<std::size_t>(1 + in.number(2) % 4096);
    struct alignas(64) line {
        std::byte of[64];
    };
    std::vector<line> lines((ring_head_bytes + capacity + 63) / 64); // no more than that: a sanitizer watches its end
    const auto memory = std::span(reinterpret_cast<std::byte*>(lines.data()), ring_head_bytes + capacity);
    ring_head& head = *reinterpret_cast<ring_head*>(memory.data());
    ring_writer w(memory);
    ring_reader r(memory);
    std::vector<std::byte> some(capacity + 1);
    bool writer_is_well = true, reader_is_well = true;
    std::uint64_t written = 0, read = 0;
    while (!in.left.empty()) {
        const auto what = in.number(1);
        const auto n = static_cast<std::size_t>(1 + in.number(2) % capacity);
        if (what % 6 == 0) head.written = in.number(8);
        else if (what % 6 == 1) head.read = in.number(8);
        else if (what % 6 == 2) head.waiting = static_cast<std::uint32_t>(in.number(4));
        else if (what % 6 == 3) (void)r.release();
        else if (what % 6 == 4 && writer_is_well) {
            writer_is_well = fuzz::is_read<tenon::data_loss_error>([&] { // else its connection ends
                if (!w.has_room(n)) return;
                fuzz::require(n <= capacity, "there is more room than the ring has");
                w.write(std::span(some).first(n));
                w.publish();
                written += n;
                fuzz::require(head.written == written, "the writer has lost count");
            });
        } else if (what % 6 == 5 && reader_is_well) {
            reader_is_well = fuzz::is_read<tenon::data_loss_error>([&] {
                r.read(std::span(some).first(n));
                read += n;
                (void)r.release();
                fuzz::require(head.read == read, "the reader has lost count");
            });
        }
    }
}

void offers(std::span<const std::byte> all) {
    fuzz::is_read<tenon::data_loss_error>([&] {
        const bytes again = write(read_handover_offer(all));
        fuzz::require(std::equal(again.begin(), again.end(), all.begin(), all.end()), "an offer is not as it was read");
    });
}

} // namespace

void try_input(const fuzz::input& in) {
    if (in.size() == 0) return;
    if (in[0] % 8 == 0) offers(in.bytes(1));
    else rings({in.bytes(1)});
}
