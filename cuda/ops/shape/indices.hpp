#pragma once

#include <cuda/device/context.hpp>
#include <cuda/kernels/shape/indices.hpp>
#include <cuda/ops/sorted_pairs.hpp>
#include <tenon/core/error.hpp>
#include <tenon/op/kernel.hpp>
#include <tenon/ops/shape/row_indices.hpp>

/// What kernels share whose inputs are indices: how a bad one is told to the host, and in which order equal ones come.

namespace tenon::cuda {

/// The list that an input of such a kernel is in a run.
inline index_list list_of(const detail::row_indices& indices, const void* data) {
    return {data, indices.element == element_type::int64, indices.count};
}

/// What is told of indices that must be in range: where the device writes those that are not.
class refusable_indices {
public:
    static constexpr std::size_t bytes = index_parts * sizeof(bad_index);
    static void tell(std::byte* to) {
        for (int p = 0; p < index_parts; ++p) found(to)[p] = {-1, 0};
    }
    static bad_index* found(std::byte* told) { return reinterpret_cast<bad_index*>(told); }
    /// The first that was written, or nullptr.
    static const bad_index* first_of(const std::byte* told) {
        const auto* const all = reinterpret_cast<const bad_index*>(told);
        const bad_index* first = nullptr;
        for (int p = 0; p < index_parts; ++p)
            if (all[p].place >= 0 && (!first || all[p].place < first->place)) first = &all[p];
        return first;
    }
    /// Throws invalid_argument_error with what message(shown) says of that one, where there is one.
    template <class F> static void check(const std::byte* told, const detail::row_indices& indices, const F& message) {
        if (const bad_index* const first = first_of(told))
            throw invalid_argument_error(message(indices.shown(first->value, first->place)));
    }
};

/// Sorts indices, of which there are as many in each run, those below `size` or any_index, in scratch memory.
class index_sort {
public:
    index_sort(const kernel_setup& s, const detail::row_indices& indices, std::int64_t size) :
        index_sort(s, indices, size, indices.count) {}
    /// Of `count` rows that tuples of the indices name.
    index_sort(const kernel_setup& s, const detail::row_indices& indices, std::int64_t size, std::int64_t count) :
        indices_(indices),
        size_(size),
        count_(count),
        key_bytes_(key_bytes_of(size, indices.element == element_type::int64)),
        bits_(key_bits_of(size, indices.element == element_type::int64)) {
        s.gpu->use();
        sort_bytes_ = sort_pairs_bytes(count, key_bytes_, bits_);
    }
    std::size_t bytes() const { return pairs_to_sort::bytes(count_, key_bytes_, sort_bytes_); }
    /// Gives the stream what sorts them; `found` and `refused` as list_keys() has them.
    sorted_rows sort(memory_pieces& scratch, const void* data, bad_index* found, unsigned* refused,
                     void* stream) const {
        return sort(
            scratch,
            [&](void* keys, std::int64_t* places) {
                list_keys(list_of(indices_, data), size_, keys, places, found, refused, stream);
            },
            stream);
    }
    /// The same, where list(keys, places) gives the stream what writes them.
    template <class List> sorted_rows sort(memory_pieces& scratch, const List& list, void* stream) const {
        const pairs_to_sort m(scratch, count_, key_bytes_, sort_bytes_);
        list(m.keys, m.places);
        sort_pairs(m.sort, sort_bytes_, m.keys, m.sorted_keys, m.places, m.sorted_places, count_, key_bytes_, bits_,
                   stream);
        return {m.sorted_keys, key_bytes_, m.sorted_places, count_};
    }

private:
    const detail::row_indices indices_;
    const std::int64_t size_, count_;
    const std::size_t key_bytes_;
    const int bits_;
    std::size_t sort_bytes_ = 0;
};

} // namespace tenon::cuda
