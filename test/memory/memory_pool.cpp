#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/memory/memory_policy.hpp>
#include <tenon/memory/memory_pool.hpp>

#include "messages.hpp"
#include "each_thread.hpp"

namespace tn = tenon;

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

std::size_t up(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

// Memory of the host, of which a device has only so much; it knows the regions that are taken.
struct small_source final : tn::memory_source {
    explicit small_source(std::size_t bytes = std::numeric_limits<std::size_t>::max()) : left(bytes) {}
    ~small_source() override { CHECK(regions.empty()); }
    void* take(std::size_t bytes) noexcept override {
        if (bytes > left) return nullptr;
        void* const region = tn::host_memory().take(bytes);
        CHECK(reinterpret_cast<std::uintptr_t>(region) % tn::memory_pool::alignment == 0);
        left -= bytes;
        regions[static_cast<std::byte*>(region)] = bytes;
        return region;
    }
    void give(void* region, std::size_t bytes) noexcept override {
        CHECK(regions[static_cast<std::byte*>(region)] == bytes);
        regions.erase(static_cast<std::byte*>(region));
        left += bytes;
        tn::host_memory().give(region, bytes);
    }
    std::size_t taken() const {
        std::size_t bytes = 0;
        for (const auto& r : regions) bytes += r.second;
        return bytes;
    }

    std::size_t left;
    std::map<std::byte*, std::size_t> regions;
};

// What is used, by address, and what that says of the pool.
struct model {
    const small_source& source;
    std::map<std::byte*, std::size_t> used; // bytes as they were asked for

    struct gap {
        std::byte* at;
        std::size_t bytes;
    };
    std::vector<gap> gaps() const {
        std::vector<gap> list;
        for (const auto& [region, bytes] : source.regions) {
            std::byte* at = region;
            std::byte* const end = region + bytes;
            for (auto u = used.lower_bound(region); u != used.end() && u->first < end; ++u) {
                if (at != u->first) list.push_back({at, static_cast<std::size_t>(u->first - at)});
                at = u->first + block(u);
            }
            if (at < end) list.push_back({at, static_cast<std::size_t>(end - at)});
        }
        return list;
    }
    // The last block of a region ends with it.
    std::size_t block(std::map<std::byte*, std::size_t>::const_iterator u) const {
        const auto region = std::prev(source.regions.upper_bound(u->first));
        return std::min(up(u->second), static_cast<std::size_t>(region->first + region->second - u->first));
    }
    std::size_t in_use() const {
        std::size_t bytes = 0;
        for (auto u = used.begin(); u != used.end(); ++u) bytes += block(u);
        return bytes;
    }
    std::size_t bytes_of_regions_in_use() const {
        std::size_t bytes = 0;
        for (const auto& [region, size] : source.regions) {
            if (const auto u = used.lower_bound(region); u != used.end() && u->first < region + size) bytes += size;
        }
        return bytes;
    }
};

// Random requests, judged by the model: what fits is given, what does not is refused.
void play(unsigned seed, std::size_t limit, bool growth) {
    CAPTURE(seed);
    CAPTURE(limit);
    CAPTURE(growth);
    small_source source;
    tn::memory_pool pool(source, limit, growth);
    CHECK(source.taken() == (growth ? 0 : limit));
    model m{source, {}};
    std::mt19937 random(seed);
    std::size_t peak = 0;
    std::int64_t allocations = 0;
    bool exact = true;
    const auto expect = [&](bool b) { exact = exact && b; };
    for (int i = 0; i < 1500; ++i) {
        if (m.used.empty() || random() % 5 < 3) {
            const std::size_t bytes = 1 + random() % (limit >> (random() % 10));
            const auto gaps = m.gaps();
            std::size_t best = 0;
            for (const auto& g : gaps)
                if (g.bytes >= bytes && (best == 0 || g.bytes < best)) best = g.bytes;
            const bool fits = best > 0 || limit - m.bytes_of_regions_in_use() >= bytes;
            auto* const p = static_cast<std::byte*>(pool.allocate(bytes));
            expect((p != nullptr) == fits);
            if (!p) continue;
            expect(reinterpret_cast<std::uintptr_t>(p) % 256 == 0);
            // At the beginning of a gap of the best size: so it overlaps nothing.
            if (best > 0)
                expect(std::any_of(gaps.begin(), gaps.end(), [&](auto& g) { return g.at == p && g.bytes == best; }));
            else {
                const auto now = m.gaps();
                expect(std::any_of(now.begin(), now.end(), [&](auto& g) { return g.at == p && g.bytes >= bytes; }));
            }
            std::memset(p, static_cast<int>(bytes & 255), bytes);
            m.used.emplace(p, bytes);
            ++allocations;
        } else {
            const auto u = std::next(m.used.begin(), static_cast<std::ptrdiff_t>(random() % m.used.size()));
            const auto value = static_cast<std::byte>(u->second & 255);
            expect(u->first[0] == value && u->first[u->second - 1] == value);
            pool.deallocate(u->first, u->second);
            m.used.erase(u);
        }
        if (i == 700) {
            pool.reset_peak();
            peak = 0;
        }
        peak = std::max(peak, m.in_use());
        const tn::memory_statistics s = pool.statistics();
        expect(s.in_use == m.in_use() && s.peak == peak && s.limit == limit && s.allocations == allocations);
        expect(s.reserved == source.taken() && s.reserved <= limit);
    }
    CHECK(exact);
    for (const auto& [p, bytes] : m.used) pool.deallocate(p, bytes);
    m.used.clear();
    CHECK(m.gaps().size() == source.regions.size());
    CHECK(pool.statistics().in_use == 0);
    void* const all = pool.allocate(limit);
    CHECK(all != nullptr);
    CHECK(pool.allocate(1) == nullptr);
    CHECK(source.regions.size() == 1);
    CHECK(pool.statistics().in_use == limit);
    pool.deallocate(all, limit);
    CHECK(pool.statistics().in_use == 0);
}

} // namespace

