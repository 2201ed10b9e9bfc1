#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/half.hpp>
#include <tenon/dense/gemm.hpp>
#include <tenon/memory/paid_memory.hpp>
#include <tenon/op/kernel.hpp>
#include <tenon/op/kernel_roles.hpp>
#include <tenon/simd/pack.hpp>

/// The CPU kernels of ops/linear/matmul.hpp.

#define TENON_SIMD_FILE <tenon/ops/linear/matmul_convert.inl>
#include <tenon/simd/for_each_isa.hpp>

namespace tenon::detail {

/// A product's sizes: `outer` positions in the operands (in elements, of the batch dimensions that repeat
/// unevenly), for each of which there is a batch of evenly spaced products.
struct matmul_layout {
    std::int64_t m = 1, n = 1, k = 1;
    std::int64_t batch = 1, stride_a = 0, stride_b = 0;
    paid_vector<std::int64_t> outer_a, outer_b;
    bool transpose_a, transpose_b;
    std::int64_t elements_a, elements_b, elements_c;

    matmul_layout(const kernel_setup& s, bool ta, bool tb) :
        outer_a(1, 0, s.memory), outer_b(1, 0, s.memory), transpose_a(ta), transpose_b(tb) {
        const extents &a = s.inputs[0].extents, &b = s.inputs[1].extents;
        elements_a = a.elements();
        elements_b = b.elements();
        elements_c = s.outputs[0].extents.elements();
        const int ra = a.rank(), rb = b.rank();
        k = a[ta ? ra - 2 : ra - 1].size;
        if (ra > 1) m = a[ta ? ra - 1 : ra - 2].size;
        if (rb > 1) n = b[tb ? rb - 2 : rb - 1].size;

        // Batch dimensions from the last: those that both operands step through evenly are one.
        const int ba = ra > 2 ? ra - 2 : 0, bb = rb > 2 ? rb - 2 : 0, rank = ba > bb ? ba : bb;
        std::int64_t step_a = m * k, step_b = k * n;
        int i = 1;
        for (; i <= rank; ++i) {
            const std::int64_t size_a = i <= ba ? a[ba - i].size : 1, size_b = i <= bb ? b[bb - i].size : 1;
            const std::int64_t size = size_a == 1 ? size_b : size_a;
            if (size == 1) continue;
            const std::int64_t sa = size_a == 1 ? 0 : step_a, sb = size_b == 1 ? 0 : step_b;
            if (batch == 1) {
                stride_a = sa;
                stride_b = sb;
            } else if (sa != batch * stride_a || sb != batch * stride_b) break;
            batch *= size;
            step_a *= size_a;
            step_b *= size_b;
        }
        for (; i <= rank; ++i) {
            const std::int64_t size_a = i <= ba ? a[ba - i].size : 1, size_b = i <= bb ? b[bb - i].size : 1;
            const std::int64_t size = size_a == 1 ? size_b : size_a;
            const std::size_t inner = outer_a.size();
            outer_a.resize(inner * static_cast<std::size_t>(size));
            outer_b.resize(outer_a.size());
            for (std::size_t at = inner; at < outer_a.size(); ++at) {
                const std::int64_t index = static_cast<std::int64_t>(at / inner);
                outer_a[at] = outer_a[at % inner] + (size_a == 1 ? 0 : index * step_a);
                outer_b[at] = outer_b[at % inner] + (size_b == 1 ? 0 : index * step_b);
            }
            step_a *= size_a;
            step_b *= size_b;
        }
        // Rows that follow each other and meet the same b are one matrix.
        if (batch > 1 && stride_b == 0 && stride_a == m * k && !ta) {
            m *= batch;
            batch = 1;
        }
    }
    double operations() const {
        return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
               static_cast<double>(batch) * static_cast<double>(outer_a.size());
    }
};

inline dense::gemm_description describe(const matmul_layout& l, element_type element, dense::epilogue after,
                                        const kernel_setup& s) {
    dense::gemm_description d;
    d.batch = l.batch;
    d.m = l.m;
    d.n = l.n;
    d.k = l.k;
    d.transpose_a = l.transpose_a;
    d.transpose_b = l.transpose_b;
    d.batch_stride_a = l.stride_a;
    d.batch_stride_b = l.stride_b;
    d.after = after;
    d.element = element;
    d.threads = s.threads;
    d.memory = s.memory;
    return d;
}

/// A product, divided among threads by itself or, of two matrices, into shares of the rows of c's first dimension. Of many rows a share is
/// two products, as it is there.
class shared_product : public row_kernel {
public:
    shared_product(const kernel_setup& s, const matmul_layout& l, const dense::gemm_description& d) : d_(d) {
        whole_.emplace(d);
        const extents& c = s.outputs[0].extents;
        if (l.batch == 1 && l.outer_a.size() == 1 && c.rank() > 1 && c.elements() > 0 && d.m % c[0].size == 0)
            rows_ = c[0].size;
    }
    std::int64_t rows() const override { return rows_; }
    /// Those of a share are worth what it takes to bring b into the order in which it is read.
    bool can_divide(int shares) const override { return d_.m >= 16 * shares; }
    void divide(int shares) override {
        std::vector<part> parts;
        for (int s = 0; s < shares; ++s) {
            std::int64_t at = first(s, shares);
            for (const std::int64_t end = first(s + 1, shares); at < end;) {
                dense::gemm_description d = d_;
                d.row_stride_a = d_.from_row_to_row();
                d.m = d_.m >= 128 * shares ? std::min(end - at, (end - first(s, shares) + 1) / 2) : end - at;
                d.threads = 1;
                parts.push_back({at, dense::gemm(d)});
                at += d.m;
            }
        }
        whole_.reset();
        parts_ = std::move(parts);
        shares_ = shares;
    }

protected:
    template <class T> void multiply(const T* a, const T* b, const void* bias, T* c, thread_pool* pool) const {
        if (whole_) return whole_->run(a, b, bias, c, pool);
        parallel_for(pool, std::ssize(parts_), 1, [&](std::int64_t begin, std::int64_t end) {
            for (; begin < end; ++begin) run_part(a, b, bias, c, parts_[static_cast<std::size_t>(begin)]);
        });
    }
    template <class T> void multiply_share(const T* a, const T* b, const void* bias, T* c, int share) const {
        const auto each = parts_.size() / static_cast<std::size_t>(shares_);
        for (std::size_t k = each * static_cast<std::size_t>(share), end = k + each; k < end; ++k)
            run_part(a, b, bias, c, parts_[k]);
    }
    int shares() const noexcept { return shares_; }

private:
    struct part {
        std::int64_t first; // row
        dense::gemm product;
    };
    template <class T> void run_part(const T* a, const T* b, const void* bias, T* c, const part& p) const {
        p.product.run(a + p.first * (d_.transpose_a ? 1 : d_.from_row_to_row()), b, bias, c + p.first * d_.n, nullptr);
    }
    std::int64_t first(int share, int shares) const noexcept { return begin_of(rows_, share, shares) * (d_.m / rows_); }

