#include <tenon/resources/lease.hpp>

#include "tests.hpp"

namespace {

using std::chrono::milliseconds;

tn::lease::time_point at(int ms) { return tn::lease::time_point(milliseconds(ms)); }

// What was granted, written down; whose it is at a time is looked up there.
struct ledger {
    struct grant {
        std::string who;
        std::int64_t term;
        int from, until;
    };
    std::vector<grant> all;

    const grant* current(int now) const { return !all.empty() && now < all.back().until ? &all.back() : nullptr; }
    void claim(const std::string& who, int now, int length, std::int64_t known) {
        const grant* const is = current(now);
        if (is && is->who != who) return;
        const std::int64_t last = all.empty() ? 0 : all.back().term;
        if (is && known <= last) {
            all.back().until = std::max(all.back().until, now + length);
            return;
        }
        const int until = is ? std::max(is->until, now + length) : now + length;
        if (is) all.back().until = now;
        all.push_back({who, std::max(last, known) + 1, now, until});
    }
    void give_back(const std::string& who, int now) {
        if (const grant* const is = current(now); is && is->who == who) all.back().until = now;
    }
};

} // namespace

TEST_CASE("a lease is one holder's at a time, for as long as he claims it again, and terms grow") {
    tn::lease l;
    CHECK(l.at(at(0)).holder.empty());
    CHECK(l.at(at(0)).term == 0);
    CHECK(l.claim("a", at(0), milliseconds(100)).is("a"));
    CHECK(l.claim("b", at(50), milliseconds(100)).is("a"));
    CHECK(l.at(at(50)).left == milliseconds(50));
    CHECK(l.claim("a", at(99), milliseconds(100)).term == 1);
    CHECK(l.claim("a", at(99), milliseconds(1)).left == milliseconds(100)); // not shorter
    CHECK(l.at(at(198)).is("a"));
    CHECK(l.at(at(199)).holder.empty());
    CHECK(l.claim("b", at(199), milliseconds(10)).term == 2);
    CHECK(l.give_back("a", at(200)).is("b"));
    CHECK(l.give_back("b", at(200)).holder.empty());
    CHECK(l.claim("a", at(200), milliseconds(10), 7).term == 8); // it has heard of more than the lease knows
    CHECK(l.claim("", at(300), milliseconds(10)).holder.empty());
}

TEST_CASE("a lease does what a ledger of its grants says, whoever claims it and gives it back") {
    for (unsigned seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        const auto any = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
        tn::lease l;
        ledger model;
        int now = 0;
        for (int i = 0; i < 500; ++i) {
            now += any(3) == 0 ? any(40) : any(3);
            const std::string who(1, static_cast<char>('a' + any(3)));
            if (any(5) == 0) {
                (void)l.give_back(who, at(now));
                model.give_back(who, now);
            } else {
                const int length = 1 + any(30);
                const std::int64_t known = any(10) == 0 ? any(300) : 0;
                (void)l.claim(who, at(now), milliseconds(length), known);
                model.claim(who, now, length, known);
            }
            const int then = now + any(20);
            const ledger::grant* const is = model.current(then);
            const tn::lease::standing s = l.at(at(then));
            REQUIRE(s.holder == (is ? is->who : ""));
            REQUIRE(s.term == (model.all.empty() ? 0 : model.all.back().term));
            REQUIRE(s.left == milliseconds(is ? is->until - then : 0));
        }
        for (std::size_t g = 1; g < model.all.size(); ++g) {
            REQUIRE(model.all[g - 1].term < model.all[g].term);
            REQUIRE(model.all[g - 1].until <= model.all[g].from);
        }
    }
}
