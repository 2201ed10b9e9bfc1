#include <net/rpc/service.hpp>

#include <algorithm>
#include <tuple>

#include <net/link/resident.hpp>
#include <net/rpc/service_link.hpp>

namespace tenon::net {

namespace {

constexpr std::size_t most_tasks = 65536;     // that are remembered
constexpr std::size_t most_lives_before = 64; // of each

/// Uses a connection that nobody wants.
struct nobody final : connection_user {
    message_limits limits() override { return {0, 0, 0}; }
    void received(message) override {}
    void closed(const std::string&) override {}
};

} // namespace

// ---- the core

std::shared_ptr<connection_user> service_core::accept(std::shared_ptr<connection> c) {
    std::shared_ptr<accepted> oldest, made;
    {
        const std::lock_guard held(mutex_);
        made = std::make_shared<accepted>(shared_from_this(), std::move(c), ++made_, transport_.now());
        if (handshakes_.size() >= options.handshakes && !handshakes_.empty()) {
            oldest = std::move(handshakes_.begin()->second);
            handshakes_.erase(handshakes_.begin());
            ++refused_;
        }
        handshakes_.emplace(made->number, made);
        ++connections;
        watch_handshakes();
    }
    if (oldest) oldest->close("too many handshakes are under way: " + std::to_string(options.handshakes));
    return made;
}

/// Locked. One timer for all of them.
void service_core::watch_handshakes() {
    if (watching_ || handshakes_.empty()) return;
    watching_ = true;
    transport_.call_at(handshakes_.begin()->second->began + options.link.handshake, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        std::vector<std::shared_ptr<accepted>> late;
        {
            const std::lock_guard held(self->mutex_);
            self->watching_ = false;
            const time_point now = self->transport_.now();
            for (auto i = self->handshakes_.begin();
                 i != self->handshakes_.end() && i->second->began + self->options.link.handshake <= now;) {
                late.push_back(std::move(i->second));
                i = self->handshakes_.erase(i);
                ++self->refused_;
            }
            self->watch_handshakes();
        }
        for (const auto& a : late) a->close("a handshake took longer than " + in_words(self->options.link.handshake));
    });
}

/// Locked. Why this life of a task is over; or, where a new one has begun, the links of those before.
std::string service_core::fenced(const hello& h, std::vector<std::shared_ptr<service_link>>& replaced) {
    if (h.job.empty()) return {};
    if (tasks_.size() >= most_tasks && !tasks_.contains({h.job, h.task})) return {};
    lives& l = tasks_[{h.job, h.task}];
    if (std::find(l.before.begin(), l.before.end(), h.incarnation) != l.before.end())
        return "another process has taken the place of this " + name_of(h.job, h.task);
    if (l.now == h.incarnation) return {};
    if (l.now != 0) {
        if (l.before.size() >= most_lives_before) l.before.erase(l.before.begin());
        l.before.push_back(l.now);
        for (const auto& [k, link] : links_)
            if (link->who.job == h.job && link->who.task == h.task && link->who.incarnation == l.now)
                replaced.push_back(link);
    }
    l.now = h.incarnation;
    return {};
}

void service_core::confirm(const hello& h, std::function<void(error_code, const std::string& why_not)> then) {
    const auto known = [&] {
        const std::lock_guard held(mutex_);
        const auto l = tasks_.find({h.job, h.task});
        return l != tasks_.end() && (l->second.now == h.incarnation ||
                                     std::find(l->second.before.begin(), l->second.before.end(), h.incarnation) !=
                                         l->second.before.end()); // which admit() refuses
    };
    if (h.job.empty() || !options.address_of || stopping || known()) return then({}, {});
    const std::string who = name_of(h.job, h.task), address = options.address_of(h.job, h.task);
    if (address.empty())
        return then(error_code::failed_precondition, "the cluster has no " + who + ": start it as one of its tasks");
    // Its own handshake waits for this, and should hear why it failed.
    ask_resident(transport_, address, options.self, h.job, h.task, options.link.handshake / 2,
                 [then = std::move(then), who, address, said = h.incarnation](const resident& r) {
                     if (r.incarnation == said) return then({}, {});
                     if (r.incarnation != 0)
                         return then(error_code::failed_precondition,
                                     "another process is " + who + ", and answers at " + address +
                                         ", its address in the cluster: stop this one, or give it a task and an "
                                         "address of its own");
                     then(error_code::unavailable, "it says that it is " + who + ", whose address in the cluster, " +
                                                       address + ", does not answer for it: " + r.why);
                 });
}

