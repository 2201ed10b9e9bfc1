#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include <tenon/core/array/dlpack.hpp>

namespace tenon::detail {

inline dlpack::data_type dlpack_type(element_type e) {
    const auto bits = static_cast<std::uint8_t>(8 * size_of(e));
    if (e == element_type::string || e == element_type::none)
        throw unimplemented_error(std::string("to_dlpack: DLPack has no elements of type ") + name_of(e));
    if (e == element_type::bfloat16) return {4, bits, 1};
    if (e == element_type::boolean) return {6, bits, 1};
    return {static_cast<std::uint8_t>(is_floating(e) ? 2 : is_signed_integer(e) ? 0 : 1), bits, 1};
}

// What a structure that was given out keeps.
template <class M> struct exported {
    M managed;
    any_array array;
    std::int64_t sizes[max_rank]{}, strides[max_rank]{};
};

template <class M> M* exported_array(any_array&& a) {
    const dlpack::data_type type = dlpack_type(a.element());
    auto e = std::make_unique<exported<M>>();
    e->array = a.is_view() ? a.copy() : std::move(a);
    dlpack::tensor& t = e->managed.dl_tensor;
    t.data = e->array.data();
    t.dtype = type;
    t.ndim = e->array.rank();
    std::int64_t step = 1;
    for (int i = t.ndim; i-- > 0;) {
        e->sizes[i] = e->array.extents()[i].size;
        e->strides[i] = step;
        step *= e->sizes[i];
    }
    t.shape = e->sizes;
    t.strides = e->strides;
    e->managed.manager_ctx = e.get();
    e->managed.deleter = [](M* m) { delete static_cast<exported<M>*>(m->manager_ctx); };
    return &e.release()->managed;
}

TENON_INLINE dlpack::managed_tensor* export_dlpack(any_array&& a) {
    return exported_array<dlpack::managed_tensor>(std::move(a));
}
TENON_INLINE dlpack::managed_tensor_versioned* export_dlpack_versioned(any_array&& a) {
    return exported_array<dlpack::managed_tensor_versioned>(std::move(a));
}

// The type of a tensor whose elements can be an array's.
inline tensor_type type_of_dlpack(const dlpack::tensor& t) {
    if (t.device.type != 1 && t.device.type != 3)
        throw unimplemented_error("from_dlpack: its memory is of a device of DLPack's type " +
                                  std::to_string(t.device.type) +
                                  (t.device.type == 2 || t.device.type == 13 ? " (CUDA)" : "") +
                                  "; arrays lie in the host's memory: copy it there first, as .cpu() does in PyTorch");
    element_type element = element_type::none;
    for (int e = static_cast<int>(element_type::float32); e < static_cast<int>(element_type::string); ++e) {
        const dlpack::data_type d = dlpack_type(static_cast<element_type>(e));
        if (d.code == t.dtype.code && d.bits == t.dtype.bits && t.dtype.lanes == 1)
            element = static_cast<element_type>(e);
    }
    if (element == element_type::none)
        throw unimplemented_error("from_dlpack: its elements are of DLPack's type code " +
                                  std::to_string(t.dtype.code) + " with " + std::to_string(t.dtype.bits) + " bits in " +
                                  std::to_string(t.dtype.lanes) + " lanes, which arrays do not have");
    if (t.ndim > max_rank)
        throw unimplemented_error("from_dlpack: it has " + std::to_string(t.ndim) + " dimensions; 8 are the most");
    if (t.ndim < 0 || (t.ndim > 0 && !t.shape))
        throw invalid_argument_error("from_dlpack: it says " + std::to_string(t.ndim) + " dimensions" +
                                     (t.shape ? "" : ", and no sizes"));
    tensor_type type{element, {}};
    for (int i = 0; i < t.ndim; ++i) {
        if (t.shape[i] < 0)
            throw invalid_argument_error("from_dlpack: size " + std::to_string(i) + " is " +
                                         std::to_string(t.shape[i]));
        type.extents.push_back(t.shape[i]);
    }
    if (checked_elements(element, type.extents) > 0 && !t.data)
        throw invalid_argument_error("from_dlpack: " + to_string(type) + " has no memory");
    return type;
}

inline std::byte* begin_of_dlpack(const dlpack::tensor& t) {
    return t.data ? static_cast<std::byte*>(t.data) + t.byte_offset : nullptr;
}

// The dimension along which it does not lie as an array does, and what the stride there would be; -1: there is none.
struct odd_stride {
    int dimension = -1;
    std::int64_t wanted = 1;
};
inline odd_stride odd_stride_of(const dlpack::tensor& t, const tensor_type& type) {
    std::int64_t step = 1;
    if (t.strides && checked_elements(type.element, type.extents) > 1)
        for (int i = t.ndim; i-- > 0; step *= t.shape[i])
            if (t.shape[i] != 1 && t.strides[i] != step) return {i, step};
    return {};
}

// The elements from dimension `axis` on, one after another.
inline void copy_strided_dlpack(const dlpack::tensor& t, int axis, const std::byte* from, std::size_t bytes,
                                std::byte*& to) {
    if (axis == t.ndim) {
        std::memcpy(to, from, bytes);
        to += bytes;
        return;
    }
    const std::int64_t step = t.strides[axis] * static_cast<std::int64_t>(bytes);
    for (std::int64_t i = 0; i < t.shape[axis]; ++i) copy_strided_dlpack(t, axis + 1, from + i * step, bytes, to);
}

inline void require_dense(const dlpack::tensor& t, const tensor_type& type, const odd_stride& odd) {
    if (const int i = odd.dimension; i >= 0)
        throw invalid_argument_error(
            "from_dlpack: the strides of " + to_string(type) + " are not those of a dense array by rows (" +
            std::to_string(t.strides[i]) + " elements along dimension " + std::to_string(i) + ", not " +
            std::to_string(odd.wanted) + "); copy it there first, as .contiguous() does in PyTorch");
}

template <class M> any_array copied_and_ended(M* m, const tensor_type& type, const odd_stride& odd) {
    const dlpack::tensor& t = m->dl_tensor;
    any_array copy(type.element, type.extents);
    auto* to = static_cast<std::byte*>(copy.data());
    if (odd.dimension >= 0) copy_strided_dlpack(t, 0, begin_of_dlpack(t), size_of(type.element), to);
    else if (copy.elements() > 0) std::memcpy(to, begin_of_dlpack(t), copy.bytes());
    if (m->deleter) m->deleter(m);
    return copy;
}

template <class M> any_array imported(M* m, bool may_copy) {
    if (!m) throw invalid_argument_error("from_dlpack: there is no tensor: the pointer is null");
    const dlpack::tensor& t = m->dl_tensor;
    const tensor_type type = type_of_dlpack(t);
    std::byte* const data = begin_of_dlpack(t);
    const odd_stride odd = odd_stride_of(t, type);
    if (may_copy && (odd.dimension >= 0 || reinterpret_cast<std::uintptr_t>(data) % size_of(type.element) != 0))
        return copied_and_ended(m, type, odd);
    require_dense(t, type, odd);
    const auto end = [](void* context, void*) {
        M* const ended = static_cast<M*>(context);
        if (ended->deleter) ended->deleter(ended);
    };
    return any_array::adopt(data, type.element, type.extents, end, m);
}

TENON_INLINE any_array import_dlpack(dlpack::managed_tensor* m, bool may_copy) { return imported(m, may_copy); }
TENON_INLINE any_array import_dlpack(dlpack::managed_tensor_versioned* m, bool may_copy) {
    if (m && m->version.major != 1)
        throw unimplemented_error("from_dlpack: it is of DLPack's version " + std::to_string(m->version.major) + "." +
                                  std::to_string(m->version.minor) + "; 1 is read");
    if (!m || (m->flags & 1) == 0) return imported(m, may_copy);
    const tensor_type type = type_of_dlpack(m->dl_tensor); // nobody may write
    const odd_stride odd = odd_stride_of(m->dl_tensor, type);
    if (!may_copy) require_dense(m->dl_tensor, type, odd);
    return copied_and_ended(m, type, odd);
}

} // namespace tenon::detail
