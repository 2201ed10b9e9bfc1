#include <fstream>

#include <tenon/io/numpy/npy.hpp>
#include <tenon/onnx/onnx.hpp>
#include <tenon/ops/image/image_geometry.hpp>
#include <tenon/ops/image/image_resize.hpp>

#include "tests.hpp"
#include "models.hpp"

using namespace made;

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;

// relu(x * w + b), x float [n, 2].
std::string small_net() {
    return model(node("MatMul", {"x", "w"}, {"xw"}) + node("Add", {"xw", "b"}, {"h"}) + node("Relu", {"h"}, {"y"}) +
                 initializer(floats("w", {2, 3}, {1, 2, 3, 4, 5, 6})) + initializer(floats("b", {3}, {-10, 0, 1})) +
                 input(value("x", 1, {"n", "2"})) + output(value("y", 1, {"n", "3"})));
}
const tn::array<float> two_rows{{1, 1}, {2, -1}};

} // namespace

TEST_CASE_FIXTURE(in_graph, "a model becomes nodes of the graph in scope, by its names and with its sizes") {
    const std::string bytes = small_net();
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    CHECK(m.producer == "by hand");
    CHECK(m.opset == 17);
    CHECK(m.input_names == std::vector<std::string>{"x"});
    CHECK(m.output_names == std::vector<std::string>{"y"});
    CHECK(tn::to_string(m.input("x").type()) == "float[n, 2]");
    CHECK(tn::to_string(m.output("y").type()) == "float[n, 3]");
    CHECK(g.tensor("y").node() == m.output("y").node());
    tn::session s(g);
    // [1, 1] * w = [5, 7, 9], [2, -1] * w = [-2, -1, 0]
    CHECK(s.run(tn::feed(m.input("x"), two_rows.untyped().share()), m.output("y")) ==
          tn::array<float>{{0, 7, 10}, {0, 0, 1}}.untyped());
    CHECK(message_of<tn::not_found_error>([&] { (void)m.input("z"); }) ==
          "the ONNX model has no input \"z\"; it has \"x\"");
}

TEST_CASE_FIXTURE(in_graph, "initialisers become variables where they are asked for, and train") {
    const std::string bytes = small_net();
    const tn::onnx_model m = tn::parse_onnx(span(bytes), {.variables = true});
    REQUIRE(m.variables.size() == 2);
    CHECK(m.variables[0].name() == "w");
    CHECK(g.collection(tn::trainable_variables).size() == 2);
    tn::session s(g);
    s.run(tn::untyped::initialize_variables(m.variables));
    const auto x = [&] { return tn::feed(m.input("x"), two_rows.untyped().share()); };
    CHECK(s.run(x(), m.output("y")) == tn::array<float>{{0, 7, 10}, {0, 0, 1}}.untyped());
    // The gradient of the sum in b counts the rows that are not cut off.
    const tn::any_tensor loss = tn::untyped::sum(m.output("y"));
    const auto step = tn::gradient_descent(1.0).minimize(tn::as<float, tn::shape<>>(loss));
    s.run(tn::initialize_variables());
    s.run(x(), step);
    CHECK(s.run(m.variables[1]) == tn::array<float>{-10, -1, -1}.untyped());
    // And goes out with the values that it has now.
    const std::string trained = tn::onnx_bytes(s, {{"x", m.input("x")}}, {{"y", m.output("y")}});
    const own_graph second;
    const tn::onnx_model again = tn::parse_onnx(span(trained));
    CHECK(tn::session(second).run(tn::feed(again.input("x"), two_rows.untyped().share()), again.output("y")) ==
          s.run(x(), m.output("y")));
}

