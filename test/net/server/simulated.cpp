#include <net/client/remote_session.hpp>
#include <net/server/simulated_cluster.hpp>
#include <net/wire/program_codec.hpp>
#include <tenon/runtime/place/place.hpp>
#include <tenon/runtime/plan/rewrite/prune.hpp>
#include <tenon/runtime/plan/task_programs.hpp>

#include "tests.hpp"

namespace net = tenon::net;
using namespace std::chrono_literals;
using net_test::simulated_cluster;

TEST_CASE("What is asked of a session that has ended is aborted, of master and worker, and says so") {
    simulated_cluster all(1, {}, true);
    const auto to = net::peer::make(all.client, all.dial());
    const auto check = [&](auto call) {
        call.session = 7;
        CHECK_ERROR(tn::aborted_error, "session", net::ask(*to, call, all.in(5s)));
    };
    check(net::run_step());
    const net_test::played_task test(all);
    const auto as_task = net::peer::make(all.client, test.dial());
    const auto check_task = [&](auto call) {
        call.session = 7;
        CHECK_ERROR(tn::aborted_error, "session", net::ask(*as_task, call, all.in(5s)));
    };
    check_task(net::run_part());
    check_task(net::register_part());
}

TEST_CASE("A session ends with the last that was made of it, whatever is under way; its steps, with its owner") {
    simulated_cluster all(2);
    const own_graph g;
    tn::detail::fetch_request r;
    {
        const tn::device_scope there("/job:worker/task:1");
        const tn::fifo_queue<tn::tensor<float, tn::shape<>>> q(1);
        r.fetches.push_back(std::get<0>(std::tuple(q.dequeue())));
    }
    const auto sessions = [&] {
        return all.servers[0]->count().sessions + all.servers[1]->count().of_masters.sessions;
    };
    auto s = std::make_shared<net::remote_session>(all.client, all.dial(), "a test", g, tn::session_options());
    auto callable = s->make_callable({}, r);
    auto step = callable->start({}, 0);
    all.network.work_for(900ms);
    CHECK(sessions() == 2);
    s->end();
    s.reset();
    tn::any_array fetched[1];
    CHECK_ERROR(tn::cancelled_error, "its session has ended", step->get(fetched));
    step = callable->start({}, 1); // what was made of it may go on
    callable.reset();
    all.network.work_for(900ms);
    CHECK(sessions() == 2);
    step.reset();
    all.network.work_for(50ms);
    CHECK(sessions() == 0);
    CHECK(all.servers[1]->count().of_masters.steps == 0);
}

TEST_CASE("A client that leaves while its session is opened leaves nothing of it on any task") {
    simulated_cluster all(3);
    for (int leaves = 0; leaves < 100; ++leaves) {
        const auto to = net::peer::make(all.client, all.dial());
        (void)net::call(*to, net::open_session(), all.in(5s), [](const net::answer&) {});
        all.network.work_for(leaves * 20us);
        to->close();
        all.network.work_for(1s);
        for (const auto& s : all.servers) {
            const auto c = s->count();
            CHECK(c.sessions + c.of_masters.sessions + c.of_masters.exchanged.sessions == 0);
        }
    }
}

TEST_CASE("SEMANTICS 24: a task that is lost while a session is opened is waited for as one that is not there yet") {
    int waited = 0;
    for (int killed = 0; killed < 100; ++killed) {
        simulated_cluster all(3);
        const auto to = net::peer::make(all.client, all.dial());
        net::open_session c{.limit = 30};
        std::optional<net::answer> opened;
        (void)net::call(*to, c, all.in(40s), [&](net::answer a) { opened = std::move(a); });
        all.network.work_for(killed * 50us);
        all.network.kill("host1", killed % 2 == 0);
        all.servers[1].reset();
        all.network.work_for(8s);
        const bool waits = !opened;
        waited += waits;
        all.start(1);
        all.network.work_for(10s);
        REQUIRE(opened);
        CHECK_MESSAGE(!opened->failed, opened->message);
        if (waits) CHECK(all.servers[1]->count().of_masters.sessions == 1);
        to->close();
        all.network.work_for(1s);
        for (const auto& s : all.servers) {
            const auto left = s->count();
            CHECK(left.sessions + left.of_masters.sessions + left.of_masters.exchanged.sessions == 0);
        }
    }
    CHECK(waited > 50);
    CHECK(waited < 100);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 17: the limit of a step on servers is of their transport's time") {
    simulated_cluster all(2);
    tn::detail::fetch_request r;
    {
        const tn::device_scope there("/job:worker/task:1");
        const tn::fifo_queue<tn::tensor<float, tn::shape<>>> q(1);
        r.fetches.push_back(std::get<0>(std::tuple(q.dequeue())));
    }
    const auto s = std::make_shared<net::remote_session>(all.client, all.dial(), "a test", g, tn::session_options());
    const auto began = all.network.now();
    const auto step = s->make_callable({}, r)->start({}, 1000);
    tn::any_array fetched[1];
    CHECK_THROWS_AS(step->get(fetched), tn::deadline_exceeded_error);
    CHECK(all.network.now() - began >= 1000s);
    CHECK(all.network.now() - began < 1001s);
}

