#include <cuda/ops/branches.hpp>

#include <atomic>
#include <cstdio>
#include <initializer_list>
#include <mutex>
#include <vector>

#include <cuda/device/error.hpp>
#include <cuda/device/launches.hpp>
#include <cuda/device/owned.hpp>
#include <cuda/kernels/flow/backwards.hpp>
#include <cuda/kernels/flow/condition.hpp>
#include <tenon/core/error.hpp>

namespace tenon::cuda {

namespace {

// Streams of one GPU that only record; of nested parts each needs its own.
class idle_streams {
public:
    explicit idle_streams(gpu_context& on) : card_(on.card) {}
    ~idle_streams() {
        (void)cudaSetDevice(card_);
        for (const cudaStream_t s : idle_) (void)cudaStreamDestroy(s);
    }
    idle_streams(idle_streams&&) = delete;

    cudaStream_t take() {
        {
            const std::lock_guard lock(guard_);
            if (!idle_.empty()) {
                const cudaStream_t s = idle_.back();
                idle_.pop_back();
                return s;
            }
        }
        cudaStream_t made = nullptr;
        check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
        return made;
    }
    void give(cudaStream_t s) noexcept {
        const std::lock_guard lock(guard_);
        try {
            idle_.push_back(s);
        } catch (const std::bad_alloc&) {
            (void)cudaStreamDestroy(s);
        }
    }

private:
    const int card_;
    std::mutex guard_;
    std::vector<cudaStream_t> idle_; // under the guard
};

using owned_graph = owned<cudaGraph_t, cudaGraphDestroy>;

// What a stream is given between here and end(). Where that is not reached nothing is left of it.
class recorded_part {
public:
    /// Into a graph, that of a conditional node, say; nullptr: into one of its own.
    recorded_part(idle_streams& from, cudaGraph_t into) : from_(from), stream_(from.take()), is_own_(into == nullptr) {
        const cudaError_t begun =
            into ? cudaStreamBeginCaptureToGraph(stream_, into, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed)
                 : cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed);
        if (begun != cudaSuccess) from_.give(stream_);
        check(begun, into ? "cudaStreamBeginCaptureToGraph" : "cudaStreamBeginCapture");
    }
    ~recorded_part() {
        if (records_) {
            cudaGraph_t unwanted = nullptr;
            (void)cudaStreamEndCapture(stream_, &unwanted);
            (void)cudaGetLastError(); // of what nobody wants
            if (unwanted && is_own_) (void)cudaGraphDestroy(unwanted);
        }
        from_.give(stream_);
    }
    recorded_part(recorded_part&&) = delete;

    cudaStream_t stream() const noexcept { return stream_; }
    cudaGraph_t end() {
        records_ = false; // whatever the answer is
        cudaGraph_t made = nullptr;
        check(cudaStreamEndCapture(stream_, &made), "cudaStreamEndCapture");
        return made;
    }

private:
    idle_streams& from_;
    const cudaStream_t stream_;
    const bool is_own_;
    bool records_ = true;
};

class branches final : public tenon::detail::device_branches {
public:
    explicit branches(gpu_context& on) : streams_(on.state<idle_streams>()) {}

    void either(const kernel_run& r, const bool* condition, part yes, part no) override {
        const auto by_host = [&] { (is_true(condition, r) ? yes : no)(r); };
        decide(r, by_host, [&](const kernel_run& recorded) {
            add(recorded, {condition}, cudaGraphCondTypeIf, {yes, no});
        });
    }

    void repeat(const kernel_run& r, const bool* condition, std::int64_t* count, const std::uint32_t* end,
                part each) override {
        const auto by_host = [&] {
            std::int64_t runs = 0;
            for (; is_true(condition, r); ++runs) {
                tenon::detail::require_wanted(r);
                each(r);
            }
            const cudaStream_t by = stream_of(r);
            check(cudaMemcpyAsync(count, &runs, sizeof runs, cudaMemcpyHostToDevice, by), "cudaMemcpyAsync");
            check(cudaStreamSynchronize(by), "cudaStreamSynchronize");
        };
        decide(r, by_host, [&](const kernel_run& recorded) {
            check(cudaMemsetAsync(count, 0, sizeof *count, stream_of(recorded)), "cudaMemsetAsync");
            add(recorded, {condition, count, end}, cudaGraphCondTypeWhile, {each});
        });
    }

    bool may_be_recorded() const override { return failures_.load(std::memory_order_relaxed) < most_failures; }

