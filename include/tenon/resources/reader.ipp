#pragma once

#include <mutex>
#include <optional>
#include <string_view>

#include <tenon/concurrency/failure.hpp>
#include <tenon/core/error.hpp>
#include <tenon/io/files/input_path.hpp>
#include <tenon/io/records/record_source.hpp>
#include <tenon/resources/reader.hpp>

namespace tenon {

// A record is read under `reading`, which threads wait for as long as that takes. Nobody waits for a file name under a lock: the
// first in line leaves its attempt there, and the name goes to the reader, not to the attempt, so that one who is stopped
// meanwhile takes nothing with it.
struct reader_resource::state {
    struct attempts : detail::intrusive_list<read_attempt, &read_attempt::links_> {
        void complete() noexcept {
            for_each([](read_attempt& a) { a.completed(std::exchange(a.failure_, nullptr)); });
        }
    };
    class name_attempt final : public queue_attempt {
    public:
        explicit name_attempt(reader_resource& r) : reader_(r) {}

    private:
        void completed(std::exception_ptr failure) noexcept override { reader_.named(std::move(failure)); }
        reader_resource& reader_;
    };

    explicit state(reader_resource& r) : name(r) {}

    std::mutex reading; // taken before `guard`; of the file:
    std::unique_ptr<record_source> source;
    std::string file;
    std::uint64_t ignored_of_file = 0; // that are among `ignored` already
    std::exception_ptr damage;         // is told when what was read before it is given out

    mutable std::mutex guard; // of what follows
    attempts all;
    std::list<detail::numbered_record> left; // records of those who were stopped, by number
    std::uint64_t numbers = 0;               // of records that were read
    std::int64_t produced = 0, files = 0, ignored = 0;
    std::exception_ptr failed;

    // The wait for a file name. While `handled`, one thread talks to the queue about it, and nobody else does.
    name_attempt name;
    std::shared_ptr<queue_resource> awaited; // nullptr: none is waited for
    std::shared_ptr<reader_resource> self;   // as long as the queue knows `name`
    bool handled = false, answered = false;
    std::optional<std::string> next_file;
    std::exception_ptr no_file;

