#pragma once

#include <tenon/graph/axes.hpp>
#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>

/// Running sums.
///
///     auto c = tn::cumsum<0>(x);                      // [1, 2, 3] -> [1, 3, 6]
///     auto e = tn::cumsum<0>(x, {.exclusive = true}); // [1, 2, 3] -> [0, 1, 3]
///     auto r = tn::cumsum<0>(x, {.reversed = true});  // [1, 2, 3] -> [6, 5, 3]

namespace tenon {

/// How a running sum runs.
struct scan_options {
    bool exclusive = false; ///< each element's sum leaves it out
    bool reversed = false;  ///< from the last element to the first
};

/// in: x. For each element the sum of those up to it along the axis. Floats are added up in double, half and
/// bfloat16 in float, integers in their own type, wrapping around.
struct cumsum_op {
    static constexpr const char* name = "cumsum";
    struct attributes {
        int axis = 0;
        bool exclusive = false;
        bool reversed = false;
        static constexpr void fields(auto&& field) {
            field("axis", &attributes::axis);
            field("exclusive", &attributes::exclusive);
            field("reversed", &attributes::reversed);
        }
        friend constexpr bool operator==(const attributes&, const attributes&) = default;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (!is_numeric(in[0].element)) return fault::element_type_must_be_numeric;
        if (detail::axis_of(a.axis, in[0].extents.rank()) < 0) return fault::axis_out_of_range;
        return in[0];
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};

/// Running sums of x along Axis.
template <int Axis, OperandOrIllShaped X> auto cumsum(const X& x, scan_options o = {}) {
    using attrs = detail::constant_attributes<cumsum_op::attributes{Axis, false, false}>;
    return apply_op<cumsum_op, attrs>(cumsum_op::attributes{Axis, o.exclusive, o.reversed}, x);
}

namespace untyped {
any_tensor cumsum(const any_tensor& x, int axis, scan_options o = {});
} // namespace untyped

TENON_DECLARE_OP(cumsum_definition, cumsum_op);

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_scan)

#include <memory>

#include <tenon/kernel/thread_pool.hpp>

namespace tenon {

TENON_DEFINE_OP(cumsum_op);

namespace untyped {
TENON_INLINE any_tensor cumsum(const any_tensor& x, int axis, scan_options o) {
    return tenon::add<cumsum_op>({axis, o.exclusive, o.reversed}, {x});
}
} // namespace untyped

TENON_INLINE void cumsum_op::gradient(gradient_context& g) {
    attributes a = g.attributes<attributes>();
    a.reversed = !a.reversed;
    g.set(0, tenon::add<cumsum_op>(a, {g.output_gradient()}));
}

namespace detail {

// C: what elements of type T are added up in.
template <class T, class C> class cumsum_kernel final : public kernel {
public:
    explicit cumsum_kernel(const kernel_setup& s) : a_(decode<cumsum_op::attributes>(s.attrs)) {
        const extents& x = s.inputs[0].extents;
        const int axis = axis_of(a_.axis, x.rank());
        for (int i = 0; i < axis; ++i) outer_ *= x[i].size;
        count_ = x[axis].size;
        for (int i = axis + 1; i < x.rank(); ++i) inner_ *= x[i].size;
    }
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        const std::int64_t tiles = (inner_ + tile - 1) / tile, elements = outer_ * count_ * inner_;
        const auto some = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t at = i / tiles * count_ * inner_, j = i % tiles * tile;
                columns(r.input<T>(0) + at + j, r.output<T>(0) + at + j, inner_ - j < tile ? inner_ - j : tile);
            }
        };
        const std::int64_t units = outer_ * tiles;
        if (r.pool && elements > 65536) r.pool->parallel_for(units, 1 + units * 32768 / elements, some);
        else if (elements > 0) some(0, units);
    }
    double cost() const override { return 50 + static_cast<double>(outer_ * count_ * inner_); }
    bool may_share(int i, int) const override { return i == 0; }

private:
    static constexpr std::int64_t tile = 256;

    // x and out may be the same memory: an element is read before it is written.
    void columns(const T* x, T* out, std::int64_t width) const {
        C sums[tile]{};
        for (std::int64_t k = 0; k < count_; ++k) {
            const std::int64_t row = (a_.reversed ? count_ - 1 - k : k) * inner_;
            for (std::int64_t j = 0; j < width; ++j) {
                const C before = sums[j];
                sums[j] = static_cast<C>(before + static_cast<C>(x[row + j]));
                out[row + j] = static_cast<T>(a_.exclusive ? before : sums[j]);
            }
        }
    }

    cumsum_op::attributes a_;
    std::int64_t outer_ = 1, count_ = 0, inner_ = 1;
};

} // namespace detail

TENON_INLINE kernel_pointer cumsum_op::prepare(const kernel_setup& s) {
    using detail::cumsum_kernel;
    switch (s.inputs[0].element) {
    case element_type::float32: return std::make_unique<cumsum_kernel<float, double>>(s);
    case element_type::float64: return std::make_unique<cumsum_kernel<double, double>>(s);
    case element_type::float16: return std::make_unique<cumsum_kernel<half, float>>(s);
    case element_type::bfloat16: return std::make_unique<cumsum_kernel<bfloat16, float>>(s);
    // Integers wrap around: signed and unsigned ones have the same bits.
    case element_type::int8:
    case element_type::uint8: return std::make_unique<cumsum_kernel<std::uint8_t, std::uint8_t>>(s);
    case element_type::int16:
    case element_type::uint16: return std::make_unique<cumsum_kernel<std::uint16_t, std::uint16_t>>(s);
    case element_type::int32:
    case element_type::uint32: return std::make_unique<cumsum_kernel<std::uint32_t, std::uint32_t>>(s);
    default: return std::make_unique<cumsum_kernel<std::uint64_t, std::uint64_t>>(s);
    }
}

} // namespace tenon

#endif
