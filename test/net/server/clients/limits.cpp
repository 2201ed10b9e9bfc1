#include <net/server/servers.hpp>
#include <net/wire/graph_codec.hpp>

#include "ops/untyped_run.hpp"
#include "tests.hpp"

// What a server takes of its clients, and how it says that it takes no more.

using namespace net_test;
using namespace tenon::net;

namespace {

using number = tn::tensor<std::int64_t, tn::shape<>>;

tn::server make_server(tn::server_options o) { return tn::server::create_local_server(std::move(o)); }

// A client that says what it likes.
struct raw_client {
    explicit raw_client(const tn::server& s) : server(dial_as_client(s.address())) {
        to = peer::make(*server.over, std::move(server.to));
    }
    ~raw_client() { to->close(); }
    time_point soon() const { return server.over->now() + std::chrono::seconds(30); }
    template <Call C> typename C::reply ask(const C& c) { return tenon::net::ask(*to, c, soon()); }
    std::uint64_t open() { return ask(open_session{.client = "a test"}).session; }
    dialed_server server;
    std::shared_ptr<peer> to;
};

// The first place where these 8 bytes stand becomes another number.
void replace(bytes& in, std::int64_t from, std::int64_t by) {
    for (std::size_t i = 0; i + 8 <= in.size(); ++i)
        if (std::memcmp(in.data() + i, &from, 8) == 0) {
            std::memcpy(in.data() + i, &by, 8);
            return;
        }
    FAIL("it is not there");
}

// Serves a client that asks for nothing odd.
void check_serves(const tn::server& s) {
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<3>>("x");
    tn::session sess(s.target(), g);
    CHECK(sess.run(tn::sum(x), tn::feed(x, {1.0f, 2.0f, 3.0f}))() == 6.0f);
}

} // namespace

TEST_CASE("limits: sessions without end are refused, and given back when they are closed or their client leaves") {
    const clients_that are_quick;
    tn::server_options o = quick();
    o.sessions = 6;
    o.client.sessions = 4;
    const tn::server s = make_server(o);
    {
        raw_client one(s);
        std::vector<std::uint64_t> open;
        for (int i = 0; i < 4; ++i) open.push_back(one.open());
        CHECK_ERROR(tn::resource_exhausted_error, "/job:local/task:0 holds 4 sessions, 4 of them this client's",
                    one.open());
        (void)one.ask(close_session{open[1]});
        open[1] = one.open();
        raw_client other(s);
        (void)other.open();
        (void)other.open();
        CHECK_ERROR(tn::resource_exhausted_error, "holds 6 sessions, 2 of them", other.open());
    }
    status_when(s, [](const auto& row) { return row.sessions.empty(); });
    check_serves(s);
}

TEST_CASE("limits: clients without end are refused, and there is room again when others have left") {
    const clients_that are_quick;
    tn::server_options o = quick();
    o.clients = 5;
    const tn::server s = make_server(o);
    std::vector<std::unique_ptr<raw_client>> all;
    for (int i = 0; i < 5; ++i) {
        all.push_back(std::make_unique<raw_client>(s));
        (void)all.back()->ask(ask_status{false, 0});
    }
    CHECK_ERROR(tn::resource_exhausted_error, "/job:local/task:0 has 5 links, and takes no more",
                raw_client(s).ask(ask_status{false, 0}));
    (void)all[2]->ask(ask_status{false, 0}); // those who are there are served
    all.erase(all.begin());
    (void)all[0]->ask(ask_status{false, 0});
    bool served = false;
    for (int i = 0; i < 1000 && !served; ++i) try { // its goodbye is on its way
            raw_client(s).ask(ask_status{false, 0});
            served = true;
        } catch (const tn::resource_exhausted_error&) {
        }
    CHECK(served);
}

