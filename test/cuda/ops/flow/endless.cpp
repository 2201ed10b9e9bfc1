#include "tests.hpp"
#include "environment.hpp"
#include "machine.hpp"

// A loop that a GPU goes on with by itself ends where its step has no time left, or is stopped.

using tenon::test::environment, tenon::test::machine;

namespace {

// Runs for ever, unless `most` is reached.
struct counting {
    own_graph g;
    tn::device_scope there{"/gpu:0"};
    tn::tensor<int, tn::shape<>> most = tn::placeholder<int, tn::shape<>>("most");
    tn::tensor<int, tn::shape<>> n = tn::while_loop([this](const auto& i) { return i != most; },
                                                    [](const auto& i) { return i + 1; }, tn::constant(0));
};

} // namespace

TEST_CASE("a while_loop on a GPU ends at its step's deadline, recorded or not, and the session goes on") {
    const machine m;
    const environment tapes("TENON_CUDA_TAPES", machine::is_emulated() ? "interpreted" : "compiled");
    const counting c;
    tn::session s(c.g);
    for (int step = 0; step < 4; ++step) { // the first two are given, the others replayed
        CHECK(s.run_for(100, c.n, tn::feed(c.most, 9)).item() == 9);
        CHECK_ERROR(tn::deadline_exceeded_error, "the step did not end within its run's time limit of 0.1 s; it was ",
                    s.run_for(0.1, c.n, tn::feed(c.most, -1)));
    }
    CHECK(s.run(c.n, tn::feed(c.most, 20)).item() == 20);
}

TEST_CASE_FIXTURE(machine, "a while_loop on a GPU ends where its step is stopped") {
    const environment tapes("TENON_CUDA_TAPES", machine::is_emulated() ? "interpreted" : "compiled");
    const counting c;
    tn::session s(c.g);
    const auto step = s.callable(tn::feeds(c.most), tn::fetches(c.n));
    for (int i = 0; i < 3; ++i) {
        auto running = step.start(-1);
        CHECK(!running.wait_for(0.05)); // it goes on
        running.stop();
        CHECK_THROWS_AS(running.get(), tn::cancelled_error);
        CHECK(std::get<0>(step(5)).item() == 5);
    }
}

TEST_CASE_FIXTURE(machine, "a while_loop on a GPU ends where its session is closed, or has ended, whoever runs it") {
    const environment tapes("TENON_CUDA_TAPES", machine::is_emulated() ? "interpreted" : "compiled");
    const counting c;
    for (const bool closed : {true, false}) {
        auto s = std::make_unique<tn::session>(c.g);
        const auto step = s->callable(tn::feeds(c.most), tn::fetches(c.n));
        CHECK(std::get<0>(step(5)).item() == 5);
        auto running = step.start(-1);
        CHECK(!running.wait_for(0.05)); // it goes on
        if (closed) s->close();
        else s.reset();
        CHECK_THROWS_AS(running.get(), tn::cancelled_error);
    }
    tn::session s(c.g);
    std::thread runs(
        [&] { CHECK_THROWS_AS(s.run(c.n, tn::feed(c.most, -1)), tn::error); }); // closed before it begins, or after
    s.close();
    runs.join();
}

TEST_CASE_FIXTURE(machine, "a loop in a loop, and its gradient, end too") {
    const environment tapes("TENON_CUDA_TAPES", machine::is_emulated() ? "interpreted" : "compiled");
    const own_graph g;
    const auto there = tn::on("/gpu:0");
    const auto most = tn::placeholder<int, tn::shape<>>("most");
    const auto x = tn::placeholder<double, tn::shape<>>("x");
    const auto [i, y] = tn::while_loop([](const auto& k, const auto&) { return k < 2; },
                                       [&](const auto& k, const auto& v) {
                                           const auto [inner, w] = tn::while_loop(
                                               [&](const auto& j, const auto&) { return j != most; },
                                               [](const auto& j, const auto& u) { return std::tuple(j + 1, u * 0.5); },
                                               tn::constant(0), v);
                                           return std::tuple(k + 1, w + tn::cast<double>(inner) * 0.0);
                                       },
                                       tn::constant(0), x);
    const auto [dx] = tn::gradients(y, x);
    tn::session s(g);
    CHECK(s.run(dx, tn::feed(x, 1.0), tn::feed(most, 3)).item() == 0x1p-6);
    CHECK_THROWS_AS(s.run_for(0.1, dx, tn::feed(x, 1.0), tn::feed(most, -1)), tn::deadline_exceeded_error);
    CHECK(s.run(dx, tn::feed(x, 1.0), tn::feed(most, 3)).item() == 0x1p-6);
}