TEST_CASE_FIXTURE(in_graph, "all operators that are not read are named in one error, before a node is added") {
    const std::string bytes = model(node("Gropple", {"x"}, {"a"}) + node("Relu", {"a"}, {"b"}) +
                                    node("Gropple", {"b"}, {"c"}) + node("Fancy", {"c"}, {"y"}, {}, "com.example") +
                                    input(value("x", 1, {"2"})) + output(value("y", 1, {"2"})));
    CHECK(message_of<tn::unimplemented_error>([&] { tn::parse_onnx(span(bytes)); }) ==
          "parse_onnx: ONNX data: the model has operators that are not read: Gropple (2 nodes), com.example.Fancy; "
          "onnx_operators() lists those that are");
    CHECK(g.size() == 0);
    CHECK(message_of<tn::unimplemented_error>([&] {
              const std::string both =
                  model(node("ReduceSum", {"x", "s"}, {"a"}) + node("CumSum", {"x", "s"}, {"b"}) +
                        input(value("x", 1, {"2"})) + input(value("s", 7, {"1"})) + output(value("a", 1, {"1"})));
              tn::parse_onnx(span(both));
          }) == "parse_onnx: ONNX data: what these nodes ask for is not done:\n"
                "    ReduceSum that gives \"a\": the axes, input \"s\", is computed in the step; it must be known "
                "when the graph is "
                "built (where it is an input of the model, give it in onnx_read_options::values)\n"
                "    CumSum that gives \"b\": the axis, input \"s\", is computed in the step; it must be known when "
                "the graph is built "
                "(where it is an input of the model, give it in onnx_read_options::values)");
}

TEST_CASE_FIXTURE(in_graph, "sizes that are computed of sizes are followed: a batch keeps its name") {
    // reshape(x, concat(shape(x)[0:1], [-1])), as PyTorch writes x.reshape(x.shape[0], -1)
    const std::string bytes = model(
        node("Shape", {"x"}, {"s"}) + node("Gather", {"s", "zero"}, {"n"}, int_attribute("axis", 0)) +
        node("Unsqueeze", {"n", "axes"}, {"n1"}) + node("Concat", {"n1", "rest"}, {"to"}, int_attribute("axis", 0)) +
        node("Reshape", {"x", "to"}, {"y"}) + initializer(integers("zero", {}, {0})) +
        initializer(integers("axes", {1}, {0})) + initializer(integers("rest", {1}, {-1})) +
        input(value("x", 1, {"n", "2", "3"})) + output(value("y", 1, {"n", "6"})));
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    CHECK(tn::to_string(m.output("y").type()) == "float[n, 6]");
    const tn::onnx_model fixed = tn::parse_onnx(span(bytes), {.sizes = {{"x", {4, 2, 3}}}});
    CHECK(tn::to_string(fixed.output("y").type()) == "float[4, 6]");
}

