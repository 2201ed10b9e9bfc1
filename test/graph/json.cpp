#include <nlohmann/json.hpp>

#include <tenon/core/sizes/size_name.hpp>

#include "tests.hpp"

// A graph as text, and back.

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;

// A small model with everything a graph can hold.
tn::graph model() {
    own_graph g;
    g.set_seed(0xfedcba9876543210ULL);
    const auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
    const auto w = tn::variable<float, tn::shape<3, 2>>("w", tn::glorot_uniform());
    const auto b = tn::variable<float, tn::shape<2>>("b", tn::zeros(), {.trainable = false});
    const tn::name_scope layer("layer");
    const auto h = tanh(matmul(x, w) + b);
    const auto loss = mean(square(h));
    const auto [dw] = gradients(loss, w);
    const auto step = w.assign_sub(dw * 0.1f);
    tn::group(step, tn::identity(loss, "loss"));
    {
        const auto device = tn::on("/gpu:1");
        const tn::container_scope container("box");
        const tn::control_dependencies after(step);
        tn::identity(x, "late");
    }
    return g;
}

std::string mistake(const std::string& text) {
    return message_of<tn::invalid_argument_error>([&] { tn::graph_from_json(text); });
}
std::string defect(const std::string& text) {
    return message_of<tn::data_loss_error>([&] { tn::graph_from_json(text); });
}
bool has(const std::string& text, const std::string& part) {
    if (text.find(part) == std::string::npos) MESSAGE("in: " << text);
    return text.find(part) != std::string::npos;
}

std::string graph_of(const std::string& nodes) {
    return R"({"format": "tenon graph", "version": 1, "nodes": [)" + nodes + "]}";
}
const std::string scalar_x =
    R"({"name": "x", "op": "placeholder", "attributes": {"element": {"element": "float"}, "shape": {"shape": []}}})";

std::string constant_of(const std::string& array) {
    return graph_of(R"({"name": "c", "op": "constant", "attributes": {"value": {"array": )" + array + "}}}");
}
std::string fused_of(const std::string& tape) {
    return graph_of(scalar_x + R"(, {"name": "y", "op": "fused", "inputs": ["x"], "attributes": {"tape": {"tape": )" +
                    tape + R"(}, "constants": [], "merge": []}})");
}

} // namespace

TEST_CASE("a graph that is written and read is written the same again") {
    const std::string text = tn::to_json(model());
    CHECK(nlohmann::json::accept(text));
    const tn::graph back = tn::graph_from_json(text);
    CHECK(tn::to_json(back) == text);
    CHECK(back.seed() == 0xfedcba9876543210ULL);
    CHECK(back.size() == model().size());
}

TEST_CASE("every node comes back with its name, op, inputs, attributes, device, container and types") {
    const tn::graph g = model(), back = tn::graph_from_json(tn::to_json(g));
    REQUIRE(back.size() == g.size());
    for (std::int64_t n = 0; n < g.size(); ++n) {
        const tn::node &a = *g.at(n), &b = *back.at(n);
        CHECK(a.name == b.name);
        CHECK(a.op == b.op);
        CHECK(a.attributes == b.attributes);
        CHECK(a.device == b.device);
        CHECK(a.container == b.container);
        CHECK(a.outputs == b.outputs);
        REQUIRE(a.inputs.size() == b.inputs.size());
        for (std::size_t i = 0; i < a.inputs.size(); ++i) {
            CHECK(a.inputs[i].node->number == b.inputs[i].node->number);
            CHECK(a.inputs[i].index == b.inputs[i].index);
        }
        REQUIRE(a.controls.size() == b.controls.size());
        for (std::size_t i = 0; i < a.controls.size(); ++i) CHECK(a.controls[i]->number == b.controls[i]->number);
    }
    CHECK(back.collections() == g.collections());
    CHECK(back.collection(tn::global_variables).size() == 2);
    CHECK(back.collection(tn::trainable_variables).size() == 1);
}

