#include <deque>

#include <tenon/memory/memory_budget.hpp>
#include <tenon/resources/step_ledger.hpp>

#include "tests.hpp"

namespace {

struct attempt final : tn::ledger_attempt {
    void completed(std::exception_ptr failure) noexcept override {
        ++ended;
        why = std::move(failure);
    }
    bool well() const { return ended == 1 && !why; }
    std::string error() const {
        try {
            if (why) std::rethrow_exception(why);
        } catch (const std::exception& e) {
            return e.what();
        }
        return {};
    }
    int ended = 0;
    std::exception_ptr why;
};

using tickets = std::vector<std::int64_t>;

} // namespace

TEST_CASE("S41: a step is applied once enough replicas have committed, by replica, and each has its token then") {
    tn::step_ledger l("train", {2, 3, "w"});
    const auto one = l.begin(1, 101, 0), zero = l.begin(0, 100, 0);
    CHECK(one.step == 0);
    CHECK(zero.ticket > one.ticket);
    attempt applies, token0, token1;
    l.apply(applies, 0, 100, 0);
    l.commit(one);
    l.await(token1, 1, 101);
    CHECK(applies.ended == 0);
    CHECK(l.awaited(applies) == "step ledger \"train\" to have gradients to apply; 1 of 2 gradients of step 0 are "
                                "there, of replica 1; replica 0 takes part, too");
    l.commit(zero);
    l.await(token0, 0, 100);
    REQUIRE(applies.well());
    CHECK(applies.step == 0);
    CHECK(applies.tickets == tickets{zero.ticket, one.ticket});
    CHECK(token0.ended + token1.ended == 0);
    l.advance(1);
    CHECK((token0.well() && token0.step == 1 && token0.counted));
    CHECK((token1.well() && token1.step == 1 && token1.counted));
    CHECK(l.begin(0, 100, 1).step == 1);
    CHECK(l.state().counted == 2);
}

TEST_CASE("S41: gradients of a step that is over, or beyond those it averages, are dropped and counted; their replica "
          "goes on") {
    tn::step_ledger l("train", {1, 3, "w"});
    const auto a = l.begin(0, 100, 0), b = l.begin(1, 101, 0), c = l.begin(2, 102, 0);
    attempt applies;
    l.apply(applies, 0, 100, 0);
    l.commit(b);
    l.commit(a); // the step has what it needs
    l.advance(1);
    l.commit(c); // over
    attempt first, second, third;
    l.await(first, 0, 100);
    l.await(second, 1, 101);
    l.await(third, 2, 102);
    CHECK((first.well() && !first.counted));
    CHECK((second.well() && second.counted));
    CHECK((third.well() && !third.counted && third.step == 1));
    CHECK(l.dropped() == tickets{1, 0, 1});
}

TEST_CASE("S41: a token is its replica's own: a fast one waits for the step, and takes no other's") {
    tn::step_ledger l("train", {2, 2, "w"});
    attempt applies, fast, again;
    l.apply(applies, 0, 100, 0);
    l.commit(l.begin(0, 100, 0));
    l.await(fast, 0, 100);
    l.commit(l.begin(0, 100, 0)); // another one before its token: in place of the first
    l.await(again, 0, 100);
    CHECK(applies.ended + fast.ended + again.ended == 0);
    CHECK(l.dropped() == tickets{1, 0});
    l.commit(l.begin(1, 101, 0));
    CHECK(applies.well());
    l.advance(1);
    CHECK(fast.well());
    CHECK(again.ended == 0); // one token a step
}

TEST_CASE("S41: who applies and is lost is followed by another one, who is given the same") {
    tn::step_ledger l("train", {1, 2, "w"});
    attempt first, second;
    l.apply(first, 0, 100, 0);
    l.apply(second, 1, 101, 0);
    l.commit(l.begin(1, 101, 0));
    REQUIRE(first.well());
    CHECK(second.ended == 0);
    l.abandon(first);
    REQUIRE(second.well());
    CHECK(second.tickets == first.tickets);
    CHECK(second.step == 0);
    l.abandon(first); // is not his any more
    l.advance(1);
    l.advance(1); // of the first, late
    CHECK(l.state().step == 1);
    CHECK(l.state().counted == 1);
    // Where the step was ended but the ledger was not told, who comes next has seen that.
    attempt third;
    l.commit(l.begin(1, 101, 1));
    l.apply(third, 1, 101, 2);
    CHECK(third.ended == 0);
    CHECK(l.state().step == 2);
}

