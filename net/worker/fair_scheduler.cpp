#include <net/worker/fair_scheduler.hpp>

#include <algorithm>
#include <utility>

#include <tenon/concurrency/deferred_flush.hpp>
#include <tenon/concurrency/submit_scope.hpp>

namespace tenon::net {

namespace {

using clock = std::chrono::steady_clock;

} // namespace

fair_scheduler::fair_scheduler(transport& t, thread_pool& pool) :
    transport_(t), pool_(pool), width_(static_cast<std::size_t>(pool.size())) {}

fair_scheduler::~fair_scheduler() {
    std::list<std::thread> all;
    {
        lock held(guard_);
        is_ending_ = true;
        work_came_.notify_all();
        slice_ended_.notify_all();
        thread_left_.wait(held, [&] { return threads_ == 0 && !first_; });
        all.splice(all.end(), all_);
        all.splice(all.end(), ended_);
    }
    for (std::thread& t : all) t.join();
}

// ---- what is under way

std::size_t fair_scheduler::free_slots() const noexcept {
    const time_point fresh = clock::now() - slice;
    std::size_t taken = 0;
    for (const running* r = last_; r && r->since > fresh && taken < width_; r = r->before) ++taken;
    return width_ - taken;
}

// When the first of those that count has had its slice.
time_point fair_scheduler::next_slot() const noexcept {
    const running* r = last_;
    for (std::size_t n = 1; n < width_ && r->before; ++n) r = r->before;
    return r->since + slice;
}

void fair_scheduler::enter(running& r) noexcept {
    r.since = clock::now();
    r.before = last_;
    (last_ ? last_->after : first_) = &r;
    last_ = &r;
}

void fair_scheduler::leave(running& r) noexcept {
    (r.before ? r.before->after : first_) = r.after;
    (r.after ? r.after->before : last_) = r.before;
}

// ---- whose turn it is

void fair_scheduler::put_in_order(std::uint64_t session, session_queue& l) {
    if (l.is_in_order || l.tasks.empty() || l.running >= width_) return;
    client& c = clients_[l.client];
    c.order.push_back(session);
    l.is_in_order = true;
    put_in_order(l.client, c);
}

void fair_scheduler::put_in_order(std::uint64_t number, client& c) {
    if (c.is_in_order || c.order.empty()) return;
    c.is_in_order = may_begin(c) <= clock::now();
    if (c.is_in_order) order_.push_back(number);
    held_ -= c.is_held;
    c.is_held = !c.is_in_order;
    held_ += c.is_held;
}

time_point fair_scheduler::may_begin(const client& c) const {
    if (c.running < 2 * width_) return time_point::min();
    constexpr std::size_t most = 9; // five seconds
    return c.began + slice * (1 << std::min(c.running / width_ - 1, most));
}

time_point fair_scheduler::first_held() const {
    time_point first = time_point::max();
    for (const auto& [number, c] : clients_)
        if (c.is_held) first = std::min(first, may_begin(c));
    return first;
}

void fair_scheduler::let_held_begin() {
    for (auto& [number, c] : clients_)
        if (c.is_held) put_in_order(number, c);
}

bool fair_scheduler::find_next(next& n) {
    if (order_.empty()) return false;
    const std::uint64_t number = order_.front();
    order_.pop_front();
    client& c = clients_.find(number)->second;
    c.is_in_order = false;
    n.session = c.order.front();
    n.client = number;
    c.order.pop_front();
    session_queue& l = queues_.find(n.session)->second;
    l.is_in_order = false;
    n.task = std::move(l.tasks.front());
    l.tasks.pop_front();
    ++l.running;
    begin(c);
    put_in_order(n.session, l); // behind the others
    put_in_order(number, c);
    return true;
}

void fair_scheduler::begin(client& c) {
    ++c.running;
    c.began = clock::now();
}

void fair_scheduler::end(std::uint64_t number) {
    const auto at = clients_.find(number);
    if (--at->second.running == 0 && at->second.order.empty()) clients_.erase(at);
    else put_in_order(number, at->second);
    if (is_ending_ && held_ == 0) slice_ended_.notify_all();
}

void fair_scheduler::leave(std::uint64_t session, std::uint64_t number) {
    const auto at = queues_.find(session);
    --at->second.running;
    if (at->second.running == 0 && at->second.tasks.empty()) queues_.erase(at);
    else put_in_order(session, at->second);
    end(number);
}

// ---- threads

// For each task that can begin now, and one that waits for the end of a slice where others cannot.
void fair_scheduler::call_threads() {
    if (order_.empty() && held_ == 0) return;
    const std::size_t free = free_slots(), wanted = std::min(order_.size(), free);
    const bool watches = (wanted < order_.size() || held_ > 0) && !is_watching_;
    if (is_watching_ && wanted < order_.size() && free == 0 && next_slot() < watched_until_) slice_ended_.notify_one();
    while (called_ + starting_ < wanted + (watches ? 1 : 0)) {
        if (called_ < idle_) {
            ++called_;
            work_came_.notify_one();
        } else if (!start_thread()) return;
    }
}

bool fair_scheduler::start_thread() {
    if (threads_ >= most_threads) return false;
    try {
        const auto own = all_.emplace(all_.end());
        try {
            *own = std::thread([this, own] {
                lock held(guard_);
                --starting_;
                work(held);
                if (!is_ending_) ended_.splice(ended_.end(), all_, own); // who has nothing to do joins it
                --threads_;
                thread_left_.notify_all();
                if (is_ending_) work_came_.notify_all();
            });
        } catch (...) {
            all_.erase(own);
            throw;
        }
    } catch (...) { // the system has no more
        return false;
    }
    ++threads_;
    ++starting_;
    return true;
}

void fair_scheduler::work(lock& held) {
    const deferred_flush nothing([] {}); // it knows when kernels run here
    for (;;) {
        const bool is_full = !order_.empty() && free_slots() == 0;
        if ((is_full || (order_.empty() && held_ > 0)) && !is_watching_) {
            is_watching_ = true;
            watched_until_ = is_full ? next_slot() : first_held();
            slice_ended_.wait_until(held, watched_until_);
            is_watching_ = false;
            let_held_begin();
            continue;
        }
        if (order_.empty() || is_full) {
            if (order_.empty() && (is_ending_ || idle_ > width_)) return;
            if (!ended_.empty()) {
                std::list<std::thread> joined;
                joined.swap(ended_);
                held.unlock();
                for (std::thread& t : joined) t.join();
                held.lock();
                continue;
            }
            ++idle_;
            work_came_.wait(held);
            --idle_;
            if (called_ > 0) --called_;
            continue;
        }
        next n;
        (void)find_next(n);
        running r;
        enter(r);
        call_threads(); // for the others
        held.unlock();
        run(n.session, n.task);
        n.task = work_item();
        held.lock();
        leave(r);
        leave(n.session, n.client);
    }
}

// ---- tasks

void fair_scheduler::run(std::uint64_t session, work_item& task) {
    const auto own = [&](work_item& more) { return take(session, more); };
    const submit_scope scope(pool_, own);
    task();
}

bool fair_scheduler::take(std::uint64_t session, work_item& task) {
    if (!transport_.has_threads() || deferred_flush::runs_kernels()) return false;
    submit(session, false, std::move(task));
    return true;
}

// It is counted already.
void fair_scheduler::defer(std::uint64_t session, std::uint64_t number, work_item& task) {
    running r;
    {
        const std::lock_guard held(guard_);
        enter(r);
    }
    run(session, task);
    task = work_item(); // the last of a server that ends, which waits for this in the destructor
    const std::lock_guard held(guard_);
    leave(r);
    end(number);
    call_threads();
    if (is_ending_) thread_left_.notify_all();
}

void fair_scheduler::submit(std::uint64_t session, bool is_long, work_item task) {
    if (!transport_.has_threads()) return pool_.submit(std::move(task));
    std::uint64_t number = 0; // the client's
    const auto is_next = [&] {
        const std::lock_guard held(guard_);
        if (!order_.empty() || free_slots() == 0) return false;
        client& c = clients_[number = client_of(session)];
        if (may_begin(c) > clock::now()) return false;
        begin(c);
        return true;
    };
    if (!is_long && is_next()) {
        auto kept = std::make_shared<work_item>(std::move(task));
        work_item aside = [this, session, number, kept] { defer(session, number, *kept); };
        if (transport_.defer(aside)) return;
        task = std::move(*kept);
        const std::lock_guard held(guard_);
        end(number);
    }
    next alone;
    {
        const std::lock_guard held(guard_);
        const auto [at, is_new] = queues_.try_emplace(session);
        session_queue& l = at->second;
        if (is_new) l.client = client_of(session);
        l.tasks.push_back(std::move(task));
        put_in_order(session, l);
        call_threads();
        if (threads_ == 0 && find_next(alone)) leave(alone.session, alone.client); // no thread can be had
    }
    if (alone.task) pool_.submit(std::move(alone.task));
}

void fair_scheduler::enter(std::uint64_t session, const std::string& whose) {
    const std::lock_guard held(guard_);
    entered_[session] = std::hash<std::string>()(whose.substr(0, whose.rfind(':')));
}

void fair_scheduler::forget(std::uint64_t session) noexcept {
    const std::lock_guard held(guard_);
    entered_.erase(session);
}

std::uint64_t fair_scheduler::client_of(std::uint64_t session) const {
    const auto at = entered_.find(session);
    return at == entered_.end() ? session : at->second;
}

fair_scheduler::counts fair_scheduler::count() const {
    const std::lock_guard held(guard_);
    counts c;
    for (const auto& [session, l] : queues_) c.waiting += l.tasks.size();
    for (const running* r = first_; r; r = r->after) ++c.running;
    c.threads = threads_;
    c.clients = clients_.size();
    return c;
}

// ---- in order

void strand::post(fair_scheduler& on, std::uint64_t session, bool is_long, work_item task) {
    {
        const std::lock_guard held(guard_);
        const bool is_here = !is_busy_ && !is_long;
        if (!is_here) waiting_.push_back(std::move(task));
        if (is_busy_) return;
        is_busy_ = true;
    }
    if (task) {
        task();
        task = work_item();
        const std::lock_guard held(guard_);
        is_busy_ = !waiting_.empty();
        if (!is_busy_) return;
    }
    try {
        on.submit(session, true, [self = shared_from_this()] { self->drain(); });
    } catch (...) { // no memory for that
        drain();
    }
}

void strand::drain() {
    for (;;) {
        work_item task;
        {
            const std::lock_guard held(guard_);
            if (waiting_.empty()) {
                is_busy_ = false;
                return;
            }
            task = std::move(waiting_.front());
            waiting_.pop_front();
        }
        task();
    }
}

} // namespace tenon::net
