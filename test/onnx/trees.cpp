#include <tenon/onnx/onnx.hpp>

#include "tests.hpp"
#include "models.hpp"
#include "ops/untyped_run.hpp"

// Models of the first operator sets, and of decision trees: what is wrong with them is said. What they compute is compared with ONNX Runtime,
// of models that older.py writes.

using namespace made;

namespace {

std::string reals_attribute(const std::string& name, const std::vector<float>& v) {
    return bytes(5, bytes(1, name) + bytes(7, raw(v)) + number(20, 6));
}
std::string texts_attribute(const std::string& name, std::initializer_list<std::string> v) {
    std::string all;
    for (const auto& s : v) all += bytes(9, s);
    return bytes(5, bytes(1, name) + all + number(20, 8));
}

std::string list_attribute(const std::string& name, const std::vector<std::int64_t>& v) {
    std::string packed;
    for (const auto i : v) packed += varint(static_cast<std::uint64_t>(i));
    return bytes(5, bytes(1, name) + bytes(8, packed) + number(20, 7));
}

// x[1] < 0.5 ? 10 : x[0] <= 2 ? 20 : 30; where x[1] is missing, 10.
struct tree {
    std::vector<std::int64_t> nodes{7, 1, 2, 3, 4}, columns{1, 0, 0, 0, 0}, yes{1, 0, 3, 0, 0}, no{2, 0, 4, 0, 0};
    std::string mode = "BRANCH_LT";
    std::string attributes() const {
        return ints_attribute("nodes_treeids", {0, 0, 0, 0, 0}) + list_attribute("nodes_nodeids", nodes) +
               list_attribute("nodes_featureids", columns) + reals_attribute("nodes_values", {0.5F, 0, 2, 0, 0}) +
               texts_attribute("nodes_modes", {mode, "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"}) +
               list_attribute("nodes_truenodeids", yes) + list_attribute("nodes_falsenodeids", no) +
               ints_attribute("nodes_missing_value_tracks_true", {1, 0, 0, 0, 0}) +
               ints_attribute("target_treeids", {0, 0, 0}) + ints_attribute("target_nodeids", {1, 3, 4}) +
               ints_attribute("target_ids", {0, 0, 0}) + reals_attribute("target_weights", {10, 20, 30});
    }
    std::string model_of(const std::string& more = {}) const {
        return model(node("TreeEnsembleRegressor", {"x"}, {"y"}, attributes() + more, "ai.onnx.ml") +
                     input(value("x", 1, {"n", "2"})) + output(value("y", 1, {"n", "1"})));
    }
};
tn::onnx_model read(const std::string& bytes) { return tn::parse_onnx(span(bytes)); }
std::vector<tn::any_array> run(const tn::onnx_model& m, const tn::any_array& x) {
    return tn::session(m.in).run_untyped(tn::test::fed(m.input("x"), x), m.outputs);
}
std::string refusal(const std::string& bytes) {
    const own_graph g;
    return message_of<tn::invalid_argument_error>([&] { (void)read(bytes); });
}

} // namespace

TEST_CASE_FIXTURE(in_graph, "a decision tree says which leaf each row comes to, also where a value is missing") {
    const tn::onnx_model m = read(tree().model_of());
    const tn::array<float> x{{5, 0}, {5, 1}, {2, 1}, {2, NAN}, {NAN, 1}};
    const auto y = run(m, x.untyped());
    CHECK(y[0] == tn::array<float>{{10}, {30}, {20}, {10}, {30}}.untyped());
}

TEST_CASE("as many trees for a class as against it make the first one, whatever their chances are rounded to") {
    std::vector<std::int64_t> zeros, trees, ones;
    std::vector<float> chances, limits;
    std::string modes;
    for (std::int64_t t = 0; t < 20; ++t) { // each is one leaf
        trees.push_back(t);
        zeros.push_back(0);
        ones.push_back(1);
        limits.push_back(0);
        chances.push_back(t % 2 == 0 ? 0.05F : 0);
        modes += bytes(9, "LEAF");
    }
    const std::string lists = list_attribute("nodes_treeids", trees) + list_attribute("nodes_nodeids", zeros) +
                              list_attribute("nodes_featureids", zeros) + reals_attribute("nodes_values", limits) +
                              bytes(5, bytes(1, "nodes_modes") + modes + number(20, 8)) +
                              list_attribute("nodes_truenodeids", zeros) + list_attribute("nodes_falsenodeids", zeros) +
                              list_attribute("class_treeids", trees) + list_attribute("class_nodeids", zeros) +
                              list_attribute("class_ids", ones) + reals_attribute("class_weights", chances) +
                              list_attribute("classlabels_int64s", {7, 8});
    const own_graph g;
    const tn::onnx_model m = read(model(
        node("TreeEnsembleClassifier", {"x"}, {"label", "chances"}, lists, "ai.onnx.ml") +
        input(value("x", 1, {"n", "1"})) + output(value("label", 7, {"n"})) + output(value("chances", 1, {"n", "2"}))));
    const auto y = run(m, tn::array<float>{{1}}.untyped());
    CHECK(y[1] == tn::array<float>{{0.5F, 0.5F}}.untyped());
    CHECK(y[0] == tn::array<std::int64_t>{7}.untyped());
}

