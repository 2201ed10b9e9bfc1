#include <net/command/launch.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <net/command/child.hpp>
#include <net/launch/free_ports.hpp>
#include <tenon/core/error.hpp>

namespace tenon::command {

namespace {

using clock = std::chrono::steady_clock;

int signal_pipe[2] = {-1, -1}; // what handlers write to: the number of the signal

extern "C" void note_signal(int number) {
    const int kept = errno;
    const auto byte = static_cast<unsigned char>(number);
    [[maybe_unused]] const auto wrote = ::write(signal_pipe[1], &byte, 1);
    errno = kept;
}

constexpr int noted_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};

/// Has signals noted while it lives.
class signal_notes {
public:
    signal_notes() {
        if (::pipe(signal_pipe) != 0) throw resource_exhausted_error("no pipe can be had");
        for (const int end : signal_pipe) {
            ::fcntl(end, F_SETFD, FD_CLOEXEC);
            ::fcntl(end, F_SETFL, O_NONBLOCK);
        }
        struct sigaction action {};
        action.sa_handler = note_signal;
        action.sa_flags = SA_RESTART;
        for (std::size_t i = 0; i < std::size(noted_signals); ++i) ::sigaction(noted_signals[i], &action, &before_[i]);
        struct sigaction ignore {};
        ignore.sa_handler = SIG_IGN; // who reads what is written here may leave
        ::sigaction(SIGPIPE, &ignore, &pipe_before_);
    }
    signal_notes(const signal_notes&) = delete;
    signal_notes& operator=(const signal_notes&) = delete;
    ~signal_notes() {
        for (std::size_t i = 0; i < std::size(noted_signals); ++i) ::sigaction(noted_signals[i], &before_[i], nullptr);
        ::sigaction(SIGPIPE, &pipe_before_, nullptr);
        for (int& end : signal_pipe) ::close(std::exchange(end, -1));
    }
    int descriptor() const noexcept { return signal_pipe[0]; }
    /// The next that came; 0: none.
    int next() const {
        unsigned char byte = 0;
        return ::read(signal_pipe[0], &byte, 1) == 1 ? byte : 0;
    }

private:
    struct sigaction before_[std::size(noted_signals)]{};
    struct sigaction pipe_before_ {};
};

void say(const std::string& line) {
    const std::string whole = "tenon launch: " + line + "\n";
    [[maybe_unused]] const auto wrote = ::write(STDERR_FILENO, whole.data(), whole.size());
}

struct running_task {
    task_plan plan;
    std::unique_ptr<child> process; // null before its start and after its end
    int restarts = 0;
    bool asked_to_stop = false;
};

/// Watches over the tasks, on one thread.
class supervisor {
public:
    supervisor(const launch_options& options, std::vector<task_plan> plans) : options_(options) {
        for (task_plan& plan : plans) {
            widest_ = std::max(widest_, plan.name().size());
            tasks_.push_back({std::move(plan), nullptr, 0, false});
        }
    }

    int run() {
        for (running_task& t : tasks_) start(t);
        while (anything_runs()) {
            wait();
            for (int number = signals_.next(); number != 0; number = signals_.next())
                if (number != SIGCHLD) signalled(number);
            for (running_task& t : tasks_)
                if (t.process && t.process->ended()) ended(t);
            if (!of_job_run("worker") && has_workers()) stop_servers();
            if (kill_at_ && clock::now() >= *kill_at_) kill_all("did not end in time and was killed");
        }
        if (passed_on_ != 0) return 128 + passed_on_;
        return failure_;
    }

private:
    void start(running_task& t) {
        std::string prefix = t.plan.name();
        prefix.append(widest_ - prefix.size(), ' ').append(" | ");
        t.process = std::make_unique<child>(t.plan.arguments, t.plan.variables, prefix, guard_);
        if (!options_.verbose) return;
        const auto gpus = t.plan.variables.find("CUDA_VISIBLE_DEVICES");
        say(t.plan.name() + " is process " + std::to_string(t.process->pid()) +
            (gpus == t.plan.variables.end() ? ""
             : gpus->second.empty()         ? ", without GPUs"
                                            : ", with GPU " + gpus->second));
    }

    bool anything_runs() const {
        for (const running_task& t : tasks_)
            if (t.process) return true;
        return false;
    }
    bool of_job_run(const char* job) const {
        for (const running_task& t : tasks_)
            if (t.process && t.plan.job == job) return true;
        return false;
    }
    bool has_workers() const { return options_.workers > 0; }

