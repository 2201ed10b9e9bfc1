// Sizes that a model computes of sizes that are known in the step: sums, parts, and what is cut, repeated, pooled and resized by them.
#include <tenon/onnx/onnx.hpp>

#include "tests.hpp"
#include "models.hpp"

using namespace made;

namespace {

constexpr int float_type = 1;

tn::any_array waves(const tn::extents& sizes, double speed) {
    tn::any_array a(tn::element_type::float32, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i)
        a.data<float>()[i] = static_cast<float>(std::sin(speed * static_cast<double>(i + 1)));
    return a;
}
std::string type_of(const tn::any_tensor& t) { return tn::to_string(t.type()); }

// Keys are what is new behind what is past; a query sees those before it, and what a mask lets it.
//   h = x + places[past : past + t]    present = past, h    y = softmax(h present' + seen[past : past + t, : past + t] + mask) present
std::string cache() {
    std::vector<float> places(64), seen(256);
    for (std::size_t i = 0; i < 64; ++i) places[i] = 0.1f * static_cast<float>(i % 7);
    for (std::size_t i = 0; i < 256; ++i) seen[i] = i % 16 > i / 16 ? -1e9f : 0;
    return model(node("Shape", {"past"}, {"ps"}) + node("Gather", {"ps", "two"}, {"p"}) + node("Shape", {"x"}, {"xs"}) +
                 node("Gather", {"xs", "one"}, {"t"}) + node("Add", {"p", "t"}, {"end"}) +
                 node("Range", {"p", "end", "one"}, {"where"}) + node("Gather", {"places", "where"}, {"pos"}) +
                 node("Add", {"x", "pos"}, {"h"}) + node("Unsqueeze", {"h", "axis1"}, {"k"}) +
                 node("Concat", {"past", "k"}, {"present"}, int_attribute("axis", 2)) +
                 node("Transpose", {"present"}, {"kt"}, ints_attribute("perm", {0, 1, 3, 2})) +
                 node("MatMul", {"k", "kt"}, {"s"}) + node("Unsqueeze", {"p", "axis0"}, {"p1"}) +
                 node("Shape", {"present"}, {"all"}) + node("Gather", {"all", "two"}, {"e"}) +
                 node("Unsqueeze", {"e", "axis0"}, {"e1"}) + node("Slice", {"seen", "p1", "e1", "axis0"}, {"rows"}) +
                 node("Slice", {"rows", "axis0", "e1", "axis1"}, {"bias"}) + node("Add", {"s", "bias"}, {"s2"}) +
                 node("Add", {"s2", "mask"}, {"s3"}) + node("Softmax", {"s3"}, {"c"}) +
                 node("MatMul", {"c", "present"}, {"y"}) + initializer(integers("one", {}, {1})) +
                 initializer(integers("two", {}, {2})) + initializer(integers("axis0", {1}, {0})) +
                 initializer(integers("axis1", {1}, {1})) + initializer(floats("places", {16, 4}, places)) +
                 initializer(floats("seen", {16, 16}, seen)) + input(value("x", float_type, {"b", "t", "4"})) +
                 input(value("past", float_type, {"b", "1", "past", "4"})) +
                 input(value("mask", float_type, {"rows", "1", "1", "length"})) +
                 output(value("y", float_type, {"b", "1", "t", "4"})) +
                 output(value("present", float_type, {"b", "1", "total", "4"})));
}

// The same model with sizes that are numbers, which other code reads, gives the same for all of these.
void check_sizes(const std::string& bytes, const std::vector<tn::extents>& all) {
    const own_graph g;
    const tn::onnx_model open = tn::parse_onnx(span(bytes));
    tn::session s(g);
    for (const tn::extents& e : all) {
        CAPTURE(tn::to_string(e));
        const own_graph h;
        const tn::onnx_model fixed = tn::parse_onnx(span(bytes), {.sizes = {{"x", e}}});
        const tn::any_array x = waves(e, 0.7), given = s.run(tn::feed(open.input("x"), x.share()), open.output("y"));
        const tn::any_array wanted = tn::session(h).run(tn::feed(fixed.input("x"), x.share()), fixed.output("y"));
        CHECK(given.extents() == wanted.extents());
        CHECK(tn::all_close(given, wanted, 1e-5, 1e-6));
    }
}

} // namespace

