// Ops for which ONNX has no operator are written as several, which compute the same when they are read again and, where
// test/onnx/cases.sh finds it, in ONNX Runtime.
#include <filesystem>
#include <fstream>

#include <tenon/io/numpy/npy.hpp>
#include <tenon/io/onnx/onnx_messages.hpp>
#include <tenon/onnx/onnx.hpp>

#include "tests.hpp"
#include "alike.hpp"

namespace {

inline constexpr struct rows : tn::dim<"rows"> {} rows;

constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

tn::array<float> waves(const tn::extents& sizes, double step) {
    tn::array<float> a(sizes);
    for (std::int64_t i = 0; i < a.untyped().elements(); ++i)
        a.data()[i] = static_cast<float>(3 * std::sin(step * static_cast<double>(i + 1)));
    return a;
}

template <class... A> std::vector<tn::any_array> shares_of(const A&... a) {
    std::vector<tn::any_array> all;
    (all.push_back(a.untyped().share()), ...);
    return all;
}

// Of a graph that gives `outputs` of `inputs`: fed with `values` the model that is written gives what the graph gives.
struct written_again {
    std::vector<tn::named_tensor> inputs;
    std::vector<tn::any_array> values;

    std::vector<tn::fed_value> feeds(const std::vector<tn::any_tensor>& to) const {
        std::vector<tn::fed_value> all;
        for (std::size_t i = 0; i < to.size(); ++i) all.push_back({to[i], values[i].share()});
        return all;
    }
    void check(tn::session& s, const std::string& name, const std::vector<tn::any_tensor>& outputs) const {
        CAPTURE(name);
        std::vector<tn::named_tensor> named;
        for (std::size_t i = 0; i < outputs.size(); ++i) named.push_back({"out" + std::to_string(i), outputs[i]});
        std::vector<tn::any_tensor> fed;
        for (const auto& i : inputs) fed.push_back(i.tensor);
        const auto wanted = s.run_untyped(feeds(fed), outputs);
        const std::string bytes = tn::onnx_bytes(s, inputs, named);
        for (const auto& n : tn::detail::onnx::read_model(bytes, name).graph.nodes)
            for (const auto& a : n.attributes) CHECK((a.name != "allowzero" || n.op == "Reshape"));
        {
            const own_graph second;
            const tn::onnx_model m = tn::parse_onnx(std::as_bytes(std::span(bytes)));
            const auto given = tn::session(second).run_untyped(feeds(m.inputs), m.outputs);
            for (std::size_t i = 0; i < wanted.size(); ++i)
                CHECK((name == "shuffled" ? given[i].type() == wanted[i].type() : alike(given[i], wanted[i])));
        }
        const char* const folder = std::getenv("TENON_ONNX_FOLDER");
        if (!folder) return;
        const std::filesystem::path place = std::filesystem::path(folder) / name;
        std::filesystem::create_directories(place);
        std::ofstream(place / "written.onnx", std::ios::binary) << bytes;
        std::ofstream list(place / "inputs");
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            list << inputs[i].name << '\n';
            tn::write_npy((place / ("in" + std::to_string(i) + ".npy")).string(), values[i]);
        }
        for (std::size_t i = 0; i < wanted.size(); ++i)
            tn::write_npy((place / ("out" + std::to_string(i) + ".npy")).string(), wanted[i]);
    }
};

} // namespace

