// A pipeline of two stages, each on a task that is a process with one thread on a core of its own, against the same network in one
// piece on one of them: the time of a training step, and the processor seconds that it takes of all.
//
// With a core for each task a step takes, at best, (m + s - 1) / m / s of the step in one piece, for m micro-batches on s stages: that
// is the schedule's bound, and what is reached of it is printed (to reach: 0.9 for 4 micro-batches on 2 stages). Where the cores are
// others' too, that says little; processor seconds do: those of the step in one piece, by those of the pipeline's (to reach: 1 / 1.1).
//
//   net_pipeline [--seconds S] [--micro-batches M]

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <net/launch/free_ports.hpp>
#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

#include "timing.hpp"

namespace tn = tenon;

namespace {

constexpr int width = 512, rows = 2048;

double wall_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
// A process that is one task of the cluster, on core number `task` of those that there are, until it is told to end.
class task_process {
public:
    task_process(const tn::cluster& c, int task) : pid_(fork()) {
        if (pid_ != 0) return;
        const int cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
        cpu_set_t mine;
        CPU_ZERO(&mine);
        CPU_SET(static_cast<unsigned>(task % cores), &mine);
        sched_setaffinity(0, sizeof mine, &mine);
        try {
            tn::server s(c, "worker", task, {.intra_op_threads = 1});
            s.join();
        } catch (const tn::error& e) {
            std::fprintf(stderr, "task %d: %s\n", task, e.what());
        }
        _exit(0);
    }
    task_process(task_process&&) = delete;
    ~task_process() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    // Of its threads, by the kernel's clock of the process.
    double cpu_seconds() const {
        clockid_t clock{};
        std::timespec t{};
        if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &t) != 0) return 0;
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
    }

private:
    pid_t pid_;
};
using processes = std::vector<std::unique_ptr<task_process>>;
double cpu_seconds(const processes& all) {
    double sum = 0;
    for (const auto& p : all) sum += p->cpu_seconds();
    return sum;
}

auto half_of_the_network() {
    return tn::nn::sequential(tn::nn::dense<width>(tn::nn::relu), tn::nn::dense<width>(tn::nn::relu),
                              tn::nn::dense<width>(tn::nn::relu));
}
constexpr auto squared_error = [](const auto& y, const auto& wanted) { return tn::nn::mean_squared_error(y, wanted); };

using matrix = tn::array<float, tn::shape<rows, width>>;
matrix numbers(int seed) {
    matrix m;
    for (int i = 0; i < rows * width; ++i) m.data()[i] = std::sin(static_cast<float>(12 * i + 7 * seed + 1));
    return m;
}

struct sample {
    double wall = 0, cpu = 0; // of a step
};
// A network, trained by steps of one of these ways.
class side {
public:
    side(const std::string& target, const processes& on, int micro_batches, tn::pipeline_schedule schedule,
         bool split) :
        on_(on) {
        const tn::graph_scope in(graph_);
        // What is fed would be sent by the client: both sides have it in variables, on the task that reads it.
        const auto x = tn::on("/job:worker/task:0",
                              [&] { return tn::variable("x", tn::constant(numbers(1)), {.trainable = false}); });
        const auto y = tn::on(tn::device_name(std::string(split ? "/job:worker/task:1" : "/job:worker/task:0")),
                              [&] { return tn::variable("y", tn::constant(numbers(2)), {.trainable = false}); });
        const auto first = half_of_the_network(), second = half_of_the_network();
        tn::operation train;
        if (split) {
            const auto pipe =
                tn::pipeline({.micro_batches = micro_batches, .schedule = schedule},
                             tn::stage("/job:worker/task:0", first), tn::stage("/job:worker/task:1", second));
            train = pipe.minimize(tn::gradient_descent(0.01), squared_error, x, y).train;
        } else {
            const auto there = tn::on("/job:worker/task:0");
            train = tn::gradient_descent(0.01).minimize(squared_error(second(first(x)), y));
        }
        session_.emplace(target, graph_);
        session_->run(tn::initialize_variables());
        step_ = [run = session_->callable(tn::feeds(), tn::fetches(train))] { run(); };
        for (int i = 0; i < 3; ++i) step_();
    }
    side(side&&) = delete;
    sample take(int steps) {
        const double wall = wall_seconds(), cpu = cpu_seconds(on_);
        for (int i = 0; i < steps; ++i) step_();
        return {(wall_seconds() - wall) / steps, (cpu_seconds(on_) - cpu) / steps};
    }

private:
    const processes& on_;
    tn::graph graph_;
    std::optional<tn::session> session_;
    std::function<void()> step_;
};

} // namespace

int main(int argc, char** argv) {
    int micro_batches = 4;
    double seconds = 6;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!std::strcmp(argv[i], "--seconds")) seconds = std::stod(argv[i + 1]);
        else if (!std::strcmp(argv[i], "--micro-batches")) micro_batches = std::stoi(argv[i + 1]);
        else {
            std::fprintf(stderr, "usage: net_pipeline [--seconds S] [--micro-batches M]\n");
            return 2;
        }
    }
    constexpr int stages = 2;
    std::printf("6 layers of %d, %d rows, %d micro-batches on %d tasks of one thread\n", width, rows, micro_batches,
                stages);
    std::vector<std::string> addresses;
    for (const int port : tn::net::free_ports("127.0.0.1", stages))
        addresses.push_back("127.0.0.1:" + std::to_string(port));
    const tn::cluster cluster({{"worker", addresses}});
    processes tasks; // before this process has threads
    for (int t = 0; t < stages; ++t) tasks.push_back(std::make_unique<task_process>(cluster, t));
    const std::string target = "tenon://" + addresses[0];
    side whole(target, tasks, 1, tn::one_forward_one_backward, false);
    const double bound = tn::pipeline_bound(stages, micro_batches) / stages;
    std::printf("%-28s %12s %12s %16s %12s %12s\n", "", "in one piece", "pipeline", "bound (a share)", "reached",
                "cpu ratio");
    for (const tn::pipeline_schedule schedule : {tn::all_forward_then_backward, tn::one_forward_one_backward}) {
        side split(target, tasks, micro_batches, schedule, true);
        std::vector<double> one_wall, one_cpu, two_wall, two_cpu;
        const double until = wall_seconds() + seconds / 2;
        while (wall_seconds() < until || one_wall.size() < 5) { // in turns
            const sample a = whole.take(2), b = split.take(2);
            one_wall.push_back(a.wall);
            one_cpu.push_back(a.cpu);
            two_wall.push_back(b.wall);
            two_cpu.push_back(b.cpu);
        }
        const double one = timing::median(one_wall), two = timing::median(two_wall);
        std::printf("%-28s %9.2f ms %9.2f ms %16.3f %12.2f %12.2f\n", name_of(schedule), one * 1e3, two * 1e3, bound,
                    one * bound / two, timing::median(one_cpu) / timing::median(two_cpu));
        std::printf("%-28s %9.2f ms %9.2f ms\n", "  processor time", timing::median(one_cpu) * 1e3,
                    timing::median(two_cpu) * 1e3);
    }
    return 0;
}
