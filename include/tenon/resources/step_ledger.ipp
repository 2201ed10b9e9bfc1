#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

#include <tenon/concurrency/failure.hpp>
#include <tenon/core/error.hpp>
#include <tenon/memory/memory_budget.hpp>
#include <tenon/resources/step_ledger.hpp>
#include <tenon/resources/step_number.hpp>

namespace tenon {

TENON_INLINE std::string difference(const step_ledger_description& one, const step_ledger_description& other) {
    const auto differ = [](const std::string& what, const std::string& a, const std::string& b) {
        return what + a + ", and " + b;
    };
    if (one.aggregate != other.aggregate)
        return differ("gradients averaged in a step: ", std::to_string(one.aggregate), std::to_string(other.aggregate));
    if (one.total != other.total) return differ("replicas: ", std::to_string(one.total), std::to_string(other.total));
    std::istringstream first(one.parts), second(other.parts);
    const auto next = [](std::istringstream& from) {
        std::string line;
        return std::getline(from, line) ? line : std::string("nothing more");
    };
    for (std::string a = next(first), b = next(second); first || second; a = next(first), b = next(second))
        if (a != b) return differ("", a, b);
    return {};
}

struct step_ledger::book {
    using attempts = detail::intrusive_list<ledger_attempt, &ledger_attempt::links_>;
    struct replica {
        std::int64_t process = 0;
        std::vector<std::int64_t> former; // processes that it was, the last of them
        bool present = false;
        bool attended = false;                      // by its process, once or now:
        const ledger_attempt* attendance = nullptr; // which may be over
        std::int64_t token = -1;                    // the step of its last one
        std::int64_t ticket = 0;                    // of the gradient that it computes
        bool counted = false;                       // its last gradient
        std::int64_t dropped = 0;                   // of all
        std::string failed;                         // why it can go on no more
        bool left = false;                          // until it joins again, or computes
        bool finished = false;
        std::int64_t came = 0, went = 0;               // its process, and when it had finished: numbers of events
        std::chrono::steady_clock::time_point since{}; // too few are left for the step that it waits for
    };
    struct committed {
        std::int64_t replica = 0, ticket = 0;
    };

    book(const std::string& n, const step_ledger_description& d) : shown("step ledger \"" + n + "\""), description(d) {
        renew();
    }

    const std::string shown;
    const step_ledger_description& description;
    mutable std::mutex guard; // of what follows
    std::int64_t step = -1;   // -1: not known yet
    bool advanced = false;    // since it was made: variables may be other ones than at first
    std::int64_t last_ticket = 0, counted = 0;
    std::map<std::int64_t, replica> replicas;
    std::vector<committed> commits;    // of this step, first come first
    std::vector<committed> chosen;     // of them, by replica: what is applied. Empty: nothing yet
    ledger_attempt* applier = nullptr; // has been given them
    attempts tokens, appliers, pauses, done;
    std::exception_ptr failed;
    std::int64_t present = 0, finished = 0; // replicas
    std::int64_t events = 0;
    bool look = false; // what waits for tokens may have them, or fail