TEST_CASE("limits: nodes, bytes and callables of a session without end are refused with numbers, and it stays usable") {
    const clients_that are_quick;
    tn::server_options o = quick();
    o.client.nodes = 100;
    o.client.graph_bytes = std::size_t{1} << 20;
    o.client.callables = 8;
    const tn::server s = make_server(o);
    {
        const own_graph g;
        const auto x = tn::constant(std::int64_t{1});
        number sum = x + x;
        tn::session sess(s.target(), g);
        CHECK(sess.run(sum)() == 2);
        for (int i = 0; i < 200; ++i) sum = tn::identity(sum);
        CHECK_ERROR(tn::resource_exhausted_error, "100", sess.run(sum));
        CHECK(sess.run(x + x)() == 2);
    }
    {
        const own_graph g;
        const auto x = tn::constant(std::int64_t{1});
        tn::session sess(s.target(), g);
        CHECK(sess.run(x)() == 1);
        const auto large = tn::constant(tn::array<float, tn::shape<1 << 20>>());
        CHECK_ERROR(tn::resource_exhausted_error, "4194", sess.run(tn::sum(large)));
    }
    {
        const own_graph g;
        tn::session sess(s.target(), g);
        std::vector<number> all;
        for (std::int64_t i = 0; i < 9; ++i) all.push_back(tn::identity(tn::constant(i)));
        for (std::size_t i = 0; i < 8; ++i) (void)sess.run(all[i]);
        CHECK_ERROR(tn::resource_exhausted_error, "it has 8 callables", sess.run(all[8]));
        CHECK(sess.run(all[3])() == 3);
    }
    check_serves(s);
}

TEST_CASE("limits: of steps without end so many are under way, more are refused; all are taken back when the client "
          "leaves") {
    const clients_that are_quick;
    tn::server_options o = quick();
    o.client.steps = 8;
    o.client.calls = 2; // steps are none of those
    const tn::server s = make_server(o);
    {
        const own_graph g;
        const tn::fifo_queue<std::int64_t> q(4, {.shared_name = "q"});
        tn::session sess(s.target(), g);
        auto step = sess.callable(tn::feeds(), tn::fetches(q.dequeue()));
        std::vector<decltype(step.start())> some;
        for (int i = 0; i < 100; ++i) some.push_back(step.start());
        CHECK_ERROR(tn::resource_exhausted_error, "8 of its steps", some.back().get());
        CHECK(status_when(s, [](const auto& row) { return row.sessions.at(0).steps >= 8; }).sessions.at(0).steps == 8);
        check_serves(s);
        for (int i = 0; i < 8; ++i) some[static_cast<std::size_t>(i)].stop();
        for (int i = 0; i < 8; ++i) CHECK_THROWS_AS((void)some[static_cast<std::size_t>(i)].get(), tn::cancelled_error);
        auto again = step.start();
        status_when(s, [](const auto& row) { return row.sessions.at(0).steps >= 9; });
    }
    status_when(s, [](const auto& row) { return row.sessions.empty() && row.steps.empty(); });
}

TEST_CASE("limits: variables, names and containers without end take the memory that the task may have, and reset gives "
          "it back") {
    const clients_that are_quick;
    tn::server_options o = quick();
    o.memory_limit = std::size_t{16} << 20;
    const tn::server s = make_server(o);
    const auto fill = [&](const std::string& container) {
        int made = 0;
        std::string words = "nothing was thrown";
        while (made < 1000 && words == "nothing was thrown") {
            const tn::graph g; // a new session each, whose variables stay
            const tn::graph_scope scope(g);
            const tn::container_scope in(container + std::to_string(made % 3));
            const auto v = tn::variable<float, tn::shape<1 << 16>>(container + std::to_string(made), tn::zeros());
            tn::session sess(s.target(), g);
            words = message_of<tn::resource_exhausted_error>([&] { sess.run(v.initializer()); });
            ++made;
        }
        return std::pair(made, words);
    };
    const auto [made, words] = fill("a");
    CHECK(made > 32);
    CHECK(made <= 65);
    CHECK(contains(words, "a" + std::to_string(made - 1)));
    CHECK(contains(words, "16777216"));
    tn::session::reset(s.target(), {"a0", "a1", "a2"});
    check_serves(s);
    CHECK(fill("b").first == made);
}