std::pair<error_code, std::string> service_core::admit(const std::shared_ptr<accepted>& a, const hello& h,
                                                       const bytes& hello_bytes, const bytes& challenge_bytes,
                                                       std::shared_ptr<service_link>& link) {
    const auto c = a->to();
    if (!c) return {error_code::unavailable, "the connection has ended"};
    const key k{h.incarnation, h.stream};
    std::vector<std::shared_ptr<service_link>> replaced;
    std::shared_ptr<service_link> made;
    {
        const std::lock_guard held(mutex_);
        const auto found = links_.find(k);
        if (found != links_.end() && h.link == found->second->link_of_stream) link = found->second;
        else if (h.established || (found != links_.end() && h.link < found->second->link_of_stream))
            return {error_code::unavailable, "it has given this link up; what is new begins with a new one"};
        else if (stopping) return {error_code::unavailable, name + " is stopping"};
        else if (links_.size() >= options.links)
            return {error_code::resource_exhausted,
                    name + " has " + std::to_string(links_.size()) + " links, and takes no more"};
        if (std::string why = fenced(h, replaced); !why.empty()) return {error_code::aborted, std::move(why)};
        if (!link) {
            if (found != links_.end()) replaced.push_back(found->second);
            made = link = std::make_shared<service_link>(shared_from_this(), ++last_link_,
                                                         link_peer{h.job, h.task, h.incarnation, c->peer()}, h);
        }
    }
    for (const auto& old : replaced)
        old->end(old->who.incarnation == h.incarnation ? "has begun another link" : "was restarted");
    if (made) {
        log("link " + std::to_string(made->number) + ": " + made->who.name() + " is there", true);
        tell([&](service_handler& to) { to.linked(made->number, made->who); });
        bool taken = false;
        {
            const std::lock_guard held(mutex_);
            std::shared_ptr<service_link>& place = links_[k];
            taken = !stopping && (!place || std::find(replaced.begin(), replaced.end(), place) != replaced.end());
            if (taken) place = made;
            else if (!place) links_.erase(k);
        }
        if (!taken) {
            made->end("came twice, or too late");
            return {error_code::unavailable, name + " is stopping, or has another such link"};
        }
    }
    if (!link->attach(a, h, hello_bytes, challenge_bytes))
        return {error_code::unavailable, "a later connection has taken its place"};
    return {};
}

void service_core::shaken(accepted& a) {
    const std::lock_guard held(mutex_);
    handshakes_.erase(a.number);
}

void service_core::gone(accepted& a) {
    {
        const std::lock_guard held(mutex_);
        handshakes_.erase(a.number);
    }
    --connections;
    changed();
}

void service_core::forget(const service_link& link) {
    service::heard last;
    link.add_to(last);
    const std::lock_guard held(mutex_);
    const auto found = links_.find({link.who.incarnation, link.stream});
    if (found != links_.end() && found->second.get() == &link) links_.erase(found);
    const std::pair who{link.who.job, link.who.job.empty() ? 0 : link.who.task};
    if (carried_.size() < most_tasks || carried_.contains(who)) carried_[who] += last.carried;
}

void service_core::refused() {
    const std::lock_guard held(mutex_);
    ++refused_;
}

std::vector<std::shared_ptr<service_link>> service_core::all() const {
    const std::lock_guard held(mutex_);
    std::vector<std::shared_ptr<service_link>> found;
    found.reserve(links_.size());
    for (const auto& [k, link] : links_) found.push_back(link);
    return found;
}

void service_core::end_handshakes(const std::string& why) {
    std::map<std::uint64_t, std::shared_ptr<accepted>> late;
    {
        const std::lock_guard held(mutex_);
        late.swap(handshakes_);
    }
    for (const auto& [n, a] : late) a->close(why);
}

