// Sizes that a step finds out where it gets there: numbers that it computes or is given, and how many elements values choose.
#include <cmath>

#include <tenon/onnx/onnx.hpp>

#include "tests.hpp"
#include "models.hpp"

using namespace made;

namespace {

constexpr int float_type = 1, int64_type = 7;

tn::any_array waves(const tn::extents& sizes, double speed) {
    tn::any_array a(tn::element_type::float32, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i)
        a.data<float>()[i] = static_cast<float>(std::sin(speed * static_cast<double>(i + 1)));
    return a;
}
tn::any_array whole(const tn::extents& sizes, std::initializer_list<std::int64_t> values) {
    tn::any_array a(tn::element_type::int64, sizes);
    std::copy(values.begin(), values.end(), a.data<std::int64_t>());
    return a;
}
tn::any_array reals(const tn::extents& sizes, const std::vector<float>& values) {
    tn::any_array a(tn::element_type::float32, sizes);
    std::copy(values.begin(), values.end(), a.data<float>());
    return a;
}
template <class... A> std::vector<tn::any_array> computed(tn::session& s, const tn::onnx_model& m, const A&... values) {
    std::vector<tn::fed_value> feeds;
    (feeds.push_back({m.inputs.at(feeds.size()), values.share()}), ...);
    return s.run_untyped(std::move(feeds), m.outputs);
}
void check_close(const tn::any_array& given, const tn::any_array& wanted) {
    CHECK(given.type() == wanted.type());
    CHECK(tn::all_close(given, wanted, 1e-4, 1e-5));
}

} // namespace

TEST_CASE_FIXTURE(in_session, "sizes that are numbers of the step: of what is reshaped, repeated, filled, counted") {
    const std::string bytes = model(
        node("Reshape", {"x", "s"}, {"y"}) + node("Slice", {"s", "zero", "one"}, {"s0"}) +
        node("Concat", {"minus", "s0", "one"}, {"u"}, int_attribute("axis", 0)) +
        node("Reshape", {"x", "u"}, {"flat"}) + node("ConstantOfShape", {"s"}, {"z"}) +
        node("Add", {"y", "z"}, {"same"}) + node("Expand", {"half", "s"}, {"halves"}) + node("Squeeze", {"s0"}, {"n"}) +
        node("Range", {"from", "n", "step"}, {"places"}) + node("Cast", {"n"}, {"f"}, int_attribute("to", 1)) +
        node("Range", {"f", "nothing", "down"}, {"falling"}) + node("Tile", {"half", "s0"}, {"tiles"}) +
        initializer(integers("zero", {1}, {0})) + initializer(integers("one", {1}, {1})) +
        initializer(integers("minus", {1}, {-1})) + initializer(floats("half", {1}, {0.5f})) +
        initializer(integers("from", {}, {1})) + initializer(integers("step", {}, {2})) +
        initializer(floats("nothing", {}, {0})) + initializer(floats("down", {}, {-0.75f})) +
        input(value("x", float_type, {"a", "b"})) + input(value("s", int64_type, {"2"})) +
        output(value("same", float_type, {"p", "q"})) + output(value("flat", float_type, {"r", "p", "1"})) +
        output(value("halves", float_type, {"p", "q"})) + output(value("places", int64_type, {"k"})) +
        output(value("falling", float_type, {"l"})) + output(value("tiles", float_type, {"p"})));
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    for (const auto& [a, b, p] : {std::array<std::int64_t, 3>{3, 4, 2}, {5, 6, 10}, {1, 4, 4}, {1, 5, 1}}) {
        const std::int64_t q = a * b / p;
        const tn::any_array x = waves({a, b}, 0.7);
        const auto y = computed(s, m, x, whole(2, {p, q}));
        CHECK(y[0] == tn::any_array(x.share()).reshape({p, q}));
        CHECK(y[1] == tn::any_array(x.share()).reshape({q, p, 1}));
        CHECK(y[2] == reals({p, q}, std::vector<float>(static_cast<std::size_t>(p * q), 0.5f)));
        std::vector<std::int64_t> odd;
        for (std::int64_t i = 1; i < p; i += 2) odd.push_back(i);
        REQUIRE(y[3].elements() == static_cast<std::int64_t>(odd.size()));
        CHECK(std::equal(odd.begin(), odd.end(), y[3].data<std::int64_t>()));
        std::vector<float> falling;
        for (float v = static_cast<float>(p); v > 0; v -= 0.75f) falling.push_back(v);
        CHECK(y[4] == reals({static_cast<std::int64_t>(falling.size())}, falling));
        CHECK(y[5].extents() == tn::extents(p));
    }
    CHECK_ERROR(tn::invalid_argument_error, "there are no -2 numbers",
                computed(s, m, waves({2, 2}, 1), whole(2, {-2, -2})));
}

