#include <tenon/onnx/onnx.hpp>

#include "tests.hpp"
#include "models.hpp"
#include "ops/untyped_run.hpp"

using namespace made;

namespace {

inline constexpr struct steps : tn::dim<"steps"> {} steps;

constexpr int float_type = 1, int64_type = 7, bool_type = 9;

// How many nodes of an op a graph has.
int count(const tn::graph& g, const std::string& op) {
    int n = 0;
    for (std::int64_t i = 0; i < g.size(); ++i) n += g.at(i)->op->name == op;
    return n;
}
tn::any_array scalar(std::int64_t v) {
    tn::any_array a(tn::element_type::int64, {});
    *a.data<std::int64_t>() = v;
    return a;
}
tn::any_array real(float v) {
    tn::any_array a(tn::element_type::float32, {});
    *a.data<float>() = v;
    return a;
}
tn::any_array truth_of(bool v) {
    tn::any_array a(tn::element_type::boolean, {});
    *a.data<bool>() = v;
    return a;
}

// y = c ? relu(x) : -x
std::string branches() {
    const std::string yes = node("Relu", {"x"}, {"a"}) + output(value("a", float_type, {"n"})),
                      no = node("Neg", {"x"}, {"b"}) + output(value("b", float_type, {"n"}));
    return model(node("If", {"c"}, {"y"}, graph_attribute("then_branch", yes) + graph_attribute("else_branch", no)) +
                 input(value("x", float_type, {"n"})) + input(value("c", bool_type, {})) +
                 output(value("y", float_type, {"n"})));
}

// v = v + x while i < trips and v[0] + x[0] < limit; ys are all v.
std::string sums(const std::string& trips, bool limited, bool stacked) {
    const std::string goes_on =
        limited ? node("Gather", {"w", "zero"}, {"first"}) + node("Less", {"first", "limit"}, {"go_on"})
                : node("Identity", {"go"}, {"go_on"});
    const std::string body = node("Add", {"v", "x"}, {"w"}) + goes_on +
                             (stacked ? node("Identity", {"w"}, {"s"}) : "") + input(value("i", int64_type, {})) +
                             input(value("go", bool_type, {})) + input(value("v", float_type, {"2"})) +
                             output(value("go_on", bool_type, {})) + output(value("w", float_type, {"2"})) +
                             (stacked ? output(value("s", float_type, {"2"})) : "");
    std::string outputs = output(value("last", float_type, {"2"}));
    const std::string attribute = graph_attribute("body", body);
    const std::string most = trips == "unsaid" ? "" : "trips";
    const std::string loop = stacked ? node("Loop", {most, "always", "x"}, {"last", "ys"}, attribute)
                                     : node("Loop", {most, "always", "x"}, {"last"}, attribute);
    if (stacked) outputs += output(value("ys", float_type, {"k", "2"}));
    return model(loop + initializer(integers("zero", {}, {0})) + initializer(truth("always", true)) +
                 (trips.empty()  ? input(value("trips", int64_type, {}))
                  : most.empty() ? ""
                                 : initializer(integers("trips", {}, {std::stoll(trips)}))) +
                 input(value("x", float_type, {"2"})) + (limited ? input(value("limit", float_type, {})) : "") +
                 outputs);
}
const tn::array<float> one_and_two{1, 2};

} // namespace

TEST_CASE("If by a value of the step is one node whose graphs see what is around them; a known one is not there") {
    const std::string bytes = branches();
    const tn::array<float> x{-1, 3};
    for (const bool c : {true, false}) {
        const tn::array<float> wanted = c ? tn::array<float>{0, 3} : tn::array<float>{1, -3};
        const own_graph g;
        const tn::onnx_model m = tn::parse_onnx(span(bytes));
        CHECK(count(g, "cond") == 1);
        CHECK(tn::to_string(m.output("y").type()) == "float[n]");
        CHECK(tn::session(g).run(tn::feed(m.input("x"), x.untyped().share()), tn::feed(m.input("c"), truth_of(c)),
                                 m.output("y")) == wanted.untyped());
        const own_graph known;
        const tn::onnx_model k = tn::parse_onnx(span(bytes), {.values = {{"c", truth_of(c)}}});
        CHECK(count(known, "cond") == 0);
        CHECK(tn::session(known).run(tn::feed(k.input("x"), x.untyped().share()), k.output("y")) == wanted.untyped());
    }
}

