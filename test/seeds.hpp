#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include <unistd.h>

/// The command line of a program that goes through seeds, and how far it has come.
///
///     seeds all("random_queues");
///     all.takes("--limit", [&](const char* value) { limit = std::strtod(value, nullptr); });
///     if (!all.read(argc, argv)) return 2;
///     for (; all.go_on(); all.next()) ...
class seeds {
public:
    explicit seeds(std::string program) : program_(std::move(program)) {}

    std::uint64_t seed = 1;
    std::uint64_t count = 0; ///< how many; 0: as long as seconds say, or 100
    double seconds = 0;
    bool keep_going = false; ///< also after a seed that fails
    std::uint64_t done = 0, failed = 0;

    /// Options of the program's own, also in the place of one of these.
    void flag(const std::string& option, bool& to) { flags_[option] = &to; }
    void takes(const std::string& option, std::function<void(const char*)> value) {
        values_.try_emplace(option, std::move(value));
    }
    void takes(const std::string& option, std::uint64_t& to) {
        takes(option, [&to](const char* value) { to = std::strtoull(value, nullptr, 10); });
    }
    void takes(const std::string& option, double& to) {
        takes(option, [&to](const char* value) { to = std::strtod(value, nullptr); });
    }
    void takes(const std::string& option, std::string& to) {
        takes(option, [&to](const char* value) { to = value; });
    }

    /// False: something is no option, which was said.
    bool read(int argc, char** argv) {
        flag("--keep-going", keep_going);
        takes("--seed", seed);
        takes("--count", count);
        takes("--seconds", seconds);
        for (int i = 1; i < argc; ++i) {
            const auto on = flags_.find(argv[i]);
            const auto value = values_.find(argv[i]);
            if (on != flags_.end()) *on->second = true;
            else if (value != values_.end() && i + 1 < argc) value->second(argv[++i]);
            else {
                std::fprintf(stderr, "%s: %s is no option, or lacks its value\n", program_.c_str(), argv[i]);
                return false;
            }
        }
        if (count == 0 && seconds == 0) count = 100;
        return true;
    }

    bool go_on() const {
        if (failed > 0 && !keep_going) return false;
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begun_;
        return (count == 0 || done < count) && (seconds == 0 || passed.count() < seconds);
    }
    void next() { ++seed, ++done; }

    /// What crashes from now on says so much of the seed that runs.
    void tell_of_crashes() const {
        for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) std::signal(signal, say_where);
        std::snprintf(running, sizeof running, "%s: seed %llu ended so\n", program_.c_str(),
                      static_cast<unsigned long long>(seed));
    }

private:
    static void say_where(int signal) { // nothing but this is safe here
        const auto ignored = write(STDERR_FILENO, running, std::strlen(running));
        (void)ignored;
        std::signal(signal, SIG_DFL);
        std::raise(signal);
    }
    inline static char running[96];

    const std::string program_;
    const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    std::map<std::string, bool*> flags_;
    std::map<std::string, std::function<void(const char*)>> values_;
};

inline unsigned long long number(std::uint64_t n) { return n; } ///< to be printed
