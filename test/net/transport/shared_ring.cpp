// The ring alone: what goes in comes out, and a count that cannot be is damage.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <net/transport/handover.hpp>
#include <net/transport/shared_ring.hpp>

#include "tests.hpp"

using namespace tenon::net;

namespace {

std::vector<std::byte> some_bytes(std::mt19937_64& random, std::size_t count) {
    std::vector<std::byte> all(count);
    for (std::byte& b : all) b = static_cast<std::byte>(random());
    return all;
}

file_descriptor memory_file(std::size_t bytes, int seals, unsigned kind = 0) {
    file_descriptor f(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | kind));
    REQUIRE(::ftruncate(f.get(), static_cast<off_t>(bytes)) == 0);
    REQUIRE(::fcntl(f.get(), F_ADD_SEALS, seals) == 0);
    return f;
}

} // namespace

TEST_CASE("shared ring: what is written is read, in order, whatever the sizes") {
    const auto seed = std::random_device()();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    for (int round = 0; round < 20; ++round) {
        const std::size_t capacity = 64 + random() % 5000;
        alignas(64) static std::byte memory[ring_head_bytes + 8192];
        std::fill(std::begin(memory), std::end(memory), std::byte{0});
        const auto part = std::span(memory).first(ring_head_bytes + capacity);
        ring_writer w(part);
        ring_reader r(part);
        std::vector<std::byte> in, out;
        bool waits = false;
        while (in.size() < 100'000) {
            if (random() % 2) {
                const auto b = some_bytes(random, 1 + random() % (capacity / 2));
                const bool fits = in.size() - out.size() + b.size() <= capacity;
                CHECK(w.has_room(b.size()) == fits);
                if (!fits) waits = true;
                else {
                    waits = false;
                    w.write(b);
                    w.publish();
                    in.insert(in.end(), b.begin(), b.end());
                }
            } else if (const std::size_t n = in.size() - out.size(); n > 0) {
                std::vector<std::byte> b(1 + random() % n);
                r.read(b);
                out.insert(out.end(), b.begin(), b.end());
                const bool half = in.size() - out.size() <= capacity / 2;
                CHECK(r.release() == (waits && half)); // who waits is told once
                if (half) waits = false;
            }
        }
        CHECK(std::equal(out.begin(), out.end(), in.begin()));
    }
}

TEST_CASE("shared ring: two threads, of which each maps the memory for itself") {
    shared_pages written = shared_pages::make(ring_head_bytes + (std::size_t{64} << 10));
    const file_descriptor file = written.take_file();
    const shared_pages read = shared_pages::map(file, std::size_t{1} << 20);
    CHECK(read.memory().data() != written.memory().data());
    CHECK(shared_pages::mapped() >= 2 * written.memory().size());
    constexpr std::size_t all = std::size_t{16} << 20, piece = std::size_t{16} << 10;
    std::atomic<std::size_t> published{0}, wakes{0};
    std::thread writer([&] {
        ring_writer w(written.memory());
        std::vector<std::byte> b(piece);
        for (std::size_t sent = 0; sent < all; sent += piece) {
            for (std::size_t i = 0; i < piece; ++i) b[i] = static_cast<std::byte>((sent + i) * 2654435761u >> 24);
            for (;;) {
                const std::size_t seen = wakes.load();
                if (w.has_room(piece)) break;
                wakes.wait(seen); // as the word `room` does it
            }
            w.write(b);
            w.publish();
            published += piece;
            published.notify_all();
        }
    });
    ring_reader r(read.memory());
    std::vector<std::byte> b(piece);
    std::size_t wrong = 0;
    for (std::size_t got = 0; got < all; got += piece) {
        for (std::size_t p = published.load(); p < got + piece; p = published.load()) published.wait(p);
        r.read(b);
        for (std::size_t i = 0; i < piece; ++i) wrong += b[i] != static_cast<std::byte>((got + i) * 2654435761u >> 24);
        if (r.release()) {
            ++wakes;
            wakes.notify_all();
        }
    }
    writer.join();
    CHECK(wrong == 0);
}

