#pragma once

#include <cmath>
#include <memory>
#include <mutex>
#include <vector>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/dense/fourier/fourier.hpp>
#include <tenon/ops/shape/movement.hpp>

// Functions, gradients and kernels of ops/linear/fourier.hpp.

namespace tenon {

namespace detail {
// All but the last of `dims` dimensions of complex numbers.
inline any_tensor other_transforms(any_tensor x, int dims, const fft_op::attributes& how) {
    for (int d = 1; d < dims; ++d) {
        const int axis = x.rank() - 2 - d, last = x.rank() - 2;
        x = untyped::swapaxes(tenon::add<fft_op>(how, {untyped::swapaxes(x, axis, last)}), axis, last);
    }
    return x;
}
template <class Rule> void check_transform_of(const any_tensor& x, const fourier_attributes& a) {
    const tensor_type type = x.type();
    const type_list in(&type, 1);
    if (const inferred r = Rule::infer(a, in, 0); !r) refuse_operands(Rule::name, r, in);
}
} // namespace detail

namespace untyped {
TENON_INLINE any_tensor fft(const any_tensor& x, int dims, called_from here) {
    const making made(here);
    detail::check_transform_of<detail::fft_rule<false>>(x, {dims, 0});
    return detail::other_transforms(tenon::add<fft_op>({}, {x}), dims, {});
}
TENON_INLINE any_tensor ifft(const any_tensor& y, int dims, called_from here) {
    const making made(here);
    detail::check_transform_of<detail::fft_rule<true>>(y, {dims, 0});
    const fft_op::attributes inverse{true, true};
    return detail::other_transforms(tenon::add<fft_op>(inverse, {y}), dims, inverse);
}
TENON_INLINE any_tensor rfft(const any_tensor& x, int dims, called_from here) {
    const making made(here);
    detail::check_transform_of<detail::rfft_rule>(x, {dims, 0});
    return detail::other_transforms(tenon::add<rfft_op>({}, {x}), dims, {});
}
TENON_INLINE any_tensor irfft(const any_tensor& y, int dims, std::int64_t n, called_from here) {
    const making made(here);
    detail::check_transform_of<detail::irfft_rule>(y, {dims, n});
    return tenon::add<irfft_op>({n, false, true}, {detail::other_transforms(y, dims, {true, true})});
}
} // namespace untyped

// The adjoint of a sum of x[j] exp(-i ..) is one with exp(i ..).
TENON_INLINE void fft_op::gradient(gradient_context& g) {
    const auto a = g.attributes<attributes>();
    g.set(0, tenon::add<fft_op>({!a.inverse, a.scaled}, {g.output_gradient()}));
}
// irfft takes a number for its conjugate too, where what flows to rfft's result is that of the number alone; and the reverse.
TENON_INLINE void rfft_op::gradient(gradient_context& g) {
    const auto a = g.attributes<attributes>();
    g.set(0, tenon::add<irfft_op>({0, !a.doubled, a.scaled}, {g.output_gradient(), g.input(0)}));
}
TENON_INLINE void irfft_op::gradient(gradient_context& g) {
    const auto a = g.attributes<attributes>();
    g.set(0, tenon::add<rfft_op>({!a.halved, a.scaled}, {g.output_gradient()}));
}

namespace detail {

/// The kernel of transforms of n numbers, one a row.
template <class T> class fourier_kernel : public kernel {
public:
    double cost() const override { return 200 + static_cast<double>(rows) * nanoseconds; }

protected:
    /// `real`: the sizes of the real numbers, or of the complex ones without their parts, [.., n].
    fourier_kernel(const extents& real, bool divides) :
        fourier_kernel(real[real.rank() - 1].size, real.elements(), divides) {}
    fourier_kernel(std::int64_t length, std::int64_t elements, bool divides) :
        n(length),
        rows(length > 0 ? elements / length : 0),
        scale(divides ? static_cast<T>(1.0 / static_cast<double>(length)) : T(1)),
        nanoseconds(50 + 2 * static_cast<double>(n) * std::log2(static_cast<double>(n) + 1)) {}
    /// row(transform, r) of each row.
    template <class F> void each(const kernel_run& r, const F& row) {
        parallel_for(r.pool, rows, static_cast<std::int64_t>(20'000 / nanoseconds) + 1,
                     [&](std::int64_t begin, std::int64_t end) {
                         std::unique_ptr<fourier_transform> mine = borrow();
                         for (std::int64_t i = begin; i < end; ++i) row(*mine, i);
                         give_back(std::move(mine));
                     });
    }

    const std::int64_t n, rows;
    const T scale;

private:
    using fourier_transform = dense::fourier_transform<T>;
    std::unique_ptr<fourier_transform> borrow() {
        const std::lock_guard guard(mutex_);
        if (spare_.empty()) return std::make_unique<fourier_transform>(n);
        std::unique_ptr<fourier_transform> taken = std::move(spare_.back());
        spare_.pop_back();
        return taken;
    }
    void give_back(std::unique_ptr<fourier_transform> given) {
        const std::lock_guard guard(mutex_);
        spare_.push_back(std::move(given));
    }
    const double nanoseconds;
    std::mutex mutex_;
    std::vector<std::unique_ptr<fourier_transform>> spare_; // under mutex_: a thread uses one at a time
};

template <class T> struct fft_kernel final : fourier_kernel<T> {
    explicit fft_kernel(const kernel_setup& s) :
        fourier_kernel<T>(s.inputs[0].extents[s.inputs[0].extents.rank() - 2].size, s.inputs[0].extents.elements() / 2,
                          decode<fft_op::attributes>(s.attrs).scaled),
        inverse(decode<fft_op::attributes>(s.attrs).inverse) {}
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        this->each(r, [&](dense::fourier_transform<T>& transform, std::int64_t row) {
            const auto* x = static_cast<const std::complex<T>*>(r.in[0]) + row * this->n;
            auto* y = static_cast<std::complex<T>*>(r.out[0]) + row * this->n;
            if (inverse) transform.inverse(x, y);
            else transform.forward(x, y);
            for (std::int64_t i = 0; this->scale != 1 && i < this->n; ++i) y[i] *= this->scale;
        });
    }
    const bool inverse;
};

template <class T> struct rfft_kernel final : fourier_kernel<T> {
    explicit rfft_kernel(const kernel_setup& s) :
        fourier_kernel<T>(s.inputs[0].extents, decode<rfft_op::attributes>(s.attrs).scaled),
        doubled(decode<rfft_op::attributes>(s.attrs).doubled) {}
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        const std::int64_t length = this->n, m = length / 2 + 1;
        this->each(r, [&](dense::fourier_transform<T>& transform, std::int64_t row) {
            auto* y = static_cast<std::complex<T>*>(r.out[0]) + row * m;
            transform.forward_real(r.input<T>(0) + row * length, y);
            for (std::int64_t k = 0; k < m; ++k)
                y[k] *= doubled && k > 0 && 2 * k < length ? 2 * this->scale : this->scale;
        });
    }
    const bool doubled;
};

template <class T> struct irfft_kernel final : fourier_kernel<T> {
    explicit irfft_kernel(const kernel_setup& s) :
        fourier_kernel<T>(s.outputs[0].extents, decode<irfft_op::attributes>(s.attrs).scaled),
        halved(decode<irfft_op::attributes>(s.attrs).halved) {}
    // A row's numbers, weighed.
    std::size_t scratch_bytes() const override {
        return static_cast<std::size_t>(this->rows * (this->n / 2 + 1)) * sizeof(std::complex<T>);
    }
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        const std::int64_t length = this->n, m = length / 2 + 1;
        this->each(r, [&](dense::fourier_transform<T>& transform, std::int64_t row) {
            const auto* z = static_cast<const std::complex<T>*>(r.in[0]) + row * m;
            auto* weighed = reinterpret_cast<std::complex<T>*>(r.scratch) + row * m;
            for (std::int64_t k = 0; k < m; ++k)
                weighed[k] = z[k] * (halved && k > 0 && 2 * k < length ? this->scale / 2 : this->scale);
            transform.inverse_real(weighed, r.output<T>(0) + row * length);
        });
    }
    const bool halved;
};

template <template <class> class Kernel> kernel_pointer prepare_transform(const kernel_setup& s) {
    if (s.inputs[0].element == element_type::float32) return std::make_unique<Kernel<float>>(s);
    return std::make_unique<Kernel<double>>(s);
}

} // namespace detail

TENON_INLINE kernel_pointer fft_op::prepare(const kernel_setup& s) {
    return detail::prepare_transform<detail::fft_kernel>(s);
}
TENON_INLINE kernel_pointer rfft_op::prepare(const kernel_setup& s) {
    return detail::prepare_transform<detail::rfft_kernel>(s);
}
TENON_INLINE kernel_pointer irfft_op::prepare(const kernel_setup& s) {
    return detail::prepare_transform<detail::irfft_kernel>(s);
}

} // namespace tenon
