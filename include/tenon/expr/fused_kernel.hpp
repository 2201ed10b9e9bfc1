#pragma once

#include <memory>
#include <vector>

#include <tenon/expr/fused_call.hpp>
#include <tenon/expr/fused_layout.hpp>
#include <tenon/expr/interpreter.hpp>
#include <tenon/op/kernel.hpp>
#include <tenon/op/kernel_roles.hpp>

/// The kernel of a fused node: it walks through the iteration space in stretches of dense elements and gives each to
/// the tape's compiled function, or to the interpreter.

namespace tenon::detail {

/// What is done to what a result's elements are combined to, in this order.
enum class combined_end : unsigned { nothing = 0, divided = 1, root = 2, not_negative = 4 };
constexpr bool has(combined_end ends, combined_end what) {
    return (static_cast<unsigned>(ends) & static_cast<unsigned>(what)) != 0;
}

/// What is made of an output of a tape: it is stored, or its elements are combined over some of the dimensions of all operands together.
struct tape_result {
    int output = 0; ///< of the tape
    bool is_combined = false;
    combining how = combining::sum;
    combined_end end = combined_end::nothing;
    std::int64_t less = 0; ///< divided: by the number of elements less this
    extents kept =
        {}; ///< where it is combined: the sizes of all operands together with a 1 for each of those dimensions
};

class fused_kernel final : public kernel, public row_kernel, public shown_kernel {
public:
    /// Without `use_compiled` the interpreter runs the tape in any case. `parts`: as of make_layout(). `results`: by output of the node;
    /// empty: each output of the tape that is not merged is stored.
    fused_kernel(const kernel_setup& s, const fused_attributes& a, bool use_compiled = true,
                 const std::vector<operand_part>& parts = {}, std::vector<tape_result> results = {});

    void run(const kernel_run& r) override;
    std::size_t scratch_bytes() const override { return scratch_bytes_; }
    double cost() const override { return cost_; }
    /// An input that has every element may lie where an output with elements of the same size goes: each stretch is
    /// read before it is written.
    bool may_share(int input, int output) const override;

    std::int64_t rows() const override { return rows_; }
    bool is_by_rows(int i) const override { return (by_rows_inputs_ >> i & 1U) != 0; }
    bool gives_rows(int o) const override;
    void divide(int shares) override;
    void run_share(const kernel_run& r, int share) const override;
    void finish(const kernel_run& r) const override { finish_combined(r); }

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
    // An output goes to its place, or to a buffer where nobody wants it stored, or from which it is streamed.
    struct output {
        int target = -1;       // output of the node
        bool streamed = false; // by way of a buffer, unless it goes where an operand lies
        int into = -1;         // output of the tape that it is added to
        element_type stored = element_type::none;
        std::uint32_t bytes = 0; // of an element as the function writes it
        std::size_t buffer = 0;  // offset in a chunk's scratch
    };
    // What an output's elements are combined to.
    struct combined {
        int output = 0;  // of the tape
        int target = 0;  // output of the node
        int like = 0;    // operand of the layout
        int source = -1; // the input whose elements they are
        combining how = combining::sum;
        combined_end end = combined_end::nothing;
        std::int64_t less = 0;
        std::size_t found = 0; // offset in the scratch, of doubles
        std::int64_t elements = 0;
        bool is_shared = false; // chunks add to different ones
        const reduction_steps* steps = nullptr;
        const moment_steps* moments = nullptr;                                                       // of squares
        std::int64_t numbers() const { return how == combining::squares ? 3 * elements : elements; } // of a part
    };
    struct range {
        std::int64_t row_begin, row_end, col_begin, col_end;
    };

    range chunk_range(int chunk) const noexcept;
    void find_function(const fused_attributes& a, simd::isa which, bool use_compiled);
    const step_program* program_for(const kernel_run& r) const noexcept;
    type_list place_results(const kernel_setup& s, std::vector<tape_result>& results, std::vector<tensor_type>& types);
    void find_chunks(int threads);
    void find_rows(const kernel_setup& s);
    bool combines_rows() const noexcept;
    void place_scratch();
    void run_chunk(const kernel_run& r, int chunk, std::byte* scratch, const step_program* program) const;
    std::int64_t elements_before_lines(const std::byte* const* begins) const noexcept;
    void combine(const combined& c, double* found, const std::byte* values, std::int64_t row, std::int64_t rows,
                 std::int64_t col, std::int64_t cols) const;
    void finish_combined(const kernel_run& r) const;
    double estimate(const tape& t) const;

    std::shared_ptr<const tape> tape_;
    fused_layout layout_;
    std::vector<std::int64_t> constants_;
    std::vector<input> inputs_;
    std::vector<output> outputs_;
    std::vector<combined> combined_;
    fused_function function_ = nullptr;
    std::unique_ptr<interpreter> fast_, careful_; // careful_: for outputs that lie where inputs lie; may be nullptr
    std::vector<std::int64_t> into_;
    std::uint32_t wide_ = 0, added_ = 0;
    bool computes_ = true;   // not all that is wanted are inputs
    bool plain_ = true;      // all inputs and outputs lie densely: one stretch
    bool streamed_ = false;  // some output is streamed
    bool has_parts_ = false; // some input is a part of a tensor
    bool by_rows_ = false;   // chunks are rows, else columns
    int chunks_ = 1;
    int at_once_ = 1;                  // shares of them
    std::int64_t rows_ = 0;            // that may be computed apart
    std::uint32_t by_rows_inputs_ = 0; // of which rows need the same rows alone
    bool fetches_ahead_ = false;
    std::int64_t unit_ = 1;       // rows or columns that no chunk parts
    std::int64_t block_rows_ = 1; // of a stretch: several whole rows, or a part of one
    std::int64_t block_cols_ = 1;
    std::size_t chunk_bytes_ = 0; // of the scratch
    std::size_t registers_ = 0;   // offset in a chunk's scratch
    std::size_t chunks_at_ = 0;   // offset of the chunks' scratch
    std::size_t scratch_bytes_ = 0;
    double cost_ = 0;
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/expr/fused_kernel.ipp>
#endif
