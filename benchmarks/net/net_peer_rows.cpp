// Tenon's side of the cluster rows that benchmarks/peers/run.sh measures on TensorFlow, PyTorch and Ray too: on loopback, a process
// a task.
//     net_peer_rows --row cluster_mlp_2 --threads 2   prints {"row": "cluster_mlp_2", "threads": 2, "value": 812, "unit": "steps/s"}
//     net_peer_rows --list                            prints the rows' names
//
// The tasks are processes of this program, started with --task JOB:INDEX --cluster JSON. A worker that trains says "ready", is told
// to go, trains for two seconds and says its rate; where all step together, the first one does, and the others go on until it has
// ended. A task ends when its standard input does.

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "cluster_training.hpp"
#include "peer_row.hpp"

extern char** environ;

namespace {

using namespace cluster_training;
using namespace peer_row;

constexpr double training_seconds = 2;

// ---- a task

// How a worker trains.
const std::string no = "no", by_itself = "by_itself", synchronous = "synchronous", data_parallel = "data_parallel";

int serve(const tn::cluster& c, const std::string& job, int index, int threads, const std::string& trains) {
    tn::server_options o{.intra_op_threads = threads};
    tn::server server(c, job, index, o);
    const int workers = static_cast<int>(c.tasks("worker").size());
    std::unique_ptr<mlp_worker> by;
    const auto warm_up = [&] {
        for (int i = 0; i < 20; ++i) by->step();
    };
    if (trains == by_itself || trains == synchronous)
        by = std::make_unique<mlp_worker>(&c, index, server.target(), trains == synchronous ? workers : 0);
    if (trains == by_itself) warm_up();
    std::cout << "ready" << std::endl;
    std::string word;
    if (trains != no && std::cin >> word) {
        if (trains == data_parallel) {
            tn::session_options first; // of a process, which decides
            first.intra_op_threads = threads;
            (void)tn::session(first).run(tn::constant(1.0f));
            by = std::make_unique<mlp_worker>(nullptr, index, "", 0, server.processes());
        }
        by->begin();
        if (trains != by_itself) warm_up();
        std::int64_t steps = 0;
        const std::int64_t applied = trains == synchronous ? by->applied() : 0;
        double took = 0;
        const auto began = std::chrono::steady_clock::now();
        try {
            for (; took < training_seconds || (trains != by_itself && index > 0); ++steps) {
                by->step();
                took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
            }
            if (trains == synchronous) steps = by->applied() - applied;
            std::cout << static_cast<double>(steps) / took << std::endl;
        } catch (const tn::error&) { // the first one has ended
            if (index == 0) throw;
        }
    }
    while (std::cin >> word) {
    }
    if (by) by->end();
    by.reset();
    return 0;
}

class task_process {
public:
    task_process(const std::string& job, int index, const tn::cluster& c, int threads, const std::string& trains) {
        int to[2], from[2];
        if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) fail("pipe");
        posix_spawn_file_actions_t files;
        ::posix_spawn_file_actions_init(&files);
        ::posix_spawn_file_actions_adddup2(&files, to[0], 0);
        ::posix_spawn_file_actions_adddup2(&files, from[1], 1);
        std::vector<std::string> words = {"net_peer_rows", "--task",    job + ":" + std::to_string(index), "--cluster",
                                          c.to_json(),     "--threads", std::to_string(threads),           "--train",
                                          trains};
        std::vector<char*> arguments;
        for (std::string& w : words) arguments.push_back(w.data());
        arguments.push_back(nullptr);
        if (::posix_spawn(&process_, "/proc/self/exe", &files, nullptr, arguments.data(), environ) != 0) fail("spawn");
        ::posix_spawn_file_actions_destroy(&files);
        ::close(to[0]);
        ::close(from[1]);
        in_ = ::fdopen(to[1], "w");
        out_ = ::fdopen(from[0], "r");
        (void)said();
    }
    ~task_process() {
        end();
        (void)::waitpid(process_, nullptr, 0);
        std::fclose(out_);
    }
    task_process(task_process&&) = delete;

