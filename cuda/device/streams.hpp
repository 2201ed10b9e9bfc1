#pragma once

#include <memory>

#include <cuda/device/context.hpp>
#include <cuda/device/launches.hpp>
#include <cuda/device/machine.hpp>
#include <cuda/device/recording.hpp>
#include <cuda/device/wish.hpp>

/// The streams of one GPU: one for kernels, one for copies to it, one for copies from it, one for sums with others.

namespace tenon::cuda {

class streams final : public device_streams {
public:
    streams(std::shared_ptr<machine> m, gpu_context& on);
    ~streams() override;

    void launch(stream l, kernel& k, const kernel_run& r, step_monitor& m, int number) override;
    std::vector<launched_kernel> launches_of(kernel& k, const kernel_run& r) override {
        return cuda::launches_of(on_, k, r);
    }
    void copy(stream l, void* to, const void* from, std::size_t bytes, step_monitor& m, int number) override;
    std::unique_ptr<device_event> make_event() override;
    void record(stream l, device_event& e, completion* told) override;
    void wait(stream l, device_event& e) override;
    void work_until(function_ref<bool()> done) override { machine_->work_until(done); }
    void wake() noexcept override { machine_->wake(); }
    void flush() override { machine_->leave(); }
    void ask_again() noexcept override {} // what was given to a GPU goes on to its end
    std::shared_ptr<std::byte> told_memory(std::size_t bytes) override;
    /// nullptr where CUDA_LAUNCH_BLOCKING is set: then each kernel is launched by itself, and waited for.
    std::unique_ptr<stream_recorder> begin_recording(std::span<device_streams* const> all) override;
    void replay(recorded_work& w, const step& in, step_monitor& m) override;
    void require_working() override;

private:
    void destroy() noexcept;
    template <class F> void give(stream l, step_monitor& m, int number, const F& work);
    void copy_in(cudaStream_t by, std::byte* to, const std::byte* from, std::size_t bytes);
    void copy_out(cudaStream_t by, std::byte* to, const std::byte* from, std::size_t bytes);

    const std::shared_ptr<machine> machine_;
    gpu_context& on_;
    cudaStream_t streams_[count]{};
    recording_streams recording_;
    // Errors are hunted: each command is waited for, so that it is known whose they are.
    const bool one_by_one_ = is_wished("CUDA_LAUNCH_BLOCKING", "1");
};

} // namespace tenon::cuda
