#include <net/worker/exchange.hpp>

#include <algorithm>

#include <net/rpc/asking.hpp>
#include <tenon/core/array/memory_payer.hpp>

namespace tenon::net {

namespace {

// About what a value takes of a message.
std::size_t size_of(const edge_value& v) noexcept { return v.value.bytes() + 128; }
constexpr std::size_t most_together = small_message - 256; // beside what a message takes itself

} // namespace

void received_memory::plan(std::int64_t edge) {
    const std::lock_guard lock(guard_);
    kept_.try_emplace(edge);
}

void received_memory::leave(std::int64_t edge) {
    const std::lock_guard lock(guard_);
    kept_.erase(edge);
}

any_array received_memory::place(std::int64_t edge, const tensor_type& type) {
    any_array old; // ends after the lock does
    {
        const std::lock_guard lock(guard_);
        const auto at = kept_.find(edge);
        if (at == kept_.end()) return {};
        any_array& kept = at->second;
        if (kept && !kept.is_unique()) return {};
        if (kept && kept.type() == type) return kept.share();
        old = std::move(kept);
    }
    old = {};
    any_array made(type.element, type.extents); // who is short of memory may ask for what is kept here
    const std::lock_guard lock(guard_);
    if (const auto at = kept_.find(edge); at != kept_.end() && !at->second) at->second = made.share();
    return made;
}

bool received_memory::give_back() noexcept {
    std::vector<any_array> dropped; // end after the lock does
    const std::unique_lock lock(guard_, std::try_to_lock);
    if (!lock) return false;
    try {
        for (auto& [edge, kept] : kept_)
            if (kept && kept.is_unique()) dropped.push_back(std::move(kept));
    } catch (const std::bad_alloc&) { // the rest stays
    }
    return !dropped.empty();
}

task_rendezvous::task_rendezvous(std::shared_ptr<const session_tasks> s, std::uint64_t step,
                                 std::shared_ptr<step_edges> edges) :
    session_(std::move(s)),
    step_(step),
    edges_(std::move(edges)),
    here_(static_cast<std::int64_t>(edges_->to.size())),
    arrived_(edges_->to.size()),
    awaited_(edges_->arriving) {}

void task_rendezvous::send(std::int64_t edge, any_array value) {
    const int route = edges_->to[static_cast<std::size_t>(edge)];
    if (route < 0) {
        here_.send(edge, std::move(value));
        return;
    }
    const std::lock_guard lock(guard_);
    auto to = std::find_if(kept_.begin(), kept_.end(), [&](const outgoing& o) { return o.task == route; });
    if (to == kept_.end()) {
        to = kept_.emplace(kept_.end());
        to->task = route;
    }
    edge_value& v = to->values.emplace_back();
    v.edge = edge;
    v.value = std::move(value);
    to->size += size_of(v);
}

void task_rendezvous::flush(bool all) {
    std::vector<outgoing> going;
    {
        const std::lock_guard lock(guard_);
        for (outgoing& to : kept_)
            if (!to.values.empty() && (all || to.size > most_together)) going.push_back(std::move(to));
        std::erase_if(kept_, [](const outgoing& to) { return to.values.empty(); });
    }
    for (outgoing& to : going) post(std::move(to));
}

void task_rendezvous::post(outgoing&& to) const {
    std::vector<edge_value>& all = to.values;
    const payer_scope nobody(nullptr); // texts are copied: what has been paid for can always be taken out
    std::sort(all.begin(), all.end(), [](const edge_value& a, const edge_value& b) { return a.edge < b.edge; });
    std::stable_partition(all.begin(), all.end(), [](const edge_value& v) { return size_of(v) <= most_together; });
    const session_tasks::task& at = session_->tasks[static_cast<std::size_t>(to.task)];
    for (auto first = all.begin(); first != all.end();) {
        step_values values{.session = session_->session, .step = step_};
        std::size_t size = 0;
        do {
            size += size_of(*first);
            values.values.push_back(std::move(*first++));
        } while (first != all.end() && size + size_of(*first) <= most_together);
        note(*at.at, values, at.incarnation);
    }
}

any_array task_rendezvous::place(std::int64_t edge, const tensor_type& type) {
    {
        const std::lock_guard lock(guard_);
        if (edge < 0 || edge >= static_cast<std::int64_t>(arrived_.size()) || arrived_[static_cast<std::size_t>(edge)])
            return {};
    }
    return edges_->memory.place(edge, type);
}

void task_rendezvous::arrived(edge_value&& v) {
    {
        const std::lock_guard lock(guard_);
        if (v.edge < 0 || v.edge >= static_cast<std::int64_t>(arrived_.size())) return;
        const auto edge = static_cast<std::size_t>(v.edge);
        if (arrived_[edge]) return;
        arrived_[edge] = true;
        if (awaited_ > 0) --awaited_;
    }
    here_.send(v.edge, std::move(v.value));
}

bool task_rendezvous::has_all() {
    const std::lock_guard lock(guard_);
    return awaited_ == 0;
}

void exchange::begin_session(std::uint64_t session, std::shared_ptr<memory_client> memory) {
    const std::lock_guard lock(guard_);
    sessions_.try_emplace(session).first->second.memory = std::move(memory);
}

void exchange::end_session(std::uint64_t session) noexcept {
    session_state dropped; // ends after the lock does
    const std::lock_guard lock(guard_);
    const auto at = sessions_.find(session);
    if (at == sessions_.end()) return;
    dropped = std::move(at->second);
    sessions_.erase(at);
}

std::shared_ptr<task_rendezvous> exchange::open(std::shared_ptr<const session_tasks> s, std::uint64_t step,
                                                std::shared_ptr<step_edges> edges) {
    const std::uint64_t session = s->session;
    auto made = std::make_shared<task_rendezvous>(std::move(s), step, std::move(edges));
    std::vector<edge_value> early;
    {
        const std::lock_guard lock(guard_);
        const auto at = sessions_.find(session);
        if (at == sessions_.end())
            throw_lost_task(error_code::aborted, "the session of this step has ended on this task");
        session_state& here = at->second;
        if (const auto refused = here.refused.extract(step)) {
            here.ended_without.note(step);
            throw resource_exhausted_error("step " + std::to_string(step) + ": values came before it did, and " +
                                           refused.mapped());
        }
        if (!here.open.emplace(step, made).second)
            throw internal_error("step " + std::to_string(step) + " of a session runs on this task already");
        early = here.take_early(step);
    }
    for (edge_value& v : early) made->arrived(std::move(v));
    return made;
}

void exchange::close(std::uint64_t session, std::uint64_t step) noexcept {
    std::shared_ptr<task_rendezvous> closed; // they end after the lock does
    std::vector<edge_value> early;
    const std::lock_guard lock(guard_);
    const auto at = sessions_.find(session);
    if (at == sessions_.end()) return;
    session_state& here = at->second;
    if (const auto open = here.open.find(step); open != here.open.end()) {
        closed = std::move(open->second);
        here.open.erase(open);
    }
    early = here.take_early(step);
    here.refused.erase(step);
    if (!here.has_ended(step)) (closed && closed->has_all() ? here.ended : here.ended_without).note(step);
}

std::vector<edge_value> exchange::session_state::take_early(std::uint64_t step) noexcept {
    const auto came = early.find(step);
    if (came == early.end()) return {};
    std::vector<edge_value> all = std::move(came->second);
    early.erase(came);
    for (const edge_value& v : all) early_bytes -= v.value.bytes();
    return all;
}

void exchange::recent_steps::note(std::uint64_t step) noexcept {
    try {
        if (!steps_.insert(step).second) return;
        in_order_.push_back(step);
        if (in_order_.size() <= most_) return;
        steps_.erase(in_order_.front());
        in_order_.pop_front();
    } catch (const std::bad_alloc&) { // what comes late for it is kept until the session ends, within the limit
    }
}

exchange::counts exchange::count() const {
    const std::lock_guard lock(guard_);
    counts c;
    c.sessions = sessions_.size();
    for (const auto& [number, s] : sessions_) c.open += s.open.size(), c.early_bytes += s.early_bytes;
    return c;
}

void exchange::arrived(step_values&& v) {
    std::shared_ptr<task_rendezvous> open;
    std::vector<edge_value> dropped; // ends after the lock does
    {
        const std::lock_guard lock(guard_);
        const auto at = sessions_.find(v.session);
        if (at == sessions_.end()) return;
        session_state& here = at->second;
        if (const auto there = here.open.find(v.step); there != here.open.end()) open = there->second;
        else {
            if (here.has_ended(v.step) || here.refused.contains(v.step)) return;
            std::size_t size = 0;
            for (const edge_value& e : v.values) size += e.value.bytes();
            if (here.early_bytes + size > early_limit_) { // the step fails when it comes
                dropped = here.take_early(v.step);
                here.refused[v.step] = "more than " + std::to_string(early_limit_) +
                                       " bytes of such are not kept for a session; run fewer steps at a time";
                return;
            }
            here.early_bytes += size;
            std::vector<edge_value>& early = here.early[v.step];
            for (edge_value& e : v.values) early.push_back(std::move(e));
            return;
        }
    }
    for (edge_value& e : v.values) open->arrived(std::move(e));
}

bool exchange::refuse(std::uint64_t session, std::uint64_t step, const std::string& why) {
    std::vector<edge_value> dropped; // ends after the lock does
    const std::lock_guard lock(guard_);
    const auto at = sessions_.find(session);
    if (at == sessions_.end() || at->second.open.contains(step) || at->second.has_ended(step)) return false;
    dropped = at->second.take_early(step);
    at->second.refused.emplace(step, "there was no room for them: " + why);
    return true;
}

any_array exchange::place_for(const bytes& body, const tensor_type& type) {
    // What is large goes by itself.
    if (static_cast<std::size_t>(bytes_of(type)) <= most_together) return {};
    message head{.body = body};
    std::shared_ptr<task_rendezvous> open;
    std::shared_ptr<memory_client> memory;
    awaited_values awaited;
    try {
        awaited = awaited_by(head);
    } catch (const error&) { // the note is refused when all of it is there
        return {};
    }
    if (awaited.edges.size() != 1) return {};
    {
        const std::lock_guard lock(guard_);
        const auto at = sessions_.find(awaited.session);
        if (at == sessions_.end()) return {};
        memory = at->second.memory;
        if (const auto there = at->second.open.find(awaited.step); there != at->second.open.end()) open = there->second;
    }
    const payer_scope pays(memory ? memory.get() : current_payer());
    any_array place = open ? open->place(awaited.edges[0], type) : any_array();
    return place ? std::move(place) : any_array(type.element, type.extents);
}

} // namespace tenon::net