TEST_CASE("limits: 2^40 bytes are refused with sizes, wherever they are asked for, and the server lives") {
    const clients_that are_quick;
    tn::server_options o = quick();
    o.memory_limit = std::size_t{256} << 20;
    const tn::server s = make_server(o);
    constexpr std::int64_t huge = std::int64_t{1} << 38; // of float32
    const own_graph g;
    const auto v = tn::variable<float, tn::shape<huge>>("huge", tn::zeros());
    const auto x = tn::placeholder<float, tn::shape<tn::dyn, 1>>("x");
    const auto y = tn::placeholder<float, tn::shape<1, tn::dyn>>("y");
    const auto product = tn::matmul(x, y);
    constexpr int side = 1 << 19;
    const tn::fifo_queue<std::int64_t> q(std::int64_t{1} << 40);
    tn::session sess(s.target(), g);
    CHECK_ERROR(tn::resource_exhausted_error, "1099511627776", sess.run(v.initializer()));
    CHECK_ERROR(tn::resource_exhausted_error, "bytes",
                sess.run(product, tn::feed(x, tn::array<float, tn::shape<tn::dyn, 1>>(side)),
                         tn::feed(y, tn::array<float, tn::shape<1, tn::dyn>>(side))));
    CHECK(sess.run(product, tn::feed(x, {{2.0f}}), tn::feed(y, {{3.0f}}))(0, 0) == 6.0f);
    sess.run(q.enqueue(std::int64_t{3})); // a capacity is no memory
    CHECK(sess.run(q.dequeue())() == 3);
    check_serves(s);
}

TEST_CASE("limits: sizes that lie or overflow, in what is fed and in graphs, are refused, and the server lives") {
    const clients_that are_quick;
    const tn::server s = make_server(quick());
    raw_client liar(s);
    const std::uint64_t session = liar.open();
    const own_graph g;
    const auto x = tn::placeholder<std::int32_t, tn::shape<tn::dyn, tn::dyn>>("x");
    const auto sum = tn::sum(x);
    const auto v = tn::variable<float, tn::shape<1237, 1239>>("v", tn::zeros());
    const auto c = tn::constant(tn::array<std::int32_t, tn::shape<41>>());
    graph_mark now;
    extend_graph all{.session = session, .nodes = encode_nodes(g, {}, now)};

    for (const std::int64_t lie : {std::int64_t{1} << 40, std::int64_t{1} << 62, std::int64_t{-7}}) {
        CAPTURE(lie);
        for (const std::int64_t honest : {1237, 41}) { // a variable's, a constant's
            message m = message_of(all);
            replace(m.body, honest, lie);
            CHECK_THROWS_AS(liar.to->ask(m.verb, std::move(m.body), std::move(m.arrays), liar.soon()).check(),
                            tn::error);
        }
    }
    CHECK(liar.ask(all).size == g.size()); // nothing of those is there
    make_callable made{.session = session};
    made.feeds.push_back({x.node()->number, 0});
    made.fetches.push_back({sum.node()->number, 0});
    run_step step{.session = session, .callable = liar.ask(made).callable};
    tn::any_array fed(tn::element_type::int32, {3, 13});
    std::memset(fed.data(), 0, fed.bytes());
    step.feeds.push_back(fed.share());
    for (const std::int64_t lie : {std::int64_t{1} << 40, std::int64_t{1} << 62, std::int64_t{-7}, std::int64_t{14}}) {
        CAPTURE(lie);
        message m = message_of(step);
        replace(m.body, 13, lie);
        CHECK_THROWS_AS(liar.to->ask(m.verb, std::move(m.body), std::move(m.arrays), liar.soon()).check(), tn::error);
    }
    CHECK(liar.ask(step).fetched.at(0).data<std::int32_t>()[0] == 0);
    check_serves(s);
}

TEST_CASE("SEMANTICS 26: the same name with other sizes, another type or another capacity: the error has both") {
    const clients_that are_quick;
    servers all(1, 2);
    const auto on_ps = [] { return tn::device_scope("/job:ps/task:0"); };
    {
        const own_graph g;
        const auto ps = on_ps();
        const auto v = tn::variable<float, tn::shape<3, 4>>("v", tn::zeros());
        const tn::fifo_queue<std::int64_t> q(4, {.shared_name = "q"});
        tn::session sess(all.target("worker", 0), g);
        sess.run(v.initializer(), q.enqueue(std::int64_t{1}));
    }
    const own_graph g;
    const auto ps = on_ps();
    const auto v = tn::variable<float, tn::shape<4, 3>>("v", tn::zeros());
    const tn::fifo_queue<std::int64_t> q(5, {.shared_name = "q"});
    tn::session sess(all.target("worker", 1), g);
    const std::string of_v = message_of<tn::invalid_argument_error>([&] { (void)sess.run(v); });
    CHECK(contains(of_v, "float[3, 4]"));
    CHECK(contains(of_v, "float[4, 3]"));
    CHECK(contains(of_v, "v"));
    const std::string of_q = message_of<tn::invalid_argument_error>([&] { (void)sess.run(q.dequeue()); });
    CHECK(contains(of_q, "\"q\""));
    CHECK(contains(of_q, "4"));
    CHECK(contains(of_q, "5"));
    CHECK(sess.run(tn::constant(3.0f))() == 3.0f);
}