TEST_CASE("S41: with aggregate 0 a step has one gradient of each replica that takes part; who leaves or is lost is not "
          "waited for") {
    tn::step_ledger l("train", {0, 4, "w"});
    attempt stands[2], attends[2], applies, token;
    l.join(3, 103, 0);
    for (int r = 0; r < 2; ++r) {
        l.join(r, 100 + r, 0);
        l.attend(attends[r], r, 100 + r);
        CHECK(attends[r].well());
    }
    l.apply(stands[0], 0, 100, 0);
    l.apply(stands[1], 1, 101, 0);
    CHECK(l.state().present == 3);
    l.commit(l.begin(0, 100, 0));
    l.commit(l.begin(1, 101, 0));
    CHECK(stands[0].ended == 0);
    l.leave(3, 103);
    REQUIRE(stands[0].well());
    CHECK(stands[0].tickets.size() == 2);
    l.advance(1);
    l.await(token, 0, 100);
    l.commit(l.begin(0, 100, 1));
    CHECK(stands[1].ended == 0);
    l.join(2, 102, 1); // comes
    CHECK(l.state().present == 3);
    CHECK(l.stop(stands[1]));
    CHECK(l.state().present == 3);
    l.abandon(attends[1]); // its session is gone
    CHECK(l.state().present == 2);
    const tn::replica_turn late = l.begin(1, 101, 1); // of a step that was under way
    CHECK(l.state().present == 2);
    attempt again;
    l.join(1, 101, 1);
    l.attend(again, 1, 101);
    l.abandon(attends[1]);
    CHECK(l.state().present == 3);
    l.abandon(again);
    l.commit(late); // void
    l.commit(l.begin(2, 102, 1));
    l.apply(applies, 2, 102, 1);
    REQUIRE(applies.well());
    CHECK(applies.tickets.size() == 2);
}

TEST_CASE(
    "S41: one that has not joined gives nothing of variables whose age is not known, and goes on with its token") {
    tn::step_ledger l("train", {1, 2, "w"});
    attempt applies;
    l.apply(applies, 0, 100, 5);
    l.commit(l.begin(0, 100, 5)); // the first there is: as old as the ledger
    CHECK(applies.step == 5);
    l.advance(6);
    const auto late = l.begin(1, 101, 6);
    CHECK(late.step == -1);
    l.commit(late);
    attempt token;
    l.await(token, 1, 101);
    CHECK((token.well() && token.step == 6 && !token.counted));
    CHECK(l.dropped() == tickets{0, 1});
    CHECK(l.begin(1, 101, 6).step == 6);
}

TEST_CASE("S28: a second process under a replica's number is the replica from then on; the first is told") {
    tn::step_ledger l("train", {1, 1, "w"});
    const auto old = l.begin(0, 100, 0);
    attempt waits;
    l.await(waits, 0, 100);
    CHECK(l.begin(0, 200, 0).ticket > old.ticket);
    l.commit(old); // void
    CHECK(l.dropped() == tickets{1});
    CHECK(waits.error() == "step ledger \"train\": replica 0 is another process now, which began later");
    CHECK_ERROR(tn::error, "replica 0 is another process now", l.begin(0, 100, 0));
    CHECK_THROWS_AS(l.join(0, 100, 0), tn::aborted_error);
    for (std::int64_t process = 300; process <= 364; ++process) l.join(0, process, 0);
    CHECK_THROWS_AS(l.join(0, 300, 0), tn::aborted_error); // the last 64 are known
}

