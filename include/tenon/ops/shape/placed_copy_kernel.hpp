#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/number.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/dense/strided_copy.hpp>
#include <tenon/op/kernel.hpp>

/// A part of one tensor copied to another, or into it.

namespace tenon::detail {

/// The bits of a number in an element type, in the first bytes.
inline std::uint64_t bits_of_number(const number& value, element_type e) {
    std::uint64_t bits = 0;
    with_element(e, [&]<class T>(const T&) {
        if constexpr (!std::is_same_v<T, std::string>) {
            const T v = value.to<T>();
            std::memcpy(&bits, &v, sizeof v);
        }
    });
    return bits;
}

template <class T> void fill_elements(void* to, std::uint64_t bits, std::int64_t begin, std::int64_t end) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    T* p = static_cast<T*>(to);
    for (std::int64_t i = begin; i < end; ++i) p[i] = value;
}

inline void fill_memory(void* to, std::int64_t n, std::size_t element_bytes, std::uint64_t bits, thread_pool* pool) {
    parallel_for(pool, n, 131072, [&](std::int64_t begin, std::int64_t end) {
        std::byte* p = static_cast<std::byte*>(to) + static_cast<std::size_t>(begin) * element_bytes;
        if (bits == 0) std::memset(p, 0, static_cast<std::size_t>(end - begin) * element_bytes);
        else if (element_bytes == 1) fill_elements<std::uint8_t>(to, bits, begin, end);
        else if (element_bytes == 2) fill_elements<std::uint16_t>(to, bits, begin, end);
        else if (element_bytes == 4) fill_elements<std::uint32_t>(to, bits, begin, end);
        else fill_elements<std::uint64_t>(to, bits, begin, end);
    });
}

/// A copy between a part of one tensor and all of another, after the rest of the larger one has been filled.
class placed_copy_kernel final : public kernel {
public:
    placed_copy_kernel(strided_copy copy, std::size_t element_bytes, std::int64_t from_offset, std::int64_t to_offset,
                       std::int64_t filled, std::uint64_t bits) :
        copy_(copy),
        bytes_(element_bytes),
        from_offset_(from_offset),
        to_offset_(to_offset),
        filled_(filled),
        bits_(bits) {}
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        if (filled_ > 0) fill_memory(r.out[0], filled_, bytes_, bits_, r.pool);
        copy_.run(r.input<std::byte>(0) + from_offset_ * static_cast<std::int64_t>(bytes_),
                  r.output<std::byte>(0) + to_offset_ * static_cast<std::int64_t>(bytes_), r.pool);
    }
    double cost() const override { return 40 + 0.2 * static_cast<double>(copy_.elements() + filled_); }

private:
    strided_copy copy_;
    std::size_t bytes_;
    std::int64_t from_offset_, to_offset_;
    std::int64_t filled_; // elements of the output, 0 where the copy writes them all
    std::uint64_t bits_;
};

} // namespace tenon::detail
