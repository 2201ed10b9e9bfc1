#include <net/server/free_ports.hpp>
#include <net/server/server_core.hpp>
#include <net/transport/tcp.hpp>
#include <tenon/net/net.hpp>

#include "tests.hpp"

// Which thread of a server runs a step, and what goes on while it does.

using namespace tenon::net;

namespace {

// Its input; while it runs it calls a function, with its number and the step.
std::function<void(std::int64_t, const tn::step&)>& while_running() {
    static std::function<void(std::int64_t, const tn::step&)> f;
    return f;
}

// While it is planned it calls another.
std::function<void()>& while_planning() {
    static std::function<void()> f;
    return f;
}

struct call_op {
    static constexpr const char* name = "test_call";
    static constexpr tn::op_flags flags = tn::op_flags::stateful;
    static constexpr tn::element_types gpu_types = tn::no_elements;
    struct attributes {
        std::int64_t number = 0;
    };
    static tn::inferred infer(const attributes&, tn::type_list in, int) { return in[0]; }
    struct call_kernel final : tn::kernel {
        explicit call_kernel(std::int64_t n) : number(n) {}
        void run(const tn::kernel_run& r) override {
            while_running()(number, *r.step);
            *r.output<float>(0) = *r.input<float>(0);
        }
        const std::int64_t number;
    };
    static tn::kernel_pointer prepare(const tn::kernel_setup& s) {
        if (while_planning()) while_planning()();
        return std::make_unique<call_kernel>(tn::decode<attributes>(s.attrs).number);
    }
};
const tn::op_definition& call_definition = tn::definition_of<call_op>();

using scalar = tn::tensor<float, tn::shape<>>;
scalar calling(std::int64_t number, const scalar& x) {
    (void)call_definition;
    return scalar::unchecked(tn::add<call_op>({number}, {x}));
}

// Servers with pools of so many threads. The first is the master of the sessions.
struct servers {
    servers(int count, int threads) {
        const std::vector<std::string> at = free_addresses(count);
        tn::cluster tasks({{"worker", at}});
        for (int i = 0; i < count; ++i) {
            tcp_options o{.io_threads = 2};
            auto s = std::make_unique<one>(threads, make_tcp_transport(o));
            s->core = std::make_unique<server_core>(
                *s->over, server_settings{.tasks = tasks, .job = "worker", .task = i, .pool = &s->pool});
            all.push_back(std::move(s));
        }
    }
    std::string target() const { return "tenon://" + all[0]->core->address(); }
    bool is_of_a_pool() const {
        return std::any_of(all.begin(), all.end(), [](const auto& s) { return s->pool.has_this_thread(); });
    }

    struct one {
        one(int threads, std::shared_ptr<transport> t) : pool(threads), over(std::move(t)) {}
        tn::thread_pool pool;
        std::shared_ptr<transport> over;
        std::unique_ptr<server_core> core;
    };
    std::vector<std::unique_ptr<one>> all;
};

// Blocks a kernel until it is opened, or its step is stopped or late.
struct barrier {
    std::atomic<int> inside{0};
    std::atomic<bool> open{false};
    void pass(const tn::step& s) {
        inside.fetch_add(1);
        inside.notify_all();
        while (!open.load() && !s.stopped() && tn::step::clock::now() < s.deadline) std::this_thread::yield();
    }
    void wait_for(int count) {
        for (int n = inside.load(); n < count; n = inside.load()) inside.wait(n);
    }
};

} // namespace

TEST_CASE("a step after the other is run by the thread that has read of it: no thread of the pool is woken") {
    for (const int count : {1, 2}) {
        CAPTURE(count);
        const servers all(count, 4);
        std::atomic<int> here{0}, by_pools{0};
        while_running() = [&](std::int64_t, const tn::step&) { ++(all.is_of_a_pool() ? by_pools : here); };
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<>>("x");
        const auto y = tn::on("/job:worker/task:" + std::to_string(count - 1), [&] { return calling(0, x); });
        tn::session sess(all.target(), g);
        const auto step = sess.callable(tn::feeds(x), tn::fetches(y));
        (void)step(1.0f); // it is planned
        here = by_pools = 0;
        for (int i = 0; i < 100; ++i) CHECK(std::get<0>(step(static_cast<float>(i)))() == static_cast<float>(i));
        CHECK(by_pools == 0);
        CHECK(here == 100);
    }
}

