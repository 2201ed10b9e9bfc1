#pragma once

#include <cstddef>
#include <cstdint>

#include <tenon/ops/flow/treeverse.hpp>

/// A loop's runs gone through backwards, where the device alone knows how many they are.

namespace tenon::cuda {

/// What is next in `order`; where `runs` is not null it begins with this, of *runs, or of none where that is negative. *more: whether there
/// is something; *advances: whether it advances.
void next_in_order(tenon::detail::treeverse* order, const std::int64_t* runs, std::int64_t kept, bool* more,
                   bool* advances, void* stream);

/// Tensors of so many bytes, `distance` bytes apart; the one of number treeverse::first lies elsewhere.
struct numbered_tensors {
    const std::byte* first;
    std::byte* begin;
    std::size_t distance;
    std::int64_t bytes;
    std::size_t element_bytes;
};
/// Copies the tensor of number *number; to that one.
void take_numbered(void* to, const numbered_tensors& from, const std::int64_t* number, void* stream);
void put_numbered(const numbered_tensors& to, const std::int64_t* number, const void* from, void* stream);

} // namespace tenon::cuda
