#include <tenon/input.hpp>
#include <tenon/io/example/example.hpp>

#include "tests.hpp"
#include "ops/untyped_run.hpp"

// Features of serialized examples, as tensors of the types that specifications say.

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct longest : tn::dim<"longest"> {} longest;

using ints = std::vector<std::int64_t>;
using reals = std::vector<float>;
using texts = std::vector<std::string>;

template <class T> tn::any_array of(const tn::extents& sizes, const std::vector<T>& values) {
    return tn::test::array_of(sizes, values);
}
tn::any_array serialized(const std::vector<tn::example>& all) {
    tn::any_array a(tn::element_type::string, {static_cast<std::int64_t>(all.size())});
    for (std::size_t i = 0; i < all.size(); ++i) a.data<std::string>()[i] = all[i].serialize();
    return a;
}
tn::any_array serialized(const std::vector<tn::sequence_example>& all) {
    tn::any_array a(tn::element_type::string, {static_cast<std::int64_t>(all.size())});
    for (std::size_t i = 0; i < all.size(); ++i) a.data<std::string>()[i] = all[i].serialize();
    return a;
}

// The tensors of a tuple, of a step that feeds `in`.
template <class... T>
std::vector<tn::any_array> run(const tn::any_tensor& placeholder, const tn::any_array& in,
                               const std::tuple<T...>& parsed) {
    tn::session s;
    return s.run_untyped(tn::test::fed(placeholder, in),
                         std::apply([](const auto&... t) { return std::vector<tn::any_tensor>{t...}; }, parsed));
}

struct graph_of_examples {
    own_graph made;
    tn::tensor<std::string, tn::shape<batch>> in = tn::placeholder<std::string, tn::shape<batch>>("in");
    tn::tensor<std::string, tn::shape<>> one = tn::placeholder<std::string, tn::shape<>>("one");

    template <class... F>
    std::vector<tn::any_array> parse(const std::vector<tn::example>& examples, const F&... f) const {
        return run(in, serialized(examples), tn::parse_example(in, f...));
    }
    template <class... F>
    std::vector<tn::any_array> parse_sequences(const std::vector<tn::sequence_example>& examples, const F&... f) const {
        return run(in, serialized(examples), tn::parse_sequence_example(in, f...));
    }
    // What the step that parses these says, without its node.
    template <class Error = tn::invalid_argument_error, class... F>
    std::string said(const std::vector<tn::example>& examples, const F&... f) const {
        return before_node(message_of<Error>([&] { parse(examples, f...); }));
    }
    static std::string before_node(const std::string& message) { return message.substr(0, message.find(" [node")); }
};

} // namespace

TEST_CASE("features of fixed length are stacked along the batch") {
    const graph_of_examples g;
    const tn::example a{{{"image", reals{1, 2, 3, 4}}, {"label", 7}, {"name", texts{"x", "y"}}}};
    const tn::example b{{{"name", texts{"", "z"}}, {"more", 1}, {"image", reals{5, 6, 7, 8}}, {"label", -7}}};
    const auto got =
        g.parse({a, b, a}, tn::fixed_feature<float, tn::shape<2, 2>>("image"), tn::fixed_feature<std::int64_t>("label"),
                tn::fixed_feature<std::string, tn::shape<2>>("name"));
    CHECK(got[0] == of<float>({3, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4}));
    CHECK(got[1] == of<std::int64_t>({3}, {7, -7, 7}));
    CHECK(got[2] == of<std::string>({3, 2}, {"x", "y", "", "z", "x", "y"}));
    CHECK(g.parse({}, tn::fixed_feature<float, tn::shape<2, 2>>("image"))[0].extents() == tn::extents{0, 2, 2});
}