TEST_CASE_FIXTURE(in_session, "keys and values of what is past grow by what is new, whatever the sizes of both") {
    const std::string bytes = cache();
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    CHECK(type_of(m.output("y")) == "float[b, 1, t, 4]");
    CHECK(type_of(m.output("present")) == "float[b, 1, total, 4]");
    for (const auto& [b, past, t] : {std::array<std::int64_t, 3>{2, 3, 2}, {1, 0, 5}, {3, 6, 1}}) {
        CAPTURE(past);
        const tn::any_array x = waves({b, t, 4}, 0.9), before = waves({b, 1, past, 4}, 0.4);
        const std::int64_t n = past + t;
        tn::any_array mask = tn::any_array::zeros(tn::element_type::float32, {b, 1, 1, n});
        mask.data<float>()[0] = past > 0 ? -1e9f : 0;
        const auto given = s.run_untyped({tn::feed(m.input("x"), x.share()), tn::feed(m.input("past"), before.share()),
                                          tn::feed(m.input("mask"), mask.share())},
                                         m.outputs);
        REQUIRE(given[0].extents() == tn::extents(b, 1, t, 4));
        REQUIRE(given[1].extents() == tn::extents(b, 1, n, 4));
        for (std::int64_t r = 0; r < b; ++r) {
            std::vector<double> k;
            for (std::int64_t i = 0; i < past * 4; ++i)
                k.push_back(static_cast<double>(before.data<float>()[r * past * 4 + i]));
            for (std::int64_t i = 0; i < t * 4; ++i)
                k.push_back(static_cast<double>(x.data<float>()[r * t * 4 + i]) +
                            0.1 * static_cast<double>((past * 4 + i) % 7));
            const auto key = [&](std::int64_t i, std::int64_t d) { return k[static_cast<std::size_t>(i * 4 + d)]; };
            for (std::int64_t i = 0; i < n * 4; ++i)
                CHECK(static_cast<double>(given[1].data<float>()[r * n * 4 + i]) ==
                      doctest::Approx(key(0, i)).epsilon(1e-6));
            for (std::int64_t i = 0; i < t; ++i) {
                double sum = 0, y[4]{};
                for (std::int64_t j = 0; j <= past + i; ++j) {
                    if (static_cast<double>(mask.data<float>()[r * n + j]) < -1) continue;
                    double product = 0;
                    for (std::int64_t d = 0; d < 4; ++d) product += key(past + i, d) * key(j, d);
                    sum += std::exp(product);
                    for (std::int64_t d = 0; d < 4; ++d) y[d] += std::exp(product) * key(j, d);
                }
                for (std::int64_t d = 0; d < 4; ++d)
                    CHECK(static_cast<double>(given[0].data<float>()[(r * t + i) * 4 + d]) ==
                          doctest::Approx(y[d] / sum).epsilon(1e-5));
            }
        }
    }
}

TEST_CASE_FIXTURE(in_graph,
                  "a sum of sizes is what an input calls it, or a name of its own, and a number where all are") {
    const std::string bytes =
        model(node("Concat", {"x", "y"}, {"both"}, int_attribute("axis", 0)) + node("Add", {"both", "z"}, {"sum"}) +
              node("Concat", {"both", "y"}, {"more"}, int_attribute("axis", 0)) + node("Neg", {"more"}, {"all"}) +
              input(value("x", float_type, {"a"})) + input(value("y", float_type, {"b"})) +
              input(value("z", float_type, {"b + a"})) + output(value("sum", float_type, {"s"})) +
              output(value("all", float_type, {"s"})));
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    CHECK(type_of(m.output("sum")) == "float[b + a]");
    CHECK(type_of(m.output("all")) == "float[s]");
    const tn::onnx_model fixed = tn::parse_onnx(span(bytes), {.sizes = {{"x", {3}}, {"y", {2}}}});
    CHECK(type_of(fixed.input("z")) == "float[5]");
    CHECK(type_of(fixed.output("all")) == "float[7]");
    CHECK(message_of<tn::invalid_argument_error>([&] {
              tn::session().run(tn::feed(m.input("x"), waves({2}, 1)), tn::feed(m.input("y"), waves({2}, 1)),
                                tn::feed(m.input("z"), waves({5}, 1)), m.output("sum"));
          }).find("b + a") != std::string::npos);
}

