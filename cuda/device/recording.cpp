#include <cuda/device/recording.hpp>

#include <algorithm>
#include <utility>

#include <cuda/device/error.hpp>
#include <cuda/device/wish.hpp>

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

// The kernels' stream begins the capture; the others join it where they are first used, and come back to it at its end. Kernels that
// need not wait for each other are on several lines, so that the graph knows that; a chain of them stays on one.
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

    void after(std::span<const int> commands) override { before_.assign(commands.begin(), commands.end()); }
    void launch(kernel& k, const kernel_run& r, std::size_t, std::size_t, int number) override {
        const int line = line_for_kernel();
        kernel_run here = r;
        here.stream = begin_command(line);
        k.run(here);
        end_command(line, number);
    }
    void copy(stream l, void* to, const void* from, std::size_t bytes, int number) override {
        const cudaStream_t by = begin_command(l);
        if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, by), "cudaMemcpyAsync");
        end_command(l, number);
    }
    void mark(stream, int) override {} // after() says what is waited for
    void wait(stream, int) override {}
    std::unique_ptr<recorded_work> end(std::unique_ptr<recorded_work> other) override {
        const cudaStream_t compute = of_.streams_[device_streams::compute];
        for (int l = 0; l < lines; ++l) {
            if (!joined_[l] || l == device_streams::compute) continue;
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
    // How many commands of each line have ended.
    using ended_commands = std::array<int, lines>;
    struct command {
        int line;
        ended_commands ended; // when it has, itself included
        cudaEvent_t reached;
    };
    static void unite(ended_commands& all, const ended_commands& more) {
        for (std::size_t l = 0; l < all.size(); ++l) all[l] = std::max(all[l], more[l]);
    }

    // The line whose last command is waited for in any case, the latest where there are several; else one on which all has ended then, so
    // that nothing is waited for beside; else the one whose last command was given first.
    int line_for_kernel() const {
        if (in_order_) return device_streams::compute;
        ended_commands then{};
        int best = -1, latest = -1;
        for (const int b : before_) {
            const command& c = commands_.at(b);
            unite(then, c.ended);
            if (is_for_kernels(c.line) && given_[at(c.line)] == c.ended[at(c.line)] && b > latest)
                best = c.line, latest = b;
        }
        if (best >= 0) return best;
        int oldest = device_streams::compute;
        for (int l = 0; l < lines; ++l) {
            if (!is_for_kernels(l)) continue;
            if (given_[at(l)] <= then[at(l)]) return l;
            if (last_[at(l)] < last_[at(oldest)]) oldest = l;
        }
        return oldest;
    }
    cudaStream_t begin_command(int line) {
        const cudaStream_t by = of_.streams_[line];
        if (!joined_[line]) check(cudaStreamWaitEvent(by, begin_, 0), "cudaStreamWaitEvent");
        joined_[line] = true;
        // The later ones often cover the earlier.
        for (std::size_t k = before_.size(); k-- > 0;) {
            const command& c = commands_.at(before_[k]);
            if (ended_[at(line)][at(c.line)] >= c.ended[at(c.line)]) continue;
            check(cudaStreamWaitEvent(by, c.reached, 0), "cudaStreamWaitEvent");
            unite(ended_[at(line)], c.ended);
        }
        return by;
    }
    void end_command(int line, int number) {
        ended_[at(line)][at(line)] = ++given_[at(line)];
        last_[at(line)] = number;
        const cudaEvent_t reached = take_event();
        check(cudaEventRecord(reached, of_.streams_[line]), "cudaEventRecord");
        commands_[number] = {line, ended_[at(line)], reached};
    }
    static bool is_for_kernels(int line) { return line == device_streams::compute || line >= device_streams::count; }
    static std::size_t at(int line) { return static_cast<std::size_t>(line); }
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
    const bool in_order_ = is_wished("TENON_CUDA_RECORDINGS", "in_order");
    std::vector<int> before_;         // commands that the next one comes after
    std::map<int, command> commands_; // by number
    bool joined_[lines]{};
    ended_commands given_{}, last_{}; // by line: how many, and the last one's number
    std::array<ended_commands, static_cast<std::size_t>(lines)>
        ended_{}; // by line: what has ended when its last command has
    bool records_ = false;
};

std::unique_ptr<stream_recorder> recording_streams::begin() { return std::make_unique<recorder>(*this); }

void launch(recorded_work& graph, cudaStream_t to) {
    check(cudaGraphLaunch(static_cast<recorded_graph&>(graph).native, to), "cudaGraphLaunch");
}

} // namespace tenon::cuda
