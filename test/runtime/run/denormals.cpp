// session_options::flush_denormals.
#include <tenon/concurrency/denormals.hpp>

#include "tests.hpp"

namespace {

constexpr float denormal = 1e-40F;

// How many of the results of a step are 0, whose kernels double n denormal numbers on a device, in two branches.
std::int64_t flushed(const tn::session_options& o, std::int64_t n, const std::string& device = "/cpu:0") {
    own_graph g;
    auto x = tn::placeholder<float, tn::shape<tn::dyn>>("x");
    const auto where = tn::on(device);
    auto a = x + x;
    auto b = x * 2.0f;
    tn::session sess(g, o);
    tn::array<float, tn::shape<tn::dyn>> values(n);
    for (std::int64_t i = 0; i < n; ++i) values[i] = denormal;
    const auto [p, q] = sess.run(tn::feed(x, values), a, b);
    CHECK(tn::denormal_mode() == 0);
    std::int64_t zeros = 0;
    for (std::int64_t i = 0; i < n; ++i) zeros += (p[i] == 0) + (q[i] == 0);
    return zeros;
}

} // namespace

TEST_CASE("flush_denormals: denormal numbers are 0 in the session's kernels, on every thread, and nowhere else") {
    tn::session_options plain{.intra_op_threads = 4, .use_per_session_threads = true};
    tn::session_options flushing = plain;
    flushing.flush_denormals = true;
    for (const std::int64_t n : {1, 7, 64, 300000}) { // one thread's work, and several threads'
        INFO(n, " elements");
        CHECK(flushed(plain, n) == 0);
        CHECK(flushed(flushing, n) == (tn::can_flush_denormals ? 2 * n : 0));
        CHECK(flushed(plain, n) == 0);
    }
    for (tn::session_options* o : {&plain, &flushing}) o->gpus = tn::simulated_gpu(1, 16 << 20);
    CHECK(flushed(plain, 300000, "/gpu:0") == 0);
    CHECK(flushed(flushing, 300000, "/gpu:0") == (tn::can_flush_denormals ? 600000 : 0));
}

TEST_CASE(
    "flush_denormals: what is folded is what a step would compute, and a thread that flushes by itself goes on to") {
    own_graph g;
    auto c = tn::constant(denormal);
    auto y = c + c;
    for (const bool flush : {false, true})
        for (const bool fold : {false, true}) {
            tn::session_options o{.flush_denormals = flush, .fold_constants = fold};
            tn::session sess(g, o);
            CHECK((sess.run(y).item() == 0) == (flush && tn::can_flush_denormals));
        }
    {
        const tn::denormal_scope mine(tn::flushed_denormals);
        tn::session sess(g);
        CHECK((sess.run(y).item() == 0) == tn::can_flush_denormals);
        CHECK(tn::denormal_mode() == (tn::can_flush_denormals ? tn::flushed_denormals : 0));
    }
    CHECK(tn::denormal_mode() == 0);
}
