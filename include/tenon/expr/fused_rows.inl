#pragma once

// A part of expr/fused_kernel.ipp: shares of the chunks, and of rows.

namespace tenon::detail {

// Rows of what has all elements are apart, wherever an input has as many, or the same for each.
TENON_INLINE void fused_kernel::find_rows(const kernel_setup& s) {
    extents all;
    for (const tensor_type& t : s.inputs) all = broadcast(all, t.extents).extents;
    if (all.rank() < 2 || all[0].size < 2 || layout_.elements() == 0 || has_parts_ || streamed_) return;
    for (int i = 0; i < s.inputs.size(); ++i) {
        const extents& e = s.inputs[i].extents;
        if (e.rank() == all.rank() && e[0].size == all[0].size) by_rows_inputs_ |= std::uint32_t{1} << i;
    }
    rows_ = all[0].size;
    if (!combined_.empty() && !combines_rows()) rows_ = 0;
}

// What is combined over rows is so in parts that do not depend on the threads: a few, so that it is little to join them.
TENON_INLINE bool fused_kernel::combines_rows() const noexcept {
    constexpr std::int64_t least = 4096; // elements, beside which calls for each part are little
    const auto over_rows = [&](const combined& c) { return layout_.operands[c.like].strides[0] == 0; };
    return !combined_.empty() && rows_ >= 2 * row_parts && layout_.elements() >= least && cost_ < 5000.0 * row_parts &&
           layout_.rank > 1 && layout_.rows % rows_ == 0 && std::all_of(combined_.begin(), combined_.end(), over_rows);
}

TENON_INLINE bool fused_kernel::gives_rows(int o) const {
    return std::none_of(combined_.begin(), combined_.end(), [&](const combined& c) { return c.target == o; });
}

TENON_INLINE void fused_kernel::divide(int shares) {
    if (combined_.empty()) {
        by_rows_ = layout_.rank > 1;
        unit_ = (by_rows_ ? layout_.rows : layout_.cols) / rows_;
        chunks_ = shares;
    }
    at_once_ = shares;
    place_scratch();
}

TENON_INLINE void fused_kernel::place_scratch() {
    const auto rounded = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
    chunks_at_ = 0;
    for (combined& c : combined_) {
        c.found = chunks_at_;
        chunks_at_ += rounded(static_cast<std::size_t>(c.numbers()) * sizeof(double) *
                              static_cast<std::size_t>(c.is_shared ? 1 : chunks_));
    }
    scratch_bytes_ = chunks_at_ + chunk_bytes_ * static_cast<std::size_t>(at_once_);
}

TENON_INLINE void fused_kernel::run_share(const kernel_run& r, int share) const {
    const int first = chunks_ * share / at_once_, last = chunks_ * (share + 1) / at_once_;
    for (const combined& c : combined_)
        if (!c.is_shared)
            std::fill_n(reinterpret_cast<double*>(r.scratch + c.found) + c.numbers() * first,
                        c.numbers() * (last - first), combined_with_nothing(c.how));
    if (layout_.elements() == 0) return;
    const step_program* const program = program_for(r);
    std::byte* const scratch = r.scratch + chunks_at_ + chunk_bytes_ * static_cast<std::size_t>(share);
    for (int c = first; c < last; ++c) run_chunk(r, c, scratch, program);
}

} // namespace tenon::detail
