#include <tenon/train/ensemble.hpp>

#include "tests.hpp"
#include "each_thread.hpp"

// Ensembles through queues (SEMANTICS 45), whose members are sessions of one task here. Processes that are killed and stopped:
// test/processes/programs/ensemble.cpp.

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
using rows = tn::component<float, tn::shape<batch, 2>>;
using classes = tn::component<float, tn::shape<batch, 3>>;
using queues = tn::ensemble_queues<rows, classes>;
using input = tn::array<float, tn::shape<batch, 2>>;
using output = tn::array<float, tn::shape<batch, 3>>;

tn::ensemble_options three(tn::ensemble_options o = {}) {
    o.name = "three";
    o.members = 3;
    return o;
}
// For what comes, whenever; and for what does not come.
constexpr double long_time = 60, short_time = 0.05;

// A graph of its own, the queues in it, and a session of the task that all share.
struct side {
    explicit side(const tn::task& t, const tn::ensemble_options& o = three()) : q(o), session(t, graph) {}
    own_graph graph;
    queues q;
    tn::session session;
};
// Multiples of quarters by small integers: sums of them are exact.
constexpr float weights[2][3] = {{1, -2, 0.5f}, {0.25f, 3, -1}};
auto says(int member, const tn::tensor<float, tn::shape<batch, 2>>& x) {
    const auto w = tn::constant<float, tn::shape<2, 3>>({{1, -2, 0.5f}, {0.25f, 3, -1}});
    return tn::matmul(x, w) * static_cast<float>(member + 1);
}
input some(int n, int seed) {
    input x(n);
    for (int i = 0; i < 2 * n; ++i) x.data()[i] = static_cast<float>((seed * 31 + i * 7) % 16 - 8) / 4;
    return x;
}
// The mean over these members, by hand.
double expected(const input& x, int row, int column, const std::vector<int>& members) {
    double sum = 0;
    for (const int m : members)
        for (int k = 0; k < 2; ++k)
            sum += static_cast<double>(x(row, k)) * static_cast<double>(weights[k][column]) * (m + 1);
    return sum / static_cast<double>(members.size());
}
void check_mean(const tn::ensemble_answer<output>& a, const input& x) {
    REQUIRE(a.mean.extents() == tn::extents(x.extents()[0].size, 3));
    for (int r = 0; r < static_cast<int>(x.extents()[0].size); ++r)
        for (int c = 0; c < 3; ++c)
            CHECK(static_cast<double>(a.mean(r, c)) == doctest::Approx(expected(x, r, c, a.members)).epsilon(1e-6));
    REQUIRE(a.answers.size() == a.members.size());
    for (std::size_t i = 0; i < a.answers.size(); ++i)
        CHECK(static_cast<double>(a.answers[i](0, 1)) == doctest::Approx(expected(x, 0, 1, {a.members[i]})));
}

// A member that serves until it is closed, or stopped.
class serving {
public:
    serving(const tn::task& t, int member) : side_(t) {
        const tn::operation serve = side_.q.serve(member, [&](auto x) { return says(member, x); });
        coord_.start("member", [this, serve] {
            while (!coord_.should_stop()) {
                side_.session.run(serve);
                ++served;
            }
        });
    }
    ~serving() {
        side_.session.close(); // what it waits for is as if it had not come
    }
    /// It has come to its end by itself.
    void join() { coord_.join(); }
    std::atomic<int> served{0};

private:
    side side_;
    tn::coordinator coord_;
};
// A member step by step.
class by_hand {
public:
    by_hand(const tn::task& t, int member, const tn::ensemble_options& o = three()) :
        side_(t, o),
        take_(side_.q.requests(member).dequeue()),
        run_(tn::placeholder<std::int64_t, tn::shape<>>("run")),
        number_(tn::placeholder<std::int64_t, tn::shape<>>("number")),
        value_(tn::placeholder<float, tn::shape<batch, 3>>("value")),
        give_(side_.q.answers(member).enqueue(run_, number_, value_)) {}
    void take() {
        const auto [run, number, x] =
            side_.session.run_for(long_time, std::get<0>(take_), std::get<1>(take_), std::get<2>(take_));
        run_taken = run();
        number_taken = number();
    }
    void give(std::int64_t run, std::int64_t number, int n, float v) {
        output value(n);
        value.fill(v);
        side_.session.run_for(long_time, tn::feed(run_, run), tn::feed(number_, number), tn::feed(value_, value),
                              give_);
    }
    void give(int n, float v) { give(run_taken, number_taken, n, v); }
    std::int64_t run_taken = 0, number_taken = 0;

private:
    side side_;
    decltype(std::declval<queues>().requests(0).dequeue()) take_;
    tn::tensor<std::int64_t, tn::shape<>> run_, number_;
    tn::tensor<float, tn::shape<batch, 3>> value_;
    tn::operation give_;
};

} // namespace