    dense::gemm_description d_;
    std::int64_t rows_ = 0;
    std::optional<dense::gemm> whole_; // or shares:
    std::vector<part> parts_;          // of each as many
    int shares_ = 1;
};

/// float and double.
template <class T> class matmul_kernel final : public kernel, public shared_product {
public:
    matmul_kernel(const kernel_setup& s, matmul_layout l, dense::epilogue after) :
        shared_product(s, l, describe(l, s.inputs[0].element, after, s)),
        l_(std::move(l)),
        has_bias_(s.inputs.size() > 2) {}
    void run(const kernel_run& r) override {
        if (!r.out[0] || l_.elements_c == 0) return;
        T* c = r.output<T>(0);
        for (std::size_t i = 0; i < l_.outer_a.size(); ++i, c += l_.batch * l_.m * l_.n)
            multiply(r.input<T>(0) + l_.outer_a[i], r.input<T>(1) + l_.outer_b[i], bias(r), c, r.pool);
    }
    double cost() const override { return 100 + l_.operations() * (sizeof(T) == 4 ? 0.005 : 0.01); }

    bool is_by_rows(int i) const override { return i == 0 && !l_.transpose_a; }
    void run_share(const kernel_run& r, int share) const override {
        if (r.out[0]) multiply_share(r.input<T>(0), r.input<T>(1), bias(r), r.output<T>(0), share);
    }

private:
    const void* bias(const kernel_run& r) const noexcept { return has_bias_ ? r.in[2] : nullptr; }

    matmul_layout l_;
    bool has_bias_;
};

/// c + factor * the product of two matrices of floats, best where c lies.
class matmul_add_kernel final : public kernel, public shared_product {
public:
    matmul_add_kernel(const kernel_setup& s, const matmul_layout& l, double factor) :
        shared_product(s, l, with(describe(l, element_type::float32, dense::epilogue::none, s), factor)),
        elements_(l.elements_c),
        cost_(100 + l.operations() * 0.005),
        is_by_rows_(!l.transpose_a) {}
    void run(const kernel_run& r) override {
        if (!r.out[0] || elements_ == 0) return;
        const float* const c = r.input<float>(2);
        float* const to = r.output<float>(0);
        if (c != to) {
            parallel_for(r.pool, elements_, 65536,
                         [&](std::int64_t begin, std::int64_t end) { std::copy(c + begin, c + end, to + begin); });
        }
        multiply(r.input<float>(0), r.input<float>(1), nullptr, to, r.pool);
    }
    double cost() const override { return cost_; }
    bool may_share(int i, int) const override { return i == 2; }