TEST_CASE_FIXTURE(in_session, "images are resized to sizes, and padded by numbers, that the step computes") {
    for (const char* mode : {"constant", "edge", "reflect", "wrap"}) {
        CAPTURE(mode);
        const own_graph inner;
        tn::session own(inner);
        const std::string bytes =
            model(node("Pad", {"x", "pads"}, {"y"}, text_attribute("mode", mode)) + node("Neg", {"y"}, {"z"}) +
                      input(value("x", float_type, {"n", "t"})) + input(value("pads", int64_type, {"4"})) +
                      output(value("z", float_type, {"n", "u"})),
                  19);
        const tn::onnx_model m = tn::parse_onnx(span(bytes));
        for (const auto& [before, after] : {std::pair<std::int64_t, std::int64_t>{2, 3}, {0, 1}, {3, 0}}) {
            const std::int64_t n = 2, t = 5, all = before + t + after;
            const tn::any_array x = waves({n, t}, 0.9);
            const auto y = computed(own, m, x, whole(4, {0, before, 0, after}));
            REQUIRE(y[0].extents() == tn::extents(n, all));
            for (std::int64_t i = 0; i < n * all; ++i) {
                std::int64_t at = i % all - before;
                const bool inside = at >= 0 && at < t;
                if (*mode == 'e') at = std::clamp<std::int64_t>(at, 0, t - 1);
                if (*mode == 'r') at = at < 0 ? -at : at >= t ? 2 * (t - 1) - at : at;
                if (*mode == 'w') at = (at + t) % t;
                const float wanted = *mode == 'c' && !inside ? 0 : x.data<float>()[i / all * t + at];
                CHECK(y[0].data<float>()[i] == -wanted);
            }
        }
    }
    // To twice as many rows, and columns as the step says: as a scale that is known does it.
    const auto resized = [](const std::string& by, const std::string& made) {
        return model(made +
                     node("Resize", {"x", "", by == "scales" ? by : "", by == "scales" ? "" : by}, {"y"},
                          text_attribute("mode", "linear")) +
                     initializer(floats("scales", {4}, {1, 1, 2, 1.5f})) + initializer(integers("kept", {2}, {1, 2})) +
                     input(value("x", float_type, {"1", "2", "h", "w"})) + input(value("k", int64_type, {"2"})) +
                     output(value("y", float_type, {"1", "2", "p", "q"})));
    };
    const tn::onnx_model m =
        tn::parse_onnx(span(resized("sizes", node("Concat", {"kept", "k"}, {"sizes"}, int_attribute("axis", 0)))));
    for (const auto& [h, w] : {std::pair<std::int64_t, std::int64_t>{3, 4}, {5, 2}}) {
        const tn::any_array x = waves({1, 2, h, w}, 0.6);
        const own_graph inner;
        const tn::onnx_model fixed = tn::parse_onnx(span(resized("scales", "")), {.sizes = {{"x", {1, 2, h, w}}}});
        check_close(computed(s, m, x, whole(2, {h * 2, w * 3 / 2}))[0],
                    tn::session(inner).run(tn::feed(fixed.input("x"), x.share()), fixed.output("y")));
    }
}

