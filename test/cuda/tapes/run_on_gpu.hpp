#pragma once

#include <memory>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>

#include <cuda/device/context.hpp>
#include <cuda/device/error.hpp>
#include <cuda/tapes/compiler.hpp>
#include <cuda/tapes/source.hpp>
#include <tenon/op/gpu_kernels.hpp>
#include <tenon/tape/vjp.hpp>

#include "../../expr/run_tape.hpp"
#include "environment.hpp"

/// Tapes on GPU 0, without a graph.

namespace tape_test {

using tenon::test::environment;

/// Device memory, with a guard behind it.
class device_buffer {
public:
    explicit device_buffer(std::size_t bytes, std::size_t offset = 0) : bytes_(bytes), offset_(offset) {
        cuda::check(cudaMalloc(&memory_, bytes + offset + guard), "cudaMalloc");
        cuda::check(cudaMemset(memory_, 0x5a, bytes + offset + guard), "cudaMemset");
    }
    ~device_buffer() { (void)cudaFree(memory_); }
    device_buffer(device_buffer&&) = delete;

    std::byte* data() const { return static_cast<std::byte*>(memory_) + offset_; }
    void fill(const void* from) { cuda::check(cudaMemcpy(data(), from, bytes_, cudaMemcpyHostToDevice), "cudaMemcpy"); }
    void read(void* to) const { cuda::check(cudaMemcpy(to, data(), bytes_, cudaMemcpyDeviceToHost), "cudaMemcpy"); }
    bool guard_is_whole() const {
        std::vector<std::byte> all(bytes_ + offset_ + guard);
        cuda::check(cudaMemcpy(all.data(), memory_, all.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
        return std::all_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(offset_),
                           [](std::byte b) { return b == std::byte{0x5a}; }) &&
               std::all_of(all.end() - guard, all.end(), [](std::byte b) { return b == std::byte{0x5a}; });
    }

private:
    static constexpr std::ptrdiff_t guard = 64;
    void* memory_ = nullptr;
    std::size_t bytes_, offset_;
};

/// A tape's kernel for GPU 0. The tape must outlive it.
class gpu_tape {
public:
    gpu_tape(gpu_context& on, const tape& t, const std::vector<std::int64_t>& constants,
             const std::vector<tensor_type>& inputs) :
        tape_(t), gpu_(on), inputs_(inputs) {
        fused_op::attributes a;
        a.tape = std::shared_ptr<const tape>(std::shared_ptr<void>(), &t);
        a.constants = constants;
        const type_list in(inputs.data(), static_cast<int>(inputs.size()));
        for (int o = 0; o < fused_op::outputs(a, in.size()); ++o) {
            const inferred r = fused_op::infer(a, in, o);
            if (!r) throw invalid_argument_error(words(r.what));
            outputs_.push_back(r.type);
        }
        node n{.name = "some_node"};
        const attributes encoded = encode(a);
        kernel_setup s{n, encoded, in, type_list(outputs_.data(), static_cast<int>(outputs_.size()))};
        s.gpu = &on;
        kernel_ = find_gpu_kernel(definition_of<fused_op>())(s);
    }

    tenon::kernel& kernel() { return *kernel_; }
    /// Waits until what it launches stays the same, or run() throws.
    void settle(const std::vector<buffer>& inputs) {
        if (!kernel_->may_be_recorded()) wait_for_compiler();
        while (!kernel_->may_be_recorded()) (void)run(inputs, {});
    }

    struct how {
        bool in_place = false;        ///< outputs lie where inputs lie, wherever the kernel says they may
        std::uint32_t unwanted = 0;   ///< bit o: output o has no memory
        std::size_t elements_off = 0; ///< so many elements before them what is fed and made lies at an aligned address
    };
    std::vector<buffer> run(const std::vector<buffer>& inputs, const how& h) {
        std::vector<std::unique_ptr<device_buffer>> in, out;
        std::vector<const void*> in_pointers;
        std::vector<void*> out_pointers;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            in.push_back(
                std::make_unique<device_buffer>(inputs[i].bytes(), h.elements_off * size_of(inputs[i].element)));
            in.back()->fill(inputs[i].data());
            in_pointers.push_back(tape_.loads(static_cast<int>(i)) ? in.back()->data() : nullptr);
        }
        std::vector<buffer> results;
        std::vector<bool> taken(in.size());
        std::vector<device_buffer*> lies_in;
        for (std::size_t o = 0; o < outputs_.size(); ++o) {
            results.emplace_back(outputs_[o].element, outputs_[o].extents);
            out.push_back(
                std::make_unique<device_buffer>(results[o].bytes(), h.elements_off * size_of(outputs_[o].element)));
            lies_in.push_back(out.back().get());
            for (std::size_t i = 0; h.in_place && i < in.size(); ++i)
                if (!taken[i] && kernel_->may_share(static_cast<int>(i), static_cast<int>(o))) {
                    taken[i] = true;
                    lies_in.back() = in[i].get();
                    break;
                }
            out_pointers.push_back((h.unwanted >> o & 1U) != 0 ? nullptr : lies_in.back()->data());
        }
        device_buffer scratch(kernel_->scratch_bytes());
        kernel_run r{in_pointers.data(), out_pointers.data(), scratch.data(), nullptr};
        kernel_->run(r);
        cuda::check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
        for (std::size_t o = 0; o < outputs_.size(); ++o) {
            lies_in[o]->read(results[o].data());
            if (!out[o]->guard_is_whole()) throw internal_error("wrote beyond an output");
        }
        for (const auto& b : in)
            if (!b->guard_is_whole()) throw internal_error("wrote beyond an input");
        if (!scratch.guard_is_whole()) throw internal_error("wrote beyond its scratch memory");
        return results;
    }

private:
    // Runs in the meantime would keep the compiler waiting.
    void wait_for_compiler() {
        using namespace cuda::tapes;
        try {
            for (const pass& p : make_passes(tape_, type_list(inputs_.data(), static_cast<int>(inputs_.size()))))
                (void)compiler::of_process().ask(write_kernel(p.code, p.shape), gpu_.capability)->image();
        } catch (const error&) { // run() says what it is
        }
    }

    const tape& tape_;
    gpu_context& gpu_;
    const std::vector<tensor_type> inputs_;
    std::vector<tensor_type> outputs_;
    kernel_pointer kernel_;
};

inline std::string shown(const tape& t, const std::vector<tensor_type>& inputs) {
    std::string text;
    for (int r = 0; r < t.length; ++r) {
        const instruction& i = t.code[r];
        text += std::to_string(r) + ":" + info_of(i.op).name + ":" + name_of(i.type) + "(" + std::to_string(i.a) + "," +
                std::to_string(i.b) + "," + std::to_string(i.c) + ") ";
    }
    for (int o = 0; o < t.output_count; ++o)
        text += "-> " + std::to_string(t.outputs[o].reg) + ":" + name_of(t.outputs[o].type) + " like " +
                std::to_string(t.outputs[o].like) + " ";
    for (const tensor_type& type : inputs) text += to_string(type) + " ";
    return text;
}

/// What rounds one operation once, or not at all: there is one right answer.
constexpr bool is_exact(opcode op) {
    return (info_of(op).group != opcode_group::real && op != opcode::pow) || op == opcode::sqrt ||
           op == opcode::rsqrt || op == opcode::reciprocal;
}

} // namespace tape_test
