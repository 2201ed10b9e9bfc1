#pragma once

#include <algorithm>
#include <cstring>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/expr/fused_kernel.hpp>
#include <tenon/op/streamed.hpp>
#include <tenon/tape/shared_tape.hpp>

namespace tenon::detail {

// Elements of a stretch that goes through buffers.
inline constexpr std::int64_t stretch_elements = 1024;
// Of one that is streamed: bytes of all outputs, and elements.
inline constexpr std::int64_t streamed_at_once = 2048, least_streamed = 128;

TENON_INLINE double fused_kernel::estimate(const tape& t) const {
    // Nanoseconds an element, as measured on an AVX-512 machine.
    double each = 0;
    for (int r = 0; r < t.length; ++r) {
        const instruction& i = t.code[r];
        const double width = static_cast<double>(size_of(compute_type(i.type))) / 4;
        switch (info_of(i.op).group) {
        case opcode_group::source: break;
        case opcode_group::real:
            if (i.op == opcode::polygamma) each += 100; // one by one
            else each += (i.op == opcode::sqrt || i.op == opcode::reciprocal ? 0.05 : 0.2) * width;
            break;
        default: each += 0.02 * width;
        }
    }
    double bytes = 0;
    for (int i = 0; i < t.input_count; ++i)
        if (t.loads(i))
            bytes += static_cast<double>(size_of(t.inputs[i]) * static_cast<std::size_t>(layout_.operands[i].elements));
    for (const output& o : outputs_) bytes += static_cast<double>(size_of(o.stored)) * static_cast<double>(o.elements);
    return 12 + each * static_cast<double>(layout_.elements()) + bytes * (bytes > 1e6 ? 0.05 : 0.01);
}

TENON_INLINE fused_kernel::fused_kernel(const kernel_setup& s, const fused_attributes& a, bool use_compiled,
                                        const std::vector<operand_part>& parts) :
    tape_(a.tape), layout_(make_layout(s.inputs, parts)), constants_(a.constants) {
    const simd::isa which = simd::best_isa();
    const fused_layout& l = layout_;
    find_function(a, which, use_compiled);
    const tape& t = *tape_;

    inputs_.resize(static_cast<std::size_t>(t.input_count));
    for (int i = 0; i < t.input_count; ++i) {
        input& in = inputs_[static_cast<std::size_t>(i)];
        if (!t.loads(i)) continue;
        in.bytes = static_cast<std::uint32_t>(size_of(t.inputs[i]));
        in.how = reading::in_place;
        if (!l.operands[i].full || !l.operands[i].dense) plain_ = false;
        has_parts_ = has_parts_ || !l.operands[i].dense;
    }
    outputs_.resize(static_cast<std::size_t>(t.output_count));
    bool may_be_unwanted = false;
    for (int o = 0, made = 0; o < t.output_count; ++o) {
        output& out = outputs_[static_cast<std::size_t>(o)];
        out.into = into_.empty() ? -1 : static_cast<int>(into_[static_cast<std::size_t>(o)]);
        out.target = out.into < 0 ? made++ : outputs_[static_cast<std::size_t>(out.into)].target;
        if (out.into >= 0) added_ |= std::uint32_t{1} << o;
        may_be_unwanted = may_be_unwanted || made > 1;
        out.like = t.outputs[o].like;
        out.stored = t.outputs[o].type;
        out.elements = out.like < 0 ? l.elements() : l.operands[out.like].elements;
        out.summed = out.like >= 0 && !l.operands[out.like].full;
        out.bytes = static_cast<std::uint32_t>(size_of(out.summed ? compute_type(out.stored) : out.stored));
        out.streamed = !out.summed && out.into < 0 && is_streamed(out.elements * out.bytes);
        streamed_ = streamed_ || out.streamed;
        if (!out.summed) continue;
        plain_ = false;
        summed_ = true;
        wide_ |= std::uint32_t{1} << o;
        out.reduction = &find_reductions(which, compute_type(out.stored));
        out.add = find_step(which, opcode::add, compute_type(out.stored));
    }

    if (plain_) {
        // What repeats an input of which only the sizes matter does not matter.
        const std::int64_t all = l.elements();
        layout_.rank = 1;
        layout_.rows = 1;
        layout_.cols = layout_.sizes[0] = all;
    }

    // Stretches: long rows are cut, of short ones several go together.
    bool fills = false;
    if (plain_) {
        block_cols_ = l.cols;
    } else if (l.rows == 1 || l.cols >= 128) {
        for (int i = 0; i < t.input_count; ++i) fills = fills || (t.loads(i) && l.repeats_cols(i));
        fills = fills || summed_;
        block_cols_ = fills && l.cols > stretch_elements ? stretch_elements : l.cols;
    } else {
        block_cols_ = l.cols;
        block_rows_ = l.cols == 0 ? 1 : stretch_elements / l.cols;
        if (block_rows_ > l.rows) block_rows_ = l.rows;
        if (block_rows_ < 1) block_rows_ = 1;
    }
    const auto rounded = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
    std::int64_t longest = block_rows_ * block_cols_;
    const std::int64_t buffered = longest < stretch_elements ? longest : stretch_elements;
    for (int i = 0; i < t.input_count; ++i) {
        input& in = inputs_[static_cast<std::size_t>(i)];
        if (in.how == reading::unread || (l.operands[i].full && l.operands[i].dense)) continue;
        if (block_rows_ == 1 && !l.repeats_cols(i)) continue;
        in.how = reading::filled;
        in.once = true;
        for (int d = 0; d + 1 < l.rank; ++d) in.once = in.once && l.operands[i].read[d] == 0;
        in.buffer = chunk_bytes_;
        chunk_bytes_ += rounded(in.bytes * static_cast<std::size_t>(buffered));
    }
    for (output& o : outputs_) {
        if (o.into >= 0 || (!o.summed && !o.streamed && !may_be_unwanted)) continue;
        o.buffer = chunk_bytes_;
        chunk_bytes_ += rounded(o.bytes * static_cast<std::size_t>(buffered)) + (o.streamed ? 64 : 0);
    }

    if (!function_) {
        // What fits a narrower register need not be filled up to a wider one; results are the same to the bit.
        const simd::isa narrow = which == simd::isa::avx512 && longest <= 8 ? simd::isa::avx2 : which;
        fast_ = std::make_unique<interpreter>(t, constants_.data(), wide_, false, longest, narrow);
        if (fast_->writes_before_reading())
            careful_ = std::make_unique<interpreter>(t, constants_.data(), wide_, true, longest, narrow);
        function_ = fast_->function();
        registers_ = chunk_bytes_;
        const std::size_t more = careful_ ? careful_->scratch_bytes() : 0;
        chunk_bytes_ += fast_->scratch_bytes() > more ? fast_->scratch_bytes() : more;
    }

    // Chunks: worth about 20 us each.
    cost_ = estimate(t);
    std::int64_t chunks = static_cast<std::int64_t>(cost_ / 20000);
    if (chunks > s.threads) chunks = s.threads;
    by_rows_ = !plain_ && l.rows >= chunks * 4;
    const std::int64_t units = by_rows_ ? l.rows / block_rows_ : l.cols / 64;
    if (chunks > units) chunks = units;
    if (chunks < 1) chunks = 1;
    chunks_ = static_cast<int>(chunks);

    std::size_t sums = 0;
    for (output& o : outputs_) {
        if (!o.summed || o.into >= 0) continue;
        const auto& strides = l.operands[o.like].strides;
        o.shared_sums = by_rows_ ? l.rank == 2 && strides[0] != 0 : strides[l.rank - 1] != 0;
        o.sums = sums;
        sums += rounded(static_cast<std::size_t>(o.elements) * sizeof(double) *
                        static_cast<std::size_t>(o.shared_sums ? 1 : chunks_));
    }
    const std::size_t first_chunk = sums;
    for (input& in : inputs_) in.buffer += first_chunk;
    for (output& o : outputs_) o.buffer += first_chunk;
    registers_ += first_chunk;
    scratch_bytes_ = first_chunk + chunk_bytes_ * static_cast<std::size_t>(chunks_);
}

TENON_INLINE bool fused_kernel::may_share(int i, int o) const {
    const input& in = inputs_[static_cast<std::size_t>(i)];
    if (has_parts_) return false; // one may be of the same tensor
    if (in.how != reading::in_place || !layout_.operands[i].full) return false;
    for (const output& out : outputs_)
        if (out.target == o && out.into < 0) return !out.summed && size_of(out.stored) == in.bytes;
    return false;
}

TENON_INLINE fused_kernel::range fused_kernel::chunk_range(int chunk) const noexcept {
    const auto part = [&](std::int64_t all, std::int64_t unit, int c) {
        return c == chunks_ ? all : all / unit * c / chunks_ * unit;
    };
    if (by_rows_)
        return {part(layout_.rows, block_rows_, chunk), part(layout_.rows, block_rows_, chunk + 1), 0, layout_.cols};
    return {0, layout_.rows, part(layout_.cols, 64, chunk), part(layout_.cols, 64, chunk + 1)};
}

// The compiled function of the tape, or nothing: then outputs are merged on the tape itself.
TENON_INLINE void fused_kernel::find_function(const fused_attributes& a, simd::isa which, bool use_compiled) {
    bool halves = false; // merged halves are added before they are rounded, which no compiled function does
    for (int o = 0; o < tape_->output_count; ++o)
        halves = halves || (a.merges(o) && compute_type(tape_->outputs[o].type) != tape_->outputs[o].type);
    const compiled_tape* compiled = use_compiled && !halves ? find_compiled_tape(*tape_) : nullptr;
    if (compiled)
        function_ = which == simd::isa::avx512 ? compiled->avx512
                    : which == simd::isa::avx2 ? compiled->avx2
                                               : compiled->baseline;
    if (function_) into_ = a.merge;
    else if (!a.merge.empty()) tape_ = share_tape(with_merged_outputs(*tape_, a.merge));
}

// The interpreter's, the careful one's when an output lies where an input does.
TENON_INLINE const step_program* fused_kernel::program_for(const kernel_run& r) const noexcept {
    if (!fast_) return nullptr;
    if (!careful_) return fast_->program();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        if (inputs_[i].how != reading::in_place) continue;
        for (const output& o : outputs_)
            if (r.out[o.target] == r.in[i]) return careful_->program();
    }
    return fast_->program();
}

