#include <filesystem>

#include "project_file.hpp"
#include "tests.hpp"
#include "running.hpp"

using namespace op_table;

// Graphs as text: what the table says of an op goes there and back, and is what fuzzing of the reader starts from.

TEST_CASE("a node that was written and read is the same node, and gives the same numbers") {
    for (const entry& e : entries())
        for (const sample& s : e.samples)
            for (const element_type t : {usual_element(e), element_type::float32, element_type::boolean}) {
                if (!e.elements.has(t)) continue;
                INFO(name_of(e, s, t));
                const setting at = setting_of(s, t);
                const std::vector<any_array> values = values_for(s, at);
                for (const known how : {known::numbers, known::names, known::nothing}) {
                    const built b = build(e, s, at, how);
                    const std::string text = to_json(b.in);
                    built back;
                    REQUIRE_NOTHROW(back.in = graph_from_json(text));
                    CHECK(to_json(back.in) == text);
                    back.node = back.in.find(b.node->name);
                    for (const any_tensor& x : b.operands) back.operands.push_back(back.in.tensor(x.name()));
                    CHECK(back.node->op == b.node->op);
                    CHECK(back.node->attributes == b.node->attributes);
                    CHECK(back.node->outputs == b.node->outputs);
                    REQUIRE(back.node->inputs.size() == b.node->inputs.size());
                    for (std::size_t i = 0; i < b.node->inputs.size(); ++i) {
                        CHECK(back.node->inputs[i].node->name == b.node->inputs[i].node->name);
                        CHECK(back.node->inputs[i].index == b.node->inputs[i].index);
                    }
                    CHECK(difference(run(back, values), run(b, values)) == "");
                }
            }
}

TEST_CASE("every seed that fuzzing of the reader starts from is accepted") {
    int count = 0;
    for (const auto& file : std::filesystem::directory_iterator(project_file("test/fuzz/seeds/graph_json"))) {
        INFO(file.path().filename().string());
        CHECK_NOTHROW(graph_from_json(read_bytes(file.path().string())));
        ++count;
    }
    CHECK(count > 0);
}