TEST_CASE("shared ring: a count that cannot be is damage, for either side") {
    alignas(64) static std::byte memory[ring_head_bytes + 1024];
    for (const std::uint64_t lie : {std::uint64_t{101}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
        std::fill(std::begin(memory), std::end(memory), std::byte{0});
        ring_head& head = *reinterpret_cast<ring_head*>(memory);
        ring_writer w(memory);
        ring_reader r(memory);
        std::vector<std::byte> b(100);
        REQUIRE(w.has_room(100));
        w.write(b);
        w.publish();
        head.read = lie;
        CHECK_ERROR(tn::data_loss_error, "the reader says that it is at byte", w.has_room(1));
        if (lie > 1024) {
            head.written = lie;
            CHECK_ERROR(tn::data_loss_error, "the writer says that it is at byte", r.read(b));
        }
    }
    std::fill(std::begin(memory), std::end(memory), std::byte{0});
    ring_reader r(memory);
    std::byte b[3];
    CHECK_ERROR(tn::data_loss_error, "3 bytes are announced, where 0 have been written", r.read(b));
}

TEST_CASE("shared pages: a file that could shrink, is none of memory, or too large is refused") {
    constexpr std::size_t most = std::size_t{1} << 20;
    const auto refused = [&](const file_descriptor& f, const char* words) {
        CHECK_ERROR(tn::failed_precondition_error, words, shared_pages::map(f, most));
    };
    refused(memory_file(8192, F_SEAL_GROW), "could become less");
    refused(memory_file(most + 4096, F_SEAL_SHRINK), "has 1052672 bytes, where at most 1048576 are taken");
    refused(memory_file(4096, F_SEAL_SHRINK), "has 4096 bytes");
    refused(file_descriptor(::open("/dev/zero", O_RDWR | O_CLOEXEC)), "is none");
    refused(file_descriptor(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)), "is none");
    refused(file_descriptor(), "is none");
    shared_pages p = shared_pages::make(8192);
    const file_descriptor f = p.take_file();
    CHECK(::ftruncate(f.get(), 0) != 0);
    CHECK(::ftruncate(f.get(), 1 << 20) != 0);
    CHECK(shared_pages::map(f, most).memory().size() == 8192);
}

TEST_CASE("handover: memory goes to who has the secret, and to nobody else") {
    shared_pages p = shared_pages::make(8192);
    const file_descriptor file = p.take_file();
    {
        giving_end gives;
        taking_end takes(read_handover_offer(write(gives.offer())));
        CHECK_THROWS_AS((void)takes.take(), tn::unavailable_error); // not yet
        gives.give(file);
        const shared_pages same = shared_pages::map(takes.take(), 8192);
        p.memory()[5000] = std::byte{77};
        CHECK(same.memory()[5000] == std::byte{77});
    }
    {
        giving_end gives;
        CHECK_ERROR(tn::unavailable_error, "has not come", gives.give(file));
        handover_offer guessed = gives.offer();
        guessed.secret[31] ^= std::byte{1};
        taking_end stranger(guessed);
        CHECK_THROWS_AS(gives.give(file), tn::unavailable_error);
        CHECK_THROWS_AS((void)stranger.take(), tn::unavailable_error);
        taking_end another(guessed), takes(gives.offer()); // strangers before do not keep it away
        gives.give(file);
        CHECK(takes.take().get() >= 0);
        CHECK_THROWS_AS((void)another.take(), tn::unavailable_error);
    }
    {
        giving_end a, b;
        CHECK(a.offer().name != b.offer().name);
        CHECK(a.offer().secret != b.offer().secret);
        handover_offer elsewhere = a.offer();
        elsewhere.name = {};
        CHECK_ERROR(tn::unavailable_error, "is not to be found here", taking_end{elsewhere});
        bytes cut = write(a.offer());
        cut.pop_back();
        CHECK_THROWS_AS((void)read_handover_offer(cut), tn::data_loss_error);
        cut.resize(cut.size() + 2);
        CHECK_THROWS_AS((void)read_handover_offer(cut), tn::data_loss_error);
    }
}
