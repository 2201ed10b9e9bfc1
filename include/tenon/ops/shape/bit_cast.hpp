#pragma once

#include <tenon/graph/tensor.hpp>

/// The bits of numbers, as numbers of another type.
///
///     auto bits  = tn::bit_cast<std::uint32_t>(x);   // float[batch, 3] -> uint32[batch, 3]
///     auto bytes = tn::bit_cast<std::uint8_t>(x);    // float[batch, 3] -> uint8[batch, 3, 4], the lowest byte first
///     auto back  = tn::bit_cast<float>(bytes);       // uint8[batch, 3, 4] -> float[batch, 3]

namespace tenon {

/// in: x, of numbers. The same bits as numbers of type `to`: of x's sizes where both are of one width; where they are narrower with one
/// more dimension, of as many as make one of x's; where they are wider without x's last dimension, which is that.
struct bit_cast_op {
    static constexpr const char* name = "bit_cast";
    static constexpr op_flags flags = op_flags::alike;
    struct attributes {
        element_type to = element_type::uint32;
    };
    static constexpr char last_size_is_not_one_element[] =
        "the last size must be how many elements have the bits of one of the new type";
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (!is_numeric(in[0].element) || !is_numeric(a.to)) return fault::element_type_must_be_numeric;
        const auto from = static_cast<std::int64_t>(size_of(in[0].element)),
                   to = static_cast<std::int64_t>(size_of(a.to));
        extents sizes = in[0].extents;
        if (to < from) sizes.push_back(from / to);
        if (to > from) {
            if (sizes.rank() < 1) return fault::rank_too_low;
            const extent last = sizes[sizes.rank() - 1];
            if (!last.is_dynamic() && !(last == extent(to / from))) return last_size_is_not_one_element;
            extents rest;
            for (int d = 0; d + 1 < sizes.rank(); ++d) rest.push_back(sizes[d]);
            sizes = rest;
        }
        return inferred(a.to, sizes);
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(bit_cast, bit_cast);

/// The bits of x's elements as elements of type To, both types of numbers (C++'s std::bit_cast of each). Of one width: x's sizes. A narrower To
/// gives one more dimension, [..] -> [.., width of x's / width of To], the lowest bits first; a wider one takes it away. Nothing is
/// computed; no gradient flows.
template <Element To, OperandOrIllShaped X> auto bit_cast(const X& x, called_from here = caller()) {
    const making made(here);
    return apply_op<bit_cast_op, bit_cast_op::attributes{element_type_of<To>}>(x);
}

namespace untyped {
any_tensor bit_cast(const any_tensor& x, element_type to, called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_bit_cast)

#include <cstring>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor bit_cast(const any_tensor& x, element_type to, called_from here) {
    return tenon::add<bit_cast_op>({to}, {x}, here);
}
} // namespace untyped

namespace detail {

struct bit_cast_kernel final : kernel {
    explicit bit_cast_kernel(const kernel_setup& s) : bytes(static_cast<std::size_t>(bytes_of(s.inputs[0]))) {}
    void run(const kernel_run& r) override {
        if (r.out[0] && r.in[0] != r.out[0] && bytes > 0) std::memcpy(r.out[0], r.in[0], bytes);
    }
    double cost() const override { return 20 + 0.05 * static_cast<double>(bytes); }
    bool may_share(int, int) const override { return true; }
    std::size_t bytes;
};

} // namespace detail

TENON_KERNEL(bit_cast, detail::bit_cast_kernel);

} // namespace tenon

#endif
