#include <op_table/table.hpp>
#include <tenon/op/gpu_kernels.hpp>

#include "tests.hpp"
#include "project_file.hpp"

// The table of docs/gpu.md is written from the ops, their rules and the kernels that there are. TENON_WRITE_PAGES=1 writes it anew.

using namespace op_table;

namespace {

std::string shown(element_types set) {
    const std::pair<element_types, const char*> known[] = {{fixed_size_elements, "all"},
                                                           {all_elements, "all, string"},
                                                           {numeric, "numbers"},
                                                           {floating, "floating"},
                                                           {integers, "integers"}};
    for (const auto& [of, name] : known)
        if (set == of) return name;
    std::string text;
    const auto add = [&](const std::string& name) { text += (text.empty() ? "" : ", ") + name; };
    if ((set.bits & numeric.bits) == numeric.bits) {
        add("numbers");
        set.bits &= ~numeric.bits;
    } else if ((set.bits & floating.bits) == floating.bits) {
        add("floating");
        set.bits &= ~floating.bits;
    }
    for (int e = 1; e <= static_cast<int>(element_type::string); ++e)
        if (set.has(static_cast<element_type>(e))) add(name_of(static_cast<element_type>(e)));
    return text.empty() ? "-" : text;
}

std::string table_of_ops() {
    std::map<std::string, const entry*> by_name;
    for (const entry& e : entries()) by_name[e.op] = &e;
    std::string text = "| op | CPU | GPU |\n|---|---|---|\n";
    std::map<std::string, const op_definition*> all;
    for (const op_definition* op : all_ops()) all[op->name] = op;
    for (const auto& [name, op] : all) {
        const auto at = by_name.find(name);
        if (at == by_name.end() || (!op->cpu && !find_gpu_kernel(*op))) continue;
        const element_types cpu = op->cpu ? at->second->elements : element_types{};
        element_types gpu{at->second->elements.bits & op->gpu_types.bits};
        if (!find_gpu_kernel(*op)) gpu = {};
        text += "| " + name + " | " + shown(cpu) + " | " + shown(gpu) + " |\n";
    }
    return text;
}

} // namespace

TEST_CASE("docs/gpu.md says which op takes which elements on a CPU and on a GPU") {
    const std::string path = project_file("docs/gpu.md"), page = read_bytes(path);
    const std::string begin = "<!-- ops: begin -->\n", end = "<!-- ops: end -->";
    const std::size_t from = page.find(begin), to = page.find(end);
    REQUIRE(from != std::string::npos);
    REQUIRE(to != std::string::npos);
    const std::string written = page.substr(from + begin.size(), to - from - begin.size()), wanted = table_of_ops();
    if (written != wanted && std::getenv("TENON_WRITE_PAGES"))
        write_bytes(path, page.substr(0, from + begin.size()) + wanted + page.substr(to));
    else
        CHECK_MESSAGE(written == wanted, "with TENON_WRITE_PAGES=1 this test writes the table of docs/gpu.md:\n"
                                             << wanted);
}