TEST_CASE_FIXTURE(in_graph, "names of sizes do not grow without an end") {
    std::string nodes = node("Shape", {"x"}, {"n0"});
    for (int i = 0; i < 30; ++i) { // ((n / 3) * (n / 3))^2 ..
        const std::string n = "n" + std::to_string(i), next = "n" + std::to_string(i + 1);
        nodes += node("Div", {n, "three"}, {n + "a"}) + node("Mul", {n + "a", n + "a"}, {n + "b"}) +
                 node("Mul", {n + "b", n + "b"}, {n + "c"}) + node("Mul", {n + "c", n + "c"}, {next});
    }
    const tn::onnx_model m = tn::parse_onnx(
        span(model(nodes + node("Reshape", {"x", "n30"}, {"y"}) + initializer(integers("three", {1}, {3})) +
                   input(value("x", float_type, {"n"})) + output(value("y", float_type, {"n"})))));
    CHECK(type_of(m.output("y")) == "float[n]");
}

TEST_CASE_FIXTURE(in_session, "parts begin and end at sizes, from the end too, and at halves of sizes") {
    // last = both[-b:], middle = both[a - 1 : a + 1], half = both[: (a + b) / 2], count = 1 .. a + b - 1
    const std::string bytes =
        model(node("Concat", {"x", "y"}, {"both"}, int_attribute("axis", 0)) + node("Shape", {"x"}, {"a"}) +
              node("Shape", {"y"}, {"b"}) + node("Neg", {"b"}, {"minus"}) +
              node("Slice", {"both", "minus", "far"}, {"last"}) + node("Sub", {"a", "one"}, {"from"}) +
              node("Add", {"a", "one"}, {"to"}) + node("Slice", {"both", "from", "to"}, {"middle"}) +
              node("Shape", {"both"}, {"n"}) + node("Div", {"n", "two"}, {"n2"}) +
              node("Slice", {"both", "zero", "n2"}, {"half"}) + node("Squeeze", {"n"}, {"n0"}) +
              node("Squeeze", {"one"}, {"one0"}) + node("Range", {"one0", "n0", "one0"}, {"count"}) +
              node("Expand", {"one", "n2"}, {"ones"}) + initializer(integers("one", {1}, {1})) +
              initializer(integers("two", {1}, {2})) + initializer(integers("zero", {1}, {0})) +
              initializer(integers("far", {1}, {INT64_MAX})) + input(value("x", float_type, {"a"})) +
              input(value("y", float_type, {"b"})) + output(value("last", float_type, {"l"})) +
              output(value("middle", float_type, {"2"})) + output(value("half", float_type, {"h"})) +
              output(value("count", 7, {"c"})) + output(value("ones", 7, {"h"})));
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    CHECK(type_of(m.output("last")) == "float[b]");
    CHECK(type_of(m.output("middle")) == "float[2]");
    for (const auto& [a, b] : {std::array<std::int64_t, 2>{3, 4}, {5, 1}, {1, 1}}) {
        CAPTURE(a);
        const std::int64_t n = a + b;
        const tn::any_array x = waves({a}, 0.3), y = waves({b}, 1.1);
        const auto both = [&, a = a](std::int64_t i) { return i < a ? x.data<float>()[i] : y.data<float>()[i - a]; };
        const auto given =
            s.run_untyped({tn::feed(m.input("x"), x.share()), tn::feed(m.input("y"), y.share())}, m.outputs);
        CHECK(given[0] == y);
        CHECK(given[1].data<float>()[0] == both(a - 1));
        CHECK(given[1].data<float>()[1] == both(a));
        REQUIRE(given[2].extents() == tn::extents(n / 2));
        for (std::int64_t i = 0; i < n / 2; ++i) CHECK(given[2].data<float>()[i] == both(i));
        REQUIRE(given[3].extents() == tn::extents(n - 1));
        for (std::int64_t i = 0; i < n - 1; ++i) CHECK(given[3].data<std::int64_t>()[i] == i + 1);
        CHECK(given[4].extents() == tn::extents(n / 2));
    }
}