TENON_INLINE void fused_kernel::run(const kernel_run& r) {
    const step_program* program = program_for(r);
    if (plain_ && !streamed_ && chunks_ == 1 && layout_.cols > 0) {
        // Small nodes come here: little stands between them and their function.
        void* own[max_tape_outputs];
        void* const* out = r.out;
        bool wanted = true;
        if (added_ != 0) out = own;
        for (std::size_t o = 0; o < outputs_.size(); ++o) {
            void* const to = r.out[outputs_[o].target];
            wanted = wanted && to != nullptr;
            if (added_ != 0) own[o] = to;
        }
        if (wanted) {
            function_({r.in, out, constants_.data(), layout_.cols, wide_, added_, into_.data(), r.scratch + registers_,
                       program});
            return;
        }
    }
    for (const output& o : outputs_)
        if (o.summed && o.into < 0)
            std::memset(r.scratch + o.sums, 0,
                        static_cast<std::size_t>(o.elements) * sizeof(double) *
                            static_cast<std::size_t>(o.shared_sums ? 1 : chunks_));
    if (layout_.elements() > 0) {
        if (r.pool && chunks_ > 1)
            r.pool->parallel_for(chunks_, 1, [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t c = begin; c < end; ++c) run_chunk(r, static_cast<int>(c), program);
            });
        else
            for (int c = 0; c < chunks_; ++c) run_chunk(r, c, program);
    }
    if (summed_) finish_sums(r);
}

