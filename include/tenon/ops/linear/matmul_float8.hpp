#pragma once

// First: compilers tell the way to it in each complaint.
#include <tenon/graph/tensor.hpp>

#include <tenon/core/float8.hpp>
#include <tenon/ops/linear/matmul.hpp>

/// Products of matrices whose elements are rounded to 8 bits first.
///
///     auto y = tn::matmul_float8(x, w);                    // bfloat16[batch, 1024] x bfloat16[1024, 4096] -> bfloat16[batch, 4096]
///     auto z = tn::matmul_float8<tn::transpose_b>(x, v);   // as tn::matmul
///
/// Each operand is scaled, by what brings its largest magnitude to that of e4m3, rounded to e4m3, multiplied, summed in float, scaled back,
/// and rounded once to the operands' type: float, half or bfloat16. The gradient is that of the product without rounding, made in the same
/// way of what flows in, rounded to e5m2, and the operands. Where an element is not finite, nor is the result.
///
/// GPUs of compute capability 8.9 and more have such products, where all sizes of the matrices are multiples of 16; elsewhere the same rounded
/// numbers are multiplied in float.

namespace tenon {

/// in: a, b, matrices or batches of them.
struct matmul_float8_op {
    static constexpr const char* name = "matmul_float8";
    static constexpr op_flags flags = op_flags::alike;
    struct attributes {
        bool transpose_a = false;
        bool transpose_b = false;
        bool gradient_a = false; ///< a is what flows into a product: rounded to e5m2, which reaches further
        bool gradient_b = false;

