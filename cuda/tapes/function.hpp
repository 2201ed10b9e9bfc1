#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include <cuda/tapes/compiler.hpp>
#include <tenon/core/function_ref.hpp>
#include <tenon/op/kernel.hpp>

/// A node's kernels from sources.

namespace tenon::cuda::tapes {

/// What runs tapes: TENON_CUDA_TAPES, for tests.
enum class way { both, compiled, interpreted };
/// Throws invalid_argument_error where it is none.
way wanted_way();

/// A kernel that is compiled beside what runs. Thread-safe.
class function {
public:
    /// Waits for it where `how`, or that its runs are timed, asks for that. way::interpreted: it never is there, and `write` is not called.
    function(function_ref<kernel_source()> write, const kernel_setup& s, way how);

    /// What cudaLaunchKernel takes; nullptr: it is not there yet, or will never be. Throws what the compiler threw.
    const void* find();
    /// True where what find() answers stays the same.
    bool is_settled();
    /// Whether it is compiled, or will be.
    bool is_compiled() const;

private:
    const void* load(const std::shared_ptr<const std::string>& image);

    std::string name_; // of the kernel
    const std::string node_;
    gpu_context& gpu_;
    mutable std::mutex guard_; // of code_, once this is made
    std::shared_ptr<const compilation> code_;
    std::atomic<const void*> found_{nullptr};
};

} // namespace tenon::cuda::tapes
