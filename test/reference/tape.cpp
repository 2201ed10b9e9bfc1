#include "reference/tape.hpp"

#include <tenon/core/with_element.hpp>
#include <tenon/expr/fused.hpp>

namespace tn = tenon;

namespace reference {

namespace {

bool is_plain(const tn::fused_op::attributes& a) {
    const tn::tape& t = *a.tape;
    const tn::element_type e = t.code[0].type;
    if (tn::compute_type(e) != e || e == tn::element_type::boolean || t.constant_count > 0 || !a.merge.empty())
        return false;
    for (int r = 0; r < t.length; ++r) {
        const tn::instruction& i = t.code[r];
        using enum tn::opcode;
        const bool known = i.op == input || i.op == add || i.op == subtract || i.op == multiply || i.op == divide;
        if (!known || i.type != e || (i.op == input && t.inputs[i.a] != e)) return false;
    }
    for (int o = 0; o < t.output_count; ++o)
        if (t.outputs[o].type != e || t.outputs[o].like >= 0) return false;
    return true;
}

// Where operand `of` has the element that stands at `at` of the sizes that all broadcast to.
std::int64_t place_in(const tn::extents& of, const tn::extents& all, std::int64_t at) {
    std::int64_t place = 0, step = 1;
    for (int d = all.rank() - 1; d >= 0; --d) {
        const std::int64_t here = at % all[d].size;
        at /= all[d].size;
        const int own = d - (all.rank() - of.rank());
        if (own < 0) continue;
        if (of[own].size != 1) place += here * step;
        step *= of[own].size;
    }
    return place;
}

} // namespace

std::vector<shared_array> by_loops(const work& w) {
    const auto a = tn::decode<tn::fused_op::attributes>(w.attributes);
    if (!is_plain(a)) return {};
    const tn::tape& t = *a.tape;
    tn::extents all;
    for (const tn::tensor_type& i : w.inputs) all = tn::broadcast(all, i.extents).extents;
    std::vector<std::shared_ptr<tn::any_array>> made;
    for (const tn::tensor_type& o : w.outputs) made.push_back(std::make_shared<tn::any_array>(o.element, o.extents));
    tn::detail::with_element(t.code[0].type, [&]<class T>(const T&) {
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
            std::vector<T> reg(static_cast<std::size_t>(t.length));
            const auto at = [&](int r) -> T& { return reg[static_cast<std::size_t>(r)]; };
            for (std::int64_t e = 0; e < all.elements(); ++e) {
                for (int r = 0; r < t.length; ++r) {
                    const tn::instruction& i = t.code[r];
                    if (i.op == tn::opcode::input) {
                        const auto k = static_cast<std::size_t>(i.a);
                        at(r) = w.values[k]->data<T>()[place_in(w.inputs[k].extents, all, e)];
                    } else at(r) = one_instruction(i.op, at(i.a), at(i.b));
                }
                for (int o = 0; o < t.output_count; ++o)
                    made[static_cast<std::size_t>(o)]->data<T>()[e] = at(t.outputs[o].reg);
            }
        }
    });
    return {made.begin(), made.end()};
}

} // namespace reference