TEST_CASE_FIXTURE(
    in_graph, "sizes that are computed of sizes have names: rows of heads, places up to a length, all of a dimension") {
    // As PyTorch writes x.view(n * 2, t, 3), of that .view(n, 2, -1, t), x + places[t - t:t] and x.sort().
    const std::string bytes = model(
        node("Shape", {"x"}, {"s"}) + node("Gather", {"s", "zero"}, {"n"}) + node("Gather", {"s", "first"}, {"t"}) +
        node("Mul", {"n", "two"}, {"m"}) + node("Reshape", {"m", "rest"}, {"m1"}) +
        node("Reshape", {"n", "one"}, {"n1"}) +
        node("Concat", {"m1", "t", "three"}, {"apart"}, int_attribute("axis", 0)) +
        node("Reshape", {"x", "apart"}, {"rows"}) +
        node("Concat", {"n1", "pair", "rest", "t"}, {"heads"}, int_attribute("axis", 0)) +
        node("Reshape", {"rows", "heads"}, {"y"}) + node("Sub", {"t", "t"}, {"from"}) +
        node("Slice", {"places", "from", "t"}, {"early"}) + node("Add", {"x", "early"}, {"z"}) +
        node("Gather", {"s", "last"}, {"k"}) + node("TopK", {"x", "k"}, {"sorted", "where"}) +
        initializer(integers("zero", {}, {0})) + initializer(integers("first", {1}, {1})) +
        initializer(integers("last", {1}, {2})) + initializer(integers("two", {}, {2})) +
        initializer(integers("rest", {1}, {-1})) + initializer(integers("one", {1}, {1})) +
        initializer(integers("three", {1}, {3})) + initializer(integers("pair", {1}, {2})) +
        initializer(floats("places", {3, 6}, std::vector<float>(18, 0.5f))) + input(value("x", 1, {"n", "t", "6"})) +
        output(value("rows", 1, {"m", "t", "3"})) + output(value("y", 1, {"n", "2", "3", "t"})) +
        output(value("z", 1, {"n", "t", "6"})) + output(value("sorted", 1, {"n", "t", "6"})));
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    CHECK(tn::to_string(m.output("rows").type()) == "float[m, t, 3]");
    CHECK(tn::to_string(m.output("y").type()) == "float[n, 2, 3, t]");
    CHECK(tn::to_string(m.output("z").type()) == "float[n, t, 6]");
    tn::array<float, tn::shape<3, 2, 6>> x;
    for (int i = 0; i < 36; ++i) x.data()[i] = static_cast<float>(i);
    tn::session sess;
    const auto values = sess.run_untyped({tn::feed(m.input("x"), x)}, m.outputs);
    CHECK(values[0].extents() == tn::extents(6, 2, 3));
    CHECK(values[1].extents() == tn::extents(3, 2, 3, 2));
    for (int i = 0; i < 36; ++i) {
        CHECK(values[1].data<float>()[i] == static_cast<float>(i));
        CHECK(values[2].data<float>()[i] == static_cast<float>(i) + 0.5f);
        CHECK(values[3].data<float>()[i] == static_cast<float>(i - i % 6 + 5 - i % 6));
    }
}

TEST_CASE("a size that is multiplied by itself again and again has no name of as many factors") {
    std::string nodes = node("Shape", {"x"}, {"n0"});
    for (int i = 0; i < 60; ++i) {
        const std::string n = "n" + std::to_string(i);
        nodes += node("Mul", {n, n}, {"n" + std::to_string(i + 1)});
    }
    const own_graph g;
    const tn::onnx_model m = tn::parse_onnx(span(model(nodes + node("Reshape", {"x", "n60"}, {"y"}) +
                                                       input(value("x", 1, {"n"})) + output(value("y", 1, {"n"})))));
    CHECK(tn::to_string(m.output("y").type()) == "float[n]");
}

TEST_CASE_FIXTURE(
    in_graph, "a token is repeated for a batch, -1 being as it is, and pixels come of channels in images of any size") {
    // As PyTorch writes token.expand(n, -1, -1) and pixel_shuffle(x, 2).
    const std::string bytes =
        model(node("Shape", {"x"}, {"s"}) + node("Gather", {"s", "zero"}, {"n"}) +
              node("Concat", {"n", "same", "same"}, {"wanted"}, int_attribute("axis", 0)) +
              node("Equal", {"wanted", "all_same"}, {"kept"}) + node("Where", {"kept", "ones", "wanted"}, {"sizes"}) +
              node("Expand", {"token", "sizes"}, {"tokens"}) +
              node("DepthToSpace", {"x"}, {"y"}, int_attribute("blocksize", 2) + text_attribute("mode", "CRD")) +
              initializer(integers("zero", {1}, {0})) + initializer(integers("same", {1}, {-1})) +
              initializer(integers("all_same", {3}, {-1, -1, -1})) + initializer(integers("ones", {3}, {1, 1, 1})) +
              initializer(floats("token", {1, 1, 2}, {7, 8})) + input(value("x", 1, {"n", "4", "h", "w"})) +
              output(value("tokens", 1, {"n", "1", "2"})) + output(value("y", 1, {"n", "1", "h2", "w2"})));
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    CHECK(tn::to_string(m.output("tokens").type()) == "float[n, 1, 2]");
    tn::array<float, tn::shape<3, 4, 2, 3>> x;
    for (int i = 0; i < 72; ++i) x.data()[i] = static_cast<float>(i);
    tn::session sess;
    const auto values = sess.run_untyped({tn::feed(m.input("x"), x)}, m.outputs);
    CHECK(values[0] == tn::array<float>{{{7, 8}}, {{7, 8}}, {{7, 8}}}.untyped());
    REQUIRE(values[1].extents() == tn::extents(3, 1, 4, 6));
    for (int n = 0; n < 3; ++n)
        for (int i = 0; i < 4; ++i)
            for (int j = 0; j < 6; ++j)
                CHECK(values[1].data<float>()[(n * 4 + i) * 6 + j] == x(n, i % 2 * 2 + j % 2, i / 2, j / 2));
}

