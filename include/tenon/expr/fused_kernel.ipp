#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

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
    for (const output& o : outputs_)
        if (o.target >= 0) bytes += static_cast<double>(size_of(o.stored)) * static_cast<double>(layout_.elements());
    each += 0.02 * static_cast<double>(combined_.size());
    return 12 + each * static_cast<double>(layout_.elements()) + bytes * (bytes > 1e6 ? 0.05 : 0.01);
}

// Where outputs go. What is combined has the sizes of an operand, which may be one that nobody reads, behind the others: the types of all.
TENON_INLINE type_list fused_kernel::place_results(const kernel_setup& s, std::vector<tape_result>& results,
                                                   std::vector<tensor_type>& types) {
    const tape& t = *tape_;
    outputs_.resize(static_cast<std::size_t>(t.output_count));
    for (int o = 0; o < t.output_count; ++o) {
        output& out = outputs_[static_cast<std::size_t>(o)];
        out.into = into_.empty() ? -1 : static_cast<int>(into_[static_cast<std::size_t>(o)]);
        out.stored = t.outputs[o].type;
        if (out.into >= 0) added_ |= std::uint32_t{1} << o;
    }
    if (results.empty())
        for (int o = 0; o < t.output_count; ++o)
            if (outputs_[static_cast<std::size_t>(o)].into < 0) results.push_back({.output = o});
    types.assign(s.inputs.begin(), s.inputs.end());
    int target = 0;
    for (const tape_result& result : results) {
        const auto o = static_cast<std::size_t>(result.output);
        int like = t.outputs[o].like;
        if (result.is_combined) {
            const auto same = std::find_if(types.begin() + t.input_count, types.end(),
                                           [&](const tensor_type& other) { return other.extents == result.kept; });
            like = static_cast<int>(same - types.begin());
            if (same == types.end()) types.push_back({t.outputs[o].type, result.kept});
        }
        if (like >= 0)
            combined_.push_back({.output = result.output,
                                 .target = target,
                                 .like = like,
                                 .how = result.how,
                                 .end = result.end,
                                 .less = result.less});
        else outputs_[o].target = target;
        ++target;
    }
    return {types.data(), static_cast<int>(types.size())};
}

