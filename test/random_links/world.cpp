#include "random_links/world.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <utility>

#include <tenon/core/array/array.hpp>

namespace random_links {

using namespace std::chrono_literals;
using net::bytes;
using net::duration;
using net::time_point;

namespace {

enum verb : std::uint8_t { add, read, ask };
constexpr std::uint32_t keys = 4;

std::string host_name(std::size_t i) { return "host" + std::to_string(i); }
std::string address(std::size_t i) { return host_name(i) + ":1000"; }

/// What an operation's array holds.
tn::any_array pattern(std::uint64_t id, std::size_t count) {
    tn::any_array a(tn::element_type::int64, tn::extents{static_cast<std::int64_t>(count)});
    auto* x = a.data<std::int64_t>();
    for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<std::int64_t>(id * 1000003 + i);
    return a;
}

} // namespace

struct world::node {
    std::size_t index = 0;
    std::uint64_t life = 0;
    bool alive = false;
    net::transport* t = nullptr;
    std::unique_ptr<counter_service> handler;
    std::unique_ptr<net::service> service;
    std::vector<std::shared_ptr<net::peer>> peers; // by host
    std::vector<std::uint64_t> made;               // by host: calls and notes made to it
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t>
        known; // by life and key: sums that were acknowledged
};

/// What a host does when it is called.
class world::counter_service final : public net::service_handler {
public:
    counter_service(world& w, node& n) : world_(w), life_(n.life), transport_(*n.t) {}

    void linked(net::link_number link, const net::link_peer& who) override {
        if (!links_.emplace(link, seen{who.incarnation, 0, {}}).second) world_.wrong("a link begins twice");
    }
    void called(net::link_number link, std::uint8_t v, bytes body, std::vector<tn::any_array> arrays,
                time_point deadline, net::replier&& answer) override {
        if (v == verb::ask) return answer.reply({});
        net::byte_reader r(body, "call");
        const auto id = r.number<std::uint64_t>(), order = r.number<std::uint64_t>();
        operation& o = world_.operations_.at(id);
        in_order(link, order, o);
        if (deadline < o.deadline) world_.wrong("a call has less time than it was given"); // it grows by its way
        std::vector<tn::any_array> back;
        for (const auto& a : arrays) back.push_back(a.copy()); // where it came is used again
        if (v == verb::add) {
            apply(o);
            check(o, arrays);
        }
        net::byte_writer w;
        w.number(life_);
        w.number(counters_[o.key]);
        auto& at = links_.at(link);
        if (world_.uniform() < 0.7) return answer.reply(w.take(), std::move(back));
        // Later, from a timer, or earlier when it is cancelled.
        const auto request = answer.request();
        at.open.emplace(request, std::move(answer));
        transport_.call_at(transport_.now() + world_.about(300ms),
                           [this, link, request, reply = std::make_shared<bytes>(w.take())] {
                               finish(link, request, std::move(*reply));
                           });
    }
    void noted(net::link_number link, std::uint8_t, bytes body, std::vector<tn::any_array> arrays) override {
        net::byte_reader r(body, "note");
        const auto id = r.number<std::uint64_t>(), order = r.number<std::uint64_t>();
        operation& o = world_.operations_.at(id);
        in_order(link, order, o);
        apply(o);
        check(o, arrays);
    }
    void cancelled(net::link_number link, std::uint64_t request) override {
        if (world_.uniform() < 0.5) finish(link, request, {});
    }
    tn::any_array place_for(net::link_number, std::uint8_t, const bytes& body, std::size_t, const tn::tensor_type& type,
                            std::size_t) override {
        if (world_.uniform() < 0.3) return {};
        net::byte_reader r(body, "message");
        tn::any_array& place = places_[r.number<std::uint64_t>()];
        if (!place) place = tn::any_array(type.element, type.extents);
        return place.share();
    }
    void peer_lost(net::link_number link, const std::string&) override {
        if (links_.erase(link) != 1) world_.wrong("a link ends that has not begun");
    }
    std::size_t links() const { return links_.size(); }
    void check_places() {
        for (const auto& place : used_) check_unused(place);
    }

private:
    struct seen {
        std::uint64_t incarnation = 0;
        std::uint64_t order = 0; // the last
        std::map<std::uint64_t, net::replier> open;
    };
    void in_order(net::link_number link, std::uint64_t order, const operation& o) {
        const auto found = links_.find(link);
        if (found == links_.end()) return world_.wrong("a message comes on a link that has not begun, or has ended");
        if (found->second.order >= order) world_.wrong("operation " + std::to_string(o.id) + " comes out of order");
        if (found->second.incarnation != o.life)
            world_.wrong("operation " + std::to_string(o.id) + " comes on another's link");
        found->second.order = order;
    }
    void apply(operation& o) {
        if (++o.applied > 1) world_.wrong("operation " + std::to_string(o.id) + " was applied twice");
        counters_[o.key] += o.amount;
    }
    void check(const operation& o, const std::vector<tn::any_array>& arrays) {
        for (const auto& a : arrays)
            if (!(a == pattern(o.id, static_cast<std::size_t>(a.elements()))))
                world_.wrong("an array has other elements");
        // A place that has been used is used for something else; nobody may write there any more.
        const auto found = places_.find(o.id);
        if (found == places_.end()) return;
        std::fill_n(found->second.data<std::int64_t>(), found->second.elements(), -1);
        used_.push_back(std::move(found->second));
        places_.erase(found);
        if (used_.size() <= 50) return;
        check_unused(used_.front());
        used_.pop_front();
    }
    void check_unused(const tn::any_array& place) {
        const auto* x = place.data<std::int64_t>();
        if (std::count(x, x + place.elements(), -1) != place.elements())
            world_.wrong("a place was written to after its message came");
    }
    void finish(net::link_number link, std::uint64_t request, bytes reply) {
        const auto l = links_.find(link);
        if (l == links_.end()) return;
        const auto found = l->second.open.find(request);
        if (found == l->second.open.end()) return;
        net::replier answer = std::move(found->second);
        l->second.open.erase(found);
        answer.reply(std::move(reply));
    }