TEST_CASE("a size that is said of one input is that of its name in others") {
    const std::string bytes = model(node("Add", {"x", "b"}, {"y"}) + input(value("b", 1, {"n", "1"})) +
                                    input(value("x", 1, {"n", "m"})) + output(value("y", 1, {"n", "m"})));
    const own_graph g;
    const tn::onnx_model m = tn::parse_onnx(span(bytes), {.sizes = {{"x", {4, 3}}}});
    CHECK(tn::to_string(m.input("b").type()) == "float[4, 1]");
    CHECK(tn::to_string(m.output("y").type()) == "float[4, 3]");
}

TEST_CASE("a size whose name begins with a zero byte has none") {
    const std::string bytes = model(node("Relu", {"x"}, {"y"}) + input(value("x", 1, {std::string("\0n", 2), "2"})) +
                                    output(value("y", 1, {"n", "2"})));
    const own_graph g;
    CHECK(tn::to_string(tn::parse_onnx(span(bytes)).input("x").type()) == "float[?, 2]");
}

TEST_CASE("bytes that are no model, or do not agree with themselves, say where") {
    const std::string good = small_net();
    CHECK(message_of<tn::data_loss_error>([&] {
              const std::string cut = good.substr(0, good.size() - 1);
              tn::parse_onnx(span(cut), {}, "cut");
          }).find("parse_onnx: cut: these bytes are no ONNX model: a value of") == 0);
    CHECK(message_of<tn::data_loss_error>([] { tn::parse_onnx({}); }) ==
          "parse_onnx: ONNX data: these bytes are no ONNX model: there is no graph in them");
    const auto of = [](const std::string& graph) {
        const std::string bytes = model(graph);
        const own_graph g;
        tn::parse_onnx(span(bytes), {}, "m");
    };
    CHECK(message_of<tn::data_loss_error>([&] {
              of(initializer(floats("w", {2, 3}, {1, 2})));
          }) == "parse_onnx: m: tensor \"w\": float[2, 3] needs 24 bytes; there are 8");
    CHECK(message_of<tn::data_loss_error>([&] {
              of(initializer(floats("w", {1ULL << 62, 8}, {1, 2})));
          }).find("its sizes [4611686018427387904, 8] are too large") != std::string::npos);
    CHECK(message_of<tn::invalid_argument_error>([&] { of(node("Relu", {"h"}, {"y"})); }) ==
          "parse_onnx: m: Relu that gives \"y\": there is no value \"h\" yet: nodes stand before those that read what "
          "they give");
    CHECK(message_of<tn::invalid_argument_error>([&] {
              of(node("MatMul", {"x", "x"}, {"y"}) + input(value("x", 1, {"2", "3"})));
          }) ==
          "parse_onnx: m: MatMul that gives \"y\": matmul: inner dimensions differ: [2, 3] x [2, 3] (inputs x x)");
    CHECK(message_of<tn::unimplemented_error>([&] { of(input(value("x", 14, {"2"}))); }) ==
          "parse_onnx: m: input \"x\" has elements of ONNX's data type 14, which is not read");
}

