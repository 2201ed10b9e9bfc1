#include "checker.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

namespace standing {

namespace {

std::string text_of(const operation& o) {
    constexpr std::array names{"open", "add", "pair", "put", "take", "read"};
    return std::string(names[static_cast<std::size_t>(o.kind)]) + " (server " + std::to_string(o.server) + ", writer " +
           std::to_string(o.writer) + ", number " + std::to_string(o.number) + ", from " + std::to_string(o.begin) +
           " to " + std::to_string(o.end) + ")";
}

// How many of some moments are not after t.
class moments {
public:
    void add(double t) { all_.push_back(t); }
    void sort() { std::sort(all_.begin(), all_.end()); }
    std::int64_t until(double t) const { return std::upper_bound(all_.begin(), all_.end(), t) - all_.begin(); }

private:
    std::vector<double> all_;
};

class checker {
public:
    explicit checker(const history& h) : h_(h) {}
    std::vector<std::string> run() {
        for (const operation& o : h_.all) check_end(o);
        for (const life& l : h_.lives) {
            std::set<int> writers;
            for (const operation& o : h_.all)
                if (o.server == l.server && o.kind == kind::read) writers.insert(o.writer);
            for (const int w : writers) check_variables(l, w);
        }
        for (int server = 0; server < servers; ++server) check_queue(server);
        return std::move(wrong_);
    }

private:
    void fault(const std::string& what) {
        if (wrong_.size() < 50) wrong_.push_back(what);
    }

    void check_end(const operation& o) {
        if (o.end < 0) return;
        if (o.end - o.begin > o.limit + h_.longer)
            fault("waited beyond its limit of " + std::to_string(o.limit) + " s: " + text_of(o) + " " + o.error);
        if (o.outcome == outcome::ok) return;
        const std::string code = o.error.substr(0, o.error.find(':'));
        constexpr std::array documented{"unavailable",         "aborted",   "deadline_exceeded",
                                        "failed_precondition", "cancelled", "resource_exhausted"};
        if (std::find(documented.begin(), documented.end(), code) == documented.end())
            fault("an error that nobody expects: " + text_of(o) + ": " + o.error);
    }

    // May o have been applied in this life, and not acknowledged in another?
    static bool may_be_of(const operation& o, const life& l) {
        if (o.server != l.server || o.outcome == outcome::failed || o.begin > l.end) return false;
        return o.outcome == outcome::unknown || o.life == l.number;
    }

    void check_variables(const life& l, int writer) {
        std::array<moments, slots> begun, acknowledged; // of additions, by slot
        std::map<std::int64_t, const operation*> pairs; // by what they hold
        std::vector<const operation*> reads;
        for (const operation& o : h_.all) {
            if (o.writer != writer || o.server != l.server) continue;
            if (o.kind == kind::read && o.outcome == outcome::ok && o.life == l.number) reads.push_back(&o);
            if (!may_be_of(o, l)) continue;
            const auto slot = static_cast<std::size_t>(o.number) % slots;
            if (o.kind == kind::add) {
                begun[slot].add(o.begin);
                if (o.outcome == outcome::ok) acknowledged[slot].add(o.end);
            } else if (o.kind == kind::pair) pairs[o.number] = &o;
        }
        for (std::size_t s = 0; s < slots; ++s) begun[s].sort(), acknowledged[s].sort();
        std::vector<std::pair<double, std::int64_t>> acknowledged_pairs; // the last number until then
        for (const auto& [number, o] : pairs)
            if (o->outcome == outcome::ok) acknowledged_pairs.emplace_back(o->end, number);
        for (const operation* r : reads) {
            for (std::size_t s = 0; s < slots; ++s) {
                const std::int64_t least = acknowledged[s].until(r->begin), most = begun[s].until(r->end);
                if (r->table[s] < least || r->table[s] > most)
                    fault("slot " + std::to_string(s) + " is " + std::to_string(r->table[s]) + ", where " +
                          std::to_string(least) + " additions were acknowledged before and " + std::to_string(most) +
                          " can have been applied: " + text_of(*r));
            }
            if (r->first != r->second)
                fault("a pair is torn, " + std::to_string(r->first) + " and " + std::to_string(r->second) + ": " +
                      text_of(*r));
            check_pair(*r, pairs, acknowledged_pairs);
        }
        check_order(reads, pairs);
    }

    void check_pair(const operation& r, const std::map<std::int64_t, const operation*>& pairs,
                    const std::vector<std::pair<double, std::int64_t>>& acknowledged) {
        const auto by = pairs.find(r.first);
        if (r.first != 0 && (by == pairs.end() || by->second->begin > r.end))
            return fault("a pair holds " + std::to_string(r.first) + ", which was not applied: " + text_of(r));
        // The writer does one after another: ends rise with numbers.
        const auto after = std::partition_point(acknowledged.begin(), acknowledged.end(),
                                                [&](const auto& a) { return a.first <= r.begin; });
        const std::int64_t last = after == acknowledged.begin() ? 0 : std::prev(after)->second;
        const bool may_be_late = by != pairs.end() && by->second->outcome == outcome::unknown;
        if (r.first < last && !may_be_late)
            fault("a pair holds " + std::to_string(r.first) + ", and " + std::to_string(last) +
                  " was acknowledged before: " + text_of(r));
    }

