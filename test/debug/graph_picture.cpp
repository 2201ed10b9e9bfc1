#include <tenon/debug/graph_picture.hpp>

#include "tests.hpp"

namespace {
inline constexpr struct batch : tn::dim<"batch"> {} batch;

} // namespace

TEST_CASE_FIXTURE(in_graph, "a graph is drawn with names, ops, types and sizes") {
    const auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
    const auto w = tn::variable<float, tn::shape<3, 2>>("w", tn::zeros());
    const auto h = tn::matmul(x, w);
    const auto y = tn::identity(h, "say \"y\" <#>");
    const auto number = [](const tn::any_tensor& t) { return "n" + std::to_string(t.node()->number); };
    CHECK(tn::to_mermaid({y}) == "flowchart TD\n"
                                 "    " +
                                     number(x) +
                                     "[/\"x<br/>placeholder\"/]\n"
                                     "    " +
                                     number(w) +
                                     "[(\"w<br/>variable\")]\n"
                                     "    " +
                                     number(h) +
                                     "[\"matmul<br/>matmul\"]\n"
                                     "    " +
                                     number(y) +
                                     "[\"say #34;y#34; #60;#35;#62;<br/>identity\"]\n"
                                     "    " +
                                     number(x) + " -->|\"float[batch, 3]\"| " + number(h) +
                                     "\n"
                                     "    " +
                                     number(w) + " -->|\"float[3, 2]\"| " + number(h) +
                                     "\n"
                                     "    " +
                                     number(h) + " -->|\"float[batch, 2]\"| " + number(y) + "\n");
    CHECK(tn::to_dot({h}) == "digraph graph_of_tenon {\n  node [shape=box];\n"
                             "  " +
                                 number(x) +
                                 " [label=\"x\\nplaceholder\", shape=parallelogram];\n"
                                 "  " +
                                 number(w) +
                                 " [label=\"w\\nvariable\", shape=cylinder];\n"
                                 "  " +
                                 number(h) +
                                 " [label=\"matmul\\nmatmul\"];\n"
                                 "  " +
                                 number(x) + " -> " + number(h) +
                                 " [label=\"float[batch, 3]\"];\n"
                                 "  " +
                                 number(w) + " -> " + number(h) + " [label=\"float[3, 2]\"];\n}\n");
    CHECK(contains(tn::to_mermaid({y}, {.most_nodes = 1}), "rest[\"3 more nodes\"]"));
    CHECK(tn::to_mermaid(y) == tn::to_mermaid({y}));
    const std::string all = tn::to_mermaid(g, {.constants = true}); // the initialiser, too
    CHECK(contains(all, "w/assign"));
}