TENON_INLINE fused_kernel::fused_kernel(const kernel_setup& s, const fused_attributes& a, bool use_compiled,
                                        const std::vector<operand_part>& parts, std::vector<tape_result> results) :
    tape_(a.tape), constants_(a.constants) {
    const simd::isa which = simd::best_isa();
    find_function(a, which, use_compiled);
    const tape& t = *tape_;
    std::vector<tensor_type> types;
    layout_ = make_layout(place_results(s, results, types), parts);
    const fused_layout& l = layout_;

    inputs_.resize(static_cast<std::size_t>(t.input_count));
    for (int i = 0; i < t.input_count; ++i) {
        input& in = inputs_[static_cast<std::size_t>(i)];
        if (!t.loads(i)) continue;
        in.bytes = static_cast<std::uint32_t>(size_of(t.inputs[i]));
        in.how = reading::in_place;
        if (!l.operands[i].full || !l.operands[i].dense) plain_ = false;
        has_parts_ = has_parts_ || !l.operands[i].dense;
    }
    // What has the sizes of all is no sum.
    std::erase_if(combined_, [&](const combined& c) {
        if (!l.operands[c.like].full || c.how == combining::squares || c.end != combined_end::nothing) return false;
        outputs_[static_cast<std::size_t>(c.output)].target = c.target;
        return true;
    });
    for (combined& c : combined_) {
        plain_ = false;
        wide_ |= std::uint32_t{1} << c.output;
        c.elements = l.operands[c.like].elements;
        const element_type e = compute_type(t.outputs[c.output].type);
        const bool is_squares = c.how == combining::squares;
        c.steps = &find_reductions(which, e, is_squares ? combining::sum : c.how);
        if (is_squares) c.moments = &find_moments(which, e);
        const instruction& made = t.code[t.outputs[c.output].reg];
        if (made.op == opcode::input && t.inputs[made.a] == e) c.source = made.a;
    }
    computes_ = std::any_of(outputs_.begin(), outputs_.end(), [](const output& o) { return o.target >= 0; }) ||
                std::any_of(combined_.begin(), combined_.end(), [](const combined& c) { return c.source < 0; });
    for (std::size_t o = 0; o < outputs_.size(); ++o) {
        output& out = outputs_[o];
        out.bytes = static_cast<std::uint32_t>(size_of((wide_ >> o & 1U) != 0 ? compute_type(out.stored) : out.stored));
        out.streamed = out.target >= 0 && is_streamed(l.elements() * out.bytes);
        streamed_ = streamed_ || out.streamed;
    }

    if (plain_) {
        // What repeats an input of which only the sizes matter does not matter.
        const std::int64_t all = l.elements();
        layout_.rank = 1;
        layout_.rows = 1;
        layout_.cols = layout_.sizes[0] = all;
    }

    // Stretches: long rows are cut, of short ones several go together, the more so where rows are combined.
    bool fills = !combined_.empty();
    if (plain_) {
        block_cols_ = l.cols;
    } else if (l.rows == 1 || l.cols > (fills ? stretch_elements / 2 : 127)) {
        for (int i = 0; i < t.input_count; ++i) fills = fills || (t.loads(i) && l.repeats_cols(i));
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
        if (o.into >= 0 || (o.target >= 0 && !o.streamed && results.size() == 1)) continue;
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

    cost_ = estimate(t);
    find_rows(s);
    find_chunks(s.threads);
    // What is not in a core's own cache comes while the interpreter computes the stretch before; a compiled loop is short enough for the
    // processor to see what comes.
    fetches_ahead_ = fast_ && !combined_.empty() && l.elements() >= 1 << 17;
    place_scratch();
}

// Chunks: worth about 5 us each. Where something is combined they depend on the sizes alone, and so does the order in which it is.
TENON_INLINE void fused_kernel::find_chunks(int threads) {
    const fused_layout& l = layout_;
    std::int64_t chunks = static_cast<std::int64_t>(cost_ / 5000);
    const std::int64_t most = combined_.empty() ? threads : 32;
    if (chunks > most) chunks = most;
    at_once_ = threads == 1 || chunks < 1 ? 1 : static_cast<int>(chunks);
    if (combines_rows()) {
        by_rows_ = true;
        unit_ = l.rows / rows_;
        chunks_ = row_parts;
        return;
    }
    const auto all_apart = [&](int dimension) {
        return std::all_of(combined_.begin(), combined_.end(),
                           [&](const combined& c) { return l.operands[c.like].strides[dimension] != 0; });
    };
    by_rows_ = !plain_ && l.rows >= chunks * 4 && l.rank > 1;
    unit_ = by_rows_ ? block_rows_ : 64;
    bool is_shared = false;
    if (!combined_.empty() && l.elements() > 0) {
        if (l.rank > 1 && l.sizes[0] >= chunks && all_apart(0)) {
            by_rows_ = is_shared = true;
            unit_ = l.rows / l.sizes[0];
        } else if (l.cols >= 256 * chunks && all_apart(l.rank - 1)) {
            by_rows_ = false;
            is_shared = true;
            unit_ = 64;
        } else {
            std::int64_t each = 0;
            for (const combined& c : combined_) each += c.numbers();
            if (const std::int64_t fit = l.elements() / (64 * each + 1); chunks > fit) chunks = fit;
        }
    }
    for (combined& c : combined_) c.is_shared = is_shared;
    const std::int64_t units = (by_rows_ ? l.rows : l.cols) / unit_;
    if (chunks > units) chunks = units;
    if (chunks < 1) chunks = 1;
    chunks_ = static_cast<int>(chunks);
    if (threads > 1) at_once_ = chunks_;
}

TENON_INLINE bool fused_kernel::may_share(int i, int o) const {
    const input& in = inputs_[static_cast<std::size_t>(i)];
    if (has_parts_) return false; // one may be of the same tensor
    if (in.how != reading::in_place || !layout_.operands[i].full) return false;
    return std::any_of(outputs_.begin(), outputs_.end(),
                       [&](const output& out) { return out.target == o && size_of(out.stored) == in.bytes; });
}

TENON_INLINE fused_kernel::range fused_kernel::chunk_range(int chunk) const noexcept {
    const auto part = [&](std::int64_t all, std::int64_t unit, int c) {
        return c == chunks_ ? all : all / unit * c / chunks_ * unit;
    };
    if (by_rows_) return {part(layout_.rows, unit_, chunk), part(layout_.rows, unit_, chunk + 1), 0, layout_.cols};
    return {0, layout_.rows, part(layout_.cols, unit_, chunk), part(layout_.cols, unit_, chunk + 1)};
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
            if (o.target >= 0 && r.out[o.target] == r.in[i]) return careful_->program();
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
            void* const to = outputs_[o].into < 0 ? r.out[outputs_[o].target] : own[outputs_[o].into];
            wanted = wanted && to != nullptr;
            if (added_ != 0) own[o] = to;
        }
        if (wanted) {
            function_({r.in, out, constants_.data(), layout_.cols, wide_, added_, into_.data(), r.scratch + registers_,
                       program});
            return;
        }
    }
    for (const combined& c : combined_)
        if (c.is_shared)
            std::fill_n(reinterpret_cast<double*>(r.scratch + c.found), c.numbers(), combined_with_nothing(c.how));
    const auto run_some = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t s = begin; s < end; ++s) run_share(r, static_cast<int>(s));
    };
    if (r.pool && at_once_ > 1) r.pool->parallel_for(at_once_, 1, run_some);
    else run_some(0, at_once_);
    finish_combined(r);
}

