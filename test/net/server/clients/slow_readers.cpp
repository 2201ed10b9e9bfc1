#include <net/server/server_core.hpp>
#include <net/server/servers.hpp>
#include <net/transport/tcp.hpp>
#include <net/wire/graph_codec.hpp>

#include "tests.hpp"

// Who asks for much and does not read it, and who asks and then wants it no more. What a server holds is what it counts: the memory
// of the process says less, since large pieces that were given back are kept for the next (core/array/large_memory.hpp).

using namespace net_test;
using namespace tenon::net;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t MiB = std::size_t{1} << 20;

// A server whose counts can be seen, behind a network that may stand still.
struct counted_server {
    explicit counted_server(std::size_t kept, duration lease = 60s, duration slow = 60s) {
        tcp_options o{.io_threads = 2};
        o.shared_memory = false; // the network between shall see all
        o.slow_reader_bytes = MiB;
        o.slow_reader_time = slow;
        over = make_tcp_transport(o);
        server_settings s;
        s.tasks = tn::cluster({{"local", std::vector<std::string>{"127.0.0.1:1"}}});
        s.listen = "127.0.0.1:0";
        s.job = "local";
        s.link.lease = lease;
        s.of_task.intra_op_threads = 2;
        s.of_service.kept_bytes = kept;
        s.log = s.log_verbose = [to = log](const std::string& line) { to->add(line); };
        core = std::make_unique<server_core>(*over, std::move(s));
        between.forward_to(core->address());
    }
    service::counts called() const { return core->count().called; }

    std::shared_ptr<told_lines> log = std::make_shared<told_lines>();
    std::shared_ptr<transport> over;
    std::unique_ptr<server_core> core;
    tcp_proxy between;
};

// Leases that do not end while a test lets the network stand still.
struct patient_clients : clients_that {
    patient_clients() : clients_that({.shared_memory = false}, 60) {}
};

// A client that says when it asks for what, and a model: fed 1 MiB at a time, it counts and answers with as much.
struct asking_client {
    explicit asking_client(const std::string& address) : dialed(dial_as_client(address)) {
        to = peer::make(*dialed.over, std::move(dialed.to));
        session = ask(open_session{.client = "a test"}).session;
        const auto init = tn::initialize_variables();
        graph_mark now;
        (void)ask(extend_graph{session, 0, encode_nodes(graph, {}, now)});
        make_callable c{.session = session};
        c.targets.push_back(init.node()->number);
        (void)ask(run_step{session, ask(c).callable, 0, false, {}});
        c.targets.clear();
        c.fetches.push_back({more.node()->number, 0});
        c.fetches.push_back({large.node()->number, 0});
        update = ask(c).callable;
        c.fetches = {{count.node()->number, 0}};
        read = ask(c).callable;
        c.feeds.push_back({fed.node()->number, 0});
        c.fetches = {{sum.node()->number, 0}};
        feed = ask(c).callable;
        c.fetches = {{twice.node()->number, 0}};
        echo = ask(c).callable;
    }
    ~asking_client() { to->close(); }
    time_point soon() const { return dialed.over->now() + 60s; }
    template <Call C> typename C::reply ask(const C& c) { return tenon::net::ask(*to, c, soon()); }
    std::uint64_t start(std::uint64_t callable, std::function<void(answer)> done, std::vector<tn::any_array> feeds = {},
                        duration limit = 60s) {
        message m = message_of(run_step{session, callable, 0, false, std::move(feeds)});
        return to->call(m.verb, std::move(m.body), std::move(m.arrays), dialed.over->now() + limit, std::move(done), 0,
                        {});
    }
    std::int64_t counted() { return ask(run_step{session, read, 0, false, {}}).fetched.at(0).data<std::int64_t>()[0]; }
    // Works for the connection until f().
    template <class F> bool until(F f) {
        const time_point last = soon();
        while (!f() && dialed.over->now() < last)
            (void)dialed.over->work_until([] { return false; }, dialed.over->now() + 1ms);
        return f();
    }

