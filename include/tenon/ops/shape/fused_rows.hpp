#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tenon/expr/fused.hpp>
#include <tenon/op/kernel.hpp>

/// What an optimiser does with some rows of a variable and of its slots, as one pass over these rows. The planner makes it
/// (runtime/plan/rewrite/rewrite_keyed_rows.inl).

namespace tenon {

/// in: variables of the same sizes, one for each output of a tape; indices; tensors. Each row that indices name, however often, is replaced in all
/// variables by what the tape makes of it. out: the variables after that. An index outside 0 .. size - 1 fails the step, and the variables stay
/// as they were. No node of a graph is one; the planner's stand for the first node that gathers the rows.
struct fused_rows_op {
    static constexpr const char* name = "fused_rows";
    static constexpr op_flags flags = op_flags::stateful | op_flags::updates;
    /// What an operand of the tape is: the row of the variable of this number, or of the tensor that comes next
    enum operand : std::int64_t {
        one_for_all = -1, ///< all, which is the same for each row
        summed = -2 ///< the sum of the rows whose indices are equal; each may stand for some that follow each other
    };
    struct attributes {
        std::shared_ptr<const tenon::tape> tape;
        std::vector<std::int64_t> constants; ///< as of fused
        std::vector<std::int64_t> operands;
    };
    static int outputs(const attributes& a, int) { return a.tape->output_count; }
    static inferred infer(const attributes&, type_list in, int output) { return in[output]; }
    static bool needs_value(const tenon::attributes& a, int input) {
        return input >= a.get<std::shared_ptr<const tenon::tape>>("tape")->output_count;
    }
    static const op_definition& definition();
    static kernel_pointer prepare(const kernel_setup& s);
};

namespace detail {
/// What an op does with the rows that its input 1 names: reads those of input 0; adds up rows of input 0 whose names are equal, each of them
/// is the sum; replaces those of input 0, a variable, by input 2.
enum class keyed_rows { none, read, summed, replaced };
keyed_rows keyed_rows_of(const op_definition& op, const attributes& a);
} // namespace detail

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_fused_rows)

#include <algorithm>
#include <cstring>
#include <string>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>
#include <tenon/expr/fused_kernel.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/row_indices.hpp>
#include <tenon/ops/shape/scatter.hpp>

namespace tenon {

namespace detail {

TENON_INLINE keyed_rows keyed_rows_of(const op_definition& op, const attributes& a) {
    if (&op == &gather_definition && decode<gather_op::attributes>(a).axis == 0) return keyed_rows::read;
    if (&op == &sum_equal_rows_definition && !decode<sum_equal_rows_op::attributes>(a).once) return keyed_rows::summed;
    if (&op == &scatter_definition && decode<scatter_op::attributes>(a).how == scatter_op::way::update)
        return keyed_rows::replaced;
    return keyed_rows::none;
}

/// Some rows at a time: they are brought together in a core's own cache, the tape's kernel runs, and they go back. The first index of each
/// row stands for it, so that a row is one thread's.
class fused_rows_kernel final : public kernel {
public:
    explicit fused_rows_kernel(const kernel_setup& s) :
        a_(decode<fused_rows_op::attributes>(s.attrs)),
        name_("gather (" + s.node.name + ")"),
        variable_(s.node.inputs[0].node->name),
        variables_(s.outputs.size()),
        indices_(s.inputs[variables_]),
        size_(s.inputs[0].extents[0].size),
        inner_(size_ == 0 ? 0 : s.inputs[0].extents.elements() / size_),
        at_once_(std::clamp<std::int64_t>(1024 / std::max<std::int64_t>(inner_, 1), 1, most_at_once)) {
        const extents& variable = s.inputs[0].extents;
        extents some(at_once_);
        for (int d = 1; d < variable.rank(); ++d) some.push_back(variable[d]);
        std::vector<tensor_type> in, out;
        const auto add_rows = [&](std::vector<rows>& to, std::vector<tensor_type>& types, element_type e) -> rows& {
            types.push_back({e, some});
            to.push_back({.bytes = static_cast<std::size_t>(inner_) * size_of(e), .buffer = tape_scratch_});
            tape_scratch_ += rounded(to.back().bytes * static_cast<std::size_t>(at_once_));
            return to.back();
        };
        int next = variables_ + 1;
        for (const std::int64_t what : a_.operands) {
            const int from = what < 0 ? next++ : static_cast<int>(what);
            const tensor_type& type = s.inputs[from];
            if (what != fused_rows_op::one_for_all) {
                rows& made = add_rows(in_, in, type.element);
                made.from = from;
                if (what != fused_rows_op::summed) continue;
                const std::int64_t given = inner_ == 0 ? 0 : type.extents.elements() / inner_;
                made.repeats = given == 0 ? 1 : indices_.count / given;
                made.sums = static_cast<int>(sums_.size());
                sums_.emplace_back(type.element, inner_);
                continue;
            }
            tensor_type row{type.element, {}};
            for (int d = std::max(0, type.extents.rank() - some.rank() + 1); d < type.extents.rank(); ++d)
                row.extents.push_back(type.extents[d]);
            in.push_back(row);
            in_.push_back({.from = from});
        }
        for (int v = 0; v < variables_; ++v) add_rows(out_, out, s.outputs[v].element);
        kernel_setup of = s;
        of.inputs = {in.data(), static_cast<int>(in.size())};
        of.outputs = {out.data(), variables_};
        of.threads = 1;
        tape_ = std::make_unique<fused_kernel>(of, fused_attributes{a_.tape, a_.constants, {}});
        part_scratch_ = tape_scratch_ + rounded(tape_->scratch_bytes());
        constexpr double worth_a_thread = 20000; // ns
        parts_ = std::clamp<std::int64_t>(static_cast<std::int64_t>(cost() / worth_a_thread), 1, s.threads);
    }

