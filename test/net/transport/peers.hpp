#pragma once

#include <chrono>
#include <fstream>

#include <unistd.h>

#include <net/transport/tcp.hpp>

#include "tests.hpp"
#include "../messages.hpp"

/// Users of connections that tests can wait for.

namespace net_test {

using namespace std::chrono_literals;
inline constexpr auto long_enough = 60s; // a test that waits so long has failed

/// Memory that is there for the process, in bytes.
inline std::size_t resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    std::size_t whole = 0, pages = 0;
    statm >> whole >> pages;
    return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool memory_counts = false; // a sanitizer takes more than what is watched
#elif defined(__has_feature)
inline constexpr bool memory_counts = !__has_feature(thread_sanitizer) && !__has_feature(address_sanitizer);
#else
inline constexpr bool memory_counts = true;
#endif

/// Keeps what it is told.
class recorder : public connection_user {
public:
    /// Until f(), which may look at the members; false where it does not come to that.
    template <class F> bool wait_for(F f) {
        std::unique_lock lock(guard);
        return changed.wait_for(lock, long_enough, f);
    }
    bool wait_for_messages(std::size_t count) {
        return wait_for([&] { return messages.size() >= count; });
    }
    bool wait_for_end() {
        return wait_for([&] { return ended > 0; });
    }
    void received(message m) override {
        {
            const std::lock_guard lock(guard);
            messages.push_back(std::move(m));
        }
        changed.notify_all();
        if (on_message) on_message();
    }
    void closed(const std::string& reason) override {
        {
            const std::lock_guard lock(guard);
            why = reason;
            ++ended;
        }
        changed.notify_all();
    }

    std::mutex guard;
    std::condition_variable changed;
    std::vector<message> messages;
    std::string why;
    int ended = 0;
    std::function<void()> on_message;
};

/// The body of the i-th message.
inline std::string text_at(recorder& r, std::size_t i) {
    const std::lock_guard lock(r.guard);
    return to_text(r.messages.at(i).body);
}

/// Sends back what comes.
class echo final : public connection_user {
public:
    explicit echo(std::shared_ptr<connection> c) : to_(std::move(c)) {}
    void received(message m) override {
        if (const auto to = to_.lock()) to->send(std::move(m));
    }
    void closed(const std::string&) override {}

private:
    std::weak_ptr<connection> to_;
};

/// Accepts, and keeps connections and their recorders.
class acceptor {
public:
    acceptor(transport& t, const std::string& address = "127.0.0.1:0") :
        listener_(t.listen(address, [this](std::shared_ptr<connection> c) {
            const auto user = std::make_shared<recorder>();
            const std::lock_guard lock(guard_);
            all_.emplace_back(std::move(c), user);
            changed_.notify_all();
            return user;
        })) {}
    std::string address() const { return listener_->address(); }
    /// The i-th that came.
    std::pair<std::shared_ptr<connection>, std::shared_ptr<recorder>> at(std::size_t i) {
        std::unique_lock lock(guard_);
        REQUIRE(changed_.wait_for(lock, long_enough, [&] { return all_.size() > i; }));
        return all_[i];
    }
    std::size_t count() {
        const std::lock_guard lock(guard_);
        return all_.size();
    }

private:
    std::mutex guard_;
    std::condition_variable changed_;
    std::vector<std::pair<std::shared_ptr<connection>, std::shared_ptr<recorder>>> all_;
    std::unique_ptr<listener> listener_;
};

struct dialed_result {
    std::shared_ptr<connection> to;
    std::string why;
};

/// Dials and waits for what comes of it.
inline dialed_result dial(transport& t, const std::string& address, std::shared_ptr<connection_user> user,
                          duration limit = long_enough) {
    struct shared {
        std::mutex guard;
        std::condition_variable changed;
        bool is_there = false;
        dialed_result result;
    };
    const auto s = std::make_shared<shared>();
    t.dial(address, limit, [s, user](std::shared_ptr<connection> c, const std::string& why) {
        const std::lock_guard lock(s->guard);
        s->result = {c, why};
        CHECK_FALSE(s->is_there);
        s->is_there = true;
        s->changed.notify_all();
        return c ? user : nullptr;
    });
    std::unique_lock lock(s->guard);
    REQUIRE(s->changed.wait_for(lock, long_enough, [&] { return s->is_there; }));
    return s->result;
}

} // namespace net_test
