#if defined(TENON_WITH_NCCL)

// When NCCL sums, and what it refuses.

#include "emulator/control.hpp"
#include "emulator/libraries/nccl.hpp"
#include "summed_cards.hpp"

using namespace all_reduce_test;

namespace {
// How many nodes of the op the sum of such tensors has, as it is chosen where nothing is asked for.
int collective_nodes(tn::element_type e, const std::vector<tn::device_name>& on) {
    const own_graph g;
    std::vector<tn::any_tensor> xs;
    for (const tn::device_name& d : on) {
        const tn::device_scope inside(d);
        xs.push_back(tn::untyped::placeholder(e, tn::extents(6)));
    }
    (void)tn::default_all_reduce()->sum(xs, on);
    int found = 0;
    for (std::int64_t i = 0; i < g.size(); ++i) found += std::string(g.at(i)->op->name) == "all_reduce";
    return found;
}
} // namespace

TEST_CASE("NCCL sums where nothing else is asked for, and where it can; what it cannot do nodes and transfers do") {
    const machine m(3);
    CHECK(collective_nodes(tn::element_type::float32, gpus(3)) == 3);
    CHECK(collective_nodes(tn::element_type::float32, {"/job:worker/task:1/gpu:0", "/job:worker/task:1/gpu:2"}) == 2);
    CHECK(collective_nodes(tn::element_type::int16, gpus(3)) == 0);
    CHECK(collective_nodes(tn::element_type::float32, gpus(4)) == 0); // a part of another one's card
    CHECK(collective_nodes(tn::element_type::float32, {"/cpu:0", "/gpu:0"}) == 0);
    CHECK(collective_nodes(tn::element_type::float32, {"/cpu:0", "/cpu:1"}) == 0);
    CHECK(collective_nodes(tn::element_type::float32, {"/job:worker/task:0/gpu:0", "/job:worker/task:1/gpu:1"}) == 0);
}

TEST_CASE("what NCCL refuses is an error that says what was summed; the next step sums again") {
    const machine m(2);
    const own_graph g;
    const fed_tensors<float> x(gpus(2), tn::extents(40));
    const auto sums = tn::collective_all_reduce().sum(x.computed, gpus(2));
    tn::session s(g);
    using tn::emulator::nccl::fail;
    fail("ncclGroupEnd", ncclInternalError, 0, 1);
    CHECK_ERROR(tn::internal_error, "40 elements of float on cards 0 1", s.run_untyped(x.given(), sums));
    x.check(s.run_untyped(x.given(), sums));
    CHECK(tn::emulator::nccl::count().cliques >= 1); // the first is of no more use
    fail("ncclAllReduce", ncclSystemError, 1, 1);
    CHECK_ERROR(tn::unavailable_error, "unhandled system error", s.run_untyped(x.given(), sums));
    fail("ncclCommInitAll", ncclSystemError, 0, 1);
    CHECK_THROWS_AS(s.run_untyped(x.given(), sums), tn::unavailable_error);
    x.check(s.run_untyped(x.given(), sums));
}

TEST_CASE("sums of several sessions go one after another on all cards, in any order of streams") {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const machine m(2);
        tn::emulator::seed(seed);
        const own_graph g;
        const fed_tensors<float> x(gpus(2), tn::extents(64)), y(gpus(2), tn::extents(8));
        const tn::collective_all_reduce reduce;
        auto sums = reduce.sum(x.computed, gpus(2));
        for (const tn::any_tensor& t : reduce.sum(y.computed, gpus(2))) sums.push_back(t);
        const auto steps = [&] {
            tn::session s(g);
            for (int i = 0; i < 5; ++i) {
                std::vector<tn::fed_value> fed = x.given();
                for (tn::fed_value& f : y.given()) fed.push_back(std::move(f));
                std::vector<tn::any_array> got = s.run_untyped(std::move(fed), sums);
                std::vector<tn::any_array> first, second;
                for (std::size_t k = 0; k < 4; ++k) (k < 2 ? first : second).push_back(std::move(got[k]));
                x.check(first);
                y.check(second);
            }
        };
        std::thread other(steps);
        steps();
        other.join();
    }
}

#endif
