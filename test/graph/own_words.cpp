#include "tests.hpp"
#include "ops/untyped_run.hpp"

// An op of a program refuses its operands in its own words, which are the same wherever it is judged.

namespace {

/// in: knots [n], weights [n]. The knots, where n is even.
struct spline_op {
    static constexpr const char* name = "spline_of_test";
    struct attributes {
        int axis = 0;
    };
    static constexpr char a_weight_for_each[] = "there must be a weight for each knot";
    static constexpr char in_pairs[] = "knots come in pairs";
    static constexpr tn::inferred infer(const attributes&, tn::type_list in, int) {
        if (in.size() != 2) return tn::fault::expects_more_operands;
        if (tn::equal_shapes(in[0].extents, in[1].extents).what != tn::fault::none) return a_weight_for_each;
        if (in[0].extents.rank() != 1) return tn::fault::ranks_differ;
        if (in[0].extents[0].is_number() && in[0].extents[0].size % 2 != 0) return in_pairs;
        return in[0];
    }
};
const tn::op_definition& definition = tn::definition_of<spline_op>();

tn::any_tensor spline(const tn::any_tensor& knots, const tn::any_tensor& weights) {
    return tn::add<spline_op>({}, {knots, weights});
}

} // namespace

TEST_CASE_FIXTURE(in_graph,
                  "an op's own words are said where a node is made, with the types of its operands and its axis") {
    const auto x = tn::placeholder<float, tn::shape<4>>("x");
    const auto y = tn::placeholder<double, tn::shape<3>>("y");
    CHECK(message_of<tn::invalid_argument_error>([&] { (void)spline(x, y); }) ==
          "spline_of_test: there must be a weight for each knot: float[4] x double[3], axis 0 (inputs x y)");
    const auto odd = tn::placeholder<float, tn::shape<3>>("odd");
    CHECK_ERROR(tn::invalid_argument_error, "spline_of_test: knots come in pairs: float[3] x float[3]",
                spline(odd, odd));
    CHECK(spline(x, x).type() == tn::tensor_type{tn::element_type::float32, {4}});
}

TEST_CASE_FIXTURE(in_graph, "an op's own words are said in a step's sizes, and name the node") {
    const auto x = tn::placeholder<float, tn::shape<tn::dyn>>("x");
    const tn::any_tensor y = spline(x, x);
    tn::session s(g);
    const std::string words = message_of<tn::invalid_argument_error>([&] {
        (void)s.run_untyped(tn::test::fed(x, tn::array<float>({1, 2, 3}).untyped()), {y});
    });
    CHECK(contains(words, "spline_of_test: knots come in pairs: float[3] x float[3], axis 0 in this step's sizes"));
    CHECK(contains(words, "[node spline_of_test (spline_of_test), made at "));
}

TEST_CASE("an op's own words are said of a graph that is read") {
    std::string text;
    {
        const own_graph g;
        const auto x = tn::placeholder<float, tn::shape<4>>("x");
        (void)spline(x, x);
        text = tn::to_json(g);
    }
    (void)tn::graph_from_json(text);
    for (std::size_t at; (at = text.find("[4]")) != std::string::npos;) text.replace(at, 3, "[5]");
    CHECK(message_of<tn::invalid_argument_error>([&] { (void)tn::graph_from_json(text); }) ==
          "graph JSON: node \"spline_of_test\" (spline_of_test): spline_of_test: knots come in pairs: float[5] x "
          "float[5], axis 0 (inputs x x)");
}