    void clear(const kernel_run& r, void* at, std::size_t bytes) override {
        if (bytes > 0) check(cudaMemsetAsync(at, 0, bytes, stream_of(r)), "cudaMemsetAsync");
    }
    void next(const kernel_run& r, tenon::detail::treeverse* order, const std::int64_t* runs, std::int64_t kept,
              bool* more, bool* advances) override {
        next_in_order(order, runs, kept, more, advances, r.stream);
    }
    void take(const kernel_run& r, void* to, const kept_tensors& from, const std::int64_t* number) override {
        take_numbered(to, numbered(from), number, r.stream);
    }
    void put(const kernel_run& r, const kept_tensors& to, const std::int64_t* number, const void* from) override {
        put_numbered(numbered(to), number, from, r.stream);
    }

private:
    static numbered_tensors numbered(const kept_tensors& t) {
        return {static_cast<const std::byte*>(t.first), t.begin, t.distance, bytes_of(t.type), size_of(t.type.element)};
    }
    static cudaStream_t stream_of(const kernel_run& r) { return static_cast<cudaStream_t>(r.stream); }
    static bool is_true(const bool* condition, const kernel_run& r) {
        bool answer = false;
        check(cudaMemcpyAsync(&answer, condition, sizeof answer, cudaMemcpyDeviceToHost, stream_of(r)),
              "cudaMemcpyAsync");
        check(cudaStreamSynchronize(stream_of(r)), "cudaStreamSynchronize");
        return answer;
    }

    // Recorded in the stream's recording, or by itself and launched. What kernels make when they run first, memory of libraries, say, may be
    // made then: relaxed.
    template <class ByHost, class Record>
    void decide(const kernel_run& r, const ByHost& by_host, const Record& record) {
        cudaStreamCaptureStatus status{};
        check(cudaStreamIsCapturing(stream_of(r), &status), "cudaStreamIsCapturing");
        if (status == cudaStreamCaptureStatusActive) return record(r);
        if (!may_be_recorded()) return by_host();
        try {
            recorded_part own(streams_, nullptr);
            kernel_run recorded = r;
            recorded.stream = own.stream();
            record(recorded);
            const owned_graph graph(own.end());
            cudaGraphExec_t native = nullptr;
            check(cudaGraphInstantiate(&native, graph.get(), 0), "cudaGraphInstantiate");
            const owned<cudaGraphExec_t, cudaGraphExecDestroy> made(native); // which CUDA keeps until it has run
            check(cudaGraphLaunch(native, stream_of(r)), "cudaGraphLaunch");
            failures_.store(0, std::memory_order_relaxed);
        } catch (const cancelled_error&) {
            throw;
        } catch (const std::exception& why) {
            (void)cudaGetLastError(); // nobody else is to find it
            by_host();                // throws the same where it is the fault of a part
            if (failures_.fetch_add(1, std::memory_order_relaxed) + 1 == most_failures) say(why.what());
        }
    }
    static void say(const char* why) {
        static std::atomic<bool> said{false};
        if (!said.exchange(true))
            std::fprintf(stderr,
                         "tenon: conditions of cond and while_loop on GPUs are read by the host, which waits for each: "
                         "they cannot be recorded as conditional nodes: %s\n",
                         why);
    }

    // A conditional node in the recording of r.stream, after what is there; what decides it is set before, and after each run of what repeats.
    void add(const kernel_run& r, const watched_flag& by_which, cudaGraphConditionalNodeType type,
             std::initializer_list<part> parts) {
        const cudaStream_t by = stream_of(r);
        cudaStreamCaptureStatus status{};
        cudaGraph_t graph = nullptr;
        check(cudaStreamGetCaptureInfo(by, &status, nullptr, &graph), "cudaStreamGetCaptureInfo");
        cudaGraphConditionalHandle handle{};
        check(cudaGraphConditionalHandleCreate(&handle, graph), "cudaGraphConditionalHandleCreate");
        set_condition(handle, by_which, by);

        const cudaGraphNode_t* before = nullptr;
        const cudaGraphEdgeData* edges = nullptr;
        std::size_t edge_count = 0;
        check(cudaStreamGetCaptureInfo(by, &status, nullptr, &graph, &before, &edges, &edge_count),
              "cudaStreamGetCaptureInfo");
        cudaGraphNodeParams of{};
        of.type = cudaGraphNodeTypeConditional;
        of.conditional.handle = handle;
        of.conditional.type = type;
        of.conditional.size = static_cast<unsigned>(parts.size());
        cudaGraphNode_t node = nullptr;
        check(cudaGraphAddNode(&node, graph, before, edges, edge_count, &of), "cudaGraphAddNode");
        check(cudaStreamUpdateCaptureDependencies(by, &node, nullptr, 1, cudaStreamSetCaptureDependencies),
              "cudaStreamUpdateCaptureDependencies");
        for (std::size_t p = 0; p < parts.size(); ++p) {
            recorded_part own(streams_, of.conditional.phGraph_out[p]);
            note_part(of.conditional.phGraph_out[p]);
            kernel_run in_node = r;
            in_node.stream = own.stream();
            parts.begin()[p](in_node);
            if (type == cudaGraphCondTypeWhile) set_condition(handle, by_which, own.stream());
            (void)own.end(); // the node's
        }
    }

    idle_streams& streams_;
    // One after another: a thread that waits for the whole device ends what is recorded, and is gone the next time.
    static constexpr int most_failures = 4;
    std::atomic<int> failures_{0};
};

} // namespace

std::unique_ptr<tenon::detail::device_branches> make_branches(gpu_context& on) {
    return std::make_unique<branches>(on);
}

} // namespace tenon::cuda
