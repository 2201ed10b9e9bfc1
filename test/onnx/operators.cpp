#include <tenon/onnx/onnx.hpp>

#include "tests.hpp"
#include "models.hpp"

using namespace made;

namespace {

constexpr int float_type = 1, int64_type = 7, string_type = 8, bool_type = 9;

struct fed {
    std::string name;
    tn::any_array value;
};
template <class... F> std::vector<fed> given(F... f) {
    std::vector<fed> list;
    (list.push_back(std::move(f)), ...);
    return list;
}
// The outputs of a model.
std::vector<tn::any_array> run(const std::string& bytes, const std::vector<fed>& inputs,
                               const tn::onnx_read_options& o = {}) {
    const own_graph g;
    const tn::onnx_model m = tn::parse_onnx(span(bytes), o);
    std::vector<tn::fed_value> feeds;
    for (const fed& f : inputs) feeds.push_back({m.input(f.name), f.value.share()});
    return tn::session(g).run_untyped(std::move(feeds), m.outputs);
}
tn::any_array waves(const tn::extents& sizes, double step) {
    tn::any_array a(tn::element_type::float32, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i)
        a.data<float>()[i] = static_cast<float>(std::sin(step * static_cast<double>(i + 1)));
    return a;
}

} // namespace

TEST_CASE("places of a sequence are counted by the name of its size, and a mask is as large as it") {
    // range(shape(x)[1]), and x beside zeros of [n, time]
    const std::string bytes =
        model(node("Shape", {"x"}, {"s"}) + node("Gather", {"s", "one"}, {"time"}, int_attribute("axis", 0)) +
              node("Range", {"zero", "time", "one"}, {"places"}) + node("ConstantOfShape", {"s"}, {"nothing"}) +
              node("Expand", {"half", "s"}, {"halves"}) + node("Add", {"nothing", "halves"}, {"y"}) +
              initializer(integers("zero", {}, {0})) + initializer(integers("one", {}, {1})) +
              initializer(floats("half", {1}, {0.5F})) + input(value("x", float_type, {"n", "time"})) +
              output(value("places", int64_type, {"time"})) + output(value("y", float_type, {"n", "time"})));
    {
        const own_graph g;
        const tn::onnx_model m = tn::parse_onnx(span(bytes));
        CHECK(tn::to_string(m.output("places").type()) == "int64[time]");
        CHECK(tn::to_string(m.output("y").type()) == "float[n, time]");
    }
    for (const std::int64_t time : {3, 1}) {
        const auto y = run(bytes, given(fed{"x", waves({2, time}, 1)}));
        REQUIRE(y[0].extents() == tn::extents{time});
        for (std::int64_t i = 0; i < time; ++i) CHECK(y[0].data<std::int64_t>()[i] == i);
        CHECK(y[1].extents() == tn::extents{2, time});
        CHECK(y[1].data<float>()[2 * time - 1] == 0.5F);
    }
}

TEST_CASE("an LSTM of a number of steps that the step knows is a scan, and computes what steps by themselves do") {
    const std::vector<float> w = [] {
        std::vector<float> list;
        for (int i = 0; i < 2 * 8 * 3; ++i) list.push_back(static_cast<float>(std::cos(i)) / 2);
        return list;
    }();
    const auto net = [&](const char* time, const char* op, int gates) {
        const std::vector<float> x(w.begin(), w.begin() + 2 * gates * 2 * 3),
            h(w.begin(), w.begin() + 2 * gates * 2 * 2);
        return model(node(op, {"x", "w", "r", "", "lengths"}, {"y", "last"},
                          text_attribute("direction", "bidirectional") + int_attribute("hidden_size", 2)) +
                     initializer(floats("w", {2, static_cast<std::uint64_t>(gates) * 2, 3}, x)) +
                     initializer(floats("r", {2, static_cast<std::uint64_t>(gates) * 2, 2}, h)) +
                     input(value("x", float_type, {time, "3", "3"})) + input(value("lengths", int64_type, {"3"})) +
                     output(value("y", float_type, {time, "2", "3", "2"})) +
                     output(value("last", float_type, {"2", "3", "2"})));
    };
    for (const auto& kind : std::vector<std::pair<const char*, int>>{{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}}) {
        const char* const op = kind.first;
        const int gates = kind.second;
        CAPTURE(op);
        const tn::array<std::int64_t> lengths{5, 2, 4};
        const auto feeds = [&] {
            return given(fed{"x", waves({5, 3, 3}, 0.7)}, fed{"lengths", lengths.untyped().share()});
        };
        const auto apart = run(net("5", op, gates), feeds()), together = run(net("time", op, gates), feeds());
        for (std::size_t i = 0; i < 2; ++i) CHECK(tn::all_close(apart[i], together[i], 1e-5, 1e-6));
        // Behind the end of a sequence there are zeros: step 2 of the second one, in both directions.
        for (const std::int64_t at : {2 * 12 + 1 * 2, 2 * 12 + 6 + 1 * 2}) CHECK(together[0].data<float>()[at] == 0);
        // The last state forwards is that of the last step that there is.
        for (int k = 0; k < 2; ++k)
            CHECK(together[1].data<float>()[2 + k] == together[0].data<float>()[1 * 12 + 2 + k]);
    }
}