TEST_CASE("SEMANTICS 27: a client that extends a session's graph from where it is no more is refused; the graph is "
          "what it was") {
    const clients_that are_quick;
    const tn::server s = make_server(quick());
    raw_client one(s);
    const std::uint64_t session = one.open();
    const own_graph g;
    const auto x = tn::identity(tn::constant(std::int64_t{5}));
    graph_mark first, second;
    extend_graph base{session, 0, encode_nodes(g, {}, first)};
    CHECK(one.ask(base).size == g.size());
    const auto y = tn::identity(x + x);
    extend_graph more{session, first.nodes, encode_nodes(g, first, second)};
    CHECK(one.ask(more).size == g.size());
    const std::string words =
        message_of<tn::aborted_error>([&] { (void)one.ask(more); }); // another one, which has seen x alone
    CHECK(contains(words, "its graph has " + std::to_string(second.nodes) + " nodes, and is extended from " +
                              std::to_string(first.nodes)));
    make_callable c{.session = session};
    c.fetches.push_back({y.node()->number, 0});
    CHECK(one.ask(run_step{session, one.ask(c).callable, 0, false, {}}).fetched.at(0).data<std::int64_t>()[0] == 10);
    // A session is its client's: to others it is none.
    raw_client other(s);
    CHECK_ERROR(tn::aborted_error, "has no such session", other.ask(more));
}

TEST_CASE_FIXTURE(in_graph, "what a user gets wrong on a server is said as in a process: devices, shapes, targets") {
    const clients_that are_quick;
    servers all(1, 1);
    const auto x = tn::placeholder<float, tn::shape<tn::dyn, 3>>("x");
    const auto twice = tn::identity(x + x);
    tn::session sess(all.target("worker", 0), g);
    const auto wrong_device = [&](const char* name) {
        const tn::device_scope there(name);
        const auto y = tn::identity(tn::constant(1.0f));
        return message_of<tn::invalid_argument_error>([&] { (void)sess.run(y); });
    };
    CHECK(contains(wrong_device("/job:ps/task:7"), "/job:ps/task:7"));
    CHECK(contains(wrong_device("/job:ps/task:7"), "/job:ps/replica:0/task:0/device:CPU:0")); // what there is
    CHECK(contains(wrong_device("/job:master"), "/job:master"));
    CHECK(contains(wrong_device("/job:worker/device:GPU:3"), "GPU:3"));
    const std::string shape = message_of<tn::invalid_argument_error>([&] {
        (void)sess.run_untyped(tn::test::fed(x, tn::any_array(tn::element_type::float32, {2, 4})), {twice});
    });
    CHECK(contains(shape, "float[2, 4]"));
    CHECK(contains(shape, "x"));
    CHECK_THROWS_WITH_AS(tn::session("tenon://", g), doctest::Contains("host"), tn::invalid_argument_error);
    CHECK_THROWS_WITH_AS(tn::session("tenon://here", g), doctest::Contains("here"), tn::invalid_argument_error);
    CHECK_THROWS_WITH_AS(tn::session("grpc://here:1", g), doctest::Contains("grpc"), tn::invalid_argument_error);
    CHECK_THROWS_WITH_AS(tn::session("tenon://127.0.0.1:1", g, {.open_timeout = 0.2}), doctest::Contains("127.0.0.1:1"),
                         tn::unavailable_error);
    CHECK_THROWS_WITH_AS(tn::session("tenon://127.0.0.1:1", g, {.open_timeout = 0.2}),
                         doctest::Contains("is the server running?"), tn::unavailable_error);
}
