#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <tenon/concurrency/failure.hpp>
#include <tenon/concurrency/stop_source.hpp>
#include <tenon/core/error.hpp>
#include <tenon/resources/iterator.hpp>

namespace tenon {

struct iterator_resource::state {
    state(std::string iterator_name, std::vector<tensor_type> iterator_components) :
        name(std::move(iterator_name)), components(std::move(iterator_components)) {}

    const std::string name;
    const std::vector<tensor_type> components;
    detail::stop_source reads; // reads that wait for what will not be wanted

    // What was taken for who then did not want it any more.
    struct left_over {
        detail::numbered_element taken;
        std::exception_ptr failure;
    };
    using elements = std::list<detail::numbered_element>; // by number
    // What a state begins with: elements that its stream had given, and nobody took.
    elements read_back(state_reader& from) const {
        constexpr std::uint64_t most = 1 << 20;
        elements all;
        for (auto n = from.number(0, most); n > 0; --n) all.push_back({from.element(components), all.size()});
        return all;
    }

    std::mutex guard; // of all that follows, but the stream, which is whose `serving` is
    std::condition_variable asked;
    std::shared_ptr<const element_source> source;
    std::shared_ptr<element_stream> stream; // made when the first element is asked for
    std::string restored;                   // what it goes on from when it is initialised
    bool has_restored = false;
    std::uint64_t generation = 0; // of the stream
    detail::intrusive_list<iterator_attempt, &iterator_attempt::links_> waiting;
    iterator_attempt* served = nullptr; // whose element is being taken; nullptr: nobody's any more
    bool serving = false;
    bool forgotten = false, stopping = false;
    std::optional<left_over> over; // no memory is needed for it
    elements back;                 // what was given back
    std::uint64_t numbers = 0;     // of elements that were given
    std::thread thread;

