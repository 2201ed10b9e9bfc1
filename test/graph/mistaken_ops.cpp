#include <stdexcept>

#include "tests.hpp"

// What a program's own op does wrong is said in one sentence that names the op.

namespace {

template <class Self> struct like_input {
    using attributes = tn::no_attributes;
    static tn::inferred infer(const attributes&, tn::type_list in, int) { return in[0]; }
};

struct of_other_sizes_op : like_input<of_other_sizes_op> {
    static constexpr const char* name = "test_other_sizes";
    static void gradient(tn::gradient_context& g) { g.set(0, tn::untyped::sum(g.output_gradient())); }
};
struct of_no_input_op : like_input<of_no_input_op> {
    static constexpr const char* name = "test_no_input";
    static void gradient(tn::gradient_context& g) { g.set(1, g.output_gradient()); }
};
struct before_inputs_op : like_input<before_inputs_op> {
    static constexpr const char* name = "test_before_inputs";
    static void gradient(tn::gradient_context& g) { g.set(0, g.input(-1)); }
};
struct of_no_output_op : like_input<of_no_output_op> {
    static constexpr const char* name = "test_no_output";
    static void gradient(tn::gradient_context& g) { g.set(0, g.output_gradient(1)); }
};
struct stumbling_op : like_input<stumbling_op> {
    static constexpr const char* name = "test_stumbling";
    static void gradient(tn::gradient_context&) { throw std::runtime_error("no slope today"); }
};
struct refused_inside_op : like_input<refused_inside_op> {
    static constexpr const char* name = "test_refused_inside";
    static void gradient(tn::gradient_context& g) { g.set(0, tn::untyped::matmul(g.input(0), g.input(0))); }
};

struct stumbling_rule_op {
    static constexpr const char* name = "test_stumbling_rule";
    using attributes = tn::no_attributes;
    static tn::inferred infer(const attributes&, tn::type_list in, int) {
        if (in[0].extents[0].is_number()) throw std::runtime_error("numbers frighten me");
        return in[0];
    }
};
struct shorter_op {
    static constexpr const char* name = "test_shorter";
    using attributes = tn::no_attributes;
    static tn::inferred infer(const attributes&, tn::type_list in, int) {
        tn::extents e;
        e.push_back(in[0].extents[0].is_number() ? tn::extent(in[0].extents[0].size - 5) : tn::extent());
        return tn::inferred(in[0].element, e);
    }
};

struct clashing_op : like_input<clashing_op> {
    static constexpr const char* name = "softmax";
};
struct first_of_two_op : like_input<first_of_two_op> {
    static constexpr const char* name = "test_two_of_a_name";
};
struct second_of_two_op : like_input<second_of_two_op> {
    static constexpr const char* name = "test_two_of_a_name";
};
struct nameless_op : like_input<nameless_op> {
    static constexpr const char* name = "";
};

template <class Error, class Op> std::string gradient_of() {
    const tn::any_tensor x = tn::untyped::placeholder(tn::element_type::float32, {2, 3});
    const tn::any_tensor y = tn::untyped::sum(tn::add<Op>({}, {x}, "mine"));
    return message_of<Error>([&] { (void)tn::gradients(y, std::vector<tn::any_tensor>{x}); });
}

} // namespace

TEST_CASE_FIXTURE(in_graph, "a gradient function that is wrong is told so, by op and node, and nothing is lost") {
    CHECK(contains(gradient_of<tn::internal_error, of_other_sizes_op>(),
                   "gradient of test_other_sizes (mine): input 0 is float[2, 3], its gradient float[]; the op's "
                   "gradient function must give what is like the input"));
    CHECK(gradient_of<tn::invalid_argument_error, of_no_input_op>() ==
          "gradient of test_no_input (mine_1): there is no input 1; mine_1 has 1");
    CHECK(contains(gradient_of<tn::invalid_argument_error, before_inputs_op>(), "there is no input -1;"));
    CHECK(contains(gradient_of<tn::invalid_argument_error, of_no_output_op>(), "there is no output 1;"));
    CHECK(gradient_of<tn::internal_error, stumbling_op>() == "gradient of test_stumbling (mine_4): no slope today");
    CHECK(contains(gradient_of<tn::invalid_argument_error, refused_inside_op>(),
                   "gradient of test_refused_inside (mine_5): matmul: inner dimensions differ"));
    const auto x = tn::placeholder<float, tn::shape<2>>("x");
    const auto [dx] = tn::gradients(tn::sum(x * x), x);
    tn::session s;
    CHECK(s.run(tn::feed(x, {1, 2}), dx)(1) == 4);
}

TEST_CASE_FIXTURE(in_graph,
                  "a rule that throws, or gives a negative size, is told so when a node is made and in a step") {
    const tn::any_tensor three = tn::untyped::placeholder(tn::element_type::float32, {3});
    const auto nodes = g.size();
    CHECK(message_of<tn::internal_error>([&] { (void)tn::add<stumbling_rule_op>({}, {three}); }) ==
          "the rule of test_stumbling_rule: numbers frighten me");
    CHECK_ERROR(tn::invalid_argument_error, "test_shorter: a size of the result is negative: float[3]",
                tn::add<shorter_op>({}, {three}));
    CHECK(g.size() == nodes);

    const tn::any_tensor open = tn::untyped::placeholder(tn::element_type::float32, {tn::dynamic_extent});
    tn::session s;
    const auto run = [&](const tn::any_tensor& y) {
        std::vector<tn::fed_value> feeds;
        feeds.push_back({open, tn::any_array::zeros(tn::element_type::float32, {3})});
        (void)s.run_untyped(std::move(feeds), {y});
    };
    CHECK_ERROR(tn::internal_error, "the rule of test_stumbling_rule: numbers frighten me",
                run(tn::add<stumbling_rule_op>({}, {open})));
    CHECK_ERROR(tn::invalid_argument_error,
                "test_shorter: a size of the result is negative: float[3] in this step's sizes [node test_shorter",
                run(tn::add<shorter_op>({}, {open})));
}

TEST_CASE("two structs are not one op because they have one name") {
    CHECK_ERROR(tn::invalid_argument_error, "two ops are called \"softmax\", of tenon::softmax_op and of ",
                tn::definition_of<clashing_op>());
    CHECK_ERROR(tn::invalid_argument_error, "clashing_op; give one of them another name",
                tn::definition_of<clashing_op>());
    const tn::op_definition& first = tn::definition_of<first_of_two_op>();
    CHECK_ERROR(tn::invalid_argument_error, "two ops are called \"test_two_of_a_name\"",
                tn::definition_of<second_of_two_op>());
    CHECK(&first == tn::find_op("test_two_of_a_name"));
    CHECK_ERROR(tn::invalid_argument_error, "nameless_op has an empty name", tn::definition_of<nameless_op>());
}