TEST_CASE_FIXTURE(in_graph, "Who asks for steps faster than it hears of their ends keeps its link") {
    simulated_cluster all(1);
    all.network.set_line("host0", "client", {50ms, 50ms, 1e9});
    tn::detail::fetch_request r;
    r.fetches.push_back(tn::constant(1.0f));
    const auto s = std::make_shared<net::remote_session>(all.client, all.dial(), "a test", g, tn::session_options());
    const auto step = s->make_callable({}, r);
    std::vector<std::shared_ptr<tn::detail::pending_state>> asked;
    for (int n = 0; n < 30'000; ++n) asked.push_back(step->start({}, 0));
    for (const auto& a : asked) {
        tn::any_array fetched[1];
        a->get(fetched);
        REQUIRE(*fetched[0].data<float>() == 1);
    }
}

TEST_CASE("What is asked of a session that is still being opened is aborted, too") {
    simulated_cluster all(2);
    all.servers[1].reset();
    const auto to = net::peer::make(all.client, all.dial());
    (void)net::call(*to, net::open_session(), all.in(5s), [](const net::answer&) {});
    all.network.work_for(100ms);
    const auto tasks = net::ask(*to, net::ask_status{false, 1}, all.in(2s)).tasks;
    REQUIRE(tasks.at(0).sessions.size() == 1);
    const std::uint64_t session = tasks[0].sessions[0].session;
    CHECK_ERROR(tn::aborted_error, "has no such session", net::ask(*to, net::list_devices{session}, all.in(2s)));
    CHECK_THROWS_AS(net::ask(*to, net::ask_statistics{session}, all.in(2s)), tn::aborted_error);
}

TEST_CASE("What came for a step that is stopped before it begins on a task is not kept there") {
    simulated_cluster all(1, {}, true);
    const net_test::played_task test(all);
    const auto to = net::peer::make(all.client, test.dial());
    net::begin_session begin{.session = 7};
    begin.tasks.push_back({"/job:worker/task:0", {}, 0});
    (void)net::ask(*to, begin, all.in(5s));
    const auto kept_after = [&](const auto& note) {
        net::note(*to, note);
        all.network.work_for(100ms);
        return all.servers[0]->count().of_masters.exchanged.early_bytes;
    };
    net::step_values values{.session = 7, .step = 3};
    values.values.push_back({0, tn::any_array(tn::element_type::float32, tn::extents{100})});
    CHECK(kept_after(values) == 400);
    CHECK(kept_after(net::stop_step{7, 3, {tn::error_code::unavailable, "it failed elsewhere"}}) == 0);
    CHECK(kept_after(values) == 0); // late ones
}

TEST_CASE(
    "SEMANTICS 22: who asks all tasks to stop is told which did not answer; the grace is the client's, for each") {
    std::vector<double> graces(3, -1);
    simulated_cluster all(3, [&](net::server_settings& s) {
        s.asked_to_stop = [&graces, i = static_cast<std::size_t>(s.task)](double grace) { graces[i] = grace; };
    });
    const auto to = net::peer::make(all.client, all.dial());
    (void)net::ask(*to, net::stop_server{2.5, false}, all.in(5s));
    CHECK(graces == std::vector<double>{2.5, -1, -1});
    (void)net::ask(*to, net::stop_server{7, true}, all.in(5s)); // of which two have never been called before
    CHECK(graces == std::vector<double>{7, 7, 7});
    all.servers[1].reset();
    CHECK_ERROR(tn::unavailable_error, "did not answer:\n  /job:worker/task:1 (host1:1000) ",
                net::ask(*to, net::stop_server{0, true}, all.in(5s)));
    CHECK(graces == std::vector<double>{0, 7, 0});
}

TEST_CASE(
    "A client that reads slower than it asks: answers beyond what is kept for it are refused with sizes; it goes on") {
    simulated_cluster all(1, [](net::server_settings& s) { s.of_service.kept_bytes = std::size_t{1} << 20; });
    all.network.set_line("host0", "client", {1ms, 0ms, 1e6});
    const own_graph g;
    const auto large = tn::constant(tn::array<float, tn::shape<100000>>());
    const auto s = std::make_shared<net::remote_session>(all.client, all.dial(), "a test", g, tn::session_options());
    tn::detail::fetch_request r;
    r.fetches.push_back(large);
    const auto fetch = s->make_callable({}, r);
    std::vector<std::shared_ptr<tn::detail::pending_state>> steps;
    for (int i = 0; i < 10; ++i) steps.push_back(fetch->start({}, 0));
    int there = 0;
    for (const auto& step : steps) {
        tn::any_array fetched[1];
        try {
            step->get(fetched);
            CHECK(fetched[0].bytes() == 400000);
            ++there;
        } catch (const tn::resource_exhausted_error& e) {
            CHECK(contains(e.what(), "no room for the answer of 400000 bytes"));
        }
    }
    CHECK(there == 2);
    tn::any_array fetched[1];
    fetch->start({}, 0)->get(fetched);
    CHECK(fetched[0].bytes() == 400000);
}

TEST_CASE(
    "A step that is stopped while its values travel is cancelled at once, leaves nothing, and the next is whole") {
    simulated_cluster all(2);
    all.network.set_line("host1", "host0", {1ms, 0ms, 1e6}); // 4 s for what is read there
    const own_graph g;
    tn::detail::fetch_request make, read;
    {
        const tn::device_scope there("/job:worker/task:1");
        const auto v = tn::variable<float, tn::shape<1000000>>("v", tn::ones());
        make.targets.push_back(v.initializer());
        const tn::device_scope here("/job:worker/task:0");
        read.fetches.push_back(tn::sum(v));
    }
    const auto s = std::make_shared<net::remote_session>(all.client, all.dial(), "a test", g, tn::session_options());
    s->make_callable({}, make)->start({}, 0)->get(nullptr);
    const auto sum = s->make_callable({}, read);
    tn::any_array fetched[1];
    sum->start({}, 0)->get(fetched); // it is planned
    for (const auto after : {500ms, 2000ms}) {
        const auto step = sum->start({}, 0);
        all.network.work_for(after);
        const auto at = all.network.now();
        step->stop();
        CHECK_THROWS_AS(step->get(fetched), tn::cancelled_error);
        CHECK(all.network.now() - at < 100ms);
        all.network.work_for(10s);
        for (const auto& server : all.servers) {
            const auto c = server->count();
            CHECK(c.steps + c.of_masters.steps + c.of_masters.exchanged.open == 0);
            CHECK(c.of_masters.exchanged.early_bytes == 0);
        }
        sum->start({}, 0)->get(fetched);
        CHECK(*static_cast<const float*>(fetched[0].data()) == 1000000.0f);
    }
}

TEST_CASE("A part whose program has edges that it was not registered with is refused; with them it is taken") {
    simulated_cluster all(2, {}, true);
    const net_test::played_task test(all);
    const own_graph g;
    namespace rt = tn::runtime;
    rt::request r;
    {
        const tn::device_scope there("/job:worker/task:1");
        r.fetches.push_back(tn::any_tensor(tn::random_uniform<float, tn::shape<3>>()).output());
    }
    std::vector<std::unique_ptr<tn::device>> devices;
    std::vector<tn::device*> own;
    std::vector<tn::device_attributes> descriptions;
    for (int t = 0; t < 2; ++t) {
        devices.push_back(tn::make_cpu_device(0, 0));
        devices.back()->belong_to(tn::device_name("/job:worker/task:" + std::to_string(t)));
        own.push_back(devices.back().get());
        descriptions.push_back(devices.back()->attributes());
    }
    rt::plan_options o;
    o.set_devices(own);
    rt::placer placer(descriptions, true, {}, devices[0]->full_name());
    rt::program whole = rt::prune(r);
    rt::place(whole, o, placer, nullptr);
    const rt::task_programs cut = rt::cut_by_task(whole, {{{0}}, {{1}}}, o);
    REQUIRE(cut.programs.size() == 2);
    REQUIRE(cut.edges.size() == 1);

    const auto to = net::peer::make(all.client, test.dial(1));
    net::begin_session begin{.session = 7};
    for (const char* task : {"/job:worker/task:0", "/job:worker/task:1"}) begin.tasks.push_back({task, {}, 0});
    (void)net::ask(*to, begin, all.in(5s));
    const auto registered = [&](std::uint64_t part, std::int64_t edges) {
        net::register_part c;
        c.session = 7;
        c.part = part;
        c.edges = edges;
        c.has_program = true;
        c.program = net::encode_program(cut.programs[1]);
        c.hash = net::hash_of(c.program);
        return net::ask(*to, c, all.in(5s)).known;
    };
    CHECK_ERROR(tn::data_loss_error, "the program has edge 0, and there are 0", registered(1, 0));
    CHECK(registered(2, 1));
}