    world& world_;
    const std::uint64_t life_;
    net::transport& transport_;
    std::uint64_t counters_[keys] = {};
    std::map<net::link_number, seen> links_;
    std::unordered_map<std::uint64_t, tn::any_array> places_; // by operation
    std::deque<tn::any_array> used_;
};

world::world(std::uint64_t seed, const settings& s) : settings_(s), random_(seed), net_(seed ^ 0x9e3779b97f4a7c15ULL) {
    const std::size_t hosts = 3 + below(4);
    if (below(3) == 0) { // little room: calls wait
        limits_.calls = 1 + below(8);
        limits_.bytes = 1 + below(200000);
    }
    if (below(2) == 0) link_.acknowledge_messages = 1 + below(8);
    if (below(2) == 0) token_ = "secret " + std::to_string(seed);
    for (std::size_t i = 0; i < hosts; ++i) nodes_.push_back(std::make_unique<node>());
    for (std::size_t i = 0; i < hosts; ++i)
        for (std::size_t j = 0; j < hosts; ++j)
            if (i != j && below(4) == 0) net_.set_line(host_name(i), host_name(j), {20ms, 30ms, 1e6});

    net::simulated_faults f;
    const auto some = [&](double most) { return below(2) ? uniform() * most : 0; };
    const auto every = [&](duration mean) { return below(4) ? duration(about(mean)) + 200ms : duration{}; };
    f.duplicate = some(0.05);
    f.reorder = some(0.2);
    f.slow = some(0.05);
    f.slow_by = about(300ms);
    f.refuse = some(0.3);
    f.connection_life = every(3s);
    f.one_side = some(1);
    f.partition_every = every(5s);
    f.partition_for = about(3s);
    f.one_way = uniform();
    f.pause_every = every(10s);
    f.pause_for = about(3s);
    f.clock_jump_every = every(10s);
    net_.inject(f);
}

world::~world() {
    for (auto& n : nodes_)
        if (n->alive) kill(n->index, true);
}

duration world::about(duration mean) {
    return duration(
        static_cast<duration::rep>(static_cast<double>(mean.count()) * std::min(-std::log(uniform() + 1e-12), 6.0)));
}

void world::wrong(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
    net_.remember("WRONG: " + what);
}

void world::start(std::size_t host) {
    node& n = *nodes_[host];
    n.index = host;
    n.life = ++lives_;
    n.alive = true;
    n.t = &net_.start(host_name(host));
    n.known.clear();
    n.made.assign(nodes_.size(), 0);
    n.handler = std::make_unique<counter_service>(*this, n);
    net::service_options so{
        .self = {"node", static_cast<std::int32_t>(host), n.life, 77, token_, false}, .link = link_, .limits = limits_};
    n.service = net::service::make(*n.t, so, *n.handler);
    n.service->listen(address(host));
    n.peers.clear();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (i == host) {
            n.peers.push_back(nullptr);
            continue;
        }
        net::peer_options po{
            .address = address(i), .job = "node", .task = static_cast<std::int32_t>(i), .self = so.self, .link = link_};
        n.peers.push_back(net::peer::make(*n.t, po));
    }
    plan_call(host);
}