TEST_CASE_FIXTURE(in_graph, "what a node follows comes back: a gradient its forward op, an update's sum its variable") {
    const auto v = tn::variable("v", 2.0f);
    const auto h = exp(v).materialize();
    const auto [d] = tn::gradients(h, v);
    const auto update = v.assign_add(1.0f);
    REQUIRE(d.node()->follows == h.node());
    REQUIRE(update.node()->inputs[1].node->follows == v.node());
    const tn::graph again = tn::graph_from_json(tn::to_json(g));
    CHECK(tn::to_json(again) == tn::to_json(g));
    CHECK(again.find(d.node()->name)->follows == again.find(h.node()->name));
    CHECK(again.find(update.node()->inputs[1].node->name)->follows == again.find("v"));
}

TEST_CASE("a graph that was read runs and gives the same numbers") {
    const tn::graph g = model(), back = tn::graph_from_json(tn::to_json(g));
    const auto run = [](const tn::graph& which) {
        const tn::graph_scope in(which);
        initialized_session s(which);
        tn::array<float> x{{1, 2, 3}, {4, 5, 6}};
        std::vector<tn::fed_value> feeds;
        feeds.push_back(tn::feed(which.tensor("x"), x.untyped().share()));
        return s.run_untyped(std::move(feeds), {which.tensor("layer/loss")});
    };
    CHECK(run(g)[0] == run(back)[0]);
}

TEST_CASE("a graph that was read goes on: new nodes find the old names taken and equal nodes there") {
    const tn::graph back = tn::graph_from_json(tn::to_json(model()));
    const tn::graph_scope in(back);
    CHECK(tn::placeholder<float>("x").name() == "x_1");
    {
        const tn::name_scope layer("layer");
        CHECK(tn::placeholder<float>("y").name() == "layer_1/y");
    }
    const auto x = tn::as<float, tn::shape<batch, 3>>(back.tensor("x"));
    const auto w = tn::as<float, tn::shape<3, 2>>(back.tensor("w"));
    const std::int64_t nodes = back.size();
    const auto product = matmul(x, w);
    CHECK(back.size() == nodes);
    CHECK(product.node()->number < nodes);
}