TEST_CASE("scatters of one place several times: the last, the sum, the largest, the least, the product") {
    struct way {
        const char* how;
        tn::array<float> wanted;
    };
    // At 1 stand 3, 5 and 4 beside the 2 that was there; -1 is the last place.
    for (const way& w : {way{"none", {1, 4, 3, 9}}, way{"add", {1, 14, 3, 13}}, way{"max", {1, 5, 3, 9}},
                         way{"min", {1, 2, 3, 4}}, way{"mul", {1, 120, 3, 36}}}) {
        CAPTURE(w.how);
        const std::string ends = initializer(integers("at", {4}, {1, 1, 1, -1})) +
                                 initializer(floats("u", {4}, {3, 5, 4, 9})) +
                                 initializer(integers("tuples", {4, 1}, {1, 1, 1, -1})) +
                                 input(value("x", float_type, {"4"})) + output(value("y", float_type, {"4"}));
        const auto feeds = [] { return given(fed{"x", tn::array<float>{1, 2, 3, 4}.untyped().share()}); };
        CHECK(run(model(node("ScatterElements", {"x", "at", "u"}, {"y"}, text_attribute("reduction", w.how)) + ends),
                  feeds())[0] == w.wanted.untyped());
        CHECK(run(model(node("ScatterND", {"x", "tuples", "u"}, {"y"}, text_attribute("reduction", w.how)) + ends),
                  feeds())[0] == w.wanted.untyped());
    }
}

TEST_CASE("attention with a mask that hides nothing is attention without one, and causal is a triangle") {
    const auto net = [](const std::string& attributes, bool masked, const std::vector<float>& mask) {
        const std::string in =
            input(value("q", float_type, {"b", "2", "3", "4"})) + input(value("k", float_type, {"b", "1", "3", "4"}));
        const std::string op = masked ? node("Attention", {"q", "k", "k", "m"}, {"y"}, attributes)
                                      : node("Attention", {"q", "k", "k"}, {"y"}, attributes);
        return model(op + (masked ? initializer(floats("m", {3, 3}, mask)) : "") + in +
                         output(value("y", float_type, {"b", "2", "3", "4"})),
                     23);
    };
    const auto feeds = [] { return given(fed{"q", waves({2, 2, 3, 4}, 0.9)}, fed{"k", waves({2, 1, 3, 4}, 0.4)}); };
    constexpr float hidden = -std::numeric_limits<float>::infinity();
    const auto plain = run(net("", false, {}), feeds());
    CHECK(tn::all_close(run(net("", true, std::vector<float>(9)), feeds())[0], plain[0], 1e-5, 1e-6));
    const std::string causal = int_attribute("is_causal", 1);
    const auto triangle = run(net("", true, {0, hidden, hidden, 0, 0, hidden, 0, 0, 0}), feeds());
    CHECK(tn::all_close(run(net(causal, false, {}), feeds())[0], triangle[0], 1e-5, 1e-6));
    CHECK(!tn::all_close(triangle[0], plain[0], 1e-5, 1e-6));
    // A query that sees nothing gives zeros.
    const auto blind = run(net("", true, {hidden, hidden, hidden, 0, 0, 0, 0, 0, 0}), feeds());
    for (int i = 0; i < 4; ++i) CHECK(blind[0].data<float>()[i] == 0);
}

