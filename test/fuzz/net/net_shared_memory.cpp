// A ring whose other side writes what it likes into the memory, at any time: either end finds damage, or stays within its memory and
// its counts. And offers of memory: what is none is an error, what is one is written as it was read.
// covers: net/transport/shared_ring net/transport/handover

#include <algorithm>
#include <cstring>
#include <span>

#include <net/transport/handover.hpp>
#include <net/transport/shared_ring.hpp>
#include <tenon/core/error.hpp>

#include "fuzz/fuzzing.hpp"

namespace {

using namespace tenon::net;

[[noreturn]] void wrong(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    std::abort();
}

struct input {
    std::span<const std::uint8_t> left;
    std::uint64_t number(std::size_t bytes) {
        std::uint64_t n = 0;
        const std::size_t count = std::min(bytes, left.size());
        if (count > 0) std::memcpy(&n, left.data(), count);
        left = left.subspan(count);
        return n;
    }
};

void rings(input in) {
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
            try {
                if (!w.has_room(n)) continue;
                if (n > capacity) wrong("there is more room than the ring has");
                w.write(std::span(some).first(n));
                w.publish();
                written += n;
                if (head.written != written) wrong("the writer has lost count");
            } catch (const tenon::data_loss_error&) {
                writer_is_well = false; // its connection ends
            }
        } else if (what % 6 == 5 && reader_is_well) {
            try {
                r.read(std::span(some).first(n));
                read += n;
                (void)r.release();
                if (head.read != read) wrong("the reader has lost count");
            } catch (const tenon::data_loss_error&) {
                reader_is_well = false;
            }
        }
    }
}

void offers(std::span<const std::uint8_t> from) {
    const auto all = std::as_bytes(from);
    try {
        const bytes again = write(read_handover_offer(all));
        if (!std::equal(again.begin(), again.end(), all.begin(), all.end())) wrong("an offer is not as it was read");
    } catch (const tenon::data_loss_error&) {
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto rest = std::span(data, size).subspan(1);
    if (data[0] % 8 == 0) offers(rest);
    else rings({rest});
    return 0;
}