TEST_CASE("S41: who has finished is not waited for: those that would be are told; who comes again begins another run") {
    tn::step_ledger l("train", {2, 3, "w"});
    attempt token, again, applies;
    for (int r = 0; r < 3; ++r) l.join(r, 100 + r, 0);
    l.commit(l.begin(0, 100, 0));
    l.await(token, 0, 100);
    l.leave(1, 101, "", true);
    CHECK(token.ended == 0); // two of three can still come
    l.leave(2, 102, "", true);
    CHECK(contains(token.error(),
                   "step 0 will not be complete: it averages 2 gradients, and of 3 replicas too many have finished"));
    l.join(1, 101, 0);
    l.await(again, 0, 100);
    CHECK(again.ended == 0);
    l.leave(1, 101, "", true);
    l.leave(2, 102, "", true);
    CHECK(again.ended == 1);
    // One that comes when the others have finished does not know whether they will come again: they have some time.
    attempt late;
    l.commit(l.begin(0, 200, 0));
    l.await(late, 0, 200);
    (void)l.state();
    CHECK(late.ended == 0);
    l.join(2, 202, 0); // comes
    l.commit(l.begin(2, 202, 0));
    l.apply(applies, 0, 200, 0);
    CHECK(applies.well());
}

TEST_CASE("S46: a pause is between two steps: after one that is being applied, also by another who does it again") {
    tn::step_ledger l("train", {1, 2, "w"});
    attempt first, second, third, pause;
    l.apply(first, 0, 100, 0);
    l.apply(second, 1, 101, 0);
    l.commit(l.begin(0, 100, 0));
    CHECK(first.well());
    l.pause(pause);
    l.abandon(first);
    CHECK((second.well() && pause.ended == 0)); // it may be half applied
    l.advance(1);
    CHECK(pause.well());
    l.join(0, 100, 1);
    l.commit(l.begin(0, 100, 1));
    l.apply(third, 0, 100, 1);
    CHECK(third.ended == 0);
    l.abandon(pause);
    CHECK(third.well());
}

TEST_CASE("S46: after a loss of variables all tickets are void, and every replica goes on") {
    tn::step_ledger l("train", {2, 2, "w"});
    attempt applies, first, second;
    l.apply(applies, 0, 100, 0);
    const auto before = l.begin(0, 100, 0), under_way = l.begin(1, 101, 0);
    l.commit(before);
    l.await(first, 0, 100);
    l.discard();
    CHECK((first.well() && !first.counted));
    l.commit(under_way);
    CHECK(applies.ended == 0);
    l.await(second, 1, 101);
    CHECK(second.well());
    const auto again = l.begin(0, 100, 0);
    CHECK(again.ticket > under_way.ticket);
    l.commit(again);
    l.commit(l.begin(1, 101, 0));
    CHECK(applies.well());
}

TEST_CASE("S41: a replica whose updates cannot be applied fails where it waits, with the reason; it may join again") {
    tn::step_ledger l("train", {1, 1, "w"});
    attempt token;
    l.commit(l.begin(0, 100, 0));
    l.await(token, 0, 100);
    CHECK(contains(l.awaited(token), "nobody applies them: give sync_replicas::hook()"));
    l.leave(0, 100, "no memory");
    CHECK(token.error() == "step ledger \"train\": replica 0 cannot go on: no memory");
    CHECK(l.state().present == 0);
    l.join(0, 100, 0);
    CHECK(l.state().present == 1);
}