TEST_CASE_FIXTURE(in_folder, "elements in files beside the model are read, and none from elsewhere") {
    const auto with = [&](const std::string& location, std::uint64_t offset) {
        const std::string tensor = dims({2}) + number(2, 1) + bytes(8, "w") +
                                   bytes(13, bytes(1, "location") + bytes(2, location)) +
                                   bytes(13, bytes(1, "offset") + bytes(2, std::to_string(offset))) + number(14, 1);
        std::ofstream(folder / "m.onnx", std::ios::binary)
            << model(node("Identity", {"w"}, {"y"}) + initializer(tensor) + output(value("y", 1, {"2"})));
        return folder / "m.onnx";
    };
    std::ofstream(folder / "w.bin", std::ios::binary) << raw(std::vector<float>{7, 8, 9});
    const own_graph g;
    const tn::onnx_model m = tn::read_onnx(with("w.bin", 4));
    CHECK(tn::session(g).run(m.output("y")) == tn::array<float>{8, 9}.untyped());
    CHECK(message_of<tn::data_loss_error>([&] {
              tn::read_onnx(with("w.bin", 8));
          }).find("bytes 8 to 16 of the file \"w.bin\" are asked for, which has 12") != std::string::npos);
    for (const char* elsewhere : {"../w.bin", "/etc/passwd", "a/../../w.bin"})
        CHECK(message_of<tn::invalid_argument_error>([&] {
                  tn::read_onnx(with(elsewhere, 0));
              }).find("which is not in the model's folder; it is not read") != std::string::npos);
}

namespace {

// Convolutions, pools, products and a softmax of Tenon's own, with variables; images have channels last.
struct network {
    tn::tensor<float, tn::shape<batch, 8, 8, 1>> x = tn::placeholder<float, tn::shape<batch, 8, 8, 1>>("images");
    tn::any_tensor y;
    network() {
        const auto k = tn::variable<float, tn::shape<3, 3, 1, 4>>("k", tn::glorot_uniform(1));
        const auto c = tn::variable<float, tn::shape<4>>("c", tn::truncated_normal(0, 1, 2));
        const auto w = tn::variable<float, tn::shape<64, 5>>("w", tn::glorot_uniform(3));
        const auto h = tn::max_pool2d<2>(relu(tn::conv2d<1, tn::same>(x, k) + c));
        const auto flat = tn::flatten<1>(h);
        const auto logits = tn::matmul(flat, w) * 0.5f + 1.0f;
        y = tn::softmax(logits);
    }
};

} // namespace

TEST_CASE("a graph of Tenon's goes out with its variables' values and comes back as what computes the same") {
    const own_graph g;
    const network net;
    initialized_session s(g);
    tn::array<float> images(tn::extents{3, 8, 8, 1});
    for (std::int64_t i = 0; i < images.untyped().elements(); ++i) images.data()[i] = std::sin(static_cast<float>(i));
    const tn::any_array before = s.run(tn::feed(net.x, images), net.y);
    const temporary_folder folder;
    tn::write_onnx(s, folder / "net.onnx", {{"images", net.x}}, {{"chances", net.y}});

    const own_graph second;
    const tn::onnx_model m = tn::read_onnx(folder / "net.onnx");
    CHECK(m.producer == "tenon");
    CHECK(tn::to_string(m.input("images").type()) == "float[batch, 8, 8, 1]");
    const tn::any_array after =
        tn::session(second).run(tn::feed(m.input("images"), images.untyped().share()), m.output("chances"));
    CHECK(tn::all_close(after, before, 1e-5, 1e-6));
}

