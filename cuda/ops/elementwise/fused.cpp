// The elementwise op: its tape as kernels that NVRTC compiles, or, until they are there, run by an interpreter.

#include <algorithm>

#include <cuda/device/context.hpp>
#include <cuda/device/error.hpp>
#include <cuda/kernels/shape/fill.hpp>
#include <cuda/kernels/tape/sums.hpp>
#include <cuda/ops/elementwise/fused.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/tapes/interpreted.hpp>
#include <tenon/expr/fused.hpp>
#include <tenon/expr/fused_layout.hpp>
#include <tenon/expr/interpreter.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/op/kernel_roles.hpp>
#include <tenon/ops/elementwise/fused_parts.hpp>

namespace tenon::cuda {

namespace {

using namespace tapes;

/// One pass of a node's tape: compiled as soon as it can be.
class pass_kernel {
public:
    pass_kernel(pass p, const kernel_setup& s, const fused_attributes& a, way how) :
        pass_(std::move(p)),
        schedule_(schedule_of(pass_, s.gpu->multiprocessors)),
        constants_(a.constants),
        function_([&] { return write_kernel(pass_.code, pass_.shape); }, s, how),
        sums_(pass_.shape.count(fate::summed, pass_.code)),
        totals_(pass_.shape.count(fate::totalled, pass_.code)) {
        if (!function_.find())
            interpreted_ = std::make_unique<interpreter_call>(interpret_pass(pass_, schedule_, constants_));
    }

    std::string shown() const {
        return (function_.is_compiled() ? "CUDA C++, with the functions of kernels/tape before it:\n"
                                        : "the interpreter of tapes; compiled it would be this CUDA C++:\n") +
               write_kernel(pass_.code, pass_.shape).text;
    }
    std::size_t scratch_bytes() const {
        const std::int64_t doubles =
            sums_ * rounded(schedule_.parts_of_sum(pass_.kept)) + totals_ * rounded(schedule_.parts_of_total());
        return static_cast<std::size_t>(doubles) * sizeof(double) +
               (interpreted_ ? interpreter_bytes(*interpreted_, interpreter_blocks()) : 0);
    }

    /// True where what run() launches stays the same.
    bool is_settled() { return function_.is_settled(); }

    void run(const kernel_run& whole) {
        kernel_run r = whole;
        const void* in[max_tape_inputs];
        for (int i = 0; i < pass_.code.input_count; ++i)
            in[i] =
                whole.input<std::byte>(i) + pass_.firsts[i] * static_cast<std::int64_t>(size_of(pass_.code.inputs[i]));
        r.in = in;
        double* partial[max_tape_outputs]{};
        partial_sum parts[max_tape_outputs];
        int counted = 0;
        auto* scratch = reinterpret_cast<double*>(r.scratch);
        for (const fate kind : {fate::summed, fate::totalled})
            for (int o = 0; o < pass_.code.output_count; ++o) {
                if (pass_.shape.fates[o] != kind) continue;
                const bool total = kind == fate::totalled;
                const std::int64_t doubles = total ? schedule_.parts_of_total() : schedule_.parts_of_sum(pass_.kept);
                parts[counted] = {scratch, r.out[made(o)], total ? 1 : pass_.kept, total ? doubles : schedule_.chunks,
                                  pass_.code.outputs[o].type};
                if (doubles == 0) parts[counted].to = nullptr; // the kernel itself writes it
                else partial[counted] = scratch;
                scratch += rounded(doubles);
                ++counted;
            }
        if (const void* function = function_.find()) launch_compiled(function, r, partial);
        else launch_interpreted(r, partial, scratch);
        add_partial_sums(parts, counted, r.stream);
    }

private:
    static std::int64_t rounded(std::int64_t doubles) { return (doubles + 31) / 32 * 32; }
    std::size_t made(int o) const { return static_cast<std::size_t>(pass_.made[static_cast<std::size_t>(o)]); }

    void launch_compiled(const void* function, const kernel_run& r, double* const* partial) const {
        std::vector<std::uint64_t> words = write_arguments(pass_, {r.in, r.out, constants_.data(), partial, schedule_});
        void* arguments[] = {words.data(), nullptr};
        check(cudaLaunchKernel(function, schedule_.blocks, 256, arguments, 0, static_cast<cudaStream_t>(r.stream)),
              "cudaLaunchKernel");
    }
    // Sums are those of a compiled kernel to the bit, whose blocks divide them alike.
    unsigned interpreter_blocks() const {
        constexpr unsigned enough = 64; // where each takes memory
        const bool takes_memory = interpreter_bytes(*interpreted_, 1) > 0;
        return takes_memory && sums_ + totals_ == 0 ? std::min(schedule_.blocks, enough) : schedule_.blocks;
    }
    void launch_interpreted(const kernel_run& r, double* const* partial, void* memory) const {
        interpreter_call call = *interpreted_;
        for (int i = 0; i < pass_.code.input_count; ++i) call.in[i] = r.in[i];
        for (int o = 0; o < pass_.code.output_count; ++o) call.out[o] = r.out[made(o)];
        for (int s = 0; s < sums_ + totals_; ++s) call.partial[s] = partial[s];
        if (interpreter_bytes(call, 1) > 0) call.kept_by_threads = memory;
        interpret(call, interpreter_blocks(), r.stream);
    }