TEST_CASE(
    "a Loop stands there as often as it runs, is a scan where it is long, and repeats where a value says how often") {
    struct way {
        std::string trips;
        bool stacked;
        int scans, loops;
        std::int64_t runs;
    };
    for (const way& w : {way{"3", true, 0, 0, 3}, way{"2000", true, 1, 0, 2000}, way{"2000", false, 0, 1, 2000},
                         way{"", false, 0, 1, 5}}) {
        CAPTURE(w.trips);
        const std::string bytes = sums(w.trips, false, w.stacked);
        const own_graph g;
        const tn::onnx_model m = tn::parse_onnx(span(bytes));
        CHECK(count(g, "scan") == w.scans);
        CHECK(count(g, "while_loop") == w.loops);
        std::vector<tn::fed_value> feeds;
        feeds.push_back({m.input("x"), one_and_two.untyped().share()});
        if (w.trips.empty()) feeds.push_back({m.input("trips"), scalar(w.runs)});
        const auto given = tn::session(g).run_untyped(std::move(feeds), m.outputs);
        const auto all = static_cast<float>(w.runs + 1);
        CHECK(given[0] == tn::array<float>{all, 2 * all}.untyped());
        if (!w.stacked) continue;
        REQUIRE(given[1].extents() == tn::extents{w.runs, 2});
        CHECK(given[1].data<float>()[1] == 4);
        CHECK(given[1].data<float>()[2 * w.runs - 2] == all);
    }
}

TEST_CASE_FIXTURE(in_graph, "a Loop that ends by what it computes stacks what its runs gave, and no more") {
    const std::string bytes = sums("10", true, true);
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    tn::session s(g);
    const auto run = [&](float limit) {
        std::vector<tn::fed_value> feeds;
        feeds.push_back({m.input("x"), one_and_two.untyped().share()});
        feeds.push_back({m.input("limit"), real(limit)});
        return s.run_untyped(std::move(feeds), m.outputs);
    };
    auto given = run(3.5F); // 2, 3, and 4, which is too much
    CHECK(given[0] == tn::array<float>{4, 8}.untyped());
    CHECK(given[1] == tn::array<float>{{2, 4}, {3, 6}, {4, 8}}.untyped());
    given = run(0);
    CHECK(given[1] == tn::array<float>{{2, 4}}.untyped());
    given = run(100);
    CHECK(given[1].extents() == tn::extents{10, 2});
    // How many there are at most may be a number of the step, but must be known before.
    const own_graph other;
    const tn::onnx_model open = tn::parse_onnx(span(sums("", true, true)));
    tn::session of_other(other);
    for (const std::int64_t most : {0, 2, 10}) {
        std::vector<tn::fed_value> feeds;
        feeds.push_back({open.input("trips"), scalar(most)});
        feeds.push_back({open.input("x"), one_and_two.untyped().share()});
        feeds.push_back({open.input("limit"), real(3.5F)});
        given = of_other.run_untyped(std::move(feeds), open.outputs);
        CHECK(given[0] == (most == 0   ? tn::array<float>{1, 2}
                           : most == 2 ? tn::array<float>{3, 6}
                                       : tn::array<float>{4, 8})
                              .untyped());
        CHECK(given[1].extents() == tn::extents{std::min<std::int64_t>(most, 3), 2});
    }
    CHECK(message_of<tn::unimplemented_error>([&] { tn::parse_onnx(span(sums("unsaid", true, true))); }) ==
          "parse_onnx: ONNX data: what these nodes ask for is not done:\n"
          "    Loop that gives \"last\": what it stacks has a size that its runs decide, and nothing says their number "
          "before");
}

