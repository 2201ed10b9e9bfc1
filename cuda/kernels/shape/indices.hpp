#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <tenon/core/sizes/indexed_rows.hpp>

/// Indices that name rows: which are out of range, and in which order equal ones stand together.

namespace tenon::cuda {

/// A tensor of int32 or int64 on the device.
struct index_list {
    const void* data;
    bool wide; ///< int64
    std::int64_t count;
};

/// What the device finds and the host reads. place -1: nothing.
struct bad_index {
    std::int64_t place, value;
};

/// Indices are looked at in at most so many parts, each of which finds its first that is out of range.
inline constexpr int index_parts = 64;

/// In how many parts so many are looked at.
constexpr int index_parts_of(std::int64_t count) {
    const std::int64_t parts = (count + 255) / 256;
    return static_cast<int>(parts < index_parts ? parts : index_parts);
}

/// Looks for indices outside 0 .. size-1. found[p] (memory of the host that the device reaches) becomes the first of part p where it
/// has one, else it stays; refused[p] (on the device; may be null) says whether it has one.
void check_indices(const index_list& of, std::int64_t size, bad_index* found, unsigned* refused, void* stream);

inline constexpr std::int64_t any_index = -1;
/// The bytes of a key that the indices below `size`, and `size`, fit into; any_index: all of the type's.
constexpr std::size_t key_bytes_of(std::int64_t size, bool wide) {
    return (size == any_index ? wide : size >= 0xFFFFFFFF) ? 8 : 4;
}
/// The lower bits by which such keys differ.
constexpr int key_bits_of(std::int64_t size, bool wide) {
    if (size == any_index) return wide ? 64 : 32;
    return size == 0 ? 1 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size)));
}

/// For a sort: keys[i] = index i as a number without sign of key_bytes_of(size) bytes, `size` for one that is out of range;
/// places[i] = i. With `found` also what check_indices() does.
void list_keys(const index_list& of, std::int64_t size, void* keys, std::int64_t* places, bad_index* found,
               unsigned* refused, void* stream);

/// The same of rows that tuples of indices name, where a key is a row's number and the place of a named row its own; what is found
/// is an index. keys may be null: then it only looks.
void list_keys(const index_list& of, const indexed_rows& rows, void* keys, std::int64_t* places, bad_index* found,
               unsigned* refused, void* stream);
/// The rows of x that they name, one after another; zeros where an index is out of range.
void take_indexed(const void* x, const index_list& of, const indexed_rows& rows, void* out, std::size_t element_bytes,
                  void* stream);

/// Equal keys stand together, in the order of their places.
struct sorted_rows {
    const void* keys;
    std::size_t key_bytes;
    const std::int64_t* places;
    std::int64_t count;
};

} // namespace tenon::cuda
