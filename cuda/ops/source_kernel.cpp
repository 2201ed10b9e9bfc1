// Kernels of a program's own that are given as text.

#include <tenon/cuda/cuda_source.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>

#include <cuda_runtime_api.h>

#include <cuda/device/error.hpp>
#include <cuda/tapes/compiler.hpp>
#include <cuda/tapes/loaded.hpp>
#include <tenon/core/error.hpp>
#include <tenon/graph/add_node.hpp>
#include <tenon/op/kernel_roles.hpp>

namespace tenon::cuda {

namespace {

class source_kernel final : public kernel, public shown_kernel {
public:
    source_kernel(const kernel_setup& s, const cuda_source& from) :
        inputs_(static_cast<std::size_t>(s.inputs.size())),
        outputs_(static_cast<std::size_t>(s.outputs.size())),
        text_(from.text),
        arguments_(from.arguments),
        shared_bytes_(from.shared_bytes),
        is_empty_(from.blocks[0] == 0 && s.outputs.size() > 0 && s.outputs[0].extents.elements() == 0) {
        const std::string what =
            "kernel \"" + from.kernel + "\" of node \"" + s.node.name + "\" (" + s.node.op->name + ")";
        shape(s, from, what);
        try {
            const auto image = tapes::compiler::of_process().compile(from.kernel, from.text, s.gpu->capability);
            function_ = s.gpu->state<tapes::loaded_kernels>().find(from.kernel, image, from.text);
        } catch (const invalid_argument_error& e) {
            throw invalid_argument_error(what + ": " + e.what());
        } catch (const unavailable_error& e) {
            throw unavailable_error(what + ": " + e.what());
        } catch (const internal_error& e) {
            if (is_sticky(cudaPeekAtLastError())) throw; // the card is lost, whatever the text is
            throw invalid_argument_error(
                what + ": its text has no function of this name that a card can run: is it extern \"C\"? " + e.what());
        }
        s.gpu->use(); // what a block may have is asked of a card, and set for one
        cudaFuncAttributes about{};
        cuda::check(cudaFuncGetAttributes(&about, function_), "cudaFuncGetAttributes");
        if (const unsigned all = block_.x * block_.y * block_.z; all > static_cast<unsigned>(about.maxThreadsPerBlock))
            throw invalid_argument_error(what + ": a block of " + std::to_string(all) + " threads is more than the " +
                                         std::to_string(about.maxThreadsPerBlock) + " for which there are registers (" +
                                         std::to_string(about.numRegs) + " a thread); give it smaller blocks");
        if (shared_bytes_ > static_cast<std::size_t>(about.maxDynamicSharedSizeBytes)) {
            const cudaError_t answer =
                cudaFuncSetAttribute(function_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(std::min<std::size_t>(shared_bytes_, INT32_MAX)));
            if (answer != cudaSuccess) {
                (void)cudaGetLastError();
                throw invalid_argument_error(what + ": " + std::to_string(shared_bytes_) +
                                             " bytes of shared memory are more than a block can have on this card");
            }
        }
    }

    void run(const kernel_run& r) override {
        if (is_empty_) return;
        void* pointers[most_arguments];
        void** at = pointers;
        const auto add = [&](const void* p) { *at++ = const_cast<void*>(p); };
        for (std::size_t i = 0; i < inputs_; ++i) add(r.in + i);
        for (std::size_t o = 0; o < outputs_; ++o) add(r.out + o);
        for (const cuda_argument& a : arguments_) add(a.data());
        cuda::check(
            cudaLaunchKernel(function_, grid_, block_, pointers, shared_bytes_, static_cast<cudaStream_t>(r.stream)),
            "cudaLaunchKernel");
    }
    double cost() const override { return 5000; }
    std::string shown() const override { return "a program's own text\n" + text_; }

private:
    static constexpr std::size_t most_arguments = 128;

    void shape(const kernel_setup& s, const cuda_source& from, const std::string& what) {
        const auto wrong = [&](const std::string& why) { throw invalid_argument_error(what + ": " + why); };
        if (inputs_ + outputs_ + arguments_.size() > most_arguments)
            wrong(std::to_string(inputs_ + outputs_ + arguments_.size()) + " arguments are more than " +
                  std::to_string(most_arguments));
        const auto& t = from.threads;
        if (t[0] < 1 || t[1] < 1 || t[2] < 1 || t[0] > 1024 || t[1] > 1024 || t[2] > 64 || t[0] * t[1] * t[2] > 1024)
            wrong("a block of " + std::to_string(t[0]) + " x " + std::to_string(t[1]) + " x " + std::to_string(t[2]) +
                  " threads is none; it has 1 to 1024, of which no more than 64 along the third dimension");
        block_ = dim3(static_cast<unsigned>(t[0]), static_cast<unsigned>(t[1]), static_cast<unsigned>(t[2]));
        auto b = from.blocks;
        if (b[0] == 0) {
            if (s.outputs.size() == 0)
                wrong("the op has no output by whose elements blocks could be counted; say how many in `blocks`");
            b[0] = std::max<std::int64_t>((s.outputs[0].extents.elements() + t[0] - 1) / t[0], 1);
        }
        if (b[0] < 1 || b[1] < 1 || b[2] < 1 || b[0] > INT32_MAX || b[1] > 65535 || b[2] > 65535)
            wrong("a grid of " + std::to_string(b[0]) + " x " + std::to_string(b[1]) + " x " + std::to_string(b[2]) +
                  " blocks is none; along the dimensions it has 1 to 2147483647, 65535, 65535");
        grid_ = dim3(static_cast<unsigned>(b[0]), static_cast<unsigned>(b[1]), static_cast<unsigned>(b[2]));
    }

    const std::size_t inputs_, outputs_;
    const std::string text_;
    const std::vector<cuda_argument> arguments_;
    const std::size_t shared_bytes_;
    const bool is_empty_;
    dim3 grid_, block_;
    const void* function_ = nullptr;
};

} // namespace
} // namespace tenon::cuda

namespace tenon {

kernel_pointer cuda_source::prepare(const kernel_setup& s) const {
    if (!s.gpu)
        throw invalid_argument_error("kernel \"" + kernel + "\" of node \"" + s.node.name +
                                     "\" is CUDA C++: it runs on GPUs of tenon::cuda alone");
    return std::make_unique<cuda::source_kernel>(s, *this);
}

} // namespace tenon