    bool is_by_rows(int i) const override { return i == 2 || (i == 0 && is_by_rows_); }
    void run_share(const kernel_run& r, int share) const override {
        const float* const c = r.input<float>(2);
        float* const to = r.output<float>(0);
        if (!to) return;
        const std::int64_t row = elements_ / rows();
        if (c != to)
            std::copy(c + row * begin_of(rows(), share, shares()), c + row * begin_of(rows(), share + 1, shares()),
                      to + row * begin_of(rows(), share, shares()));
        multiply_share(r.input<float>(0), r.input<float>(1), nullptr, to, share);
    }

private:
    static dense::gemm_description with(dense::gemm_description d, double factor) {
        d.scale = factor;
        d.accumulate = true;
        return d;
    }
    std::int64_t elements_;
    double cost_;
    bool is_by_rows_; // a, too
};

/// 16-bit floats become floats and the result is rounded once.
template <class T> class small_float_matmul_kernel final : public kernel {
public:
    small_float_matmul_kernel(const kernel_setup& s, matmul_layout l, dense::epilogue after) :
        l_(std::move(l)), n_(s.inputs.size() > 2 ? l_.n : 0), product_(describe(l_, element_type::float32, after, s)) {}
    void run(const kernel_run& r) override {
        if (!r.out[0] || l_.elements_c == 0) return;
        float* a = reinterpret_cast<float*>(r.scratch);
        float* b = a + padded(l_.elements_a);
        float* bias = b + padded(l_.elements_b);
        float* c = bias + padded(n_);
        widen(r.input<T>(0), a, l_.elements_a, r.pool);
        widen(r.input<T>(1), b, l_.elements_b, r.pool);
        if (n_ > 0) widen(r.input<T>(2), bias, n_, nullptr);
        for (std::size_t i = 0; i < l_.outer_a.size(); ++i)
            product_.run(a + l_.outer_a[i], b + l_.outer_b[i], n_ > 0 ? bias : nullptr,
                         c + static_cast<std::int64_t>(i) * l_.batch * l_.m * l_.n, r.pool);
        narrow(c, r.output<T>(0), l_.elements_c, r.pool);
    }
    std::size_t scratch_bytes() const override {
        return static_cast<std::size_t>(padded(l_.elements_a) + padded(l_.elements_b) + padded(n_) +
                                        padded(l_.elements_c)) *
               sizeof(float);
    }
    double cost() const override { return 200 + l_.operations() * 0.006; }

private:
    static std::int64_t padded(std::int64_t n) { return (n + 15) / 16 * 16; }
    template <class From, class To> static void convert(const From* from, To* to, std::int64_t n, thread_pool* pool) {
        parallel_for(pool, n, 65536, [&](std::int64_t begin, std::int64_t end) {
            TENON_SIMD_BEST(convert_all(from + begin, to + begin, end - begin));
        });
    }
    static void widen(const T* from, float* to, std::int64_t n, thread_pool* pool) { convert(from, to, n, pool); }
    static void narrow(const float* from, T* to, std::int64_t n, thread_pool* pool) { convert(from, to, n, pool); }

    matmul_layout l_;
    std::int64_t n_; // of the bias
    dense::gemm product_;
};

/// int8 as floats, exactly: as much of k at a time as cannot sum to more than 2^24, up to which a float has all integers.
/// The sums are added in int32.
class int8_matmul_kernel final : public kernel {
    static constexpr std::int64_t most_depth = (1 << 24) / (128 * 128);

public:
    int8_matmul_kernel(const kernel_setup& s, matmul_layout l) :
        l_(std::move(l)), depth_(l_.k < most_depth ? l_.k : most_depth), product_(part(s, depth_)) {
        if (depth_ > 0 && l_.k % depth_ != 0) last_.emplace(part(s, l_.k % depth_));
    }
    void run(const kernel_run& r) override {
        if (!r.out[0] || l_.elements_c == 0) return;
        float* const a = reinterpret_cast<float*>(r.scratch);
        float* const b = a + padded(part_of(l_.elements_a, depth_));
        float* const c = b + padded(part_of(l_.elements_b, depth_));
        std::int64_t from = 0;
        do {
            const std::int64_t depth = l_.k - from < depth_ ? l_.k - from : depth_;
            const dense::gemm& product = depth == depth_ ? product_ : *last_;
            take(r.input<std::int8_t>(0), a, l_.elements_a, l_.transpose_a ? l_.m : 1, from, depth, r.pool);
            take(r.input<std::int8_t>(1), b, l_.elements_b, l_.transpose_b ? 1 : l_.n, from, depth, r.pool);
            for (std::size_t i = 0; i < l_.outer_a.size(); ++i)
                product.run(a + part_of(l_.outer_a[i], depth), b + part_of(l_.outer_b[i], depth), nullptr,
                            c + static_cast<std::int64_t>(i) * l_.batch * l_.m * l_.n, r.pool);
            parallel_for(r.pool, l_.elements_c, 65536, [&](std::int64_t begin, std::int64_t end) {
                std::int32_t* const to = r.output<std::int32_t>(0) + begin;
                if (from == 0) TENON_SIMD_BEST(convert_all(c + begin, to, end - begin));
                else TENON_SIMD_BEST(add_all(c + begin, to, end - begin));
            });
            from += depth;
        } while (from < l_.k);
    }
    std::size_t scratch_bytes() const override {
        return static_cast<std::size_t>(padded(part_of(l_.elements_a, depth_)) +
                                        padded(part_of(l_.elements_b, depth_)) + padded(l_.elements_c)) *
               sizeof(float);
    }
    double cost() const override { return 200 + l_.operations() * 0.006; }

private:
    static std::int64_t padded(std::int64_t n) { return (n + 15) / 16 * 16; }
    /// Of so many elements those that are left where k is `depth`.
    std::int64_t part_of(std::int64_t elements, std::int64_t depth) const {
        return l_.k == 0 ? 0 : elements / l_.k * depth;
    }
    dense::gemm_description part(const kernel_setup& s, std::int64_t depth) const {
        dense::gemm_description d = describe(l_, element_type::float32, dense::epilogue::none, s);
        d.k = depth;
        d.batch_stride_a = part_of(d.batch_stride_a, depth);
        d.batch_stride_b = part_of(d.batch_stride_b, depth);
        return d;
    }
    /// `depth` of [.., k, inner], from `first` on.
    void take(const std::int8_t* from, float* to, std::int64_t elements, std::int64_t inner, std::int64_t first,
              std::int64_t depth, thread_pool* pool) const {
        const std::int64_t all = l_.k * inner, some = depth * inner;
        parallel_for(pool, part_of(elements, depth), 65536, [&](std::int64_t begin, std::int64_t end) {
            while (begin < end) {
                const std::int64_t matrix = begin / some, at = begin % some;
                const std::int64_t n = end - begin < some - at ? end - begin : some - at;
                TENON_SIMD_BEST(convert_all(from + matrix * all + first * inner + at, to + begin, n));
                begin += n;
            }
        });
    }

