#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <net/collective/exchange_group.hpp>

// Several members of a group in one process. What they send goes by threads of their own, in an order that a seed draws: small messages
// before large ones, and those of one sender before another's.

namespace together {

namespace tn = tenon;
namespace net = tenon::net;

class wires {
public:
    wires(int size, unsigned seed) : ends_(static_cast<std::size_t>(size)), draw_(seed) {
        for (int r = 0; r < size; ++r) threads_.emplace_back([this, r] { serve(r); });
    }
    ~wires() { shut(); }
    void shut() {
        {
            const std::lock_guard lock(guard_);
            over_ = true;
        }
        changed_.notify_all();
        for (std::thread& t : threads_)
            if (t.joinable()) t.join();
    }
    void connect(int rank, net::exchange_group* g) {
        const std::lock_guard lock(guard_);
        ends_[static_cast<std::size_t>(rank)].group = g;
    }
    void send(int from, int to, bool small, std::function<void(net::exchange_group&)> what) {
        const std::lock_guard lock(guard_);
        if (cut_[static_cast<std::size_t>(from)]) return;
        std::deque<entry>& q = ends_[static_cast<std::size_t>(to)].queue;
        auto at = q.end();
        // Ahead of large ones, and of other senders' messages.
        while (at != q.begin() && next() % 2 == 0 && (std::prev(at)->from != from || (small && !std::prev(at)->small)))
            --at;
        q.insert(at, {from, small, std::move(what)});
        changed_.notify_all();
    }
    /// It says nothing more.
    void cut(int rank) {
        const std::lock_guard lock(guard_);
        cut_[static_cast<std::size_t>(rank)] = true;
    }

private:
    struct entry {
        int from = 0;
        bool small = false;
        std::function<void(net::exchange_group&)> what;
    };
    struct end {
        net::exchange_group* group = nullptr;
        std::deque<entry> queue;
    };
    unsigned next() { return draw_ = draw_ * 1664525u + 1013904223u, draw_ >> 16; }
    void serve(int rank) {
        end& e = ends_[static_cast<std::size_t>(rank)];
        std::unique_lock lock(guard_);
        for (;;) {
            changed_.wait(lock, [&] { return over_ || (e.group && !e.queue.empty()); });
            if (over_) return;
            const entry first = std::move(e.queue.front());
            e.queue.pop_front();
            net::exchange_group* const g = e.group;
            lock.unlock();
            first.what(*g);
            lock.lock();
        }
    }
    std::mutex guard_;
    std::condition_variable changed_;
    std::vector<end> ends_;
    std::vector<bool> cut_ = std::vector<bool>(16);
    std::vector<std::thread> threads_;
    unsigned draw_;
    bool over_ = false;
};

class wire final : public net::collective_channel {
public:
    wire(wires& w, int rank) : wires_(w), rank_(rank) {}
    void send(int to, const net::collective_here& m) override { post(to, m, true); }
    void send(int to, const net::collective_part& m) override { post(to, m, m.value.bytes() < (60 << 10)); }
    void send(int to, const net::collective_end& m) override { post(to, m, true); }
    std::string member(int rank) const override { return "rank " + std::to_string(rank); }
    void flush(double) noexcept override {}

private:
    // As bytes, as it travels.
    template <class M> void post(int to, const M& m, bool small) {
        auto kept = std::make_shared<net::message>(net::message_of(m));
        wires_.send(rank_, to, small, [kept, from = rank_](net::exchange_group& g) {
            net::message copy = kept->share();
            for (tn::any_array& a : copy.arrays) a = a.copy();
            M read = net::read<M>(copy);
            if constexpr (std::is_same_v<M, net::collective_part>)
                if (tn::any_array at = g.place(from, read, read.value.type())) {
                    std::memcpy(at.data(), std::as_const(read.value).data(), at.bytes());
                    read.value = std::move(at);
                }
            g.came(from, std::move(read));
        });
    }
    wires& wires_;
    const int rank_;
};

/// One process's collective, which can be waited for.
class asked final : public tn::collective {
public:
    void completed(std::exception_ptr why) noexcept override {
        const std::lock_guard lock(guard_);
        failure_ = std::move(why);
        done_ = true;
        changed_.notify_all();
    }
    /// The result, or what it throws.
    tn::any_array get() {
        std::unique_lock lock(guard_);
        changed_.wait(lock, [&] { return done_; });
        if (failure_) std::rethrow_exception(failure_);
        return std::move(value);
    }
    bool is_done() {
        const std::lock_guard lock(guard_);
        return done_;
    }

private:
    std::mutex guard_;
    std::condition_variable changed_;
    bool done_ = false;
    std::exception_ptr failure_;
};

/// A group of so many members.
struct members {
    explicit members(int size, unsigned seed = 1) : lines(size, seed) {
        for (int r = 0; r < size; ++r) {
            groups.push_back(std::make_shared<net::exchange_group>("g", r, size, 7, std::make_unique<wire>(lines, r)));
            lines.connect(r, groups.back().get());
        }
    }
    ~members() { lines.shut(); }
    wires lines;
    std::vector<std::shared_ptr<net::exchange_group>> groups;
};

} // namespace together