TEST_CASE("a default stands where a feature is missing or holds nothing, and nowhere else") {
    const graph_of_examples g;
    const std::vector<tn::example> examples{{{{"x", reals{1, 2}}}}, {}, {{{"x", tn::feature()}}}};
    CHECK(g.parse(examples, tn::fixed_feature<float, tn::shape<2>>("x", 9.0f))[0] ==
          of<float>({3, 2}, {1, 2, 9, 9, 9, 9}));
    CHECK(g.parse(examples, tn::fixed_feature<float, tn::shape<2>>("x", tn::array<float, tn::shape<2>>{3, 4}))[0] ==
          of<float>({3, 2}, {1, 2, 3, 4, 3, 4}));
    CHECK(g.parse(examples, tn::fixed_feature<std::string>("name", "nobody"))[0] ==
          of<std::string>({3}, {"nobody", "nobody", "nobody"}));
    CHECK(g.said({{{{"x", reals{1}}}}}, tn::fixed_feature<float, tn::shape<2>>("x", 9.0f)) ==
          "parse_example: example 0 of 1: feature \"x\" has 1 value, where 2 are asked for");
}

TEST_CASE("features of any length are padded to the longest, and their lengths can be had") {
    const graph_of_examples g;
    const std::vector<tn::example> examples{{{{"words", ints{1, 2, 3}}}}, {{{"words", ints{4}}}}, {}};
    const auto words = tn::padded_feature<std::int64_t>("words", -1);
    const auto got = g.parse(
        examples, words, tn::length_of(words), tn::padded_feature<std::int64_t, tn::shape<4>>("words"),
        tn::padded_feature<std::int64_t, tn::shape<longest>>("words"), tn::padded_feature<std::string>("none", "?"));
    CHECK(got[0] == of<std::int64_t>({3, 3}, {1, 2, 3, 4, -1, -1, -1, -1, -1}));
    CHECK(got[1] == of<std::int64_t>({3}, {3, 1, 0}));
    CHECK(got[2] == of<std::int64_t>({3, 4}, {1, 2, 3, 0, 4, 0, 0, 0, 0, 0, 0, 0}));
    CHECK(got[3] == of<std::int64_t>({3, 3}, {1, 2, 3, 4, 0, 0, 0, 0, 0}));
    CHECK(got[4].extents() == tn::extents{3, 0});

    const auto points = tn::padded_feature<float, tn::shape<tn::dyn, 2>>("points", 0.5f);
    const auto rows =
        g.parse({{{{"points", reals{1, 2, 3, 4}}}}, {{{"points", reals{5, 6}}}}}, points, tn::length_of(points));
    CHECK(rows[0] == of<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 0.5f, 0.5f}));
    CHECK(rows[1] == of<std::int64_t>({2}, {2, 1}));
    CHECK(g.said({{{{"points", reals{1, 2, 3}}}}}, points) ==
          "parse_example: example 0 of 1: feature \"points\" has 3 values, which rows of 2 do not divide");
    CHECK(g.said(examples, tn::padded_feature<std::int64_t, tn::shape<2>>("words")) ==
          "parse_example: example 0 of 3: feature \"words\" has 3 rows, where there is room for 2");
}

TEST_CASE("one example is parsed to tensors without a batch") {
    const graph_of_examples g;
    const tn::example e{{{"image", reals{1, 2}}, {"words", texts{"a", "b", "c"}}}};
    const auto words = tn::padded_feature<std::string>("words");
    const auto got = run(g.one, of<std::string>({}, {e.serialize()}),
                         tn::parse_single_example(g.one, tn::fixed_feature<float, tn::shape<2, 1>>("image"), words,
                                                  tn::length_of(words), tn::fixed_feature<std::int64_t>("label", 3)));
    CHECK(got[0] == of<float>({2, 1}, {1, 2}));
    CHECK(got[1] == of<std::string>({3}, {"a", "b", "c"}));
    CHECK(got[2] == of<std::int64_t>({}, {3}));
    CHECK(got[3] == of<std::int64_t>({}, {3}));
}