    matmul_layout l_;
    std::int64_t depth_;
    dense::gemm product_;             // of depth_
    std::optional<dense::gemm> last_; // of what is left of k
};

/// int32 and int64: rows of c are sums of rows of b.
template <class T> class integer_matmul_kernel final : public kernel {
    using wrapping = std::make_unsigned_t<T>;

public:
    integer_matmul_kernel(const kernel_setup& s, matmul_layout l, dense::epilogue after) :
        l_(std::move(l)), has_bias_(s.inputs.size() > 2), relu_(dense::clips(after)) {}
    void run(const kernel_run& r) override {
        if (!r.out[0] || l_.elements_c == 0) return;
        const T* bias = has_bias_ ? r.input<T>(2) : nullptr;
        const std::int64_t products = static_cast<std::int64_t>(l_.outer_a.size()) * l_.batch;
        const auto rows = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const std::int64_t p = i / l_.m, row = i % l_.m, in_batch = p % l_.batch;
                const auto outer = static_cast<std::size_t>(p / l_.batch);
                product_row(r.input<T>(0) + l_.outer_a[outer] + in_batch * l_.stride_a,
                            r.input<T>(1) + l_.outer_b[outer] + in_batch * l_.stride_b, row, bias,
                            r.output<T>(0) + i * l_.n);
            }
        };
        const std::int64_t work = l_.n * l_.k + 1;
        parallel_for(r.pool, products * l_.m, 1 + 65536 / work, rows);
    }
    double cost() const override { return 100 + l_.operations() * 0.15; }

