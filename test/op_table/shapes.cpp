#include "tests.hpp"
#include "running.hpp"

using namespace op_table;

// What a rule says of sizes when a graph is made, against the sizes that are there when it runs.

namespace {

// Empty where the sizes that a run gave are among those that the rule promised.
std::string broken_promise(const setting& at, const built& b, const std::vector<any_array>& values) {
    for (std::size_t o = 0; o < values.size(); ++o) {
        const tensor_type& said = b.node->outputs[o];
        const std::string both = "output " + std::to_string(o) + ": the rule says " + to_string(said) +
                                 ", the run gives " + to_string(values[o].type());
        if (said.element != values[o].element() || said.extents.rank() != values[o].rank()) return both;
        for (int i = 0; i < said.extents.rank(); ++i) {
            const extent& e = said.extents[i];
            const std::int64_t n = values[o].extents()[i].size;
            if (e.is_number() ? e.size != n : e.is_named() && at[e.name] != n) return both;
        }
    }
    return {};
}

} // namespace

TEST_CASE(
    "a rule's answer is what a run gives, whether it knows sizes as numbers, names, not at all, or some of them") {
    for_each_sample([](const entry& e, const sample& s, element_type t) {
        INFO(name_of(e, s, t));
        const setting at = setting_of(s, t);
        const std::vector<any_array> values = values_for(s, at);
        const built exact = build(e, s, at, known::numbers);
        const std::vector<any_array> wanted = run(exact, values);
        if (e.op != "placeholder_with_default") // which is asked to forget sizes
            for (const tensor_type& said : exact.node->outputs) CHECK(said.extents.is_static());
        CHECK(broken_promise(at, exact, wanted) == "");
        for (const known how : {known::names, known::nothing, known::some}) {
            INFO("sizes known as ", static_cast<int>(how));
            const built b = build(e, s, at, how);
            const std::vector<any_array> got = run(b, values);
            CHECK(broken_promise(at, b, got) == "");
            CHECK(difference(got, wanted) == "");
        }
    });
}

TEST_CASE("a rule that knows more says no less") {
    for_each_sample([](const entry& e, const sample& s, element_type t) {
        INFO(name_of(e, s, t));
        const setting at = setting_of(s, t);
        const built less = build(e, s, at, known::nothing), more = build(e, s, at, known::some);
        for (std::size_t o = 0; o < less.node->outputs.size(); ++o)
            for (int i = 0; i < less.node->outputs[o].extents.rank(); ++i)
                if (const extent& known_before = less.node->outputs[o].extents[i]; !known_before.is_dynamic())
                    CHECK(more.node->outputs[o].extents[i] == known_before);
    });
}

TEST_CASE("a rule takes any number of operands: it answers, or says what is wrong") {
    for_each_sample([](const entry& e, const sample& s, element_type t) {
        INFO(name_of(e, s, t));
        const built b = build(e, s, setting_of(s, t));
        std::vector<tensor_type> types;
        for (std::size_t i = 0; i < b.node->inputs.size(); ++i)
            types.push_back(b.node->input_type(static_cast<int>(i)));
        const auto accepts = [&](int count) {
            try {
                return static_cast<bool>(b.node->op->infer(b.node->attributes, type_list(types.data(), count), 0));
            } catch (const invalid_argument_error&) {
                return false;
            }
        };
        const int usual = static_cast<int>(types.size());
        if (!b.node->outputs.empty()) CHECK(accepts(usual));
        types.resize(types.size() + 3, tensor_type{t, extents{1}});
        for (int count = 0; count <= usual + 3; ++count)
            if (accepts(count) &&
                count < usual) // one that says sizes or lengths, of several that are alike, or that is only shown
                CHECK(std::set<std::string>{"random_uniform", "random_normal", "random_integers", "random_permutation",
                                            "random_bernoulli", "add_n", "concat", "stack", "split_like", "print",
                                            "assert", "prod_gradient", "epoch_order", "attention", "attention_gradient",
                                            "irfft"}
                          .contains(e.op));
    });
}