    void check_order(std::vector<const operation*> reads, const std::map<std::int64_t, const operation*>& pairs) {
        std::vector<const operation*> by_end = reads;
        std::sort(reads.begin(), reads.end(), [](auto a, auto b) { return a->begin < b->begin; });
        std::sort(by_end.begin(), by_end.end(), [](auto a, auto b) { return a->end < b->end; });
        std::array<std::int64_t, slots> seen{};
        std::int64_t pair = 0;
        auto ended = by_end.begin();
        for (const operation* r : reads) {
            for (; ended != by_end.end() && (*ended)->end < r->begin; ++ended) {
                for (std::size_t s = 0; s < slots; ++s) seen[s] = std::max(seen[s], (*ended)->table[s]);
                pair = std::max(pair, (*ended)->first);
            }
            for (std::size_t s = 0; s < slots; ++s)
                if (r->table[s] < seen[s])
                    fault("slot " + std::to_string(s) + " went back from " + std::to_string(seen[s]) + " to " +
                          std::to_string(r->table[s]) + ": " + text_of(*r));
            const auto by = pairs.find(r->first);
            const bool may_be_late = by != pairs.end() && by->second->outcome == outcome::unknown;
            if (r->first < pair && !may_be_late)
                fault("a pair went back from " + std::to_string(pair) + " to " + std::to_string(r->first) + ": " +
                      text_of(*r));
        }
    }

    void check_queue(int server) {
        std::map<std::int64_t, const operation*> puts, takes; // by element
        std::vector<const operation*> not_taken; // takes that may have taken something, or had it for a while
        for (const operation& o : h_.all) {
            if (o.server != server) continue;
            if (o.kind == kind::put) puts[element(o.writer, o.number)] = &o;
            if (o.kind == kind::take && o.outcome != outcome::ok) not_taken.push_back(&o);
        }
        for (const operation& o : h_.all) {
            if (o.server != server || o.kind != kind::take || o.outcome != outcome::ok) continue;
            if (!takes.emplace(o.taken, &o).second)
                fault("element " + std::to_string(o.taken) + " was taken twice: " + text_of(o));
            const auto put = puts.find(o.taken);
            if (put == puts.end() || put->second->outcome == outcome::failed || put->second->begin > o.end)
                fault("element " + std::to_string(o.taken) + " was taken and not put: " + text_of(o));
            else if (put->second->outcome == outcome::ok && put->second->life != o.life)
                fault("element " + std::to_string(o.taken) +
                      " was taken in another life than it was put: " + text_of(o));
        }
        check_queue_order(puts, takes, not_taken);
        check_losses(server, puts, takes, not_taken);
    }

    // Of one writer, who puts one after another: none is taken before one that was put earlier. A take that fails puts back what it had.
    void check_queue_order(const std::map<std::int64_t, const operation*>& puts,
                           const std::map<std::int64_t, const operation*>& takes,
                           const std::vector<const operation*>& not_taken) {
        const operation* first = nullptr; // the take that ended first, of later elements of this writer and life
        std::int64_t writer = -1, of_life = -1;
        for (auto t = takes.rbegin(); t != takes.rend(); ++t) {
            const operation& take = *t->second;
            const auto put = puts.find(t->first);
            if (put == puts.end() || put->second->outcome != outcome::ok) continue;
            if (put->second->writer != writer || put->second->life != of_life) {
                writer = put->second->writer;
                of_life = put->second->life;
                first = nullptr;
            }
            const auto overlaps = [&](const operation* o) {
                return o->begin < take.begin && (o->end < 0 || o->end > first->begin);
            };
            if (first && first->end < take.begin && std::none_of(not_taken.begin(), not_taken.end(), overlaps))
                fault("element " + std::to_string(first->taken) + " overtook " + std::to_string(take.taken) + ": " +
                      text_of(take));
            if (!first || take.end < first->end) first = &take;
        }
    }

    void check_losses(int server, const std::map<std::int64_t, const operation*>& puts,
                      const std::map<std::int64_t, const operation*>& takes,
                      const std::vector<const operation*>& not_taken) {
        const auto last = std::max_element(h_.lives.begin(), h_.lives.end(), [&](const life& a, const life& b) {
            return std::pair(a.server == server, a.number) < std::pair(b.server == server, b.number);
        });
        if (last == h_.lives.end() || last->server != server) return;
        const auto& left = h_.left[static_cast<std::size_t>(server)];
        std::set<std::int64_t> there;
        for (const std::int64_t e : left) {
            if (!there.insert(e).second || takes.contains(e))
                fault("element " + std::to_string(e) + " is there twice, or was taken");
            if (const auto put = puts.find(e); put == puts.end() || !may_be_of(*put->second, *last))
                fault("element " + std::to_string(e) + " is there, and was not put in this life");
        }
        std::vector<std::int64_t> lost;
        for (const auto& [e, put] : puts)
            if (put->outcome == outcome::ok && put->life == last->number && !takes.contains(e) && !there.contains(e))
                lost.push_back(e);
        const auto takers = std::count_if(not_taken.begin(), not_taken.end(), [&](const operation* o) {
            return o->outcome == outcome::unknown && (o->end < 0 || o->end >= last->begin);
        });
        if (static_cast<std::ptrdiff_t>(lost.size()) > takers)
            fault(std::to_string(lost.size()) + " elements of server " + std::to_string(server) +
                  " are lost, element " + std::to_string(lost.front()) + " among them, and " + std::to_string(takers) +
                  " takes may have taken one without saying so");
    }

    const history& h_;
    std::vector<std::string> wrong_;
};

} // namespace

std::vector<std::string> faults_of(const history& h) { return checker(h).run(); }

} // namespace standing