    const pass pass_;
    const schedule schedule_;
    const std::vector<std::int64_t> constants_;
    function function_;
    const int sums_, totals_;
    std::unique_ptr<interpreter_call> interpreted_; // none where the function was there from the start
};

class fused_kernel final : public kernel, public shown_kernel {
public:
    fused_kernel(const kernel_setup& s, const fused_attributes& a, way how,
                 const std::vector<detail::operand_part>& parts = {}) {
        const tape merged = detail::with_merged_outputs(*a.tape, a.merge);
        const detail::fused_layout l = detail::make_layout(s.inputs, parts);
        may_share_.resize(static_cast<std::size_t>(merged.input_count));
        for (int i = 0; i < merged.input_count; ++i)
            for (int o = 0; o < merged.output_count; ++o) {
                const int like = merged.outputs[o].like;
                const bool stored = parts.empty() && (like < 0 || l.operands[like].full);
                may_share_[static_cast<std::size_t>(i)].push_back(stored && merged.loads(i) && l.operands[i].full &&
                                                                  size_of(merged.inputs[i]) ==
                                                                      size_of(merged.outputs[o].type));
            }
        bytes_ = 0;
        for (int i = 0; i < merged.input_count; ++i)
            if (merged.loads(i))
                bytes_ += static_cast<double>(s.inputs[i].extents.elements()) *
                          static_cast<double>(size_of(merged.inputs[i]));
        for (int o = 0; o < s.outputs.size(); ++o)
            bytes_ += static_cast<double>(s.outputs[o].extents.elements()) *
                      static_cast<double>(size_of(s.outputs[o].element));
        if (l.elements() == 0) {
            for (int o = 0; o < s.outputs.size(); ++o)
                cleared_.push_back(s.outputs[o].extents.elements() *
                                   static_cast<std::int64_t>(size_of(s.outputs[o].element)));
            return;
        }
        for (pass& p : make_passes(merged, s.inputs, parts))
            passes_.push_back(std::make_unique<pass_kernel>(std::move(p), s, a, how));
    }

    void run(const kernel_run& r) override {
        // The sum of no elements is 0.
        for (std::size_t o = 0; o < cleared_.size(); ++o)
            if (r.out[o] && cleared_[o] > 0) fill(r.out[o], cleared_[o], 1, 0, r.stream);
        for (const auto& p : passes_) p->run(r);
    }
    std::size_t scratch_bytes() const override {
        std::size_t most = 0; // passes come one after another
        for (const auto& p : passes_) most = std::max(most, p->scratch_bytes());
        return most;
    }
    double cost() const override { return 3000 + bytes_ / 1000; } // a launch, and a terabyte a second
    std::string shown() const override {
        std::string text;
        for (const auto& p : passes_) text += p->shown();
        return text.empty() ? "nothing: it has no elements" : text;
    }
    bool may_share(int i, int o) const override {
        return may_share_[static_cast<std::size_t>(i)][static_cast<std::size_t>(o)];
    }
    bool may_be_recorded() const override {
        bool settled = true;
        for (const auto& p : passes_) settled = p->is_settled() && settled;
        return settled;
    }

private:
    std::vector<std::unique_ptr<pass_kernel>> passes_;
    std::vector<std::vector<bool>> may_share_; // [input][output]
    std::vector<std::int64_t> cleared_;        // bytes of the outputs, where the inputs have no elements
    double bytes_ = 0;
};

} // namespace

kernel_pointer prepare_fused(const kernel_setup& s, way how) {
    return std::make_unique<fused_kernel>(s, decode<fused_attributes>(s.attrs), how);
}

void register_fused() {
    enter({{"fused", [](const kernel_setup& s) { return prepare_fused(s, wanted_way()); }},
           {"fused_parts", [](const kernel_setup& s) -> kernel_pointer {
                const auto a = decode<fused_parts_op::attributes>(s.attrs);
                return std::make_unique<fused_kernel>(detail::setup_of_operands(s, a.types), a.fused(), wanted_way(),
                                                      detail::parts_in(a));
            }}});
}

} // namespace tenon::cuda