TEST_CASE("Scan goes through slices in the direction that it says, and its gradient flows") {
    const std::string body = node("Add", {"sum", "x"}, {"next"}) + node("Identity", {"next"}, {"y"}) +
                             input(value("sum", float_type, {"2"})) + input(value("x", float_type, {"2"})) +
                             output(value("next", float_type, {"2"})) + output(value("y", float_type, {"2"}));
    const std::string bytes =
        model(node("Scan", {"zero", "xs"}, {"all", "ys"},
                   graph_attribute("body", body) + int_attribute("num_scan_inputs", 1) +
                       ints_attribute("scan_input_directions", {1})) +
              initializer(floats("zero", {2}, {0, 0})) + input(value("xs", float_type, {"n", "2"})) +
              output(value("all", float_type, {"2"})) + output(value("ys", float_type, {"n", "2"})));
    const own_graph g;
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    CHECK(tn::to_string(m.output("ys").type()) == "float[n, 2]");
    const tn::array<float> xs{{1, 2}, {3, 4}, {5, 6}};
    const auto given = tn::session(g).run_untyped(tn::test::fed(m.input("xs"), xs.untyped()), m.outputs);
    CHECK(given[0] == tn::array<float>{9, 12}.untyped());
    CHECK(given[1] ==
          tn::array<float>{{5, 6}, {8, 10}, {9, 12}}.untyped()); // the first that is stacked is of the last slice
    const auto flows = tn::untyped::gradients(tn::untyped::sum(m.output("all")), {m.input("xs")});
    CHECK(tn::session(g).run(tn::feed(m.input("xs"), xs.untyped().share()), flows[0]) ==
          tn::array<float>{{1, 1}, {1, 1}, {1, 1}}.untyped());
}

TEST_CASE("what a graph of an attribute cannot have is refused with its place, and a mistake in it is one") {
    const auto said = [](const std::string& yes) {
        const std::string no = node("Neg", {"x"}, {"b"}) + output(value("b", float_type, {"n"}));
        const std::string bytes =
            model(node("If", {"c"}, {"y"}, graph_attribute("then_branch", yes) + graph_attribute("else_branch", no)) +
                  input(value("x", float_type, {"n"})) + input(value("c", bool_type, {})) +
                  output(value("y", float_type, {"n"})));
        const own_graph g;
        return message_of<tn::error>([&] { tn::parse_onnx(span(bytes)); });
    };
    CHECK(said(node("Gropple", {"x"}, {"a"}) + output(value("a", float_type, {"n"}))) ==
          "parse_onnx: ONNX data: the model has operators that are not read: Gropple; onnx_operators() lists those "
          "that are");
    CHECK(said(node("NonZero", {"x"}, {"a"}) + output(value("a", int64_type, {"1", "k"})))
              .find("If that gives \"y\": ") != std::string::npos);
    CHECK(said(node("RandomNormalLike", {"x"}, {"a"}) + output(value("a", float_type, {"n"})))
              .find("it computes and nothing else") != std::string::npos);
    CHECK(said(node("Relu", {"z"}, {"a"}) + output(value("a", float_type, {"n"}))) ==
          "parse_onnx: ONNX data: If that gives \"y\": Relu that gives \"a\": there is no value \"z\" yet: nodes stand "
          "before those "
          "that read what they give");
    CHECK(said(node("Relu", {"x"}, {"a"}) + input(value("q", float_type, {"n"})) +
               output(value("a", float_type, {"n"}))) ==
          "parse_onnx: ONNX data: If that gives \"y\": its graph \"\" has 1 inputs; 0 are needed");
}

TEST_CASE("names of a graph of an attribute are its own: what they meant around it they mean after it") {
    // Both graphs and the model have a value "t".
    const auto branch = [](const char* op) {
        return node(op, {"x"}, {"t"}) + node("Exp", {"t"}, {"out"}) + output(value("out", float_type, {"2"}));
    };
    const std::string bytes =
        model(node("Sqrt", {"x"}, {"t"}) +
              node("If", {"c"}, {"y"},
                   graph_attribute("then_branch", branch("Neg")) + graph_attribute("else_branch", branch("Abs"))) +
              node("Add", {"t", "y"}, {"z"}) + input(value("x", float_type, {"2"})) + input(value("c", bool_type, {})) +
              output(value("z", float_type, {"2"})));
    const own_graph g;
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    const tn::array<float> x{0, 1};
    const tn::any_array z = tn::session(g).run(tn::feed(m.input("x"), x.untyped().share()),
                                               tn::feed(m.input("c"), truth_of(true)), m.output("z"));
    CHECK(tn::all_close(z, tn::array<float>{1, 1 + 0.36787944F}.untyped(), 1e-6, 1e-6));
}