private:
    void product_row(const T* a, const T* b, std::int64_t i, const T* bias, T* c) const {
        const std::int64_t m = l_.m, n = l_.n, k = l_.k;
        if (l_.transpose_b) {
            for (std::int64_t j = 0; j < n; ++j) {
                wrapping sum = bias ? static_cast<wrapping>(bias[j]) : wrapping{};
                for (std::int64_t l = 0; l < k; ++l)
                    sum += static_cast<wrapping>(l_.transpose_a ? a[l * m + i] : a[i * k + l]) *
                           static_cast<wrapping>(b[j * k + l]);
                c[j] = static_cast<T>(sum);
            }
        } else {
            for (std::int64_t j = 0; j < n; ++j) c[j] = bias ? bias[j] : T{};
            for (std::int64_t l = 0; l < k; ++l) {
                const auto x = static_cast<wrapping>(l_.transpose_a ? a[l * m + i] : a[i * k + l]);
                for (std::int64_t j = 0; j < n; ++j)
                    c[j] = static_cast<T>(static_cast<wrapping>(c[j]) + x * static_cast<wrapping>(b[l * n + j]));
            }
        }
        for (std::int64_t j = 0; relu_ && j < n; ++j) c[j] = c[j] > 0 ? c[j] : T{};
    }

    matmul_layout l_;
    bool has_bias_, relu_;
};

inline kernel_pointer prepare_matmul(const kernel_setup& s, bool ta, bool tb, dense::epilogue after) {
    matmul_layout l(s, ta, tb);
    switch (s.inputs[0].element) {
    case element_type::float32: return std::make_unique<matmul_kernel<float>>(s, std::move(l), after);
    case element_type::float64: return std::make_unique<matmul_kernel<double>>(s, std::move(l), after);
    case element_type::float16: return std::make_unique<small_float_matmul_kernel<half>>(s, std::move(l), after);
    case element_type::bfloat16: return std::make_unique<small_float_matmul_kernel<bfloat16>>(s, std::move(l), after);
    case element_type::int8: return std::make_unique<int8_matmul_kernel>(s, std::move(l));
    case element_type::int32: return std::make_unique<integer_matmul_kernel<std::int32_t>>(s, std::move(l), after);
    default: return std::make_unique<integer_matmul_kernel<std::int64_t>>(s, std::move(l), after);
    }
}

} // namespace tenon::detail
