#include <algorithm>

#include "array_of.hpp"
#include "random_cluster/client_program.hpp"

// What a client does in steps, and what it holds the cluster to.

namespace random_cluster {

namespace {

tn::any_array numbers(const std::vector<whole>& from, const tn::extents& sizes) {
    return tn::test::array_of(sizes, from);
}
tn::any_array counts_with(std::int64_t element, whole value) {
    std::vector<whole> all(ledger::elements, 0);
    all[static_cast<std::size_t>(element)] = value;
    return numbers(all, counts::extents);
}
tn::any_array one_number(whole n) { return numbers({n}, {1}); }

} // namespace

flight client_program::begin(double limit, const std::vector<std::pair<way, int>>& what) {
    flight f{.name = "step " + std::to_string(++steps_), .limit = limit, .begun = transport_.now()};
    f.step = books_.begin(asked_, there_, f.begun);
    std::vector<tn::any_tensor> feeds;
    std::vector<tn::any_array> values;
    tn::detail::fetch_request r;
    std::string text;
    for (auto [how, v] : what) {
        f.tasks.insert(books_.task_of(v));
        int step = f.step;
        if (how == way::add_of_bad) {
            f.bad = true;
            step = f.refused = books_.begin(asked_, there_, f.begun);
        }
        std::int64_t element = 0;
        if (how != way::read && how != way::assign && (element = books_.updates(step, v)) == 0) how = way::read;
        int with = 0;
        if (how == way::add_by_worker || how == way::add_of_bad) with = static_cast<int>(usable_[any(usable_.size())]);
        if (how == way::add_by_other) {
            const int worker = v % world_.workers();
            if (std::find(usable_.begin(), usable_.end(), static_cast<std::size_t>(worker)) == usable_.end())
                how = way::add;
            else {
                with = static_cast<int>(any(static_cast<std::size_t>(books_.variables())));
                books_.reads(step, with);
            }
        }
        if (how == way::read) books_.reads(step, v);
        if (how == way::assign) books_.assigns(step, v);
        const char* names[] = {"reads",
                               "assigns",
                               "adds to",
                               "adds by a worker to",
                               "adds by another to",
                               "scatters to",
                               "adds what is bad to"};
        text += std::string(text.empty() ? " " : ", ") + names[static_cast<int>(how)] + " v" + std::to_string(v) +
                (element ? "[" + std::to_string(element) + "]" : "");
        const tn::any_tensor node = graph_->node(how, v, with);
        if (how == way::assign) {
            feeds.push_back(graph_->fed(v));
            values.push_back(counts_with(0, f.step));
        } else if (how != way::read && how != way::scatter) {
            feeds.push_back(graph_->fed(v));
            values.push_back(counts_with(element, 1));
        }
        if (how == way::scatter || how == way::add_of_bad) {
            feeds.push_back(graph_->index(v));
            values.push_back(one_number(how == way::scatter ? element : 7));
        }
        if (how == way::read || maybe(0.7)) {
            r.fetches.push_back(node);
            f.seen.push_back(v);
        } else r.targets.push_back(tn::operation(node.node()));
    }
    if (what.empty()) {
        f.tasks.insert(0);
        f.takes = maybe(0.5);
        if (f.takes) r.fetches.push_back(graph_->taken());
        else {
            f.puts = f.step;
            r.targets.push_back(graph_->put());
            feeds.push_back(graph_->token());
            values.push_back(numbers({f.puts}, {}));
            world_.enqueued.insert(f.puts);
        }
        text = f.takes ? " takes a token" : " puts a token";
    }
    note(f.name + " (" + std::to_string(f.step) + ")" + text +
         (limit > 0 ? ", within " + std::to_string(limit) + " s" : ""));
    start(f, feeds, std::move(values), r);
    return f;
}

void client_program::start(flight& f, const std::vector<tn::any_tensor>& feeds, std::vector<tn::any_array> values,
                           const tn::detail::fetch_request& r) {
    ++world_.sums.steps;
    try {
        f.pending = session_->make_callable(feeds, r)->start(std::move(values), f.limit);
    } catch (const tn::error& e) {
        failed(f, e);
    }
}

bool client_program::end(flight& f) {
    if (!f.pending) return false;
    std::vector<tn::any_array> fetched(f.seen.size() + (f.takes ? 1 : 0) + 1);
    try {
        f.pending->get(fetched.data());
    } catch (const tn::error& e) {
        failed(f, e);
        return false;
    }
    const time_point now = transport_.now();
    require_soon(f.name, f.begun, most(f));
    note(f.name + " is done");
    ++world_.sums.done;
    books_.end(f.step, ledger::outcome::done, now);
    if (f.bad) {
        wrong(f.name + " is done, and one of its inputs is bad");
        return false;
    }
    for (std::size_t i = 0; i < f.seen.size(); ++i)
        books_.saw(f.step, f.seen[i], {fetched[i].data<whole>(), static_cast<std::size_t>(fetched[i].elements())});
    if (!f.takes) return true;
    const whole token = *fetched[0].data<whole>();
    if (!world_.enqueued.contains(token)) wrong("a token is taken that nobody put");
    if (!world_.dequeued.insert(token).second) wrong("TWICE: a token is taken");
    return true;
}

void client_program::failed(flight& f, const tn::error& e) {
    const time_point now = transport_.now();
    const std::string what = e.what();
    note(f.name + " has failed: " + tn::name_of(e.code()) + ": " + what);
    require_soon(f.name, f.begun, most(f));
    books_.end(f.step, ledger::outcome::unknown, now);
    if (f.refused) books_.end(f.refused, ledger::outcome::refused, now);
    ++(f.bad ? world_.sums.refused : world_.sums.unknown);
    if (closed_) return;
    switch (e.code()) {
    case tn::error_code::unavailable:
    case tn::error_code::aborted:
        if (what.find("its container was reset") != std::string::npos) break; // of the queue
        if (world_.calm()) wrong(f.name + " failed where nothing is wrong: " + what);
        if (what.find("/job:") == std::string::npos && what.find(":1000") == std::string::npos)
            wrong("an error does not name who failed: " + what);
        break;
    case tn::error_code::deadline_exceeded:
        if (f.limit == 0) wrong(f.name + " has no limit, and exceeded it: " + what);
        else if (seconds(now - f.begun) < f.limit - 1e-6) wrong(f.name + " exceeded its limit early: " + what);
        hold_to_account(f, what);
        if (!f.beside) require_names(f, what);
        break;
    case tn::error_code::cancelled:
        if (!f.stopped) wrong(f.name + " was stopped, by nobody: " + what);
        else hold_to_account(f, what);
        break;
    case tn::error_code::failed_precondition: books_.found_uninitialised(f.step); break;
    case tn::error_code::invalid_argument:
        if (!f.bad) wrong(f.name + " is refused: " + what);
        else if (what.find("gather") == std::string::npos) wrong("an error does not name its node: " + what);
        break;
    default: wrong(f.name + " failed in a way that it cannot: " + what);
    }
}

// Who is told that a step was late, or was stopped, finds it done on the tasks where the error says so.
void client_program::hold_to_account(const flight& f, const std::string& what) {
    if (what.find("whether the step was applied is not known") != std::string::npos) return;
    const auto named = [&](const std::string& after, const std::string& before) {
        std::set<int> tasks;
        const std::size_t from = what.find(after);
        if (from == std::string::npos) return tasks;
        const std::string names = what.substr(from + after.size(), what.find(before, from) - from - after.size());
        for (const int task : f.tasks)
            if (names.find("/job:ps/task:" + std::to_string(task)) != std::string::npos) tasks.insert(task);
        return tasks;
    };
    for (const int task : named("; the step was applied on ", ", and whether"))
        books_.end_on(f.step, task, ledger::outcome::done);
}

// Who stood still all the time, where nothing else was wrong.
void client_program::require_names(const flight& f, const std::string& what) {
    const auto is_named = [&](const std::string& name) { return what.find(name) != std::string::npos; };
    if (!world_.is_whole_since(f.begun) || !world_.is_prompt()) return;
    if (world_.stands_still_since(master_, f.begun)) {
        if (!is_named(world_.address(master_))) wrong(f.name + " does not name its silent master: " + what);
        return;
    }
    bool any = false, named = false;
    for (const int task : f.tasks)
        if (static_cast<std::size_t>(task) != master_ &&
            world_.stands_still_since(static_cast<std::size_t>(task), f.begun)) {
            any = true;
            named = named || is_named("/job:ps/task:" + std::to_string(task));
        }
    if (any && !named) wrong(f.name + " does not name a silent task: " + what);
}

void client_program::step() {
    std::vector<std::pair<way, int>> what;
    const auto variable = [&] { return static_cast<int>(any(static_cast<std::size_t>(books_.variables()))); };
    const double which = uniform(random_);
    if (which < 0.12) {
        for (int v = 0; v < books_.variables(); ++v)
            if (maybe(0.6)) what.emplace_back(way::assign, v);
    } else if (which < 0.9) {
        const std::size_t several = 1 + any(3);
        const bool bad = maybe(0.08);
        for (std::size_t i = 0; i < several; ++i) {
            const int v = variable();
            if (std::any_of(what.begin(), what.end(), [&](const auto& w) { return w.second == v; })) continue;
            const way updates[] = {way::read, way::add, way::add, way::add_by_worker, way::add_by_other, way::scatter};
            what.emplace_back(bad && i == 0 ? way::add_of_bad : updates[any(6)], v);
        }
    } // else a token
    const double limit = what.empty() || maybe(0.6) ? 0.5 + 3 * uniform(random_)
                         : maybe(0.3)               ? 0.001 + 0.05 * uniform(random_)
                                                    : 0;
    flight f = begin(limit, what);
    if (!f.pending) return end_all(); // which may have taken long
    if (maybe(0.1)) {                 // it is stopped on its way
        (void)f.pending->wait_for(uniform(random_) * (any(2) ? 0.002 : 0.2));
        note(f.name + " is stopped");
        f.stopped = true;
        f.pending->stop();
    } else if (maybe(0.03)) { // its session is closed on its way
        (void)f.pending->wait_for(uniform(random_) * 0.01);
        const time_point closes = transport_.now();
        close(true);
        require_soon("closing a session", closes, 8);
        if (!f.pending->wait_for(0)) wrong(f.name + " goes on where its session was closed");
        f.begun = transport_.now(); // closing may have taken longer than it
    } else if (maybe(0.02)) {       // nobody waits for it
        closed_ = true;
        note("leaves");
        books_.end(f.step, ledger::outcome::unknown, transport_.now());
        f.pending.reset();
        return;
    } else if (maybe(0.2)) { // others run beside it
        f.beside = true;     // and are waited for one after another
        flights_.push_back(std::move(f));
        return;
    }
    (void)end(f);
    end_all();
}

// Those that run beside others.
void client_program::end_all() {
    for (flight& f : flights_) (void)end(f);
    flights_.clear();
}

} // namespace random_cluster