TEST_CASE("bad numbers are refused, and what replicas do not have in common is named") {
    const auto make = [](std::int64_t aggregate, std::int64_t total) {
        return message_of<tn::error>([&] { tn::step_ledger("train", {aggregate, total, "w"}); });
    };
    CHECK(make(3, 2) == "step ledger \"train\": 3 gradients a step are asked of 2 replicas, each of which gives one");
    CHECK(make(0, 0) == "step ledger \"train\": there are 0 replicas; give 1 or more, up to 100000");
    CHECK(contains(make(0, std::int64_t{1} << 60), "up to 100000"));
    CHECK(make(-1, 2) == "step ledger \"train\": -1 gradients cannot be averaged");
    tn::step_ledger l("train", {1, 2, "w"});
    CHECK(message_of<tn::error>([&] { l.begin(2, 1, 0); }) ==
          "step ledger \"train\": there is no replica 2 of 2; they are numbered from 0");
    CHECK_THROWS_AS(l.join(-1, 1, 0), tn::invalid_argument_error);
    CHECK(tn::difference({1, 2, "a\nb"}, {1, 2, "a\nb"}).empty());
    CHECK(tn::difference({1, 2, "a"}, {2, 2, "a"}) == "gradients averaged in a step: 1, and 2");
    CHECK(tn::difference({1, 2, "a"}, {1, 3, "a"}) == "replicas: 2, and 3");
    CHECK(tn::difference({1, 2, "a\nb"}, {1, 2, "a\nc"}) == "b, and c");
    CHECK(tn::difference({1, 2, "a"}, {1, 2, "a\nc"}) == "nothing more, and c");
    attempt token;
    l.await(token, 0, 100);
    l.forgotten();
    CHECK(token.error() == "step ledger \"train\": its container was reset.");
    CHECK_THROWS_AS(l.begin(0, 100, 0), tn::aborted_error);
}

TEST_CASE("S41: steps that cannot be counted on are refused, and change nothing") {
    constexpr auto largest = std::numeric_limits<std::int64_t>::max();
    tn::step_ledger l("train", {1, 1, "w"});
    attempt applies, token;
    for (const std::int64_t bad : {largest, tn::largest_step + 1, std::int64_t{-5}}) {
        const std::string said = "step ledger \"train\": there is no step " + std::to_string(bad) +
                                 "; they are numbered from 0 to 4611686018427387903";
        CHECK(message_of<tn::invalid_argument_error>([&] { l.join(0, 100, bad); }) == said);
        CHECK(message_of<tn::invalid_argument_error>([&] { l.begin(0, 100, bad); }) == said);
        CHECK(message_of<tn::invalid_argument_error>([&] { l.apply(applies, 0, 100, bad); }) == said);
        CHECK(message_of<tn::invalid_argument_error>([&] { l.advance(bad); }) == said);
    }
    l.commit(l.begin(0, 100, tn::largest_step));
    l.apply(applies, 0, 100, tn::largest_step);
    CHECK((applies.well() && applies.step == tn::largest_step));
    l.await(token, 0, 100);
    CHECK_THROWS_AS(l.advance(tn::largest_step + 1), tn::invalid_argument_error);
    CHECK(token.ended == 0);
    CHECK(l.state().step == tn::largest_step);
}

TEST_CASE("what replicas have in common counts as memory of who has the ledger made, as long as it is there") {
    const auto budget = tn::memory_budget::make(std::size_t{4} << 20);
    const auto client = budget->client("replica");
    const tn::payer_scope pays(client.get());
    const std::string parts(std::size_t{2} << 20, 'w');
    {
        const tn::step_ledger l("train", {1, 1, parts});
        CHECK(client->bytes() == parts.size() + 5);
        CHECK_ERROR(tn::resource_exhausted_error, "step ledger \"other\": what its replicas have in common: ",
                    tn::step_ledger("other", {1, 1, parts}));
        CHECK(client->bytes() == parts.size() + 5);
    }
    CHECK(client->bytes() == 0);
}

