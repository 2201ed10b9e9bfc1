#include "tests.hpp"
#include "../check_gradients.hpp"
#include "../random/random_arrays.hpp"
#include "ops/untyped_run.hpp"

using namespace tenon;
using test::element;
using test::random_array;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;

// The sum over all indices of all letters, one after another, in double. Letters alone, with a result.
std::vector<double> by_loops(const std::string& text, const std::vector<any_array>& in) {
    std::vector<std::string> terms(1);
    const std::size_t arrow = text.find("->");
    for (const char c : text.substr(0, arrow)) {
        if (c == ',') terms.emplace_back();
        else terms.back() += c;
    }
    const std::string result = text.substr(arrow + 2);
    std::map<char, std::int64_t> sizes;
    for (std::size_t i = 0; i < terms.size(); ++i)
        for (std::size_t k = 0; k < terms[i].size(); ++k)
            sizes[terms[i][k]] = in[i].extents()[static_cast<int>(k)].size;
    std::string all = result;
    for (const auto& [letter, size] : sizes)
        if (all.find(letter) == std::string::npos) all += letter;
    std::map<char, std::int64_t> at;
    std::int64_t count = 1;
    for (const char c : result) count *= sizes[c];
    std::vector<double> y(static_cast<std::size_t>(count));
    const auto place = [&](const std::string& letters) {
        std::int64_t p = 0;
        for (const char c : letters) p = p * sizes[c] + at[c];
        return p;
    };
    const std::function<void(std::size_t)> loop = [&](std::size_t depth) {
        if (depth < all.size()) {
            for (at[all[depth]] = 0; at[all[depth]] < sizes[all[depth]]; ++at[all[depth]]) loop(depth + 1);
            return;
        }
        double p = 1;
        for (std::size_t i = 0; i < terms.size(); ++i) {
            const std::int64_t e = place(terms[i]);
            p *= in[i].element() == element_type::float64   ? element<double>(in[i], e)
                 : in[i].element() == element_type::float32 ? static_cast<double>(element<float>(in[i], e))
                                                            : static_cast<double>(in[i].data<std::int8_t>()[e]);
        }
        y[static_cast<std::size_t>(place(result))] += p;
    };
    loop(0);
    return y;
}

enum class told { sizes, nothing, names };

// The einsum of random operands whose sizes the graph knows, or does not, or has a name for each letter of.
any_array run_einsum(const std::string& text, const std::vector<any_array>& in, told how) {
    const graph_scope scope{graph()};
    static const std::vector<std::string> names = [] { // of all letters, kept as long as the graph
        std::vector<std::string> all;
        for (int i = 0; i < 26; ++i) all.push_back("n" + std::to_string(i));
        return all;
    }();
    std::vector<any_tensor> operands;
    std::vector<fed_value> feeds;
    std::size_t at = 0;
    for (const any_array& a : in) {
        extents e;
        for (int k = 0; k < a.extents().rank(); ++k, ++at) {
            while (text[at] < 'a' || text[at] > 'z') ++at;
            e.push_back(how == told::sizes ? a.extents()[k]
                        : how == told::nothing
                            ? extent{}
                            : extent::named(names[static_cast<std::size_t>(text[at] - 'a')].c_str()));
        }
        operands.push_back(untyped::placeholder(a.element(), e));
        feeds.push_back({operands.back(), a.share()});
    }
    session s(graph::current());
    return std::move(s.run_untyped(std::move(feeds), {untyped::einsum(text, operands)})[0]);
}

