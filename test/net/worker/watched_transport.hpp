#pragma once

#include <net/server/free_ports.hpp>
#include <net/server/server_core.hpp>
#include <net/transport/tcp.hpp>
#include <net/wire/calls.hpp>

#include "tests.hpp"

/// A cluster in this process whose tasks' messages a test sees, and can hold back.

namespace net_test {

using namespace tenon::net;

/// What tasks sent to each other, in the order in which they sent it. Thread-safe.
class watch {
public:
    struct sent {
        verb what{};
        std::string from; ///< "/job:ps/task:0"
        std::size_t bytes = 0;
        std::vector<std::int64_t> edges = {}; ///< of step_values
        std::vector<tn::tensor_type> types = {};
        std::vector<const void*> data = {}; ///< where they lie with the sender
    };

    /// step_values for which this says true wait until release().
    void hold(std::function<bool(const sent&)> which) {
        const std::lock_guard lock(guard_);
        held_ = std::move(which);
    }
    void release() {
        std::vector<std::function<void()>> late;
        {
            const std::lock_guard lock(guard_);
            held_ = nullptr;
            late.swap(late_);
        }
        for (const auto& send : late) send();
    }
    void forget() {
        const std::lock_guard lock(guard_);
        all_.clear();
        places_.clear();
    }
    /// Returns when f(all that was sent) says true.
    template <class F> void wait_for(F f) {
        std::unique_lock lock(guard_);
        changed_.wait(lock, [&] { return f(all_); });
    }
    std::vector<sent> all(verb what) const {
        const std::lock_guard lock(guard_);
        std::vector<sent> found;
        std::copy_if(all_.begin(), all_.end(), std::back_inserter(found),
                     [&](const sent& s) { return s.what == what; });
        return found;
    }
    std::size_t bytes(verb what) const {
        std::size_t sum = 0;
        for (const sent& s : all(what)) sum += s.bytes;
        return sum;
    }

    /// Where arrays were read to that somebody had memory for.
    std::vector<const void*> places() const {
        const std::lock_guard lock(guard_);
        return places_;
    }
    void placed(const void* at) {
        const std::lock_guard lock(guard_);
        places_.push_back(at);
    }
    void wait_until_held(std::size_t count) {
        std::unique_lock lock(guard_);
        changed_.wait(lock, [&] { return late_.size() >= count; });
    }
    /// Where what is held lies with its senders.
    std::vector<const void*> held_at() const {
        const std::lock_guard lock(guard_);
        return held_at_;
    }

    /// Of a connection: what is held back keeps its place among what the connection sends.
    bool saw(const std::string& from, const message& m, std::function<void()> send) {
        if (m.type != message_type::note && m.type != message_type::call) return false;
        sent s{.what = static_cast<verb>(m.verb), .from = from, .bytes = m.body.size() + m.payload_bytes()};
        if (s.what == verb::step_values) {
            message copy = m.share();
            for (const edge_value& v : read<step_values>(copy).values) {
                s.edges.push_back(v.edge);
                s.types.push_back(v.value.type());
                s.data.push_back(v.value.data());
            }
        }
        const std::lock_guard lock(guard_);
        const bool is_held = s.what == verb::step_values && held_ && held_(s);
        if (is_held) {
            late_.push_back(std::move(send));
            held_at_.insert(held_at_.end(), s.data.begin(), s.data.end());
        } else all_.push_back(std::move(s));
        changed_.notify_all();
        return is_held;
    }

private:
    mutable std::mutex guard_; // of what follows
    std::condition_variable changed_;
    std::vector<sent> all_;
    std::function<bool(const sent&)> held_;
    std::vector<std::function<void()>> late_;
    std::vector<const void*> places_, held_at_;
};

/// Another transport, whose connections a watch sees.
class watched_transport final : public transport {
public:
    watched_transport(std::shared_ptr<transport> of, std::shared_ptr<watch> by, std::string task) :
        of_(std::move(of)), by_(std::move(by)), task_(std::move(task)) {}