TEST_CASE_FIXTURE(in_graph, "pools go out and come back as they are: dilated, and with windows for what is left over") {
    const auto x = tn::placeholder<float, tn::shape<2, 7, 8, 3>>("x");
    constexpr tn::pool2d_options rounded{.window = 3, .stride = 2, .padding = tn::pad(1, 0), .ceil_mode = true},
        dilated{.window = {2, 3}, .stride = 1, .padding = tn::pad(1), .dilation = {3, 2}};
    const std::vector<tn::named_tensor> pools{{"a", tn::max_pool2d<rounded>(x)},
                                              {"b", tn::average_pool2d<rounded>(x)},
                                              {"c", tn::max_pool2d<dilated>(x)},
                                              {"d", tn::average_pool2d<dilated>(x)}};
    tn::array<float> images(tn::extents{2, 7, 8, 3});
    for (std::int64_t i = 0; i < images.untyped().elements(); ++i) images.data()[i] = std::sin(static_cast<float>(i));
    tn::session s(g);
    const std::string bytes = tn::onnx_bytes(s, {{"x", x}}, pools);
    const own_graph second;
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    CHECK(m.opset == 19);
    tn::session t(second);
    for (const auto& [name, y] : pools)
        CHECK(tn::all_close(t.run(tn::feed(m.input("x"), images.untyped().share()), m.output(name)),
                            s.run(tn::feed(x, images), y), 1e-6, 1e-6));
}

TEST_CASE_FIXTURE(
    in_graph, "images in other sizes, diagonals and losses go out and come back, without a value that no node reads") {
    const auto x = tn::placeholder<float, tn::shape<batch, 6, 8, 2>>("x");
    const auto rows = tn::placeholder<float, tn::shape<batch, 5>>("rows");
    const auto labels = tn::placeholder<std::int32_t, tn::shape<batch>>("labels");
    const auto squares = tn::einsum<"bi,bj->bij">(rows, rows);
    const auto bytes = tn::cast<std::int8_t>(rows * 40.0f);
    const auto turned = tn::reshape<tn::shape<6, 8, 2>>(tn::slice<tn::range{0, 1}>(x)); // a single one
    const std::vector<tn::named_tensor> outputs{{"larger", tn::resize<tn::bilinear, 9, 11>(x)},
                                                {"single", tn::resize<tn::bilinear, 4, 11>(turned)},
                                                {"nearest", tn::resize<tn::nearest, 4, 11>(x)},
                                                {"means", tn::resize<tn::interpolation::area, 3, 2>(x)},
                                                {"fitted", tn::resize_with_crop_or_pad<9, 5>(x, 2)},
                                                {"diagonal", tn::diagonal<-2>(squares)},
                                                {"above", tn::diag_embed<2>(rows)},
                                                {"below", tn::diag_embed<-1>(rows)},
                                                {"sparse", tn::sparse_softmax_cross_entropy(rows, labels)},
                                                {"dense", tn::softmax_cross_entropy(rows, tn::softmax(rows))},
                                                {"bytes", tn::matmul<tn::transpose_b>(bytes, bytes)},
                                                {"classes", tn::one_hot<3>(labels)}};
    tn::array<float> images(tn::extents{2, 6, 8, 2});
    for (std::int64_t i = 0; i < images.untyped().elements(); ++i) images.data()[i] = std::sin(static_cast<float>(i));
    const tn::array<float> values{{1, -2, 0.5f, 3, 0}, {0.25f, 2, -1, 1, -3}};
    const tn::array<std::int32_t> known{4, 1};
    tn::session s(g);
    const std::string model = tn::onnx_bytes(s, {{"x", x}, {"rows", rows}, {"labels", labels}}, outputs);
    CHECK(message_of<tn::unimplemented_error>([&] {
              tn::onnx_bytes(s, {{"x", x}}, {{"y", tn::resize<tn::interpolation::area, 4, 4>(x)}});
          }).find("means of areas that are not so many whole pixels") != std::string::npos);

    const tn::any_tensor unread = [] {
        const tn::name_scope in("unread");
        return tn::constant({0.5f, 4.0f});
    }();
    CHECK(tn::onnx_bytes(s, {}, {{"y", tn::untyped::add(unread, 1)}}).find("unread") != std::string::npos);
    CHECK(tn::onnx_bytes(s, {}, {{"y", tn::untyped::zeros_like(unread)}}).find("unread") == std::string::npos);

    const own_graph second;
    const tn::onnx_model m = tn::parse_onnx(span(model));
    tn::session t(second);
    for (const auto& [name, y] : outputs) {
        CAPTURE(name);
        CHECK(tn::all_close(
            t.run(tn::feed(m.input("x"), images.untyped().share()), tn::feed(m.input("rows"), values.untyped().share()),
                  tn::feed(m.input("labels"), known.untyped().share()), m.output(name)),
            s.run(tn::feed(x, images), tn::feed(rows, values), tn::feed(labels, known), y), 1e-6, 1e-6));
    }
}