TEST_CASE("two equal nodes in a text stay two") {
    const tn::graph g = tn::graph_from_json(graph_of(scalar_x + R"(,{"name": "a", "op": "identity", "inputs": ["x"]},
                                                                    {"name": "b", "op": "identity", "inputs": ["x"]})"));
    CHECK(g.size() == 3);
    CHECK(g.find("a") != g.find("b"));
}

TEST_CASE_FIXTURE(in_graph, "numbers come back bit by bit: infinities, NaN, -0, the smallest and the largest") {
    const double odd_nan = [] {
        const std::uint64_t bits = 0xfff8000000000123ULL;
        double d = 0;
        std::memcpy(&d, &bits, sizeof d);
        return d;
    }();
    const float odd_float_nan = static_cast<float>(odd_nan);
    using d = std::numeric_limits<double>;
    using f = std::numeric_limits<float>;
    tn::constant({0.1, -0.0, d::infinity(), -d::infinity(), d::quiet_NaN(), d::denorm_min(), d::max(), 1e300, 5.0});
    tn::constant({0.1, odd_nan});
    tn::constant({0.1f, -0.0f, f::infinity(), f::quiet_NaN(), f::denorm_min(), f::max(), 16777217.0f, 3.0f});
    tn::constant({0.1f, odd_float_nan});
    tn::constant({tn::half(0.1f), tn::half(-65504.0f)});
    tn::constant({tn::bfloat16(0.1f), tn::bfloat16(-0.0f)});
    tn::constant({std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()});
    tn::constant({std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()});
    tn::constant({std::int8_t{-128}, std::int8_t{127}});
    tn::constant({true, false});
    for (const double v : {0.1, -0.0, d::infinity(), d::quiet_NaN(), odd_nan, 7.0})
        tn::add<tn::fill_like_op>({v}, {g.tensor("constant")});
    tn::tensor<float, tn::shape<>> y = tn::placeholder<float>("x") * 0.1f + f::infinity();
    const std::string text = tn::to_json(g);
    const tn::graph back = tn::graph_from_json(text);
    CHECK(tn::to_json(back) == text);
    for (std::int64_t n = 0; n < g.size(); ++n) CHECK(g.at(n)->attributes == back.at(n)->attributes);
    CHECK(has(text, "[0.1,-0.0,\"inf\",\"-inf\",\"nan\""));
    CHECK(has(text, "\"values\":[0.1,-0.0,\"inf\",\"nan\"")); // floats are written as short as they can be
    CHECK(has(text, "\"number\":\"nan:fff8000000000123\""));
}

TEST_CASE_FIXTURE(in_graph, "large arrays are bytes in base 64; strings may hold any bytes") {
    tn::array<float, tn::shape<10, 10>> large;
    for (std::int64_t i = 0; i < 100; ++i) large[i] = static_cast<float>(i) * 0.25f;
    tn::constant(large.copy());
    tn::constant({std::string("plain"), std::string("\xff\xfe", 2), std::string("a\0b", 3), std::string("\u00e9\"\\")});
    tn::constant(tn::array<bool, tn::shape<40>>());
    tn::constant(tn::array<float, tn::shape<0, 3>>());
    const std::string text = tn::to_json(g);
    CHECK(has(text, "\"base64\":\"AAAAAAAAgD4AAAA/"));
    CHECK(has(text, "{\"hex\":\"fffe\"}"));
    const tn::graph back = tn::graph_from_json(text);
    CHECK(tn::to_json(back) == text);
    for (std::int64_t n = 0; n < g.size(); ++n) CHECK(g.at(n)->attributes == back.at(n)->attributes);
}

TEST_CASE_FIXTURE(in_graph, "sizes by name and sizes unknown come back") {
    tn::placeholder<float, tn::shape<batch, tn::dyn, 3>>("x");
    const std::string text = tn::to_json(g);
    CHECK(has(text, R"("shape":["batch",null,3])"));
    const tn::graph back = tn::graph_from_json(text);
    CHECK(to_string(back.tensor("x").type()) == "float[batch, ?, 3]");
    CHECK_NOTHROW((void)tn::as<float, tn::shape<batch, tn::dyn, 3>>(back.tensor("x")));
}

TEST_CASE("names of sizes that were read go when no graph has them any more") {
    const auto text = [](const std::string& size) {
        return R"({"format": "tenon graph", "version": 1, "nodes": [{"name": "x", "op": "placeholder", "attributes":
                   {"element": {"element": "float"}, "shape": {"shape": [")" +
               size + R"(", 3]}}}], "collections": {}})";
    };
    const std::size_t before = tn::detail::shared_size_names();
    for (int i = 0; i < 100; ++i) {
        const tn::graph g = tn::graph_from_json(text("a size of graph " + std::to_string(i)));
        CHECK(tn::detail::shared_size_names() == before + 1);
    }
    CHECK(tn::detail::shared_size_names() == before);

    // Two graphs that were read share a name, and so does a graph that took its sizes from one of them.
    const tn::graph h;
    {
        const tn::graph a = tn::graph_from_json(text("rows of both")), b = tn::graph_from_json(text("rows of both"));
        CHECK(a.tensor("x").extents()[0].name == b.tensor("x").extents()[0].name);
        CHECK(tn::detail::shared_size_names() == before + 1);
        const tn::graph_scope in(h);
        tn::untyped::placeholder(tn::element_type::float32, a.tensor("x").extents(), "y");
    }
    CHECK(tn::detail::shared_size_names() == before + 1);
    CHECK(to_string(h.tensor("y").type()) == "float[rows of both, 3]");
}

TEST_CASE_FIXTURE(in_graph, "names with colons, quotes and other letters come back") {
    const auto odd = tn::placeholder<float>("a:1 \"quoted\" \u00fc");
    const auto colon = tn::placeholder<float>("b:0");
    tn::identity(odd, "c");
    tn::identity(colon, "d");
    const std::string text = tn::to_json(g);
    const tn::graph back = tn::graph_from_json(text);
    CHECK(tn::to_json(back) == text);
    CHECK(back.find("d")->inputs[0].node->name == "b:0");
    tn::placeholder<float>("\xff");
    CHECK(has(message_of<tn::invalid_argument_error>([&] { tn::to_json(g); }), "not UTF-8"));
}

