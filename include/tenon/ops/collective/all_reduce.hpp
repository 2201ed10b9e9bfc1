#pragma once

#include <tenon/graph/tensor.hpp>

/// Sums over devices of one process by nodes that meet: what collective_all_reduce (train/replicated/all_reduce.hpp) makes a sum of.
///
///     entered[i] = all_reduce(x[i])          on device i, after the x of all
///     sum[i]     = all_reduced(entered[i])   on device i, after the entered of all
///
/// Whoever enters last sums what has entered, for all: where `entered` lies the sum is then. So nobody else may read that.

namespace tenon {

/// in: a tensor of numbers.
struct all_reduce_op {
    static constexpr const char* name = "all_reduce";
    static constexpr op_flags flags = op_flags::stateful;
    static constexpr element_types gpu_types =
        fixed_size_elements.without(element_type::boolean).without(element_type::int16).without(element_type::uint16);
    struct attributes {
        std::int64_t meeting = 0; ///< those of one sum have the same, and no others of their graph
        std::int64_t number = 0;  ///< its own, of all that meet
        std::int64_t all = 1;     ///< how many they are
    };
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        return is_numeric(in[0].element) ? inferred(in[0]) : inferred(fault::element_type_not_supported);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(all_reduce, all_reduce);

/// in: what all_reduce gives. The same, when all have met.
struct all_reduced_op {
    static constexpr const char* name = "all_reduced";
    static constexpr op_flags flags = op_flags::stateful;
    struct attributes {
        std::int64_t meeting = 0;
    };
    static constexpr inferred infer(const attributes&, type_list in, int) {
        return in.size() == 1 ? inferred(in[0]) : inferred(fault::expects_more_operands);
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

// In the order of their numbers; 16-bit floats are rounded once, integers wrap around.
template <class T> void sum_met(const std::vector<participant>& met, std::int64_t elements) {
    using wide = std::conditional_t<std::is_floating_point_v<T>, T,
                                    std::conditional_t<std::is_integral_v<T>, std::uint64_t, float>>;
    for (std::int64_t i = 0; i < elements; ++i) {
        wide sum{};
        for (const participant& p : met) sum += static_cast<wide>(static_cast<const T*>(p.memory)[i]);
        for (const participant& p : met) static_cast<T*>(p.memory)[i] = static_cast<T>(sum);
    }
}

class all_reduce_kernel final : public kernel {
public:
    explicit all_reduce_kernel(const kernel_setup& s) :
        a_(decode<all_reduce_op::attributes>(s.attrs)),
        element_(s.inputs[0].element),
        elements_(s.inputs[0].extents.elements()) {}
    void run(const kernel_run& r) override {
        const auto bytes = static_cast<std::size_t>(elements_) * size_of(element_);
        if (bytes > 0 && r.out[0] != r.in[0]) std::memcpy(r.out[0], r.in[0], bytes);
        const std::vector<participant> met =
            join_participants(r.step, a_.meeting, static_cast<int>(a_.number), static_cast<int>(a_.all), {r.out[0]});
        if (met.empty()) return;
        with_element(element_, [&](auto x) {
            using T = decltype(x);
            if constexpr (!std::is_same_v<T, bool> && !std::is_same_v<T, std::string>) sum_met<T>(met, elements_);
        });
    }
    double cost() const override { return 100 + static_cast<double>(elements_ * a_.all) * 0.5; }
    bool may_share(int, int) const override { return true; }

private:
    const all_reduce_op::attributes a_;
    const element_type element_;
    const std::int64_t elements_;
};

class all_reduced_kernel final : public kernel {
public:
    explicit all_reduced_kernel(const kernel_setup& s) :
        meeting_(decode<all_reduced_op::attributes>(s.attrs).meeting),
        bytes_(static_cast<std::size_t>(s.inputs[0].extents.elements()) * size_of(s.inputs[0].element)) {}
    void run(const kernel_run& r) override {
        require_all_joined(r.step, meeting_);
        if (bytes_ > 0 && r.out[0] && r.out[0] != r.in[0]) std::memcpy(r.out[0], r.in[0], bytes_);
    }
    double cost() const override { return 100; }
    bool may_share(int, int) const override { return true; }

private:
    const std::int64_t meeting_;
    const std::size_t bytes_;
};

} // namespace detail

TENON_KERNEL(all_reduce, detail::all_reduce_kernel);
TENON_KERNEL(all_reduced, detail::all_reduced_kernel);

} // namespace tenon

#endif
