#pragma once

#include <cmath>
#include <cstring>

#include <tenon/kernel/random_numbers.hpp>
#include <tenon/ops/kernels/random_source.hpp>

/// The CPU kernels of ops/random.hpp.

namespace tenon::detail {

struct random_uniform_kernel final : kernel {
    explicit random_uniform_kernel(const kernel_setup& s) :
        type(s.outputs[0]), a(decode<random_uniform_op::attributes>(s.attrs)), source(s, a.seed) {
        check_interval("random_uniform", a.low, a.high);
        const auto check = [&]<class T>(T low, T high) {
            if (!(low < high) || !std::isfinite(static_cast<float>(high - low)))
                throw invalid_argument_error(s.node.name + ": [" + std::to_string(a.low) + ", " +
                                             std::to_string(a.high) + ") holds no number of type " +
                                             name_of(type.element));
        };
        if (type.element == element_type::float32) check(static_cast<float>(a.low), static_cast<float>(a.high));
        if (type.element == element_type::float16) check(half(a.low), half(a.high));
        if (type.element == element_type::bfloat16) check(bfloat16(a.low), bfloat16(a.high));
    }
    void run(const kernel_run& r) override {
        const random_stream stream = source.next();
        if (!r.out[0]) return;
        const std::int64_t n = type.extents.elements();
        switch (type.element) {
        case element_type::float32:
            return fill_uniform(r.output<float>(0), n, stream, static_cast<float>(a.low), static_cast<float>(a.high),
                                r.pool);
        case element_type::float64: return fill_uniform(r.output<double>(0), n, stream, a.low, a.high, r.pool);
        case element_type::float16:
            return fill_uniform(r.output<half>(0), n, stream, half(a.low), half(a.high), r.pool);
        default: return fill_uniform(r.output<bfloat16>(0), n, stream, bfloat16(a.low), bfloat16(a.high), r.pool);
        }
    }
    double cost() const override { return 30 + static_cast<double>(type.extents.elements()); }
    tensor_type type;
    random_uniform_op::attributes a;
    random_source source;
};

struct random_normal_kernel final : kernel {
    explicit random_normal_kernel(const kernel_setup& s) :
        type(s.outputs[0]), a(decode<random_normal_op::attributes>(s.attrs)), source(s, a.seed) {
        check_deviation("random_normal", a.mean, a.deviation);
    }
    void run(const kernel_run& r) override {
        const random_stream stream = source.next();
        if (!r.out[0]) return;
        const std::int64_t n = type.extents.elements();
        const auto fill = [&]<class T, class S>(T* to, S mean, S deviation) {
            if (a.truncated) fill_truncated_normal(to, n, stream, mean, deviation, r.pool);
            else fill_normal(to, n, stream, mean, deviation, r.pool);
        };
        const auto mean = static_cast<float>(a.mean), deviation = static_cast<float>(a.deviation);
        switch (type.element) {
        case element_type::float32: return fill(r.output<float>(0), mean, deviation);
        case element_type::float64: return fill(r.output<double>(0), a.mean, a.deviation);
        case element_type::float16: return fill(r.output<half>(0), mean, deviation);
        default: return fill(r.output<bfloat16>(0), mean, deviation);
        }
    }
    double cost() const override { return 30 + 2 * static_cast<double>(type.extents.elements()); }
    tensor_type type;
    random_normal_op::attributes a;
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

struct random_permutation_kernel final : kernel {
    explicit random_permutation_kernel(const kernel_setup& s) :
        type(s.outputs[0]), source(s, s.attrs.get<std::int64_t>("seed")) {
        const std::int64_t n = type.extents.elements();
        if (type.element == element_type::int32 && n > std::numeric_limits<std::int32_t>::max())
            throw invalid_argument_error(s.node.name + ": int32 does not have " + std::to_string(n) +
                                         " numbers; ask for int64");
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
        const auto copy = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                if (type.element == element_type::string) {
                    for (std::int64_t k = 0; k < row; ++k)
                        r.output<std::string>(0)[i * row + k] = r.input<std::string>(0)[order[i] * row + k];
                } else if (bytes > 0)
                    std::memcpy(r.output<std::byte>(0) + static_cast<std::size_t>(i) * bytes,
                                r.input<std::byte>(0) + static_cast<std::size_t>(order[i]) * bytes, bytes);
            }
        };
        if (r.pool) r.pool->parallel_for(rows, 1 + (1 << 17) / (1 + static_cast<std::int64_t>(bytes)), copy);
        else copy(0, rows);
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