TEST_CASE_FIXTURE(in_session, "of rows that a step finds there may be fewer than a part has, and none") {
    // rows of x whose first element is above 0, the first three of them, and the largest of these, which of none is as low as can be
    const std::string bytes =
        model(node("Slice", {"x", "zero", "one", "one"}, {"first"}) + node("Squeeze", {"first", "one"}, {"column"}) +
              node("Greater", {"column", "nothing"}, {"above"}) + node("NonZero", {"above"}, {"found"}) +
              node("Squeeze", {"found", "zero"}, {"which"}) + node("Gather", {"x", "which"}, {"rows"}) +
              node("Slice", {"rows", "zero", "three", "zero"}, {"few"}) +
              node("ReduceMax", {"few"}, {"most"}, ints_attribute("axes", {0}) + int_attribute("keepdims", 0)) +
              node("Shape", {"few"}, {"sizes"}) + node("ConstantOfShape", {"sizes"}, {"zeros"}) +
              node("Add", {"few", "zeros"}, {"y"}) + initializer(integers("zero", {1}, {0})) +
              initializer(integers("one", {1}, {1})) + initializer(integers("three", {1}, {3})) +
              initializer(floats("nothing", {}, {0})) + input(value("x", float_type, {"n", "2"})) +
              output(value("y", float_type, {"k", "2"})) + output(value("most", float_type, {"2"})));
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    for (const auto& firsts : {std::vector<float>{1, -1, 2, 3, 4}, {-1, 5}, {-1, -2, -3}}) {
        std::vector<float> x, few;
        float most[2] = {-INFINITY, -INFINITY};
        for (const float v : firsts) {
            x.insert(x.end(), {v, 10 - v});
            if (v <= 0 || few.size() == 6) continue;
            few.insert(few.end(), {v, 10 - v});
            most[0] = std::max(most[0], v), most[1] = std::max(most[1], 10 - v);
        }
        const auto y = computed(s, m, reals({static_cast<std::int64_t>(firsts.size()), 2}, x));
        CHECK(y[0] == reals({static_cast<std::int64_t>(few.size()) / 2, 2}, few));
        CHECK(y[1] == reals({2}, {most[0], most[1]}));
    }
}

TEST_CASE_FIXTURE(in_session, "columns are put where indices say that are repeated to sizes of the step") {
    // What index_copy is for TorchScript: indices as a column, repeated to the sizes of what is copied.
    const std::string bytes = model(
        node("Shape", {"u"}, {"sizes"}) + node("Unsqueeze", {"i", "zero"}, {"row"}) +
        node("Mul", {"sizes", "ones"}, {"same"}) + node("Max", {"same", "ones"}, {"target"}) +
        node("Expand", {"row", "target"}, {"at"}) +
        node("ScatterElements", {"x", "at", "u"}, {"y"}, int_attribute("axis", 1)) +
        node("GatherElements", {"y", "at"}, {"z"}, int_attribute("axis", 1)) + initializer(integers("zero", {1}, {0})) +
        initializer(integers("ones", {2}, {1, 1})) + input(value("x", float_type, {"n", "4"})) +
        input(value("i", int64_type, {"k"})) + input(value("u", float_type, {"n", "k"})) +
        output(value("y", float_type, {"n", "4"})) + output(value("z", float_type, {"n", "k"})));
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    for (const std::int64_t n : {2, 3}) {
        const tn::any_array x = waves({n, 4}, 0.8), u = waves({n, 2}, 1.3);
        tn::any_array wanted = x.copy();
        for (std::int64_t r = 0; r < n; ++r) {
            wanted.data<float>()[r * 4 + 3] = u.data<float>()[r * 2];
            wanted.data<float>()[r * 4 + 1] = u.data<float>()[r * 2 + 1];
        }
        const auto y = computed(s, m, x, whole(2, {3, -3}), u);
        CHECK(y[0] == wanted);
        CHECK(y[1] == u);
    }
}