TENON_INLINE void fused_kernel::run_chunk(const kernel_run& r, int chunk, std::byte* scratch,
                                          const step_program* program) const {
    const fused_layout& l = layout_;
    const range all = chunk_range(chunk);
    const void* in[max_tape_inputs];
    void* out[max_tape_outputs];
    const std::byte* begins[max_tape_inputs]; // of a row
    std::byte* places[max_tape_outputs];
    const int input_count = static_cast<int>(inputs_.size()), output_count = static_cast<int>(outputs_.size());
    fused_call call{in, out, constants_.data(), 0, wide_, added_, into_.data(), scratch + registers_, program};

    std::int64_t step = block_cols_;
    const auto place_of = [&](const output& o) {
        return o.target < 0 ? nullptr : static_cast<std::byte*>(r.out[o.target]);
    };
    std::uint32_t streamed = 0; // outputs
    std::int64_t streamed_bytes = 0;
    for (int k = 0; k < output_count; ++k) {
        const output& o = outputs_[static_cast<std::size_t>(k)];
        void* const to = place_of(o);
        if (o.into < 0 && !to && step * block_rows_ > stretch_elements) step = stretch_elements / block_rows_;
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
        for (int i = 0; i < input_count; ++i) {
            const input& x = inputs_[static_cast<std::size_t>(i)];
            if (x.how != reading::in_place) continue;
            const fused_layout::operand& operand = l.operands[i];
            const std::int64_t at =
                (operand.full && operand.dense ? row * l.cols : l.read_offset(i, row)) + all.col_begin;
            begins[i] = static_cast<const std::byte*>(r.in[i]) + static_cast<std::size_t>(at) * x.bytes;
        }
        std::int64_t cols = has_parts_ ? elements_before_lines(begins) : 0;
        if (cols == 0) cols = step;
        for (std::int64_t col = all.col_begin; col < all.col_end; col += std::exchange(cols, step)) {
            if (cols > all.col_end - col) cols = all.col_end - col;
            for (int i = 0; i < input_count; ++i) {
                const input& x = inputs_[static_cast<std::size_t>(i)];
                if (x.how == reading::unread) continue;
                const fused_layout::operand& operand = l.operands[i];
                const auto* from = static_cast<const std::byte*>(r.in[i]);
                const auto place = [&](std::int64_t element) {
                    return from + static_cast<std::size_t>(element) * x.bytes;
                };
                if (x.how == reading::in_place) {
                    in[i] = begins[i] + static_cast<std::size_t>(col - all.col_begin) * x.bytes;
                    if (fetches_ahead_ && operand.full && operand.dense) {
                        const auto* const next =
                            static_cast<const char*>(in[i]) + static_cast<std::size_t>(rows * cols) * x.bytes;
                        for (std::int64_t b = 0; b < rows * cols * x.bytes; b += 64) __builtin_prefetch(next + b, 0, 2);
                    }
                    continue;
                }
                in[i] = scratch + x.buffer;
                const bool fresh = block_rows_ > 1 || col == all.col_begin;
                if (x.once ? !first : !fresh) continue;
                std::byte* to = scratch + x.buffer;
                const std::size_t row_bytes = static_cast<std::size_t>(cols) * x.bytes;
                for (std::int64_t k = 0; k < rows; ++k, to += row_bytes) {
                    const std::byte* source = place(l.read_offset(i, row + k));
                    if (block_rows_ == 1) fill_elements(to, source, x.bytes, std::min(step, all.col_end - col));
                    else if (l.repeats_cols(i)) fill_elements(to, source, x.bytes, cols);
                    else std::memcpy(to, source, row_bytes);
                }
            }
            for (int o = 0; o < output_count; ++o) {
                const output& y = outputs_[static_cast<std::size_t>(o)];
                std::byte* to = place_of(y);
                if (to) to += static_cast<std::size_t>(row * l.cols + col) * y.bytes;
                places[o] = to;
                out[o] = y.into >= 0                 ? out[y.into]
                         : (streamed >> o & 1U) != 0 ? aligned_like(scratch + y.buffer, to)
                         : to                        ? to
                                                     : scratch + y.buffer;
            }
            call.count = rows * cols;
            if (computes_) function_(call);
            first = false;
            for (int o = 0; streamed >> o != 0; ++o)
                if ((streamed >> o & 1U) != 0)
                    stream(places[o], out[o],
                           static_cast<std::size_t>(call.count) * outputs_[static_cast<std::size_t>(o)].bytes);
            for (const combined& c : combined_)
                if (r.out[c.target])
                    combine(c, reinterpret_cast<double*>(r.scratch + c.found) + (c.is_shared ? 0 : c.numbers() * chunk),
                            static_cast<const std::byte*>(computes_ ? out[c.output] : in[c.source]), row, rows, col,
                            cols);
        }
    }
    if (streamed != 0) finish_streams();
}