    // The first of those that were taken before is in `back`.
    bool goes_back() const { return !back.empty() && (!over || back.front().number < over->taken.number); }
    // Nobody waits where this takes no waiting: what may be given at once, or is refused.
    bool has_at_once(const iterator_attempt& a) const {
        if (!source || !source->may_wait()) return true;
        return !a.saves_ && (over || !back.empty() || (stream && stream->is_ready()));
    }
    void serve(std::unique_lock<std::mutex>& lock, bool may_wait);
    void work();
};

// Serves those that wait, by the thread that has `serving`: all of them where it may wait, else as long as that needs no waiting.
TENON_INLINE void iterator_resource::state::serve(std::unique_lock<std::mutex>& lock, bool may_wait) {
    while (waiting.first) {
        if (!may_wait && !has_at_once(*waiting.first)) break;
        iterator_attempt* const a = waiting.pop();
        served = a;
        std::exception_ptr failure;
        detail::numbered_element taken;
        std::vector<any_array>& values = taken.element;
        const bool saves = a->saves_;
        const std::uint64_t of = generation;
        std::shared_ptr<const element_source> from;
        std::shared_ptr<element_stream> old, now; // end when the lock is free
        if (!saves && goes_back()) {
            taken = std::move(back.front());
            back.pop_front();
        } else if (!saves && over) {
            taken = std::move(over->taken);
            failure = std::move(over->failure);
            over.reset();
        } else {
            from = source;
            old = now = stream;
            elements before; // those that the stream has given
            std::uint64_t begun_with = 0;
            bool is_new = false; // of the stream
            failure = thrown_by([&] {
                const bool goes_on = has_restored;
                const std::string begins_at = restored;
                if (saves) {
                    const auto keep = [&](const detail::numbered_element& e) {
                        std::vector<any_array>& kept =
                            before.emplace_back(detail::numbered_element{{}, e.number}).element;
                        for (const any_array& v : e.element) kept.push_back(v.share());
                    };
                    std::for_each(back.begin(), back.end(), keep);
                    if (over && !over->failure) keep(over->taken);
                    before.sort([](const auto& x, const auto& y) { return x.number < y.number; });
                }
                lock.unlock();
                const detail::stop_scope stopped_with(reads);
                if (!from && saves)
                    *values.emplace_back(element_type::string, extents()).data<std::string>() = begins_at;
                else if (!from)
                    throw failed_precondition_error("iterator \"" + name +
                                                    "\" was not initialised; run its initializer() first");
                if (from && !now) {
                    std::shared_ptr<element_stream> opened = from->open();
                    if (goes_on) try {
                            state_reader reader(begins_at, "the state of iterator \"" + name + "\"");
                            before = read_back(reader);
                            begun_with = before.size();
                            const std::string rest = reader.text();
                            state_reader own(rest, "the state of iterator \"" + name + "\"");
                            opened->restore(own);
                            own.require_end();
                        } catch (const error& e) {
                            if (e.reason() != error_reason::other_shard) throw;
                            before.clear(); // as if it had not been restored
                            begun_with = 0;
                            opened = from->open();
                        }
                    now = std::move(opened); // what could not be restored is no stream
                }
                if (!from) {
                } else if (saves) {
                    state_writer writer, own;
                    writer.number(before.size());
                    for (const detail::numbered_element& e : before) writer.element(e.element);
                    now->save(own);
                    writer.text(std::move(own).take());
                    *values.emplace_back(element_type::string, extents()).data<std::string>() =
                        std::move(writer).take();
                } else if (!before.empty() && !old) { // the state began with it
                    taken = std::move(before.front());
                    before.pop_front();
                } else if (is_new = now->next(values); !is_new)
                    throw end_of_data_error("iterator \"" + name +
                                            "\" is at its end: initialise it to begin anew, or repeat() its data set");
            });
            if (!lock) lock.lock();
            if (of == generation) {
                stream = now;
                if (now) has_restored = false;
                if (now && !old) numbers = begun_with;
                if (!old && !failure) back.swap(before); // nothing was taken of this stream
            }
            if (is_new) taken.number = numbers++;
        }
        if (forgotten && !failure)
            failure =
                failure_of([&] { return cancelled_error("iterator \"" + name + "\" was cleared with its container"); });
        const bool stopped = served == nullptr;
        served = nullptr;
        if (stopped && !saves && of == generation) over.emplace(left_over{std::move(taken), std::move(failure)});
        lock.unlock();
        old.reset();
        now.reset();
        from.reset();
        if (!stopped) {
            a->generation_ = of;
            if (a->keeps && !failure && !saves) {
                a->kept_.front().number = taken.number;
                for (const any_array& v : values) a->kept_.front().element.push_back(v.share());
            }
            a->values = std::move(values);
            a->completed(std::move(failure));
        }
        lock.lock();
    }
}

TENON_INLINE void iterator_resource::state::work() {
    std::unique_lock lock(guard);
    for (;;) {
        asked.wait(lock, [&] { return stopping || (waiting.first && !serving); });
        if (stopping) return;
        serving = true;
        serve(lock, true);
        serving = false;
    }
}

TENON_INLINE iterator_resource::iterator_resource(std::string name, std::vector<tensor_type> components,
                                                  std::shared_ptr<const element_source> first) :
    name_(std::move(name)), components_(std::move(components)), state_(std::make_shared<state>(name_, components_)) {
    if (first) initialize(std::move(first));
}

TENON_INLINE iterator_resource::~iterator_resource() {
    {
        const std::lock_guard lock(state_->guard);
        state_->stopping = true;
    }
    state_->asked.notify_all();
    state_->reads.stop();
    if (!state_->thread.joinable()) return;
    // Who it served last may have been the last that had it.
    if (state_->thread.get_id() == std::this_thread::get_id()) state_->thread.detach();
    else state_->thread.join();
}

TENON_INLINE void iterator_resource::initialize(std::shared_ptr<const element_source> source) {
    if (source->components() != components_)
        throw invalid_argument_error("iterator \"" + name_ + "\" has elements of " + to_string(components_) +
                                     ", and a data set of " + to_string(source->components()) + " is given to it");
    std::shared_ptr<element_stream> old; // ends when the lock is free, as does the old source
    std::optional<state::left_over> over;
    state::elements back;
    const std::lock_guard lock(state_->guard);
    old = std::exchange(state_->stream, nullptr);
    state_->has_restored = state_->has_restored && !state_->source; // it was restored before it was initialised
    std::swap(state_->source, source);
    std::swap(state_->over, over);
    std::swap(state_->back, back);
    ++state_->generation;
}

TENON_INLINE void iterator_resource::ask(iterator_attempt& a, bool saves) {
    const std::shared_ptr<state> kept = state_; // who is served may be the last that has the iterator
    state& s = *kept;
    a.saves_ = saves;
    a.values.clear();
    if (a.keeps) { // when it has come no memory may be wanted
        if (a.kept_.empty()) a.kept_.emplace_back();
        a.kept_.front().element.clear();
        a.kept_.front().element.reserve(components_.size());
    }
    std::unique_lock lock(s.guard);
    if (s.forgotten) throw cancelled_error("iterator \"" + name_ + "\" was cleared with its container; make it anew");
    const bool comes_alone = !s.serving && !s.waiting.first;
    s.waiting.push(a);
    if (!comes_alone) return; // who serves, or will, comes to it
    s.serving = true;
    s.serve(lock, false);
    s.serving = false;
    if (!s.waiting.first || s.stopping) return;
    try {
        if (!s.thread.joinable()) s.thread = std::thread([kept] { kept->work(); });
    } catch (const std::exception& none) { // of the system, or no memory: nobody serves those that wait
        const auto why = failure_of([&] {
            return resource_exhausted_error("iterator \"" + name_ +
                                            "\": no thread can be had that waits for its elements: " + none.what());
        });
        bool is_mine = false;
        while (s.waiting.first) {
            iterator_attempt* const waits = s.waiting.pop();
            if (waits == &a) {
                is_mine = true;
                continue;
            }
            lock.unlock();
            waits->completed(why);
            lock.lock();
        }
        if (is_mine) std::rethrow_exception(why);
        return;
    }
    lock.unlock();
    s.asked.notify_one();
}

TENON_INLINE void iterator_resource::get_next(iterator_attempt& a) { ask(a, false); }
TENON_INLINE void iterator_resource::save(iterator_attempt& a) { ask(a, true); }

TENON_INLINE void iterator_resource::restore(const std::string& saved) {
    const std::string name = "the state of iterator \"" + name_ + "\"";
    state_reader reader(saved, name);
    std::optional<state::left_over> over;
    state::elements back = state_->read_back(reader);
    const std::string rest = reader.text();
    reader.require_end();
    std::shared_ptr<const element_source> source;
    {
        const std::lock_guard lock(state_->guard);
        source = state_->source;
        if (!source) { // until then nobody knows whose it is
            state_->restored = saved;
            state_->has_restored = true;
            return;
        }
    }
    const detail::stop_scope stopped_with(state_->reads);
    std::shared_ptr<element_stream> now = source->open();
    state_reader own(rest, name);
    now->restore(own);
    own.require_end();
    const std::lock_guard lock(state_->guard);
    if (state_->source != source)
        throw aborted_error("iterator \"" + name_ + "\" was initialised anew while it was restored; restore it again");
    std::swap(state_->stream, now); // the old one ends when the lock is free
    std::swap(state_->over, over);
    std::swap(state_->back, back);
    state_->numbers = state_->back.size();
    state_->has_restored = false;
    ++state_->generation;
}

TENON_INLINE void iterator_resource::give_back(iterator_attempt& a) noexcept {
    {
        const std::lock_guard lock(state_->guard);
        state::elements& back = state_->back;
        if (a.generation_ == state_->generation)
            back.splice(std::find_if(back.begin(), back.end(),
                                     [&](const auto& e) { return e.number > a.kept_.front().number; }),
                        a.kept_);
    }
    let_go(a);
}
TENON_INLINE void iterator_resource::let_go(iterator_attempt& a) noexcept {
    for (detail::numbered_element& e : a.kept_) e.element.clear();
}

TENON_INLINE bool iterator_resource::stop(iterator_attempt& a) noexcept {
    const std::lock_guard lock(state_->guard);
    if (state_->served == &a) {
        state_->served = nullptr;
        return true;
    }
    for (iterator_attempt* at = state_->waiting.first; at; at = at->links_.after)
        if (at == &a) {
            state_->waiting.remove(a);
            return true;
        }
    return false;
}

TENON_INLINE std::string iterator_resource::awaited() const { return "the next element of iterator \"" + name_ + "\""; }

TENON_INLINE std::string iterator_resource::report() const {
    std::shared_ptr<element_stream> now;
    {
        const std::lock_guard lock(state_->guard);
        now = state_->stream;
    }
    return now ? now->report() : std::string();
}

TENON_INLINE void iterator_resource::describe(resource_info& to) const {
    to.description = "iterator of " + to_string(components_);
}

TENON_INLINE void iterator_resource::forgotten() noexcept {
    std::unique_lock lock(state_->guard);
    state_->forgotten = true;
    state_->reads.stop();
    // Also whose element is being taken: it is nobody's any more.
    while (state_->served || state_->waiting.first) {
        iterator_attempt* const a = state_->served ? std::exchange(state_->served, nullptr) : state_->waiting.pop();
        lock.unlock();
        a->completed(
            failure_of([&] { return cancelled_error("iterator \"" + name_ + "\" was cleared with its container"); }));
        lock.lock();
    }
}

} // namespace tenon