    void dial(const std::string& address, duration limit, dialed then) override {
        of_->dial(address, limit,
                  [this, then = std::move(then)](std::shared_ptr<connection> c, const std::string& why) {
                      return seen(then(c ? seen(std::move(c)) : nullptr, why));
                  });
    }
    std::unique_ptr<listener> listen(const std::string& address, accept each) override {
        return of_->listen(address, [this, each = std::move(each)](std::shared_ptr<connection> c) {
            return seen(each(seen(std::move(c))));
        });
    }
    time_point now() const noexcept override { return of_->now(); }
    std::uint64_t random_number() override { return of_->random_number(); }
    std::uint64_t call_at(time_point at, std::function<void()> what) override { return of_->call_at(at, what); }
    bool cancel(std::uint64_t timer) noexcept override { return of_->cancel(timer); }
    bool work_until(tn::function_ref<bool()> done, time_point limit) override { return of_->work_until(done, limit); }
    void wake() noexcept override { of_->wake(); }
    std::shared_ptr<waker> shared_waker() override { return of_->shared_waker(); }

private:
    class seen_connection final : public connection {
    public:
        seen_connection(std::shared_ptr<connection> of, std::shared_ptr<watch> by, std::string task) :
            of_(std::move(of)), by_(std::move(by)), task_(std::move(task)) {}
        void send(message m) override {
            const auto shared = std::make_shared<message>(m.share());
            if (!by_->saw(task_, m, [of = of_, shared] { of->send(std::move(*shared)); })) of_->send(std::move(m));
        }
        std::size_t unsent_bytes() const noexcept override { return of_->unsent_bytes(); }
        void close(const std::string& why) noexcept override { of_->close(why); }
        const std::string& peer() const noexcept override { return of_->peer(); }
        bool is_private() const noexcept override { return of_->is_private(); }

    private:
        const std::shared_ptr<connection> of_;
        const std::shared_ptr<watch> by_;
        const std::string task_;
    };
    class seen_user final : public connection_user {
    public:
        seen_user(std::shared_ptr<connection_user> of, std::shared_ptr<watch> by) :
            of_(std::move(of)), by_(std::move(by)) {}
        message_limits limits() override { return of_->limits(); }
        tn::any_array place_for(const message& head, std::size_t i, const tn::tensor_type& type,
                                std::size_t bytes) override {
            tn::any_array at = of_->place_for(head, i, type, bytes);
            if (at && !at.is_unique()) by_->placed(at.data()); // somebody keeps it: it was not made for this message
            return at;
        }
        void received(message m) override { of_->received(std::move(m)); }
        void closed(const std::string& why) override { of_->closed(why); }

    private:
        const std::shared_ptr<connection_user> of_;
        const std::shared_ptr<watch> by_;
    };
    std::shared_ptr<connection_user> seen(std::shared_ptr<connection_user> u) {
        return u ? std::make_shared<seen_user>(std::move(u), by_) : nullptr;
    }
    std::shared_ptr<connection> seen(std::shared_ptr<connection> c) {
        return std::make_shared<seen_connection>(std::move(c), by_, task_);
    }
    const std::shared_ptr<transport> of_;
    const std::shared_ptr<watch> by_;
    const std::string task_;
};

/// Jobs "ps" and "worker" on loopback, whose tasks have `threads` threads each.
class watched_cluster {
public:
    watched_cluster(int ps, int workers, int threads = 2) {
        const std::vector<std::string> at = free_addresses(ps + workers);
        const tn::cluster tasks({{"ps", std::vector<std::string>(at.begin(), at.begin() + ps)},
                                 {"worker", std::vector<std::string>(at.begin() + ps, at.end())}});
        for (const std::string& job : tasks.jobs())
            for (const int task : tasks.tasks(job)) {
                auto& t = transports_.emplace_back(std::make_unique<watched_transport>(
                    make_tcp_transport(), seen, "/job:" + job + "/task:" + std::to_string(task)));
                server_settings s{.tasks = tasks, .job = job, .task = task};
                s.of_task.intra_op_threads = threads;
                cores_.emplace(std::pair(job, task), std::make_unique<server_core>(*t, std::move(s)));
            }
    }
    ~watched_cluster() { seen->release(); }
    std::string target(const std::string& job, int task) const {
        return "tenon://" + cores_.at({job, task})->address();
    }

    const std::shared_ptr<watch> seen = std::make_shared<watch>();

private:
    std::vector<std::unique_ptr<watched_transport>> transports_;
    std::map<std::pair<std::string, int>, std::unique_ptr<server_core>> cores_;
};

} // namespace net_test
