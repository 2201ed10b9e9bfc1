#include <cuda/device/recording.hpp>

#include <cuda/device/error.hpp>

namespace tenon::cuda {

namespace {

class recorded_graph final : public recorded_work {
public:
    recorded_graph(const gpu_context& on, cudaGraph_t of) : card_(on.card) {
        check(cudaGraphInstantiate(&native, of, 0), "cudaGraphInstantiate");
    }
    ~recorded_graph() override {
        (void)cudaSetDevice(card_);
        (void)cudaGraphExecDestroy(native);
    }
    /// False where CUDA does not do so, of other nodes, say: then it is what it was.
    bool make_over(cudaGraph_t to) {
        cudaGraphExecUpdateResultInfo about{};
        const cudaError_t answer = cudaGraphExecUpdate(native, to, &about);
        if (answer == cudaSuccess || is_sticky(answer)) {
            check(answer, "cudaGraphExecUpdate");
            return true;
        }
        (void)cudaGetLastError();
        return false;
    }

    cudaGraphExec_t native = nullptr;

private:
    const int card_;
};

struct destroy_graph {
    void operator()(cudaGraph_t g) const noexcept { (void)cudaGraphDestroy(g); }
};

} // namespace

recording_streams::~recording_streams() {
    (void)cudaSetDevice(on_.card);
    for (const cudaEvent_t e : events_) (void)cudaEventDestroy(e);
    for (const cudaStream_t s : streams_)
        if (s) (void)cudaStreamDestroy(s);
}

// The kernels' stream begins the capture; the others join it where they are first used, and come back to it at its end.
class recording_streams::recorder final : public stream_recorder {
public:
    explicit recorder(recording_streams& of) : of_(of), held_(of.guard_) {
        of_.on_.use();
        for (cudaStream_t& s : of_.streams_)
            if (!s) check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
        begin_ = take_event();
        // Other threads go on as they like; what this one may not do meanwhile, to ask for memory, say, ends the recording.
        check(cudaStreamBeginCapture(of_.streams_[device_streams::compute], cudaStreamCaptureModeThreadLocal),
              "cudaStreamBeginCapture");
        records_ = true;
        joined_[device_streams::compute] = true;
        try {
            check(cudaEventRecord(begin_, of_.streams_[device_streams::compute]), "cudaEventRecord");
        } catch (...) {
            give_up();
            throw;
        }
    }
    ~recorder() override { give_up(); }
    recorder(const recorder&) = delete;
    recorder& operator=(const recorder&) = delete;

    void launch(kernel& k, const kernel_run& r, std::size_t, std::size_t, int) override {
        kernel_run here = r;
        here.stream = join(device_streams::compute);
        k.run(here);
    }
    void copy(stream l, void* to, const void* from, std::size_t bytes, int) override {
        if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, join(l)), "cudaMemcpyAsync");
    }
    void mark(stream l, int command) override {
        check(cudaEventRecord(marks_[command] = take_event(), join(l)), "cudaEventRecord");
    }
    void wait(stream l, int command) override {
        check(cudaStreamWaitEvent(join(l), marks_.at(command), 0), "cudaStreamWaitEvent");
    }
    std::unique_ptr<recorded_work> end(std::unique_ptr<recorded_work> other) override {
        const cudaStream_t compute = of_.streams_[device_streams::compute];
        for (const stream l : {device_streams::copies_in, device_streams::copies_out}) {
            if (!joined_[l]) continue;
            const cudaEvent_t ended = take_event();
            check(cudaEventRecord(ended, of_.streams_[l]), "cudaEventRecord");
            check(cudaStreamWaitEvent(compute, ended, 0), "cudaStreamWaitEvent");
        }
        records_ = false; // whatever the answer is
        cudaGraph_t native = nullptr;
        check(cudaStreamEndCapture(compute, &native), "cudaStreamEndCapture");
        const std::unique_ptr<CUgraph_st, destroy_graph> graph(native);
        if (other && static_cast<recorded_graph&>(*other).make_over(graph.get())) return other;
        other.reset(); // its memory first
        return std::make_unique<recorded_graph>(of_.on_, graph.get());
    }

private:
    cudaEvent_t take_event() {
        if (taken_ == of_.events_.size()) {
            cudaEvent_t e = nullptr;
            check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "cudaEventCreateWithFlags");
            try {
                of_.events_.push_back(e);
            } catch (...) {
                (void)cudaEventDestroy(e);
                throw;
            }
        }
        return of_.events_[taken_++];
    }
    cudaStream_t join(stream l) {
        if (!joined_[l]) check(cudaStreamWaitEvent(of_.streams_[l], begin_, 0), "cudaStreamWaitEvent");
        joined_[l] = true;
        return of_.streams_[l];
    }
    void give_up() noexcept {
        if (!std::exchange(records_, false)) return;
        cudaGraph_t none = nullptr;
        (void)cudaStreamEndCapture(of_.streams_[device_streams::compute], &none);
        if (none) (void)cudaGraphDestroy(none);
        (void)cudaGetLastError(); // of a recording that nobody wants
    }

    recording_streams& of_;
    const std::unique_lock<std::mutex> held_;
    std::size_t taken_ = 0;
    cudaEvent_t begin_ = nullptr;
    std::map<int, cudaEvent_t> marks_; // by command
    bool joined_[device_streams::count]{};
    bool records_ = false;
};

std::unique_ptr<stream_recorder> recording_streams::begin() { return std::make_unique<recorder>(*this); }

void launch(recorded_work& graph, cudaStream_t to) {
    check(cudaGraphLaunch(static_cast<recorded_graph&>(graph).native, to), "cudaGraphLaunch");
}

} // namespace tenon::cuda
