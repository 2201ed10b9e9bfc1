#include <cuda/device/recording.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <utility>

#include <cuda/device/error.hpp>
#include <cuda/device/owned.hpp>
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

} // namespace

recording_streams::~recording_streams() {
    (void)cudaSetDevice(on_.card);
    for (const cudaEvent_t e : events_) (void)cudaEventDestroy(e);
    for (const cudaStream_t s : streams_)
        if (s) (void)cudaStreamDestroy(s);
}

// The first GPU's stream for kernels begins the capture; the others, of whichever GPU, join it where they are first used, and come back to it
// at its end. Kernels that need not wait for each other are on several lines, so that the graph knows that; a chain of them stays on one.
class recording_streams::recorder final : public stream_recorder {
public:
    explicit recorder(std::vector<recording_streams*> of) : of_(std::move(of)) {
        std::vector<recording_streams*> in_order = of_; // as every thread takes them
        std::sort(in_order.begin(), in_order.end(), std::less<>());
        for (recording_streams* const s : in_order) held_.emplace_back(s->guard_);
        for (std::size_t d = of_.size(); d-- > 0;) {
            at(d);
            for (cudaStream_t& s : of_[d]->streams_)
                if (!s) check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
        }
        begin_ = take_event();
        // Other threads go on as they like; what this one may not do meanwhile, to ask for memory, say, ends the recording.
        check(cudaStreamBeginCapture(stream_at(origin), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
        records_ = true;
        joined_[origin] = true;
        try {
            check(cudaEventRecord(begin_, stream_at(origin)), "cudaEventRecord");
        } catch (...) {
            give_up();
            throw;
        }
    }
    ~recorder() override { give_up(); }
    recorder(recorder&&) = delete;

    void at(std::size_t device) override {
        device_ = device;
        of_[device]->on_.use();
    }
    void after(std::span<const int> commands) override { before_.assign(commands.begin(), commands.end()); }
    void launch(stream l, kernel& k, const kernel_run& r, std::size_t, std::size_t, int number) override {
        const std::size_t line = l == device_streams::compute ? line_for_kernel() : line_of(l);
        kernel_run here = r;
        here.stream = begin_command(line);
        k.run(here);
        end_command(line, number);
    }
    void copy(stream l, void* to, const void* from, std::size_t bytes, int number) override {
        const std::size_t line = line_of(l);
        const cudaStream_t by = begin_command(line);
        if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, by), "cudaMemcpyAsync");
        end_command(line, number);
    }
    void mark(stream, int) override {} // after() says what is waited for
    void wait(stream, int) override {}
    std::unique_ptr<recorded_work> end(std::unique_ptr<recorded_work> other) override {
        for (std::size_t line = 0; line < all_; ++line) {
            if (!joined_[line] || line == origin) continue;
            at(line / lines);
            const cudaEvent_t ended = take_event();
            check(cudaEventRecord(ended, stream_at(line)), "cudaEventRecord");
            check(cudaStreamWaitEvent(stream_at(origin), ended, 0), "cudaStreamWaitEvent");
        }
        at(0);
        records_ = false; // whatever the answer is
        cudaGraph_t native = nullptr;
        check(cudaStreamEndCapture(stream_at(origin), &native), "cudaStreamEndCapture");
        const owned<cudaGraph_t, cudaGraphDestroy> graph(native);
        if (other && static_cast<recorded_graph&>(*other).make_over(graph.get())) return other;
        other.reset(); // its memory first
        return std::make_unique<recorded_graph>(of_[0]->on_, graph.get());
    }

private:
    // Lines: the streams of the first GPU, then those of the second, and so on.
    static constexpr std::size_t origin = device_streams::compute;
    std::size_t line_of(int l) const { return device_ * lines + static_cast<std::size_t>(l); }
    cudaStream_t stream_at(std::size_t line) const { return of_[line / lines]->streams_[line % lines]; }
    static bool is_for_kernels(std::size_t line) {
        return line % lines == device_streams::compute || line % lines >= device_streams::count;
    }