    void end() {
        if (FILE* const in = std::exchange(in_, nullptr)) std::fclose(in);
    }
    void go() {
        std::fputs("go\n", in_);
        std::fflush(in_);
    }
    std::string said() {
        char line[256];
        if (!std::fgets(line, sizeof line, out_)) fail("a task ended");
        return line;
    }

private:
    [[noreturn]] static void fail(const char* what) {
        std::perror(what);
        std::exit(1);
    }
    pid_t process_ = 0;
    FILE *in_ = nullptr, *out_ = nullptr;
};

// ---- the rows

struct processes {
    processes(int ps, int workers, int threads, const std::string& train) : tasks(loopback_cluster(ps, workers)) {
        for (const std::string& job : tasks.jobs())
            for (const int t : tasks.tasks(job))
                all.push_back(std::make_unique<task_process>(job, t, tasks, threads, job == "worker" ? train : no));
    }
    ~processes() {
        for (const auto& p : all) p->end(); // at once: who steps together with another one waits for it
    }
    tn::cluster tasks;
    std::vector<std::unique_ptr<task_process>> all; // parameter servers first
};

measured run(int threads, bool through) {
    const processes p(1, 1, threads, no);
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto x = tn::placeholder<float, tn::shape<>>("x");
    const tn::device_scope on_worker("/job:worker/task:0");
    tn::tensor<float, tn::shape<>> y = x + 1.0f;
    if (through) {
        const tn::device_scope on_ps("/job:ps/task:0");
        y = x + 2.0f;
    }
    tn::session s("tenon://" + p.tasks.address("worker", 0), g);
    auto step = s.callable(tn::feeds(x), tn::fetches(y));
    return {seconds([&] { (void)step(1.0f); }) * 1e6, "us"};
}

measured transfer(int threads, std::int64_t megabytes, bool push) {
    const processes p(1, 1, threads, no);
    cluster_training::transfer of("tenon://" + p.tasks.address("worker", 0), megabytes * 250'000);
    return {static_cast<double>(megabytes) * 1e-3 / seconds([&] { push ? of.push() : of.pull(); }), "GB/s"};
}

measured mlp(int threads, int workers, const std::string& train) {
    constexpr int ps = 2;                             // which have nothing to do where workers are data-parallel
    const int share = std::max(1, threads / workers); // on more than there are cores all sides are slow
    const processes p(ps, workers, share, train);
    const auto first = p.all.begin() + ps;
    std::for_each(first, p.all.end(), [](const auto& worker) { worker->go(); });
    double rate = 0;
    for (auto worker = first; worker != (train == by_itself ? p.all.end() : first + 1); ++worker)
        rate += std::atof((*worker)->said().c_str());
    return {rate, "steps/s"};
}

const std::map<std::string, peer_row::row> rows = {
    {"cluster_run", [](int t) { return run(t, false); }},
    {"cluster_through", [](int t) { return run(t, true); }},
    {"cluster_pull_1", [](int t) { return transfer(t, 1, false); }},
    {"cluster_pull_64", [](int t) { return transfer(t, 64, false); }},
    {"cluster_push_1", [](int t) { return transfer(t, 1, true); }},
    {"cluster_push_64", [](int t) { return transfer(t, 64, true); }},
    {"cluster_mlp_1", [](int t) { return mlp(t, 1, by_itself); }},
    {"cluster_mlp_2", [](int t) { return mlp(t, 2, by_itself); }},
    {"cluster_sync_2", [](int t) { return mlp(t, 2, synchronous); }},
    {"cluster_parallel_2", [](int t) { return mlp(t, 2, data_parallel); }},
};

} // namespace

int main(int argc, char** argv) {
    if (argc == 9 && std::string_view(argv[1]) == "--task") {
        const std::string task = argv[2];
        const std::size_t colon = task.find(':');
        return serve(tn::cluster::from_json(argv[4]), task.substr(0, colon), std::atoi(task.c_str() + colon + 1),
                     std::atoi(argv[6]), argv[8]);
    }
    return peer_row::run("net_peer_rows", argc, argv, rows);
}