TEST_CASE("loops within loops do not grow without an end") {
    std::string body = node("Add", {"v0", "x"}, {"w0"}) + node("Identity", {"go0"}, {"more0"});
    for (int depth = 0; depth < 6; ++depth) {
        const std::string d = std::to_string(depth), up = std::to_string(depth + 1);
        const std::string graph = body + input(value("i" + d, int64_type, {})) + input(value("go" + d, bool_type, {})) +
                                  input(value("v" + d, float_type, {"2"})) + output(value("more" + d, bool_type, {})) +
                                  output(value("w" + d, float_type, {"2"}));
        body =
            node("Loop", {"trips", "always", depth == 5 ? "x" : "v" + up}, {"w" + up}, graph_attribute("body", graph)) +
            node("Identity", {depth == 5 ? "always" : "go" + up}, {"more" + up});
    }
    const std::string bytes =
        model(body + initializer(integers("trips", {}, {300})) + initializer(truth("always", true)) +
              input(value("x", float_type, {"2"})) + output(value("w6", float_type, {"2"})));
    const own_graph g;
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    CHECK(count(g, "while_loop") == 1);
    CHECK(g.size() < 30000);
}

TEST_CASE_FIXTURE(in_graph, "cond, while_loop and scan are written as If, Loop and Scan") {
    const auto x = tn::placeholder<float, tn::shape<steps, 2>>("x");
    const auto w = tn::variable<float, tn::shape<2>>("w", tn::constant_value(0.5));
    const auto sum = tn::sum(x);
    const auto a = tn::cond(
        sum > 0.0f, [&] { return x * w; }, [&] { return x - 1.0f; });
    const auto [last, all] = tn::scan(
        [&](const auto& c, const auto& row) {
            const auto next = tanh(c + row * w);
            return std::pair(next, next * 2.0f);
        },
        tn::zeros<float, tn::shape<2>>(), a, {.reversed = true});
    const auto big = tn::while_loop([](const auto& v) { return tn::sum(v) < 10.0f; },
                                    [&](const auto& v) { return v * 2.0f + w; }, abs(last));
    initialized_session s(g);
    const std::string bytes = tn::onnx_bytes(s, {{"x", x}}, {{"all", all}, {"big", big}});
    for (const char* op : {"If", "Loop", "Scan"}) CHECK(bytes.find(op) != std::string::npos);
    const own_graph second;
    const tn::onnx_model m = tn::parse_onnx(std::as_bytes(std::span(bytes)));
    CHECK(tn::to_string(m.output("all").type()) == "float[steps, 2]");
    tn::session again(second);
    for (const float sign : {1.0F, -1.0F}) {
        tn::array<float> rows(tn::extents{5, 2});
        for (int i = 0; i < 10; ++i) rows.data()[i] = sign * static_cast<float>(i + 1) / 7;
        const auto run = [&](tn::session& with, const tn::any_tensor& input,
                             const std::vector<tn::any_tensor>& outputs) {
            return with.run_untyped(tn::test::fed(input, rows.untyped()), outputs);
        };
        const auto wanted = run(s, x, {all, big});
        const auto given = run(again, m.input("x"), m.outputs);
        for (int i = 0; i < 2; ++i)
            CHECK(tn::all_close(given[static_cast<std::size_t>(i)], wanted[static_cast<std::size_t>(i)], 1e-5, 1e-6));
    }
}