void check_einsum(const std::string& text, const std::vector<extents>& sizes) {
    std::vector<any_array> in, in_float;
    std::uint64_t seed = 1;
    for (const extents& e : sizes) {
        in.push_back(random_array<double>(e, seed));
        in_float.push_back(random_array<float>(e, seed++));
    }
    CAPTURE(text);
    for (const told how : {told::sizes, told::nothing, told::names}) {
        CAPTURE(static_cast<int>(how));
        const any_array y = run_einsum(text, in, how);
        const std::vector<double> wanted = by_loops(text, in);
        REQUIRE(y.elements() == static_cast<std::int64_t>(wanted.size()));
        for (std::size_t i = 0; i < wanted.size(); ++i)
            REQUIRE(element<double>(y, static_cast<std::int64_t>(i)) == doctest::Approx(wanted[i]).epsilon(1e-12));
    }
    const any_array y = run_einsum(text, in_float, told::sizes);
    const std::vector<double> wanted = by_loops(text, in_float);
    for (std::size_t i = 0; i < wanted.size(); ++i)
        REQUIRE(static_cast<double>(element<float>(y, static_cast<std::int64_t>(i))) ==
                doctest::Approx(wanted[i]).epsilon(2e-4));
}

} // namespace

TEST_CASE("einsum: equals the loops over all letters") {
    check_einsum("ij,jk->ik", {{3, 4}, {4, 5}});
    check_einsum("ij,jk->ki", {{3, 4}, {4, 5}});
    check_einsum("ji,kj->ik", {{4, 3}, {5, 4}});
    check_einsum("bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}});
    check_einsum("bij,bkj->kib", {{2, 3, 4}, {2, 5, 4}});
    check_einsum("bij,jk->bik", {{2, 3, 4}, {4, 5}});
    check_einsum("jk,bij->bik", {{4, 5}, {2, 3, 4}});
    check_einsum("bihd,bjhd->bhij", {{2, 3, 4, 5}, {2, 6, 4, 5}});
    check_einsum("bhij,bjhd->bihd", {{2, 3, 4, 5}, {2, 5, 3, 6}});
    check_einsum("abcd,cdef->abef", {{2, 3, 4, 5}, {4, 5, 2, 3}});
    check_einsum("abcd,dcfe->aebf", {{2, 3, 4, 5}, {5, 4, 2, 3}});
    check_einsum("kabcd,kcdef->kabef", {{2, 2, 3, 4, 5}, {2, 4, 5, 2, 3}});
    check_einsum("i,i->", {{7}, {7}});
    check_einsum("i,j->ij", {{7}, {4}});
    check_einsum("i,j->ji", {{7}, {4}});
    check_einsum("ij,j->i", {{7, 4}, {4}});
    check_einsum("i,ij->j", {{7}, {7, 4}});
    check_einsum("bij,bj->bi", {{3, 7, 4}, {3, 4}});
    check_einsum("bi,bi->b", {{3, 7}, {3, 7}});
    check_einsum("ij,ji->", {{3, 7}, {7, 3}});
    check_einsum("ij,ij->ij", {{3, 7}, {3, 7}});
    check_einsum("ijk,jil->kl", {{3, 4, 2}, {4, 3, 6}});
    check_einsum("ijk,l->j", {{3, 4, 2}, {3}});
    check_einsum("bi,oij,bj->bo", {{2, 3}, {4, 3, 5}, {2, 5}});
    check_einsum("ab,bc,cd,de->ae", {{2, 9}, {9, 3}, {3, 8}, {8, 2}});
    check_einsum("a,b,c,d->dcba", {{2}, {3}, {4}, {5}});
}

TEST_CASE("einsum: one operand is transposed, summed, and its diagonals taken") {
    check_einsum("ij->ji", {{3, 4}});
    check_einsum("ij->i", {{3, 4}});
    check_einsum("ij->", {{3, 4}});
    check_einsum("abc->cab", {{2, 3, 4}});
    check_einsum("ii->i", {{5, 5}});
    check_einsum("ii->", {{5, 5}});
    check_einsum("iij->ji", {{4, 4, 3}});
    check_einsum("iji->j", {{4, 3, 4}});
    check_einsum("iiii->i", {{3, 3, 3, 3}});
    check_einsum("ijij->ij", {{3, 4, 3, 4}});
    check_einsum("iij,jk->ik", {{4, 4, 3}, {3, 2}});
    check_einsum("ii,jj->ij", {{4, 4}, {3, 3}});
    check_einsum("ii->i", {{1, 1}});
    check_einsum("ij,jk->ik", {{3, 0}, {0, 5}});
    check_einsum("ij,jk->ik", {{0, 3}, {3, 5}});
}

TEST_CASE_FIXTURE(in_graph, "einsum: integers of all widths are multiplied and added as they are") {
    const auto a = constant(array<std::int8_t, shape<2, 2>>{{1, 2}, {3, 100}});
    const auto b = constant(array<std::uint16_t, shape<2, 2>>{{1, 2}, {3, 4}});
    const auto c = constant(array<std::int64_t, shape<2, 2>>{{1, 2}, {3, 4}});
    session s(graph::current());
    const array<std::int8_t, shape<2, 2>> wrapped = s.run(einsum<"ij,jk->ik">(a, a));
    CHECK(wrapped == array<std::int8_t, shape<2, 2>>{{7, -54}, {47, 22}});
    CHECK(s.run(einsum<"ij,jk->ik">(b, b)) == array<std::uint16_t, shape<2, 2>>{{7, 10}, {15, 22}});
    CHECK(s.run(einsum<"ij,jk->ik">(c, c)) == array<std::int64_t, shape<2, 2>>{{7, 10}, {15, 22}});
}

TEST_CASE_FIXTURE(in_graph, "einsum: types of results, with an implicit one and with dimensions without letters") {
    const auto x = placeholder<float, shape<batch, 3, 4>>("x");
    const auto y = placeholder<float, shape<batch, 4, 5>>("y");
    const auto w = placeholder<float, shape<4, 5>>("w");
    const auto d = placeholder<float, shape<dyn, dyn>>("d");
    static_assert(std::is_same_v<decltype(einsum<"bij,bjk->bik">(x, y)), tensor<float, shape<batch, 3, 5>>>);
    static_assert(std::is_same_v<decltype(einsum<"bij, bjk">(x, y)), tensor<float, shape<3, 5>>>);
    static_assert(std::is_same_v<decltype(einsum<"...ij,jk->...ik">(x, w)), tensor<float, shape<batch, 3, 5>>>);
    static_assert(std::is_same_v<decltype(einsum<"...ij,...jk">(x, y)), tensor<float, shape<batch, 3, 5>>>);
    static_assert(std::is_same_v<decltype(einsum<"ij,jk->ik">(d, w)), tensor<float, shape<dyn, 5>>>);
    static_assert(std::is_same_v<decltype(einsum<"ij,ij->ij">(d, w)), tensor<float, shape<4, 5>>>);
    static_assert(std::is_same_v<decltype(einsum<"ba">(w)), tensor<float, shape<5, 4>>>);
    static_assert(std::is_same_v<decltype(einsum<"ii->">(d)), tensor<float, shape<>>>);
    static_assert(std::is_same_v<decltype(einsum<"bij->jb">(x * 2.0f)), tensor<float, shape<4, batch>>>);

    const auto a = placeholder<double, shape<2, 1, 3, 4>>("a");
    const auto c = placeholder<double, shape<5, 4, 2>>("c");
    const auto p = einsum<"...ij,...jk->...ik">(a, c);
    static_assert(std::is_same_v<decltype(p), const tensor<double, shape<2, 5, 3, 2>>>);
    session s(graph::current());
    const any_array va = random_array<double>({2, 1, 3, 4}, 1), vc = random_array<double>({5, 4, 2}, 2);
    const any_array vp = std::move(s.run_untyped(tn::test::fed(a, va, c, vc), {p})[0]);
    for (int i0 = 0, at = 0; i0 < 2; ++i0)
        for (int i1 = 0; i1 < 5; ++i1)
            for (int i = 0; i < 3; ++i)
                for (int k = 0; k < 2; ++k, ++at) {
                    double sum = 0;
                    for (int j = 0; j < 4; ++j)
                        sum += va.data<double>()[(i0 * 3 + i) * 4 + j] * vc.data<double>()[(i1 * 4 + j) * 2 + k];
                    CHECK(vp.data<double>()[at] == doctest::Approx(sum));
                }
}

TEST_CASE_FIXTURE(in_graph, "einsum: what is a product of matrices is one node") {
    const auto x = placeholder<float, shape<batch, 3, 4>>("x");
    const auto y = placeholder<float, shape<batch, 4, 5>>("y");
    const auto z = placeholder<float, shape<batch, 5, 4>>("z");
    const auto w = placeholder<float, shape<4, 5>>("w");
    CHECK(einsum<"bij,bjk->bik">(x, y).node() == matmul(x, y).node());
    CHECK(einsum<"bij,bkj->bik">(x, z).node() == matmul<transpose_b>(x, z).node());
    CHECK(einsum<"bij,jk->bik">(x, w).node() == matmul(x, w).node());
    CHECK(einsum<"bij,bkj->bki">(x, z).node() == matmul<transpose_b>(z, x).node());
    CHECK(einsum<"...ij,jk->...ik">(x, w).node() == matmul(x, w).node());
}

TEST_CASE("einsum: gradients") {
    const auto check = [](const char* text, const std::vector<test::untyped_input>& in) {
        INFO(text);
        CHECK(test::check_untyped_gradients([&](const auto& x) { return untyped::einsum(text, x); }, in) == "");
    };
    check("bij,bjk->bik", {{{2, 3, 4}}, {{2, 4, 2}}});
    check("bihd,bjhd->bhij", {{{2, 3, 2, 3}}, {{2, 4, 2, 3}}});
    check("abcd,cdef->eabf", {{{2, 3, 2, 2}}, {{2, 2, 2, 3}}});
    check("bi,oij,bj->bo", {{{2, 3}}, {{2, 3, 2}}, {{2, 2}}});
    check("iij->ji", {{{3, 3, 2}}});
    check("ii->", {{{3, 3}}});
    check("...i,i...->...", {{{3, 1, 2}}, {{2, 4}}});
}

TEST_CASE_FIXTURE(in_graph, "einsum: what does not fit is said with the letter and the sizes") {
    const auto x = untyped::placeholder(element_type::float32, {3, 4});
    const auto y = untyped::placeholder(element_type::float32, {5, 6});
    const auto i = untyped::placeholder(element_type::int32, {4, 6});
    const auto d = placeholder<float, shape<dyn, dyn>>("d"), e = placeholder<float, shape<dyn, dyn>>("e");
    const auto refused = [](const std::string& text, const std::vector<any_tensor>& operands, const char* words) {
        CHECK_THROWS_WITH_AS(untyped::einsum(text, operands), words, invalid_argument_error);
    };
    refused("ij,jk->ik", {x, y}, "einsum ij,jk->ik: j has two sizes: float[3, 4] x float[5, 6]");
    refused("ij->ijk", {x}, "einsum ij->ijk: k is in the result only: float[3, 4]");
    refused("ij->ijj", {x}, "einsum ij->ijj: j is twice in the result: float[3, 4]");
    refused("ijk->i", {x}, "einsum ijk->i: an operand or the result has not a dimension for each letter: float[3, 4]");
    refused("ij,jk->ik", {x},
            "einsum ij,jk->ik: there is not a list of letters for each operand, of which there are at "
            "most 8: float[3, 4]");
    refused("ij,jk", {x, i}, "einsum ij,jk: element types differ: float[3, 4] x int32[4, 6]");
    refused("i1", {x},
            "einsum i1: the text is a list of letters an operand, and one of the result, as in ij,jk->ik, with "
            "... in it where operands have it: float[3, 4]");
    CHECK_THROWS_AS(untyped::einsum("ij-", {x}), invalid_argument_error);
    CHECK_THROWS_AS(untyped::einsum("...j->j", {x}), invalid_argument_error);
    CHECK_THROWS_AS(untyped::einsum("", {}), invalid_argument_error);

    session s(graph::current());
    array<float> three(extents{3, 1}), four(extents{3, 4});
    three.fill(1);
    four.fill(1);
    const auto both = einsum<"ij,ij->ij">(d, e); // 1 is not repeated
    CHECK_ERROR(invalid_argument_error, "j has two sizes: float[3, 1] x float[3, 4]",
                s.run(feed(d, three), feed(e, four), both));
}