void world::kill(std::size_t host, bool silently) {
    node& n = *nodes_[host];
    for (auto& [id, o] : operations_)
        if (o.from == host && o.life == n.life && !o.ended) o.caller_died = true;
    n.alive = false;
    for (const auto& p : n.peers)
        if (p) sums_.links += p->count().links, sums_.connections += p->count().connections;
    net_.kill(host_name(host), silently);
    n.peers.clear();
    n.service.reset();
    n.handler.reset();
}

void world::plan_call(std::size_t host) {
    node& n = *nodes_[host];
    n.t->call_at(n.t->now() + about(50ms), [this, host, &n] {
        if (!faulty_ || !wrong_.empty()) return;
        make_call(n);
        plan_call(host);
    });
}

void world::plan_kill() {
    net_.call_at(net_.now() + about(12s), [this] {
        if (!faulty_) return;
        const std::size_t host = below(nodes_.size());
        if (nodes_[host]->alive) {
            kill(host, below(3) == 0);
            ++sums_.restarts;
            net_.call_at(net_.now() + about(4s), [this, host] { start(host); });
        }
        plan_kill();
    });
}

void world::make_call(node& n) {
    operation o{.id = operations_.size() + 1, .from = n.index};
    do o.to = below(nodes_.size());
    while (o.to == n.index);
    const double which = uniform();
    o.what = which < 0.6 ? operation::kind::add : which < 0.8 ? operation::kind::read : operation::kind::note;
    o.key = static_cast<std::uint32_t>(below(keys));
    o.amount = o.what == operation::kind::read ? 0 : 1 + below(100);
    o.life = n.life;
    o.made = net_.now();
    o.deadline = o.made + (below(3) ? about(8s) : about(100ms)) + 1ms;
    net::peer& p = *n.peers[o.to];
    o.known_of = p.incarnation();
    if (o.what == operation::kind::read)
        if (const auto k = n.known.find({o.known_of, o.key}); k != n.known.end()) o.at_least = k->second;
    net::byte_writer w;
    w.number(o.id);
    w.number(++n.made[o.to]);
    std::vector<tn::any_array> arrays;
    if (o.amount > 0 && below(5) == 0) arrays.push_back(pattern(o.id, below(6) ? below(100) : below(40000)));
    const auto id = o.id;
    operation& kept = operations_[id] = o;
    if (o.what == operation::kind::note) {
        ++sums_.notes;
        kept.ended = 1;
        return p.note(0, w.take(), std::move(arrays));
    }
    ++sums_.calls;
    const auto call = p.call(
        kept.amount ? verb::add : verb::read, w.take(), std::move(arrays), o.deadline,
        [this, id](net::answer a) { ended(operations_.at(id), a); }, 0,
        [this](const bytes&, std::size_t, const tn::tensor_type& type) {
            return uniform() < 0.5 ? tn::any_array(type.element, type.extents) : tn::any_array();
        });
    if (below(10) == 0)
        n.t->call_at(n.t->now() + about(100ms), [this, id, call, peer = std::weak_ptr(n.peers[o.to])] {
            operation& c = operations_.at(id);
            c.cancelled = true;
            if (const auto alive = peer.lock()) alive->cancel(call);
            if (!c.ended) wrong("a cancelled call goes on");
        });
}

void world::ended(operation& o, const net::answer& a) {
    if (o.caller_died) return;
    const std::string name = "operation " + std::to_string(o.id);
    if (++o.ended > 1) wrong(name + " has ended twice");
    const auto now = net_.now();
    if (now > o.deadline + 2ms && now > net_.went_on(host_name(o.from)) + 2ms)
        wrong(name + " has ended " + std::to_string(std::chrono::duration<double>(now - o.deadline).count()) +
              " s after its deadline");
    if (a.failed) {
        o.error = a.code;
        switch (a.code) {
        case tn::error_code::unavailable: ++sums_.unavailable; break;
        case tn::error_code::aborted: ++sums_.aborted; break;
        case tn::error_code::deadline_exceeded:
            ++sums_.late;
            if (now < o.deadline) wrong(name + " has met its deadline early");
            break;
        case tn::error_code::cancelled:
            ++sums_.cancelled;
            if (!o.cancelled) wrong(name + " was cancelled, by nobody");
            break;
        default: wrong(name + " has failed: " + a.message);
        }
        if (a.message.find(host_name(o.to)) == std::string::npos &&
            a.message.find("/task:" + std::to_string(o.to)) == std::string::npos)
            wrong("an error does not name who failed: " + a.message);
        return;
    }
    ++sums_.succeeded;
    if (o.amount && o.applied != 1)
        wrong(name + " has succeeded and was applied " + std::to_string(o.applied) + " times");
    net::byte_reader r(a.body, "answer");
    const auto life = r.number<std::uint64_t>(), value = r.number<std::uint64_t>();
    if (life == o.known_of && value < o.at_least)
        wrong(name + " reads " + std::to_string(value) + ", less than was added");
    for (const auto& array : a.arrays)
        if (!(array == pattern(o.id, static_cast<std::size_t>(array.elements()))))
            wrong("an answer's array has other elements");
    if (node& n = *nodes_[o.from]; n.alive) {
        auto& known = n.known[{life, o.key}];
        known = std::max(known, value);
    }
}