TEST_CASE(
    "an operator that the model defines itself is its nodes, with names of its own, optional inputs and attributes") {
    const auto ref = [](const char* name, const char* of, int type) {
        return bytes(5, bytes(1, name) + number(20, static_cast<std::uint64_t>(type)) + bytes(21, of));
    };
    // Leaky(x, b?; slope = 0.5) = clip(leaky_relu(x, slope), b): "t" is also a name of the model.
    const auto inner = [](const std::string& op, std::initializer_list<std::string> in,
                          std::initializer_list<std::string> out, const std::string& attributes = {}) {
        std::string n;
        for (const auto& i : in) n += bytes(1, i);
        for (const auto& o : out) n += bytes(2, o);
        return bytes(7, n + bytes(4, op) + attributes);
    };
    const std::string half = bytes(11, bytes(1, "slope") + std::string("\x15\x00\x00\x00\x3f", 5) + number(20, 1));
    const std::string leaky = bytes(1, "Leaky") + bytes(4, "x") + bytes(4, "b") + bytes(5, "y") + half +
                              inner("LeakyRelu", {"x"}, {"t"}, ref("alpha", "slope", 1)) +
                              inner("Clip", {"t", "b"}, {"y"}) + bytes(9, number(2, 17)) + bytes(10, "mine");
    const std::string twice = bytes(1, "Twice") + bytes(4, "x") + bytes(5, "y") +
                              bytes(7, bytes(1, "x") + bytes(2, "t") + bytes(4, "Leaky") + bytes(7, "mine")) +
                              bytes(7, bytes(1, "t") + bytes(2, "y") + bytes(4, "Leaky") + bytes(7, "mine")) +
                              bytes(10, "mine");
    const std::string graph = node("Twice", {"x"}, {"t"}, {}, "mine") + node("Leaky", {"x", "low"}, {"u"}, {}, "mine") +
                              node("Add", {"t", "u"}, {"z"}) + initializer(floats("low", {}, {-1})) +
                              input(value("x", float_type, {"2"})) + output(value("z", float_type, {"2"}));
    const auto with = [&](const std::string& functions) { return model(graph) + functions; };
    const std::string good = with(bytes(25, leaky) + bytes(25, twice));
    const own_graph g;
    const tn::onnx_model m = tn::parse_onnx(span(good));
    const tn::array<float> x{-8, 3};
    // -8 * 0.5 * 0.5 + max(-8 * 0.5, -1), and 3 + 3
    CHECK(tn::session(g).run(tn::feed(m.input("x"), x.untyped().share()), m.output("z")) ==
          tn::array<float>{-3, 6}.untyped());
    const std::string lacks = with(bytes(25, twice));
    CHECK(message_of<tn::unimplemented_error>([&] { tn::parse_onnx(span(lacks)); }).find("mine.Leaky (3 nodes)") !=
          std::string::npos);
    const std::string endless =
        with(bytes(25, leaky) +
             bytes(25, bytes(1, "Twice") + bytes(4, "x") + bytes(5, "y") +
                           bytes(7, bytes(1, "x") + bytes(2, "y") + bytes(4, "Twice") + bytes(7, "mine")) +
                           bytes(10, "mine")));
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::parse_onnx(span(endless)); }).find("calls itself") !=
          std::string::npos);
}

TEST_CASE_FIXTURE(in_graph, "sequences of a number of tensors that is known are taken apart, changed and joined") {
    // x [n, 5] as columns 0-1, 2-3, 4; the second goes behind x * 2, the first leaves: {4, x * 2, 2-3}, then all side by side.
    const std::string bytes = model(
        node("SplitToSequence", {"x", "two"}, {"parts"}, int_attribute("axis", 1)) +
        node("SequenceAt", {"parts", "one"}, {"middle"}) + node("SequenceErase", {"parts", "one"}, {"outer"}) +
        node("SequenceErase", {"outer", "zero"}, {"rest"}) + node("Add", {"x", "x"}, {"twice"}) +
        node("SequenceInsert", {"rest", "middle"}, {"more"}) +
        node("SequenceInsert", {"more", "twice", "one"}, {"all"}) +
        node("ConcatFromSequence", {"all"}, {"y"}, int_attribute("axis", -1)) + node("SequenceLength", {"all"}, {"n"}) +
        node("SplitToSequence", {"x"}, {"columns"}, int_attribute("axis", 1) + int_attribute("keepdims", 0)) +
        node("ConcatFromSequence", {"columns"}, {"t"}, int_attribute("axis", 0) + int_attribute("new_axis", 1)) +
        node("SequenceAt", {"columns", "last"}, {"z"}) + initializer(integers("zero", {}, {0})) +
        initializer(integers("one", {}, {1})) + initializer(integers("two", {}, {2})) +
        initializer(integers("last", {}, {-1})) + input(value("x", float_type, {"n", "5"})) +
        output(value("y", float_type, {"n", "8"})) + output(value("n", int64_type, {})) +
        output(value("t", float_type, {"5", "n"})) + output(value("z", float_type, {"n"})));
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    const tn::array<float> x{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}};
    const auto given = tn::session(g).run_untyped({tn::feed(m.input("x"), x.untyped().share())}, m.outputs);
    CHECK(given[0] == tn::array<float>{{4, 0, 2, 4, 6, 8, 2, 3}, {9, 10, 12, 14, 16, 18, 7, 8}}.untyped());
    CHECK(given[1] == scalar(3));
    CHECK(given[2] == tn::array<float>{{0, 5}, {1, 6}, {2, 7}, {3, 8}, {4, 9}}.untyped());
    CHECK(given[3] == tn::array<float>{4, 9}.untyped());
}