TEST_CASE(
    "SEMANTICS 45: all members answer, with batches of any size, and the mean is that by hand; closing ends them") {
    const tn::task t;
    side asks(t);
    std::vector<std::unique_ptr<serving>> members;
    for (int m = 0; m < 3; ++m) members.push_back(std::make_unique<serving>(t, m));
    tn::ensemble_aggregator aggregator(asks.q, asks.session);
    for (int i = 1; i <= 20; ++i) {
        const input x = some(1 + i % 4, i);
        const auto a = aggregator.ask(x, long_time);
        CHECK(a.number == i);
        CHECK(a.members == std::vector<int>{0, 1, 2});
        CHECK(a.of() == 3);
        CHECK(a.text() == "3 of 3 members");
        check_mean(a, x);
    }
    aggregator.close();
    aggregator.close();
    for (const auto& m : members) {
        m->join(); // by the end of data, which is no error
        CHECK(m->served == 20);
    }
    const auto s = aggregator.statistics();
    CHECK(s.requests == 20);
    for (const auto& m : s.members) {
        CHECK(m.answered == 20);
        CHECK(m.missed == 0);
        CHECK(m.late == 0);
    }
}

TEST_CASE(
    "SEMANTICS 45: who has not answered in time is missing, by name; with fewer than the quorum there is no answer, "
    "and then again there is") {
    const tn::task t;
    side asks(t, three({.quorum = 2, .timeout = short_time}));
    const serving zero(t, 0);
    auto two = std::make_unique<serving>(t, 2);
    tn::ensemble_aggregator aggregator(asks.q, asks.session);
    const input x = some(3, 1);
    const auto ask = [&](double seconds) {
        const auto a = aggregator.ask(x, seconds);
        check_mean(a, x);
        return a.text();
    };
    // 1 never is there. A second is long for the others: what it takes is waited for in vain.
    CHECK(ask(1) == "2 of 3 members; missing: member 1");
    two.reset();
    CHECK_THROWS_WITH_AS((void)aggregator.ask(x, 1),
                         "ensemble \"three\": request 2 was answered within 1 s by 1 of 3 members; missing: member 1, "
                         "member 2; 2 are needed",
                         tn::deadline_exceeded_error);
    two = std::make_unique<serving>(t, 2); // answers what was asked meanwhile, which is late, and then
    CHECK(ask(1) == "2 of 3 members; missing: member 1");
    const serving one(t, 1);
    CHECK(ask(long_time) == "3 of 3 members");
    const auto s = aggregator.statistics();
    CHECK(s.requests == 4);
    CHECK(s.members[0].answered == 4);
    CHECK(s.members[1].missed == 3);
    CHECK(s.members[1].late == 1); // one request waits for who is gone, the others were never asked of it
    CHECK(s.members[2].late == 1);
}

TEST_CASE("SEMANTICS 45: late answers, and those to another aggregator, are never taken for the present one's, and are "
          "counted") {
    const tn::task t;
    const tn::ensemble_options two{.name = "two", .members = 2};
    side asks(t, two);
    tn::ensemble_aggregator aggregator(asks.q, asks.session);
    by_hand slow(t, 0, two), other(t, 1, two);
    std::mt19937 random(45);
    std::int64_t late = 0;
    for (int i = 1; i <= 60; ++i) {
        std::thread answering([&] {
            slow.take();
            other.take();
            CHECK(slow.number_taken == i);
            CHECK(slow.run_taken == other.run_taken);
            for (int before = std::uniform_int_distribution<int>(0, 3)(random); before > 0; --before) {
                ++late;
                if (i > 1 && before != 1)
                    slow.give(slow.run_taken, std::uniform_int_distribution<std::int64_t>(1, i - 1)(random), 2, -999);
                else slow.give(slow.run_taken + 1, i, 2, -999);
            }
            other.give(2, static_cast<float>(-i));
            slow.give(2, static_cast<float>(3 * i));
        });
        const auto a = aggregator.ask(some(2, i), long_time);
        answering.join();
        REQUIRE(a.members == std::vector<int>{0, 1});
        CHECK(a.mean(1, 2) == static_cast<float>(i));
        CHECK(a.answers[0](0, 0) == static_cast<float>(3 * i));
    }
    CHECK(late > 30);
    CHECK(aggregator.statistics().members[0].late == late);
    CHECK(aggregator.statistics().members[1].late == 0);
}