TEST_CASE("SEMANTICS 11: a pool gives what fits, where it fits best, refuses what does not, and counts exactly") {
    for (unsigned seed = 1; seed <= 6; ++seed)
        for (const std::size_t limit : {std::size_t{100'000}, 3 * mib, 40 * mib + 1000})
            for (const bool growth : {false, true}) play(seed, limit, growth);
}

TEST_CASE("SEMANTICS 11: a pool that grows takes regions that double; one that does not takes all at once") {
    small_source source;
    {
        tn::memory_pool pool(source, 20 * mib, true);
        CHECK(pool.statistics().reserved == 0);
        std::vector<std::size_t> reserved;
        for (int i = 0; i < 20; ++i) {
            REQUIRE(pool.allocate(mib) != nullptr);
            if (reserved.empty() || reserved.back() != pool.statistics().reserved / mib)
                reserved.push_back(pool.statistics().reserved / mib);
        }
        CHECK(reserved == std::vector<std::size_t>{2, 6, 14, 20}); // the last is what the limit left
        CHECK(pool.allocate(1) == nullptr);
    }
    CHECK(source.regions.empty()); // given back, though blocks were not
    tn::memory_pool pool(source, 20 * mib, false);
    CHECK(pool.statistics().reserved == 20 * mib);
    void* const p = pool.allocate(20 * mib);
    CHECK(p != nullptr);
    pool.deallocate(p, 20 * mib);
    CHECK(pool.statistics().reserved == 20 * mib);
}

TEST_CASE("a request larger than the next region has a region of its own") {
    small_source source;
    tn::memory_pool pool(source, 100 * mib, true);
    REQUIRE(pool.allocate(30 * mib + 1) != nullptr);
    CHECK(pool.statistics().reserved == 30 * mib + 256);
    REQUIRE(pool.allocate(10) != nullptr);
    CHECK(pool.statistics().reserved == 34 * mib + 256);
}

TEST_CASE("memory that is free in several regions serves one request: empty regions go back") {
    small_source source;
    tn::memory_pool pool(source, 14 * mib, true);
    void* const a = pool.allocate(2 * mib);
    void* const b = pool.allocate(4 * mib);
    void* const c = pool.allocate(8 * mib);
    REQUIRE(c != nullptr);
    pool.deallocate(a, 2 * mib);
    pool.deallocate(b, 4 * mib);
    CHECK(pool.allocate(6 * mib + 1) == nullptr);
    CHECK(source.regions.size() == 3); // nothing is given back in vain
    CHECK(pool.allocate(6 * mib) != nullptr);
    CHECK(source.regions.size() == 2);
    pool.deallocate(c, 8 * mib);
}

TEST_CASE("a source that has less than the limit is used up, and asked for no more than is needed") {
    small_source source(5 * mib);
    tn::memory_pool pool(source, 1000 * mib, true);
    std::vector<void*> blocks;
    while (void* const p = pool.allocate(mib / 4)) blocks.push_back(p);
    CHECK(blocks.size() == 20);
    CHECK(source.left == 0);
    for (void* const p : blocks) pool.deallocate(p, mib / 4);
    CHECK(pool.allocate(5 * mib + 1) == nullptr);
    CHECK(pool.allocate(5 * mib) != nullptr); // from the pieces it had
    CHECK_THROWS_WITH_AS(tn::memory_pool(source, mib, false),
                         "memory_pool: no 1048576 bytes can be taken at once; give a smaller memory_policy::limit or "
                         "fraction, or let memory grow (memory_policy::growth)",
                         tn::resource_exhausted_error);
}

TEST_CASE("a pool answers requests of nothing, of too much, and within a limit of nothing") {
    small_source source;
    tn::memory_pool pool(source, 1000, true); // no multiple of the alignment
    void* const all = pool.allocate(1000);
    CHECK(all != nullptr);
    CHECK(pool.statistics().in_use == 1000);
    void* const nothing = pool.allocate(0);
    CHECK(nothing != nullptr);
    pool.deallocate(nothing, 0);
    pool.deallocate(all, 1000);
    CHECK(pool.allocate(1001) == nullptr);
    CHECK(pool.statistics().allocations == 1);
    tn::memory_pool none(source, 0, true), unlimited(source, std::numeric_limits<std::size_t>::max(), true);
    CHECK(none.allocate(1) == nullptr);
    CHECK(none.allocate(0) != nullptr);
    CHECK(unlimited.allocate(std::numeric_limits<std::size_t>::max()) == nullptr);
    CHECK(unlimited.allocate(1) != nullptr);
}

TEST_CASE("threads that share a pool never share a block") {
    constexpr std::size_t limit = 8 * mib;
    tn::memory_pool pool(tn::host_memory(), limit, true);
    std::vector<int> wrong(4), given(4);
    on_threads(4U, [&pool, &wrong, &given](unsigned t) {
        std::mt19937 random(t);
        std::vector<std::pair<unsigned char*, std::size_t>> mine;
        const auto drop = [&](std::size_t i) {
            const auto [p, bytes] = mine[i];
            wrong[t] += std::count(p, p + bytes, t) != static_cast<std::ptrdiff_t>(bytes);
            pool.deallocate(p, bytes);
            mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(i));
        };
        for (int i = 0; i < 400; ++i) {
            const std::size_t bytes = 1 + random() % (mib >> (random() % 8));
            if (auto* const p = static_cast<unsigned char*>(pool.allocate(bytes))) {
                std::memset(p, static_cast<int>(t), bytes);
                mine.emplace_back(p, bytes);
                ++given[t];
            } else if (!mine.empty()) drop(random() % mine.size());
            if (i % 16 == 0) wrong[t] += pool.statistics().in_use > limit;
            if (mine.size() > 8) drop(random() % mine.size());
        }
        while (!mine.empty()) drop(0);
    });
    CHECK(wrong == std::vector<int>(4));
    CHECK(pool.statistics().in_use == 0);
    CHECK(pool.statistics().allocations == given[0] + given[1] + given[2] + given[3]);
    CHECK(pool.allocate(limit) != nullptr);
}

TEST_CASE("SEMANTICS 11: a fraction or a hard limit says how much of a device may be used") {
    CHECK(tn::usable_bytes({}, 1000) == 1000);
    CHECK(tn::usable_bytes({.fraction = 0.25}, 1000) == 250);
    CHECK(tn::usable_bytes({.fraction = 0.25, .limit = 999}, 1000) == 999);
    CHECK(tn::usable_bytes({}, std::numeric_limits<std::size_t>::max()) == std::numeric_limits<std::size_t>::max());
    for (const tn::memory_policy& good :
         {tn::memory_policy{}, tn::memory_policy{.fraction = 0.001}, tn::memory_policy{.limit = 1},
          tn::memory_policy{.fraction = 0.5, .growth = false, .limit = 1000}})
        CHECK_NOTHROW(tn::require_valid(good, 1000, "/device:GPU:0"));
}

TEST_CASE("SEMANTICS 11: a memory policy that no device can follow is an error that says what to give") {
    const auto text = [](const tn::memory_policy& p, std::size_t bytes) {
        return message_of<tn::invalid_argument_error>([&] { tn::require_valid(p, bytes, "/device:GPU:0"); });
    };
    CHECK(text({.fraction = 1.5}, 1000) == "memory_policy::fraction is 1.5 of the 1000 bytes of /device:GPU:0; give "
                                           "the part that may be used, above 0 and at most 1");
    for (const double wrong :
         {0.0, -0.5, 1.0001, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
        CHECK(contains(text({.fraction = wrong}, 1000), "above 0 and at most 1"));
    CHECK(text({.limit = 1001}, 1000) == "memory_policy::limit is 1001, which is more than the 1000 bytes of "
                                         "/device:GPU:0; give at most that, or 0 for the fraction to decide");
    CHECK(text({.fraction = 1e-6}, 1000) ==
          "memory_policy::fraction is 1e-06 of the 1000 bytes of /device:GPU:0, which is nothing; give a larger one, "
          "or a device with more memory");
    CHECK(contains(text({}, 0), "which is nothing"));
}

TEST_CASE("SEMANTICS 11: TENON_GPU_ALLOW_GROWTH overrides growth") {
    const char* const set = std::getenv("TENON_GPU_ALLOW_GROWTH");
    const std::string kept = set ? set : "";
    const auto growth = [](const char* value, bool otherwise) {
        setenv("TENON_GPU_ALLOW_GROWTH", value, 1);
        return tn::with_environment({.fraction = 0.5, .growth = otherwise, .limit = 7}).growth;
    };
    for (const bool otherwise : {false, true}) {
        CHECK(growth("true", otherwise));
        CHECK(growth("1", otherwise));
        CHECK(!growth("false", otherwise));
        CHECK(!growth("0", otherwise));
        CHECK(growth("", otherwise) == otherwise); // empty is as good as absent
    }
    CHECK(message_of<tn::invalid_argument_error>([&] { (void)growth("yes please", true); }) ==
          "the environment variable TENON_GPU_ALLOW_GROWTH is \"yes please\"; set it to true or 1, false or 0, or not "
          "at all");
    unsetenv("TENON_GPU_ALLOW_GROWTH");
    CHECK(tn::with_environment({.fraction = 0.5, .limit = 7}).limit == 7);
    if (set) setenv("TENON_GPU_ALLOW_GROWTH", kept.c_str(), 1);
}
