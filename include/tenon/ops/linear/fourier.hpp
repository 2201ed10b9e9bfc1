#pragma once

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>

/// Discrete Fourier transforms. A complex number is a last dimension of 2: its real and its imaginary part. Of float and double.
///
///     auto y = tn::fft(x);           // [batch, n, 2] -> [batch, n, 2]
///     auto z = tn::ifft(y);          // x again
///     auto r = tn::rfft(signal);     // of real numbers: [batch, n] -> [batch, n / 2 + 1, 2]
///     auto s = tn::irfft(r);         // [batch, m, 2] -> [batch, 2 m - 2]; irfft<1, 99>(r) where n is odd
///     auto f = tn::rfft<2>(images);  // over two dimensions: [batch, 28, 28] -> [batch, 28, 15, 2]
///
///     fft:  y[k] = sum over j of x[j] exp(-2 pi i j k / n)        ifft: x[j] = 1 / n sum over k of y[k] exp(2 pi i j k / n)
///
/// rfft gives the first n / 2 + 1 numbers of fft; the others are their conjugates, and irfft takes them to be so: of m numbers it makes n = 2 m - 2
/// real ones, or n = 2 m - 1 where that is said, and divides by n. Over several dimensions: one after another. As NumPy's functions of these names.
/// Gradients are transforms of the other direction.

