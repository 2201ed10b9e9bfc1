#include <net/command/launch.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <net/command/child.hpp>
#include <net/command/ssh.hpp>
#include <net/launch/free_ports.hpp>
#include <net/launch/run_files.hpp>
#include <tenon/core/error.hpp>
#include <tenon/io/files/file.hpp>

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

constexpr int days_of_certificates = 365;

constexpr int noted_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD};

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
    signal_notes(signal_notes&&) = delete;
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
    bool waits = true;              // to be started
    int restarts = 0;
    bool asked_to_stop = false;
    bool told_to_be_killed = false; // over ssh, which may take its time

    bool is_far() const { return plan.input.has_value(); }
    void signal(int number) {
        if (!is_far()) return process->signal(number);
        const char* const name = number == SIGINT    ? "INT"
                                 : number == SIGHUP  ? "HUP"
                                 : number == SIGUSR1 ? "USR1"
                                 : number == SIGKILL ? "KILL"
                                                     : "TERM";
        process->tell(std::string("signal ") + name + "\n");
    }
    /// False: it has only been told, and what is told may not arrive.
    bool kill() {
        if (!is_far() || std::exchange(told_to_be_killed, true)) {
            process->signal(SIGKILL);
            return true;
        }
        signal(SIGKILL);
        return false;
    }
    std::string status_words() const {
        const std::string words = process->status_words();
        if (!is_far() || process->status() == 0) return words;
        if (!process->has_begun()) return words + " before it began: ssh does not reach " + plan.login;
        return words + (process->status() == 255 ? ", which is ssh's own where it loses the connection" : "");
    }
};

// A server of ssh refuses some of those who come while so many, and two more, are not let in yet (MaxStartups).
constexpr int most_at_the_door = 8;

/// Watches over the tasks, on one thread.
class supervisor {
public:
    supervisor(const launch_options& options, std::vector<task_plan> plans) : options_(options) {
        for (task_plan& plan : plans) {
            widest_ = std::max(widest_, plan.name().size());
            tasks_.emplace_back().plan = std::move(plan);
        }
    }

    int run() {
        start_who_may();
        while (anything_runs()) {
            wait();
            for (int number = signals_.next(); number != 0; number = signals_.next())
                if (number != SIGCHLD) signalled(number);
            for (running_task& t : tasks_)
                if (t.process && t.process->ended()) ended(t);
            if (!of_job_run("worker") && has_workers()) stop_servers();
            start_who_may();
            if (kill_at_ && clock::now() >= *kill_at_) kill_all("did not end in time and was killed");
        }
        if (passed_on_ != 0) return 128 + passed_on_;
        return failure_;
    }

private:
    void start_who_may() {
        for (running_task& t : tasks_)
            if (t.waits && (!t.is_far() || at_the_door(t.plan.login) < most_at_the_door)) start(t);
    }
    int at_the_door(const std::string& login) const {
        return static_cast<int>(std::count_if(tasks_.begin(), tasks_.end(), [&](const running_task& t) {
            return t.process && !t.process->has_begun() && t.plan.login == login;
        }));
    }
    void start(running_task& t) {
        t.waits = false;
        std::string prefix = t.plan.name();
        prefix.append(widest_ - prefix.size(), ' ').append(" | ");
        t.process = std::make_unique<child>(t.plan.arguments, t.plan.variables, prefix, guard_, t.plan.input);
        if (!options_.verbose) return;
        if (t.is_far()) return say(t.plan.name() + " is on " + t.plan.login);
        const auto gpus = t.plan.variables.find("CUDA_VISIBLE_DEVICES");
        say(t.plan.name() + " is process " + std::to_string(t.process->pid()) +
            (gpus == t.plan.variables.end() ? ""
             : gpus->second.empty()         ? ", without GPUs"
                                            : ", with GPU " + gpus->second));
    }

    bool anything_runs() const {
        return std::any_of(tasks_.begin(), tasks_.end(), [](const running_task& t) { return t.process || t.waits; });
    }
    bool of_job_run(const char* job) const {
        for (const running_task& t : tasks_)
            if ((t.process || t.waits) && t.plan.job == job) return true;
        return false;
    }
    bool has_workers() const { return options_.workers > 0; }

