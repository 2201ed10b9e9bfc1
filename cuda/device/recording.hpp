#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <cuda/device/context.hpp>
#include <tenon/runtime/device/device.hpp>

/// What a step gives to the streams of GPUs, as one CUDA graph.

namespace tenon::cuda {

/// Streams of one GPU that record, never work: one recording at a time, by any thread.
class recording_streams {
public:
    explicit recording_streams(gpu_context& on) : on_(on) {}
    ~recording_streams();
    recording_streams(recording_streams&&) = delete;

    /// Of the streams of all, as one graph, that is launched on the first one's GPU. Waits for other recordings to end. Throws what CUDA says.
    static std::unique_ptr<stream_recorder> begin(std::vector<recording_streams*> all);

private:
    class recorder;

    static constexpr std::size_t lines = device_streams::count + 3; // streams, of which the last are for kernels, too

    gpu_context& on_;
    std::mutex guard_; // of what follows: the recorder's
    cudaStream_t streams_[lines]{};
    std::vector<cudaEvent_t> events_; // one for each command of the longest recording
};

/// Gives it to the stream, which may be another each time. Throws what CUDA says.
void launch(recorded_work& graph, cudaStream_t to);

} // namespace tenon::cuda