// What a register loads across two lines takes as long as two. Parts of one tensor lie apart by elements: so many of a row go first that most
// of its operands are at the beginning of a line then. Sums have one order, wherever operands lie.
TENON_INLINE std::int64_t fused_kernel::elements_before_lines(const std::byte* const* begins) const noexcept {
    constexpr std::uint32_t line = 64;
    constexpr std::int64_t few = 256; // elements of a row
    if (block_rows_ > 1 || layout_.cols < few || !combined_.empty()) return 0;
    std::uint8_t votes[line]{};
    std::uint32_t most = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        const input& x = inputs_[i];
        if (x.how != reading::in_place) continue;
        const auto beyond = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(begins[i]) % line);
        const std::uint32_t before = (line - beyond) % line >> __builtin_ctz(x.bytes);
        if (++votes[before] > votes[most]) most = before;
    }
    return most;
}

// Combines the values of a stretch with what was found before.
TENON_INLINE void fused_kernel::combine(const combined& c, double* found, const std::byte* values, std::int64_t row,
                                        std::int64_t rows, std::int64_t col, std::int64_t cols) const {
    const fused_layout& l = layout_;
    const auto& strides = l.operands[c.like].strides;
    const std::size_t row_bytes = static_cast<std::size_t>(cols) * outputs_[static_cast<std::size_t>(c.output)].bytes;
    // Rows that lie regularly are given together: those of the same place in all dimensions but the one before the last.
    while (rows > 0) {
        std::int64_t some = rows;
        if (l.rank > 2) {
            const std::int64_t left = l.sizes[l.rank - 2] - row % l.sizes[l.rank - 2];
            if (some > left) some = left;
        }
        const std::int64_t step = l.rank > 1 ? strides[l.rank - 2] : 0;
        double* const to = found + l.row_offset(c.like, row);
        const auto combine_rows = [&](std::int64_t lines, std::int64_t n) {
            if (c.moments) c.moments->rows(to, c.elements, step, values, lines, n);
            else c.steps->rows(to, step, values, lines, n);
        };
        const auto combine_columns = [&](double* at, const std::byte* from, std::int64_t lines) {
            if (c.moments) c.moments->columns(at, c.elements, from, lines, cols);
            else c.steps->columns(at, from, lines, cols);
        };
        if (!l.repeats_cols(c.like)) {
            if (step == 0) combine_columns(to + col, values, some);
            else
                for (std::int64_t k = 0; k < some; ++k)
                    combine_columns(to + k * step + col, values + static_cast<std::size_t>(k) * row_bytes, 1);
        } else if (step == 0) combine_rows(1, some * cols);
        else combine_rows(some, cols);
        values += static_cast<std::size_t>(some) * row_bytes;
        row += some;
        rows -= some;
    }
}

