// One allocation fails, then another: nothing may crash, hang, be lost or be done twice, and all must work again afterwards.
//
//   no_memory [--seed N] [--count N | --all] [--only WORDS] [--allocation K]
//
// --count: so many allocations of each scenario, drawn from the seed; --all: every one. Each is tried in a process of its own, but for
// --allocation, which is one in this process, for a debugger.

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <tenon/core/error.hpp>

#include "allocations.hpp"
#include "scenario.hpp"

namespace no_memory {

void require(bool holds, const std::string& words) {
    if (!holds) throw std::runtime_error(words);
}

namespace {

constexpr unsigned most_seconds = 60; // of one try: a hang, on a slow machine too

std::string words_of(const std::exception_ptr& e) {
    try {
        std::rethrow_exception(e);
    } catch (const std::exception& known) {
        return known.what();
    } catch (...) {
        return "something that is no std::exception";
    }
}

// What was wrong; empty: nothing.
std::string wrong_with(scenario& s, long failing) {
    s.prepare();
    bool well = false;
    std::string wrong;
    count_allocations(failing);
    try {
        s.act();
        well = true;
        stop_counting();
    } catch (const tenon::resource_exhausted_error&) {
        stop_counting();
    } catch (const std::bad_alloc&) {
        stop_counting();
        if (!s.has_own_allocations()) wrong = "std::bad_alloc, not a resource_exhausted_error";
    } catch (...) {
        stop_counting();
        wrong = "not a resource_exhausted_error: " + words_of(std::current_exception());
    }
    if (failing > 0 && !has_failed() && !well) wrong = "it failed, and no allocation had: " + wrong;
    try {
        s.check(well);
    } catch (...) {
        wrong += (wrong.empty() ? "" : "; ") + std::string("afterwards: ") + words_of(std::current_exception());
    }
    return wrong;
}

// Runs f in a process of its own; what it returns, or how that process ended.
template <class F> std::string in_child(const F& f) {
    int pipe_ends[2];
    if (pipe(pipe_ends) != 0) throw std::runtime_error("pipe: " + std::string(std::strerror(errno)));
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("fork: " + std::string(std::strerror(errno)));
    if (child == 0) {
        alarm(most_seconds);
        std::string said;
        try {
            said = f();
        } catch (...) {
            said = "the scenario itself fails: " + words_of(std::current_exception());
        }
        const auto ignored = write(pipe_ends[1], said.data(), std::min<std::size_t>(said.size(), 4000));
        (void)ignored;
        _exit(0);
    }
    close(pipe_ends[1]);
    std::string said;
    char piece[1024];
    for (ssize_t n = 0; (n = read(pipe_ends[0], piece, sizeof piece)) > 0;)
        said.append(piece, static_cast<std::size_t>(n));
    close(pipe_ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        said = WTERMSIG(status) == SIGALRM ? "it hangs" : "it was ended by " + std::string(strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0) said = "it exited with " + std::to_string(WEXITSTATUS(status));
    return said;
}

// False where something was wrong.
bool run(const named_scenario& named, std::uint64_t seed, long count) {
    const std::string all = in_child([&] {
        const auto s = named.make();
        s->prepare();
        count_allocations(0);
        s->act();
        const long there_are = stop_counting();
        s->check(true);
        return std::to_string(there_are);
    });
    char* end = nullptr;
    const long there_are = std::strtol(all.c_str(), &end, 10);
    if (all.empty() || *end != '\0') {
        std::printf("FAILED %s, where memory is there: %s\n", named.name.c_str(), all.c_str());
        return false;
    }
    std::set<long> tried;
    if (count < 0 || count >= there_are)
        for (long k = 1; k <= there_are; ++k) tried.insert(k);
    std::mt19937_64 random(seed);
    while (static_cast<long>(tried.size()) < std::min(count, there_are))
        tried.insert(1 + static_cast<long>(random() % static_cast<std::uint64_t>(there_are)));
    std::map<std::string, std::vector<long>> wrong; // the allocations, by what was
    for (const long k : tried)
        if (std::string w = in_child([&] { return wrong_with(*named.make(), k); }); !w.empty()) wrong[w].push_back(k);
    std::printf("%s: %zu of %ld allocations failed, one after another\n", named.name.c_str(), tried.size(), there_are);
    for (const auto& [what, allocations] : wrong) {
        std::printf("FAILED %s, %zu times: %s\n  allocations", named.name.c_str(), allocations.size(), what.c_str());
        for (std::size_t n = 0; n < allocations.size() && n < 8; ++n) std::printf(" %ld", allocations[n]);
        std::printf("\n");
    }
    std::fflush(stdout);
    return wrong.empty();
}

} // namespace
} // namespace no_memory

int main(int argc, char** argv) {
    std::uint64_t seed = 1;
    long count = 25, allocation = 0;
    std::string only;
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        if (option == "--all") {
            count = -1;
            continue;
        }
        if (i + 1 == argc) {
            std::fprintf(stderr, "no_memory: %s is no option, or lacks its value\n", option.c_str());
            return 2;
        }
        const char* const value = argv[++i];
        if (option == "--seed") seed = std::strtoull(value, nullptr, 10);
        else if (option == "--count") count = std::atol(value);
        else if (option == "--only") only = value;
        else if (option == "--allocation") allocation = std::atol(value);
        else {
            std::fprintf(stderr, "no_memory: %s is no option\n", option.c_str());
            return 2;
        }
    }
    bool good = true, any = false;
    std::vector<no_memory::named_scenario> all = no_memory::model_scenarios();
    for (no_memory::named_scenario& s : no_memory::waiting_scenarios()) all.push_back(std::move(s));
    for (const no_memory::named_scenario& s : all) {
        if (s.name.find(only) == std::string::npos) continue;
        any = true;
        if (allocation == 0) {
            good = no_memory::run(s, seed, count) && good;
            continue;
        }
        const std::string wrong = no_memory::wrong_with(*s.make(), allocation);
        std::printf("%s, allocation %ld: %s\n", s.name.c_str(), allocation, wrong.empty() ? "well" : wrong.c_str());
        good = good && wrong.empty();
    }
    if (!any) std::fprintf(stderr, "no_memory: no scenario has \"%s\" in its name\n", only.c_str());
    return good && any ? 0 : 1;
}
