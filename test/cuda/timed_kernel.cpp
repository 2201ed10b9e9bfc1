#include <tenon/debug/benchmark.hpp>

#include "tests.hpp"
#include "environment.hpp"
#include "machine.hpp"

// One node's kernel by itself on a card: what it gives, and what it launches, found without running it.

using tenon::test::environment, tenon::test::machine;

TEST_CASE("a card's kernel by itself gives the CPU's numbers, and says what it launches") {
    for (const char* way : {"interpreted", "compiled"}) {
        CAPTURE(way);
        const environment tapes("TENON_CUDA_TAPES", way);
        const machine m;
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<64, 100>>("x");
        const auto w = tn::placeholder<float, tn::shape<100, 32>>("w");
        tn::array<float, tn::shape<64, 100>> xs;
        tn::array<float, tn::shape<100, 32>> ws;
        int n = 0;
        for (float& v : xs) v = static_cast<float>(++n % 9) - 4;
        for (float& v : ws) v = static_cast<float>(++n % 7) - 3;
        const std::vector<tn::any_tensor> all{tn::detail::as_tensor(tn::sigmoid(x) * x), tn::softmax(x), tn::sum<1>(x),
                                              tn::matmul(x, w)};
        tn::session card(g), cpu(g, {.gpu_devices = {.visible = std::vector<int>()}});
        for (std::size_t i = 0; i < all.size(); ++i) {
            CAPTURE(i);
            const auto k = card.kernel_of(tn::feed(x, xs), tn::feed(w, ws), all[i]);
            CHECK(k->on().name.type == "GPU");
            const std::vector<tn::launched_kernel> launched = k->launches();
            CHECK(!launched.empty());
            for (const tn::launched_kernel& l : launched) {
                if (l.registers == 0) { // a library's need not tell
                    CHECK(i == 3);
                    continue;
                }
                CHECK(l.blocks >= 1);
                CHECK(l.threads >= 1);
                CHECK(l.threads <= 1024);
                CHECK(l.registers >= 1);
                CHECK(l.occupancy > 0);
                CHECK(l.occupancy <= 1);
                CHECK(!l.name.empty());
            }
            CHECK(k->run(3) > 0);
            CHECK(k->run(2, true) > 0);
            const tn::any_array got = k->result(0), want = cpu.run(tn::feed(x, xs), tn::feed(w, ws), all[i]);
            REQUIRE(got.type() == want.type());
            for (std::int64_t e = 0; e < got.elements(); ++e)
                CHECK(got.data<float>()[e] == doctest::Approx(want.data<float>()[e]).epsilon(1e-5));
        }
    }
}

TEST_CASE_FIXTURE(machine, "an index that a card's kernel refuses is told of a kernel by itself, too") {
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<4, 2>>("x");
    const auto at = tn::placeholder<std::int32_t, tn::shape<3>>("at");
    tn::session s(g);
    const auto of_places = [&](const tn::array<std::int32_t, tn::shape<3>>& places) {
        return s.kernel_of(tn::feed(x, {{1, 2}, {3, 4}, {5, 6}, {7, 8}}), tn::feed(at, places), tn::gather(x, at));
    };
    const auto k = of_places({3, 0, 1}), bad = of_places({3, 4, 1});
    CHECK(k->run(2) > 0);
    CHECK(k->result(0).data<float>()[0] == 7);
    const std::string said = message_of<tn::invalid_argument_error>([&] { (void)bad->run(2); });
    CAPTURE(said);
    CHECK(contains(said, "gather"));
    CHECK(contains(said, "4"));
    CHECK(k->run(1) > 0); // others go on
}

TEST_CASE("what a loop's or a condition's body launches is among what its node does, once") {
    const environment tapes("TENON_CUDA_TAPES", "interpreted");
    const machine m;
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<6, 100>>("x");
    const auto values = tn::any_array::zeros(tn::element_type::float32, {6, 100});
    const auto launches = [&](const auto& then) {
        const auto [n, y] =
            tn::while_loop([](const auto& i, const auto&) { return i < 3; },
                           [&](const auto& i, const auto& v) {
                               const auto next = tn::cond(
                                   i < 1, [&] { return then(tn::softmax(v)); }, [&] { return v + 0.0F; });
                               return std::tuple(i + 1, next);
                           },
                           tn::constant(0), x);
        tn::session s(g);
        return s.kernel_of(tn::feed(x, values.share()), y)->launches().size();
    };
    const std::size_t once = launches([](const auto&v) { return v; }),
                      twice = launches([](const auto&v) { return tn::softmax(v); });
    CHECK(once > 2);
    CHECK(twice == once + 1);
}