TEST_CASE_FIXTURE(in_session, "a list that a loop of the step's many runs fills is stacked, and joined") {
    const std::string body =
        node("Mul", {"h", "half"}, {"hh"}) + node("Gather", {"x", "i"}, {"xi"}) + node("Add", {"hh", "xi"}, {"next"}) +
        node("SequenceInsert", {"list", "next"}, {"longer"}) + node("Identity", {"on"}, {"go"}) +
        input(value("i", int64_type, {})) + input(value("on", 9, {})) + input(value("h", float_type, {"2"})) +
        input(value("list", float_type, {})) + output(value("go", 9, {})) + output(value("next", float_type, {"2"})) +
        output(value("longer", float_type, {}));
    const std::string bytes =
        model(node("SequenceConstruct", {"h0"}, {"empty"}) +
              node("Loop", {"n", "", "h0", "empty"}, {"last", "all"}, graph_attribute("body", body)) +
              node("ConcatFromSequence", {"all"}, {"y"}, int_attribute("axis", 1) + int_attribute("new_axis", 1)) +
              node("ConcatFromSequence", {"all"}, {"flat"}, int_attribute("axis", 0)) +
              node("SequenceLength", {"all"}, {"length"}) + node("SequenceAt", {"all", "n"}, {"end"}) +
              initializer(floats("half", {}, {0.5f})) + input(value("x", float_type, {"t", "2"})) +
              input(value("h0", float_type, {"2"})) + input(value("n", int64_type, {})) +
              output(value("y", float_type, {"2", "m"})) + output(value("flat", float_type, {"m2"})) +
              output(value("length", int64_type, {})) + output(value("end", float_type, {"2"})));
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    for (const std::int64_t n : {0, 1, 4}) {
        const tn::any_array x = waves({5, 2}, 0.8), h = reals({2}, {4, -4});
        std::vector<float> flat{4, -4};
        for (std::int64_t i = 0; i < 2 * n; ++i)
            flat.push_back(flat[static_cast<std::size_t>(i)] * 0.5f + x.data<float>()[i]);
        std::vector<float> turned(flat.size());
        for (std::size_t i = 0; i < flat.size(); ++i) turned[i % 2 * (flat.size() / 2) + i / 2] = flat[i];
        const auto y = computed(s, m, x, h, whole({}, {n}));
        check_close(y[0], reals({2, n + 1}, turned));
        check_close(y[1], reals({2 * n + 2}, flat));
        CHECK(y[2] == whole({}, {n + 1}));
        check_close(y[3], reals({2}, {flat[flat.size() - 2], flat.back()}));
    }
    const own_graph inner;
    const std::string asks =
        node("SequenceLength", {"list"}, {"so_many"}) + node("SequenceInsert", {"list", "h"}, {"longer"}) +
        node("Identity", {"on"}, {"go"}) + node("Identity", {"h"}, {"next"}) + input(value("i", int64_type, {})) +
        input(value("on", 9, {})) + input(value("h", float_type, {"2"})) + input(value("list", float_type, {})) +
        output(value("go", 9, {})) + output(value("next", float_type, {"2"})) + output(value("longer", float_type, {}));
    CHECK_ERROR(tn::unimplemented_error, "a sequence that a loop carries is asked for what is in it",
                tn::parse_onnx(
                    span(model(node("SequenceConstruct", {"h0"}, {"empty"}) +
                               node("Loop", {"n", "", "h0", "empty"}, {"last", "all"}, graph_attribute("body", asks)) +
                               node("ConcatFromSequence", {"all"}, {"y"}, int_attribute("axis", 0)) +
                               input(value("h0", float_type, {"2"})) + input(value("n", int64_type, {})) +
                               output(value("y", float_type, {"m"}))))));
}

