#include "tests.hpp"
#include "emulator/control.hpp"
#include "machine.hpp"
#include "said.hpp"

// Where CUDA will not have a part as a conditional node, the host decides.

using tenon::test::machine, tenon::test::said_by;

TEST_CASE("conditions that cannot be nodes are read by the host, which says so once") {
    for (const std::string call : {"cudaGraphAddNode", "cudaGraphConditionalHandleCreate", "cudaStreamGetCaptureInfo",
                                   "cudaStreamBeginCaptureToGraph", "cudaStreamUpdateCaptureDependencies"}) {
        INFO(call);
        const machine m;
        const own_graph g;
        const auto there = tn::on("/gpu:0");
        const auto most = tn::placeholder<int, tn::shape<>>("most");
        const auto [i, y] = tn::while_loop([&](const auto& n, const auto&) { return n < most; },
                                           [&](const auto& n, const auto& v) {
                                               const auto next = tn::cond(
                                                   n > 2, [&] { return v + v; }, [&] { return v + 1; });
                                               return std::tuple(n + 1, next);
                                           },
                                           tn::constant(0), tn::constant(1));
        const auto before = tenon::emulator::count();
        {
            tn::session s(g);
            tenon::emulator::fail(call, cudaErrorNotSupported);
            const std::string said = said_by([&] {
                for (int step = 0; step < 8; ++step) {
                    const auto [count, last] = s.run(i, y, tn::feed(most, 5));
                    CHECK(count() == 5);
                    CHECK(last() == 16);
                }
            });
            if (call == "cudaGraphAddNode") // the first: it is said once
                CHECK(said.find("which waits for each: they cannot be recorded as conditional nodes: " + call) !=
                      std::string::npos);
        }
        CHECK(tenon::emulator::count().graphs == before.graphs);
        CHECK(tenon::emulator::count().executables == before.executables);
    }
}
