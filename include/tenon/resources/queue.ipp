#pragma once

#include <algorithm>
#include <atomic>
#include <charconv>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>

#include <tenon/concurrency/failure.hpp>
#include <tenon/core/error.hpp>
#include <tenon/io/stream/stacked.hpp>
#include <tenon/resources/queue.hpp>

#include <tenon/resources/queue_elements.inl>

namespace tenon {

TENON_INLINE std::string to_string(const queue_description& d) {
    const char* order = d.order == queue_order::shuffled   ? "shuffled "
                        : d.order == queue_order::priority ? "priority "
                        : d.padded                         ? "padding "
                                                           : "";
    std::string text =
        std::string(order) + "queue of " + to_string(d.components) + ", capacity " + std::to_string(d.capacity);
    if (d.order == queue_order::shuffled) text += ", min_after_dequeue " + std::to_string(d.min_after_dequeue);
    return text;
}

struct queue_resource::state {
    using attempts = detail::intrusive_list<queue_attempt, &queue_attempt::links_>;

    state(const std::string& n, const queue_description& d) : name(n), description(d) {
        if (d.order == queue_order::shuffled) elements = std::make_unique<detail::shuffled_elements>(d.key);
        else if (d.order == queue_order::priority) elements = std::make_unique<detail::priority_elements>();
        else elements = std::make_unique<detail::fifo_elements>();
    }

    const std::string& name;
    const queue_description& description;
    mutable std::mutex guard; // of what follows
    std::unique_ptr<detail::queue_elements> elements;
    attempts enqueuers, dequeuers, done;
    std::uint64_t came = 0;
    std::atomic<std::size_t> held{0}; // taken, and not let go of; those that are need no lock
    bool closed = false;
    std::exception_ptr failed;

    static bool enqueues(const queue_attempt& a) { return a.what_ == queue_attempt::kind::enqueue; }
    attempts& queue_of(const queue_attempt& a) { return enqueues(a) ? enqueuers : dequeuers; }
    std::int64_t count() const { return static_cast<std::int64_t>(elements->size()); }
    std::int64_t takeable() const {
        const std::int64_t kept = closed ? 0 : description.min_after_dequeue;
        return count() > kept ? count() - kept : 0;
    }

    void end(queue_attempt& a, std::exception_ptr why = nullptr) {
        queue_of(a).remove(a);
        a.waits_ = false;
        a.failure_ = std::move(why);
        done.push(a);
    }
    std::exception_ptr closed_to_enqueuers() const {
        return failure_of([&] { return cancelled_error("queue \"" + name + "\" is closed."); });
    }
    std::exception_ptr no_memory() const {
        return failure_of(
            [&] { return resource_exhausted_error("queue \"" + name + "\": no memory for more elements"); });
    }
    void put_back(queue_attempt& a) noexcept {
        while (!a.elements_.empty()) {
            elements->put_back(std::move(a.elements_.back()));
            a.elements_.pop_back();
            --held;
        }
    }
    void let_go(queue_attempt& a) noexcept {
        held -= a.elements_.size();
        a.elements_.clear();
    }

