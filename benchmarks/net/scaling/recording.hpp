#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <net/client/client.hpp>
#include <net/client/remote_session.hpp>
#include <net/server/server_core.hpp>
#include <net/transport/tcp.hpp>
#include <tenon/runtime/session/scheme.hpp>

#include "../cluster_training.hpp"

/// Counts what goes over the connections of a cluster's servers and their clients.

namespace scaling {

namespace net = tenon::net;

/// Messages by who sends, who receives and what they are: "run_part", "step_values", "reply", "control".
class recorder {
public:
    struct edge {
        std::string from, to, what;
        auto operator<=>(const edge&) const = default;
    };
    struct count {
        std::int64_t messages = 0, body = 0, payload = 0;
    };
    void add(const std::string& from, const std::string& to, const net::message& m) {
        const std::lock_guard lock(guard_);
        count& c = counts_[{name(from), name(to), what(m)}];
        ++c.messages;
        c.body += static_cast<std::int64_t>(m.body.size());
        c.payload += static_cast<std::int64_t>(m.payload_bytes());
    }
    void name_address(const std::string& address, const std::string& task) {
        const std::lock_guard lock(guard_);
        names_[address] = task;
    }
    std::map<edge, count> take() {
        const std::lock_guard lock(guard_);
        return std::exchange(counts_, {});
    }

private:
    static std::string what(const net::message& m) {
        switch (m.type) {
        case net::message_type::call:
        case net::message_type::note: return net::name_of(static_cast<net::verb>(m.verb));
        case net::message_type::reply: return "reply";
        default: return "control";
        }
    }
    std::string name(const std::string& address) const {
        const auto at = names_.find(address);
        return at == names_.end() ? address : at->second;
    }
    std::mutex guard_; // of what follows
    std::map<edge, count> counts_;
    std::map<std::string, std::string> names_;
};

/// A transport whose dialed connections are counted, in both directions.
class recorded_transport final : public net::transport {
public:
    recorded_transport(recorder& to, std::string self) :
        to_(to), self_(std::move(self)), base_(net::make_tcp_transport()) {}

    void dial(const std::string& address, net::duration limit, dialed then) override {
        base_->dial(address, limit,
                    [this, address, then = std::move(then)](std::shared_ptr<net::connection> c, const std::string& why)
                        -> std::shared_ptr<net::connection_user> {
                        if (!c) return then(nullptr, why);
                        auto u = then(std::make_shared<sending>(to_, self_, address, std::move(c)), why);
                        return u ? std::make_shared<receiving>(to_, self_, address, std::move(u)) : nullptr;
                    });
    }
    std::unique_ptr<net::listener> listen(const std::string& address, accept each) override {
        return base_->listen(address, std::move(each));
    }
    net::time_point now() const noexcept override { return base_->now(); }
    std::uint64_t random_number() override { return base_->random_number(); }
    std::uint64_t call_at(net::time_point at, std::function<void()> what) override {
        return base_->call_at(at, std::move(what));
    }
    bool cancel(std::uint64_t timer) noexcept override { return base_->cancel(timer); }
    bool work_until(tenon::function_ref<bool()> done, net::time_point limit) override {
        return base_->work_until(done, limit);
    }
    void wake() noexcept override { base_->wake(); }
    std::shared_ptr<net::waker> shared_waker() override { return base_->shared_waker(); }

private:
    struct sending final : net::connection {
        sending(recorder& r, std::string from, std::string to, std::shared_ptr<net::connection> c) :
            all(r), self(std::move(from)), other(std::move(to)), base(std::move(c)) {}
        void send(net::message m) override {
            all.add(self, other, m);
            base->send(std::move(m));
        }
        std::size_t unsent_bytes() const noexcept override { return base->unsent_bytes(); }
        void close(const std::string& why) noexcept override { base->close(why); }
        const std::string& peer() const noexcept override { return base->peer(); }
        bool is_private() const noexcept override { return base->is_private(); }
        recorder& all;
        const std::string self, other;
        const std::shared_ptr<net::connection> base;
    };
    struct receiving final : net::connection_user {
        receiving(recorder& r, std::string to, std::string from, std::shared_ptr<net::connection_user> u) :
            all(r), self(std::move(to)), other(std::move(from)), base(std::move(u)) {}
        net::message_limits limits() override { return base->limits(); }
        tenon::any_array place_for(const net::message& head, std::size_t i, const tenon::tensor_type& type,
                                   std::size_t size) override {
            return base->place_for(head, i, type, size);
        }
        void received(net::message m) override {
            all.add(other, self, m);
            base->received(std::move(m));
        }
        void closed(const std::string& why) override { base->closed(why); }
        recorder& all;
        const std::string self, other;
        const std::shared_ptr<net::connection_user> base;
    };

    recorder& to_;
    const std::string self_;
    const std::shared_ptr<net::transport> base_;
};

/// Servers on loopback, and sessions at "recorded://host:port", whose messages are counted. One at a time; it lives for ever, as what
/// its sessions use does.
class recorded_cluster {
public:
    recorded_cluster(int ps, int workers) : tasks(cluster_training::loopback_cluster(ps, workers)) {
        for (const std::string& job : tasks.jobs())
            for (const int task : tasks.tasks(job)) {
                const std::string& at = tasks.address(job, task);
                counts.name_address(at, job + std::to_string(task));
                over_.push_back(std::make_unique<recorded_transport>(counts, at));
                servers_.push_back(std::make_unique<net::server_core>(
                    *over_.back(), net::server_settings{.tasks = tasks, .job = job, .task = task}));
            }
        tenon::detail::register_session_scheme("recorded", scheme_);
    }
    std::string target(int worker) const { return "recorded://" + tasks.address("worker", worker); }

    recorder counts;
    const tenon::cluster tasks;

private:
    struct scheme final : tenon::detail::session_scheme {
        explicit scheme(recorder& to) : over(to, "client") {}
        std::shared_ptr<tenon::detail::session_state> make(const std::string& address, const tenon::graph& g,
                                                           const tenon::session_options& o) const override {
            return std::make_shared<net::remote_session>(over, net::dial_as_client(address).to, "a benchmark", g, o);
        }
        void reset(const std::string&, const std::vector<std::string>&) const override {}
        mutable recorded_transport over;
    };
    scheme scheme_{counts};
    std::vector<std::unique_ptr<recorded_transport>> over_;
    std::vector<std::unique_ptr<net::server_core>> servers_;
};

} // namespace scaling