    // Tickets from here on are larger than those of a ledger that stood here before, whose gradients other tasks may still have.
    void renew() noexcept {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        const std::int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
        last_ticket = std::max(last_ticket, ns);
    }
    replica& of(std::int64_t number, std::int64_t process, std::int64_t known) {
        if (failed) std::rethrow_exception(failed);
        if (number < 0 || number >= description.total)
            throw invalid_argument_error(shown + ": there is no replica " + std::to_string(number) + " of " +
                                         std::to_string(description.total) + "; they are numbered from 0");
        if (known != step) require_step(shown, known);
        replica& r = replicas[number];
        if (std::find(r.former.begin(), r.former.end(), process) != r.former.end())
            throw aborted_error(shown + ": replica " + std::to_string(number) +
                                " is another process now, which began later; give each process a number of its own");
        if (r.process != process) {
            constexpr std::size_t most = 64;
            if (r.process != 0) r.former.push_back(r.process);
            if (r.former.size() > most) r.former.erase(r.former.begin());
            r.process = process;
            r.token = -1;
            r.ticket = 0;
            r.failed.clear();
            r.attended = false;
            r.attendance = nullptr;
            set(r.present, present, false);
            r.came = ++events;
            look = true;
        }
        // What was known is not later than what is so; a ledger that was made anew learns of it.
        if (step < 0) step = known;
        else if (known > step) move_on(known);
        return r;
    }
    static void set(bool& is, std::int64_t& count, bool to) noexcept {
        count += static_cast<int>(to) - static_cast<int>(is);
        is = to;
    }
    void enter(replica& r) noexcept {
        if (r.finished) // another run of the program
            for (auto& [number, each] : replicas) set(each.finished, finished, false);
        set(r.present, present, true);
        r.left = false;
        r.failed.clear();
    }
    // A step that was under way when its process was lost does not bring it back.
    void enter_again(replica& r) noexcept {
        if (r.attendance || !r.attended) enter(r);
    }
    void end(attempts& from, ledger_attempt& a, std::exception_ptr why = nullptr) noexcept {
        from.remove(a);
        a.waits_ = false;
        a.failure_ = std::move(why);
        done.push(a);
    }
    static bool by_replica(const committed& x, const committed& y) noexcept { return x.replica < y.replica; }
    void drop(const committed& c) noexcept {
        replica& r = replicas[c.replica];
        ++r.dropped;
        r.counted = false;
    }
    // A step is over; a pause is not.
    void release() noexcept {
        if (applier && applier->what_ == ledger_attempt::kind::apply) applier = nullptr;
    }
    void move_on(std::int64_t to) noexcept {
        for (const committed& c : commits) {
            const auto in = std::lower_bound(chosen.begin(), chosen.end(), c, by_replica);
            if (in == chosen.end() || in->ticket != c.ticket) drop(c);
            else {
                replicas[c.replica].counted = true;
                ++counted;
            }
        }
        commits.clear();
        chosen.clear();
        release();
        step = to;
        advanced = look = true;
    }
    std::int64_t wanted() const noexcept {
        return description.aggregate > 0 ? description.aggregate : std::max<std::int64_t>(1, present);
    }
    bool enough() const noexcept { return !chosen.empty() || static_cast<std::int64_t>(commits.size()) >= wanted(); }
    // Of a number that is fixed: whether those that can still come are too few for one who waits. Others that had finished before he
    // came may do so in a run that begins again: they have some time to.
    bool too_few(ledger_attempt& a) noexcept {
        using clock = std::chrono::steady_clock;
        constexpr std::chrono::seconds grace(20);
        if (description.total - finished >= description.aggregate || enough()) {
            replicas[a.replica_].since = {};
            return false;
        }
        replica& r = replicas[a.replica_];
        const auto since = std::count_if(replicas.begin(), replicas.end(),
                                         [&](const auto& o) { return o.second.finished && o.second.went > r.came; });
        if (description.total - since < description.aggregate) return true;
        if (r.since == clock::time_point{}) r.since = clock::now();
        return clock::now() - r.since >= grace;
    }
    attempts& queue_of(const ledger_attempt& a) noexcept {
        return a.what_ == ledger_attempt::kind::token   ? tokens
               : a.what_ == ledger_attempt::kind::apply ? appliers
                                                        : pauses;
    }
    void serve() {
        if (pauses.first && !applier && chosen.empty()) { // a step that was begun is ended first
            applier = pauses.first;
            end(pauses, *applier);
        }
        while (!applier && enough()) {
            // Who could not apply is not asked again before its replica goes on.
            ledger_attempt* next = appliers.first;
            while (next && !replicas[next->replica_].failed.empty()) next = next->links_.after;
            if (!next) break;
            ledger_attempt& a = *next;
            if (chosen.empty()) {
                const std::size_t n =
                    description.aggregate > 0 ? static_cast<std::size_t>(description.aggregate) : commits.size();
                chosen.assign(commits.begin(), commits.begin() + static_cast<std::ptrdiff_t>(n));
                std::sort(chosen.begin(), chosen.end(), by_replica);
            }
            a.step = step;
            a.tickets.clear();
            for (const committed& c : chosen) a.tickets.push_back(c.ticket);
            applier = &a;
            end(appliers, a);
        }
        if (!std::exchange(look, false)) return;
        tokens.for_each([&](ledger_attempt& a) { give(a); });
    }
    // The token, or why there will be none; or nothing yet.
    void give(ledger_attempt& a) {
        replica& r = replicas[a.replica_];
        const auto fail = [&](auto make) { end(tokens, a, failure_of([&] { return make(shown + ": "); })); };
        const auto who = [&] { return "replica " + std::to_string(a.replica_); };
        if (!r.failed.empty())
            fail([&](const std::string& in) {
                return failed_precondition_error(in + who() + " cannot go on: " + r.failed);
            });
        else if (r.process != a.process_)
            fail([&](const std::string& in) {
                return aborted_error(in + who() + " is another process now, which began later");
            });
        else if (r.token < step) {
            r.token = a.step = step;
            a.counted = r.counted;
            end(tokens, a);
        } else if (too_few(a))
            fail([&](const std::string& in) {
                return end_of_data_error(in + "step " + std::to_string(step) + " will not be complete: it averages " +
                                         std::to_string(description.aggregate) + " gradients, and of " +
                                         std::to_string(description.total) + " replicas too many have finished");
            });
    }
    // "1 of 2 gradients of step 17 are there, of replica 0; replicas 1, 2 take part, too"
    std::string words() const {
        const auto list = [](const std::vector<std::int64_t>& numbers) {
            std::string text = numbers.size() == 1 ? "replica " : "replicas ";
            constexpr std::size_t most = 20;
            for (std::size_t i = 0; i < std::min(most, numbers.size()); ++i)
                text += (i == 0 ? "" : ", ") + std::to_string(numbers[i]);
            return numbers.size() > most ? text + ", .." : text;
        };
        std::vector<std::int64_t> have, others;
        for (const committed& c : commits) have.push_back(c.replica);
        std::sort(have.begin(), have.end());
        for (const auto& [number, r] : replicas)
            if (r.present && !std::binary_search(have.begin(), have.end(), number)) others.push_back(number);
        std::string text = std::to_string(have.size()) + " of " + std::to_string(wanted()) + " gradients of step " +
                           std::to_string(step) + " are there";
        if (!have.empty()) text += ", of " + list(have);
        if (!others.empty()) text += "; " + list(others) + (others.size() == 1 ? " takes" : " take") + " part, too";
        else if (static_cast<std::int64_t>(have.size()) < wanted()) text += "; nobody else takes part";
        return text;
    }