void world::check_bounds() {
    net_.call_at(net_.now() + 500ms, [this] {
        for (const auto& n : nodes_) {
            if (!n->alive) continue;
            for (const auto& p : n->peers)
                if (p && p->count().kept_bytes > std::max<std::size_t>(limits_.bytes, 400000) + 200000)
                    wrong("a peer keeps " + std::to_string(p->count().kept_bytes) + " bytes");
            const auto c = n->service->count();
            if (c.calls > limits_.calls * c.links)
                wrong("a service has " + std::to_string(c.calls) + " calls in flight");
            if (c.links > 3 * nodes_.size()) wrong("a service has " + std::to_string(c.links) + " links");
        }
        if (faulty_ && wrong_.empty()) check_bounds();
    });
}

/// After all that went wrong each answers all others, as often as one takes calls at a time.
void world::check_calls() {
    std::size_t wanted = 0, answered = 0;
    for (const auto& n : nodes_)
        for (const auto& p : n->peers)
            for (std::size_t i = 0;
                 p && n->alive && nodes_[static_cast<std::size_t>(&p - n->peers.data())]->alive && i < 9; ++i) {
                ++wanted;
                p->call(verb::ask, {}, {}, net_.now() + 20s, [&](net::answer a) {
                    ++answered;
                    if (a.failed) wrong("when all was mended: " + a.message);
                });
            }
    net_.work_until([&] { return answered == wanted; }, net_.now() + 30s);
    net_.work_for(2s);
    if (answered != wanted) wrong(std::to_string(wanted - answered) + " calls have not ended when all was mended");
}

void world::check_end() {
    std::size_t ready = 0;
    for (const auto& [id, o] : operations_)
        if (!o.caller_died && o.ended != 1) wrong("operation " + std::to_string(id) + " has not ended");
    for (const auto& n : nodes_) {
        if (!n->alive) continue;
        const std::string name = host_name(n->index);
        for (const auto& p : n->peers) {
            if (!p) continue;
            const auto c = p->count();
            if (c.calls || c.waiting || c.waiting_bytes || c.kept_messages || c.kept_bytes)
                wrong(name + " still holds calls or messages to " + p->name() + ": " + std::to_string(c.calls) +
                      " calls, " + std::to_string(c.waiting) + " waiting, " + std::to_string(c.kept_messages) +
                      " kept");
            ready += p->state() == net::peer_state::ready;
            if (p->state() != net::peer_state::ready && p->state() != net::peer_state::idle)
                wrong(name + " is still on its way to " + p->name());
        }
        n->handler->check_places();
        std::size_t to_here = 0;
        for (const auto& m : nodes_)
            if (m->alive && m != n) to_here += m->peers[n->index]->state() == net::peer_state::ready;
        const auto c = n->service->count();
        if (c.calls || c.call_bytes || c.kept_messages || c.kept_bytes || c.handshakes)
            wrong(name + "'s service still holds calls or messages: " + std::to_string(c.calls) + " calls, " +
                  std::to_string(c.kept_messages) + " kept, " + std::to_string(c.handshakes) + " handshakes");
        if (c.links != to_here || n->handler->links() != to_here)
            wrong(name + " has " + std::to_string(c.links) + " links, where " + std::to_string(to_here) +
                  " peers have one");
    }
    if (net_.connections() != ready)
        wrong(std::to_string(net_.connections()) + " connections are open, of " + std::to_string(ready) + " links");
    sums_.events += net_.events();
}

std::string world::run() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) start(i);
    plan_kill();
    check_bounds();
    const auto over = [&] {
        if (net_.events() > 3'000'000) wrong("things happen without end");
        return !wrong_.empty();
    };
    const auto end =
        net_.now() + std::chrono::duration_cast<duration>(std::chrono::duration<double>(settings_.seconds));
    net_.work_until(over, end);
    faulty_ = false;
    if (wrong_.empty()) {
        net_.inject({});
        net_.remember("all is mended");
        // As long as the longest deadline, and then the lease.
        net_.work_until(over, end + 50s + 2 * link_.lease);
    }
    if (wrong_.empty()) check_calls();
    if (wrong_.empty()) check_end();
    return wrong_;
}

} // namespace random_links
