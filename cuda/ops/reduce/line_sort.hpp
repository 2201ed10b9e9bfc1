#pragma once

#include <algorithm>
#include <bit>

#include <cuda/device/context.hpp>
#include <cuda/kernels/reduce/sort.hpp>
#include <cuda/ops/sorted_pairs.hpp>
#include <tenon/op/kernel.hpp>

/// The order of the elements of lines, by CUB's radix sort.

namespace tenon::cuda {

/// Where keys and the numbers of lines fit into 64 bits all lines are sorted at once; else all elements are, and then, which keeps
/// their order, by their lines.
class line_sort {
public:
    line_sort(const kernel_setup& s, element_type element, const sorted_lines& lines, bool descending) :
        element_(element), lines_(lines), descending_(descending), count_(lines.elements()) {
        line_bits_ =
            lines_.lines() > 1 ? static_cast<int>(std::bit_width(static_cast<std::uint64_t>(lines_.lines() - 1))) : 0;
        const std::size_t bytes = size_of(element_);
        wide_ = bytes < 8 && line_bits_ > 0;
        apart_ = bytes == 8 && line_bits_ > 0;
        key_bytes_ = bytes == 8 || wide_ ? 8 : 4;
        key_bits_ = wide_       ? 32 + line_bits_
                    : bytes < 4 ? static_cast<int>(8 * bytes)
                                : static_cast<int>(8 * key_bytes_);
        s.gpu->use();
        sort_bytes_ = sort_pairs_bytes(count_, key_bytes_, key_bits_);
        if (apart_) sort_bytes_ = std::max(sort_bytes_, sort_pairs_bytes(count_, sizeof(std::uint32_t), line_bits_));
    }
    std::size_t bytes() const { return pairs_to_sort::bytes(count_, key_bytes_, sort_bytes_); }
    const sorted_lines& lines() const { return lines_; }
    /// Gives the stream what sorts x; in scratch memory, where the elements are, counted in lines one after another.
    const std::int64_t* places(const void* x, std::byte* scratch_memory, void* stream) const {
        memory_pieces scratch(scratch_memory);
        pairs_to_sort m(scratch, count_, key_bytes_, sort_bytes_);
        if (count_ == 0) return m.sorted_places;
        list_sort_keys(element_, x, lines_, descending_, wide_, m.keys, m.places, stream);
        sort_pairs(m.sort, sort_bytes_, m.keys, m.sorted_keys, m.places, m.sorted_places, count_, key_bytes_, key_bits_,
                   stream);
        if (!apart_) return m.sorted_places;
        list_line_keys(m.sorted_places, lines_, static_cast<std::uint32_t*>(m.keys), stream);
        sort_pairs(m.sort, sort_bytes_, m.keys, m.sorted_keys, m.sorted_places, m.places, count_, sizeof(std::uint32_t),
                   line_bits_, stream);
        return m.places;
    }

private:
    const element_type element_;
    const sorted_lines lines_;
    const bool descending_;
    const std::int64_t count_;
    bool wide_ = false, apart_ = false;
    int line_bits_ = 0, key_bits_ = 0;
    std::size_t key_bytes_ = 4, sort_bytes_ = 0;
};

} // namespace tenon::cuda