TEST_CASE("while a step runs long, all else is answered: of its link and of others, and others' steps") {
    for (const int threads : {1, 2, 4}) {
        CAPTURE(threads);
        const servers all(1, threads);
        barrier gate;
        while_running() = [&](std::int64_t, const tn::step& s) { gate.pass(s); };
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<>>("x");
        const scalar blocked = calling(0, x), free = x + 1.0f;
        tn::session same(all.target(), g), other(all.target(), g);
        const auto block = same.callable(tn::feeds(x), tn::fetches(blocked));
        auto waiting = block.start(3.0f);
        gate.wait_for(1);
        for (int i = 0; i < 5; ++i) {
            CHECK(same.list_logical_devices().size() == 1);
            CHECK(other.list_logical_devices().size() == 1);
        }
        if (threads > 1) {
            CHECK(same.run(free, tn::feed(x, 1.0f))() == 2.0f);
        }
        CHECK(other.run(free, tn::feed(x, 4.0f))() == 5.0f); // also beside the only one of the pool
        gate.open = true;
        auto [a] = waiting.get();
        CHECK(a() == 3.0f);
    }
}

TEST_CASE("while many clients' steps are planned, or run, another one's first step and its next ones are served") {
    for (const int count : {1, 2})
        for (const bool by_plans : {false, true}) {
            CAPTURE(count);
            CAPTURE(by_plans);
            const servers all(count, 1);
            barrier gate;
            const tn::step nobodys{};
            while_running() = [&](std::int64_t, const tn::step& s) {
                if (!by_plans) gate.pass(s);
            };
            while_planning() = [&] {
                if (by_plans) gate.pass(nobodys);
            };
            const own_graph g;
            const auto x = tn::placeholder<float, tn::shape<>>("x");
            scalar blocked, free;
            {
                const tn::device_scope there("/job:worker/task:" + std::to_string(count - 1));
                blocked = calling(0, x);
                free = x + 1.0f;
            }
            constexpr int many = 6;
            std::vector<std::unique_ptr<tn::session>> greedy;
            std::vector<decltype(greedy[0]->callable(tn::feeds(x), tn::fetches(blocked)).start(0.0f))> waiting;
            for (int i = 0; i < many; ++i) {
                greedy.push_back(std::make_unique<tn::session>(all.target(), g));
                waiting.push_back(greedy.back()->callable(tn::feeds(x), tn::fetches(blocked)).start(3.0f));
            }
            gate.wait_for(many); // all at once
            tn::session other(all.target(), g);
            for (int i = 0; i < 3; ++i)
                CHECK(other.run(free, tn::feed(x, static_cast<float>(i)))() == static_cast<float>(i + 1));
            greedy[0]->close();
            gate.open = true;
            for (int i = 1; i < many; ++i) CHECK(std::get<0>(waiting[static_cast<std::size_t>(i)].get())() == 3.0f);
            CHECK_THROWS_AS((void)waiting[0].get(), tn::cancelled_error);
            while_planning() = nullptr;
        }
}

TEST_CASE("close() ends a session's steps though as many compute as the session has turns, and more wait for one") {
    for (const int count : {1, 2})
        for (const int threads : {1, 2}) {
            CAPTURE(count);
            CAPTURE(threads);
            const servers all(count, threads);
            barrier gate; // which stays shut
            while_running() = [&](std::int64_t, const tn::step& s) { gate.pass(s); };
            const own_graph g;
            const auto x = tn::placeholder<float, tn::shape<>>("x");
            const auto y = tn::on("/job:worker/task:" + std::to_string(count - 1), [&] { return calling(0, x); });
            tn::session s(all.target(), g);
            const auto step = s.callable(tn::feeds(x), tn::fetches(y));
            std::vector<decltype(step.start(0.0f))> waiting;
            for (int i = 0; i < 100; ++i) waiting.push_back(step.start(0.0f)); // so many are ended aside
            gate.wait_for(threads);
            s.close();
            for (auto& w : waiting) CHECK_THROWS_AS((void)w.get(), tn::cancelled_error);
            tn::session other(all.target(), g);
            CHECK(other.run_for(20, x + 1.0f, tn::feed(x, 1.0f))() == 2.0f);
        }
}