    // True where the first who waits to enqueue put something in.
    bool serve_enqueuer() {
        queue_attempt* a = enqueuers.first;
        if (!a) return false;
        bool moved = false;
        if (a->moved_ == 0) a->first_ = came;
        try {
            for (; !a->elements_.empty() && count() < description.capacity; ++a->moved_, moved = true) {
                a->elements_.back().number = came++;
                elements->put(std::move(a->elements_.back()), held);
                a->elements_.pop_back();
            }
            if (!a->elements_.empty()) return moved;
            end(*a);
        } catch (const std::bad_alloc&) {
            if (a->moved_ > 0) elements->withdraw(a->first_);
            end(*a, no_memory());
        }
        return true;
    }
    // True where the first who waits to dequeue took something, or is done.
    bool serve_dequeuer() {
        queue_attempt* a = dequeuers.first;
        if (!a) return false;
        const auto have = [&] { return static_cast<std::int64_t>(a->elements_.size()); };
        const bool had = have() > 0;
        bool moved = false;
        for (; have() < a->most_ && takeable() > 0; moved = true) {
            try {
                if (a->elements_.size() == a->elements_.capacity()) a->elements_.reserve(2 * a->elements_.size() + 1);
            } catch (const std::bad_alloc&) {
                put_back(*a);
                end(*a, no_memory());
                return true;
            }
            ++held;
            a->elements_.push_back(elements->take());
        }
        const bool is_last = closed && !enqueuers.first; // nothing more will come
        if (have() < a->least_ && !is_last) return moved;
        const bool enough = have() >= a->least_ || (a->takes_rest_ && have() > 0);
        if (!enough || (have() == 0 && is_last && a->takes_rest_ && a->most_ > 0)) {
            put_back(*a);
            end(*a, failure_of([&] {
                return end_of_data_error("queue \"" + name + "\" is closed and has insufficient elements (requested " +
                                         std::to_string(std::max<std::int64_t>(1, a->least_)) + ", current size " +
                                         std::to_string(count()) + ")");
            }));
            return true;
        }
        if (had && description.order == queue_order::priority) choose_least(*a);
        end(*a);
        return true;
    }
    // What it took while it waited may be more than what came later.
    void choose_least(queue_attempt& a) {
        const auto comes_before = [](const detail::queue_element& x, const detail::queue_element& y) {
            return std::pair(x.priority, x.number) < std::pair(y.priority, y.number);
        };
        std::sort(a.elements_.begin(), a.elements_.end(), comes_before);
        auto greatest = a.elements_.rbegin();
        while (greatest != a.elements_.rend() && elements->exchange(*greatest)) ++greatest;
        std::sort(a.elements_.begin(), a.elements_.end(), comes_before);
    }
    // Who enqueues comes first: what there is room for is there when somebody takes what is there.
    void serve() {
        do
            while (serve_enqueuer()) {
            }
        while (serve_dequeuer());
    }
    void complete(attempts ended) noexcept; // not under the guard
    std::vector<any_array> batch(const std::vector<detail::queue_element>& taken) const;
};

TENON_INLINE void check_queue(const std::string& name, const queue_description& q) {
    const auto require = [&](bool good, const std::string& wrong) {
        if (!good) throw invalid_argument_error("queue \"" + name + "\": " + wrong);
    };
    require(!q.components.empty(), "its elements have no components; give the types of at least one");
    require(q.capacity >= 1, "its capacity is " + std::to_string(q.capacity) + "; give 1 or more");
    require(q.min_after_dequeue >= 0 && q.min_after_dequeue < q.capacity,
            "min_after_dequeue is " + std::to_string(q.min_after_dequeue) + " of a capacity of " +
                std::to_string(q.capacity) + "; give 0 or more, and less than the capacity");
    require(q.order != queue_order::priority || q.components[0] == tensor_type{element_type::int64, {}},
            "component 0 of a priority queue is the priority, a scalar int64, not " + to_string(q.components[0]));
}

TENON_INLINE queue_resource::queue_resource(std::string name, queue_description d) :
    name_(std::move(name)), description_(std::move(d)) {
    check_queue(name_, description_);
    state_ = std::make_unique<state>(name_, description_);
}
TENON_INLINE queue_resource::~queue_resource() = default;

// Does something under the lock, and completes outside of it what that made possible.
TENON_INLINE void queue_resource::change(function_ref<void()> what) {
    state::attempts done;
    {
        const std::lock_guard lock(state_->guard);
        what();
        done = std::exchange(state_->done, {});
    }
    state_->complete(done);
}

TENON_INLINE void queue_resource::ask(queue_attempt& a) {
    change([&] {
        a.moved_ = 0;
        a.waits_ = true;
        state_->queue_of(a).push(a);
        if (state_->failed) state_->end(a, state_->failed);
        else if (state_->closed && state::enqueues(a)) state_->end(a, state_->closed_to_enqueuers());
        else state_->serve();
        // Who wants none does not wait for those before it.
        if (a.waits_ && !state::enqueues(a) && a.least_ == 0) state_->end(a);
    });
}

TENON_INLINE void queue_resource::state::complete(attempts ended) noexcept {
    ended.for_each([&](queue_attempt& a) {
        attempts more;
        if (!a.failure_ && !enqueues(a)) {
            try {
                if (a.what_ != queue_attempt::kind::dequeue) a.tuple = batch(a.elements_);
                else if (!a.keeps) a.tuple = std::move(a.elements_.front().tuple);
                else
                    for (const any_array& component : a.elements_.front().tuple) a.tuple.push_back(component.share());
            } catch (...) { // no memory, or sizes that do not go together: nothing is lost
                a.failure_ = std::current_exception();
                const std::lock_guard lock(guard);
                put_back(a);
                serve();
                more = std::exchange(done, {});
            }
        }
        if (!a.keeps || a.failure_) {
            if (enqueues(a)) a.elements_.clear();
            else let_go(a);
        }
        a.completed(std::exchange(a.failure_, nullptr));
        complete(more);
    });
}

TENON_INLINE std::vector<any_array>
queue_resource::state::batch(const std::vector<detail::queue_element>& taken) const {
    std::vector<any_array> all;
    std::vector<const any_array*> parts(taken.size());
    for (std::size_t c = 0; c < description.components.size(); ++c) {
        for (std::size_t i = 0; i < taken.size(); ++i) parts[i] = &taken[i].tuple[c];
        if (const any_array* other = description.padded ? nullptr : detail::of_other_sizes(parts))
            throw invalid_argument_error("queue \"" + name + "\": elements with component " + std::to_string(c) +
                                         " as " + to_string(parts[0]->type()) + " and " + to_string(other->type()) +
                                         " make no batch; dequeue them one by one, or use a padding queue");
        all.push_back(detail::stacked(description.components[c], parts));
    }
    return all;
}

TENON_INLINE void queue_resource::require_tuple(const std::vector<any_array>& tuple, bool many) const {
    const auto who = [&] { return "queue \"" + name_ + "\": "; };
    if (tuple.size() != description_.components.size())
        throw invalid_argument_error(who() + "its elements have " + std::to_string(description_.components.size()) +
                                     " components, and " + std::to_string(tuple.size()) + " are enqueued");
    for (std::size_t c = 0; c < tuple.size(); ++c) {
        if (!many && tuple[c].type() == description_.components[c]) continue;
        tensor_type declared = description_.components[c];
        if (many) declared.extents.insert(0, dynamic_extent);
        if (const std::string why = misfit(tuple[c].type(), declared); !why.empty())
            throw invalid_argument_error(who() + "component " + std::to_string(c) + " is " + to_string(declared) +
                                         ", and " + to_string(tuple[c].type()) + " is enqueued: " + why);
        if (many && tuple[c].extents()[0].size != tuple[0].extents()[0].size)
            throw invalid_argument_error(who() + "component 0 has " + std::to_string(tuple[0].extents()[0].size) +
                                         " elements, component " + std::to_string(c) + " has " +
                                         std::to_string(tuple[c].extents()[0].size));
    }
}

TENON_INLINE void queue_resource::enqueue(queue_attempt& a) {
    require_tuple(a.tuple, false);
    a.what_ = queue_attempt::kind::enqueue;
    a.elements_.clear();
    detail::queue_element& e = a.elements_.emplace_back();
    if (description_.order == queue_order::priority) e.priority = *a.tuple[0].data<std::int64_t>();
    e.tuple = std::exchange(a.tuple, {});
    ask(a);
}

TENON_INLINE void queue_resource::enqueue_many(queue_attempt& a) {
    require_tuple(a.tuple, true);
    a.what_ = queue_attempt::kind::enqueue;
    a.elements_.clear();
    // The next one is last. Each has memory of its own, so that none keeps the others' alive.
    for (std::int64_t i = a.tuple[0].extents()[0].size; i-- > 0;) {
        detail::queue_element& e = a.elements_.emplace_back();
        for (any_array& component : a.tuple) e.tuple.push_back(component.row(i).copy());
        if (description_.order == queue_order::priority) e.priority = *e.tuple[0].data<std::int64_t>();
    }
    a.tuple.clear();
    ask(a);
}

TENON_INLINE void queue_resource::take(queue_attempt& a, std::int64_t least, std::int64_t most, bool takes_rest) {
    if (least < 0 || most < least)
        throw invalid_argument_error("queue \"" + name_ + "\": " + std::to_string(least) +
                                     (least == most ? std::string() : " to " + std::to_string(most)) +
                                     " elements cannot be dequeued; give 0 or more" +
                                     (least == most ? "" : ", and as most no fewer than as least"));
    a.what_ = queue_attempt::kind::batch;
    a.least_ = least;
    a.most_ = most;
    a.takes_rest_ = takes_rest;
    a.tuple.clear();
    a.elements_.clear();
    ask(a);
}
TENON_INLINE void queue_resource::dequeue(queue_attempt& a) {
    a.what_ = queue_attempt::kind::dequeue;
    a.least_ = a.most_ = 1;
    a.takes_rest_ = false;
    a.tuple.clear();
    a.elements_.clear();
    ask(a);
}
TENON_INLINE void queue_resource::dequeue_many(queue_attempt& a, std::int64_t n) { take(a, n, n, false); }
TENON_INLINE void queue_resource::dequeue_up_to(queue_attempt& a, std::int64_t n) { take(a, n, n, true); }
TENON_INLINE void queue_resource::dequeue_some(queue_attempt& a, std::int64_t least, std::int64_t most) {
    take(a, least, most, true);
}

TENON_INLINE bool queue_resource::stop(queue_attempt& a) noexcept {
    bool waited = false;
    change([&] {
        waited = std::exchange(a.waits_, false);
        if (!waited) return;
        state_->queue_of(a).remove(a);
        if (!state::enqueues(a)) state_->put_back(a);
        else if (a.moved_ > 0) state_->elements->withdraw(a.first_);
        a.elements_.clear();
        state_->serve();
    });
    return waited;
}

TENON_INLINE void queue_resource::give_back(queue_attempt& a) noexcept {
    if (a.elements_.empty()) return;
    change([&] {
        state_->put_back(a);
        state_->serve();
    });
}

TENON_INLINE void queue_resource::let_go(queue_attempt& a) noexcept { state_->let_go(a); }

TENON_INLINE void queue_resource::close(bool cancel_pending_enqueues) {
    bool already = false;
    change([&] {
        already = std::exchange(state_->closed, true);
        if (cancel_pending_enqueues)
            while (state_->enqueuers.first) state_->end(*state_->enqueuers.first, state_->closed_to_enqueuers());
        state_->serve();
    });
    if (already) throw aborted_error("queue \"" + name_ + "\" is closed already.");
}

TENON_INLINE void queue_resource::forgotten() noexcept {
    fail(failure_of([&] { return aborted_error("queue \"" + name_ + "\": its container was reset."); }));
}
TENON_INLINE void queue_resource::fail(std::exception_ptr why) noexcept {
    change([&] {
        state_->failed = why;
        for (state::attempts* l : {&state_->enqueuers, &state_->dequeuers})
            while (l->first) state_->end(*l->first, why);
    });
}

TENON_INLINE bool queue_resource::is_closed() const {
    const std::lock_guard lock(state_->guard);
    return state_->closed;
}
TENON_INLINE void queue_resource::describe(resource_info& to) const {
    to.description = std::to_string(size()) + " of " + std::to_string(description_.capacity) + " elements of " +
                     to_string(description_.components);
}
TENON_INLINE std::optional<queue_fill> queue_fill::of(const std::string& description) {
    queue_fill f;
    const char *at = description.data(), *const end = at + description.size();
    const auto number = [&](std::int64_t& to) {
        if (at == end || *at == '-') return false;
        const auto [stopped, failed] = std::from_chars(at, end, to);
        at = stopped;
        return failed == std::errc();
    };
    const auto word = [&](std::string_view w) {
        const bool is_next = std::string_view(at, static_cast<std::size_t>(end - at)).starts_with(w);
        if (is_next) at += w.size();
        return is_next;
    };
    if (number(f.elements) && word(" of ") && number(f.capacity) && word(" elements of ")) return f;
    return {};
}
TENON_INLINE std::string queue_resource::awaited(const queue_attempt& a) const {
    const std::lock_guard lock(state_->guard);
    const std::string held = std::to_string(state_->count());
    // What it took or has still to put in is its own again once it is done.
    const std::int64_t own = a.waits_ ? static_cast<std::int64_t>(a.elements_.size()) : 0;
    if (state::enqueues(a))
        return "queue \"" + name_ + "\" to have room" +
               (own > 1 ? " for " + std::to_string(own) + " elements" : std::string()) + "; it holds " + held + " of " +
               std::to_string(description_.capacity);
    const std::int64_t stay = state_->closed ? 0 : description_.min_after_dequeue, wanted = a.least_ + stay;
    return "queue \"" + name_ + "\" to have " + std::to_string(wanted) + (wanted == 1 ? " element" : " elements") +
           (stay > 0 ? ", of which " + std::to_string(stay) + " stay" : std::string()) + "; it has " +
           std::to_string(state_->count() + own);
}

TENON_INLINE std::int64_t queue_resource::size() const {
    const std::lock_guard lock(state_->guard);
    return state_->count();
}

} // namespace tenon
