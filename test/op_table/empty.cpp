#include <sstream>

#include "tests.hpp"
#include "running.hpp"

using namespace op_table;

// Each size that has a name in the table, as 0.

namespace {

bool lists(const std::string& names, const std::string& name) {
    std::istringstream in(names);
    for (std::string word; in >> word;)
        if (word == name) return true;
    return false;
}

} // namespace

TEST_CASE("each size may be 0, or is refused with a word") {
    for_each_sample([](const entry& e, const sample& s, element_type t) {
        const setting usual = setting_of(s, t);
        for (const auto& size : usual.sizes) {
            const std::string& name = size.first;
            INFO(name_of(e, s, t), "; ", name, " = 0");
            setting at = usual;
            at.sizes[name] = 0;
            const std::vector<any_array> values = values_for(s, at);
            for (const known how : {known::numbers, known::nothing}) {
                INFO("sizes known as ", static_cast<int>(how));
                if (lists(s.not_empty, name)) {
                    CHECK_THROWS_AS(run(build(e, s, at, how), values), invalid_argument_error);
                    continue;
                }
                std::vector<any_array> got;
                CHECK_NOTHROW(got = run(build(e, s, at, how), values));
                if (!s.expected || got.empty()) continue;
                arguments in;
                for (const any_array& a : values) in.push_back(to_plain(a));
                CHECK(difference(got, s.expected(at, in), e.tolerance) == "");
            }
        }
    });
}

TEST_CASE("gradients of what is empty have the sizes of what they are gradients of") {
    for_each_sample([](const entry& e, const sample& s, element_type t) {
        if (!e.no_gradient.empty()) return;
        const setting usual = setting_of(s, t);
        for (const auto& size : usual.sizes) {
            const std::string& name = size.first;
            if (lists(s.not_empty, name)) continue;
            INFO(name_of(e, s, t), "; ", name, " = 0");
            setting at = usual;
            at.sizes[name] = 0;
            const built b = build(e, s, at, known::nothing);
            const graph_scope in(b.in);
            std::vector<any_tensor> floating_operands, sizes_of;
            const std::vector<any_array> values = values_for(s, at);
            std::vector<extents> wanted;
            for (std::size_t i = 0; i < b.operands.size(); ++i)
                if (is_floating(b.operands[i].element())) {
                    floating_operands.push_back(b.operands[i]);
                    wanted.push_back(values[i].extents());
                }
            const any_tensor y = b.results()[0];
            const std::vector<any_tensor> g =
                gradients(y.rank() == 0 ? untyped::multiply(y, 1.0) : untyped::sum(y), floating_operands);
            std::vector<any_array> got;
            CHECK_NOTHROW(got = fetch(b, values, g));
            for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i].extents() == wanted[i]);
        }
    });
}
