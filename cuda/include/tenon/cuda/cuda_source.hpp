#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/op/kernel.hpp>

/// Kernels of a program's own, of a text in CUDA C++: NVRTC compiles it for the card when a step is planned, once in a process and, by the
/// cache of compiled tapes, once on a machine. An op with such a kernel:
///
///     struct swish_op {
///         static constexpr const char* name = "my_swish";
///         using attributes = tn::no_attributes;
///         static constexpr tn::inferred infer(const attributes&, tn::type_list in, int) { return in[0]; }
///         static void gradient(tn::gradient_context& g) { g.set(0, tn::add<swish_slope_op>({}, {g.input(0), g.output_gradient()})); }
///         static tn::kernel_pointer prepare_gpu(const tn::kernel_setup& s) {
///             return tn::cuda_source("swish", R"(extern "C" __global__ void swish(const float* x, float* y, long long n) {
///                 const long long i = blockIdx.x * 256LL + threadIdx.x;
///                 if (i < n) y[i] = x[i] / (1 + expf(-x[i]));
///             })", {s.outputs[0].extents.elements()}).prepare(s);
///         }
///     };
///     auto y = tn::apply_op<swish_op, tn::no_attributes{}>(x);      // docs/adding-an-op.md has the rest

namespace tenon {

/// A number that a kernel gets as an argument: of the type that the kernel says. A std::int64_t is a long long.
class cuda_argument {
public:
    template <class T> cuda_argument(T value) requires std::is_arithmetic_v<T> {
        static_assert(sizeof value <= sizeof held_, "no kernel has an argument of this type");
        std::memcpy(held_, &value, sizeof value);
    }
    const void* data() const noexcept { return held_; }

private:
    alignas(8) unsigned char held_[8]{};
};

struct cuda_source {
    std::string
        kernel; ///< extern "C" __global__ void KERNEL(inputs .., outputs .., arguments ..): pointers to elements, numbers
    std::string text;
    std::vector<cuda_argument> arguments{};
    std::array<std::int64_t, 3> blocks{0, 1, 1}; ///< 0: as many as give each element of the first output a thread
    std::array<int, 3> threads{256, 1, 1};       ///< of a block
    std::size_t shared_bytes = 0;                ///< dynamic shared memory of a block

    cuda_source(std::string called, std::string source, std::vector<cuda_argument> given = {}) :
        kernel(std::move(called)), text(std::move(source)), arguments(std::move(given)) {}

    /// What an op's prepare_gpu returns. An input whose value the op does not need is nullptr, and so is an output that nobody reads. Throws
    /// invalid_argument_error with the compiler's words, which show the line, where the text does not compile or has no such kernel, or
    /// where the launch is none that a card can make; unavailable_error where there is no NVRTC.
    kernel_pointer prepare(const kernel_setup& s) const;
};

} // namespace tenon