TEST_CASE_FIXTURE(in_graph,
                  "a Loop makes a sequence of as many as it runs; one that nothing says the number of is refused") {
    // As PyTorch writes a list that grows: ys.append(x * i).
    const auto growing = [](const std::string& trips) {
        const std::string body = node("Cast", {"i"}, {"f"}, int_attribute("to", 1)) + node("Mul", {"x", "f"}, {"v"}) +
                                 node("SequenceInsert", {"before", "v"}, {"after"}) + node("Identity", {"go"}, {"on"}) +
                                 input(value("i", int64_type, {})) + input(value("go", bool_type, {})) +
                                 input(value("before", 0, {})) + output(value("on", bool_type, {})) +
                                 output(value("after", 0, {}));
        return model(node("SequenceEmpty", {}, {"none"}) +
                     node("Loop", {trips, "always", "none"}, {"ys"}, graph_attribute("body", body)) +
                     node("ConcatFromSequence", {"ys"}, {"y"}, int_attribute("axis", 0)) +
                     initializer(truth("always", true)) + initializer(integers("three", {}, {3})) +
                     input(value("x", float_type, {"2"})) + input(value("trips", int64_type, {})) +
                     output(value("y", float_type, {"6"})));
    };
    const std::string bytes = growing("three");
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    CHECK(tn::session(g).run(tn::feed(m.input("x"), one_and_two.untyped().share()), m.output("y")) ==
          tn::array<float>{0, 0, 1, 2, 2, 4}.untyped());
    const own_graph other;
    const tn::onnx_model open = tn::parse_onnx(span(growing("trips")));
    CHECK(tn::session(other).run(tn::feed(open.input("x"), one_and_two.untyped().share()),
                                 tn::feed(open.input("trips"), scalar(3)),
                                 open.output("y")) == tn::array<float>{0, 0, 1, 2, 2, 4}.untyped());
    CHECK_ERROR(tn::unimplemented_error, "Loop that gives \"ys\": what it stacks has a size that its runs decide",
                tn::parse_onnx(span(growing(""))));
    CHECK(message_of<tn::unimplemented_error>([&] {
              tn::parse_onnx(span(model(node("SequenceConstruct", {"x"}, {"s"}) + node("Relu", {"s"}, {"y"}) +
                                        input(value("x", float_type, {"2"})) + output(value("y", float_type, {"2"})))));
          }).find("\"s\" is a sequence") != std::string::npos);
    CHECK(message_of<tn::unimplemented_error>([&] {
              tn::parse_onnx(span(model(node("SequenceConstruct", {"x"}, {"s"}) + input(value("x", float_type, {"2"})) +
                                        output(value("s", 0, {})))));
          }).find("\"s\" is a sequence") != std::string::npos);
}

TEST_CASE_FIXTURE(in_graph, "an If whose graphs find out how much there is gives the rows of one of them") {
    const std::string yes = node("NonZero", {"x"}, {"found"}) + node("Squeeze", {"found", "zero"}, {"a"}) +
                            node("Shape", {"a"}, {"k"}) + node("Squeeze", {"k"}, {"ka"}) +
                            output(value("a", int64_type, {"k"})) + output(value("ka", int64_type, {})),
                      no = node("Identity", {"pair"}, {"b"}) + node("Size", {"x"}, {"kb"}) +
                           output(value("b", int64_type, {"2"})) + output(value("kb", int64_type, {}));
    const std::string bytes =
        model(node("If", {"c"}, {"y", "n"}, graph_attribute("then_branch", yes) + graph_attribute("else_branch", no)) +
              initializer(integers("zero", {1}, {0})) + initializer(integers("pair", {2}, {7, 8})) +
              input(value("x", float_type, {"m"})) + input(value("c", bool_type, {})) +
              output(value("y", int64_type, {"k"})) + output(value("n", int64_type, {})));
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    tn::session s(g);
    const tn::array<float> x{0, 2, 0, 4, 5};
    for (const bool c : {true, false}) {
        const auto given = s.run_untyped(
            {tn::feed(m.input("x"), x.untyped().share()), tn::feed(m.input("c"), truth_of(c))}, m.outputs);
        CHECK(given[0] == (c ? tn::array<std::int64_t>{1, 3, 4} : tn::array<std::int64_t>{7, 8}).untyped());
        CHECK(given[1] == scalar(c ? 3 : 5));
    }
}