TEST_CASE("feature lists of sequence examples are rows, one a step, and their context is as of examples") {
    const graph_of_examples g;
    const tn::sequence_example a{{{"id", 1}}, {{"at", {reals{1, 2}, reals{3, 4}}}, {"word", {"x", "y"}}}};
    const tn::sequence_example b{{{"id", 2}}, {{"at", {reals{5, 6}}}, {"word", {"z"}}}};
    const auto at = tn::sequence_feature<float, tn::shape<longest, 2>>("at");
    const auto got = g.parse_sequences({a, b}, tn::fixed_feature<std::int64_t>("id"), at,
                                       tn::sequence_feature<std::string>("word", "-"), tn::length_of(at),
                                       tn::sequence_feature<std::int64_t>("none").allow_missing());
    CHECK(got[0] == of<std::int64_t>({2}, {1, 2}));
    CHECK(got[1] == of<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 0, 0}));
    CHECK(got[2] == of<std::string>({2, 2}, {"x", "y", "z", "-"}));
    CHECK(got[3] == of<std::int64_t>({2}, {2, 1}));
    CHECK(got[4].extents() == tn::extents{2, 0});
    const auto single = run(g.one, of<std::string>({}, {a.serialize()}),
                            tn::parse_single_sequence_example(g.one, at, tn::length_of(at)));
    CHECK(single[0] == of<float>({2, 2}, {1, 2, 3, 4}));
    CHECK(single[1] == of<std::int64_t>({}, {2}));

    const auto said = [&](const auto& f) {
        return graph_of_examples::before_node(message_of<tn::invalid_argument_error>([&] {
            g.parse_sequences({a, b}, f);
        }));
    };
    CHECK(said(tn::sequence_feature<float>("at")) ==
          "parse_example: example 0 of 2: feature \"at\" in step 0 has 2 values, where 1 is asked for");
    CHECK(said(tn::sequence_feature<std::int64_t>("word")) ==
          "parse_example: example 0 of 2: feature \"word\" holds bytes_list, where int64_list is asked for");
    CHECK(said(tn::sequence_feature<float>("id")) ==
          "parse_example: example 0 of 2: feature \"id\" is missing; the example's feature lists are \"at\", \"word\"");
}

TEST_CASE("errors name the example, the feature, and what is there") {
    const graph_of_examples g;
    const std::vector<tn::example> examples{{{{"x", 1}, {"y", "text"}}}, {{{"y", "text"}}}};
    CHECK(g.said(examples, tn::fixed_feature<std::int64_t>("x")) ==
          "parse_example: example 1 of 2: feature \"x\" is missing, and has no default; the example's features are "
          "\"y\"");
    CHECK(g.said({{}}, tn::fixed_feature<std::int64_t>("x")) ==
          "parse_example: example 0 of 1: feature \"x\" is missing, and has no "
          "default; the example's features: none");
    CHECK(g.said(examples, tn::fixed_feature<float>("y")) ==
          "parse_example: example 0 of 2: feature \"y\" holds bytes_list, where float_list is asked for");
    CHECK(g.said(examples, tn::padded_feature<float>("y")) ==
          "parse_example: example 0 of 2: feature \"y\" holds bytes_list, where float_list is asked for");
    const tn::any_array broken = of<std::string>({2}, {examples[0].serialize(), "\x0a\x05"});
    const auto x = tn::fixed_feature<std::int64_t>("x");
    CHECK(graph_of_examples::before_node(message_of<tn::data_loss_error>([&] {
              run(g.in, broken, tn::parse_example(g.in, x));
          })) == "parse_example: example 1 of 2: these bytes are no example: a value of 5 bytes begins where 0 are "
                 "left (byte 2)");
}

