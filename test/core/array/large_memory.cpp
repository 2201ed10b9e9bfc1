#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include <tenon/core/array/array.hpp>
#include <tenon/core/array/large_memory.hpp>

#include "each_thread.hpp"

using namespace tenon;

TEST_CASE("large memory that is given back serves the next piece of about its size") {
    constexpr std::size_t bytes = (3 << 20) + 12345;
    void* const first = detail::new_large(bytes);
    REQUIRE(first != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(first) % 256 == 0);
    std::memset(first, 1, bytes);
    const std::size_t before = detail::kept_large_memory();
    detail::delete_large(first, bytes);
    const std::size_t kept = detail::kept_large_memory();
#if TENON_ADDRESS_SANITIZER
    CHECK(kept == 0); // so that it sees what is used after it was given back
#else
    CHECK(kept - before >= bytes);
    CHECK(kept - before <= bytes + bytes / 8);
    void* const second = detail::new_large(bytes + 100);
    CHECK(second == first);
    CHECK(detail::kept_large_memory() == before);
    detail::delete_large(second, bytes + 100);
#endif
}

TEST_CASE("no more memory is kept than a limit, however much is given back") {
    constexpr std::size_t piece = std::size_t{16} << 20, most = std::size_t{512} << 20;
    std::vector<void*> pieces;
    for (int i = 0; i < 40; ++i) pieces.push_back(detail::new_large(piece));
    for (void* const p : pieces) detail::delete_large(p, piece);
    const std::size_t kept = detail::kept_large_memory();
    CHECK(kept <= most);
#if !TENON_ADDRESS_SANITIZER
    CHECK(kept >= piece); // less than the limit only where a sixteenth of the machine's memory is
    void* const last = detail::new_large(piece);
    CHECK(last == pieces.back()); // the longest unused went first
    detail::delete_large(last, piece);
#endif
}

TEST_CASE("arrays of all sizes, made and dropped by several threads, do not meet") {
    std::vector<int> wrong(4);
    on_threads(4, [&wrong](int t) {
        for (int i = 0; i < 200; ++i) {
            array<int, shape<dyn>> a(std::int64_t{1} << (10 + (i + t) % 8));
            for (int& x : a) x = t;
            for (const int x : a) wrong[static_cast<std::size_t>(t)] += x != t;
        }
    });
    CHECK(wrong == std::vector<int>(4));
}
