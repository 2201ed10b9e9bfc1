#pragma once

#include <cstring>

#include <cuda/device/error.hpp>
#include <cuda/kernels/random/random.hpp>
#include <tenon/ops/random/random_source_kernel.hpp>

/// Kernels that draw random numbers: the run that they draw is told to the device in each step.

namespace tenon::cuda {

class random_run_kernel : public kernel {
public:
    random_run_kernel(const kernel_setup& s, std::int64_t seed) : source_(s, seed) {}
    random_run_kernel(const kernel_setup& s, std::int64_t seed, const std::string& name) : source_(s, seed, name) {}

    std::size_t told_bytes() const final { return sizeof(std::uint64_t); }
    void tell(std::byte* to) final {
        const std::uint64_t run = source_.next().run;
        std::memcpy(to, &run, sizeof run);
    }
    std::size_t scratch_bytes() const override { return run_bytes; }

    std::uint64_t key() const { return source_.key(); }

protected:
    /// What the scratch memory begins with: the run, which many threads read, and the host's memory is far.
    static constexpr std::size_t run_bytes = 256;
    const std::uint64_t* run_of(const kernel_run& r) const {
        cuda::check(cudaMemcpyAsync(r.scratch, r.told, sizeof(std::uint64_t), cudaMemcpyHostToDevice,
                                    static_cast<cudaStream_t>(r.stream)),
                    "cudaMemcpyAsync");
        return reinterpret_cast<const std::uint64_t*>(r.scratch);
    }
    random_place place(const kernel_run& r, std::int64_t first = 0) const { return {source_.key(), run_of(r), first}; }

private:
    detail::random_source source_;
};

} // namespace tenon::cuda
