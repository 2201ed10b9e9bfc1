#include <net/join/member_state.hpp>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include <unistd.h>

#include <net/link/options.hpp>
#include <net/server/server_core.hpp>
#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

constexpr duration to_say_goodbye = std::chrono::seconds(1);
constexpr double to_drain = 5; // seconds, for steps in flight when all have ended

// The chief's job, and the workers', in the order of replicas.
bool trains(const std::string& job) { return job == "chief" || job == "master" || job == "worker"; }

int count_of_replicas(const cluster& c) {
    std::size_t all = 0;
    for (const std::string& job : c.jobs())
        if (trains(job)) all += c.tasks(job).size();
    return static_cast<int>(all);
}

} // namespace

void member::state::attend() {
    if (!holds) core_of(*own).attend(holders, timeout);
    // The status is known when the process ends, however it does: main() returns, or somebody calls exit().
    static member::state* here = nullptr;
    static const bool is_registered = [] {
        const auto leaves = [](int status, void*) { here->leave(status); };
#if defined(__GLIBC__)
        return ::on_exit(leaves, nullptr) == 0;
#else
        (void)leaves;
        return std::atexit([] { here->leave(0); }) == 0;
#endif
    }();
    (void)is_registered;
    here = this;
}

int member::state::wait_for_others(bool until_asked) {
    membership& others = core_of(*own).attending();
    const tenon::detail::stop_listener on_stop([&](int) { others.ask_to_stop(grace); });
    membership_limits l = limits;
    l.until_asked = l.until_asked || until_asked;
    const int status = others.wait_until_over(l);
    is_over = true;
    return status;
}

void member::state::leave(int status) noexcept {
    if (::getpid() != process) return; // a child of it ends, that runs no other program
    try {
        // What is thread_local has ended by now on the thread that calls.
        std::thread([&] {
            try {
                if (holds && !is_over && status == 0) (void)wait_for_others(false);
                if (!holds) core_of(*own).leave(status, to_say_goodbye);
                noted.reset();
                open.reset();
                own.reset();
            } catch (...) { // it ends all the same
            }
        }).join();
    } catch (...) {
    }
}

const std::string& member::run() const noexcept { return state_->place.run; }
const cluster& member::cluster() const noexcept { return state_->place.tasks; }
const std::string& member::job() const noexcept { return state_->place.job; }
int member::task() const noexcept { return state_->place.task; }
std::string member::device() const { return state_->device; }
bool member::is_parameter_server() const noexcept { return state_->place.job == "ps"; }
bool member::is_chief() const noexcept { return state_->place.is_chief(); }

int member::replica() const noexcept {
    const tenon::cluster& c = cluster();
    int before = 0;
    for (const std::string& other : c.jobs()) {
        if (!trains(other)) continue;
        for (const int t : c.tasks(other)) {
            if (other == job() && t == task()) return before;
            ++before;
        }
    }
    return 0;
}

int member::replicas() const noexcept { return std::max(count_of_replicas(cluster()), 1); }

server& member::server() const {
    if (!state_->own)
        throw failed_precondition_error("member::server: " + state_->device +
                                        " stands beside its cluster, and serves nobody");
    return *state_->own;
}

std::string member::target() const {
    const auto& [job, task] = state_->holders.front();
    if (!state_->own) return "tenon://" + cluster().address(job, task);
    return state_->own->target();
}

replica_device_setter member::placement() const {
    return cluster().has("ps") ? replica_device_setter(cluster(), {.worker_device = device()})
                               : replica_device_setter(0);
}

std::vector<std::string> member::device_filters() const {
    std::vector<std::string> filters;
    for (const auto& [job, task] : state_->holders) filters.push_back(name_of(job, task));
    if (!state_->holds && state_->own) filters.push_back(device());
    return filters;
}

int member::serve() const {
    if (!state_->holds) return 0;
    const int status = state_->wait_for_others(count_of_replicas(cluster()) == 0), signal = stop_signal();
    (void)state_->own->stop(to_drain);
    return status == 0 && signal ? 128 + signal : status;
}

int member::finish() const {
    if (is_parameter_server()) return serve();
    if (state_->holds && !state_->is_over) (void)state_->wait_for_others(false);
    const int signal = stop_signal();
    return signal ? 128 + signal : 0;
}

} // namespace tenon::net