    // Of the GPU that is used now.
    cudaEvent_t take_event() {
        std::vector<cudaEvent_t>& own = of_[device_]->events_;
        std::size_t& taken = taken_[device_];
        if (taken == own.size()) {
            cudaEvent_t e = nullptr;
            check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "cudaEventCreateWithFlags");
            try {
                own.push_back(e);
            } catch (...) {
                (void)cudaEventDestroy(e);
                throw;
            }
        }
        return own[taken++];
    }
    // How many commands of each line have ended.
    using ended_commands = std::vector<int>;
    struct command {
        std::size_t line;
        ended_commands ended; // when it has, itself included
        cudaEvent_t reached;
    };
    static void unite(ended_commands& all, const ended_commands& more) {
        for (std::size_t l = 0; l < all.size(); ++l) all[l] = std::max(all[l], more[l]);
    }

    // The line whose last command is waited for in any case, the latest where there are several; else one on which all has ended then, so
    // that nothing is waited for beside; else the one whose last command was given first.
    std::size_t line_for_kernel() const {
        const std::size_t first = line_of(device_streams::compute);
        if (in_order_) return first;
        ended_commands then(all_);
        std::size_t best = all_;
        int latest = -1;
        for (const int b : before_) {
            const command& c = commands_.at(b);
            unite(then, c.ended);
            if (c.line / lines == device_ && is_for_kernels(c.line) && given_[c.line] == c.ended[c.line] && b > latest)
                best = c.line, latest = b;
        }
        if (best < all_) return best;
        std::size_t oldest = first;
        for (std::size_t l = device_ * lines; l < (device_ + 1) * lines; ++l) {
            if (!is_for_kernels(l)) continue;
            if (given_[l] <= then[l]) return l;
            if (last_[l] < last_[oldest]) oldest = l;
        }
        return oldest;
    }
    cudaStream_t begin_command(std::size_t line) {
        const cudaStream_t by = stream_at(line);
        if (!joined_[line]) check(cudaStreamWaitEvent(by, begin_, 0), "cudaStreamWaitEvent");
        joined_[line] = true;
        // The later ones often cover the earlier.
        for (std::size_t k = before_.size(); k-- > 0;) {
            const command& c = commands_.at(before_[k]);
            if (ended_[line][c.line] >= c.ended[c.line]) continue;
            check(cudaStreamWaitEvent(by, c.reached, 0), "cudaStreamWaitEvent");
            unite(ended_[line], c.ended);
        }
        return by;
    }
    void end_command(std::size_t line, int number) {
        ended_[line][line] = ++given_[line];
        last_[line] = number;
        const cudaEvent_t reached = take_event();
        check(cudaEventRecord(reached, stream_at(line)), "cudaEventRecord");
        commands_[number] = {line, ended_[line], reached};
    }
    void give_up() noexcept {
        if (!std::exchange(records_, false)) return;
        cudaGraph_t none = nullptr;
        (void)cudaStreamEndCapture(stream_at(origin), &none);
        if (none) (void)cudaGraphDestroy(none);
        (void)cudaGetLastError(); // of a recording that nobody wants
    }

    const std::vector<recording_streams*> of_;
    std::vector<std::unique_lock<std::mutex>> held_;
    const std::size_t all_ = of_.size() * lines; // lines
    std::size_t device_ = 0;                     // whose streams are given something
    std::vector<std::size_t> taken_ = std::vector<std::size_t>(of_.size());
    cudaEvent_t begin_ = nullptr;
    const bool in_order_ = is_wished("TENON_CUDA_RECORDINGS", "in_order");
    std::vector<int> before_;         // commands that the next one comes after
    std::map<int, command> commands_; // by number
    std::vector<char> joined_ = std::vector<char>(all_);
    ended_commands given_ = ended_commands(all_), last_ = given_; // by line: how many, and the last one's number
    // by line: what has ended when its last command has
    std::vector<ended_commands> ended_ = std::vector<ended_commands>(all_, given_);
    bool records_ = false;
};

std::unique_ptr<stream_recorder> recording_streams::begin(std::vector<recording_streams*> all) {
    return std::make_unique<recorder>(std::move(all));
}

void launch(recorded_work& graph, cudaStream_t to) {
    check(cudaGraphLaunch(static_cast<recorded_graph&>(graph).native, to), "cudaGraphLaunch");
}

} // namespace tenon::cuda
