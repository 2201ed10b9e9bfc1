// Writes a graph for each sample of the table of ops (test/op_table), with its gradients, as seeds for graph_json.
//
//   PROGRAM FOLDER
//
// Ends with 1 where a graph that was written is not accepted.

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>

#include <tenon/tenon.hpp>

#include "op_table/table.hpp"

namespace {

using namespace op_table;

// The sum of what is floating and has a slope, differentiated by what is floating.
void add_gradients(const entry& e, const built& b) {
    const graph_scope in(b.in);
    std::vector<any_tensor> of;
    for (const any_tensor& x : b.operands)
        if (is_floating(x.element())) of.push_back(x);
    int sloping = 0;
    for (const any_tensor& y : b.results())
        if (is_floating(y.element()) && !of.empty() && (e.slopes < 0 || sloping++ < e.slopes))
            gradients(y.rank() == 0 ? y : untyped::sum(y), of);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    const std::filesystem::path folder(argv[1]);
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    int number = 0, refused = 0;
    for (const entry& e : entries())
        for (const sample& s : e.samples)
            for (const known how : {known::numbers, known::names}) {
                const std::string name = "op_" + e.op + "_" + std::to_string(number++);
                try {
                    const built b = build(e, s, setting_of(s, element_of(e)), how);
                    if (e.no_gradient.empty()) add_gradients(e, b);
                    const std::string text = to_json(b.in);
                    graph_from_json(text);
                    std::ofstream(folder / name, std::ios::binary) << text;
                } catch (const std::exception& x) {
                    std::fprintf(stderr, "%s: not accepted: %s\n", name.c_str(), x.what());
                    ++refused;
                }
            }
    return refused == 0 ? 0 : 1;
}