TEST_CASE("attention with a mask is written as the formula that gives the same, also where heads share keys") {
    for (const bool of_each_head : {false, true}) {
        const own_graph g;
        const auto f = [](const tn::extents& e, const char* name) {
            return tn::untyped::placeholder(tn::element_type::float32, e, name);
        };
        const tn::any_tensor q = f({2, 4, 3, 5}, "q"), k = f({2, 2, 6, 5}, "k"),
                             m = f(of_each_head ? tn::extents{4, 3, 6} : tn::extents{2, 1, 1, 6}, "m");
        const tn::any_tensor y = tn::untyped::attention(q, k, k, m, {.causal = of_each_head});
        tn::any_array mask = waves(m.extents(), 0.7);
        for (int j = 0; j < 6; ++j) mask.data<float>()[j] = -std::numeric_limits<float>::infinity(); // sees nothing
        const auto feeds =
            given(fed{"q", waves(q.extents(), 0.9)}, fed{"k", waves(k.extents(), 0.4)}, fed{"m", mask.share()});
        tn::session s;
        const auto wanted =
            s.run_untyped({{q, feeds[0].value.share()}, {k, feeds[1].value.share()}, {m, feeds[2].value.share()}}, {y});
        const std::string bytes = tn::onnx_bytes(s, {{"q", q}, {"k", k}, {"m", m}}, {{"y", y}});
        CHECK(tn::all_close(run(bytes, feeds)[0], wanted[0], 1e-5, 1e-6));
        CHECK(wanted[0].data<float>()[0] == 0);
    }
}

TEST_CASE("boxes that a better one covers are left out, as many as are asked for of each class") {
    const std::string bytes =
        model(node("NonMaxSuppression", {"boxes", "scores", "most", "limit"}, {"chosen"}) +
              initializer(integers("most", {}, {2})) + initializer(floats("limit", {}, {0.5F})) +
              input(value("boxes", float_type, {"1", "n", "4"})) + input(value("scores", float_type, {"1", "2", "n"})) +
              output(value("chosen", int64_type, {"k", "3"})));
    // The second lies in the first for the most part; the fourth is far, as is the third, and worse.
    const tn::array<float> boxes{{0, 0, 10, 10}, {0, 1, 10, 10}, {20, 20, 30, 30}, {50, 50, 60, 60}};
    const tn::array<float> scores{{0.9F, 0.8F, 0.3F, 0.1F}, {0.2F, 0.6F, 0.1F, 0.5F}};
    const auto y = run(bytes, given(fed{"boxes", boxes.untyped().share().reshape({1, 4, 4})},
                                    fed{"scores", scores.untyped().share().reshape({1, 2, 4})}));
    CHECK(y[0] == tn::array<std::int64_t>{{0, 0, 0}, {0, 0, 2}, {0, 1, 1}, {0, 1, 3}}.untyped());
}

TEST_CASE("different rows, in order or as they come, where the first of each is, and how often there is each") {
    for (const bool sorted : {true, false}) {
        const std::string bytes =
            model(node("Unique", {"x"}, {"y", "first", "where", "count"},
                       int_attribute("axis", 0) + int_attribute("sorted", sorted)) +
                  input(value("x", float_type, {"n", "2"})) + output(value("y", float_type, {"k", "2"})) +
                  output(value("first", int64_type, {"k"})) + output(value("where", int64_type, {"n"})) +
                  output(value("count", int64_type, {"k"})));
        const tn::array<float> x{{3, 1}, {2, 9}, {3, 1}, {3, 0}, {2, 9}, {2, 9}};
        const auto y = run(bytes, given(fed{"x", x.untyped().share()}));
        CHECK(y[0] ==
              (sorted ? tn::array<float>{{2, 9}, {3, 0}, {3, 1}} : tn::array<float>{{3, 1}, {2, 9}, {3, 0}}).untyped());
        CHECK(y[1] == (sorted ? tn::array<std::int64_t>{1, 3, 0} : tn::array<std::int64_t>{0, 1, 3}).untyped());
        CHECK(
            y[2] ==
            (sorted ? tn::array<std::int64_t>{2, 0, 2, 1, 0, 0} : tn::array<std::int64_t>{0, 1, 0, 2, 1, 1}).untyped());
        CHECK(y[3] == (sorted ? tn::array<std::int64_t>{3, 1, 2} : tn::array<std::int64_t>{2, 3, 1}).untyped());
    }
}