TEST_CASE("what is wrong with a decision tree is named") {
    tree t;
    t.no = {2, 0, 7, 0, 0};
    CHECK(contains(refusal(t.model_of()), "it has nodes to which no way leads from a root"));
    t = {};
    t.yes = {1, 0, 2, 0, 0};
    t.no = {3, 0, 4, 0, 0};
    CHECK(contains(refusal(t.model_of()), "it has nodes to which no way leads from a root"));
    t = {};
    t.no = {2, 0, 3, 0, 0};
    CHECK(contains(refusal(t.model_of()), "tree 0 has 2 nodes that are below no other"));
    t = {};
    t.yes = {1, 0, 2, 0, 0};
    CHECK(contains(refusal(t.model_of()), "tree 0 has 2 nodes that are below no other"));
    t = {};
    t.no = {9, 0, 4, 0, 0};
    CHECK(contains(refusal(t.model_of()), "tree 0 has no node 9"));
    t = {};
    t.nodes = {7, 1, 2, 3, 3};
    CHECK(contains(refusal(t.model_of()), "tree 0 has node 3 twice"));
    t = {};
    t.columns = {2, 0, 0, 0, 0};
    CHECK(contains(refusal(t.model_of()), "its trees ask for column 2 of rows of 2"));
    t = {};
    t.mode = "BRANCH";
    CHECK(contains(refusal(t.model_of()), "a node's mode is \"BRANCH\""));
    t = {};
    t.columns = {1, 0};
    CHECK(contains(refusal(t.model_of()), "its lists of nodes have different lengths"));
    CHECK(contains(refusal(tree().model_of(text_attribute("aggregate_function", "MEDIAN"))),
                   "its aggregate_function is \"MEDIAN\""));
    CHECK(contains(refusal(tree().model_of(text_attribute("post_transform", "SQUARE"))),
                   "its post_transform is \"SQUARE\""));
    CHECK(contains(refusal(tree().model_of(reals_attribute("base_values", {1, 2}))),
                   "it has 2 base values for 1 results"));
}

TEST_CASE("labels of a classifier may be texts") {
    const std::string lists = texts_attribute("classlabels_strings", {"cat", "dog", "owl"}) +
                              reals_attribute("intercepts", {0, 0.5F, 0}) +
                              reals_attribute("coefficients", {1, 0, 0, 1, -1, -1});
    const own_graph g;
    const tn::onnx_model m = read(model(node("LinearClassifier", {"x"}, {"label", "scores"}, lists, "ai.onnx.ml") +
                                        input(value("x", 1, {"n", "2"})) + output(value("label", 8, {"n"})) +
                                        output(value("scores", 1, {"n", "3"}))));
    const tn::array<float> x{{2, 1}, {0, 0}, {-1, -1}};
    const auto y = run(m, x.untyped());
    CHECK(y[0] == tn::array<std::string>{"cat", "dog", "owl"}.untyped());
    CHECK(y[1] == tn::array<float>{{2, 1.5F, -3}, {0, 0.5F, 0}, {-1, -0.5F, 2}}.untyped());
}

TEST_CASE("what is wrong with nodes of the first operator sets is named") {
    const auto two = [](const std::string& nodes) {
        return refusal(model(nodes + initializer(floats("b", {3}, {1, 2, 3})) + input(value("x", 1, {"2", "3", "4"})) +
                                 output(value("y", 1, {"2", "3", "4"})),
                             1));
    };
    CHECK(contains(two(node("Add", {"x", "b"}, {"y"}, int_attribute("broadcast", 1) + int_attribute("axis", 3))),
                   "axis 3 is none of a tensor of 3 dimensions"));
    CHECK(contains(two(node("Add", {"b", "x"}, {"y"}, int_attribute("broadcast", 1) + int_attribute("axis", 0))),
                   "its second input, of 3 dimensions, does not lie within the first from axis 0 on"));
    CHECK(contains(two(node("Cast", {"x"}, {"y"}, text_attribute("to", "REAL"))),
                   "it converts to \"REAL\", which is no element type"));
    CHECK(contains(two(node("LpPool", {"x"}, {"y"}, ints_attribute("kernel_shape", {2}) + int_attribute("p", 0))),
                   "p is 0; it may be from 1 to 2^20"));
    CHECK(contains(two(node("Crop", {"x"}, {"y"}, ints_attribute("border", {0, 0, 0, 0}))),
                   "its input has 3 dimensions; 4 are needed"));
}