// Replicas that compute, crash, come again and give up, and appliers that are lost at any point, held to what must be so.
TEST_CASE("S41, at random: no gradient is applied in two steps, or in one that it was not computed for; nobody waits "
          "in vain") {
    for (unsigned seed = 1; seed <= 300; ++seed) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        const auto below = [&](std::size_t n) { return random() % n; };
        const auto total = static_cast<std::int64_t>(1 + below(5));
        const std::int64_t aggregate = static_cast<std::int64_t>(below(static_cast<std::size_t>(total) + 1));
        tn::step_ledger l("train", {aggregate, total, "w"});

        struct replica {
            std::int64_t process = 0;
            std::int64_t read = -1; // the step of the variables that it may have read, by what it was told
            std::unique_ptr<tn::replica_turn> turn;
            std::unique_ptr<attempt> attends, token, applies;
            bool applying = false;
        };
        std::vector<replica> all(static_cast<std::size_t>(total));
        std::int64_t processes = 0, applied = 0;          // steps that the variables have
        std::map<std::int64_t, std::int64_t> computed_in; // ticket: the step of what it was computed of
        std::map<std::int64_t, tickets> chosen;           // by step
        std::set<std::int64_t> used;
        std::deque<attempt> gone; // of processes that are no more

        const auto number = [&](const replica& r) { return static_cast<std::int64_t>(&r - all.data()); };
        const auto come = [&](replica& r) {
            r = {};
            r.process = ++processes;
            l.join(number(r), r.process, applied);
            r.read = applied;
            r.attends = std::make_unique<attempt>();
            l.attend(*r.attends, number(r), r.process);
        };
        const auto look = [&](replica& r) {
            if (r.applies && r.applies->ended && !r.applying) {
                REQUIRE(r.applies->well());
                r.applying = true;
                const attempt& a = *r.applies;
                CHECK(a.step == applied);
                const auto known = chosen.find(a.step);
                if (known != chosen.end()) CHECK(known->second == a.tickets); // as whoever was lost
                else {
                    chosen[a.step] = a.tickets;
                    CHECK(a.tickets.size() >= static_cast<std::size_t>(std::max<std::int64_t>(1, aggregate)));
                    for (const std::int64_t t : a.tickets) {
                        CHECK(used.insert(t).second);
                        CHECK(computed_in.at(t) == a.step);
                    }
                }
            }
            if (r.token && r.token->ended) {
                REQUIRE(r.token->well());
                CHECK(r.token->step <= applied);
                CHECK(r.token->step > r.read); // one a step
                r.read = r.token->step;
                r.token.reset();
            }
        };
        const auto step_over = [&](replica& r) {
            ++applied;
            l.advance(applied);
            r.applies.reset();
            r.applying = false;
        };
        // What a healthy replica does next.
        const auto go_on = [&](replica& r) {
            if (r.process == 0) return come(r);
            if (!r.applies) {
                r.applies = std::make_unique<attempt>();
                l.apply(*r.applies, number(r), r.process, applied);
            } else if (r.applying) step_over(r);
            else if (!r.turn && !r.token) {
                r.turn = std::make_unique<tn::replica_turn>(l.begin(number(r), r.process, applied));
                computed_in[r.turn->ticket] = r.turn->step;
                CHECK(r.turn->step <= r.read); // no younger than what it may have read
            } else if (r.turn) {
                l.commit(*r.turn);
                r.turn.reset();
                r.token = std::make_unique<attempt>();
                l.await(*r.token, number(r), r.process);
            }
        };
        const auto crash = [&](replica& r) {
            if (r.token) l.stop(*r.token);
            if (r.applies) {
                if (r.applying) l.abandon(*r.applies);
                else l.stop(*r.applies);
            }
            if (r.attends) l.abandon(*r.attends);
            r = {};
        };
        // Variables are those of some steps before.
        const auto restore = [&] {
            applied = std::max<std::int64_t>(0, applied - static_cast<std::int64_t>(below(6)));
            l.discard(applied);
            for (replica& r : all) {
                if (r.applying) {
                    l.abandon(*r.applies);
                    r.applies.reset();
                    r.applying = false;
                }
                r.read = -1;
            }
            chosen.erase(chosen.lower_bound(applied), chosen.end());
            CHECK(l.state().step == applied);
        };
        for (int i = 0; i < 400; ++i) {
            replica& r = all[below(all.size())];
            if (below(30) == 0) crash(r);
            else if (below(60) == 0) restore();
            else go_on(r);
            for (replica& each : all) look(each);
            CHECK(l.state().present ==
                  std::count_if(all.begin(), all.end(), [](const auto& a) { return a.process != 0; }));
        }
        // All healthy: they come to further steps.
        const std::int64_t before = applied;
        for (int i = 0; i < 100; ++i)
            for (replica& r : all) {
                go_on(r);
                for (replica& each : all) look(each);
            }
        CHECK(applied > before + 5);
        for (replica& r : all) crash(r);
    }
}
