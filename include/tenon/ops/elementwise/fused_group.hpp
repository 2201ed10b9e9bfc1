#pragma once

#include <memory>
#include <vector>

#include <tenon/expr/fused.hpp>
#include <tenon/op/kernel.hpp>

/// One tape over several lists of operands. The planner makes it (runtime/plan/grouping.hpp).

namespace tenon {

/// in: `members` lists of a tape's operands, one after another; out: for each what `fused` gives of it. No output is summed.
struct fused_group_op {
    static constexpr const char* name = "fused_group";
    static constexpr op_flags flags = op_flags::none;
    struct attributes {
        std::shared_ptr<const tenon::tape> tape;
        std::vector<std::int64_t> constants; ///< bits of each member's scalars, one after another
        std::int64_t members = 1;

        fused_attributes member(int m) const {
            const auto first = constants.begin() + std::ptrdiff_t{m} * tape->constant_count;
            return {tape, {first, first + tape->constant_count}, {}};
        }
    };
    static int outputs(const attributes& a, int inputs);
    static inferred infer(const attributes& a, type_list inputs, int output);
    static bool needs_value(const tenon::attributes& a, int input);
    static double operations(const attributes& a, type_list inputs, type_list outputs);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(fused_group, fused_group);

namespace detail {

/// The members' kernels, one after another.
class fused_group_kernel : public kernel {
public:
    using attributes = fused_group_op::attributes;
    /// `prepare` makes a member's kernel of its own setup and attributes.
    template <class Prepare>
    fused_group_kernel(const kernel_setup& s, const attributes& a, Prepare prepare) :
        inputs_(a.tape->input_count), outputs_(a.tape->output_count) {
        for (int m = 0; m < a.members; ++m) {
            const tenon::attributes own = encode(a.member(m));
            kernel_setup of{.node = s.node,
                            .attrs = own,
                            .inputs = {s.inputs.begin() + std::ptrdiff_t{m} * inputs_, inputs_},
                            .outputs = {s.outputs.begin() + std::ptrdiff_t{m} * outputs_, outputs_},
                            .threads = s.threads,
                            .gpu = s.gpu,
                            .timed = s.timed,
                            .memory = s.memory};
            members_.push_back(prepare(of));
        }
    }

    void run(const kernel_run& r) override {
        for (std::size_t m = 0; m < members_.size(); ++m) run_member(m, r);
    }
    std::size_t scratch_bytes() const override {
        std::size_t most = 0;
        for (const kernel_pointer& k : members_) most = std::max(most, k->scratch_bytes());
        return most;
    }
    double cost() const override {
        double all = 0;
        for (const kernel_pointer& k : members_) all += k->cost();
        return all;
    }
    bool may_share(int i, int o) const override {
        return i / inputs_ == o / outputs_ &&
               members_[static_cast<std::size_t>(i / inputs_)]->may_share(i % inputs_, o % outputs_);
    }
    bool may_be_recorded() const override {
        bool all = true;
        for (const kernel_pointer& k : members_) all = k->may_be_recorded() && all;
        return all;
    }

protected:
    void run_member(std::size_t member, const kernel_run& r) const { members_[member]->run(run_of(r, member)); }
    kernel_run run_of(kernel_run r, std::size_t member) const noexcept {
        r.in += static_cast<std::ptrdiff_t>(member) * inputs_;
        r.out += static_cast<std::ptrdiff_t>(member) * outputs_;
        return r;
    }

private:
    int inputs_, outputs_; // of the tape
    std::vector<kernel_pointer> members_;
};

} // namespace detail
} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_fused_group)

#include <tenon/core/error.hpp>
#include <tenon/expr/fused_kernel.hpp>

namespace tenon {

namespace detail {
inline void check_fused_group(const fused_group_op::attributes& a, int inputs) {
    const auto fail = [](const std::string& what) { throw invalid_argument_error("fused_group: " + what); };
    if (!a.tape) fail("there is no tape");
    const tape& t = *a.tape;
    if (const char* defect = tape_defect(t)) fail(std::string("the tape is not sound: ") + defect);
    for (int o = 0; o < t.output_count; ++o)
        if (t.outputs[o].like >= 0) fail("output " + std::to_string(o) + " of its tape is a sum");
    const auto members = static_cast<std::size_t>(a.members);
    if (a.members < 1 || members > 65536 ||
        members * static_cast<std::size_t>(t.input_count) != static_cast<std::size_t>(inputs) ||
        members * static_cast<std::size_t>(t.constant_count) != a.constants.size())
        fail(std::to_string(a.members) + " members of " + std::to_string(t.input_count) + " inputs and " +
             std::to_string(t.constant_count) + " constants each have not " + std::to_string(inputs) + " and " +
             std::to_string(a.constants.size()));
}
} // namespace detail

TENON_INLINE int fused_group_op::outputs(const attributes& a, int inputs) {
    detail::check_fused_group(a, inputs);
    return static_cast<int>(a.members) * a.tape->output_count;
}
TENON_INLINE inferred fused_group_op::infer(const attributes& a, type_list inputs, int output) {
    detail::check_fused_group(a, inputs.size());
    const int m = output / a.tape->output_count, count = a.tape->input_count;
    return fused_op::infer(a.member(m), {inputs.begin() + std::ptrdiff_t{m} * count, count},
                           output % a.tape->output_count);
}
TENON_INLINE bool fused_group_op::needs_value(const tenon::attributes& a, int input) {
    const auto& t = a.get<std::shared_ptr<const tape>>("tape");
    return t->loads(input % t->input_count);
}
TENON_INLINE double fused_group_op::operations(const attributes& a, type_list inputs, type_list outputs) {
    double all = 0;
    const int count = a.tape->input_count;
    for (int m = 0; m < a.members; ++m)
        all += fused_op::operations(a.member(m), {inputs.begin() + std::ptrdiff_t{m} * count, count}, outputs);
    return all;
}
TENON_INLINE kernel_pointer fused_group_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::fused_group_kernel>(s, decode<attributes>(s.attrs), fused_op::prepare);
}

} // namespace tenon

#endif