TEST_CASE("SEMANTICS 17: a step whose plan is being made, by its master or on another task, ends at its limit, or when "
          "it is stopped") {
    for (const int count : {1, 2}) {
        CAPTURE(count);
        const servers all(count, 2);
        barrier gate;
        const tn::step nobodys{};
        while_running() = [](std::int64_t, const tn::step&) {};
        while_planning() = [&] { gate.pass(nobodys); };
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<>>("x");
        const auto y = tn::on("/job:worker/task:" + std::to_string(count - 1), [&] { return calling(0, x); });
        const auto words_of = [](const auto& step) -> std::string {
            try {
                (void)step.get();
            } catch (const tn::error& e) {
                return std::string(tn::name_of(e.code())) + ": " + e.what();
            }
            return "well";
        };
        tn::session late(all.target(), g), stopped(all.target(), g), well(all.target(), g);
        const std::string said = words_of(late.callable(tn::feeds(x), tn::fetches(y)).start_for(0.05, 1.0f));
        INFO(said);
        CHECK(said.find("deadline_exceeded: ") == 0);
        CHECK(contains(said, "had not begun"));
        const auto step = stopped.callable(tn::feeds(x), tn::fetches(y)).start(1.0f);
        gate.wait_for(2);
        step.stop();
        const std::string why = words_of(step);
        INFO(why);
        CHECK(why.find("cancelled: ") == 0);
        CHECK_FALSE(contains(why, "not known"));
        gate.open = true;
        while_planning() = nullptr;
        for (tn::session* s : {&late, &stopped, &well})
            CHECK(std::get<0>(s->callable(tn::feeds(x), tn::fetches(y))(3.0f))() == 3.0f);
    }
}

TEST_CASE("a callable goes on when the handle of its session has gone, which ends only what was asked for before") {
    const servers all(1, 2);
    while_running() = [](std::int64_t, const tn::step&) {};
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<>>("x");
    const scalar y = x + 1.0f;
    for (int i = 0; i < 100; ++i) {
        std::optional<tn::session> sess;
        sess.emplace(all.target(), g);
        const auto step = sess->callable(tn::feeds(x), tn::fetches(y));
        CHECK(std::get<0>(step(1.0f))() == 2.0f);
        sess.reset();
        for (int k = 0; k < 3; ++k) CHECK(std::get<0>(step(1.0f))() == 2.0f);
    }
}

TEST_CASE("steps that compute are reached by a stop and by their deadline, on any of the server's threads") {
    for (const int count : {1, 2}) {
        CAPTURE(count);
        const servers all(count, 2);
        barrier gate;
        while_running() = [&](std::int64_t, const tn::step& s) { gate.pass(s); };
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<>>("x");
        const auto y = tn::on("/job:worker/task:" + std::to_string(count - 1), [&] { return calling(0, x); });
        tn::session sess(all.target(), g);
        const auto step = sess.callable(tn::feeds(x), tn::fetches(y));
        // The first runs on a thread that reads otherwise, the second on one of the pool.
        auto first = step.start(1.0f);
        gate.wait_for(1);
        auto second = step.start(2.0f);
        gate.wait_for(2);
        first.stop();
        CHECK_THROWS_AS(first.get(), tn::cancelled_error);
        second.stop();
        CHECK_THROWS_AS(second.get(), tn::cancelled_error);
        tn::session hurried(all.target(), g, {.operation_timeout = 0.05});
        const auto late = hurried.callable(tn::feeds(x), tn::fetches(y));
        CHECK_THROWS_AS(late(1.0f), tn::deadline_exceeded_error);
        gate.open = true;
        CHECK(std::get<0>(step(3.0f))() == 3.0f);
    }
}

TEST_CASE_FIXTURE(in_graph, "a server that is stopped ends the steps that its reading threads run") {
    servers all(1, 2);
    barrier gate;
    while_running() = [&](std::int64_t, const tn::step& s) { gate.pass(s); };
    const auto x = tn::placeholder<float, tn::shape<>>("x");
    const scalar y = calling(0, x);
    tn::session sess(all.target(), g);
    auto waiting = sess.callable(tn::feeds(x), tn::fetches(y)).start(1.0f);
    gate.wait_for(1);
    CHECK_FALSE(all.all[0]->core->stop(std::chrono::milliseconds(20)));
    all.all.clear();
    CHECK_THROWS_AS(waiting.get(), tn::error);
}
