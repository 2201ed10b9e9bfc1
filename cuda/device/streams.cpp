#include <cuda/device/streams.hpp>

#include <algorithm>
#include <cstring>

#include <nvtx3/nvToolsExt.h>

#include <cuda/device/error.hpp>
#include <cuda/device/staging.hpp>
#include <tenon/core/error.hpp>

namespace tenon::cuda {

namespace {

class event final : public device_event {
public:
    explicit event(const gpu_context& on) : card(on.card) {
        on.use();
        check(cudaEventCreateWithFlags(&native, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    }
    ~event() override { (void)cudaEventDestroy(native); }
    event(event&&) = delete;

    const int card;
    cudaEvent_t native = nullptr;
};

cudaEvent_t native_of(device_event& e) noexcept { return static_cast<event&>(e).native; }

// The host's memory that is not page-locked: the driver would copy it in pieces, and have the caller wait.
bool is_pageable(const void* p) {
    cudaPointerAttributes about{};
    check(cudaPointerGetAttributes(&about, p), "cudaPointerGetAttributes");
    return about.type == cudaMemoryTypeUnregistered;
}

// What is copied at a time: the next piece is read by the host while the last one travels.
constexpr std::size_t piece = std::size_t{4} << 20;

struct staged {
    void* to;
    const void* from;
    std::size_t bytes;
    void* block;
    std::size_t block_bytes;

    // By the driver's thread, in the stream's order; it may call nothing of CUDA.
    static void end(void* self) {
        const std::unique_ptr<staged> s(static_cast<staged*>(self));
        if (s->to) std::memcpy(s->to, s->from, s->bytes);
        staging::shared().give(s->block, s->block_bytes);
    }
};

// What a profiler, where one looks on, shows around the calls of a command.
struct profiled {
    explicit profiled(const char* name) { nvtxRangePushA(name); }
    ~profiled() { nvtxRangePop(); }
    profiled(profiled&&) = delete;
};

} // namespace

streams::streams(std::shared_ptr<machine> m, gpu_context& on) : machine_(std::move(m)), on_(on), recording_(on) {
    on_.use();
    try {
        for (cudaStream_t& s : streams_)
            check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    } catch (...) {
        destroy();
        throw;
    }
}

streams::~streams() { destroy(); }

void streams::destroy() noexcept {
    (void)cudaSetDevice(on_.card);
    for (const cudaStream_t s : streams_) {
        if (!s) continue;
        (void)cudaStreamSynchronize(s);
        machine_->forget(s); // another may have its address
        (void)cudaStreamDestroy(s);
    }
}

// A command of a step, between two events where its times are asked for.
template <class F> void streams::give(stream l, step_monitor& m, int number, const F& work) {
    if (!m.wanted(number)) return;
    const profiled as(m.name_of(number));
    on_.use();
    machine::timed_command timed;
    if (m.is_timed()) {
        timed = {on_.card, machine_->take_timer(on_.card), machine_->take_timer(on_.card), &m, number};
        check(cudaEventRecord(timed.began, streams_[l]), "cudaEventRecord");
    }
    work();
    if (one_by_one_) check(cudaStreamSynchronize(streams_[l]), "cudaStreamSynchronize");
    if (timed.monitor) {
        check(cudaEventRecord(timed.ended, streams_[l]), "cudaEventRecord");
        machine_->time(timed);
    } else m.ended(number, 0, 0); // when others look at what it wrote, it will have ended
}

void streams::launch(stream l, kernel& k, const kernel_run& r, step_monitor& m, int number) {
    give(l, m, number, [&] {
        kernel_run here = r;
        here.stream = streams_[l];
        k.run(here);
    });
}

void streams::copy(stream l, void* to, const void* from, std::size_t bytes, step_monitor& m, int number) {
    give(l, m, number, [&] {
        if (bytes == 0) return;
        if (l == copies_in && is_pageable(from))
            copy_in(streams_[l], static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
        else if (l == copies_out && is_pageable(to))
            copy_out(streams_[l], static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
        else check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, streams_[l]), "cudaMemcpyAsync");
    });
}

// Where there is no locked memory left the driver copies in its own pieces, and this thread waits.
void streams::copy_in(cudaStream_t by, std::byte* to, const std::byte* from, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += piece) {
        const std::size_t some = std::min(piece, bytes - at);
        void* const block = staging::shared().take(some);
        if (!block) {
            check(cudaMemcpyAsync(to + at, from + at, bytes - at, cudaMemcpyHostToDevice, by), "cudaMemcpyAsync");
            return;
        }
        std::memcpy(block, from + at, some);
        auto then = std::make_unique<staged>(staged{nullptr, nullptr, 0, block, some});
        check(cudaMemcpyAsync(to + at, block, some, cudaMemcpyHostToDevice, by), "cudaMemcpyAsync");
        check(cudaLaunchHostFunc(by, staged::end, then.get()), "cudaLaunchHostFunc");
        (void)then.release();
    }
}

void streams::copy_out(cudaStream_t by, std::byte* to, const std::byte* from, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += piece) {
        const std::size_t some = std::min(piece, bytes - at);
        void* const block = staging::shared().take(some);
        if (!block) {
            check(cudaMemcpyAsync(to + at, from + at, bytes - at, cudaMemcpyDeviceToHost, by), "cudaMemcpyAsync");
            return;
        }
        auto then = std::make_unique<staged>(staged{to + at, block, some, block, some});
        check(cudaMemcpyAsync(block, from + at, some, cudaMemcpyDeviceToHost, by), "cudaMemcpyAsync");
        check(cudaLaunchHostFunc(by, staged::end, then.get()), "cudaLaunchHostFunc");
        (void)then.release();
    }
}

std::unique_ptr<stream_recorder> streams::begin_recording(std::span<device_streams* const> all) {
    if (one_by_one_) return nullptr;
    std::vector<recording_streams*> of;
    for (device_streams* const s : all) of.push_back(&static_cast<streams*>(s)->recording_);
    return recording_streams::begin(std::move(of));
}

void streams::replay(recorded_work& w, const step&, step_monitor&) {
    const profiled as("recorded step");
    on_.use();
    cuda::launch(w, streams_[compute]);
}

void streams::require_working() {
    const std::string which = "GPU " + std::to_string(on_.card) + ": ";
    check(cudaSetDevice(on_.card), (which + "cudaSetDevice").c_str());
    const cudaError_t answer = cudaStreamQuery(streams_[compute]);
    if (answer != cudaErrorNotReady) check(answer, (which + "cudaStreamQuery").c_str());
}

std::unique_ptr<device_event> streams::make_event() { return std::make_unique<event>(on_); }

void streams::record(stream l, device_event& e, completion* told) {
    try {
        on_.use();
        check(cudaEventRecord(native_of(e), streams_[l]), "cudaEventRecord");
    } catch (...) {
        if (!told) throw;
        told->completed(std::current_exception());
        return;
    }
    if (told) machine_->tell(on_.card, streams_[l], native_of(e), *told);
}

void streams::wait(stream l, device_event& e) {
    on_.use();
    check(cudaStreamWaitEvent(streams_[l], native_of(e), 0), "cudaStreamWaitEvent");
}

std::shared_ptr<std::byte> streams::told_memory(std::size_t bytes) {
    void* const block = staging::shared().take(bytes);
    if (!block)
        throw resource_exhausted_error("no page-locked memory of the host for " + std::to_string(bytes) +
                                       " bytes that a GPU reads by itself; give it smaller feeds, or the process more "
                                       "locked memory (ulimit -l)");
    return {static_cast<std::byte*>(block), [bytes](std::byte* p) { staging::shared().give(p, bytes); }};
}

} // namespace tenon::cuda
