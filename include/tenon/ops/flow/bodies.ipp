#pragma once

#include <mutex>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/expr/fused.hpp>
#include <tenon/op/step.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/flow/bodies.hpp>
#include <tenon/ops/gradients.hpp>

namespace tenon::detail {

TENON_INLINE const char* not_agreeing(const char* words, const tensor_type& a, const tensor_type& b) {
    static std::mutex guard;
    static auto& kept = *new std::set<std::string>; // under the guard
    const std::lock_guard lock(guard);
    const std::string said = std::string(words) + " (" + to_string(a) + " and " + to_string(b) + ")";
    return kept.size() < 512 || kept.count(said) ? kept.insert(said).first->c_str() : words;
}

TENON_INLINE any_tensor body_gradient::add_argument(const tensor_type& type) {
    const graph_scope in(of_.of());
    return tenon::add<placeholder_op>({type.element, type.extents}, {}, "argument");
}

TENON_INLINE std::vector<any_tensor> body_gradient::of(const std::vector<any_tensor>& ys,
                                                       const std::vector<any_tensor>& flowing,
                                                       const std::vector<any_tensor>& xs) const {
    const graph_scope in(of_.of());
    return add_gradients(ys, xs, flowing);
}

TENON_INLINE any_tensor body_gradient::sum(const any_tensor& a, const any_tensor& b) const {
    const graph_scope in(of_.of());
    return add_instruction(opcode::add, {a, b});
}

TENON_INLINE std::string body_gradient::text(const std::vector<any_tensor>& arguments,
                                             const std::vector<any_tensor>& results) const {
    return needed_part(of_.of(), arguments, results, false).text(); // without what only the body itself gave
}

TENON_INLINE std::unique_ptr<prepared_body> planned(const kernel_setup& s, const std::string& text,
                                                    type_list arguments) {
    if (!s.bodies)
        throw failed_precondition_error(s.node.name + ": who prepares this kernel cannot plan bodies of control flow");
    return s.bodies->plan(body::of_text(text), arguments);
}

TENON_INLINE void require_wanted(const kernel_run& r) {
    if (r.step && (r.step->stopped() || r.step->late())) throw cancelled_error(r.step->why_stopped());
}

} // namespace tenon::detail