TEST_CASE_FIXTURE(in_graph, "what ONNX has no operator for is written as several") {
    const auto x = tn::placeholder<float, tn::shape<rows, 5>>("x");
    const auto y = tn::placeholder<float, tn::shape<rows, 5>>("y");
    const auto i = tn::placeholder<std::int64_t, tn::shape<rows, 5>>("i");
    const auto ascending = tn::sort(y);
    tn::array<float> a = waves({4, 5}, 1.7), b = waves({4, 5}, 0.6);
    tn::array<std::int64_t> whole(tn::extents{4, 5});
    for (int k = 0; k < 20; ++k) whole.data()[k] = k * 7 % 11 - 5;
    a.data()[3] = b.data()[3] = inf;
    a.data()[7] = nan;
    a.data()[12] = -inf, b.data()[12] = inf;
    a.data()[13] = 0, b.data()[13] = -0.0f;
    a.data()[14] = -0.0f, b.data()[14] = 0;
    a.data()[15] = -0.0f, b.data()[15] = -2;
    a.data()[16] = 0, b.data()[16] = -0.0f;
    const written_again by{{{"x", x}, {"y", y}, {"i", i}}, shares_of(a, b, whole)};
    tn::session s(g);
    by.check(s, "cummax",
             {tn::cummax<0>(x), tn::cummax<1>(y, {.exclusive = true}), tn::cummax<-1>(i, {.reversed = true})});
    by.check(s, "cummin",
             {tn::cummin<1>(x), tn::cummin<0>(y, {.exclusive = true, .reversed = true}),
              tn::cummin<0>(i, {.exclusive = true})});
    by.check(s, "cumlogsumexp",
             {tn::cumlogsumexp<1>(x), tn::cumlogsumexp<0>(y, {.exclusive = true, .reversed = true})});
    by.check(s, "searchsorted",
             {tn::searchsorted(ascending, x), tn::searchsorted(ascending, x, {.right = true}),
              tn::searchsorted(tn::constant({-5, -1, -1, 3}), tn::cast<std::int32_t>(i), {.right = true})});
    by.check(s, "atan2", {tn::atan2(x, y), tn::atan2(y, x), tn::atan2(x, -x)});
    by.check(s, "where_of_integers", {tn::where(x > 0.0f, i, -i)});
    by.check(s, "where_of_truth", {tn::where(x > 0.0f, y > 0.0f, i > 0)});
    by.check(s, "variances",
             {tn::variance<1>(y, tn::ddof{1}), tn::variance(y, tn::keep_dims{}, tn::ddof{3}),
              tn::standard_deviation<0>(y, tn::ddof{1})});
    by.check(s, "counted", {tn::arange_to(tn::max(i)), tn::arange_to(tn::cast<std::int32_t>(tn::max(i)))});
    by.check(s, "shuffled", {tn::random_shuffle(i), tn::random_permutation<std::int32_t, tn::shape<7>>()});
}

TEST_CASE_FIXTURE(in_graph, "attention of fewer heads of keys, with a mask of sizes from the run") {
    const auto q = tn::placeholder<float, tn::shape<rows, 4, 3, 5>>("q");
    const auto k = tn::placeholder<float, tn::shape<rows, 2, 6, 5>>("k");
    const auto mask = tn::placeholder<float, tn::shape<rows, 4, 3, 6>>("mask");
    const written_again by{{{"q", q}, {"k", k}, {"mask", mask}},
                           shares_of(waves({2, 4, 3, 5}, 0.7), waves({2, 2, 6, 5}, 1.3), waves({2, 4, 3, 6}, 2.1))};
    tn::session s(g);
    by.check(s, "grouped_attention", {tn::attention(q, k, k, mask)});
}

TEST_CASE_FIXTURE(in_graph, "lgamma is written as its series, and places of pools as those of the values") {
    const auto x = tn::placeholder<float, tn::shape<tn::dyn>>("x");
    const auto images = tn::placeholder<float, tn::shape<rows, 7, 8, 3>>("images");
    tn::array<float> a(tn::extents{400});
    for (int k = 0; k < 400; ++k) a.data()[k] = static_cast<float>(k - 100) * 0.13f;
    for (int k = 0; k < 12; ++k) a.data()[k] = static_cast<float>(std::pow(10.0, k) * (k % 2 ? 1e-7 : 3e-5));
    a.data()[12] = inf, a.data()[13] = -inf, a.data()[14] = nan, a.data()[15] = 0, a.data()[16] = -3, a.data()[17] = 1,
    a.data()[18] = 2;
    const tn::array<float> b = waves({2, 7, 8, 3}, 2.3);
    const written_again by{{{"x", x}, {"images", images}}, shares_of(a, b)};
    tn::session s(g);
    by.check(s, "lgamma", {tn::lgamma(x), tn::lgamma(tn::cast<double>(x))});
    const auto [y, at] = tn::max_pool2d_with_indices<2>(images);
    const auto [z, there] = tn::max_pool2d_with_indices<tn::pool2d_options{{3, 2}, {2, 1}, tn::same}>(images);
    by.check(s, "pool_places", {y, at, z, there});
}

TEST_CASE_FIXTURE(in_graph, "what cannot be written is named all at once, with the reason where there is one") {
    const auto x = tn::placeholder<double, tn::shape<3, 3>>("x");
    const auto logarithm = tn::slogdet(x);
    const tn::any_tensor factor = tn::untyped::cholesky(x), deep = tn::untyped::digamma(x);
    tn::session s(g);
    const std::string said = message_of<tn::unimplemented_error>([&] {
        tn::onnx_bytes(s, {{"x", x}}, {{"a", std::get<0>(logarithm)}, {"b", factor}, {"c", deep}});
    });
    for (const char* part :
         {"(slogdet): ONNX has the determinant alone, which overflows where its logarithm does not",
          "(cholesky): no operator of ONNX takes matrices apart or solves equations", "the function digamma of double"})
        CHECK(contains(said, part));
}