    own_graph graph;
    tn::variable_tensor<std::int64_t, tn::shape<>> count = tn::variable("count", std::int64_t{0});
    tn::tensor<std::int64_t, tn::shape<>> more = count.assign_add(std::int64_t{1});
    tn::tensor<float, tn::shape<1 << 18>> large =
        tn::identity(tn::variable<float, tn::shape<1 << 18>>("v", tn::zeros()) + 1.0f);
    tn::tensor<float, tn::shape<tn::dyn>> fed = tn::placeholder<float, tn::shape<tn::dyn>>("fed");
    tn::tensor<float, tn::shape<>> sum = tn::sum(fed);
    tn::tensor<float, tn::shape<tn::dyn>> twice = fed + fed;
    dialed_server dialed;
    std::shared_ptr<peer> to;
    std::uint64_t session = 0, update = 0, read = 0, feed = 0, echo = 0;
};

// What became of calls; of those with an answer, what the count was.
struct answers {
    std::function<void(answer)> taking() {
        return [this](answer a) {
            const std::lock_guard lock(guard);
            if (a.failed) {
                ++failed;
                words = a.message;
            } else counts.insert(read_answer<run_step>(std::move(a)).fetched.at(0).data<std::int64_t>()[0]);
        };
    }
    std::size_t all() {
        const std::lock_guard lock(guard);
        return counts.size() + failed;
    }
    std::mutex guard; // of what follows
    std::set<std::int64_t> counts;
    std::size_t failed = 0;
    std::string words;
};

// Numbers that say when nobody holds them any more.
tn::any_array watched_numbers(std::vector<float>& of, std::atomic<bool>& gone) {
    return tn::any_array::adopt(
        of.data(), tn::element_type::float32, {static_cast<std::int64_t>(of.size())},
        [](void* context, void*) { static_cast<std::atomic<bool>*>(context)->store(true); }, &gone);
}

} // namespace

TEST_CASE("slow readers: what a client asks for and does not read is kept up to its limit; others are served, and all "
          "that it was told is so when it reads again") {
    constexpr std::size_t limit = 8 * MiB, asked = 60;
    const patient_clients are_patient;
    counted_server s(limit);
    asking_client slow(s.between.address()), other(s.core->address()); // of the same variables
    s.between.stall_to_client(true);
    answers of;
    for (std::size_t i = 0; i < asked; ++i) slow.start(slow.update, of.taking());
    CHECK(other.until([&] { return s.called().calls == 0 && other.counted() == asked; }));
    const service::counts full = s.called();
    CHECK(full.kept_bytes <= limit + asked * 1024); // refusals are short
    CHECK(full.kept_bytes + 2 * MiB > limit);       // it is the limit that ended it
    CHECK(of.all() < asked);
    CHECK(other.counted() == static_cast<std::int64_t>(asked));
    s.between.stall_to_client(false);
    REQUIRE(slow.until([&] { return of.all() == asked; }));
    REQUIRE(of.counts.size() >= limit / MiB - 1);
    CHECK(contains(of.words, "has no room for the answer of 10485"));
    CHECK(slow.until([&] { return s.called().kept_bytes == 0; }));
    CHECK(slow.counted() == static_cast<std::int64_t>(asked)); // each was applied, once
    CHECK(*of.counts.begin() >= 1);
    CHECK(*of.counts.rbegin() <= static_cast<std::int64_t>(asked));
}

TEST_CASE("slow readers: the connection of one who does not read is closed and the log says so; it gets all when it "
          "reads again") {
    const patient_clients are_patient;
    counted_server s(64 * MiB, 60s, 100ms);
    asking_client slow(s.between.address());
    s.between.stall_to_client(true);
    answers of;
    constexpr std::size_t asked = 24; // more than the system takes for a connection
    for (std::size_t i = 0; i < asked; ++i) slow.start(slow.update, of.taking());
    const std::string line = s.log->wait_for({"link ", "a client (127.0.0.1:", "the other side does not read: "});
    CHECK_MESSAGE(contains(line, "has lost its connection"), s.log->text());
    CHECK(s.called().links == 1);
    s.between.stall_to_client(false);
    REQUIRE(slow.until([&] { return of.all() == asked; }));
    CHECK(of.failed == 0);
    CHECK(of.counts.size() == asked); // each its own, none twice
    CHECK(slow.counted() == static_cast<std::int64_t>(asked));
}