    // Until something is written, a signal comes or it is time to kill.
    void wait() {
        std::vector<pollfd> polled{{signals_.descriptor(), POLLIN, 0}};
        for (running_task& t : tasks_) {
            polled.push_back({t.process ? t.process->output() : -1, POLLIN, 0});
            polled.push_back({t.process ? t.process->errors() : -1, POLLIN, 0});
            polled.push_back({t.process ? t.process->input() : -1, POLLOUT, 0});
        }
        int limit = -1;
        if (kill_at_) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*kill_at_ - clock::now()).count();
            limit = left < 0 ? 0 : static_cast<int>(left) + 1;
        }
        if (::poll(polled.data(), static_cast<nfds_t>(polled.size()), limit) <= 0) return;
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            if (polled[3 * i + 1].revents) tasks_[i].process->read_output();
            if (polled[3 * i + 2].revents) tasks_[i].process->read_errors();
            if (polled[3 * i + 3].revents) tasks_[i].process->write_input();
        }
    }

    void ended(running_task& t) {
        const bool expected = t.asked_to_stop || passed_on_ != 0, failed = t.process->status() != 0;
        const std::string words = t.plan.name() + " " + t.status_words();
        const int status = t.process->status();
        t.process.reset();
        const int restarts = t.plan.job == "ps" ? options_.ps_restarts : failed ? options_.worker_restarts : 0;
        if (!expected && t.restarts < restarts) {
            say(words + " and is started again");
            ++t.restarts;
            t.waits = true;
            return;
        }
        if (options_.verbose || (failed && !expected)) say(words);
        if (failed && !expected && failure_ == 0) failure_ = status;
    }

    void signalled(int number) {
        if (passed_on_ != 0 && number == SIGUSR1) return; // it is said again and again by some
        if (passed_on_ != 0) return kill_all("was killed by the second signal");
        passed_on_ = number;
        say(std::string(::strsignal(number)) + " is passed on; once more kills");
        // Parameter servers are stopped after the workers, who may need them to end well.
        const bool workers = of_job_run("worker");
        for (running_task& t : tasks_) {
            t.waits = false;
            if (!t.process || (workers && t.plan.job == "ps")) continue;
            t.signal(number);
            t.asked_to_stop = true;
        }
        set_limit();
    }

    void stop_servers() {
        for (running_task& t : tasks_) {
            t.waits = false;
            if (!t.process || t.asked_to_stop) continue;
            t.signal(SIGTERM);
            t.asked_to_stop = true;
            set_limit();
        }
    }

    void set_limit() { kill_in(options_.grace); }
    void kill_in(double seconds) {
        kill_at_ = clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
    }

    void kill_all(const char* why) {
        kill_at_.reset();
        for (running_task& t : tasks_) {
            t.waits = false;
            if (!t.process) continue;
            say(t.plan.name() + " " + why);
            t.asked_to_stop = true;
            if (!t.kill()) kill_in(seconds_to_hear);
            if (failure_ == 0) failure_ = 128 + SIGKILL;
        }
    }

    static constexpr double seconds_to_hear = 5; // for another host, that it is to kill

    const launch_options& options_;
    guard guard_;
    signal_notes signals_;
    std::vector<running_task> tasks_;
    std::size_t widest_ = 0;
    int failure_ = 0;   // the status of the first that failed
    int passed_on_ = 0; // the signal that came
    std::optional<clock::time_point> kill_at_;
};

// Of tasks on this machine, on ports that are free.
std::vector<task_plan> plan_here(const launch_options& options, const std::string& self) {
    std::vector<int> ports;
    const int tasks = options.ps + options.workers;
    if (options.port_base > 0) {
        for (int i = 0; i < tasks; ++i) ports.push_back(options.port_base + i);
    } else if (tasks > 0) {
        ports = net::free_ports(options.host, tasks);
    }
    const std::vector<std::string> gpus = options.gpus ? read_gpus(*options.gpus) : gpus_of_machine();
    std::vector<task_plan> plans = plan_launch(options, self, ports, gpus);
    if (!gpus.empty() && static_cast<int>(gpus.size()) < options.workers)
        say(std::to_string(options.workers) + " workers share " + std::to_string(gpus.size()) + " GPUs");
    if (options.verbose) say("the cluster is " + plans.front().variables.at("TENON_CLUSTER"));
    return plans;
}

