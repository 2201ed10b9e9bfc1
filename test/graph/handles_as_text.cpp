#include <sstream>

#include "tests.hpp"

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;

template <class X> std::string text_of(const X& x) {
    std::ostringstream out;
    out << x;
    return out.str();
}

} // namespace

TEST_CASE_FIXTURE(in_graph, "a tensor, a variable and an operation are printed as what they are") {
    const auto x = tn::placeholder<float, tn::shape<batch, 784>>("x");
    CHECK(text_of(x) == "x: float[batch, 784]");
    CHECK(text_of(tn::any_tensor(x)) == "x: float[batch, 784]");
    CHECK(text_of(tn::variable<std::int32_t, tn::shape<3>>("w", tn::zeros())) == "w: int32[3]");
    CHECK(text_of(tn::group(x)) == "group: no_op");
    CHECK(text_of(tn::any_tensor()) == "empty tensor");
    CHECK(text_of(tn::operation()) == "empty operation");
    CHECK(text_of(x.type()) == "float[batch, 784]");
    CHECK(text_of(x.extents()) == "[batch, 784]");
    CHECK(text_of(x.element()) == "float");
}

TEST_CASE_FIXTURE(in_graph, "an expression is printed by its type, and becomes no node by that") {
    const auto x = tn::placeholder<float, tn::shape<batch, 784>>("x");
    const std::int64_t nodes = g.size();
    CHECK(text_of(exp(x) > 1.0f) == "expression: bool[batch, 784]");
    CHECK(text_of((exp(x) > 1.0f).type()) == "bool[batch, 784]");
    CHECK(g.size() == nodes);
}

TEST_CASE("arrays of sizes that no type says are written to streams beside tensors, too, and so are their rows") {
    const tn::array<float> a{{1, 2}, {3, 4}};
    const tn::array<float, tn::shape<tn::dyn, 2>> typed{{1, 2}, {3, 4}};
    std::ostringstream out;
    out << a << "\n" << a.slice(1, 2) << "\n" << typed << "\n" << typed.slice(1, 2);
    CHECK(out.str() == "float[2, 2]\n[[1, 2],\n [3, 4]]\nfloat[1, 2]\n[[3, 4]]\n"
                       "float[2, 2]\n[[1, 2],\n [3, 4]]\nfloat[1, 2]\n[[3, 4]]");
}