// Expected values are ONNX Runtime's.
TEST_CASE_FIXTURE(in_session, "images of any size are read at places and regions") {
    const std::vector<float> regions{0.3f, 0.2f, 1.9f, 2.6f, -0.5f, 1.0f, 3.5f, 2.5f},
        places{-0.8f, 0.1f, 0.4f, -1.2f, 0.9f, 0.95f};
    const std::string aligned =
        model(node("RoiAlign", {"x", "r", "i"}, {"y"},
                   int_attribute("output_height", 2) + int_attribute("output_width", 2) +
                       int_attribute("sampling_ratio", 2)) +
              input(value("x", float_type, {"n", "1", "h", "w"})) + input(value("r", float_type, {"k", "4"})) +
              input(value("i", int64_type, {"k"})) + output(value("y", float_type, {"k", "1", "2", "2"})));
    const auto sampled = [](const char* outside) {
        return model(node("GridSample", {"x", "g"}, {"y"}, text_attribute("padding_mode", outside)) +
                     input(value("x", float_type, {"n", "1", "h", "w"})) +
                     input(value("g", float_type, {"n", "p", "q", "2"})) +
                     output(value("y", float_type, {"n", "1", "p", "q"})));
    };
    std::vector<float> grid = places;
    for (const float v : places) grid.push_back(v * -0.7f);
    const tn::onnx_model m = tn::parse_onnx(span(aligned));
    const auto check = [&](std::int64_t h, std::int64_t w, const std::vector<float>& by_region,
                           const std::vector<std::vector<float>>& by_place) {
        const tn::any_array x = waves({2, 1, h, w}, 0.7);
        check_close(computed(s, m, x, reals({2, 4}, regions), whole(2, {1, 0}))[0], reals({2, 1, 2, 2}, by_region));
        for (std::size_t k = 0; k < 3; ++k) {
            const own_graph inner;
            const char* ways[] = {"zeros", "border", "reflection"};
            CAPTURE(ways[k]);
            const tn::onnx_model sampler = tn::parse_onnx(span(sampled(ways[k])));
            tn::session own(inner);
            check_close(computed(own, sampler, x, reals({2, 1, 3, 2}, grid))[0], reals({2, 1, 1, 3}, by_place[k]));
        }
    };
    check(3, 4, {-0.0189475f, -0.234858f, 0.124718f, 0.160452f, -0.271282f, -0.558119f, -0.0698323f, 0.219886f},
          {{-0.266079f, 0.140949f, 0.343976f, 0.678564f, 0.2484f, 0.153019f},
           {-0.295644f, 0.704743f, 0.854599f, 0.678564f, 0.335676f, 0.153019f},
           {-0.295644f, 0.704743f, 0.854599f, 0.678564f, 0.335676f, 0.153019f}});
    check(5, 2, {0.727613f, 0.518193f, -0.358805f, -0.633575f, 0.69302f, 0.199459f, -0.0264306f, -0.209557f},
          {{-0.35609f, 0, 0.24637f, -0.819638f, 0.666178f, 0.663251f},
           {-0.508701f, 0.951326f, 0.656987f, -0.871955f, 0.740198f, 0.762357f},
           {-0.508701f, 0.951326f, 0.656987f, -0.871955f, 0.740198f, 0.762357f}});
}