TEST_CASE("SEMANTICS 45: an aggregator after another asks by numbers of its own; what the other was answered is late") {
    const tn::task t;
    const tn::ensemble_options one{.name = "one", .timeout = short_time};
    by_hand m(t, 0, one);
    {
        side asks(t, one);
        tn::ensemble_aggregator aggregator(asks.q, asks.session);
        CHECK_THROWS_AS((void)aggregator.ask(some(1, 1)), tn::deadline_exceeded_error);
    }
    m.take(); // it was asked all the same
    CHECK(m.number_taken == 1);
    const std::int64_t run_before = m.run_taken;
    m.give(1, -999);
    side asks(t, one);
    tn::ensemble_aggregator aggregator(asks.q, asks.session);
    std::thread answering([&] {
        m.take();
        CHECK(m.number_taken == 1);
        CHECK(m.run_taken != run_before);
        m.give(1, 5);
    });
    CHECK(aggregator.ask(some(1, 2), long_time).mean(0, 0) == 5);
    answering.join();
    CHECK(aggregator.statistics().members[0].late == 1);
}

TEST_CASE(
    "SEMANTICS 45: members that answer without being asked are collected by number; one that is ahead waits, one that "
    "has left a number out is not waited for") {
    const tn::task t;
    const tn::ensemble_options o{.name = "unasked", .members = 2, .capacity = 2};
    side takes(t, o);
    tn::ensemble_aggregator aggregator(takes.q, takes.session);
    tn::coordinator coord;
    std::atomic<int> ahead{0};
    const auto answers = [&](int member, const std::vector<std::int64_t>& numbers) {
        coord.start("member", [&t, &o, &ahead, member, numbers] {
            side own(t, o);
            const auto number = tn::placeholder<std::int64_t, tn::shape<>>("number");
            const auto value = tn::placeholder<float, tn::shape<batch, 3>>("value");
            const tn::operation answer = own.q.answer(member, number, value);
            for (const std::int64_t n : numbers) {
                output v(1);
                v.fill(static_cast<float>(10 * n + member));
                own.session.run(tn::feed(number, n), tn::feed(value, v), answer);
                if (member == 0) ahead = static_cast<int>(n);
            }
        });
    };
    std::vector<std::int64_t> all, without;
    for (std::int64_t n = 0; n < 30; ++n) {
        all.push_back(n);
        if (n % 3 != 1) without.push_back(n);
    }
    answers(0, all);
    answers(1, without);
    for (std::int64_t n = 0; n < 30; ++n) {
        const auto a = aggregator.collect(n, long_time);
        CHECK(a.number == n);
        const bool both = n % 3 != 1;
        CHECK(a.members == (both ? std::vector<int>{0, 1} : std::vector<int>{0}));
        CHECK(a.mean(0, 0) == static_cast<float>(10 * n) + (both ? 0.5f : 0.0f));
        // Two wait in the queue, one at the aggregator, and one to be enqueued.
        CHECK(ahead <= n + 4);
    }
    CHECK_ERROR(tn::invalid_argument_error, "request 29 is collected after request 29", aggregator.collect(29));
    coord.join();
}

TEST_CASE(
    "SEMANTICS 45: answers of different sizes are an error that names both members; the next request is answered") {
    const tn::task t;
    const tn::ensemble_options two{.name = "two", .members = 2};
    side asks(t, two);
    tn::ensemble_aggregator aggregator(asks.q, asks.session);
    by_hand a(t, 0, two), b(t, 1, two);
    for (const int n : {2, 3}) {
        std::thread answering([&] {
            a.take();
            b.take();
            a.give(3, 1);
            b.give(n, 2);
        });
        if (n == 2)
            CHECK_THROWS_WITH_AS(
                (void)aggregator.ask(some(3, 1), long_time),
                "ensemble \"two\": to request 1 member 0 has answered float[3, 3], and member 1 float[2, 3]",
                tn::invalid_argument_error);
        else CHECK(aggregator.ask(some(3, 1), long_time).mean(2, 2) == 1.5f);
        answering.join();
    }
}

