#include "reference/queue_model.hpp"

#include <algorithm>

namespace tn = tenon;

namespace reference {

namespace {

std::int64_t priority_of(const queue_model::tuple& t, const values& v) { return *v[t[0]]->data<std::int64_t>(); }

} // namespace

bool queue_model::enqueue(int who, std::vector<tuple> elements) {
    if (closed_) return false;
    enqueuers_.push_back({.who = who, .left = std::move(elements)});
    return true;
}

void queue_model::dequeue(int who, std::size_t least, std::size_t most, bool takes_rest) {
    dequeuers_.push_back({.who = who, .least = least, .most = most, .takes_rest = takes_rest});
}

void queue_model::disown(int who) {
    const auto forget = [&](std::vector<element>& all) {
        for (element& e : all)
            if (e.owner == who) e.owner = -1;
    };
    forget(elements_);
    for (auto* list : {&dequeuers_, &kept_})
        for (asked& a : *list) forget(a.taken);
}

void queue_model::put_back(const asked& a, const values& v) {
    for (auto e = a.taken.rbegin(); e != a.taken.rend(); ++e) {
        auto at = elements_.begin();
        if (rules_->kind == queue_kind::priority) // those of its priority that are there came after it
            while (at != elements_.end() && priority_of(at->parts, v) < priority_of(e->parts, v)) ++at;
        elements_.insert(at, *e);
    }
}

void queue_model::stop(int who, const values& v) {
    const auto is_it = [&](const asked& a) { return a.who == who; };
    std::erase_if(elements_, [&](const element& e) { return e.owner == who; });
    disown(who);
    std::erase_if(enqueuers_, is_it);
    const auto at = std::find_if(dequeuers_.begin(), dequeuers_.end(), is_it);
    if (at == dequeuers_.end()) return;
    const asked a = std::move(*at);
    dequeuers_.erase(at);
    put_back(a, v);
}

void queue_model::settle(const std::function<std::optional<bool>(int who)>& gives_back, const values& v) {
    for (std::size_t n = kept_.size(); n-- > 0;) {
        const std::optional<bool> gives = gives_back(kept_[n].who);
        if (!gives) continue;
        const asked a = std::move(kept_[n]);
        kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(n));
        if (*gives) put_back(a, v);
    }
}

std::vector<int> queue_model::close(bool cancel) {
    closed_ = true;
    std::vector<int> cancelled;
    if (cancel)
        for (const asked& a : std::exchange(enqueuers_, {})) {
            cancelled.push_back(a.who);
            disown(a.who); // what it has put in stays
        }
    return cancelled;
}

