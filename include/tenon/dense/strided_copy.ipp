#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/dense/strided_copy.hpp>
#include <tenon/simd/pack.hpp>

#define TENON_SIMD_FILE <tenon/dense/transpose.inl>
#include <tenon/simd/for_each_isa.hpp>

namespace tenon::detail {

inline constexpr std::int64_t copy_grain_bytes = 131072; // worth a thread

TENON_INLINE void transpose_matrix(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride,
                                   std::int64_t rows, std::int64_t columns) {
    TENON_SIMD_BEST(transpose(from, from_stride, to, to_stride, rows, columns));
}
TENON_INLINE void transpose_matrix(const double* from, std::int64_t from_stride, double* to, std::int64_t to_stride,
                                   std::int64_t rows, std::int64_t columns) {
    TENON_SIMD_BEST(transpose(from, from_stride, to, to_stride, rows, columns));
}

TENON_INLINE strided_copy::strided_copy(const copied_dimension* dims, int rank, std::size_t element_bytes) :
    element_bytes_(element_bytes), elements_(1) {
    for (int i = 0; i < rank; ++i) {
        const copied_dimension& d = dims[i];
        elements_ *= d.size;
        if (d.size == 1) continue;
        if (rank_ > 0 && dims_[rank_ - 1].from_step == d.from_step * d.size &&
            dims_[rank_ - 1].to_step == d.to_step * d.size) {
            const std::int64_t outer = dims_[rank_ - 1].size;
            dims_[rank_ - 1] = {outer * d.size, d.from_step, d.to_step};
        } else {
            dims_[rank_++] = d;
        }
    }
    if (rank_ == 0) dims_[rank_++] = {1, 1, 1};
    if (elements_ == 0) return;

    copied_dimension& last = dims_[rank_ - 1];
    if (last.from_step == 1 && last.to_step == 1) kind_ = kind::rows;
    else if (last.from_step == 0 && last.to_step == 1) kind_ = kind::fill;
    else {
        kind_ = kind::stepped;
        for (int i = 0; i + 1 < rank_ && last.to_step == 1 && element_bytes_ <= 8; ++i)
            if (dims_[i].from_step == 1) {
                kind_ = kind::crossed;
                across_ = i;
            }
    }
    const std::int64_t bytes = static_cast<std::int64_t>(element_bytes_);
    std::int64_t cut = last.size, taken_with_it = 1;
    if (kind_ == kind::crossed) {
        // Bands of the destination's rows, so that each is written from one end to the other.
        std::swap(dims_[across_], dims_[rank_ - 2]);
        across_ = rank_ - 2;
        cut = dims_[across_].size;
        taken_with_it = last.size;
    }
    for (int i = 0; i < rank_ - (kind_ == kind::crossed ? 2 : 1); ++i) outer_ *= dims_[i].size;
    chunk_ = std::clamp<std::int64_t>(copy_grain_bytes / bytes / taken_with_it, 1, cut);
    if (kind_ == kind::crossed) chunk_ = std::min(cut, (chunk_ + 63) / 64 * 64);
    chunks_ = (cut + chunk_ - 1) / chunk_;
}

template <class T> void strided_copy::unit(const T* from, T* to, std::int64_t index) const {
    const std::int64_t first = index % chunks_ * chunk_;
    index /= chunks_;
    for (int i = rank_ - (kind_ == kind::crossed ? 3 : 2); i >= 0; --i) {
        const std::int64_t k = index % dims_[i].size;
        index /= dims_[i].size;
        from += k * dims_[i].from_step;
        to += k * dims_[i].to_step;
    }
    const copied_dimension& last = dims_[rank_ - 1];
    if constexpr (sizeof(T) <= 8)
        if (kind_ == kind::crossed) {
            const copied_dimension& across = dims_[across_];
            const std::int64_t count = std::min(chunk_, across.size - first);
            from += first;
            to += first * across.to_step;
            // from: last.size rows of `count` elements; to: `count` rows of last.size elements.
            return TENON_SIMD_BEST(transpose(from, last.from_step, to, across.to_step, last.size, count));
        }
    const std::int64_t count = std::min(chunk_, last.size - first);
    from += first * last.from_step;
    to += first * last.to_step;
    switch (kind_) {
    case kind::rows: std::copy_n(from, count, to); break; // numbers: memmove
    case kind::fill: std::fill_n(to, count, *from); break;
    default:
        for (std::int64_t k = 0; k < count; ++k) to[k * last.to_step] = from[k * last.from_step];
    }
}

template <class T> void strided_copy::run_as(const T* from, T* to, thread_pool* pool) const {
    const std::int64_t units = outer_ * chunks_;
    const auto some = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) unit(from, to, i);
    };
    const std::int64_t bytes = elements_ * static_cast<std::int64_t>(sizeof(T));
    if (!pool || bytes < 2 * copy_grain_bytes) some(0, units);
    else pool->parallel_for(units, std::max<std::int64_t>(1, units * copy_grain_bytes / bytes), some);
}

TENON_INLINE void strided_copy::run(const void* from, void* to, thread_pool* pool) const {
    if (elements_ == 0) return;
    switch (element_bytes_) {
    case 1: return run_as(static_cast<const std::uint8_t*>(from), static_cast<std::uint8_t*>(to), pool);
    case 2: return run_as(static_cast<const std::uint16_t*>(from), static_cast<std::uint16_t*>(to), pool);
    case 4: return run_as(static_cast<const std::uint32_t*>(from), static_cast<std::uint32_t*>(to), pool);
    case 8: return run_as(static_cast<const std::uint64_t*>(from), static_cast<std::uint64_t*>(to), pool);
    default: return run_as(static_cast<const std::string*>(from), static_cast<std::string*>(to), pool);
    }
}

} // namespace tenon::detail