TENON_INLINE void fused_kernel::run_chunk(const kernel_run& r, int chunk, const step_program* program) const {
    const fused_layout& l = layout_;
    const range all = chunk_range(chunk);
    std::byte* const scratch = r.scratch + chunk_bytes_ * static_cast<std::size_t>(chunk);
    const void* in[max_tape_inputs];
    void* out[max_tape_outputs];
    std::byte* places[max_tape_outputs];
    const int input_count = static_cast<int>(inputs_.size()), output_count = static_cast<int>(outputs_.size());
    fused_call call{in, out, constants_.data(), 0, wide_, added_, into_.data(), scratch + registers_, program};

    std::int64_t step = block_cols_;
    std::uint32_t streamed = 0; // outputs
    std::int64_t streamed_bytes = 0;
    for (int k = 0; k < output_count; ++k) {
        const output& o = outputs_[static_cast<std::size_t>(k)];
        void* const to = r.out[o.target];
        if (!to && step * block_rows_ > stretch_elements) step = stretch_elements / block_rows_;
        bool is_apart = to != nullptr; // what an operand has brought into the cache is stored there
        for (int i = 0; i < input_count; ++i) is_apart = is_apart && r.in[i] != to;
        if (!o.streamed || !is_apart) continue;
        streamed |= std::uint32_t{1} << k;
        streamed_bytes += o.bytes;
    }
    // As many lines at a time as wait for memory while the next stretch is computed.
    if (streamed != 0 && block_rows_ == 1)
        step = std::min(step, std::max(least_streamed, streamed_at_once / streamed_bytes / 16 * 16));

    bool first = true;
    for (std::int64_t row = all.row_begin; row < all.row_end; row += block_rows_) {
        const std::int64_t rows = block_rows_ < all.row_end - row ? block_rows_ : all.row_end - row;
        for (std::int64_t col = all.col_begin; col < all.col_end; col += step) {
            const std::int64_t cols = step < all.col_end - col ? step : all.col_end - col;
            for (int i = 0; i < input_count; ++i) {
                const input& x = inputs_[static_cast<std::size_t>(i)];
                if (x.how == reading::unread) continue;
                const fused_layout::operand& operand = l.operands[i];
                const auto* from = static_cast<const std::byte*>(r.in[i]);
                const auto place = [&](std::int64_t element) {
                    return from + static_cast<std::size_t>(element) * x.bytes;
                };
                if (x.how == reading::in_place) {
                    in[i] = place((operand.full && operand.dense ? row * l.cols : l.read_offset(i, row)) + col);
                    continue;
                }
                in[i] = scratch + x.buffer;
                const bool fresh = block_rows_ > 1 || col == all.col_begin;
                if (x.once ? !first : !fresh) continue;
                std::byte* to = scratch + x.buffer;
                const std::size_t row_bytes = static_cast<std::size_t>(cols) * x.bytes;
                for (std::int64_t k = 0; k < rows; ++k, to += row_bytes) {
                    const std::byte* source = place(l.read_offset(i, row + k));
                    if (l.repeats_cols(i)) fill_elements(to, source, x.bytes, cols);
                    else std::memcpy(to, source, row_bytes);
                }
            }
            for (int o = 0; o < output_count; ++o) {
                const output& y = outputs_[static_cast<std::size_t>(o)];
                auto* to = static_cast<std::byte*>(r.out[y.target]);
                if (to && !y.summed) to += static_cast<std::size_t>(row * l.cols + col) * y.bytes;
                places[o] = to;
                out[o] = y.into >= 0                 ? out[y.into]
                         : (streamed >> o & 1U) != 0 ? aligned_like(scratch + y.buffer, to)
                         : to && !y.summed           ? to
                                                     : scratch + y.buffer;
            }
            call.count = rows * cols;
            function_(call);
            first = false;
            for (int o = 0; streamed >> o != 0; ++o)
                if ((streamed >> o & 1U) != 0)
                    stream(places[o], out[o],
                           static_cast<std::size_t>(call.count) * outputs_[static_cast<std::size_t>(o)].bytes);
            if (!summed_) continue;
            for (const output& y : outputs_)
                if (y.summed && y.into < 0 && r.out[y.target])
                    sum_up(y, reinterpret_cast<double*>(r.scratch + y.sums) + (y.shared_sums ? 0 : y.elements * chunk),
                           scratch + y.buffer, row, rows, col, cols);
        }
    }
    if (streamed != 0) finish_streams();
}

