#include "tests.hpp"

namespace {

// One who claims a lease of this name.
struct claimant {
    explicit claimant(const std::vector<tn::task>& on, const std::string& container = {}) : sess(on, make(container)) {}
    std::tuple<std::string, std::int64_t, double> claim(const std::string& who, double seconds,
                                                        std::int64_t known = 0) {
        std::vector<tn::any_array> fed;
        fed.emplace_back(tn::element_type::string, tn::extents());
        *fed.back().data<std::string>() = who;
        fed.emplace_back(tn::element_type::float64, tn::extents());
        *fed.back().data<double>() = seconds;
        fed.emplace_back(tn::element_type::int64, tn::extents());
        *fed.back().data<std::int64_t>() = known;
        const auto is = sess.callable_untyped(in, out, {}).run_for(0, fed);
        return {*is[0].data<std::string>(), *is[1].data<std::int64_t>(), *is[2].data<double>()};
    }
    tn::graph make(const std::string& container) {
        const tn::graph_scope scope(graph);
        const tn::container_scope there(container);
        const tn::any_tensor lease = tn::add<tn::lease_op>({"the one"}, {});
        in = {tn::untyped::placeholder(tn::element_type::string, {}),
              tn::untyped::placeholder(tn::element_type::float64, {}),
              tn::untyped::placeholder(tn::element_type::int64, {})};
        const tn::any_tensor claimed = tn::add<tn::claim_lease_op>({}, {lease, in[0], in[1], in[2]});
        for (int i = 0; i < 3; ++i) out.push_back(tn::any_tensor(tn::node_output{claimed.node(), i}));
        return graph;
    }
    std::vector<tn::any_tensor> in, out;
    tn::graph graph;
    tn::session sess;
};

} // namespace

TEST_CASE("sessions of a task share a lease by its name and container; terms grow, also past what was heard of") {
    tn::task shared;
    claimant one({shared}), other({shared}), elsewhere({shared}, "box");
    using standing = std::tuple<std::string, std::int64_t, double>;
    CHECK(one.claim("a", 0) == standing{"", 0, 0});
    {
        const auto [holder, term, left] = one.claim("a", 1000);
        CHECK(holder == "a");
        CHECK(term == 1);
        CHECK((left > 900 && left <= 1000));
    }
    CHECK(std::get<0>(other.claim("b", 1000)) == "a");
    CHECK(std::get<0>(elsewhere.claim("b", 1000)) == "b");
    CHECK(std::get<0>(other.claim("b", -1)) == "a"); // it is not b's to give back
    CHECK(one.claim("a", -1) == standing{"", 1, 0});
    CHECK(std::get<1>(other.claim("b", 1e-9)) == 2); // which is over at once
    CHECK(std::get<0>(one.claim("a", 1000, 7)) == "a");
    CHECK(std::get<1>(other.claim("b", 0)) == 8);
    CHECK_ERROR(tn::invalid_argument_error, "has no name", one.claim("", 1));
    CHECK_THROWS_AS(one.claim("a", 1e9), tn::invalid_argument_error);
    for (const std::int64_t term : {std::int64_t{-1}, (std::int64_t{1} << 62) + 1})
        CHECK_THROWS_AS(one.claim("a", 1, term), tn::invalid_argument_error);
    shared.reset();
    CHECK(std::get<1>(one.claim("a", 1000)) == 1); // forgotten with its container
}
