#include "tests.hpp"
#include "running.hpp"

using namespace op_table;

TEST_CASE("each op gives the right numbers in every element type that it takes") {
    for (const entry& e : entries())
        for (const sample& s : e.samples)
            for (const element_type t : every_element()) {
                if (!e.elements.has(t)) continue;
                INFO(name_of(e, s, t));
                const setting at = setting_of(s, t);
                const std::vector<any_array> values = values_for(s, at);
                std::vector<any_array> got;
                CHECK_NOTHROW(got = run(build(e, s, at), values));
                if (!s.expected || got.empty()) continue;
                arguments in;
                for (const any_array& a : values) in.push_back(to_plain(a));
                CHECK(difference(got, s.expected(at, in), e.tolerance) == "");
            }
}

TEST_CASE("each op refuses the element types that it does not take, when the graph is made") {
    for (const entry& e : entries())
        for (const sample& s : e.samples)
            for (const element_type t : every_element()) {
                if (e.elements.has(t)) continue;
                INFO(name_of(e, s, t));
                CHECK_THROWS_AS(build(e, s, setting_of(s, t)), invalid_argument_error);
            }
}

TEST_CASE("an operand of which only the sizes matter may hold anything") {
    for_each_sample([](const entry& e, const sample& s, element_type t) {
        INFO(name_of(e, s, t));
        if (s.inputs || !is_floating(t)) return;
        const setting at = setting_of(s, t);
        const built b = build(e, s, at);
        std::vector<any_array> values = values_for(s, at);
        const std::vector<any_array> wanted = run(b, values);
        for (std::size_t i = 0; i < values.size(); ++i)
            if (!b.node->op->reads(b.node->attributes, static_cast<int>(i)) && is_floating(values[i].element()))
                for (std::int64_t k = 0; k < values[i].elements(); ++k) set_number(values[i], k, __builtin_nan(""));
        CHECK(difference(run(b, values), wanted) == "");
    });
}
