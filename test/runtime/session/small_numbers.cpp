#include "tests.hpp"

// What a message says of a number that is small is the number, not 0.000000. (test/layout looks for std::to_string of any other.)

namespace {
template <class F> std::string refusal(F f) { return message_of<tn::invalid_argument_error>(f); }
} // namespace

TEST_CASE("messages tell small numbers by their digits") {
    const own_graph g;
    const auto x = tn::constant({1.0f, 2.0f});
    tn::session s(g);
    CHECK(contains(refusal([&] { (void)s.run_for(-1e-7, x); }), "the time limit is -1e-07"));
    tn::session_options o;
    o.operation_timeout = -2e-9;
    CHECK(contains(refusal([&] { (void)tn::session(g, o); }), "-2e-09"));
    CHECK(contains(refusal([&] { (void)tn::simulated_gpu(1, 1 << 20, -1e-8); }), "a bandwidth of -1e-08"));
    CHECK(contains(refusal([&] { (void)tn::dropout(x, -1e-9); }), "rate -1e-09"));
    CHECK(contains(refusal([&] { (void)tn::random_normal<float, tn::shape<2>>(0, -1e-12); }), "deviation -1e-12"));
}
