#pragma once

#include <memory>
#include <vector>

#include <tenon/expr/fused_call.hpp>
#include <tenon/expr/fused_layout.hpp>
#include <tenon/expr/interpreter.hpp>
#include <tenon/op/kernel.hpp>
#include <tenon/op/shown_kernel.hpp>

/// The kernel of a fused node: it walks through the iteration space in stretches of dense elements and gives each to
/// the tape's compiled function, or to the interpreter.

namespace tenon::detail {

class fused_kernel final : public kernel, public shown_kernel {
public:
    /// Without `use_compiled` the interpreter runs the tape in any case. `parts`: as of make_layout().
    fused_kernel(const kernel_setup& s, const fused_attributes& a, bool use_compiled = true,
                 const std::vector<operand_part>& parts = {});

    void run(const kernel_run& r) override;
    std::size_t scratch_bytes() const override { return scratch_bytes_; }
    double cost() const override { return cost_; }
    /// An input that has every element may lie where an output with elements of the same size goes: each stretch is
    /// read before it is written.
    bool may_share(int input, int output) const override;

    /// True when a compiled function runs the tape.
    bool is_compiled() const noexcept { return fast_ == nullptr; }
    std::string shown() const override {
        return is_compiled() ? "the expression's own function, which the program has compiled"
                             : "the interpreter of tapes: the program has no function compiled for this tape";
    }

private:
    // How the elements of one stretch of an input come to lie densely.
    enum class reading { unread, in_place, filled };
    struct input {
        reading how = reading::unread;
        bool once = false;       // what is filled is the same in each stretch
        std::uint32_t bytes = 0; // of an element
        std::size_t buffer = 0;  // offset in a chunk's scratch
    };
    // An output goes to its place, or to a buffer that is then summed up or streamed.
    struct output {
        bool summed = false;
        bool streamed = false; // by way of a buffer, unless it goes where an operand lies
        int target = 0;        // output of the node
        int into = -1;         // output of the tape that it is added to
        int like = -1;
        element_type stored = element_type::none;
        std::uint32_t bytes = 0; // of an element as the function writes it
        std::size_t buffer = 0;  // offset in a chunk's scratch
        std::size_t sums = 0;    // offset in the scratch, of doubles
        std::int64_t elements = 0;
        bool shared_sums = false; // chunks add to different ones
        const reduction_steps* reduction = nullptr;
        step_function add = nullptr;
    };
    struct range {
        std::int64_t row_begin, row_end, col_begin, col_end;
    };

    range chunk_range(int chunk) const noexcept;
    void find_function(const fused_attributes& a, simd::isa which, bool use_compiled);
    const step_program* program_for(const kernel_run& r) const noexcept;
    void run_chunk(const kernel_run& r, int chunk, const step_program* program) const;
    void sum_up(const output& o, double* sums, std::byte* values, std::int64_t row, std::int64_t rows, std::int64_t col,
                std::int64_t cols) const;
    void finish_sums(const kernel_run& r) const;
    double estimate(const tape& t) const;

    std::shared_ptr<const tape> tape_;
    fused_layout layout_;
    std::vector<std::int64_t> constants_;
    std::vector<input> inputs_;
    std::vector<output> outputs_;
    fused_function function_ = nullptr;
    std::unique_ptr<interpreter> fast_, careful_; // careful_: for outputs that lie where inputs lie; may be nullptr
    std::vector<std::int64_t> into_;
    std::uint32_t wide_ = 0, added_ = 0;
    bool plain_ = true;      // all inputs and outputs lie densely: one stretch
    bool summed_ = false;    // some output is summed
    bool streamed_ = false;  // some output is streamed
    bool has_parts_ = false; // some input is a part of a tensor
    bool by_rows_ = false;   // chunks are rows, else columns
    int chunks_ = 1;
    std::int64_t block_rows_ = 1; // of a stretch: several whole rows, or a part of one
    std::int64_t block_cols_ = 1;
    std::size_t chunk_bytes_ = 0; // of the scratch
    std::size_t registers_ = 0;   // offset in a chunk's scratch
    std::size_t scratch_bytes_ = 0;
    double cost_ = 0;
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/expr/fused_kernel.ipp>
#endif