namespace tenon {

namespace detail {
inline constexpr char parts_are_float_or_double[] = "elements must be float or double";
inline constexpr char no_real_and_imaginary_part[] = "the last dimension is not 2, for real and imaginary parts";
inline constexpr char too_few_dimensions[] = "there are fewer dimensions than are to be transformed";
inline constexpr char not_n_half_and_one[] = "there are not n / 2 + 1 numbers for a result of n";
inline constexpr char no_numbers_to_transform[] = "there are no numbers to be transformed";
inline constexpr char too_long_to_transform[] = "a transform is of fewer than 2^31 numbers";

constexpr bool is_float_or_double(element_type e) { return e == element_type::float32 || e == element_type::float64; }
constexpr inferred check_transform(const extent& n) {
    if (n == extent(0)) return no_numbers_to_transform;
    if (n.is_number() && n.size > 0x7fffffff) return too_long_to_transform;
    return inferred();
}
/// What is wrong with x as complex numbers [.., n, 2] of `dims` dimensions.
constexpr inferred complex_numbers(const tensor_type& x, int dims) {
    if (!is_float_or_double(x.element)) return parts_are_float_or_double;
    const int rank = x.extents.rank();
    if (dims < 1 || rank < dims + 1) return too_few_dimensions;
    const extent& pair = x.extents[rank - 1];
    if (!pair.is_dynamic() && !(pair == extent(2))) return no_real_and_imaginary_part;
    for (int d = 0; d < dims; ++d)
        if (const inferred r = check_transform(x.extents[rank - 2 - d]); !r) return r;
    return x;
}
/// [.., n] -> [.., n / 2 + 1, 2]
constexpr inferred half_spectrum(const tensor_type& x, int dims) {
    if (!is_float_or_double(x.element)) return parts_are_float_or_double;
    const int rank = x.extents.rank();
    if (dims < 1 || rank < dims) return too_few_dimensions;
    for (int d = 0; d < dims; ++d)
        if (const inferred r = check_transform(x.extents[rank - 1 - d]); !r) return r;
    extents e = x.extents;
    e[rank - 1] = e[rank - 1].is_number() ? extent(e[rank - 1].size / 2 + 1) : extent{};
    e.push_back(2);
    return inferred(x.element, e);
}
/// [.., m, 2] -> [.., n], n = 0: 2 m - 2.
constexpr inferred of_half_spectrum(const tensor_type& z, int dims, std::int64_t n) {
    if (const inferred r = complex_numbers(z, dims); !r) return r;
    const int rank = z.extents.rank();
    const extent& m = z.extents[rank - 2];
    if (n < 0 || (n > 0 && m.is_number() && n / 2 + 1 != m.size)) return not_n_half_and_one;
    if (n == 0 && m.is_number() && m.size < 2) return no_numbers_to_transform;
    extents e = z.extents;
    e.erase(rank - 1);
    e[rank - 2] = n > 0 ? extent(n) : m.is_number() ? extent(2 * (m.size - 1)) : extent{};
    if (const inferred fits = check_transform(e[rank - 2]); !fits) return fits;
    return inferred(z.element, e);
}
} // namespace detail

/// in: x [.., n, 2]. Over the last dimension but that of the parts. `scaled`: divided by n.
struct fft_op {
    static constexpr const char* name = "fft";
    static constexpr op_flags flags = op_flags::alike;
    struct attributes {
        bool inverse = false;
        bool scaled = false;
    };
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        inferred r = detail::complex_numbers(in[0], 1);
        if (r) r.type.extents[r.type.extents.rank() - 1] = 2;
        return r;
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(fourier, fft);

/// in: x [.., n]. [.., n / 2 + 1, 2]. `doubled`: numbers that stand for their conjugates too, all but the first and, of an even n, the
/// last, are twice as large. `scaled`: divided by n.
struct rfft_op {
    static constexpr const char* name = "rfft";
    static constexpr op_flags flags = op_flags::alike;
    struct attributes {
        bool doubled = false;
        bool scaled = false;
    };
    static constexpr inferred infer(const attributes&, type_list in, int) {
        return in.size() == 1 ? detail::half_spectrum(in[0], 1) : inferred(fault::expects_more_operands);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(fourier, rfft);

/// in: z [.., m, 2], and where n is not said by the attribute, perhaps what has it as its last size, whose value does not matter. [.., n].
/// `halved`: as if numbers that stand for their conjugates too were half as large. `scaled`: divided by n.
struct irfft_op {
    static constexpr const char* name = "irfft";
    static constexpr op_flags flags = op_flags::alike;
    struct attributes {
        std::int64_t n = 0;
        bool halved = false;
        bool scaled = false;
    };
    static constexpr bool needs_value(const attributes&, int input) { return input == 0; }
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() < 1 || in.size() > 2) return fault::expects_more_operands;
        if (in.size() == 1) return detail::of_half_spectrum(in[0], 1, a.n);
        const extents& like = in[1].extents;
        if (like.rank() + 1 != in[0].extents.rank()) return fault::ranks_differ;
        const extent& n = like[like.rank() - 1];
        inferred r = detail::of_half_spectrum(in[0], 1, n.is_number() && n.size > 0 ? n.size : 0);
        if (!n.is_number() && r) r.type.extents[like.rank() - 1] = n;
        return r;
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(fourier, irfft);

namespace detail {
struct fourier_attributes {
    int dims = 1;
    std::int64_t n = 0;
};
template <bool Inverse> struct fft_rule {
    static constexpr const char* name = Inverse ? "ifft" : "fft";
    static constexpr inferred infer(const fourier_attributes& a, type_list in, int) {
        inferred r = complex_numbers(in[0], a.dims);
        if (r) r.type.extents[r.type.extents.rank() - 1] = 2;
        return r;
    }
};
struct rfft_rule {
    static constexpr const char* name = "rfft";
    static constexpr inferred infer(const fourier_attributes& a, type_list in, int) {
        return half_spectrum(in[0], a.dims);
    }
};
struct irfft_rule {
    static constexpr const char* name = "irfft";
    static constexpr inferred infer(const fourier_attributes& a, type_list in, int) {
        return of_half_spectrum(in[0], a.dims, a.n);
    }
};
} // namespace detail

namespace untyped {
any_tensor fft(const any_tensor& x, int dims = 1, called_from here = caller());
any_tensor ifft(const any_tensor& y, int dims = 1, called_from here = caller());
any_tensor rfft(const any_tensor& x, int dims = 1, called_from here = caller());
any_tensor irfft(const any_tensor& y, int dims = 1, std::int64_t n = 0, called_from here = caller());
} // namespace untyped

/// The transform of complex numbers x [.., n, 2] over the last Dims dimensions before that of their parts.
template <int Dims = 1, OperandOrIllShaped X> auto fft(const X& x, called_from here = caller()) {
    const making made(here);
    using how = detail::constant_attributes<detail::fourier_attributes{Dims}>;
    using verdict = detail::verdict_of<detail::fft_rule<false>, how, detail::operand_of_t<X>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return detail::op_result_t<detail::fft_rule<false>, how, 0, void, detail::operand_of_t<X>>::unchecked(
            untyped::fft(detail::as_tensor(x), Dims));
}
/// What fft was made of: divided by the number of elements.
template <int Dims = 1, OperandOrIllShaped X> auto ifft(const X& y, called_from here = caller()) {
    const making made(here);
    using how = detail::constant_attributes<detail::fourier_attributes{Dims}>;
    using verdict = detail::verdict_of<detail::fft_rule<true>, how, detail::operand_of_t<X>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return detail::op_result_t<detail::fft_rule<true>, how, 0, void, detail::operand_of_t<X>>::unchecked(
            untyped::ifft(detail::as_tensor(y), Dims));
}
/// The transform of real numbers over the last Dims dimensions, of which the last becomes n / 2 + 1 complex numbers: [.., n] ->
/// [.., n / 2 + 1, 2].
template <int Dims = 1, OperandOrIllShaped X> auto rfft(const X& x, called_from here = caller()) {
    const making made(here);
    using how = detail::constant_attributes<detail::fourier_attributes{Dims}>;
    using verdict = detail::verdict_of<detail::rfft_rule, how, detail::operand_of_t<X>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return detail::op_result_t<detail::rfft_rule, how, 0, void, detail::operand_of_t<X>>::unchecked(
            untyped::rfft(detail::as_tensor(x), Dims));
}
/// What rfft was made of: [.., m, 2] -> [.., N], divided by N and by the sizes of the other Dims - 1 dimensions. N is 2 m - 2 unless it is said, as
/// it must be where rfft was of an odd number, 2 m - 1.
template <int Dims = 1, std::int64_t N = 0, OperandOrIllShaped X> auto irfft(const X& y, called_from here = caller()) {
    const making made(here);
    using how = detail::constant_attributes<detail::fourier_attributes{Dims, N}>;
    using verdict = detail::verdict_of<detail::irfft_rule, how, detail::operand_of_t<X>>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return detail::op_result_t<detail::irfft_rule, how, 0, void, detail::operand_of_t<X>>::unchecked(
            untyped::irfft(detail::as_tensor(y), Dims, N));
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_fourier)
#include <tenon/ops/linear/fourier.inl>
#endif