TEST_CASE_FIXTURE(
    in_session,
    "parts between numbers of the step have as many as there are, and sizes are told from their multiples") {
    // y = x[begin : end : 2] along the second axis, z = 0 .. h - 1 where x has 4 h + 1 rows
    const std::string bytes =
        model(node("Slice", {"x", "begin", "end", "axis", "two"}, {"y"}) + node("Shape", {"x"}, {"s"}) +
              node("Gather", {"s", "zero"}, {"rows"}) + node("Sub", {"rows", "one"}, {"four"}) +
              node("Div", {"four", "quarter"}, {"h"}) + node("Range", {"zero", "h", "one"}, {"z"}) +
              initializer(integers("zero", {}, {0})) + initializer(integers("one", {}, {1})) +
              initializer(integers("two", {1}, {2})) + initializer(integers("quarter", {}, {4})) +
              initializer(integers("axis", {1}, {1})) + input(value("x", float_type, {"h*4 + 1", "n"})) +
              input(value("begin", 7, {"1"})) + input(value("end", 7, {"1"})) +
              output(value("y", float_type, {"h*4 + 1", "k"})) + output(value("z", 7, {"h"})));
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    CHECK(type_of(m.output("z")) == "int64[h]");
    const auto one = [](std::int64_t v) {
        tn::any_array a(tn::element_type::int64, {1});
        *a.data<std::int64_t>() = v;
        return a;
    };
    const tn::any_array x = waves({5, 6}, 0.2);
    for (const auto& [begin, end, first, last] :
         {std::array<std::int64_t, 4>{1, 5, 1, 5}, {-4, -1, 2, 5}, {0, INT64_MAX, 0, 6}, {-9, 3, 0, 3}, {4, 2, 0, 0}}) {
        CAPTURE(begin);
        const auto given = s.run_untyped({tn::feed(m.input("x"), x.share()), tn::feed(m.input("begin"), one(begin)),
                                          tn::feed(m.input("end"), one(end))},
                                         m.outputs);
        const std::int64_t n = (last - first + 1) / 2;
        REQUIRE(given[0].extents() == tn::extents(5, n));
        for (std::int64_t i = 0; i < 5; ++i)
            for (std::int64_t k = 0; k < n; ++k)
                CHECK(given[0].data<float>()[i * n + k] == x.data<float>()[i * 6 + first + 2 * k]);
        CHECK(given[1].extents() == tn::extents(1));
    }
}

TEST_CASE_FIXTURE(in_session, "as many of the largest as the step says") {
    const std::string bytes = model(node("TopK", {"x", "k"}, {"y", "at"}) + node("Shape", {"z"}, {"m"}) +
                                    node("TopK", {"x", "m"}, {"low", "there"}, int_attribute("largest", 0)) +
                                    input(value("x", float_type, {"2", "n"})) + input(value("k", 7, {"1"})) +
                                    input(value("z", float_type, {"m"})) + output(value("y", float_type, {"2", "k"})) +
                                    output(value("at", 7, {"2", "k"})) + output(value("low", float_type, {"2", "m"})));
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    CHECK(type_of(m.output("low")) == "float[2, m]");
    const tn::array<float> x{{3, 1, 4, 2}, {-1, 5, 0, 6}};
    tn::any_array k(tn::element_type::int64, {1});
    *k.data<std::int64_t>() = 3;
    const auto given = s.run_untyped({tn::feed(m.input("x"), x.untyped().share()), tn::feed(m.input("k"), k.share()),
                                      tn::feed(m.input("z"), waves({2}, 1))},
                                     m.outputs);
    CHECK(given[0] == tn::array<float>{{4, 3, 2}, {6, 5, 0}}.untyped());
    CHECK(given[1] == tn::array<std::int64_t>{{2, 0, 3}, {3, 1, 2}}.untyped());
    CHECK(given[2] == tn::array<float>{{1, 2}, {-1, 0}}.untyped());
}

