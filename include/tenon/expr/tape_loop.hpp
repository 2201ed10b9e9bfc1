#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/function_ref.hpp>
#include <tenon/expr/fused_layout.hpp>
#include <tenon/expr/interpreter.hpp>
#include <tenon/expr/loop_call.hpp>
#include <tenon/op/prepared_body.hpp>

/// Runs loops whose runs are elementwise: many runs for a block of elements that stays in the first-level cache, then those for the next.
///
/// What is one element, such as counters and with them the condition, depends on nothing else. So it goes first, some runs ahead, and what it
/// was in each run is kept; then each block of the others goes through these runs. A block needs nothing of other blocks: threads take
/// some each. The results are those of run after run, to the bit.

namespace tenon::detail {

/// From where a run reads, or to where it writes, and how many bytes on the next does.
struct run_source {
    const std::byte* at = nullptr;
    std::ptrdiff_t step = 0;
    const std::byte* of(std::int64_t run) const noexcept { return at + run * step; }
};
struct run_target {
    std::byte* at = nullptr; ///< nullptr: it is not wanted
    std::ptrdiff_t step = 0;
    std::byte* of(std::int64_t run) const noexcept { return at + run * step; }
};
/// A carry: what the first run is given, where what the last one gives goes, which may be the same place, and where what each is given does.
struct run_carry {
    const std::byte* first = nullptr;
    std::byte* last = nullptr;
    run_target each;
};

/// One of the two tapes, ready to run for `space` elements, which its results have; a block of them at once.
class loop_part_kernel {
public:
    /// nullptr: an operand or a result does not fit. `uniform`: nullptr, or the part whose carries are one element in each run.
    static std::unique_ptr<const loop_part_kernel> make(const loop_program& loop, const loop_part& part,
                                                        const loop_part* uniform);

    std::int64_t count() const noexcept { return layout_.elements(); } ///< elements
    std::int64_t block() const noexcept { return block_; }
    std::int64_t blocks() const noexcept { return (count() + block_ - 1) / block_; }
    std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }
    double cost() const noexcept { return cost_; } ///< of a run, in nanoseconds, estimated

    /// `runs` runs of the elements [begin, begin + n), at most a block; how many there were. `operands`: by the loop's operands; `carries`
    /// and `given` by its results.
    std::int64_t run(std::int64_t begin, std::int64_t n, std::int64_t runs, const run_source* operands,
                     const run_carry* carries, const run_target* given, std::byte* scratch) const;

private:
    enum class reading { unread, carried, one_each, sliced, fixed };
    struct input {
        reading how = reading::unread;
        int operand = 0;
        std::size_t bytes = 0;  // of an element
        std::size_t buffer = 0; // offset in the scratch, but of carried ones
        bool full = false;      // its elements lie as those of the space
    };
    struct output {
        int result = 0; // -1: the condition
        bool carried = false;
        std::size_t bytes = 0;
        std::size_t buffer = 0; // of a carry two blocks, one after the other
    };

    explicit loop_part_kernel(const loop_part& p) : part_(p) {}
    std::size_t block_bytes(std::size_t element) const noexcept;
    const output* output_of(int result) const;
    void gather(std::byte* to, int i, const std::byte* from, std::int64_t begin, std::int64_t n) const;
    std::int64_t run_compiled(std::int64_t runs, std::int64_t padded, const run_source* operands,
                              const run_carry* carries, std::byte* scratch) const;
    std::int64_t run_steps(std::int64_t begin, std::int64_t n, std::int64_t runs, const run_source* operands,
                           const run_carry* carries, const run_target* given, std::byte* scratch) const;

    const loop_part& part_;
    fused_layout layout_;
    std::vector<input> inputs_;
    std::vector<output> outputs_;
    std::unique_ptr<interpreter> interpreted_; // nullptr: it is compiled
    std::int64_t block_ = 0;
    std::size_t registers_ = 0, scratch_bytes_ = 0;
    bool asks_ = false;
    bool moves_ = false; // some input is another one in each run
    double cost_ = 0;
};

/// A whole loop.
class tape_loop {
public:
    /// nullptr: it is run otherwise.
    static std::unique_ptr<const tape_loop> make(loop_program&& p, int threads);
    /// Of a condition, or nullptr, and a body, which is given `arguments`. nullptr: they are not such, or do not fit.
    static std::unique_ptr<const tape_loop> make(const body_tape* condition, const body_tape* of, type_list arguments,
                                                 const std::vector<tensor_type>& results, std::size_t carried,
                                                 std::size_t sliced, int threads);

    /// True when compiled functions run both tapes.
    bool is_compiled() const noexcept {
        return (!uniform_ || p_.uniform.function) && (!elements_ || p_.elements.function);
    }
    std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }
    /// What a run of the loop is about, in its working memory; all that is wanted is to be filled in.
    struct places {
        run_source* operands; ///< but constants; of sliced ones the first slice
        run_carry* carries;   ///< no place of a last value is one that is read
        run_target* given;    ///< by result, after those carried
    };
    places begin(std::byte* scratch) const;
    /// As often as `runs` says, or, of one with a condition, as that does; how often that was. `wanted` is asked again and again, and may throw.
    std::int64_t run(std::int64_t runs, std::byte* scratch, thread_pool* pool, function_ref<void()> wanted) const;

private:
    tape_loop() = default;
    std::size_t history_bytes() const noexcept {
        return (static_cast<std::size_t>(most_runs_) + 8) / 8 * 64;
    } // of a carry

    loop_program p_;
    std::unique_ptr<const loop_part_kernel> uniform_, elements_; // nullptr: it has nothing to do
    std::int64_t most_runs_ = 1;                                 // ahead
    int chunks_ = 1;
    // Offsets in the scratch.
    std::size_t operands_ = 0, carries_ = 0, ahead_ = 0, targets_ = 0, uniform_at_ = 0, history_ = 0, chunk_ = 0,
                chunk_bytes_ = 0, scratch_bytes_ = 0;
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/expr/tape_loop.ipp>
#endif