TEST_CASE("slow readers: one who never comes back is dropped after the lease with all that is kept for it") {
    const patient_clients are_patient;
    counted_server s(64 * MiB, 1s);
    asking_client slow(s.between.address()), other(s.core->address());
    s.between.stall_to_client(true);
    answers of;
    for (int i = 0; i < 16; ++i) slow.start(slow.update, of.taking());
    REQUIRE(other.until([&] { return other.counted() == 16; }));
    CHECK(s.called().kept_bytes >= 8 * MiB);
    s.between.forward_to({});
    s.between.cut_all();
    CHECK(!s.log->wait_for({"a client (127.0.0.1:", " is lost: has not been heard of for 1 s"}).empty());
    CHECK(other.until(
        [&] { return s.called().links == 1 && s.called().kept_bytes == 0 && s.core->count().sessions == 1; }));
    CHECK(other.counted() == 16);
}

TEST_CASE("a step that is cancelled, or late, while it is fed or fetched: nobody holds what travels, and the session "
          "goes on") {
    const patient_clients are_patient;
    counted_server s(256 * MiB);
    asking_client c(s.between.address());
    std::vector<float> numbers(16 * MiB / sizeof(float), 1.0f);
    for (const bool fetched : {false, true})
        for (const bool late : {false, true}) {
            CAPTURE(fetched);
            CAPTURE(late);
            // The network stands still in the middle of the transfer.
            std::mutex guard; // of what follows
            std::condition_variable changed;
            int frames = 0;
            bool is_inside = false, goes_on = false;
            const auto way = fetched ? tcp_proxy::way::to_client : tcp_proxy::way::to_server;
            s.between.judge_by([&](const tcp_proxy::frame& f) {
                std::unique_lock lock(guard);
                if (f.goes == way && f.head.payload_bytes > 0 && ++frames == 4) {
                    is_inside = true;
                    changed.notify_all();
                    changed.wait(lock, [&] { return goes_on; });
                }
                return tcp_proxy::fate::pass;
            });
            std::atomic<bool> gone{false}, ended{false};
            answer told;
            std::vector<tn::any_array> feeds;
            feeds.push_back(watched_numbers(numbers, gone));
            const std::uint64_t call = c.start(
                fetched ? c.echo : c.feed,
                [&](answer a) {
                    told = std::move(a);
                    ended = true;
                },
                std::move(feeds), late ? duration(500ms) : duration(60s));
            {
                std::unique_lock lock(guard);
                REQUIRE(changed.wait_for(lock, 60s, [&] { return is_inside; }));
            }
            if (!late) c.to->cancel(call);
            REQUIRE(c.until([&] { return ended.load(); }));
            CHECK(told.failed);
            CHECK(told.code == (late ? tn::error_code::deadline_exceeded : tn::error_code::cancelled));
            {
                const std::lock_guard lock(guard);
                goes_on = true;
            }
            changed.notify_all();
            CHECK(c.counted() == 0); // it goes on
            CHECK(c.until([&] {
                const server_core::counts at = s.core->count();
                return gone.load() && at.called.calls == 0 && at.called.call_bytes == 0 && at.called.kept_bytes == 0 &&
                       at.steps == 0 && c.to->count().calls == 0 && c.to->count().kept_bytes == 0;
            }));
            s.between.judge_by({});
            CHECK(c.to->count().links == 1);
            CHECK(s.core->count().sessions == 1);
        }
    std::atomic<bool> gone{false};
    std::vector<tn::any_array> feeds;
    feeds.push_back(watched_numbers(numbers, gone));
    CHECK(c.ask(run_step{c.session, c.feed, 0, false, std::move(feeds)}).fetched.at(0).data<float>()[0] ==
          static_cast<float>(numbers.size()));
}