TEST_CASE_FIXTURE(in_session, "what a model calls its channels is the number that weights have; sizes repeat tensors, "
                              "and the same ones are equal") {
    // y = conv(x) has one channel that adds three; z = row t times under each other, where x.shape[2] is x.shape[2]
    const std::string same = node("Tile", {"row", "often"}, {"tiled"}) + output(value("tiled", float_type, {"t", "2"})),
                      other =
                          node("Reshape", {"row", "flat"}, {"ravelled"}) + output(value("ravelled", float_type, {"2"}));
    const std::string bytes = model(
        node("Conv", {"x", "w"}, {"y"}) + node("Shape", {"x"}, {"s"}) + node("Gather", {"s", "two"}, {"t"}) +
        node("Gather", {"s", "last"}, {"u"}) + node("Equal", {"t", "u"}, {"alike"}) +
        node("Unsqueeze", {"t", "zero"}, {"t1"}) + node("Concat", {"t1", "one"}, {"often"}, int_attribute("axis", 0)) +
        node("If", {"alike"}, {"z"}, graph_attribute("then_branch", same) + graph_attribute("else_branch", other)) +
        initializer(floats("w", {1, 3, 1}, {1, 1, 1})) + initializer(floats("row", {1, 2}, {7, 8})) +
        initializer(integers("two", {}, {2})) + initializer(integers("last", {}, {-1})) +
        initializer(integers("zero", {1}, {0})) + initializer(integers("one", {1}, {1})) +
        initializer(integers("flat", {1}, {-1})) + input(value("x", float_type, {"n", "channels", "t"})) +
        output(value("y", float_type, {"n", "1", "t"})) + output(value("z", float_type, {"t", "2"})));
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    CHECK(type_of(m.output("z")) == "float[t, 2]");
    const tn::any_array x = waves({2, 3, 4}, 0.8);
    const auto given = s.run_untyped({tn::feed(m.input("x"), x.share())}, m.outputs);
    for (std::int64_t n = 0; n < 2; ++n)
        for (std::int64_t t = 0; t < 4; ++t) {
            const float* const at = x.data<float>() + n * 12 + t;
            CHECK(given[0].data<float>()[n * 4 + t] == doctest::Approx(at[0] + at[4] + at[8]));
        }
    CHECK(given[1] == tn::array<float>{{7, 8}, {7, 8}, {7, 8}, {7, 8}}.untyped());
}

TEST_CASE_FIXTURE(
    in_session,
    "sequences are padded to whole windows, as exporters write it, and a diagonal begins where the step says") {
    // PyTorch's lists of paddings are from the last dimension on, and turned around: {0, m, 0, 0} to {0, 0, 0, m}, m = -t % 4.
    const auto padded = [](const char* mode) {
        return model(node("Shape", {"x"}, {"s"}) + node("Gather", {"s", "one"}, {"t"}) + node("Neg", {"t"}, {"minus"}) +
                     node("Mod", {"minus", "four"}, {"m"}) +
                     node("Concat", {"zero", "m", "zeros"}, {"pairs"}, int_attribute("axis", 0)) +
                     node("Reshape", {"pairs", "two"}, {"matrix"}) +
                     node("Slice", {"matrix", "last", "far", "zero", "last"}, {"turned"}) +
                     node("Transpose", {"turned"}, {"sides"}, ints_attribute("perm", {1, 0})) +
                     node("Reshape", {"sides", "last"}, {"pads"}) +
                     node("Pad", {"x", "pads"}, {"y"}, text_attribute("mode", mode)) + node("Shape", {"y"}, {"ys"}) +
                     node("Gather", {"ys", "one"}, {"whole"}) + node("Div", {"whole", "four"}, {"windows"}) +
                     node("Concat", {"last", "windows", "four"}, {"apart"}, int_attribute("axis", 0)) +
                     node("Reshape", {"y", "apart"}, {"z"}) +
                     node("Trilu", {"y", "k"}, {"low"}, int_attribute("upper", 0)) +
                     node("Trilu", {"y", "k"}, {"high"}) + initializer(integers("zero", {1}, {0})) +
                     initializer(integers("one", {1}, {1})) + initializer(integers("four", {1}, {4})) +
                     initializer(integers("zeros", {2}, {0, 0})) + initializer(integers("two", {2}, {2, 2})) +
                     initializer(integers("last", {1}, {-1})) + initializer(integers("far", {1}, {INT64_MIN})) +
                     input(value("x", float_type, {"n", "t"})) + input(value("k", 7, {})) +
                     output(value("z", float_type, {"n", "w", "4"})) + output(value("low", float_type, {"n", "l"})) +
                     output(value("high", float_type, {"n", "l"})));
    };
    for (const char* mode : {"constant", "edge"}) {
        const std::string bytes = padded(mode);
        const tn::onnx_model m = tn::parse_onnx(span(bytes));
        CHECK(type_of(m.output("z")) == "float[n, w, 4]");
        for (const auto& [n, t, k] : {std::array<std::int64_t, 3>{2, 5, 1}, {3, 8, -1}, {1, 3, 0}}) {
            CAPTURE(t);
            tn::any_array diagonal(tn::element_type::int64, {});
            *diagonal.data<std::int64_t>() = k;
            const tn::any_array x = waves({n, t}, 0.6);
            const auto given =
                s.run_untyped({tn::feed(m.input("x"), x.share()), tn::feed(m.input("k"), diagonal.share())}, m.outputs);
            const std::int64_t whole = (t + 3) / 4 * 4;
            REQUIRE(given[0].extents() == tn::extents(n, whole / 4, 4));
            for (std::int64_t i = 0; i < n; ++i)
                for (std::int64_t j = 0; j < whole; ++j) {
                    const float last = *mode == 'e' ? x.data<float>()[i * t + t - 1] : 0;
                    const float y = j < t ? x.data<float>()[i * t + j] : last;
                    CHECK(given[0].data<float>()[i * whole + j] == y);
                    CHECK(given[1].data<float>()[i * whole + j] == (j - i <= k ? y : 0));
                    CHECK(given[2].data<float>()[i * whole + j] == (j - i >= k ? y : 0));
                }
        }
    }
}

