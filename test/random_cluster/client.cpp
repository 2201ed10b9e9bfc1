#include <net/rpc/asking.hpp>

#include "random_cluster/client_program.hpp"

namespace random_cluster {

namespace {

// Which errors a client may be told when the cluster is at fault.
bool is_of_the_cluster(tn::error_code c) { return c == tn::error_code::unavailable || c == tn::error_code::aborted; }

} // namespace

bool client_program::open(std::size_t task, double limit, bool filtered) {
    ++world_.sums.sessions;
    closed_ = false;
    master_ = task;
    asked_ = transport_.now();
    tn::session_options o{.open_timeout = limit};
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

void client_program::live() {
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
void client_program::hoard() {
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
void client_program::give_up_hoard() {
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

void client_program::close(bool tell) {
    note("closes its session");
    closed_ = true;
    if (tell) session_->close();
}
// One at a time is the chief, by what each is told and its own time.
bool client_program::lead() {
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

void client_program::reset() {
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
void client_program::take_another() {
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
            net::extend_graph c{.session = row.session, .from = row.nodes, .nodes = net::encode_nodes(g, none, all)};
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

void client_program::run_last() {
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

void run_client(world& w, net::transport& t, const std::string& host, std::uint64_t seed) {
    client_program(w, t, host, seed).run();
}
void run_last_client(world& w, net::transport& t, const std::string& host) { client_program(w, t, host, 1).run_last(); }

} // namespace random_cluster
