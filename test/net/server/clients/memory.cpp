#include <net/server/servers.hpp>

#include "tests.hpp"
#include "ops/untyped_run.hpp"

// One limit for all that a server's clients have it hold.

namespace {

inline constexpr struct batch_size : tn::dim<"batch"> {} batch;
constexpr std::size_t limit = std::size_t{64} << 20;
constexpr std::int64_t large = std::int64_t{4} << 20; // elements: 16 MB
using large_shape = tn::shape<large>;

tn::server_options with_limit() {
    tn::server_options o = net_test::quick();
    o.memory_limit = limit;
    return o;
}

template <std::int64_t N = large> tn::array<float, tn::shape<N>> large_value(float x) {
    tn::array<float, tn::shape<N>> a;
    std::fill_n(a.data(), N, x);
    return a;
}

template <std::int64_t N> tn::fifo_queue<tn::component<float, tn::shape<N>>> queue_of() {
    return tn::fifo_queue<tn::component<float, tn::shape<N>>>(100'000, {.shared_name = "q" + std::to_string(N)});
}

std::size_t in_use(const tn::session& s, const char* task) {
    return s.memory_info(tn::device_name(std::string(task) + "/device:CPU:0")).in_use;
}

void check_refused(const tn::resource_exhausted_error& e, const char* who) {
    const std::string said = e.what();
    CHECK_MESSAGE(contains(said, "of the 67108864 that may be used"), said);
    CHECK_MESSAGE(contains(said, "--memory-limit"), said);
    CHECK_MESSAGE(contains(said, who), said);
}

} // namespace

TEST_CASE("memory: elements of a queue are held against the limit of its server, and given back by who takes them and "
          "by a reset") {
    const net_test::clients_that are_quick;
    net_test::servers all(1, 1, with_limit());
    const own_graph g;
    const tn::device_scope there{tn::device_name("/job:ps/task:0")};
    tn::fifo_queue<tn::component<float, large_shape>> q(1000, {.shared_name = "q"});
    const auto put = q.enqueue(tn::full<large_shape>(2.0f));
    const auto taken = tn::sum(q.dequeue());
    tn::session sess(all.target("worker", 0), g);
    const auto fill = [&] {
        int n = 0;
        try {
            for (; n < 20; ++n) sess.run(put);
        } catch (const tn::resource_exhausted_error& e) {
            check_refused(e, "bytes: ");
        }
        return n;
    };
    const int first = fill();
    CHECK(first >= 2);
    CHECK(first <= 4);
    CHECK(in_use(sess, "/job:ps/task:0") <= limit);
    CHECK(sess.run(taken)() == 2.0f * static_cast<float>(large));
    CHECK(fill() == 1);
    tn::session::reset(all.target("worker", 0));
    CHECK(fill() == first);
}

TEST_CASE("memory: what a queue keeps of another task is received once, in memory that is the queue's from then on") {
    const net_test::clients_that are_quick;
    net_test::servers all(1, 1, with_limit());
    const own_graph g;
    const auto x = tn::placeholder<float>("x");
    const auto [put, taken] = [&] {
        const tn::device_scope ps("/job:ps/task:0");
        const tn::fifo_queue<tn::component<float, large_shape>> q(3);
        const auto sent = [&] {
            const tn::device_scope worker("/job:worker/task:0");
            return tn::full<large_shape>(1.0f) * x;
        }();
        return std::pair(q.enqueue(sent), tn::sum(q.dequeue()));
    }();
    tn::session sess(all.target("worker", 0), g);
    for (const float each : {1.0f, 2.0f, 3.0f}) sess.run(tn::feed(x, each), put); // with a copy the third has no room
    for (const float each : {1.0f, 2.0f, 3.0f}) CHECK(sess.run(taken)() == each * static_cast<float>(large));
}

TEST_CASE(
    "memory: a step that had no room leaves a session whose smaller steps go on, of sizes that are known in the step") {
    const net_test::clients_that are_quick;
    tn::server_options o = net_test::quick();
    o.memory_limit = std::size_t{900} << 10;
    net_test::servers all(1, 1, o);
    const own_graph g;
    using rows = tn::shape<batch, 64>;
    const auto x = tn::placeholder<float, rows>("x");
    const tn::device_scope ps("/job:ps/task:0");
    const tn::fifo_queue<tn::component<float, rows>> q(1);
    const auto put = q.enqueue(x);
    const auto w = tn::full<tn::shape<64, 64>>(0.01f);
    const auto h = tn::matmul(tn::tanh(tn::matmul(q.dequeue(), w)), w);
    const auto all_of_it = tn::sum(tn::square(tn::matmul(tn::tanh(h), w) + h));
    const auto left = q.size();
    const tn::operation drop = q.dequeue().operation();
    tn::session sess(all.target("worker", 0), g);
    const auto run = [&](std::int64_t n) {
        tn::array<float, rows> fed(n);
        fed.fill(1);
        sess.run(tn::feed(x, fed), put);
        try {
            return sess.run(all_of_it)();
        } catch (const tn::resource_exhausted_error&) {
            while (sess.run(left)() == 0) { // it is given back
            }
            sess.run(drop);
            throw;
        }
    };
    const float small = run(8);
    int refused = 0;
    for (const std::int64_t n : {200, 400, 600, 800, 500, 700}) {
        try {
            const float sum = run(n);
            CHECK(sum == doctest::Approx(small * static_cast<float>(n) / 8));
        } catch (const tn::resource_exhausted_error&) {
            ++refused;
        }
    }
    CHECK(refused > 0);
    for (int i = 0; i < 3; ++i) CHECK(run(8) == small);
}

TEST_CASE_FIXTURE(in_graph, "memory: texts are held against the limit, in queues and in variables") {
    const net_test::clients_that are_quick;
    net_test::servers all(1, 1, with_limit());
    const tn::device_scope there{tn::device_name("/job:ps/task:0")};
    tn::fifo_queue<std::string> q(1000, {.shared_name = "texts"});
    const auto text = tn::placeholder<std::string>("text");
    const auto two = tn::placeholder<std::string, tn::shape<2>>("two");
    const auto put = q.enqueue(text), put_two = q.enqueue_many(two);
    const auto taken = q.dequeue();
    std::vector<tn::operation> writes;
    for (int i = 0; i < 100; ++i)
        writes.push_back(tn::variable("v" + std::to_string(i), std::string()).assign(text).operation());
    tn::session sess(all.target("worker", 0), g, {.operation_timeout = 20});
    const std::string mb(std::size_t{1} << 20, 't');
    const tn::array<std::string, tn::shape<2>> two_mb{mb, mb};
    const std::size_t before = in_use(sess, "/job:ps/task:0");
    const auto until_refused = [&](const auto& one) {
        int n = 0;
        try {
            for (; n < 100; ++n) one(n);
        } catch (const tn::resource_exhausted_error& e) {
            check_refused(e, "process ");
        }
        return n;
    };
    const auto require_within = [](int n, int most) {
        CHECK(n > most - 12);
        CHECK(n < most);
    };
    const auto empty_queue = [&] {
        for (auto n = sess.run(q.size())(); n > 0; --n) CHECK(sess.run(taken)() == mb);
        CHECK(in_use(sess, "/job:ps/task:0") < before + (std::size_t{2} << 20));
    };
    require_within(until_refused([&](int) { sess.run(tn::feed(text, mb), put); }), 64);
    empty_queue();
    require_within(until_refused([&](int) { sess.run(tn::feed(two, two_mb), put_two); }), 32);
    empty_queue();
    require_within(until_refused([&](int n) { sess.run(tn::feed(text, mb), writes[static_cast<std::size_t>(n)]); }),
                   64);
    // What is written over takes no more.
    sess.run(tn::feed(text, std::string()), writes[0]);
    sess.run(tn::feed(text, mb), writes[0]);
    CHECK(in_use(sess, "/job:ps/task:0") <= limit);
}

TEST_CASE("memory: what replicas have in common is held against the limit of the ledger's server, until a reset") {
    const net_test::clients_that are_quick;
    net_test::servers all(1, 1, with_limit());
    const std::string parts(std::size_t{1} << 20, 'w');
    const auto made_until_refused = [&](int most) { // each graph goes with its session, and its ledger stays
        int n = 0;
        try {
            for (; n < most; ++n) {
                const own_graph g;
                const tn::device_scope there{tn::device_name("/job:ps/task:0")};
                const tn::untyped::step_ledger made({1, 1, parts, "ledger" + std::to_string(n)}, 0, 1);
                tn::session sess(all.target("worker", 0), g);
                sess.run_untyped({}, {made.state().step});
            }
        } catch (const tn::resource_exhausted_error& e) {
            check_refused(e, "bytes: ");
        }
        return n;
    };
    // Of those that are there nothing more is taken: 20 MiB, not 100.
    for (int round = 0; round < 5; ++round) REQUIRE(made_until_refused(20) == 20);
    const int first = made_until_refused(100);
    CHECK(first > 20);
    CHECK(first < 64);
    tn::session::reset(all.target("worker", 0));
    CHECK(made_until_refused(100) > first - 12);
}

TEST_CASE("memory: constants are held against the limits of the tasks that they reach, and go with their session") {
    const net_test::clients_that are_quick;
    net_test::servers all(1, 1, with_limit());
    for (int round = 0; round < 3; ++round) {
        const char* const where = round % 2 ? "/job:ps/task:0" : "/job:worker/task:0";
        CAPTURE(where);
        const own_graph g;
        tn::session sess(all.target("worker", 0), g);
        int n = 0;
        try {
            for (; n < 20; ++n) {
                const auto sum =
                    tn::on(where, [&] { return tn::sum(tn::constant(large_value(static_cast<float>(n)))); });
                const float value = sess.run(sum)(); // a check would swallow what it throws
                CHECK(value == static_cast<float>(n) * static_cast<float>(large));
            }
        } catch (const tn::resource_exhausted_error& e) {
            check_refused(e, "bytes: ");
        }
        CHECK(n >= 2);
        CHECK(n <= 4);
        CHECK(in_use(sess, "/job:worker/task:0") <= limit);
        CHECK(in_use(sess, "/job:ps/task:0") <= limit);
    }
}

TEST_CASE_FIXTURE(in_graph, "memory: what is fed and does not fit is refused, and the session goes on") {
    const net_test::clients_that are_quick;
    net_test::servers all(1, 1, with_limit());
    const auto x = tn::placeholder<float, tn::shape<tn::dyn>>("x");
    const auto text = tn::placeholder<std::string, tn::shape<tn::dyn>>("text");
    const auto sum = tn::on("/job:ps/task:0", [&] { return tn::sum(x); });
    tn::session sess(all.target("worker", 0), g);
    const auto run = [&](const tn::any_tensor& fed, tn::any_array value, const tn::any_tensor& fetched) {
        return sess.run_untyped(tn::test::fed(fed, value), {fetched}).size() == 1;
    };
    const auto zeros = [](std::int64_t n) { return tn::any_array::zeros(tn::element_type::float32, tn::extents{n}); };
    for (int i = 0; i < 3; ++i) {
        try {
            (void)run(x, zeros(large * 5), sum);
            FAIL("80 MB were taken");
        } catch (const tn::resource_exhausted_error& e) {
            check_refused(e, "/job:worker/task:0 has no room for a call");
        }
        CHECK(run(x, zeros(1000), sum));
        CHECK(run(x, zeros(large), sum));
    }
    tn::any_array words(tn::element_type::string, tn::extents{5});
    for (int i = 0; i < 5; ++i) words.data<std::string>()[i].assign(limit / 4, 'x');
    CHECK_THROWS_AS((void)run(text, std::move(words), tn::identity(text)), tn::resource_exhausted_error);
    CHECK(run(x, zeros(1000), sum));
}

TEST_CASE("memory: a task that had no room for a part takes it when there is some") {
    const net_test::clients_that are_quick;
    net_test::servers all(1, 2, with_limit());
    const tn::graph g, other;
    std::optional<tn::session> holder;
    {
        const tn::graph_scope scope(other);
        const tn::device_scope there{tn::device_name("/job:ps/task:0")};
        const auto w = tn::variable("w", tn::full<tn::shape<5 * large / 2>>(1.0f));
        holder.emplace(all.target("worker", 1), other);
        holder->run(w.initializer());
    }
    const tn::graph_scope scope(g);
    const auto sum = tn::on("/job:ps/task:0", [&] { return tn::sum(tn::constant(large_value<2 * large>(0))); });
    tn::session sess(all.target("worker", 0), g);
    for (int i = 0; i < 2; ++i) try {
            (void)sess.run(sum);
            FAIL("it was taken");
        } catch (const tn::resource_exhausted_error& e) {
            check_refused(e, "bytes: ");
        }
    holder.reset();
    tn::session::reset(all.target("worker", 1));
    CHECK(sess.run(sum)() == 0);
}

TEST_CASE("memory: a shortage that a part met passes with it, also of a program that the task knew; nothing stays of "
          "its steps") {
    const net_test::clients_that are_quick;
    net_test::servers all(1, 1, with_limit());
    const own_graph g;
    constexpr std::int64_t fed = 1 << 19; // elements: 2 MiB
    const auto x = tn::placeholder<float, tn::shape<fed>>("x");
    const tn::device_scope there{tn::device_name("/job:ps/task:0")};
    const auto many = queue_of<fed>();
    const auto some = queue_of<fed / 16>();
    const auto few = queue_of<256>(); // to the last of what may stay
    const tn::operation puts[] = {many.enqueue(tn::full<tn::shape<fed>>(2.0f)),
                                  some.enqueue(tn::full<tn::shape<fed / 16>>(2.0f)),
                                  few.enqueue(tn::full<tn::shape<256>>(2.0f))};
    const tn::any_tensor takes[] = {tn::sum(many.dequeue()), tn::sum(some.dequeue()), tn::sum(few.dequeue())};
    tn::tensor<float, tn::shape<>> y = tn::sum(x * 2.0f);
    for (int i = 0; i < 60; ++i)
        y = y + tn::sum(tn::cumsum<0>(x * static_cast<float>(i)) + x); // whose plan is no small one
    const auto value = large_value<fed>(0);
    const tn::session_options limited{.operation_timeout = 20};
    tn::session first(all.target("worker", 0), g, limited), second(all.target("worker", 0), g, limited);
    const float expected = std::get<0>(first.callable(tn::feeds(x), tn::fetches(y))(value))();
    const auto step = second.callable(tn::feeds(x), tn::fetches(y));
    int there_are[3] = {};
    for (int q = 0; q < 3; ++q) {
        (void)second.run_untyped({}, {}, {puts[q]});
        (void)second.run_untyped({}, {takes[q]});
        try {
            for (;; ++there_are[q]) (void)second.run_untyped({}, {}, {puts[q]});
        } catch (const tn::resource_exhausted_error&) {
        }
    }
    for (int i = 0; i < 2; ++i) CHECK_THROWS_AS((void)step(value), tn::resource_exhausted_error);
    const std::size_t full = in_use(second, "/job:ps/task:0");
    for (int i = 0; i < 8; ++i) CHECK_THROWS_AS((void)step(value), tn::resource_exhausted_error);
    CHECK(in_use(second, "/job:ps/task:0") <= full + (std::size_t{1} << 20));
    for (int q = 0; q < 3; ++q)
        for (; there_are[q] > 0; --there_are[q]) (void)second.run_untyped({}, {takes[q]});
    for (int i = 0; i < 3; ++i) CHECK(std::get<0>(step(value))() == expected);
}

TEST_CASE("memory: tenon status says which client holds how much of a task, also when it has gone") {
    const net_test::clients_that are_quick;
    const tn::server s = tn::server::create_local_server(with_limit());
    const auto holders = [&] {
        tenon::net::dialed_server d = tenon::net::dial_as_client(s.address());
        const auto to = tenon::net::peer::make(*d.over, std::move(d.to));
        auto rows = tenon::net::ask(*to, tenon::net::ask_status{false, 5}, d.over->now() + std::chrono::seconds(30));
        to->close();
        return rows.tasks.at(0).holders;
    };
    const own_graph g;
    const auto w = tn::variable("w", tn::full<large_shape>(1.0f));
    {
        tn::session sess(s.target(), g);
        sess.run(w.initializer());
        const auto rows = holders();
        REQUIRE(!rows.empty());
        CHECK(rows[0].bytes >= sizeof(float) * large);
        CHECK(contains(rows[0].client, "127.0.0.1"));
    }
    const auto rows = holders();
    REQUIRE(!rows.empty());
    CHECK(rows[0].bytes >= sizeof(float) * large);
    tn::session::reset(s.target());
    for (const auto& r : holders()) CHECK(r.bytes < sizeof(float) * large);
}