TEST_CASE("a step goes on with sizes that the examples decide, and a named one is the same everywhere") {
    const graph_of_examples g;
    auto [words, more] = tn::parse_example(g.in, tn::padded_feature<std::int64_t, tn::shape<longest>>("a"),
                                           tn::padded_feature<std::int64_t, tn::shape<longest>>("b"));
    const auto sum = words + more;
    static_assert(std::is_same_v<std::decay_t<decltype(tn::detail::as_tensor(sum))>,
                                 tn::tensor<std::int64_t, tn::shape<batch, longest>>>);
    tn::session s;
    const auto total = [&](const std::vector<tn::example>& examples) {
        return std::move(s.run_untyped(tn::test::fed(g.in, serialized(examples)), {tn::detail::as_tensor(sum)})[0]);
    };
    CHECK(total({{{{"a", ints{1, 2}}, {"b", ints{3}}}}, {{{"b", ints{4, 5}}}}}) ==
          of<std::int64_t>({2, 2}, {4, 2, 4, 5}));
    CHECK(total({{{{"a", ints{1}}, {"b", ints{3}}}}}) == of<std::int64_t>({1, 1}, {4}));
    CHECK_THROWS_AS(total({{{{"a", ints{1, 2}}, {"b", ints{3}}}}}), tn::invalid_argument_error);
}

TEST_CASE("random examples give what they were made of") {
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        const graph_of_examples g;
        const std::size_t n = random() % 6;
        std::vector<tn::example> examples(n);
        std::vector<float> fixed;
        std::vector<ints> lists(n);
        std::size_t most = 0;
        for (std::size_t i = 0; i < n; ++i) {
            reals three(3);
            for (float& f : three) f = static_cast<float>(random());
            if (random() % 3 != 0) examples[i].features["fixed"] = three;
            else three.assign(3, -1.5f);
            fixed.insert(fixed.end(), three.begin(), three.end());
            lists[i].resize(random() % 5);
            for (std::int64_t& v : lists[i]) v = static_cast<std::int64_t>(random()) - (std::int64_t{1} << 31);
            if (!lists[i].empty() || random() % 2) examples[i].features["list"] = lists[i];
            if (random() % 2) examples[i].features["other"] = "text";
            most = std::max(most, lists[i].size());
        }
        ints padded, lengths;
        for (const ints& l : lists) {
            lengths.push_back(static_cast<std::int64_t>(l.size()));
            for (std::size_t j = 0; j < most; ++j) padded.push_back(j < l.size() ? l[j] : 77);
        }
        const auto list = tn::padded_feature<std::int64_t>("list", 77);
        const auto got =
            g.parse(examples, tn::length_of(list), tn::fixed_feature<float, tn::shape<3>>("fixed", -1.5f), list);
        const auto size = static_cast<std::int64_t>(n);
        CHECK(got[0] == of<std::int64_t>({size}, lengths));
        CHECK(got[1] == of<float>({size, 3}, fixed));
        CHECK(got[2] == of<std::int64_t>({size, static_cast<std::int64_t>(most)}, padded));
    }
}

TEST_CASE("what cannot be asked for is refused where the graph is made") {
    const graph_of_examples g;
    const auto said = [&](const tn::any_tensor& in, const tn::untyped::feature_spec& f) {
        return message_of<tn::invalid_argument_error>([&] { tn::untyped::parse_example(in, {f}); });
    };
    const tn::any_tensor in = g.in;
    using tn::element_type;
    CHECK(contains(said(in, {"x", {element_type::float64, {}}}), "element type is not supported"));
    CHECK(contains(said(in, {"x", {element_type::float32, {tn::extent()}}}), "a size must be a number here"));
    CHECK(contains(said(in, {.name = "x", .type = {element_type::float32, {}}, .required = false}),
                   "feature \"x\" lacks a filler"));
    CHECK(contains(said(in, {"x", {element_type::float32, {2}}, tn::feature_layout::sequence}),
                   "feature \"x\" is a sequence, which parse_sequence_example reads"));
    CHECK(contains(said(g.one, {"x", {element_type::float32, {2}}}), "rank is too low"));
    CHECK_ERROR(tn::invalid_argument_error, "rank is too high", tn::untyped::parse_single_example(in, {}));
    CHECK_THROWS_AS(tn::untyped::parse_example(in, {}), tn::invalid_argument_error);
    auto wrong = std::make_shared<const tn::any_array>(of<float>({}, {1}));
    CHECK(contains(said(in, {"x", {element_type::float32, {2}}, tn::feature_layout::fixed, false, false, wrong}),
                   "value does not fit its component"));
}
