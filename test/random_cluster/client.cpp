#include "random_cluster/client.hpp"

#include <optional>
#include <set>

#include <net/client/remote_session.hpp>
#include <net/rpc/asking.hpp>
#include <random_cluster/session_graph.hpp>
#include <tenon/tenon.hpp>

namespace random_cluster {

namespace {

using namespace std::chrono_literals;
using net::duration;
using net::time_point;
tn::any_array numbers(const std::vector<whole>& from, const tn::extents& sizes) {
    tn::any_array a(tn::element_type::int64, sizes);
    std::copy(from.begin(), from.end(), a.data<whole>());
    return a;
}
tn::any_array counts_with(std::int64_t element, whole value) {
    std::vector<whole> all(ledger::elements, 0);
    all[static_cast<std::size_t>(element)] = value;
    return numbers(all, counts::extents);
}
tn::any_array one_number(whole n) { return numbers({n}, {1}); }

/// A step in flight.
struct flight {
    std::string name;
    std::shared_ptr<tn::detail::pending_state> pending;
    int step = 0, refused = 0; // in the ledger; `refused`: what of it cannot be applied
    std::vector<int> seen;     // variables, by fetch
    std::set<int> tasks;       // ps
    bool bad = false, stopped = false, takes = false, beside = false;
    whole puts = 0;
    double limit = 0;
    time_point begun{};
};

class program {
public:
    program(world& w, net::transport& t, std::string host, std::uint64_t seed) :
        world_(w),
        books_(w.books()),
        transport_(t),
        host_(std::move(host)),
        random_(seed),
        candidate_(host_ + ", life " + std::to_string(t.random_number())) {}

    void run() {
        while (world_.faulty()) {
            sleep(about(random_, 200ms));
            if (any(12) == 0) reset();
            if (any(12) == 0) take_another();
            live();
        }
    }
    void run_last();

private:
    std::size_t any(std::size_t n) { return below(random_, n); }
    bool maybe(double p) { return uniform(random_) < p; }
    void note(const std::string& what) { world_.note(host_, what); }
    void wrong(const std::string& what) { world_.wrong(host_ + ": " + what); }
    void sleep(duration d) {
        (void)transport_.work_until([] { return false; }, transport_.now() + d);
    }
    // Longer than this nothing takes, but for the time in which this host stands still.
    void require_soon(const std::string& what, time_point begun, double limit) {
        const time_point from = std::max(begun, world_.went_on(host_));
        const double took = seconds(transport_.now() - from);
        if (took > limit) wrong(what + " took " + std::to_string(took) + " s");
    }

    // What a step may take: it ends at its limit, whatever is silent; a server that is there may be heard of a little later. One that
    // runs beside others is waited for after them.
    double most(const flight& f) const {
        if (f.limit == 0) return 30;
        if (f.beside) return f.limit + 1.1 + 3 * seconds(world_.lease());
        return f.limit + (world_.is_prompt() ? 0.1 : 1.05);
    }

    bool open(std::size_t task, double limit, bool filtered);
    void live();
    void close(bool tell);
    void hoard();
    void give_up_hoard();
    void step();
    flight begin(double limit, const std::vector<std::pair<way, int>>& what);
    void start(flight& f, const std::vector<tn::any_tensor>& feeds, std::vector<tn::any_array> values,
               const tn::detail::fetch_request& r);
    bool end(flight& f); // whether it is done
    void end_all();
    void failed(flight& f, const tn::error& e);
    void hold_to_account(const flight& f, const std::string& what);
    void require_names(const flight& f, const std::string& what);
    void reset();
    void take_another();
    bool lead(); // whether it is the chief

    world& world_;
    ledger& books_;
    net::transport& transport_;
    const std::string host_;
    random_numbers random_;
    const std::string candidate_;
    whole known_term_ = 0;
    int steps_ = 0;