std::string text_of_file(const char* variable, const std::string& path) {
    std::string text;
    try {
        text = tenon::detail::text_of_file(variable, path);
    } catch (const error&) {
    }
    if (text.empty())
        throw invalid_argument_error(std::string(variable) + "=\"" + path +
                                     "\": no such file can be read; set it to a file in PEM format, or unset it, and "
                                     "certificates are made");
    return text;
}

// Those that this shell names, or new ones.
net::cluster_certificates certificates_for(const launch_options& options) {
    const char* const names[] = {"TENON_CERTIFICATE", "TENON_KEY", "TENON_AUTHORITIES"};
    std::string texts[std::size(names)];
    const char* missing = nullptr;
    for (std::size_t i = 0; i < std::size(names); ++i) {
        if (const char* const path = std::getenv(names[i]); path && *path) texts[i] = text_of_file(names[i], path);
        else missing = names[i];
    }
    if (!missing) return {texts[2], texts[0], texts[1]};
    for (std::size_t i = 0; i < std::size(names); ++i)
        if (!texts[i].empty())
            throw invalid_argument_error(std::string(names[i]) + " is set and " + missing +
                                         " is not; set all three, or none of them, and certificates are made");
    return net::make_cluster_certificates(addresses_of_hosts(options), days_of_certificates);
}

// Of tasks on other hosts. Which of their ports are free is not seen from here: rank 0 has one by chance, the others say theirs to it.
std::vector<task_plan> plan_there(const launch_options& options, const std::string& self) {
    std::random_device random;
    const int port = options.port_base > 0 ? options.port_base : 20000 + static_cast<int>(random() % 10000);
    return plan_on_hosts(options, self, port);
}

ssh_options ssh_of(const launch_options& options) {
    ssh_options ssh;
    ssh.command = options.ssh;
    std::error_code gone;
    ssh.home_will_do = options.workdir.empty();
    ssh.folder = ssh.home_will_do ? std::filesystem::current_path(gone).string() : options.workdir;
    if (gone)
        throw unavailable_error("the folder in which this was called is gone; say where tasks run with --workdir");
    ssh.grace = static_cast<int>(std::ceil(options.grace));
    if (!options.insecure) ssh.certificates = certificates_for(options);
    return ssh;
}

// Goes without where it cannot be written: then the token must be known elsewhere.
std::unique_ptr<net::noted_run> noted(const std::string& run, const std::string& token, const task_plan& any) {
    try {
        return std::make_unique<net::noted_run>(
            net::run_file{run, token, cluster::from_json(any.variables.at("TENON_CLUSTER")), ::getpid()});
    } catch (const error& e) {
        say(std::string("tenon status and its like must be given this run's token: ") + e.what());
        return nullptr;
    }
}

} // namespace

int launch(const launch_options& options, const std::string& self) {
    const bool is_far = !options.hosts.empty();
    const int last =
        options.port_base + options.ps + options.workers - (is_far ? 0 : 1); // there one is for the rendezvous
    if (options.port_base > 0 && last > 65535)
        throw invalid_argument_error("--port-base " + std::to_string(options.port_base) + ": " +
                                     std::to_string(options.ps + options.workers) + " tasks need ports up to " +
                                     std::to_string(last) + "; the highest is 65535");
    std::vector<task_plan> plans = is_far ? plan_there(options, self) : plan_here(options, self);

    // Nobody else has this run's token, so nobody else can use or stop its tasks.
    const char* const given = std::getenv("TENON_TOKEN");
    const std::string run = net::random_digits(16), token = given && *given ? given : net::random_digits(64);
    for (task_plan& plan : plans) {
        plan.variables["TENON_RUN"] = run;
        plan.variables["TENON_TOKEN"] = token;
    }
    std::unique_ptr<net::noted_run> note;
    if (is_far) {
        const ssh_options ssh = ssh_of(options);
        for (task_plan& plan : plans) send_by_ssh(plan, ssh);
    } else note = noted(run, token, plans.front());
    return supervisor(options, std::move(plans)).run();
}

} // namespace tenon::command