    // Until something is written, a signal comes or it is time to kill.
    void wait() {
        std::vector<pollfd> polled{{signals_.descriptor(), POLLIN, 0}};
        for (running_task& t : tasks_) {
            polled.push_back({t.process ? t.process->output() : -1, POLLIN, 0});
            polled.push_back({t.process ? t.process->errors() : -1, POLLIN, 0});
        }
        int limit = -1;
        if (kill_at_) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*kill_at_ - clock::now()).count();
            limit = left < 0 ? 0 : static_cast<int>(left) + 1;
        }
        if (::poll(polled.data(), static_cast<nfds_t>(polled.size()), limit) <= 0) return;
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            if (polled[2 * i + 1].revents) tasks_[i].process->read_output();
            if (polled[2 * i + 2].revents) tasks_[i].process->read_errors();
        }
    }

    void ended(running_task& t) {
        const std::unique_ptr<child> process = std::move(t.process);
        const bool expected = t.asked_to_stop || passed_on_ != 0;
        if (t.plan.job == "ps" && !expected && t.restarts < options_.ps_restarts) {
            say(t.plan.name() + " " + process->status_words() + " and is started again");
            ++t.restarts;
            start(t);
            return;
        }
        if (options_.verbose) say(t.plan.name() + " " + process->status_words());
        if (process->status() == 0 || expected) return;
        if (!options_.verbose) say(t.plan.name() + " " + process->status_words());
        if (failure_ == 0) failure_ = process->status();
    }

    void signalled(int number) {
        if (passed_on_ != 0) return kill_all("was killed by the second signal");
        passed_on_ = number;
        say(std::string(::strsignal(number)) + " is passed on; once more kills");
        // Parameter servers are stopped after the workers, who may need them to end well.
        const bool workers = of_job_run("worker");
        for (running_task& t : tasks_) {
            if (!t.process || (workers && t.plan.job == "ps")) continue;
            t.process->signal(number);
            t.asked_to_stop = true;
        }
        set_limit();
    }

    void stop_servers() {
        for (running_task& t : tasks_) {
            if (!t.process || t.asked_to_stop) continue;
            t.process->signal(SIGTERM);
            t.asked_to_stop = true;
            set_limit();
        }
    }

    void set_limit() {
        kill_at_ =
            clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(options_.grace));
    }

    void kill_all(const char* why) {
        for (running_task& t : tasks_) {
            if (!t.process) continue;
            say(t.plan.name() + " " + why);
            t.asked_to_stop = true;
            t.process->signal(SIGKILL);
            if (failure_ == 0) failure_ = 128 + SIGKILL;
        }
        kill_at_.reset();
    }

    const launch_options& options_;
    guard guard_;
    signal_notes signals_;
    std::vector<running_task> tasks_;
    std::size_t widest_ = 0;
    int failure_ = 0;   // the status of the first that failed
    int passed_on_ = 0; // the signal that came
    std::optional<clock::time_point> kill_at_;
};

} // namespace

int launch(const launch_options& options, const std::string& self) {
    std::vector<int> ports;
    const int tasks = options.ps + options.workers;
    if (options.port_base > 0) {
        if (options.port_base > 65536 - tasks)
            throw invalid_argument_error("--port-base " + std::to_string(options.port_base) + ": " +
                                         std::to_string(tasks) + " tasks need ports up to " +
                                         std::to_string(options.port_base + tasks - 1) + "; the highest is 65535");
        for (int i = 0; i < tasks; ++i) ports.push_back(options.port_base + i);
    } else if (tasks > 0) {
        ports = net::free_ports(options.host, tasks);
    }
    const std::vector<std::string> gpus = options.gpus ? read_gpus(*options.gpus) : gpus_of_machine();
    std::vector<task_plan> plans = plan_launch(options, self, ports, gpus);
    if (!gpus.empty() && static_cast<int>(gpus.size()) < options.workers)
        say(std::to_string(options.workers) + " workers share " + std::to_string(gpus.size()) + " GPUs");
    if (options.verbose) say("the cluster is " + plans.front().variables.at("TENON_CLUSTER"));
    return supervisor(options, std::move(plans)).run();
}

} // namespace tenon::command