TEST_CASE_FIXTURE(in_session, "parts, choices and columns of as many as the step says") {
    const std::string bytes =
        model(node("Split", {"x", "s"}, {"p", "q"}, int_attribute("axis", 1)) + node("Neg", {"p"}, {"np"}) +
              node("Split", {"x"}, {"a", "b"}, int_attribute("axis", 1)) +
              node("Compress", {"x", "kept"}, {"rows"}, int_attribute("axis", 0)) +
              node("Compress", {"x", "kept"}, {"firsts"}) + node("Slice", {"s", "zero", "one"}, {"depth"}) +
              node("OneHot", {"i", "depth", "values"}, {"hot"}, int_attribute("axis", 0)) +
              initializer(integers("zero", {1}, {0})) + initializer(integers("one", {1}, {1})) +
              initializer(floats("values", {2}, {-1, 5})) + input(value("x", float_type, {"n", "t"})) +
              input(value("s", int64_type, {"2"})) + input(value("kept", 9, {"m"})) +
              input(value("i", int64_type, {"k"})) + output(value("np", float_type, {"n", "u"})) +
              output(value("q", float_type, {"n", "v"})) + output(value("a", float_type, {"n", "w"})) +
              output(value("b", float_type, {"n", "z"})) + output(value("rows", float_type, {"r", "t"})) +
              output(value("firsts", float_type, {"r2"})) + output(value("hot", float_type, {"d", "k"})));
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    for (const auto& [t, p] : {std::pair<std::int64_t, std::int64_t>{5, 2}, {6, 6}, {3, 3}}) {
        const std::int64_t length = t; // which a lambda may see
        const tn::any_array x = waves({2, t}, 0.7);
        tn::any_array kept(tn::element_type::boolean, 2);
        kept.data<bool>()[0] = false, kept.data<bool>()[1] = true;
        const auto y = computed(s, m, x, whole(2, {p, t - p}), kept, whole(2, {-1, 0}));
        const auto columns = [&](std::int64_t from, std::int64_t to, float by) {
            std::vector<float> v;
            for (std::int64_t r = 0; r < 2; ++r)
                for (std::int64_t k = from; k < to; ++k) v.push_back(by * x.data<float>()[r * length + k]);
            return reals({2, to - from}, v);
        };
        CHECK(y[0] == columns(0, p, -1));
        CHECK(y[1] == columns(p, t, 1));
        CHECK(y[2] == columns(0, (t + 1) / 2, 1));
        CHECK(y[3] == columns((t + 1) / 2, t, 1));
        CHECK(y[4] == reals({1, t}, {x.data<float>() + t, x.data<float>() + 2 * t}));
        CHECK(y[5] == reals({1}, {x.data<float>()[1]}));
        for (std::int64_t d = 0; d < p; ++d) {
            CHECK(y[6].data<float>()[2 * d] == (d == p - 1 ? 5 : -1));
            CHECK(y[6].data<float>()[2 * d + 1] == (d == 0 ? 5 : -1));
        }
        CHECK(y[6].extents() == tn::extents(p, 2));
    }
}

TEST_CASE_FIXTURE(in_session, "what is repeated to sizes of the step may have one row itself, or as many") {
    const tn::onnx_model m =
        tn::parse_onnx(span(model(node("Expand", {"x", "s"}, {"y"}) + input(value("x", float_type, {"a", "b"})) +
                                  input(value("s", int64_type, {"2"})) + output(value("y", float_type, {"p", "q"})))));
    const auto repeated = [&](const tn::extents& own, std::int64_t p, std::int64_t q, const tn::extents& wanted) {
        const tn::any_array x = waves(own, 0.7);
        const auto y = computed(s, m, x, whole(2, {p, q}));
        REQUIRE(y[0].extents() == wanted);
        for (std::int64_t i = 0; i < y[0].elements(); ++i) {
            const std::int64_t r = i / wanted[1].size % own[0].size, k = i % wanted[1].size % own[1].size;
            CHECK(y[0].data<float>()[i] == x.data<float>()[r * own[1].size + k]);
        }
    };
    repeated({3, 4}, 1, 1, {3, 4});
    repeated({1, 4}, 3, 4, {3, 4});
    repeated({3, 1}, 3, 2, {3, 2});
    repeated({1, 1}, 2, 1, {2, 1});
}