    void check(const kernel_run& r) const override {
        for (int v = 0; v < variables_; ++v)
            if (!r.in[v]) throw failed_precondition_error(changed_without_value(name_, variable_));
        if (const std::int64_t i = indices_.first_outside(r.in[variables_], size_); i >= 0)
            throw invalid_argument_error(outside_axis(name_, indices_.shown(r.in[variables_], i), 0, size_));
    }
    void run(const kernel_run& r) override {
        check(r);
        for (std::size_t v = 0; v < out_.size(); ++v)
            if (r.out[v] != r.in[v]) std::memcpy(r.out[v], r.in[v], static_cast<std::size_t>(size_) * out_[v].bytes);
        if (inner_ == 0) return;
        const equal_indices equal(indices_, r.in[variables_], r.scratch);
        const std::int64_t parts = r.pool ? std::min<std::int64_t>(parts_, r.pool->size()) : 1;
        parallel_for(r.pool, parts, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t p = begin; p < end; ++p)
                update(r, equal, indices_.count * p / parts, indices_.count * (p + 1) / parts,
                       r.scratch + equal_scratch() + static_cast<std::size_t>(p) * part_scratch_);
        });
    }
    std::size_t scratch_bytes() const override {
        return equal_scratch() + static_cast<std::size_t>(parts_) * part_scratch_;
    }
    double cost() const override {
        const auto each = static_cast<double>(inner_) * static_cast<double>(in_.size() + out_.size());
        return 50 + static_cast<double>(indices_.count) * (8 + 0.05 * each);
    }

private:
    static constexpr std::int64_t most_at_once = 256;
    // Of an operand or a result: some rows, or what is the same for each.
    struct rows {
        int from = 0;             // input
        std::size_t bytes = 0;    // of a row; 0: it is the same for each
        std::size_t buffer = 0;   // in the scratch of a part
        int sums = -1;            // which adds them up; -1: they are a variable's
        std::int64_t repeats = 1; // for which one of the input stands
    };
    static std::size_t rounded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
    std::size_t equal_scratch() const { return rounded(equal_indices::bytes(indices_.count)); }

    // Those whose first index is one of these.
    void update(const kernel_run& r, const equal_indices& equal, std::int64_t begin, std::int64_t end,
                std::byte* scratch) const {
        std::fill_n(scratch, tape_scratch_, std::byte{}); // the last rows may be fewer than are computed
        std::int64_t first[most_at_once];
        while (begin < end) {
            std::int64_t n = 0;
            for (; begin < end && n < at_once_; ++begin)
                if (equal.is_first(begin)) first[n++] = begin;
            run_tape(r, equal, first, n, scratch);
        }
    }
    void run_tape(const kernel_run& r, const equal_indices& equal, const std::int64_t* first, std::int64_t n,
                  std::byte* scratch) const {
        const auto row_of = [&](std::int64_t k) {
            return static_cast<std::size_t>(indices_.at(r.in[variables_], first[k]));
        };
        const void* in[max_tape_inputs];
        void* out[max_tape_outputs];
        for (std::size_t k = 0; k < in_.size(); ++k) {
            const rows& of = in_[k];
            const auto* const from = r.input<std::byte>(of.from);
            in[k] = of.bytes == 0 ? from : scratch + of.buffer;
            for (std::int64_t i = 0; of.bytes > 0 && i < n; ++i) {
                std::byte* const to = scratch + of.buffer + static_cast<std::size_t>(i) * of.bytes;
                const auto given = [&](std::int64_t index) {
                    return from + static_cast<std::size_t>(index / of.repeats) * of.bytes;
                };
                if (of.sums < 0) std::memcpy(to, r.output<std::byte>(of.from) + row_of(i) * of.bytes, of.bytes);
                else if (equal.after(first[i]) < 0) std::memcpy(to, given(first[i]), of.bytes);
                else sums_[static_cast<std::size_t>(of.sums)].add_up(equal, first[i], given, to, [](auto...) {});
            }
        }
        for (std::size_t v = 0; v < out_.size(); ++v) out[v] = scratch + out_[v].buffer;
        kernel_run of = r;
        of.in = in;
        of.out = out;
        of.scratch = scratch + tape_scratch_;
        of.pool = nullptr;
        tape_->run(of);
        for (std::size_t v = 0; v < out_.size(); ++v)
            for (std::int64_t i = 0; i < n; ++i)
                std::memcpy(r.output<std::byte>(static_cast<int>(v)) + row_of(i) * out_[v].bytes,
                            scratch + out_[v].buffer + static_cast<std::size_t>(i) * out_[v].bytes, out_[v].bytes);
    }

    fused_rows_op::attributes a_;
    std::string name_, variable_;
    int variables_;
    row_indices indices_;
    std::int64_t size_, inner_, at_once_;
    std::vector<rows> in_, out_;
    std::vector<equal_row_sums> sums_;
    std::unique_ptr<fused_kernel> tape_;
    std::size_t tape_scratch_ = 0, part_scratch_ = 0; // where a part's kernel has its own, and all of a part
    std::int64_t parts_ = 1;
};

} // namespace detail

TENON_INLINE const op_definition& fused_rows_op::definition() {
    static const op_definition made = detail::make_definition<fused_rows_op>();
    return made;
}
TENON_KERNEL(fused_rows, detail::fused_rows_kernel);

} // namespace tenon

#endif
