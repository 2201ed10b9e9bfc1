#include "runtime/place/crossing_lists.hpp"

// Bytes that cross, by edge, before a step and after it (SEMANTICS 43).

using namespace probe;

namespace {

inline constexpr struct batch_size : tn::dim<"batch"> {} batch;

} // namespace

TEST_CASE_FIXTURE(
    in_graph,
    "S43: the bytes that cross in steps of a network split between two GPUs are known before, and counted after") {
    const auto x = tn::placeholder<float, tn::shape<batch, 20>>("x");
    const auto y = tn::placeholder<float, tn::shape<batch, 5>>("y");
    const auto h = tn::on("/gpu:0", [&] { return tn::nn::dense<30>(tn::nn::relu)(x); });
    const auto loss = tn::on("/gpu:1", [&] { return tn::nn::mean_squared_error(tn::nn::dense<5>()(h), y); });
    const auto train = tn::gradient_descent(0.1).minimize(loss);
    initialized_session s({.gpus = tn::simulated_gpu(2, std::size_t{64} << 20)});
    const auto step = [&](const auto&... also) {
        return said_and_seen(s, 3, tn::feed(x, tn::array<float, tn::shape<tn::dyn, 20>>(8)),
                             tn::feed(y, tn::array<float, tn::shape<tn::dyn, 5>>(8)), train, also...);
    };
    // The activations one way, their gradient the other; what is fed to where it is read, what is fetched back.
    const edges expected{{"dense/relu", "/device:GPU:0", "/device:GPU:1", 8 * 30 * 4},
                         {"gradients/matmul", "/device:GPU:1", "/device:GPU:0", 8 * 30 * 4},
                         {"x", "/device:CPU:0", "/device:GPU:0", 8 * 20 * 4},
                         {"y", "/device:CPU:0", "/device:GPU:1", 8 * 5 * 4}};
    const auto trained = step();
    CHECK(trained.said == trained.seen);
    CHECK(probe::by_bytes(trained.said) == probe::by_bytes(expected));
    CHECK(trained.steps_seen == 3);
    const auto told = step(loss);
    CHECK(told.said == told.seen);
    CHECK(probe::total(told.said) == probe::total(expected) + 4);
    CHECK(contains(tn::to_text(told.list), "/device:GPU:0"));
    CHECK(contains(tn::to_text(told.list), std::to_string(probe::total(expected) + 4)));
}

TEST_CASE_FIXTURE(
    in_graph,
    "S43: what crosses is counted once for all its readers, in the sizes in which it goes, without what vanishes") {
    const auto w = tn::on("/gpu:0", [] { return tn::variable<float, tn::shape<6, 4>>("w", tn::ones()); });
    const auto here = tn::on("/gpu:0", [&] { return tn::identity(w * 2.0f, "here"); });
    const auto [a, b, c] = tn::on("/gpu:1", [&] {
        const auto same = tn::identity(here, "same"); // no copy of its own
        const auto flat = tn::reshape<tn::shape<24>>(here);
        return std::tuple(tn::sum(same * 3.0f), tn::sum(flat + 1.0f), tn::ones_like(same) * tn::constant(5.0f));
    });
    const auto idle = tn::on("/gpu:1", [&] { return tn::exp(w); }); // nobody asks for it
    (void)idle;
    initialized_session s({.gpus = tn::simulated_gpu(2, std::size_t{64} << 20)});
    const auto seen = said_and_seen(s, 2, a, b, c);
    CHECK(seen.said == seen.seen);
    CHECK(probe::total(seen.said) == 6 * 4 * 4 + 4 + 4); // the constant product is folded, and handed out as it is
}

TEST_CASE("S43: between tasks of a session bytes are counted where they leave and arrive, rounded where they are") {
    for (const bool rounded : {false, true}) {
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<batch, 20>>("x");
        const auto h = tn::on("/job:a/task:0", [&] { return tn::nn::dense<30>(tn::nn::relu)(x); });
        const auto loss = tn::on("/job:b/task:0/gpu:0", [&] { return tn::mean(tn::square(tn::nn::dense<5>()(h))); });
        const auto train = tn::gradient_descent(0.1).minimize(loss);
        const tn::task first({.job = "a"}), second({.gpus = tn::simulated_gpu(1, std::size_t{64} << 20), .job = "b"});
        tn::session_options o;
        if (rounded) o.wire_type = tn::element_type::bfloat16;
        initialized_session s({first, second}, g, o);
        const auto seen = said_and_seen(s, 2, tn::feed(x, tn::array<float, tn::shape<tn::dyn, 20>>(8)), train);
        std::int64_t by_wire = 0;
        for (const auto& e : seen.said)
            if (e.from.substr(0, 6) != e.to.substr(0, 6)) by_wire += e.bytes;
        CHECK(by_wire == 2 * 8 * 30 * (rounded ? 2 : 4));
        edges wire_said, wire_seen;
        for (const auto& e : seen.said)
            if (e.from.substr(0, 6) != e.to.substr(0, 6)) wire_said.push_back(e);
        for (const auto& e : seen.seen)
            if (e.from.substr(0, 6) != e.to.substr(0, 6)) wire_seen.push_back(e);
        CHECK(wire_said == wire_seen);
    }
}