// Adds the values of a stretch to the sums of its output.
TENON_INLINE void fused_kernel::sum_up(const output& o, double* sums, std::byte* values, std::int64_t row,
                                       std::int64_t rows, std::int64_t col, std::int64_t cols) const {
    const fused_layout& l = layout_;
    const fused_layout::operand& operand = l.operands[o.like];
    if (l.repeats_cols(o.like)) {
        for (std::int64_t k = 0; k < rows; ++k)
            sums[l.row_offset(o.like, row + k)] +=
                o.reduction->sum(values + static_cast<std::size_t>(k * cols) * o.bytes, cols);
        return;
    }
    bool same_rows = true; // all rows are added to the same sums: the lower half is added to the upper, again and again
    for (int d = 0; d + 1 < l.rank; ++d) same_rows = same_rows && operand.strides[d] == 0;
    if (same_rows)
        while (rows > 1) {
            const std::int64_t half = rows / 2, kept = rows - half;
            apply_step(o.add, values, o.bytes, half * cols, {values, o.bytes},
                       {values + static_cast<std::size_t>(kept * cols) * o.bytes, o.bytes});
            rows = kept;
        }
    for (std::int64_t k = 0; k < rows; ++k)
        o.reduction->add_rows(sums + l.row_offset(o.like, row + k) + col,
                              values + static_cast<std::size_t>(k * cols) * o.bytes, cols);
}

TENON_INLINE void fused_kernel::finish_sums(const kernel_run& r) const {
    const simd::isa which = simd::best_isa();
    for (const output& o : outputs_) {
        if (!o.summed || o.into >= 0 || !r.out[o.target]) continue;
        auto* sums = reinterpret_cast<double*>(r.scratch + o.sums);
        const auto add = find_reductions(which, element_type::float64).add_rows;
        for (int c = 1; c < (o.shared_sums ? 1 : chunks_); ++c) add(sums, sums + o.elements * c, o.elements);
        if (compute_type(o.stored) == o.stored) {
            o.reduction->finish(r.out[o.target], sums, o.elements);
        } else {
            // By way of float, where the sums were: each is read before its place is written.
            auto* values = reinterpret_cast<float*>(sums);
            o.reduction->finish(values, sums, o.elements);
            apply_step(find_store(which, o.stored), r.out[o.target], size_of(o.stored), o.elements,
                       {values, sizeof(float)});
        }
    }
}

} // namespace tenon::detail
