#include "tests.hpp"

// What a message says of a number that is small is the number, not 0.000000. (test/layout looks for std::to_string of any other.)

namespace {} // namespace

TEST_CASE_FIXTURE(in_graph, "messages tell small numbers by their digits") {
    const auto x = tn::constant({1.0f, 2.0f});
    tn::session s(g);
    CHECK_ERROR(tn::invalid_argument_error, "the time limit is -1e-07", s.run_for(-1e-7, x));
    tn::session_options o{.operation_timeout = -2e-9};
    CHECK_ERROR(tn::invalid_argument_error, "-2e-09", tn::session(g, o));
    CHECK_ERROR(tn::invalid_argument_error, "a bandwidth of -1e-08", tn::simulated_gpu(1, 1 << 20, -1e-8));
    CHECK_ERROR(tn::invalid_argument_error, "rate -1e-09", tn::dropout(x, -1e-9));
    CHECK_ERROR(tn::invalid_argument_error, "deviation -1e-12", tn::random_normal<float, tn::shape<2>>(0, -1e-12));
}
