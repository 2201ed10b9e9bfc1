#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include <cuda/kernels/shape/fill.hpp>
#include <cuda/kernels/shape/framed_copy.hpp>
#include <cuda/kernels/shape/strided_copy.hpp>
#include <tenon/core/number.hpp>
#include <tenon/core/sizes/extents.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/op/kernel.hpp>
#include <tenon/ops/shape/copied_view.hpp>

/// What the kernels of ops share that move elements from one tensor to another.

namespace tenon::cuda {

/// A copy of a part of a tensor, or of all of it.
class strided_copy_kernel final : public kernel {
public:
    /// The offset of what is copied is in elements.
    explicit strided_copy_kernel(const strided_copy& copy, std::size_t element_bytes, std::int64_t from_offset = 0) :
        copy_(copy), from_offset_(from_offset * static_cast<std::int64_t>(element_bytes)) {}
    void run(const kernel_run& r) override {
        if (r.out[0] && r.in[0] != r.out[0]) copy_.run(r.input<std::byte>(0) + from_offset_, r.out[0], r.stream);
    }
    bool may_share(int i, int) const override { return i == 0 && from_offset_ == 0 && copy_.is_plain(); }

private:
    strided_copy copy_;
    std::int64_t from_offset_; // in bytes
};
inline kernel_pointer prepare_copy(const tenon::detail::copied_view& v, const kernel_setup& s) {
    const std::size_t bytes = size_of(s.inputs[0].element);
    return std::make_unique<strided_copy_kernel>(strided_copy(v.dims, v.rank, bytes), bytes);
}
using tenon::detail::row_major_steps;

/// A tensor, or a part of it, put into another one, with one value around.
class framed_copy_kernel final : public kernel {
public:
    /// The offset of what is copied is in elements.
    framed_copy_kernel(const framed_copy& copy, std::size_t element_bytes, std::int64_t from_offset = 0) :
        copy_(copy), from_offset_(from_offset * static_cast<std::int64_t>(element_bytes)) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) copy_.run(r.input<std::byte>(0) + from_offset_, r.out[0], r.stream);
    }

private:
    framed_copy copy_;
    std::int64_t from_offset_; // in bytes
};

/// One value everywhere.
class fill_kernel final : public kernel {
public:
    fill_kernel(const tensor_type& t, std::uint64_t bits) :
        elements_(t.extents.elements()), element_bytes_(size_of(t.element)), bits_(bits) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) fill(r.out[0], elements_, element_bytes_, bits_, r.stream);
    }

private:
    std::int64_t elements_;
    std::size_t element_bytes_;
    std::uint64_t bits_;
};

/// The bits of a number in an element type, which holds it, in the lower bytes.
inline std::uint64_t bits_of(const number& value, element_type e) {
    std::uint64_t bits = 0;
    tenon::detail::with_element(e, [&]<class T>(const T&) {
        if constexpr (!std::is_same_v<T, std::string>) {
            const T v = value.to<T>();
            std::memcpy(&bits, &v, sizeof v);
        }
    });
    return bits;
}

} // namespace tenon::cuda
