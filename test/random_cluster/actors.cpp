#include "random_cluster/actors.hpp"

#include <algorithm>
#include <utility>

namespace random_cluster {

// Its process's transport, but that waiting lets the simulation go on.
struct actors::actor final : net::transport {
    actor(actors& a, std::string h, net::transport& t) : of(a), host(std::move(h)), process(t) {}

    void dial(const std::string& address, net::duration within, dialed then) override {
        process.dial(address, within, std::move(then));
    }
    std::unique_ptr<net::listener> listen(const std::string& address, accept each) override {
        return process.listen(address, std::move(each));
    }
    net::time_point now() const noexcept override { return process.now(); }
    std::uint64_t random_number() override { return process.random_number(); }
    std::uint64_t call_at(net::time_point at, std::function<void()> what) override {
        return process.call_at(at, std::move(what));
    }
    bool cancel(std::uint64_t timer) noexcept override { return process.cancel(timer); }
    bool work_until(tenon::function_ref<bool()> is_done, net::time_point at_last) override {
        if (std::this_thread::get_id() != thread.get_id()) { // what it called calls it back, and may not wait
            of.has_waited_in_callback_ = true;
            return false;
        }
        for (;;) {
            if (killed) throw process_killed();
            if (!paused && is_done()) return true;
            if (!paused && now() >= at_last) return false;
            of.park(*this, is_done, at_last);
        }
    }
    void wake() noexcept override { process.wake(); }
    std::shared_ptr<tenon::net::waker> shared_waker() override { return process.shared_waker(); }
    bool has_threads() const noexcept override { return process.has_threads(); }

    bool is_ready() const { return killed || (!paused && (!done || (*done)() || now() >= limit)); }

    actors& of;
    const std::string host;
    net::transport& process;
    std::thread thread;
    bool killed = false, paused = false, ended = false;
    tenon::function_ref<bool()>* done = nullptr; // what it waits for; nullptr: it has not begun
    net::time_point limit{};
};

actors::actors(net::simulated_network& n) : net_(n) {}
actors::~actors() {
    for (std::size_t i = 0; i < all_.size(); ++i) kill(i, true);
    for (const auto& a : all_) a->thread.join();
}

std::size_t actors::start(const std::string& host, std::function<void(net::transport&)> program) {
    all_.push_back(std::make_unique<actor>(*this, host, net_.start(host)));
    actor& a = *all_.back();
    a.thread = std::thread([this, &a, run = std::move(program)]() mutable {
        {
            std::unique_lock lock(guard_);
            changed_.wait(lock, [&] { return running_ == &a; });
        }
        try {
            if (!a.killed) run(a);
        } catch (const process_killed&) {
        }
        run = nullptr;
        const std::lock_guard lock(guard_);
        a.ended = true;
        running_ = nullptr;
        changed_.notify_all();
    });
    net_.wake();
    return all_.size() - 1;
}

void actors::kill(std::size_t which, bool silently) {
    actor& a = *all_[which];
    if (a.ended) return;
    net_.kill(a.host, silently);
    a.killed = true;
    while (!a.ended) resume(a);
}

void actors::pause(std::size_t which, bool paused) { all_[which]->paused = paused; }

bool actors::has_ended(std::size_t which) const { return all_[which]->ended; }
bool actors::all_have_ended() const {
    return std::all_of(all_.begin(), all_.end(), [](const auto& a) { return a->ended; });
}

void actors::run_ready() {
    for (bool any = true; any;) {
        any = false;
        for (std::size_t i = 0; i < all_.size(); ++i) // programs may start others
            if (!all_[i]->ended && all_[i]->is_ready()) {
                resume(*all_[i]);
                any = true;
            }
    }
}

// By the simulation: until it waits again, or has ended.
void actors::resume(actor& a) {
    std::unique_lock lock(guard_);
    running_ = &a;
    changed_.notify_all();
    changed_.wait(lock, [&] { return running_ == nullptr; });
}

// By the actor.
void actors::park(actor& a, tenon::function_ref<bool()> done, net::time_point limit) {
    if (limit != net::time_point::max()) net_.call_at(limit, [] {});
    std::unique_lock lock(guard_);
    a.done = &done;
    a.limit = limit;
    running_ = nullptr;
    changed_.notify_all();
    changed_.wait(lock, [&] { return running_ == &a; });
}

} // namespace random_cluster