        constexpr float8_format format_a() const { return gradient_a ? float8_format::e5m2 : float8_format::e4m3; }
        constexpr float8_format format_b() const { return gradient_b ? float8_format::e5m2 : float8_format::e4m3; }
    };
    static constexpr char what_it_takes[] = "elements are float, half or bfloat16";
    static constexpr inferred infer(const attributes& t, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        for (const tensor_type& x : in) {
            if (!is_floating(x.element) || x.element == element_type::float64) return what_it_takes;
            if (x.extents.rank() < 2) return fault::rank_too_low;
        }
        return matmul_op::product({t.transpose_a, t.transpose_b}, in[0], in[1]);
    }
    static double operations(const attributes& t, type_list in, type_list out) {
        return matmul_op::operations({t.transpose_a, t.transpose_b}, in, out);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(matmul_float8, matmul_float8);

/// The product of a and b, rounded to 8 bits.
template <matmul_op::attributes T = matmul_op::attributes{}, OperandOrIllShaped A, OperandOrIllShaped B>
auto matmul_float8(const A& a, const B& b, called_from here = caller()) {
    const making made(here);
    return apply_op<matmul_float8_op, matmul_float8_op::attributes{T.transpose_a, T.transpose_b}>(a, b);
}

namespace untyped {
any_tensor matmul_float8(const any_tensor& a, const any_tensor& b, bool a_transposed = false, bool b_transposed = false,
                         called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_matmul_float8)

#include <atomic>

#include <tenon/ops/linear/matmul_kernel.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/reshape.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor matmul_float8(const any_tensor& a, const any_tensor& b, bool a_transposed, bool b_transposed,
                                      called_from here) {
    return tenon::add<matmul_float8_op>({a_transposed, b_transposed}, {a, b}, here);
}
} // namespace untyped

TENON_INLINE void matmul_float8_op::gradient(gradient_context& g) {
    const auto t = g.attributes<attributes>();
    const any_tensor d = g.output_gradient(), a = g.input(0), b = g.input(1);
    const auto product = [](const any_tensor& x, bool tx, bool gx, const any_tensor& y, bool ty, bool gy) {
        return tenon::add<matmul_float8_op>({tx, ty, gx, gy}, {x, y});
    };
    const auto in_sizes_of = [](const any_tensor& x, const any_tensor& dx) {
        return dx.extents().is_static() && dx.extents() == x.extents() ? dx : untyped::sum_like(dx, x);
    };
    g.set(0, in_sizes_of(a, t.transpose_a ? product(b, t.transpose_b, t.gradient_b, d, true, true)
                                          : product(d, false, true, b, !t.transpose_b, t.gradient_b)));
    // Of a batch with one matrix one product, which sums over the batch too.
    const bool is_one = a.rank() > 2 && b.rank() == 2 && !t.transpose_a;
    const auto rows = [is_one](const any_tensor& x) {
        const int last = x.rank() - 1;
        const reshape_op::attributes as_rows{{reshape_op::deduced, reshape_op::copied(last)},
                                             {extent{}, x.extents()[last]}};
        return is_one ? tenon::add<reshape_op>(as_rows, {x}) : x;
    };
    g.set(1, in_sizes_of(b, t.transpose_b ? product(rows(d), true, true, rows(a), t.transpose_a, t.gradient_a)
                                          : product(rows(a), !t.transpose_a, t.gradient_a, rows(d), false, true)));
}

namespace detail {

/// Rounded operands as floats, which have their products exactly.
template <class T> class float8_matmul_kernel final : public kernel {
public:
    float8_matmul_kernel(const kernel_setup& s, const matmul_float8_op::attributes& t) :
        t_(t),
        l_(s, t.transpose_a, t.transpose_b),
        product_(describe(l_, element_type::float32, dense::epilogue::none, s)) {}
    void run(const kernel_run& r) override {
        if (!r.out[0] || l_.elements_c == 0) return;
        float* const a = reinterpret_cast<float*>(r.scratch);
        float* const b = a + padded(l_.elements_a);
        float* const c = b + padded(l_.elements_b);
        const float scale_a = round(r.input<T>(0), a, l_.elements_a, t_.format_a(), r.pool);
        const float scale_b = round(r.input<T>(1), b, l_.elements_b, t_.format_b(), r.pool);
        for (std::size_t i = 0; i < l_.outer_a.size(); ++i)
            product_.run(a + l_.outer_a[i], b + l_.outer_b[i], nullptr,
                         c + static_cast<std::int64_t>(i) * l_.batch * l_.m * l_.n, r.pool);
        T* const to = r.output<T>(0);
        parallel_for(r.pool, l_.elements_c, 16384, [=](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i)
                to[i] = static_cast<T>(scaled_back(c[i], 1 / scale_a, 1 / scale_b));
        });
    }
    std::size_t scratch_bytes() const override {
        return static_cast<std::size_t>(padded(l_.elements_a) + padded(l_.elements_b) + padded(l_.elements_c)) *
               sizeof(float);
    }
    double cost() const override { return 200 + l_.operations() * 0.006; }

private:
    static std::int64_t padded(std::int64_t n) { return (n + 15) / 16 * 16; }
    // Returns what the elements were multiplied by.
    static float round(const T* from, float* to, std::int64_t n, float8_format f, thread_pool* pool) {
        std::atomic<std::uint32_t> largest{0}; // bits of magnitudes are in their order, NaN the last
        parallel_for(pool, n, 16384, [&](std::int64_t begin, std::int64_t end) {
            std::uint32_t most = 0;
            for (std::int64_t i = begin; i < end; ++i) {
                const std::uint32_t here = std::bit_cast<std::uint32_t>(static_cast<float>(from[i])) & 0x7FFFFFFFU;
                most = here > most ? here : most;
            }
            for (std::uint32_t before = largest; before < most && !largest.compare_exchange_weak(before, most);) {
            }
        });
        const float scale = scale_of(f, std::bit_cast<float>(largest.load()));
        parallel_for(pool, n, 16384, [=](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) to[i] = rounded_to(f, static_cast<float>(from[i]) * scale);
        });
        return scale;
    }

    const matmul_float8_op::attributes t_;
    matmul_layout l_;
    dense::gemm product_;
};

} // namespace detail

TENON_INLINE kernel_pointer matmul_float8_op::prepare(const kernel_setup& s) {
    const auto t = decode<attributes>(s.attrs);
    switch (s.inputs[0].element) {
    case element_type::float16: return std::make_unique<detail::float8_matmul_kernel<half>>(s, t);
    case element_type::bfloat16: return std::make_unique<detail::float8_matmul_kernel<bfloat16>>(s, t);
    default: return std::make_unique<detail::float8_matmul_kernel<float>>(s, t);
    }
}

} // namespace tenon

#endif