TEST_CASE("nodes may stand in another order than their inputs") {
    const tn::graph g = tn::graph_from_json(graph_of(R"({"name": "b", "op": "identity", "inputs": ["a"]},
                                                        {"name": "a", "op": "identity", "inputs": ["x"]},)" +
                                                     scalar_x));
    CHECK(g.find("b")->number == 2);
    CHECK(g.find("b")->inputs[0].node->name == "a");
}

TEST_CASE("a text that is no JSON, or is cut short, is a data_loss_error") {
    const std::string text = tn::to_json(model());
    CHECK(has(defect(""), "graph JSON: it is no JSON at byte"));
    CHECK(has(defect("{\"format\": "), "graph JSON: it is no JSON"));
    CHECK(has(defect(text.substr(0, text.size() / 2)), "it is no JSON at byte"));
    CHECK(has(defect(text + "x"), "it is no JSON at byte"));
    CHECK(has(defect("\xff\xff"), "it is no JSON"));
}

TEST_CASE("deep nesting is refused before it is built") {
    const std::string deep(1 << 20, '[');
    CHECK(has(mistake(deep), "nested deeper than 32 lists and objects"));
    std::string objects;
    for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
    CHECK(has(mistake(objects), "nested deeper than 32"));
}

TEST_CASE("a format or version of another program is refused") {
    CHECK(has(mistake("[]"), "a graph must be an object, not a list"));
    CHECK(has(mistake("{}"), "it does not say \"format\": \"tenon graph\""));
    CHECK(has(mistake(R"({"format": "tenon graph", "version": 2, "nodes": []})"),
              "its version is 2; this program reads version 1"));
    CHECK(has(mistake(R"({"format": "tenon graph", "nodes": []})"), "its version is not given"));
    CHECK(has(mistake(R"({"format": "tenon graph", "version": 1})"), "it has no \"nodes\""));
    CHECK(has(mistake(R"({"format": "tenon graph", "version": 1, "nodes": [], "sede": 1})"),
              "a graph has no member \"sede\""));
    CHECK(has(mistake(R"({"format": "tenon graph", "version": 1, "version": 1, "nodes": []})"),
              "the member \"version\" twice"));
    CHECK(has(mistake(R"({"format": "tenon graph", "version": 1, "nodes": [], "seed": -1})"),
              "\"seed\" must be a number from 0, not -1"));
}

TEST_CASE("an unknown op names the node, similar ops and what to include") {
    const std::string text = mistake(graph_of(R"({"name": "n", "op": "identty"})"));
    CHECK(has(text,
              "graph JSON: node \"n\" (identty): op \"identty\" is not known to this program; similar ones: identity"));
    CHECK(has(text, "include the header that defines it"));
}

TEST_CASE("an input that is not there names the node, the input and similar names") {
    CHECK(has(mistake(graph_of(scalar_x + R"(,{"name": "y", "op": "identity", "inputs": ["z"]})")),
              "input 0 of node \"y\" is \"z\", but no node has this name; similar names: x, y"));
    CHECK(has(mistake(graph_of(scalar_x + R"(,{"name": "y", "op": "identity", "inputs": ["x:1"]})")),
              "node \"y\" (identity): it takes output 1 of \"x\", which has 1"));
    CHECK(has(mistake(graph_of(scalar_x + R"(,{"name": "y", "op": "identity", "inputs": ["x:99999"]})")),
              "takes output 99999"));
    CHECK(has(mistake(graph_of(scalar_x + R"(,{"name": "y", "op": "identity", "inputs": "x"})")),
              "must be a list, not the text \"x\""));
    CHECK(has(mistake(graph_of(scalar_x + R"(,{"name": "y", "op": "identity", "inputs": [3]})")),
              "must be a text, not 3"));
    CHECK(has(mistake(graph_of(scalar_x + R"(,{"name": "y", "op": "identity", "controls": ["no"]})")),
              "a control input of node \"y\" is \"no\", but no node has this name"));
}