TENON_INLINE void fused_kernel::finish_combined(const kernel_run& r) const {
    const simd::isa which = simd::best_isa();
    for (const combined& c : combined_) {
        void* const to = r.out[c.target];
        if (!to || c.elements == 0) continue;
        auto* const found = reinterpret_cast<double*>(r.scratch + c.found);
        double* result = found;
        const int parts = c.is_shared ? 1 : chunks_;
        if (c.moments) {
            result = found + 2 * c.elements;
            for (int part = 1; part < parts; ++part)
                for (std::int64_t k = 0; k < c.elements; ++k) {
                    const double* const other = found + c.numbers() * part + k;
                    join_moments(found + k, c.elements, other[0], other[c.elements], other[2 * c.elements]);
                }
        } else {
            const auto add = find_reductions(which, element_type::float64, c.how).columns;
            for (int part = 1; part < parts; ++part) add(found, found + c.elements * part, 1, c.elements);
        }
        const std::int64_t count = layout_.elements() / c.elements - c.less;
        const double divisor = count > 0 ? static_cast<double>(count) : 0;
        for (std::int64_t k = 0; k < c.elements && c.end != combined_end::nothing; ++k) {
            double& value = result[k];
            if (has(c.end, combined_end::divided)) value /= divisor;
            if (has(c.end, combined_end::root)) value = std::sqrt(value);
            if (has(c.end, combined_end::not_negative) && value < 0) value = 0;
        }
        const element_type stored = outputs_[static_cast<std::size_t>(c.output)].stored;
        if (compute_type(stored) == stored) {
            c.steps->finish(to, result, c.elements);
        } else {
            // By way of float, where the sums were: each is read before its place is written.
            auto* values = reinterpret_cast<float*>(result);
            c.steps->finish(values, result, c.elements);
            apply_step(find_store(which, stored), to, size_of(stored), c.elements, {values, sizeof(float)});
        }
    }
}

} // namespace tenon::detail

#include <tenon/expr/fused_rows.inl>
