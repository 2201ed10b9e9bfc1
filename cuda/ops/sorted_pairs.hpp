#pragma once

#include <cuda/kernels/random/cub_sort.hpp>
#include <cuda/ops/memory_pieces.hpp>

/// Keys that are sorted with the places that they come from, in a kernel's scratch memory.

namespace tenon::cuda {

struct pairs_to_sort {
    /// `sort_bytes`: sort_pairs_bytes() of these.
    pairs_to_sort(memory_pieces& of, std::int64_t count, std::size_t key_bytes, std::size_t sort_bytes) :
        keys(of.take(static_cast<std::size_t>(count) * key_bytes)),
        sorted_keys(of.take(static_cast<std::size_t>(count) * key_bytes)),
        places(of.take<std::int64_t>(static_cast<std::size_t>(count) * sizeof(std::int64_t))),
        sorted_places(of.take<std::int64_t>(static_cast<std::size_t>(count) * sizeof(std::int64_t))),
        sort(of.take(sort_bytes)) {}
    /// Of all of it.
    static std::size_t bytes(std::int64_t count, std::size_t key_bytes, std::size_t sort_bytes) {
        memory_pieces of;
        const pairs_to_sort counted(of, count, key_bytes, sort_bytes);
        return of.taken();
    }

    void *keys, *sorted_keys;
    std::int64_t *places, *sorted_places;
    void* sort;
};

} // namespace tenon::cuda
