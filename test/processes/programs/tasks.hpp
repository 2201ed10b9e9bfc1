#pragma once

#include <csignal>
#include <map>
#include <string>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <net/server/free_ports.hpp>
#include <tenon/net/net.hpp>

#include "tests.hpp"

/// Tasks of a cluster that are processes.

/// The command `tenon`.
inline std::string tenon_command;

/// What the program killed does instead of its tests, where a test starts it so: by its first argument, with the two behind it.
inline std::map<std::string, int (*)(const std::string&, const std::string&)> starts_as;

struct process_options {
    std::string lease = "1.5";
    std::vector<std::string> more = {};  ///< further arguments
    rlim_t most_file = 0, most_open = 0; ///< bytes of a file, open descriptors; 0: as ever
};

/// A process `tenon serve`, whose log can be waited for.
class task {
public:
    task(const tenon::cluster& c, const std::string& job, int index, const std::string& files,
         const process_options& o = {}) {
        int ends[2];
        REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
        const std::string cluster = c.to_json(), number = std::to_string(index);
        std::vector<std::string> words = {tenon_command, "serve",  "--cluster", cluster,       "--job",
                                          job,           "--task", number,      "--heartbeat", "0.3",
                                          "--lease",     o.lease,  "--files",   files};
        words.insert(words.end(), o.more.begin(), o.more.end());
        std::vector<char*> arguments;
        for (std::string& w : words) arguments.push_back(w.data());
        arguments.push_back(nullptr);
        pid_ = ::fork();
        REQUIRE(pid_ >= 0);
        if (pid_ == 0) {
            ::dup2(ends[1], 2);
            if (o.most_file) {
                const rlimit most{o.most_file, o.most_file};
                ::setrlimit(RLIMIT_FSIZE, &most);
                ::signal(SIGXFSZ, SIG_IGN); // writing fails instead
            }
            if (o.most_open) {
                const rlimit most{o.most_open, o.most_open};
                ::setrlimit(RLIMIT_NOFILE, &most);
            }
            ::execv(arguments[0], arguments.data());
            ::_exit(127);
        }
        ::close(ends[1]);
        reading_ = std::thread([this, from = ends[0]] {
            char some[4096];
            for (ssize_t n; (n = ::read(from, some, sizeof some)) > 0;) {
                const std::lock_guard lock(guard_);
                told_.append(some, static_cast<std::size_t>(n));
                changed_.notify_all();
            }
            ::close(from);
        });
        REQUIRE(wait_for(" serves on "));
    }
    task(const task&) = delete;
    ~task() {
        end(SIGKILL);
        reading_.join();
    }
    bool wait_for(const std::string& words) {
        std::unique_lock lock(guard_);
        return changed_.wait_for(lock, std::chrono::seconds(60),
                                 [&] { return told_.find(words) != std::string::npos; });
    }
    void signal(int number) const { ::kill(pid_, number); }
    /// What it has told.
    std::string told() {
        const std::lock_guard lock(guard_);
        return told_;
    }
    /// Returns when all of its threads stand.
    void stop_still() const {
        signal(SIGSTOP);
        int status = 0;
        REQUIRE(::waitpid(pid_, &status, WUNTRACED) == pid_);
        REQUIRE(WIFSTOPPED(status));
    }
    void end(int number) {
        if (pid_ < 0) return;
        signal(number);
        ::waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }

private:
    pid_t pid_ = -1;
    std::thread reading_;
    std::mutex guard_; // of what follows
    std::condition_variable changed_;
    std::string told_;
};

struct processes {
    processes(int ps, int workers, process_options o = {}) : options(std::move(o)) {
        const std::vector<std::string> at = free_addresses(ps + workers);
        cluster = tenon::cluster({{"ps", std::vector<std::string>(at.begin(), at.begin() + ps)},
                                  {"worker", std::vector<std::string>(at.begin() + ps, at.end())}});
        for (int i = 0; i < ps; ++i) start("ps", i);
        for (int i = 0; i < workers; ++i) start("worker", i);
    }
    void start(const std::string& job, int index) { start(job, index, options); }
    void start(const std::string& job, int index, const process_options& o) {
        up[{job, index}].reset();
        up[{job, index}] = std::make_unique<task>(cluster, job, index, files.path().string(), o);
    }
    task& at(const std::string& job, int index) { return *up.at({job, index}); }
    std::string target(int worker = 0) const { return "tenon://" + cluster.address("worker", worker); }

    process_options options;
    temporary_folder files;
    tenon::cluster cluster;
    std::map<std::pair<std::string, int>, std::unique_ptr<task>> up;
};