TEST_CASE_FIXTURE(in_session,
                  "sizes that a model calls by two names are one where slices are put, taken and multiplied") {
    const std::string bytes =
        model(node("ScatterND", {"x", "i", "u"}, {"y"}) +
              node("GatherND", {"x", "j"}, {"z"}, int_attribute("batch_dims", 1)) +
              node("Einsum", {"x", "w"}, {"e"}, text_attribute("equation", "ab, cb -> ac")) +
              input(value("x", float_type, {"n", "c"})) + input(value("i", int64_type, {"k", "1"})) +
              input(value("u", float_type, {"k2", "c2"})) + input(value("j", int64_type, {"n2", "l", "1"})) +
              input(value("w", float_type, {"m", "c3"})) + output(value("y", float_type, {"n", "c"})) +
              output(value("z", float_type, {"n", "l"})) + output(value("e", float_type, {"n", "m"})));
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    const tn::any_array x = reals({3, 2}, {1, 2, 3, 4, 5, 6});
    const auto y = computed(s, m, x, whole({2, 1}, {2, 0}), reals({2, 2}, {7, 8, 9, 10}), whole({3, 1, 1}, {1, 0, -1}),
                            reals({1, 2}, {10, 1}));
    CHECK(y[0] == reals({3, 2}, {9, 10, 3, 4, 7, 8}));
    CHECK(y[1] == reals({3, 1}, {2, 3, 6}));
    CHECK(y[2] == reals({3, 1}, {12, 34, 56}));
    CHECK_ERROR(tn::invalid_argument_error, "c",
                computed(s, m, x, whole({2, 1}, {2, 0}), reals({2, 1}, {7, 8}), whole({3, 1, 1}, {1, 0, -1}),
                         reals({1, 2}, {10, 1})));
}

TEST_CASE_FIXTURE(in_graph, "a node that gives nothing may have sizes of the step") {
    CHECK(tn::parse_onnx(span(model(node("Range", {"zero", "n", "n"}, {}) + initializer(integers("zero", {}, {0})) +
                                    input(value("n", int64_type, {})))))
              .outputs.empty());
}

TEST_CASE("frames of a signal, and blocks of images, of any size") {
    for (const bool frames : {true, false}) {
        const std::string bytes = model(
            (frames ? node("STFT", {"x", "step", "window"}, {"y"}) + initializer(integers("step", {}, {3})) +
                          initializer(floats("window", {4}, {0.5f, 1, 1, 0.5f}))
                    : node("SpaceToDepth", {"x"}, {"y"}, int_attribute("blocksize", 2))) +
            input(frames ? value("x", float_type, {"n", "t", "1"}) : value("x", float_type, {"n", "2", "h", "w"})) +
            output(frames ? value("y", float_type, {"n", "f", "3", "2"})
                          : value("y", float_type, {"n", "8", "p", "q"})));
        const own_graph inner;
        const tn::onnx_model m = tn::parse_onnx(span(bytes));
        tn::session own(inner);
        for (const std::int64_t k : {4, 8, 10}) {
            const tn::any_array x = frames ? waves({2, k, 1}, 0.9) : waves({1, 2, k, 6}, 0.9);
            const auto y = computed(own, m, x)[0].share();
            if (frames) { // sums of each frame's elements by its window, times waves
                REQUIRE(y.extents() == tn::extents(2, (k - 4) / 3 + 1, 3, 2));
                for (std::int64_t i = 0; i < y.elements(); ++i) {
                    const std::int64_t part = i % 2, bin = i / 2 % 3, frame = i / 6 % ((k - 4) / 3 + 1);
                    double sum = 0;
                    for (std::int64_t e = 0; e < 4; ++e) {
                        const double at = 2 * 3.141592653589793 * static_cast<double>(bin * e) / 4;
                        sum += static_cast<double>(x.data<float>()[i / (y.elements() / 2) * k + frame * 3 + e]) *
                               (e == 0 || e == 3 ? 0.5 : 1) * (part == 0 ? std::cos(at) : -std::sin(at));
                    }
                    CHECK(static_cast<double>(y.data<float>()[i]) == doctest::Approx(sum).epsilon(1e-4));
                }
                continue;
            }
            REQUIRE(y.extents() == tn::extents(1, 8, k / 2, 3));
            for (std::int64_t i = 0; i < y.elements(); ++i) {
                const std::int64_t w = i % 3, h = i / 3 % (k / 2), block = i / (3 * (k / 2)) / 2,
                                   channel = i / (3 * (k / 2)) % 2;
                CHECK(y.data<float>()[i] == x.data<float>()[(channel * k + 2 * h + block / 2) * 6 + 2 * w + block % 2]);
            }
        }
    }
}