TEST_CASE("pools whose last window is cut off have images of any size") {
    for (const auto& [op, all] : {std::pair("MaxPool", 0), std::pair("AveragePool", 0), std::pair("AveragePool", 1)})
        for (const auto& [kernel, stride, pad] :
             {std::array<std::int64_t, 3>{2, 2, 0}, {3, 2, 0}, {3, 2, 1}, {5, 3, 1}}) {
            CAPTURE(op);
            CAPTURE(kernel);
            check_sizes(model(node(op, {"x"}, {"y"},
                                   ints_attribute("kernel_shape", {kernel, kernel}) +
                                       ints_attribute("strides", {stride, stride}) +
                                       ints_attribute("pads", {pad, pad, pad, pad}) + int_attribute("ceil_mode", 1)) +
                              input(value("x", float_type, {"n", "2", "h", "w"})) +
                              output(value("y", float_type, {"n", "2", "p", "q"}))),
                        {{1, 2, 6, 9}, {2, 2, 7, 5}, {1, 2, 8, 6}});
        }
    const own_graph g;
    CHECK(message_of<tn::unimplemented_error>([&] {
              tn::parse_onnx(span(model(node("MaxPool", {"x"}, {"y"},
                                             ints_attribute("kernel_shape", {1}) + ints_attribute("strides", {2}) +
                                                 int_attribute("ceil_mode", 1)) +
                                        input(value("x", float_type, {"n", "2", "h"})) +
                                        output(value("y", float_type, {"n", "2", "p"})))));
          }).find("a size of the image is h") != std::string::npos);
}

TEST_CASE("images of any size are resized by scales, and to sizes that others have") {
    for (const char* mode : {"nearest", "linear", "cubic"})
        for (const char* at :
             {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"})
            for (const auto& [up, across] : {std::array<float, 2>{2, 3}, {1.5f, 1}, {0.5f, 2.25f}}) {
                CAPTURE(mode);
                CAPTURE(at);
                CAPTURE(up);
                const std::string how = text_attribute("mode", mode) +
                                        text_attribute("coordinate_transformation_mode", at) +
                                        text_attribute("nearest_mode", "floor");
                check_sizes(model(node("Resize", {"x", "", "scales"}, {"y"}, how) +
                                  initializer(floats("scales", {4}, {1, 1, up, across})) +
                                  input(value("x", float_type, {"n", "2", "h", "w"})) +
                                  output(value("y", float_type, {"n", "2", "p", "q"}))),
                            {{1, 2, 5, 4}, {2, 2, 7, 3}});
                check_sizes(model(node("MaxPool", {"x"}, {"small"},
                                       ints_attribute("kernel_shape", {2, 2}) + ints_attribute("strides", {2, 2})) +
                                  node("Shape", {"x"}, {"sizes"}) +
                                  node("Resize", {"small", "", "", "sizes"}, {"y"}, how) +
                                  input(value("x", float_type, {"n", "2", "h", "w"})) +
                                  output(value("y", float_type, {"n", "2", "h", "w"}))),
                            {{1, 2, 5, 4}, {2, 2, 8, 7}});
            }
}