std::vector<queue_model::move> queue_model::moves(const values& v) const {
    std::vector<move> all;
    const bool ordered = rules_->kind == queue_kind::fifo || rules_->kind == queue_kind::padding;
    const auto add = [&](auto change) {
        move m{*this, {}};
        change(m.then, m.end);
        all.push_back(std::move(m));
    };
    using end = std::optional<ended>;
    if (!enqueuers_.empty()) {
        if (enqueuers_[0].left.empty())
            add([](queue_model& q, end& e) {
                e = ended{q.enqueuers_[0].who, {}, {}};
                q.disown(e->who);
                q.enqueuers_.erase(q.enqueuers_.begin());
            });
        else if (elements_.size() < rules_->capacity)
            add([&](queue_model& q, end&) {
                asked& a = q.enqueuers_[0];
                auto at = q.elements_.end();
                if (rules_->kind == queue_kind::priority)
                    at = std::find_if(q.elements_.begin(), q.elements_.end(), [&](const element& e) {
                        return priority_of(e.parts, v) > priority_of(a.left[0], v);
                    });
                q.elements_.insert(at, {a.left[0], a.who});
                a.left.erase(a.left.begin());
            });
    }
    if (dequeuers_.empty()) return all;
    const asked& first = dequeuers_[0];
    const std::size_t kept = closed_ ? 0 : rules_->min_after_dequeue;
    const bool takes_what_is_there = first.most > first.least;
    const bool can_take = elements_.size() > kept && first.taken.size() < first.most;
    if (first.taking) all.clear();
    // In a queue with an order it makes no difference what comes first, but to who takes what is there.
    else if ((ordered || takes_what_is_there) && !all.empty()) return all;
    const auto finish = [&](queue_model& q, end& e) {
        asked a = std::move(q.dequeuers_[0]);
        q.dequeuers_.erase(q.dequeuers_.begin());
        const std::size_t n = a.taken.size();
        if (q.rules_->kind == queue_kind::priority) { // the least of all
            q.put_back(a, v);
            a.taken.assign(q.elements_.begin(), q.elements_.begin() + static_cast<std::ptrdiff_t>(n));
            q.elements_.erase(q.elements_.begin(), q.elements_.begin() + static_cast<std::ptrdiff_t>(n));
        }
        e = ended{a.who, {}, {}};
        for (const element& taken : a.taken) e->taken.push_back(taken.parts);
        if (!a.taken.empty()) q.kept_.push_back(std::move(a));
    };
    const bool is_last = closed_ && enqueuers_.empty();
    const bool nothing_left = is_last && first.taken.empty() && first.takes_rest && first.most > 0;
    if (can_take) {
        const std::size_t most = rules_->kind == queue_kind::shuffled ? elements_.size() : 1;
        for (std::size_t i = 0; i < most; ++i)
            add([&](queue_model& q, end&) {
                asked& a = q.dequeuers_[0];
                a.taken.push_back(q.elements_[i]);
                q.elements_.erase(q.elements_.begin() + static_cast<std::ptrdiff_t>(i));
                const bool more = q.elements_.size() > kept && a.taken.size() < a.most;
                a.taking = takes_what_is_there && (more || a.taken.size() >= a.least);
            });
    } else if (first.taken.size() >= first.least && !nothing_left) add(finish);
    else if (is_last) {
        if (first.takes_rest && !first.taken.empty()) add(finish);
        else
            add([&](queue_model& q, end& e) {
                const asked a = q.dequeuers_[0];
                q.dequeuers_.erase(q.dequeuers_.begin());
                q.put_back(a, v);
                e = ended{a.who, tn::error_code::out_of_range, {}};
            });
    }
    // Who wants none waits for nobody.
    for (std::size_t i = 1; i < dequeuers_.size() && !first.taking; ++i)
        if (dequeuers_[i].least == 0)
            add([&](queue_model& q, end& e) {
                e = ended{q.dequeuers_[i].who, {}, {}};
                q.dequeuers_.erase(q.dequeuers_.begin() + static_cast<std::ptrdiff_t>(i));
            });
    return all;
}

void queue_model::describe(std::string& to) const {
    const auto number = [&](long long n) {
        to += std::to_string(n);
        to += ' ';
    };
    const auto describe_all = [&](const std::vector<element>& all, bool sorted) {
        std::vector<std::pair<tuple, int>> list;
        for (const element& e : all) list.emplace_back(e.parts, e.owner);
        if (sorted) std::sort(list.begin(), list.end());
        number(static_cast<long long>(list.size()));
        for (const auto& [parts, owner] : list) {
            for (const int p : parts) number(p);
            number(owner);
        }
    };
    describe_all(elements_, rules_->kind == queue_kind::shuffled);
    number(closed_);
    for (const auto* line : {&enqueuers_, &dequeuers_, &kept_}) {
        number(static_cast<long long>(line->size()));
        for (const asked& a : *line) {
            number(a.who);
            number(static_cast<long long>(a.left.size()));
            for (const tuple& t : a.left)
                for (const int p : t) number(p);
            describe_all(a.taken, false);
            number(a.taking);
        }
    }
    to += ';';
}

} // namespace reference
