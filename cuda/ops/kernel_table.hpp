#pragma once

#include <initializer_list>
#include <memory>

#include <tenon/op/gpu_kernels.hpp>

/// How the kernels of an op family come into the library: NAME.cpp in this folder defines
///     void tenon::cuda::register_NAME() { enter({{"transpose", prepare_transpose}, ...}); }
/// and nothing else has to know of it: the build finds the files.

namespace tenon::cuda {

/// What makes a kernel of a class that is made of its setup alone.
template <class Kernel> kernel_pointer prepare(const kernel_setup& s) { return std::make_unique<Kernel>(s); }

struct kernel_entry {
    const char* op;
    kernel_factory make;
};
inline void enter(std::initializer_list<kernel_entry> kernels) {
    for (const kernel_entry& k : kernels) register_gpu_kernel(k.op, k.make);
}

} // namespace tenon::cuda
