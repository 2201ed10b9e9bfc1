#include "tests.hpp"
#include "../check_gradients.hpp"
#include "ops/untyped_run.hpp"

using namespace tenon;

namespace {

inline constexpr struct diagonal_rows : dim<"diagonal_rows"> {} n;

template <class T> any_array counted(const extents& sizes) {
    any_array a(element_type_of<T>, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i) a.data<T>()[i] = static_cast<T>(static_cast<float>(i % 100 + 1));
    return a;
}

} // namespace

TEST_CASE_TEMPLATE("tril and triu keep one side of a diagonal, of matrices and of batches of them", T, float, double,
                   half, std::int8_t, std::int64_t, bool) {
    for (const extents& sizes : {extents(3, 3), extents(2, 4, 6), extents(5, 2), extents(0, 3), extents(2, 3, 2, 3)})
        for (const std::int64_t k : {-9, -1, 0, 1, 2, 9}) {
            INFO(to_string(sizes), ", k ", k);
            const graph_scope scope{graph()};
            const any_array x = counted<T>(sizes);
            const any_tensor in = test::unknown_placeholder(x);
            session s;
            const auto both = s.run_untyped(test::fed(in, x), {untyped::tril(in, k), untyped::triu(in, k)});
            const std::int64_t columns = sizes[sizes.rank() - 1].size, rows = sizes[sizes.rank() - 2].size;
            for (std::int64_t i = 0; i < x.elements(); ++i) {
                const std::int64_t column = i % columns, row = i / columns % rows;
                CHECK(both[0].data<T>()[i] == (column <= row + k ? x.data<T>()[i] : T{}));
                CHECK(both[1].data<T>()[i] == (column >= row + k ? x.data<T>()[i] : T{}));
            }
        }
}

TEST_CASE_FIXTURE(in_graph, "tril of an expression is one node with what is around it") {
    const auto x = placeholder<float, shape<n, 4>>("x");
    const auto y = tril(exp(x) * 2.0F, -1) + 1.0F;
    const any_tensor node = detail::as_tensor(y);
    CHECK(std::string(node.node()->op->name) == "fused");
    for (const node_output& in : node.node()->inputs) CHECK(std::string(in.node->op->name) != "fused");
}

TEST_CASE_FIXTURE(in_graph, "diag, diagonal, diag_embed and matrix_trace; their types know what can be known") {
    const auto v = constant(array<float, shape<3>>{1, 2, 3});
    const auto x = constant(array<std::int32_t, shape<2, 2, 3>>{{{1, 2, 3}, {4, 5, 6}}, {{7, 8, 9}, {10, 11, 12}}});
    const auto open = placeholder<float, shape<n, n>>("open");
    static_assert(std::is_same_v<decltype(diag<1>(v)), tensor<float, shape<4, 4>>>);
    static_assert(std::is_same_v<decltype(diag(x)), tensor<std::int32_t, shape<2, 2>>>);
    static_assert(std::is_same_v<decltype(diagonal<-1>(x)), tensor<std::int32_t, shape<2, 1>>>);
    static_assert(std::is_same_v<decltype(diagonal<5>(x)), tensor<std::int32_t, shape<2, 0>>>);
    static_assert(std::is_same_v<decltype(diagonal(open)), tensor<float, shape<n>>>);
    static_assert(std::is_same_v<decltype(diagonal<1>(open)), tensor<float, shape<dyn>>>);
    static_assert(std::is_same_v<decltype(diag_embed(open)), tensor<float, shape<n, n, n>>>);
    static_assert(std::is_same_v<decltype(matrix_trace(x)), tensor<std::int32_t, shape<2>>>);
    session s;
    CHECK(s.run(diag(v)) == array<float, shape<3, 3>>{{1, 0, 0}, {0, 2, 0}, {0, 0, 3}});
    CHECK(s.run(diag<-1>(v)) == array<float, shape<4, 4>>{{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 2, 0, 0}, {0, 0, 3, 0}});
    CHECK(s.run(diagonal<1>(x)) == array<std::int32_t, shape<2, 2>>{{2, 6}, {8, 12}});
    CHECK(s.run(diagonal<-1>(x)) == array<std::int32_t, shape<2, 1>>{{4}, {10}});
    CHECK(s.run(matrix_trace(x)) == array<std::int32_t, shape<2>>{6, 18});
    CHECK(s.run(matrix_trace<2>(x)) == array<std::int32_t, shape<2>>{3, 9});
    CHECK(s.run(diag_embed(diag(x)))(1, 1, 1) == 11);
    CHECK(s.run(feed(open, array<float>{{1, 2}, {3, 4}}), diagonal<1>(open)) == array<float>{2});
}

TEST_CASE("gradients of triangles and the trace") { // the table of ops has those of diagonals
    namespace u = untyped;
    using in = const std::vector<any_tensor>&;
    const auto check = [](any_tensor (*f)(in)) {
        CHECK(test::check_untyped_gradients([&](in x) { return u::square(f(x)); }, {{{2, 3, 4}}}) == "");
    };
    check([](in x) { return u::tril(x[0], 1); });
    check([](in x) { return u::triu(u::exp(x[0]), -1); });
    check([](in x) { return u::matrix_trace(x[0]); });
}

TEST_CASE_FIXTURE(in_graph, "triangles and diagonals refuse what is no matrix, in words") {
    const any_tensor v = untyped::placeholder(element_type::float32, extents(3), "v");
    const auto refusal = [](auto&& f) { return message_of<invalid_argument_error>(f); };
    CHECK(refusal([&] { untyped::tril(v); }).find("tril: rank is too low: [3]") == 0);
    CHECK(refusal([&] { untyped::triu(v, 1); }).find("triu: rank is too low: [3]") == 0);
    CHECK(refusal([&] { untyped::diagonal(v); }).find("diagonal: rank is too low: [3]") == 0);
    CHECK(contains(refusal([&] { untyped::diag_embed(v, std::int64_t{1} << 40); }), "k must be between"));
}
