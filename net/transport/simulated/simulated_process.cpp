#include <algorithm>
#include <charconv>

#include <net/transport/simulated/simulated_state.hpp>
#include <tenon/core/error.hpp>

/// The transport of a simulated process, but for dialing, which is with connections.

namespace tenon::net {

using state = simulated_network::state;

namespace {

struct simulated_listener final : listener {
    simulated_listener(std::weak_ptr<state> n, simulated_process& p, std::string a) :
        net(std::move(n)), owner(p), at(std::move(a)) {}
    ~simulated_listener() override {
        const auto n = net.lock();
        if (!n) return;
        std::shared_ptr<transport::accept> last;
        const std::lock_guard lock(n->mutex);
        if (const auto found = owner.listeners.find(at); found != owner.listeners.end()) {
            last = std::move(found->second);
            owner.listeners.erase(found);
        }
    }
    const std::string& address() const noexcept override { return at; }

    std::weak_ptr<state> net;
    simulated_process& owner;
    std::string at;
};

} // namespace

std::unique_ptr<listener> simulated_process::listen(const std::string& address, accept each) {
    const std::lock_guard lock(net.mutex);
    const auto colon = address.rfind(':');
    unsigned port = 0;
    if (colon != std::string::npos) {
        const char* end = address.data() + address.size();
        const auto read = std::from_chars(address.data() + colon + 1, end, port);
        if (read.ec != std::errc() || read.ptr != end || port > 65535)
            throw invalid_argument_error("listen: " + address + " is no address: write \"host:port\"");
    }
    if (colon == std::string::npos || address.substr(0, colon) != where.name)
        throw invalid_argument_error("listen: " + address + " is no address of host " + where.name + ": write \"" +
                                     where.name + ":port\"");
    std::string at = address;
    if (port == 0) at = where.name + ":" + std::to_string(where.next_port++);
    if (alive && !listeners.emplace(at, std::make_shared<accept>(std::move(each))).second)
        throw unavailable_error("listen: " + at + " is in use");
    return std::make_unique<simulated_listener>(net.weak_from_this(), *this, at);
}

std::uint64_t simulated_process::random_number() {
    const std::lock_guard lock(net.mutex);
    return net.random() | 1;
}

std::uint64_t simulated_process::call_at(time_point here, std::function<void()> what) {
    const time_point at = of_network(here);
    const std::lock_guard lock(net.mutex);
    if (!alive) return ++net.made;
    const std::uint64_t number = net.at(at, this, std::move(what));
    net.timers[number] = std::max(at, net.now.load());
    ++net.wakes;
    net.changed.notify_all();
    return number;
}

bool simulated_process::cancel(std::uint64_t timer) noexcept {
    std::function<void()> last; // ends after the mutex is free
    const std::lock_guard lock(net.mutex);
    const auto found = net.timers.find(timer);
    if (found == net.timers.end()) return false;
    if (const auto queued = net.queue.find({found->second, timer}); queued != net.queue.end()) {
        last = std::move(queued->second.what);
        net.queue.erase(queued);
    } else {
        const auto i =
            std::find_if(where.deferred.begin(), where.deferred.end(), [&](const auto& d) { return d.first == timer; });
        if (i == where.deferred.end()) return false;
        last = std::move(i->second.what);
        where.deferred.erase(i);
    }
    net.timers.erase(found);
    return true;
}

} // namespace tenon::net
