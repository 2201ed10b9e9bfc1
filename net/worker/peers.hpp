#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <net/link/gate.hpp>
#include <net/rpc/asking.hpp>
#include <net/rpc/peer.hpp>
#include <net/wire/calls.hpp>
#include <tenon/cluster/cluster.hpp>

/// The other tasks, as a server calls them.

namespace tenon::net {

/// Thread-safe.
class peers {
public:
    /// `lost` is told of links that died: of which life of which task, and what its calls failed with; as peer_options::lost is called.
    using lost =
        std::function<void(const std::string& task, std::uint64_t incarnation, error_code, const std::string& why)>;
    peers(transport& t, cluster c, identity self, link_options link, lost tell) :
        transport_(t),
        cluster_(std::move(c)),
        self_(std::move(self)),
        link_(link),
        lost_(std::move(tell)),
        to_owner_(std::make_shared<gate>(t)) {}
    ~peers() { close(); }

    /// Made when it is first asked for. not_found_error where the cluster has no such task.
    std::shared_ptr<peer> to(const std::string& job, int task) {
        const std::string& address = cluster_.address(job, task);
        const std::lock_guard lock(guard_);
        std::shared_ptr<peer>& at = known_[{job, task}];
        if (!at) {
            peer_options o{.address = address, .job = job, .task = task, .self = self_, .link = link_};
            speak_calls(o);
            // Of a step's values each edge is taken once; what has ended stays so.
            o.may_repeat = [](std::uint8_t v) {
                const auto which = static_cast<verb>(v);
                return which == verb::step_values || which == verb::stop_step || which == verb::forget_part;
            };
            o.lost = [this, inside = to_owner_, name = name_of(job, task)](std::uint64_t life, error_code code,
                                                                           const std::string& why) {
                inside->pass([&] { lost_(name, life, code, why); });
            };
            at = peer::make(transport_, std::move(o));
        }
        return at;
    }
    /// Has `done` called when there is a link, or none has come in the time in which one is given up.
    void reach(peer& other, call_done done) { other.connect(transport_.now() + link_.lease, std::move(done)); }
    /// Calls f(job, task) for each task but this one.
    template <class F> void each(F&& f) const {
        for (const std::string& job : cluster_.jobs())
            for (const int task : cluster_.tasks(job))
                if (job != self_.job || task != self_.task) f(job, task);
    }
    /// Calls f(job, task, counts) for each that was ever asked for.
    template <class F> void each_count(F&& f) const {
        std::map<std::pair<std::string, int>, std::shared_ptr<peer>> all;
        {
            const std::lock_guard lock(guard_);
            all = known_;
        }
        for (const auto& [task, p] : all) f(task.first, task.second, p->count());
    }
    /// Sums over all.
    peer::counts count() const {
        peer::counts sum;
        const std::lock_guard lock(guard_);
        for (const auto& [task, p] : known_) {
            const peer::counts c = p->count();
            sum.calls += c.calls;
            sum.waiting += c.waiting;
            sum.waiting_bytes += c.waiting_bytes;
            sum.kept_messages += c.kept_messages;
            sum.kept_bytes += c.kept_bytes;
            sum.links += c.links;
            sum.connections += c.connections;
        }
        return sum;
    }
    /// Returns when nobody is told of losses any more.
    void close() {
        std::map<std::pair<std::string, int>, std::shared_ptr<peer>> all;
        {
            const std::lock_guard lock(guard_);
            all.swap(known_);
        }
        for (auto& [task, p] : all) p->close();
        to_owner_->shut();
    }

private:
    transport& transport_;
    const cluster cluster_;
    const identity self_;
    const link_options link_;
    const lost lost_;
    const std::shared_ptr<gate> to_owner_; // links may outlive this
    mutable std::mutex guard_;             // of what follows
    std::map<std::pair<std::string, int>, std::shared_ptr<peer>> known_;
};

} // namespace tenon::net