TEST_CASE("texts are compared, joined, and numbered as they come") {
    const std::string bytes =
        model(node("Concat", {"x", "z"}, {"all"}, int_attribute("axis", 0)) +
                  node("Unique", {"all"}, {"y", "first", "where", "count"}, int_attribute("sorted", 0)) +
                  node("Equal", {"x", "z"}, {"same"}) + input(value("x", string_type, {"2"})) +
                  input(value("z", string_type, {"2"})) + output(value("y", string_type, {"k"})) +
                  output(value("first", int64_type, {"k"})) + output(value("where", int64_type, {"4"})) +
                  output(value("count", int64_type, {"k"})) + output(value("same", bool_type, {"2"})),
              19);
    const tn::array<std::string> x{"b", "a"}, z{"b", "c"};
    const auto y = run(bytes, given(fed{"x", x.untyped().share()}, fed{"z", z.untyped().share()}));
    CHECK(y[0] == tn::array<std::string>{"b", "a", "c"}.untyped());
    CHECK(y[1] == tn::array<std::int64_t>{0, 1, 3}.untyped());
    CHECK(y[2] == tn::array<std::int64_t>{0, 1, 0, 2}.untyped());
    CHECK(y[3] == tn::array<std::int64_t>{2, 1, 1}.untyped());
    CHECK(y[4] == tn::array<bool>{true, false}.untyped());
}

TEST_CASE("places of the largest count all images' elements, and put them back") {
    const std::string bytes = model(node("MaxPool", {"x"}, {"y", "at"},
                                         ints_attribute("kernel_shape", {2, 2}) + ints_attribute("strides", {2, 2})) +
                                    node("MaxUnpool", {"y", "at"}, {"back"},
                                         ints_attribute("kernel_shape", {2, 2}) + ints_attribute("strides", {2, 2})) +
                                    input(value("x", float_type, {"2", "1", "2", "4"})) +
                                    output(value("at", int64_type, {"2", "1", "1", "2"})) +
                                    output(value("back", float_type, {"2", "1", "2", "4"})));
    tn::any_array x(tn::element_type::float32, {2, 1, 2, 4});
    const float values[] = {1, 7, 2, 2, 5, 3, 9, 2, -1, -2, -3, -4, -5, -6, -7, -1};
    std::copy(std::begin(values), std::end(values), x.data<float>());
    const auto y = run(bytes, given(fed{"x", std::move(x)}));
    for (int i = 0; i < 4; ++i)
        CHECK(y[0].data<std::int64_t>()[i] == std::vector<std::int64_t>{1, 6, 8, 15}[static_cast<std::size_t>(i)]);
    for (int i = 0; i < 16; ++i)
        CHECK(y[1].data<float>()[i] == (i == 1 || i == 6 || i == 8 || i == 15 ? values[i] : 0));
}

TEST_CASE("pools: padding may be as large as the window; what is rounded up begins no window in the padding") {
    const auto largest = [](const std::string& attributes, int windows) {
        const std::string bytes =
            model(node("MaxPool", {"x"}, {"y"},
                       ints_attribute("kernel_shape", {2}) + ints_attribute("strides", {2}) + attributes) +
                  input(value("x", float_type, {"1", "1", "4"})) +
                  output(value("y", float_type, {"1", "1", std::to_string(windows)})));
        tn::any_array x(tn::element_type::float32, {1, 1, 4});
        for (int i = 0; i < 4; ++i) x.data<float>()[i] = static_cast<float>(i + 1);
        const auto y = run(bytes, given(fed{"x", std::move(x)}));
        return std::vector<float>(y[0].data<float>(), y[0].data<float>() + y[0].elements());
    };
    constexpr float nothing = -std::numeric_limits<float>::infinity();
    CHECK(largest(ints_attribute("pads", {2, 2}), 4) == std::vector<float>{nothing, 2, 4, nothing});
    CHECK(largest(ints_attribute("pads", {0, 1}) + int_attribute("ceil_mode", 1), 2) == std::vector<float>{2, 4});
}