TEST_CASE_FIXTURE(in_graph, "a tensor that is given no name is called as its node") {
    const auto x = tn::placeholder<float, tn::shape<3>>("x");
    const auto y = tn::identity(x * 2.0f, "twice");
    tn::session s(g);
    const std::string bytes = tn::onnx_bytes(s, {x}, {y});
    CHECK(bytes == tn::onnx_bytes(s, {{"x", x}}, {{"twice", y}}));
    const own_graph second;
    const tn::onnx_model m = tn::parse_onnx(span(bytes));
    const auto value = tn::array<float>{1, 2, 3};
    CHECK(tn::session(second).run(tn::feed(m.input("x"), value.untyped().share()), m.output("twice")) ==
          tn::array<float>{2, 4, 6}.untyped());
}

TEST_CASE_FIXTURE(in_graph, "what cannot be written is named: every op, a placeholder that is no input, a name twice") {
    const auto x = tn::placeholder<float, tn::shape<3>>("x");
    const tn::any_tensor noise = tn::untyped::random_bernoulli({3}, 0.5), deep = tn::untyped::digamma(x);
    tn::session s(g);
    const std::string said = message_of<tn::unimplemented_error>([&] {
        tn::onnx_bytes(s, {{"x", x}}, {{"a", noise}, {"b", deep}});
    });
    CHECK(said.find("onnx_bytes: ONNX is not written for these nodes: ") == 0);
    CHECK(said.find("(random_bernoulli)") != std::string::npos);
    CHECK(said.find("the function digamma of float") != std::string::npos);
    const tn::any_tensor y = tn::untyped::add(x, 1);
    CHECK(message_of<tn::invalid_argument_error>([&] {
              tn::onnx_bytes(s, {}, {{"y", y}});
          }) == "onnx_bytes: \"x\" is a placeholder that the outputs need; name it among the inputs");
    CHECK(message_of<tn::invalid_argument_error>([&] {
              tn::onnx_bytes(s, {{"y", x}}, {{"y", y}});
          }) == "onnx_bytes: the name \"y\" is given twice");
}

// What test/onnx/cases.sh runs with ONNX Runtime.
TEST_CASE("a model for ONNX Runtime" * doctest::skip(std::getenv("TENON_ONNX_FOLDER") == nullptr)) {
    const std::string folder = std::getenv("TENON_ONNX_FOLDER");
    const own_graph g;
    const network net;
    initialized_session s(g);
    tn::array<float> images(tn::extents{3, 8, 8, 1});
    for (std::int64_t i = 0; i < images.untyped().elements(); ++i) images.data()[i] = std::cos(static_cast<float>(i));
    tn::write_onnx(s, folder + "/net.onnx", {{"images", net.x}}, {{"chances", net.y}});
    tn::write_npy(folder + "/images.npy", images.untyped());
    tn::write_npy(folder + "/chances.npy", s.run(tn::feed(net.x, images), net.y));
}
