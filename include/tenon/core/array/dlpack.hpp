#pragma once

#include <cstdint>

#include <tenon/core/array/any_array.hpp>

/// Arrays of other libraries, and arrays for them, without a copy: DLPack's structures (https://dmlc.github.io/dlpack), which NumPy,
/// PyTorch, JAX, CuPy and others hand to each other.
///
///     DLManagedTensor* out = tn::to_dlpack<DLManagedTensor>(std::move(a));   // with <dlpack/dlpack.h>, or
///     tn::dlpack::managed_tensor* out = tn::to_dlpack(std::move(a));         // without it: the same bytes
///     tn::any_array in = tn::from_dlpack(theirs);                            // which is ended with the array's last owner

namespace tenon {

/// The structures, as the ABI has them.
namespace dlpack {

struct device {
    std::int32_t type = 1; ///< 1: the CPU, 2: CUDA, 3: host memory that CUDA has pinned, ...
    std::int32_t id = 0;
};
struct data_type {
    std::uint8_t code = 0; ///< 0: int, 1: unsigned, 2: float, 4: bfloat16, 6: bool
    std::uint8_t bits = 0;
    std::uint16_t lanes = 1;
};
struct tensor {
    void* data = nullptr;
    dlpack::device device;
    std::int32_t ndim = 0;
    data_type dtype;
    std::int64_t* shape = nullptr;
    std::int64_t* strides = nullptr; ///< in elements; nullptr: dense, by rows
    std::uint64_t byte_offset = 0;
};
struct managed_tensor {
    tensor dl_tensor;
    void* manager_ctx = nullptr;
    void (*deleter)(managed_tensor* self) = nullptr;
};
struct version {
    std::uint32_t major = 1, minor = 0;
};
struct managed_tensor_versioned {
    dlpack::version version;
    void* manager_ctx = nullptr;
    void (*deleter)(managed_tensor_versioned* self) = nullptr;
    std::uint64_t flags = 0; ///< bit 0: nobody may write
    tensor dl_tensor;
};

/// What has a structure's members under DLPack's own names, as <dlpack/dlpack.h> declares them.
template <class M>
concept Versioned = requires(M m) {
    m.dl_tensor.byte_offset;
    m.manager_ctx;
    m.deleter;
    m.flags;
};
template <class M>
concept Managed = requires(M m) {
    m.dl_tensor.byte_offset;
    m.manager_ctx;
    m.deleter;
};

} // namespace dlpack

namespace detail {
dlpack::managed_tensor* export_dlpack(any_array&& a);
dlpack::managed_tensor_versioned* export_dlpack_versioned(any_array&& a);
// Of what an array cannot be as it lies, a copy or an error.
any_array import_dlpack(dlpack::managed_tensor* m, bool may_copy);
any_array import_dlpack(dlpack::managed_tensor_versioned* m, bool may_copy);

template <dlpack::Managed M> any_array imported_dlpack(M* m, bool may_copy) {
    if constexpr (dlpack::Versioned<M>) {
        static_assert(sizeof(M) == sizeof(dlpack::managed_tensor_versioned),
                      "tenon::from_dlpack: not DLPack's structure");
        return import_dlpack(reinterpret_cast<dlpack::managed_tensor_versioned*>(m), may_copy);
    } else {
        static_assert(sizeof(M) == sizeof(dlpack::managed_tensor), "tenon::from_dlpack: not DLPack's structure");
        return import_dlpack(reinterpret_cast<dlpack::managed_tensor*>(m), may_copy);
    }
}
} // namespace detail

/// The array as such a structure, which owns a share of its memory until its deleter is called: on any thread, also after the program
/// has let go of the array. Of a view, whose memory nobody keeps, it is a copy. unimplemented_error for texts.
template <dlpack::Managed M = dlpack::managed_tensor> M* to_dlpack(any_array a) {
    if constexpr (dlpack::Versioned<M>) {
        static_assert(sizeof(M) == sizeof(dlpack::managed_tensor_versioned),
                      "tenon::to_dlpack: not DLPack's structure");
        return reinterpret_cast<M*>(detail::export_dlpack_versioned(std::move(a)));
    } else {
        static_assert(sizeof(M) == sizeof(dlpack::managed_tensor), "tenon::to_dlpack: not DLPack's structure");
        return reinterpret_cast<M*>(detail::export_dlpack(std::move(a)));
    }
}

/// The tensor as an array, whose last owner calls the deleter. Its memory is the CPU's or pinned for CUDA, dense and by rows; what nobody
/// may write (versioned structures say so) is copied. Where it throws, the structure is still the caller's:
/// invalid_argument_error for strides of another order, memory that is not aligned, and what does not agree with itself;
/// unimplemented_error, naming it, for memory of other devices, elements that Tenon lacks, more than 8 dimensions and a version other
/// than 1.
template <dlpack::Managed M> any_array from_dlpack(M* m) { return detail::imported_dlpack(m, false); }

/// The same, but where the tensor has strides of another order, or lies where its elements are not aligned, a copy.
template <dlpack::Managed M> any_array from_dlpack_or_copy(M* m) { return detail::imported_dlpack(m, true); }

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/core/array/dlpack.ipp>
#endif
