#pragma once

#include <tenon/graph/tensor.hpp>

/// Sums over devices of one process by nodes that meet: what collective_all_reduce (train/replicated/all_reduce.hpp) makes a sum of.
///
///     entered[i] = all_reduce(x[i], y[i], ..)          on device i, after the x, y, .. of all
///     sum[i]     = all_reduced(entered[i])             on device i, after the entered of all
///
/// Several tensors go together: x with x, y with y. Whoever enters last sums what has entered, for all: where `entered` lies the sum is then.
/// So nobody else may read that. Devices with streams have one for this (op_flags::sums).

namespace tenon {

/// in: tensors of numbers.
struct all_reduce_op {
    static constexpr const char* name = "all_reduce";
    static constexpr op_flags flags = op_flags::stateful | op_flags::sums;
    static constexpr element_types gpu_types =
        fixed_size_elements.without(element_type::boolean).without(element_type::int16).without(element_type::uint16);
    struct attributes {
        std::int64_t meeting = 0; ///< those of one sum have the same, and no others of their graph
        std::int64_t number = 0;  ///< its own, of all that meet
        std::int64_t all = 1;     ///< how many they are
    };
    static constexpr int outputs(const attributes&, int inputs) { return inputs; }
    static constexpr inferred infer(const attributes&, type_list in, int output) {
        if (in.size() == 0) return fault::expects_more_operands;
        const tensor_type& t = in[output];
        return is_numeric(t.element) ? inferred(t) : inferred(fault::element_type_not_supported);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(all_reduce, all_reduce);

/// in: what all_reduce gives. The same, when all have met.
struct all_reduced_op {
    static constexpr const char* name = "all_reduced";
    static constexpr op_flags flags = op_flags::stateful | op_flags::sums;
    struct attributes {
        std::int64_t meeting = 0;
    };
    static constexpr int outputs(const attributes&, int inputs) { return inputs; }
    static constexpr inferred infer(const attributes&, type_list in, int output) {
        return in.size() > 0 ? inferred(in[output]) : inferred(fault::expects_more_operands);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(all_reduce, all_reduced);

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_all_reduce)

#include <cstring>
#include <type_traits>
#include <vector>

#include <tenon/core/with_element.hpp>
#include <tenon/resources/collective/participants.hpp>

namespace tenon {

namespace detail {

// Tensor number t, in the order of who met; 16-bit floats are rounded once, integers wrap around.
template <class T> void sum_met(const std::vector<participant>& met, std::size_t t, std::int64_t elements) {
    using wide = std::conditional_t<std::is_floating_point_v<T>, T,
                                    std::conditional_t<std::is_integral_v<T>, std::uint64_t, float>>;
    for (std::int64_t i = 0; i < elements; ++i) {
        wide sum{};
        for (const participant& p : met) sum += static_cast<wide>(static_cast<const T*>(p.memory[t])[i]);
        for (const participant& p : met) static_cast<T*>(p.memory[t])[i] = static_cast<T>(sum);
    }
}

// Each of several tensors, to where it is to lie.
inline void copy_values(const kernel_run& r, const std::vector<tensor_type>& types) {
    for (std::size_t t = 0; t < types.size(); ++t) {
        const auto bytes = static_cast<std::size_t>(types[t].extents.elements()) * size_of(types[t].element);
        if (bytes > 0 && r.out[t] && r.out[t] != r.in[t]) std::memcpy(r.out[t], r.in[t], bytes);
    }
}

class all_reduce_kernel final : public kernel {
public:
    explicit all_reduce_kernel(const kernel_setup& s) :
        a_(decode<all_reduce_op::attributes>(s.attrs)), types_(s.inputs.begin(), s.inputs.end()) {
        for (const tensor_type& t : types_) elements_ += t.extents.elements();
    }
    void run(const kernel_run& r) override {
        copy_values(r, types_);
        const std::vector<participant> met =
            join_participants(r.step, a_.meeting, static_cast<int>(a_.number), static_cast<int>(a_.all),
                              {.memory = {r.out, r.out + types_.size()}});
        if (met.empty()) return;
        for (std::size_t t = 0; t < types_.size(); ++t)
            with_element(types_[t].element, [&](auto x) {
                using T = decltype(x);
                if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, std::string>)
                    sum_met<T>(met, t, types_[t].extents.elements());
            });
    }
    double cost() const override { return 100 + static_cast<double>(elements_ * a_.all) * 0.5; }
    bool may_share(int i, int o) const override { return i == o; }

private:
    const all_reduce_op::attributes a_;
    const std::vector<tensor_type> types_;
    std::int64_t elements_ = 0; // of all
};

class all_reduced_kernel final : public kernel {
public:
    explicit all_reduced_kernel(const kernel_setup& s) :
        meeting_(decode<all_reduced_op::attributes>(s.attrs).meeting), types_(s.inputs.begin(), s.inputs.end()) {}
    void run(const kernel_run& r) override {
        require_all_joined(r.step, meeting_);
        copy_values(r, types_);
    }
    double cost() const override { return 100; }
    bool may_share(int i, int o) const override { return i == o; }

private:
    const std::int64_t meeting_;
    const std::vector<tensor_type> types_;
};

} // namespace detail

TENON_KERNEL(all_reduce, detail::all_reduce_kernel);
TENON_KERNEL(all_reduced, detail::all_reduced_kernel);

} // namespace tenon

#endif