    template <class What> void change(const What& what) {
        attempts ended;
        {
            const std::lock_guard lock(guard);
            what();
            serve();
            ended = std::exchange(done, {});
        }
        ended.for_each([](ledger_attempt& a) { a.completed(std::exchange(a.failure_, nullptr)); });
    }
};

TENON_INLINE step_ledger::step_ledger(std::string name, step_ledger_description d) :
    name_(std::move(name)), description_(std::move(d)) {
    const auto require = [&](bool good, const std::string& wrong) {
        if (!good) throw invalid_argument_error("step ledger \"" + name_ + "\": " + wrong);
    };
    const std::string total = std::to_string(description_.total), aggregate = std::to_string(description_.aggregate);
    require(description_.total >= 1 && description_.total <= most_replicas,
            "there are " + total + " replicas; give 1 or more, up to " + std::to_string(most_replicas));
    require(description_.aggregate >= 0, aggregate + " gradients cannot be averaged");
    require(description_.aggregate <= description_.total,
            aggregate + " gradients a step are asked of " + total + " replicas, each of which gives one");
    try {
        of_texts_ = memory_charge(current_payer(), name_.size() + description_.parts.size());
        memory_client::require_room_for_steps(current_payer());
    } catch (const resource_exhausted_error& e) {
        throw resource_exhausted_error("step ledger \"" + name_ + "\": what its replicas have in common: " + e.what());
    }
    book_ = std::make_unique<book>(name_, description_);
}
TENON_INLINE step_ledger::~step_ledger() = default;

TENON_INLINE void step_ledger::join(std::int64_t replica, std::int64_t process, std::int64_t known) {
    book_->change([&] {
        book::replica& r = book_->of(replica, process, known);
        book_->enter(r);
        r.token = book_->step;
    });
}

TENON_INLINE void step_ledger::attend(ledger_attempt& a, std::int64_t replica, std::int64_t process) {
    book_->change([&] {
        book::replica& r = book_->of(replica, process, book_->step);
        a.what_ = ledger_attempt::kind::attend;
        a.replica_ = replica;
        a.process_ = process;
        r.attended = true;
        r.attendance = &a;
        book_->done.push(a);
    });
}

TENON_INLINE replica_turn step_ledger::begin(std::int64_t replica, std::int64_t process, std::int64_t known) {
    replica_turn turn;
    book_->change([&] {
        book::replica& r = book_->of(replica, process, known);
        // Of one that has not joined: as long as no step has been applied its variables are those that all began with.
        if (r.ticket == 0 && r.token < 0 && !book_->advanced) r.token = book_->step;
        book_->enter_again(r);
        const auto of_it = [&](const book::committed& c) { return c.replica == replica; };
        // What it has given to a step that is being applied stays where it is: this one comes too late.
        if (std::any_of(book_->chosen.begin(), book_->chosen.end(), of_it)) {
            turn = {replica, 0, r.token};
            return;
        }
        // One that has given up waiting for its step computes another gradient for it.
        for (const book::committed& c : book_->commits)
            if (of_it(c)) book_->drop(c);
        std::erase_if(book_->commits, of_it);
        r.ticket = ++book_->last_ticket;
        turn = {replica, r.ticket, r.token};
    });
    return turn;
}

TENON_INLINE void step_ledger::commit(const replica_turn& turn) {
    book_->change([&] {
        if (book_->failed) std::rethrow_exception(book_->failed);
        const auto at = book_->replicas.find(turn.replica);
        if (at == book_->replicas.end() || at->second.ticket != turn.ticket) {
            if (at != book_->replicas.end()) ++at->second.dropped; // void
            return;
        }
        const book::committed now{turn.replica, turn.ticket};
        if (turn.step != book_->step || !book_->chosen.empty()) return book_->drop(now);
        book_->chosen.reserve(book_->commits.size() + 1);
        book_->commits.push_back(now);
    });
}

TENON_INLINE void step_ledger::await(ledger_attempt& a, std::int64_t replica, std::int64_t process) {
    book_->change([&] {
        book_->of(replica, process, book_->step);
        a.what_ = ledger_attempt::kind::token;
        a.replica_ = replica;
        a.process_ = process;
        book_->replicas[replica].since = {};
        a.waits_ = true;
        book_->tokens.push(a);
        book_->give(a);
    });
}

TENON_INLINE void step_ledger::apply(ledger_attempt& a, std::int64_t replica, std::int64_t process,
                                     std::int64_t known) {
    book_->change([&] {
        book::replica& r = book_->of(replica, process, known);
        if (r.left) throw cancelled_error(book_->shown + ": replica " + std::to_string(replica) + " has left");
        if (!r.present && r.failed.empty()) book_->enter_again(r);
        a.tickets.reserve(static_cast<std::size_t>(description_.total));
        a.what_ = ledger_attempt::kind::apply;
        a.replica_ = replica;
        a.process_ = process;
        a.waits_ = true;
        book_->appliers.push(a);
    });
}

TENON_INLINE void step_ledger::pause(ledger_attempt& a) {
    book_->change([&] {
        if (book_->failed) std::rethrow_exception(book_->failed);
        a.what_ = ledger_attempt::kind::pause;
        a.waits_ = true;
        book_->pauses.push(a);
    });
}

TENON_INLINE bool step_ledger::stop(ledger_attempt& a) noexcept {
    bool waited = false;
    book_->change([&] {
        waited = std::exchange(a.waits_, false);
        if (!waited) return;
        book_->queue_of(a).remove(a);
    });
    return waited;
}

TENON_INLINE void step_ledger::abandon(ledger_attempt& a) noexcept {
    book_->change([&] {
        if (book_->applier == &a) book_->applier = nullptr;
        if (a.what_ != ledger_attempt::kind::attend) return;
        book::replica& r = book_->replicas[a.replica_];
        if (r.attendance != &a) return;
        r.attendance = nullptr;
        book_->set(r.present, book_->present, false);
    });
}

TENON_INLINE void step_ledger::advance(std::int64_t step) {
    require_step(book_->shown, step);
    book_->change([&] {
        if (step > book_->step) book_->move_on(step);
    });
}

TENON_INLINE void step_ledger::leave(std::int64_t replica, std::int64_t process, const std::string& reason,
                                     bool finished) {
    book_->change([&] {
        book::replica& r = book_->of(replica, process, book_->step);
        book_->set(r.present, book_->present, false);
        book_->set(r.finished, book_->finished, finished);
        if (finished) r.went = ++book_->events;
        r.failed = reason;
        r.left = reason.empty();
        book_->look = true;
        book_->appliers.for_each([&](ledger_attempt& a) {
            if (a.replica_ != replica) return;
            book_->end(book_->appliers, a, failure_of([&] {
                           return cancelled_error(book_->shown + ": replica " + std::to_string(replica) + " has left");
                       }));
        });
    });
}

TENON_INLINE void step_ledger::discard(std::int64_t step) {
    if (step != -1) require_step(book_->shown, step);
    book_->change([&] {
        if (step != -1) {
            book_->step = step;
            book_->advanced = true;
        }
        for (const book::committed& c : book_->commits) book_->drop(c);
        book_->commits.clear();
        book_->chosen.clear();
        book_->release();
        book_->renew();
        book_->look = true;
        for (auto& [number, r] : book_->replicas) r.ticket = r.token = -1; // a ticket of 0 is of one who comes first
    });
}

TENON_INLINE step_ledger::standing step_ledger::state() const {
    book_->change([&] { book_->look = true; }); // time may have passed (too_few)
    const std::lock_guard lock(book_->guard);
    standing s{std::max<std::int64_t>(0, book_->step), book_->present, book_->counted, 0};
    for (const auto& [number, r] : book_->replicas) s.dropped += r.dropped;
    return s;
}

TENON_INLINE std::vector<std::int64_t> step_ledger::dropped() const {
    std::vector<std::int64_t> all(static_cast<std::size_t>(description_.total));
    const std::lock_guard lock(book_->guard);
    for (const auto& [number, r] : book_->replicas) all[static_cast<std::size_t>(number)] = r.dropped;
    return all;
}

TENON_INLINE std::string step_ledger::awaited(const ledger_attempt& a) const {
    const std::lock_guard lock(book_->guard);
    std::string text = book_->shown;
    if (a.what_ == ledger_attempt::kind::attend) return text;
    if (a.what_ == ledger_attempt::kind::pause) return text + " to be between two steps; " + book_->words();
    if (a.what_ == ledger_attempt::kind::apply) return text + " to have gradients to apply; " + book_->words();
    text += " to be in a later step; " + book_->words();
    if (book_->enough() && !book_->applier && !book_->appliers.first)
        text +=
            ", and nobody applies them: give sync_replicas::hook() to a monitored session, or start() it in a session";
    return text;
}

TENON_INLINE void step_ledger::forgotten() noexcept {
    const std::exception_ptr why =
        failure_of([&] { return aborted_error(book_->shown + ": its container was reset."); });
    book_->change([&] {
        book_->failed = why;
        for (book::attempts* l : {&book_->tokens, &book_->appliers, &book_->pauses})
            while (l->first) book_->end(*l, *l->first, why);
    });
}

TENON_INLINE void step_ledger::describe(resource_info& to) const {
    const standing s = state();
    const std::lock_guard lock(book_->guard);
    to.description =
        book_->words() + "; " + std::to_string(s.counted) + " counted, " + std::to_string(s.dropped) + " dropped";
}

} // namespace tenon