TEST_CASE("a cycle names the nodes that are on it, and no others") {
    const std::string text = mistake(graph_of(scalar_x + R"(,
        {"name": "a", "op": "identity", "inputs": ["c"]},
        {"name": "b", "op": "identity", "inputs": ["a"]},
        {"name": "c", "op": "identity", "inputs": ["b"], "controls": ["x"]},
        {"name": "after", "op": "identity", "inputs": ["c"]})"));
    CHECK(has(text, "there is a cycle: "));
    for (const char* member : {"\"a\"", "\"b\"", "\"c\""}) CHECK(has(text, member));
    CHECK_FALSE(contains(text, "after"));
    CHECK(has(mistake(graph_of(R"({"name": "self", "op": "no_op", "controls": ["self"]})")),
              "there is a cycle: \"self\" -> \"self\""));
}

TEST_CASE("a cycle of many nodes is shown in part") {
    std::string nodes;
    constexpr int count = 2000;
    for (int i = 0; i < count; ++i)
        nodes += (i ? "," : "") + std::string("{\"name\": \"n") + std::to_string(i) +
                 "\", \"op\": \"identity\", \"inputs\": [\"n" + std::to_string((i + 1) % count) + "\"]}";
    const std::string text = mistake(graph_of(nodes));
    CHECK(has(text, "there is a cycle"));
    CHECK(text.size() < 1000);
}

TEST_CASE("names must be there, not empty, and different") {
    CHECK(has(mistake(graph_of(R"({"op": "no_op"})")), "node 0 has no \"name\""));
    CHECK(has(mistake(graph_of(R"({"name": "", "op": "no_op"})")), "\"name\" of node 0 is empty"));
    CHECK(has(mistake(graph_of(R"({"name": "n"})")), "node 0 has no \"op\""));
    CHECK(has(mistake(graph_of(R"({"name": "n", "op": 3})")), "\"op\" of node 0 must be a text, not 3"));
    CHECK(has(mistake(graph_of(R"({"name": "n", "op": "no_op"}, {"name": "n", "op": "no_op"})")),
              "two nodes called \"n\""));
    CHECK(has(mistake(graph_of(R"({"name": "n", "op": "no_op", "input": []})")),
              "node \"n\" has no member \"input\"; there are name, op, inputs"));
    CHECK(has(mistake(graph_of("7")), "node 0 must be an object, not 7"));
}

TEST_CASE("attributes of the wrong type, missing or too many name the node and the attribute") {
    const auto placeholder = [](const std::string& attributes) {
        return mistake(graph_of(R"({"name": "p", "op": "placeholder", "attributes": )" + attributes + "}"));
    };
    CHECK(has(placeholder("{}"), "node \"p\" (placeholder): attribute \"element\" is missing or of another type"));
    CHECK(has(placeholder(R"({"element": 3, "shape": {"shape": []}})"),
              "attribute \"element\" is missing or of another type; there are: element = 3"));
    CHECK(has(placeholder(R"({"element": {"element": "flaot"}, "shape": {"shape": []}})"),
              "attribute \"element\": \"flaot\" is no element type"));
    CHECK(has(placeholder(R"({"element": {"element": "none"}, "shape": {"shape": []}})"), "has no element type"));
    CHECK(has(placeholder(R"({"element": {"element": "float"}, "shape": {"shape": []}, "colour": 1})"),
              "the op has no attribute \"colour\"; it has element, shape"));
    CHECK(has(placeholder(R"({"element": {"colour": 1}, "shape": {"shape": []}})"),
              "attribute \"element\": it must be an integer, a text, a list"));
    CHECK(has(placeholder(R"({"element": {"types": [3]}, "shape": {"shape": []}})"),
              "attribute \"element\": a type must be {\"element\": ..., \"shape\": [...]}, not 3"));
    CHECK(has(placeholder(R"({"element": {"types": {}}, "shape": {"shape": []}})"), "attribute \"element\": "));
    CHECK(has(placeholder("[]"), "\"attributes\" must be an object, not a list"));
    CHECK(has(mistake(graph_of(R"({"name": "n", "op": "no_op", "device": 1})")), "\"device\" must be a text, not 1"));
}

TEST_CASE("sizes that are no sizes, or overflow, are refused before anything is multiplied") {
    const auto shaped = [](const std::string& sizes) {
        return mistake(graph_of(
            R"({"name": "p", "op": "placeholder", "attributes": {"element": {"element": "double"}, "shape": {"shape": )" +
            sizes + "}}}"));
    };
    CHECK(has(shaped("[-1]"), "a size must be a number from 0, a name or null, not -1"));
    CHECK(has(shaped("[1.5]"), "not the number 1.5"));
    CHECK(has(shaped("[\"\"]"), "a size has an empty name"));
    CHECK(has(shaped("[1,1,1,1,1,1,1,1,1]"), "more than 8 sizes"));
    CHECK(has(shaped("[4294967296, 4294967296]"), "overflow: no tensor is that large"));
    CHECK(has(shaped("[9223372036854775807, 0]"), "overflow"));
    CHECK(has(shaped("[2305843009213693952]"), "more than 2^62 bytes"));
    CHECK(has(shaped("[99999999999999999999]"), "not the number 1e+20"));
}

TEST_CASE("shapes that do not fit are told in the rule's own words") {
    const std::string text = mistake(graph_of(R"(
        {"name": "a", "op": "placeholder", "attributes": {"element": {"element": "float"}, "shape": {"shape": ["batch", 784]}}},
        {"name": "b", "op": "placeholder", "attributes": {"element": {"element": "float"}, "shape": {"shape": [300, 10]}}},
        {"name": "c", "op": "matmul", "inputs": ["a", "b"], "attributes": {"transpose_a": 0, "transpose_b": 0}})"));
    CHECK(has(text, "node \"c\" (matmul): matmul: inner dimensions differ: [batch, 784] x [300, 10] (inputs a b)"));
}

TEST_CASE("types that the text states are compared with the rule's") {
    CHECK(has(
        mistake(graph_of(
            scalar_x +
            R"(,{"name": "y", "op": "identity", "inputs": ["x"], "outputs": [{"element": "float", "shape": [2]}]})")),
        "node \"y\" (identity): the text states that output 0 is float[2], the op's rule gives float[]"));
    CHECK(has(mistake(graph_of(scalar_x + R"(,{"name": "y", "op": "identity", "inputs": ["x"], "outputs": []})")),
              "the text states 0 outputs, the op's rule gives 1"));
    CHECK(
        has(mistake(graph_of(scalar_x + R"(,{"name": "y", "op": "identity", "inputs": ["x"], "outputs": ["float"]})")),
            "a type must be"));
}

TEST_CASE("an op with too few or too many inputs is refused by its rule") {
    CHECK(has(mistake(graph_of(R"({"name": "y", "op": "identity"})")), "more operands are needed"));
    CHECK(has(mistake(graph_of(R"({"name": "y", "op": "matmul", "attributes": {"transpose_a": 0, "transpose_b": 0}})")),
              "node \"y\" (matmul)"));
}

TEST_CASE(
    "an array whose bytes or values do not match its sizes is a data_loss_error, and nothing is allocated for it") {
    CHECK(has(defect(constant_of(R"({"element": "float", "shape": [2], "values": [1]})")),
              "float[2] has 2 elements, but there are 1 values"));
    CHECK(has(defect(constant_of(R"({"element": "float", "shape": [2], "base64": "AAAAAA=="})")),
              "float[2] has 8 bytes, but its base64 text of 8 characters does not hold them"));
    CHECK(
        has(defect(constant_of(R"({"element": "float", "shape": [1], "base64": "AAAA!A=="})")), "does not hold them"));
    CHECK(has(defect(constant_of(R"({"element": "double", "shape": [288230376151711744], "base64": ""})")),
              "node \"c\" (constant): attribute \"value\": an array of type"));
    CHECK(has(mistake(constant_of(R"({"element": "double", "shape": [576460752303423489], "base64": ""})")),
              "node \"c\""));
    CHECK(has(mistake(constant_of(R"({"element": "float", "shape": ["batch"], "values": []})")), "not a number"));
    CHECK(has(mistake(constant_of(R"({"element": "float", "shape": [1]})")), "either \"values\" or \"base64\""));
    CHECK(has(mistake(constant_of(R"({"element": "int8", "shape": [1], "values": [128]})")), "128 is no int8"));
    CHECK(has(mistake(constant_of(R"({"element": "bool", "shape": [1], "values": [1]})")),
              "an element must be true or false, not 1"));
    CHECK(has(mistake(constant_of(R"({"element": "bool", "shape": [1], "base64": "Ag=="})")),
              "byte 0 of an array of bool is neither 0 nor 1"));
    CHECK(has(mistake(constant_of(R"({"element": "float", "shape": [1], "values": [1e300]})")), "too large for float"));
    CHECK(has(mistake(constant_of(R"({"element": "half", "shape": [1], "values": [70000]})")), "too large for half"));
    CHECK(
        has(mistake(constant_of(R"({"element": "string", "shape": [1], "values": [1]})")), "a text is needed, not 1"));
    CHECK(has(mistake(constant_of(R"({"element": "string", "shape": [1], "values": [{"hex": "f"}]})")),
              "pairs of the digits"));
    CHECK(has(mistake(constant_of(R"({"element": "none", "shape": [1], "values": [1]})")), "element type"));
}

TEST_CASE("a tape that is not sound is refused") {
    const auto tape = [](const std::string& code, const std::string& outputs) {
        return mistake(fused_of(R"({"inputs": ["float"], "code": [)" + code + R"(], "outputs": [)" + outputs + "]}"));
    };
    CHECK(tape(R"(["input", "float", 0], ["exp", "float", 0])", R"(["float", 1])") == "nothing was thrown");
    CHECK(has(tape(R"(["input", "float", 1])", R"(["float", 0])"),
              "the tape is not sound: an input's index is out of range"));
    CHECK(has(tape(R"(["exp", "float", 0])", R"(["float", 0])"), "a register is used before it is computed"));
    CHECK(has(tape(R"(["input", "float", 0])", R"(["float", 5])"), "an output's register is out of range"));
    CHECK(has(tape(R"(["input", "float", 0])", R"(["float", 0, 7])"), "like an input that is not there"));
    CHECK(has(tape(R"(["input", "float", 0])", ""), "its counts are out of range"));
    CHECK(has(tape(R"(["explode", "float", 0])", R"(["float", 0])"), "\"explode\" is no instruction"));
    CHECK(has(tape(R"(["input", "float", 0], ["add", "float", 0])", R"(["float", 1])"),
              "instruction add takes 2 operands, not 1"));
    CHECK(
        has(tape(R"(["input", "float", 70000])", R"(["float", 0])"), "an operand must be a number from 0, not 70000"));
    CHECK(has(tape(R"(["input", "float", -1])", R"(["float", 0])"), "an operand must be a number from 0, not -1"));
    std::string lines = R"(["input", "float", 0])";
    for (int i = 0; i < 200; ++i) lines += R"(,["exp", "float", 0])";
    CHECK(has(tape(lines, R"(["float", 0])"), "a tape has 201 code, at most 160 can be"));
}

TEST_CASE("members of collections are looked up like inputs") {
    const auto collected = [](const std::string& members) {
        return mistake(R"({"format": "tenon graph", "version": 1, "nodes": [)" + scalar_x +
                       R"(], "collections": {"c": )" + members + "}}");
    };
    CHECK(collected("[\"x\"]") == "nothing was thrown");
    CHECK(has(collected("[\"y\"]"), "a member of collection \"c\" is \"y\", but no node has this name"));
    CHECK(has(collected("[\"x:3\"]"), "collection \"c\" has output 3 of \"x\", which has 1"));
    CHECK(has(collected("3"), "collection \"c\" must be a list, not 3"));
}