    bool is_wanted() const noexcept { return all.first && all.first->names == awaited; }
    bool takes_handling() noexcept { return awaited && !handled && !is_wanted() && (handled = true); }
    std::shared_ptr<reader_resource> end_wait() noexcept {
        handled = answered = false;
        awaited.reset();
        return std::move(self);
    }
    void put_back(read_attempt& a) noexcept {
        left.merge(a.records_, [](const auto& x, const auto& y) { return x.number < y.number; });
    }
    // Copies of what it keeps, or the records' own texts, when it is known that they are wanted.
    static void give(read_attempt& a) {
        std::string* key = a.read_keys.data<std::string>();
        std::string* value = a.read_values.data<std::string>();
        for (detail::numbered_record& r : a.records_) {
            *key++ = a.keeps ? r.key : std::move(r.key);
            *value++ = a.keeps ? r.value : std::move(r.value);
        }
    }
    void note_ignored() {
        const std::uint64_t now = source->ignored();
        const std::lock_guard lock(guard);
        ignored += static_cast<std::int64_t>(now - std::exchange(ignored_of_file, now));
    }
};

TENON_INLINE reader_resource::reader_resource(std::string name, record_format f) :
    name_(std::move(name)), format_(std::move(f)) {
    check_format("reader \"" + name_ + "\"", format_);
    state_ = std::make_unique<state>(*this);
}
TENON_INLINE reader_resource::~reader_resource() = default;

TENON_INLINE void reader_resource::ask(read_attempt& a) {
    a.records_.clear();
    a.failure_ = nullptr;
    a.unwanted_ = false;
    std::exception_ptr failed;
    {
        const std::lock_guard lock(state_->guard);
        failed = state_->failed;
        if (!failed) {
            a.where_ = read_attempt::place::in_line;
            state_->all.push(a);
        }
    }
    if (failed) return a.completed(failed);
    serve();
}
TENON_INLINE void reader_resource::read(read_attempt& a) {
    a.single_ = true;
    a.wanted_ = 1;
    ask(a);
}
TENON_INLINE void reader_resource::read_up_to(read_attempt& a, std::int64_t n) {
    if (n < 0)
        throw invalid_argument_error("reader \"" + name_ + "\": " + std::to_string(n) +
                                     " records cannot be read; give 0 or more");
    a.single_ = false;
    a.wanted_ = static_cast<std::size_t>(n);
    ask(a);
}

// Gives those in line what there is, and has the queue asked where the first of them needs a file.
TENON_INLINE void reader_resource::serve() noexcept {
    for (;;) {
        state::attempts done;
        bool asks = false, withdraws = false;
        {
            const std::lock_guard reading(state_->reading);
            for (;;) {
                read_attempt* a = nullptr;
                {
                    const std::lock_guard lock(state_->guard);
                    a = state_->all.first;
                    if (!a || (state_->awaited && state_->left.empty())) {
                        withdraws = state_->takes_handling();
                        break;
                    }
                    a->where_ = read_attempt::place::served;
                }
                const bool filled = fill(*a);
                const std::lock_guard lock(state_->guard);
                if (a->unwanted_) { // by stop(), which has said that it will be completed
                    state_->put_back(*a);
                    a->failure_ =
                        failure_of([&] { return cancelled_error("reader \"" + name_ + "\": it was stopped"); });
                } else if (!filled) {
                    a->where_ = read_attempt::place::in_line;
                    if (!state_->awaited) {
                        state_->awaited = a->names;
                        state_->self = shared_from_this();
                        state_->handled = asks = true;
                    } else withdraws = state_->takes_handling();
                    break;
                } else {
                    if (!a->keeps && !a->failure_) state::give(*a);
                    state_->produced += static_cast<std::int64_t>(a->records_.size());
                }
                if (!a->keeps || a->failure_) a->records_.clear();
                state_->all.remove(*a);
                a->where_ = read_attempt::place::nowhere;
                done.push(*a);
            }
        }
        done.complete();
        if ((!asks && !withdraws) || !settle(asks)) return;
    }
}

// Talks to the queue, as the one thread that does: asks for a name, or takes that back. True where those in line can be served.
TENON_INLINE bool reader_resource::settle(bool asks) noexcept {
    std::shared_ptr<reader_resource> self;
    std::shared_ptr<queue_resource> queue;
    {
        const std::lock_guard lock(state_->guard);
        self = state_->self;
        queue = state_->awaited;
    }
    for (;; asks = false) {
        bool over = false;
        if (asks) {
            try {
                queue->dequeue(state_->name);
            } catch (...) {
                named(std::current_exception());
            }
        } else over = queue->stop(state_->name);
        const std::lock_guard lock(state_->guard);
        if (over || state_->answered) {
            (void)state_->end_wait();
            return true;
        }
        if (asks && !state_->is_wanted()) continue;
        state_->handled = false; // whoever answers serves
        return false;
    }
}

// A name has come, or why there is none.
TENON_INLINE void reader_resource::named(std::exception_ptr failure) noexcept {
    std::shared_ptr<reader_resource> self;
    {
        const std::lock_guard lock(state_->guard);
        if (!failure) state_->next_file = std::move(*state_->name.tuple[0].data<std::string>());
        else if (state_->is_wanted()) state_->no_file = std::move(failure);
        state_->name.tuple.clear();
        if (state_->handled) {
            state_->answered = true;
            return;
        }
        self = state_->end_wait();
    }
    serve();
}

// Under `reading`. False where a file name is needed. What goes wrong behind records is told later.
TENON_INLINE bool reader_resource::fill(read_attempt& a) noexcept {
    try {
        {
            const std::lock_guard lock(state_->guard);
            for (auto& left = state_->left; a.records_.size() < a.wanted_ && !left.empty();)
                a.records_.splice(a.records_.end(), left, left.begin());
            a.records_.sort([](const auto& x, const auto& y) { return x.number < y.number; });
        }
        while (a.records_.size() < a.wanted_) {
            if (state_->damage) {
                if (a.records_.empty()) a.failure_ = std::exchange(state_->damage, nullptr);
                break;
            }
            if (!state_->source) {
                const std::lock_guard lock(state_->guard);
                if (state_->no_file) {
                    if (a.records_.empty()) a.failure_ = state_->no_file;
                    state_->no_file = nullptr;
                    break;
                }
                if (!state_->next_file) return false;
                state_->file = std::move(*state_->next_file);
                state_->next_file.reset();
            }
            state_->damage = thrown_by([&] {
                while (a.records_.size() < a.wanted_ && read_record(a)) {
                }
            });
            if (state_->source) state_->note_ignored();
        }
        if (a.failure_) return true;
        const auto n = static_cast<std::int64_t>(a.records_.size());
        a.read_keys = any_array(element_type::string, a.single_ ? extents() : extents(n));
        a.read_values = any_array(element_type::string, a.single_ ? extents() : extents(n));
        if (a.keeps) state::give(a);
    } catch (...) { // no memory
        a.failure_ = std::current_exception();
        const std::lock_guard lock(state_->guard);
        state_->put_back(a);
    }
    return true;
}

// Under `reading`: a record of the file, which is opened where it is not. False at its end, and then it is closed.
TENON_INLINE bool reader_resource::read_record(read_attempt& a) {
    if (!state_->source) {
        const std::string who = "reader \"" + name_ + "\"";
        state_->ignored_of_file = 0;
        state_->source = open_records(who, input_path(a.files, who, state_->file), format_);
    }
    std::string_view record;
    if (!state_->source->next(record)) {
        state_->note_ignored();
        state_->source.reset();
        const std::lock_guard lock(state_->guard);
        ++state_->files;
        return false;
    }
    std::string key = state_->file;
    if (format_.kind != record_kind::whole_file) key += ":" + std::to_string(state_->source->number());
    a.records_.push_back({std::move(key), std::string(record), state_->numbers++});
    return true;
}

TENON_INLINE bool reader_resource::stop(read_attempt& a) noexcept {
    bool withdraws = false, serves = false;
    {
        const std::lock_guard lock(state_->guard);
        if (a.where_ == read_attempt::place::served) a.unwanted_ = true;
        if (a.where_ != read_attempt::place::in_line) return false;
        if (state_->all.first == &a) state_->no_file = nullptr;
        state_->all.remove(a);
        a.where_ = read_attempt::place::nowhere;
        state_->put_back(a);
        serves = !state_->left.empty(); // which those behind it may take
        withdraws = state_->takes_handling();
    }
    if (withdraws) serves = settle(false) || serves;
    if (serves) serve();
    return true;
}

TENON_INLINE void reader_resource::give_back(read_attempt& a) noexcept {
    {
        const std::lock_guard lock(state_->guard);
        state_->produced -= static_cast<std::int64_t>(a.records_.size());
        state_->put_back(a);
    }
    serve();
}

TENON_INLINE void reader_resource::fail(std::exception_ptr why) noexcept {
    state::attempts done;
    bool withdraws = false;
    {
        const std::lock_guard lock(state_->guard);
        state_->failed = why;
        state_->all.for_each([&](read_attempt& a) {
            if (a.where_ != read_attempt::place::in_line) return; // it is just being completed
            state_->all.remove(a);
            a.where_ = read_attempt::place::nowhere;
            a.failure_ = why;
            done.push(a);
        });
        withdraws = state_->takes_handling();
    }
    done.complete();
    if (withdraws && settle(false)) serve();
}
TENON_INLINE void reader_resource::forgotten() noexcept {
    fail(failure_of([&] { return aborted_error("reader \"" + name_ + "\": its container was reset."); }));
}

TENON_INLINE void reader_resource::reset() {
    const std::lock_guard reading(state_->reading);
    state_->source.reset();
    state_->damage = nullptr;
    const std::lock_guard lock(state_->guard);
    state_->left.clear();
    state_->produced = state_->files = state_->ignored = 0;
}
TENON_INLINE std::int64_t reader_resource::records_produced() const {
    const std::lock_guard lock(state_->guard);
    return state_->produced;
}
TENON_INLINE std::int64_t reader_resource::work_units_completed() const {
    const std::lock_guard lock(state_->guard);
    return state_->files;
}
TENON_INLINE std::int64_t reader_resource::records_ignored() const {
    const std::lock_guard lock(state_->guard);
    return state_->ignored;
}

TENON_INLINE std::string reader_resource::awaited(const read_attempt& a) const {
    const std::lock_guard lock(state_->guard);
    if (state_->all.first != &a) return "its turn to read from reader \"" + name_ + "\"";
    const std::string text = "a file name for reader \"" + name_ + "\"";
    return state_->awaited && !state_->handled ? text + ": " + state_->awaited->awaited(state_->name) : text;
}
TENON_INLINE void reader_resource::describe(resource_info& to) const {
    to.description = std::to_string(records_produced()) + " records of " + std::to_string(work_units_completed()) +
                     " files read to their ends";
}

} // namespace tenon
