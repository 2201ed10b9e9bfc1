#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <tenon/core/array/copy_elements.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/ops/random/random_numbers.hpp>
#include <tenon/ops/random/random_source_kernel.hpp>

/// The CPU kernels of ops/random/random.hpp.

namespace tenon::detail {

// What random_uniform, random_normal and random_part make.
class random_fill {
public:
    random_fill(const kernel_setup& s, random_part_op::distribution kind, double a, double b) :
        type_(s.outputs[0]), kind_(kind), a_(a), b_(b) {
        if (kind != random_part_op::distribution::uniform) {
            check_deviation("random_normal", a, b);
            return;
        }
        check_interval("random_uniform", a, b);
        const auto check = [&]<class T>(T low, T high) {
            if (!(low < high) || !std::isfinite(static_cast<float>(high - low)))
                throw invalid_argument_error(s.node.name + ": [" + detail::text_of_number(a) + ", " +
                                             detail::text_of_number(b) + ") holds no number of type " +
                                             name_of(type_.element));
        };
        if (type_.element == element_type::float32) check(static_cast<float>(a), static_cast<float>(b));
        if (type_.element == element_type::float16) check(half(a), half(b));
        if (type_.element == element_type::bfloat16) check(bfloat16(a), bfloat16(b));
    }
    const tensor_type& type() const { return type_; }
    double cost() const {
        return 30 +
               (kind_ == random_part_op::distribution::uniform ? 1 : 2) * static_cast<double>(type_.extents.elements());
    }
    /// All elements.
    void all(void* to, random_stream s, thread_pool* pool) const {
        with_type([&]<class T>(const T&) { fill(static_cast<T*>(to), type_.extents.elements(), s, pool); });
    }
    /// Those that come after as many of the stream as `first` says.
    void from(std::int64_t first, void* to, random_stream s, thread_pool* pool) const {
        with_type([&]<class T>(const T&) {
            constexpr std::int64_t per_block = sizeof(T) == sizeof(double) ? 2 : 4, most = 1024;
            const auto piece = [&](std::int64_t at, std::int64_t end) {
                T values[most]; // from the begin of a block
                while (at < end) {
                    const std::int64_t before = (first + at) % per_block, some = std::min(most - before, end - at);
                    random_stream here = s;
                    here.first += static_cast<std::uint64_t>((first + at) / per_block);
                    fill(values, before + some, here, nullptr);
                    std::memcpy(static_cast<T*>(to) + at, values + before, static_cast<std::size_t>(some) * sizeof(T));
                    at += some;
                }
            };
            const std::int64_t n = type_.extents.elements();
            parallel_for(pool, n, std::int64_t{1} << 15, piece);
        });
    }

private:
    template <class F> void with_type(F&& f) const {
        switch (type_.element) {
        case element_type::float32: return f(float());
        case element_type::float64: return f(double());
        case element_type::float16: return f(half());
        default: return f(bfloat16());
        }
    }
    template <class T> void fill(T* to, std::int64_t n, random_stream s, thread_pool* pool) const {
        using number = std::conditional_t<std::is_same_v<T, double>, double, float>;
        const auto a = static_cast<number>(a_), b = static_cast<number>(b_);
        switch (kind_) {
        case random_part_op::distribution::uniform:
            return fill_uniform(to, n, s, static_cast<T>(a_), static_cast<T>(b_), pool);
        case random_part_op::distribution::normal: return fill_normal(to, n, s, a, b, pool);
        default: return fill_truncated_normal(to, n, s, a, b, pool);
        }
    }
    tensor_type type_;
    random_part_op::distribution kind_;
    double a_, b_;
};

struct random_fill_kernel : kernel {
    random_fill_kernel(const kernel_setup& s, random_part_op::distribution kind, double a, double b,
                       std::int64_t seed) :
        values(s, kind, a, b), source(s, seed) {}
    void run(const kernel_run& r) override {
        const random_stream stream = source.next();
        if (r.out[0]) values.all(r.out[0], stream, r.pool);
    }
    double cost() const override { return values.cost(); }
    random_fill values;
    random_source source;
};

struct random_uniform_kernel final : random_fill_kernel {
    explicit random_uniform_kernel(const kernel_setup& s) :
        random_uniform_kernel(s, decode<random_uniform_op::attributes>(s.attrs)) {}
    random_uniform_kernel(const kernel_setup& s, const random_uniform_op::attributes& a) :
        random_fill_kernel(s, random_part_op::distribution::uniform, a.low, a.high, a.seed) {}
};

struct random_normal_kernel final : random_fill_kernel {
    explicit random_normal_kernel(const kernel_setup& s) :
        random_normal_kernel(s, decode<random_normal_op::attributes>(s.attrs)) {}
    random_normal_kernel(const kernel_setup& s, const random_normal_op::attributes& a) :
        random_fill_kernel(
            s, a.truncated ? random_part_op::distribution::truncated_normal : random_part_op::distribution::normal,
            a.mean, a.deviation, a.seed) {}
};

inline void check_stretch(const random_part_op::attributes& a, const tensor_type& type) {
    if (a.first > std::numeric_limits<std::int64_t>::max() - type.extents.elements())
        number_out_of_range("first", a.first);
}

struct random_part_kernel final : kernel {
    explicit random_part_kernel(const kernel_setup& s) :
        random_part_kernel(s, decode<random_part_op::attributes>(s.attrs)) {}
    random_part_kernel(const kernel_setup& s, const random_part_op::attributes& a) :
        values(s, a.kind, a.a, a.b), first(a.first), source(s, a.seed, a.of) {
        check_stretch(a, values.type());
    }
    void run(const kernel_run& r) override {
        const random_stream stream = source.next();
        if (r.out[0]) values.from(first, r.out[0], stream, r.pool);
    }
    double cost() const override { return values.cost(); }
    random_fill values;
    std::int64_t first;
    random_source source;
};

struct random_integers_kernel final : kernel {
    explicit random_integers_kernel(const kernel_setup& s) :
        type(s.outputs[0]), a(decode<random_integers_op::attributes>(s.attrs)), source(s, a.seed) {
        check_integers("random_integers", type.element, a.low, a.high);
    }
    void run(const kernel_run& r) override {
        const random_stream stream = source.next();
        if (!r.out[0]) return;
        fill_integers(r.out[0], static_cast<int>(size_of(type.element)), type.extents.elements(), stream, a.low,
                      static_cast<std::uint64_t>(a.high) - static_cast<std::uint64_t>(a.low), r.pool);
    }
    double cost() const override { return 30 + 2 * static_cast<double>(type.extents.elements()); }
    tensor_type type;
    random_integers_op::attributes a;
    random_source source;
};

// Throws where its element type does not have the numbers of a permutation.
inline void check_permutation(const std::string& node, const tensor_type& type) {
    const std::int64_t n = type.extents.elements();
    if (type.element == element_type::int32 && n > std::numeric_limits<std::int32_t>::max())
        throw invalid_argument_error(node + ": int32 does not have " + std::to_string(n) + " numbers; ask for int64");
}

struct random_permutation_kernel final : kernel {
    explicit random_permutation_kernel(const kernel_setup& s) :
        type(s.outputs[0]), source(s, s.attrs.get<std::int64_t>("seed")) {
        check_permutation(s.node.name, type);
    }
    void run(const kernel_run& r) override {
        const random_stream stream = source.next();
        if (!r.out[0]) return;
        if (type.element == element_type::int32)
            fill_permutation(r.output<std::int32_t>(0), type.extents.elements(), stream);
        else fill_permutation(r.output<std::int64_t>(0), type.extents.elements(), stream);
    }
    double cost() const override { return 30 + 20 * static_cast<double>(type.extents.elements()); }
    tensor_type type;
    random_source source;
};

struct random_shuffle_kernel final : kernel {
    explicit random_shuffle_kernel(const kernel_setup& s) :
        type(s.inputs[0]), rows(type.extents[0].size), source(s, s.attrs.get<std::int64_t>("seed")) {
        for (int d = 1; d < type.extents.rank(); ++d) row *= type.extents[d].size;
    }
    std::size_t scratch_bytes() const override { return static_cast<std::size_t>(rows) * sizeof(std::int64_t); }
    void run(const kernel_run& r) override {
        const random_stream stream = source.next();
        if (!r.out[0]) return;
        auto* order = reinterpret_cast<std::int64_t*>(r.scratch);
        fill_permutation(order, rows, stream);
        const std::size_t bytes = static_cast<std::size_t>(row) * size_of(type.element);
        parallel_for(r.pool, rows, 1 + (1 << 17) / (1 + static_cast<std::int64_t>(bytes)),
                     [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t i = begin; i < end; ++i)
                             copy_elements(type.element, r.out[0], i * row, r.in[0], order[i] * row, row);
                     });
    }
    double cost() const override {
        return 30 + static_cast<double>(rows) *
                        (20 + 0.1 * static_cast<double>(row) * static_cast<double>(size_of(type.element)));
    }
    tensor_type type;
    std::int64_t rows, row = 1;
    random_source source;
};

} // namespace tenon::detail