void service_core::clear() {
    std::map<key, std::shared_ptr<service_link>> links;
    std::map<std::uint64_t, std::shared_ptr<accepted>> handshakes;
    const std::lock_guard held(mutex_);
    links.swap(links_);
    handshakes.swap(handshakes_);
}

service::counts service_core::count() const {
    service::counts c;
    {
        const std::lock_guard held(mutex_);
        c.handshakes = handshakes_.size();
        c.refused = refused_;
    }
    for (const auto& link : all()) link->add_to(c);
    return c;
}

std::vector<service::heard> service_core::all_heard() const {
    std::map<std::pair<std::string, std::int32_t>, service::heard> by_task;
    std::vector<std::shared_ptr<service_link>> live;
    {
        const std::lock_guard held(mutex_); // each link is in one of the two
        for (const auto& [who, carried] : carried_) by_task[who].carried = carried;
        for (const auto& [k, link] : links_) live.push_back(link);
    }
    for (const auto& link : live) link->add_to(by_task[{link->who.job, link->who.job.empty() ? 0 : link->who.task}]);
    std::vector<service::heard> rows;
    for (auto& [who, h] : by_task) {
        std::tie(h.job, h.task) = who;
        rows.push_back(std::move(h));
    }
    return rows;
}

// ---- the service

namespace {

class listening_service final : public service {
public:
    listening_service(transport& t, service_options o, service_handler& h) :
        core_(std::make_shared<service_core>(t, std::move(o), h)) {}
    ~listening_service() override {
        stop(core_->transport_.now());
        core_->end();
        core_->clear();
    }

    std::string listen(const std::string& address) override {
        if (core_->stopping) throw failed_precondition_error(core_->name + " is stopping, and listens no more");
        auto l = core_->transport_.listen(
            address, [weak = std::weak_ptr(core_)](std::shared_ptr<connection> c) -> std::shared_ptr<connection_user> {
                if (const auto core = weak.lock()) return core->accept(std::move(c));
                c->close("the service has ended");
                return std::make_shared<nobody>();
            });
        std::string at = l->address();
        const std::lock_guard held(mutex_);
        listeners_.push_back(std::move(l));
        return at;
    }

    bool stop(time_point deadline) override {
        if (core_->stopping.exchange(true)) return true;
        transport& t = core_->transport_;
        auto left = core_->all();
        const bool drained = t.work_until(
            [&] {
                while (!left.empty() && left.back()->is_idle()) left.pop_back();
                return left.empty();
            },
            deadline);
        {
            std::vector<std::unique_ptr<listener>> last;
            const std::lock_guard held(mutex_);
            last.swap(listeners_);
        }
        core_->end_handshakes(core_->name + " is stopping");
        const auto links = core_->all();
        for (const auto& link : links) link->end("is stopping", error_code::unavailable);
        const auto all_ended = [&] { return core_->connections == 0 && core_->telling == 0; };
        // Who hears goodbye closes the connection. Whoever does not has it closed.
        const time_point now = t.now();
        t.work_until(all_ended, drained ? std::min(deadline, now + core_->options.link.heartbeat) : now);
        for (const auto& link : links) link->cut("is stopping");
        core_->end_handshakes(core_->name + " is stopping");
        t.work_until(all_ended, t.now() + core_->options.link.handshake);
        return drained;
    }

    counts count() const override { return core_->count(); }
    std::vector<heard> all_heard() const override { return core_->all_heard(); }
    std::vector<std::pair<link_number, link_peer>> linked() const override {
        std::vector<std::pair<link_number, link_peer>> found;
        for (const auto& link : core_->all()) found.emplace_back(link->number, link->who);
        std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        return found;
    }

private:
    const std::shared_ptr<service_core> core_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<listener>> listeners_;
};

} // namespace

std::unique_ptr<service> service::make(transport& t, service_options options, service_handler& handler) {
    if (options.self.incarnation == 0)
        throw invalid_argument_error("service: this process has no incarnation: see transport::random_number()");
    return std::make_unique<listening_service>(t, std::move(options), handler);
}

} // namespace tenon::net