TEST_CASE("SEMANTICS 45: a member whose queue of answers is closed is lost: missing, by name, for every aggregator; "
          "the quorum "
          "answers, and where too few are left whoever asks is told at once") {
    const tn::task t;
    const tn::ensemble_options o = three({.quorum = 2});
    side asks(t, o);
    const auto close_answers = [&](int member) {
        side own(t, o);
        own.session.run(own.q.answers(member).close());
    };
    by_hand zero(t, 0), one(t, 1), two(t, 2);
    const input x = some(1, 1);
    const auto ask = [&](auto& aggregator, std::vector<by_hand*> answering) {
        std::thread members([&] {
            for (by_hand* m : answering) {
                m->take();
                m->give(1, 5);
            }
        });
        const auto a = aggregator.ask(x, long_time);
        members.join();
        CHECK(a.mean(0, 0) == 5);
        return a.text();
    };
    {
        tn::ensemble_aggregator aggregator(asks.q, asks.session);
        CHECK(ask(aggregator, {&zero, &one, &two}) == "3 of 3 members");
        close_answers(1);
        CHECK(ask(aggregator, {&zero, &two}) == "2 of 3 members; missing: member 1");
        CHECK(ask(aggregator, {&zero, &two}) == "2 of 3 members; missing: member 1");
        const auto s = aggregator.statistics();
        CHECK(s.members[0].lost.empty());
        CHECK(contains(s.members[1].lost, "is closed"));
        CHECK(s.members[1].missed == 2);
        CHECK(s.members[1].answered == 1);
    }
    side others(t, o);
    tn::ensemble_aggregator second(others.q, others.session);
    CHECK(ask(second, {&zero, &two}) == "2 of 3 members; missing: member 1");
    close_answers(2);
    for (int i = 0; i < 2; ++i)
        CHECK_ERROR(tn::error, "ensemble \"three\": 1 of 3 members are left, and 2 are needed; member 1 is lost: ",
                    second.ask(x, long_time));
}

TEST_CASE(
    "SEMANTICS 45: a request that could not be asked of a member has had its number; what refused it is thrown where "
    "there are too few answers") {
    const tn::task t;
    const tn::ensemble_options o = three({.quorum = 2, .timeout = short_time});
    side asks(t, o);
    const tn::fifo_queue<std::int64_t> other(1, tn::queue_options{.shared_name = "three/requests_0"});
    (void)asks.session.run(other.size()); // the name is taken by a queue of other elements
    tn::ensemble_aggregator aggregator(asks.q, asks.session);
    by_hand one(t, 1, o);
    for (int i = 1; i <= 3; ++i) {
        CHECK_ERROR(tn::error, "three/requests_0", aggregator.ask(some(1, 1)));
        one.take();
        CHECK(one.number_taken == i);
        CHECK(aggregator.statistics().requests == i);
    }
}

TEST_CASE("SEMANTICS 45: several threads may ask; each has the answer to what it asked") {
    const tn::task t;
    side asks(t);
    std::vector<std::unique_ptr<serving>> members;
    for (int m = 0; m < 3; ++m) members.push_back(std::make_unique<serving>(t, m));
    tn::ensemble_aggregator aggregator(asks.q, asks.session);
    std::atomic<int> wrong{0};
    on_threads(4, [&](int i) {
        for (int k = 0; k < 10; ++k) {
            const input x = some(2, 10 * i + k);
            const auto a = aggregator.ask(x, long_time);
            for (int c = 0; c < 3; ++c)
                wrong +=
                    static_cast<double>(a.mean(1, c)) != doctest::Approx(expected(x, 1, c, a.members)).epsilon(1e-6);
        }
    });
    CHECK(wrong == 0);
    aggregator.close();
    for (const auto& m : members) m->join();
}

TEST_CASE(
    "SEMANTICS 45: where the session is closed, whoever asks is told; options that make no sense are refused by name") {
    const tn::task t;
    side asks(t);
    {
        tn::ensemble_aggregator aggregator(asks.q, asks.session);
        asks.session.close();
        CHECK_THROWS_AS((void)aggregator.ask(some(1, 1), long_time), tn::error);
        CHECK_ERROR(tn::invalid_argument_error, "the time to wait is -1", aggregator.ask(some(1, 1), -1));
    }
    const auto refused = [](const tn::ensemble_options& o, const char* words) {
        const own_graph g;
        CHECK_ERROR(tn::invalid_argument_error, words, queues(o));
    };
    refused({.name = ""}, "has no name");
    refused({.members = 0}, "members is 0");
    refused({.members = 2, .quorum = 3}, "quorum is 3 of 2 members");
    refused({.quorum = 0}, "quorum is 0");
    refused({.timeout = 0}, "timeout is 0");
    refused({.capacity = 0}, "capacity is 0");
    side other(t);
    CHECK_THROWS_WITH_AS((void)other.q.requests(3), "ensemble \"three\": there is no member 3; there are 0 to 2",
                         tn::invalid_argument_error);
}