    // Of the session.
    std::optional<session_graph> graph_;
    std::shared_ptr<net::remote_session> session_;
    time_point asked_{}, there_{};
    bool closed_ = false;
    std::size_t master_ = 0;
    std::vector<std::size_t> usable_; // workers
    std::vector<flight> flights_;
    std::vector<std::shared_ptr<tn::detail::pending_state>> hoard_; // steps that wait for what never comes
};

// Which errors a client may be told when the cluster is at fault.
bool is_of_the_cluster(tn::error_code c) { return c == tn::error_code::unavailable || c == tn::error_code::aborted; }

bool program::open(std::size_t task, double limit, bool filtered) {
    ++world_.sums.sessions;
    closed_ = false;
    master_ = task;
    asked_ = transport_.now();
    tn::session_options o;
    o.open_timeout = limit;
    usable_.clear();
    if (filtered) {
        o.device_filters = {"/job:ps"};
        const std::size_t w = any(static_cast<std::size_t>(world_.workers()));
        o.device_filters.push_back("/job:worker/task:" + std::to_string(w));
        usable_ = {w};
    } else
        for (int w = 0; w < world_.workers(); ++w) usable_.push_back(static_cast<std::size_t>(w));
    graph_.emplace(world_, books_);
    try {
        session_ =
            std::make_shared<net::remote_session>(transport_, world_.dial(transport_, task), host_, graph_->graph, o);
        there_ = transport_.now();
        note("has a session on " + world_.address(task));
        return true;
    } catch (const tn::error& e) {
        note("has no session on " + world_.address(task) + ": " + tn::name_of(e.code()) + ": " + e.what());
        if (!is_of_the_cluster(e.code())) wrong(std::string("a session is refused: ") + e.what());
        else if (world_.calm()) wrong(std::string("a session is refused where nothing is wrong: ") + e.what());
        require_soon("opening a session", asked_, limit + 1 + 3 * seconds(world_.lease()));
        return false;
    }
}

void program::live() {
    if (!open(any(world_.tasks()), 1 + 3 * uniform(random_), any(2))) return;
    if (any(10) == 0) hoard();
    const std::size_t steps = 1 + any(15);
    for (std::size_t i = 0; i < steps && world_.faulty() && !closed_; ++i) {
        sleep(about(random_, 100ms));
        if (any(4) == 0) (void)lead();
        if (!closed_) step();
    }
    end_all();
    give_up_hoard();
    if (!closed_ && maybe(0.5)) close(maybe(0.5));
    session_.reset();
}

// A greedy client: others must not feel it, nor what it does itself beside that.
void program::hoard() {
    const std::size_t nodes = any(4000), steps = 1 + any(200);
    note("has " + std::to_string(nodes) + " nodes more, and begins " + std::to_string(steps) +
         " steps that wait for ever");
    graph_->swell(nodes);
    tn::detail::fetch_request r;
    r.fetches.push_back(graph_->never());
    try {
        const auto waits = session_->make_callable({}, r);
        while (hoard_.size() < steps) hoard_.push_back(waits->start({}, 0));
    } catch (const tn::error& e) {
        note(std::string("cannot begin them all: ") + e.what());
        if (world_.calm() || !is_of_the_cluster(e.code()))
            wrong(std::string("steps that wait are refused: ") + e.what());
    }
}

// With the session all of them end, whatever they wait for.
void program::give_up_hoard() {
    if (hoard_.empty()) return;
    const time_point begun = transport_.now();
    close(true);
    for (const auto& p : hoard_) {
        if (!p->wait_for(8)) {
            wrong("a step waits where its session was closed");
            break;
        }
        std::vector<tn::any_array> fetched(2);
        try {
            p->get(fetched.data());
            wrong("what never comes has come");
        } catch (const tn::error& e) {
            if (e.code() != tn::error_code::cancelled && !is_of_the_cluster(e.code()))
                wrong(std::string("a step of a closed session fails in a way that it cannot: ") + e.what());
        }
    }
    require_soon("closing a session", begun, 8);
    hoard_.clear();
}

void program::close(bool tell) {
    note("closes its session");
    closed_ = true;
    if (tell) session_->close();
}

flight program::begin(double limit, const std::vector<std::pair<way, int>>& what) {
    flight f;
    f.name = "step " + std::to_string(++steps_);
    f.limit = limit;
    f.begun = transport_.now();
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

void program::start(flight& f, const std::vector<tn::any_tensor>& feeds, std::vector<tn::any_array> values,
                    const tn::detail::fetch_request& r) {
    ++world_.sums.steps;
    try {
        f.pending = session_->make_callable(feeds, r)->start(std::move(values), f.limit);
    } catch (const tn::error& e) {
        failed(f, e);
    }
}

bool program::end(flight& f) {
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

void program::failed(flight& f, const tn::error& e) {
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
void program::hold_to_account(const flight& f, const std::string& what) {
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
void program::require_names(const flight& f, const std::string& what) {
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

void program::step() {
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
void program::end_all() {
    for (flight& f : flights_) (void)end(f);
    flights_.clear();
}

// One at a time is the chief, by what each is told and its own time.
bool program::lead() {
    constexpr double length = 1.5;
    const time_point asked = transport_.now();
    tn::detail::run_request r;
    const auto feed = [&](std::size_t i, tn::element_type type, auto value) {
        tn::any_array a(type, {});
        *a.data<decltype(value)>() = std::move(value);
        r.feeds.push_back({graph_->candidate()[i], std::move(a)});
    };
    feed(0, tn::element_type::string, candidate_);
    feed(1, tn::element_type::float64, length);
    feed(2, tn::element_type::int64, known_term_);
    r.fetches = graph_->standing();
    r.timeout = 2;
    try {
        const std::vector<tn::any_array> is = session_->run(std::move(r));
        const std::string& chief = *is[0].data<std::string>();
        const whole term = *is[1].data<whole>();
        known_term_ = std::max(known_term_, term);
        note("the chief is " + chief + ", term " + std::to_string(term));
        if (chief != candidate_) return false;
        world_.leads(candidate_, term, asked, transport_.now(), asked + net::seconds_of(length));
        return true;
    } catch (const tn::error& e) {
        note(std::string("does not know the chief: ") + e.what());
        if (world_.calm()) wrong(std::string("a lease cannot be claimed where nothing is wrong: ") + e.what());
        if (!is_of_the_cluster(e.code()) && e.code() != tn::error_code::deadline_exceeded)
            wrong(std::string("a lease is refused: ") + e.what());
        return false;
    }
}

void program::reset() {
    const std::string container = any(2) ? "extra" : "";
    const time_point begun = transport_.now();
    note("resets the container \"" + container + "\"");
    const int reset = books_.reset_begins(container, begun);
    const auto to = net::peer::make(transport_, world_.dial(transport_, any(world_.tasks())));
    try {
        (void)net::ask(*to, net::reset_containers{{container}, 2}, begun + 4s);
        note("the container is reset");
        books_.reset_ends(reset, transport_.now(), true);
    } catch (const tn::error& e) {
        note(std::string("the container may not be reset: ") + e.what());
        books_.reset_ends(reset, transport_.now() + 20s, false);
        if (world_.calm()) wrong(std::string("a container cannot be reset: ") + e.what());
    }
    to->close();
}

// Sessions are their client's alone (SEMANTICS 27).
void program::take_another() {
    const auto to = net::peer::make(transport_, world_.dial(transport_, any(world_.tasks())));
    try {
        const time_point limit = transport_.now() + 3s;
        const net::ask_status::reply r = net::ask(*to, net::ask_status{false, 2}, limit);
        for (const net::session_row& row : r.tasks.at(0).sessions) {
            note("extends the graph of a session of " + row.client);
            tn::graph g;
            {
                const tn::graph_scope scope(g);
                (void)tn::placeholder<whole, tn::shape<>>("another's");
            }
            net::graph_mark none, all;
            net::extend_graph c;
            c.session = row.session;
            c.from = row.nodes;
            c.nodes = net::encode_nodes(g, none, all);
            try {
                (void)net::ask(*to, c, limit);
                wrong("a client extends another's graph");
            } catch (const tn::aborted_error&) {
            }
        }
    } catch (const tn::error& e) {
        note(std::string("is not told of sessions: ") + e.what());
        if (world_.calm()) wrong(std::string("a status is refused: ") + e.what());
    }
    to->close();
}

void program::run_last() {
    for (std::size_t task = 0; task < world_.tasks(); ++task) {
        if (!open(task, 3, false)) return wrong("there is no session when all is mended");
        for (int v = 0; v < books_.variables(); ++v) {
            flight looks = begin(3, {{way::read, v}});
            if (!end(looks)) {
                flight assigns = begin(3, {{way::assign, v}});
                if (!end(assigns)) return wrong("a variable cannot be assigned when all is mended");
            }
            for (const way how : {way::add_by_worker, way::scatter, way::read}) {
                flight f = begin(3, {{how, v}});
                if (!end(f)) return wrong("a step fails when all is mended");
            }
        }
        if (!lead()) return wrong("all others are gone, and it is not the chief");
        if (any(2)) close(true);
        session_.reset();
    }
}

} // namespace

void run_client(world& w, net::transport& t, const std::string& host, std::uint64_t seed) {
    program(w, t, host, seed).run();
}
void run_last_client(world& w, net::transport& t, const std::string& host) { program(w, t, host, 1).run_last(); }

} // namespace random_cluster
