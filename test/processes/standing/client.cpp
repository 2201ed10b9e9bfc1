#include "client.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <random>
#include <thread>

#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;

namespace standing {

namespace {

using number = std::int64_t;
constexpr double limit = 1, empty_limit = 0.2, open_limit = 2; // seconds
constexpr double grace = 1; // in which a server that knows the limit says that it has passed

std::atomic<bool> ending{false};

using scalar = tn::shape<>;
using table = tn::shape<static_cast<std::int64_t>(slots)>;

auto scalar_variable(const std::string& name) { return tn::variable(name, number{0}); }
auto table_variable(const std::string& name) { return tn::variable(name, tn::full<table>(number{0})); }

// The variables of one writer, in the graph of this scope.
struct variables {
    explicit variables(int writer) :
        adds(table_variable("table" + std::to_string(writer))),
        first(scalar_variable("first" + std::to_string(writer))),
        second(scalar_variable("second" + std::to_string(writer))) {}
    decltype(table_variable("")) adds;
    decltype(scalar_variable("")) first, second;
};

// What processes share of one server, by the names of variables and queue.
struct model {
    explicit model(int server) : place(tn::device_name("/job:ps/task:" + std::to_string(server))), in(graph) {
        const tn::device_scope there(place);
        life.emplace(scalar_variable("life" + std::to_string(server)));
        queue.emplace(1000000, tn::queue_options{.shared_name = "queue" + std::to_string(server)});
        for (int w = server; w < writers; w += servers) of.emplace_back(w);
    }
    const tn::device_name place;
    tn::graph graph;
    tn::graph_scope in;
    std::optional<decltype(scalar_variable(""))> life;
    std::optional<tn::fifo_queue<number, number>> queue; // the element, and the life in which it was put
    std::vector<variables> of;
};

template <class Table, class Number>
void fill(operation& o, const Number& life, const Table& adds, const Number& first, const Number& second) {
    o.life = life();
    o.table.assign(adds.data(), adds.data() + slots);
    o.first = first();
    o.second = second();
}

// May what ended so have been applied? A server that says that it is late has left everything as it was, unless it says that the task of
// the variables has applied it, or that this is not known; who is not answered says that himself.
outcome outcome_of(const operation& o, tn::error_code code, const std::string& why) {
    switch (code) {
    case tn::error_code::failed_precondition:
    case tn::error_code::resource_exhausted: return outcome::failed;
    case tn::error_code::deadline_exceeded:
        return o.end - o.begin < o.limit + 0.9 * grace && why.find("not known") == std::string::npos &&
                       why.find("the step was applied ") == std::string::npos
                   ? outcome::failed
                   : outcome::unknown;
    default: return outcome::unknown;
    }
}

class client {
public:
    explicit client(const client_options& o) :
        options_(o), log_(o.file), chance_(o.seed), model_(o.server), next_(o.first) {}

    void run() {
        const tn::device_scope there(model_.place);
        const variables& own = model_.of[static_cast<std::size_t>(std::max(options_.writer, 0) / servers)];
        const auto slot = tn::placeholder<number, tn::shape<1>>("slot");
        const auto value = tn::placeholder<number>("value");
        const auto one = tn::constant({number{1}});
        const auto add = own.adds.scatter_add(slot, one);
        const auto to_first = own.first.assign(value), to_second = own.second.assign(value);
        const auto put = model_.queue->enqueue(value, *model_.life);
        const auto dequeued = model_.queue->dequeue();
        const auto& taken = std::get<0>(dequeued);
        const auto& put_in = std::get<1>(dequeued);
        const auto& life = *model_.life;
        while (!ending) {
            if (!session_ && !attempt(kind::open, open_limit, [&](operation&) { open(); })) continue;
            const bool is_wrong = options_.what != plant::nothing && next_ % planted_every == 0;
            if (options_.writer >= 0) switch (chance_() % 3) {
                case 0:
                    attempt(kind::add, limit, [&](operation& o) {
                        tn::array<number, tn::shape<1>> at;
                        at.data()[0] = o.number % static_cast<number>(slots);
                        for (int n = 0; n < (is_wrong && options_.what == plant::twice ? 2 : 1); ++n)
                            o.life = std::get<0>(session_->run_for(o.limit, tn::feed(slot, at), life, add))();
                    });
                    break;
                case 1:
                    attempt(kind::pair, limit, [&](operation& o) {
                        if (is_wrong && options_.what == plant::torn)
                            o.life =
                                std::get<0>(session_->run_for(o.limit, tn::feed(value, o.number), life, to_first))();
                        else
                            o.life = std::get<0>(
                                session_->run_for(o.limit, tn::feed(value, o.number), life, to_first, to_second))();
                    });
                    break;
                default:
                    attempt(kind::put, limit, [&](operation& o) {
                        o.life = session_->run_for(o.limit, tn::feed(value, element(o.writer, o.number)), life, put)();
                    });
                }
            else if (chance_() % 3 == 0) {
                if (is_wrong && options_.what == plant::lost) try {
                        (void)session_->run_for(empty_limit, taken);
                    } catch (const tn::error&) {
                    }
                attempt(kind::take, empty_limit, [&](operation& o) {
                    const auto [e, l] = session_->run_for(o.limit, taken, put_in);
                    o.taken = e();
                    o.life = l();
                });
            } else {
                const auto& of = model_.of[chance_() % model_.of.size()];
                const int writer = options_.server + servers * static_cast<int>(&of - model_.of.data());
                attempt(
                    kind::read, limit,
                    [&](operation& o) {
                        o.writer = writer;
                        const auto [l, adds, first, second] =
                            session_->run_for(o.limit, life, of.adds, of.first, of.second);
                        fill(o, l, adds, first, second);
                    },
                    writer);
            }
        }
    }

private:
    void open() { session_.emplace(options_.target, model_.graph, tn::session_options{.open_timeout = open_limit}); }

    // False where it failed.
    template <class F> bool attempt(kind what, double seconds, const F& f, int writer = -1) {
        operation o;
        o.kind = what;
        o.server = options_.server;
        o.writer = writer >= 0 ? writer : options_.writer;
        o.number = what == kind::open ? 0 : next_++;
        o.limit = seconds;
        o.begin = seconds_now();
        log_.begun(o);
        const auto failed = [&](tn::error_code code, const std::string& why) {
            o.end = seconds_now();
            o.outcome = outcome_of(o, code, why);
            o.error = std::string(tn::name_of(code)) + ": " + why;
            log_.ended(o);
            if (code != tn::error_code::deadline_exceeded && code != tn::error_code::failed_precondition)
                session_.reset();
            // Nobody is there, or has nothing yet.
            if (what != kind::take) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        };
        try {
            f(o);
        } catch (const tn::error& e) {
            failed(e.code(), e.what());
            return false;
        } catch (const std::exception& e) {
            failed(tn::error_code::internal, e.what());
            return false;
        }
        o.end = seconds_now();
        o.outcome = outcome::ok;
        log_.ended(o);
        return true;
    }

    const client_options options_;
    log log_;
    std::mt19937_64 chance_;
    model model_;
    std::int64_t next_;
    std::optional<tn::session> session_;
};

} // namespace

void take_end(bool takes) {
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    (void)::pthread_sigmask(takes ? SIG_UNBLOCK : SIG_BLOCK, &end, nullptr);
}

void run_client(const client_options& o) {
    (void)std::signal(SIGTERM, [](int) { ending = true; });
    take_end(true);
    tn::set_client_options({.heartbeat = 0.3, .lease = 1.5});
    client(o).run();
}

void initialize(const std::string& target, int server, std::int64_t life) {
    const model m(server);
    const tn::device_scope there(m.place);
    const auto which = tn::placeholder<number>("which");
    const auto begins = m.life->assign(which);
    std::vector<tn::operation> all;
    for (const variables& v : m.of)
        for (const tn::operation& i : {v.adds.initializer(), v.first.initializer(), v.second.initializer()})
            all.push_back(i);
    tn::session sess(target, m.graph,
                     {.device_filters = {"/job:ps/task:" + std::to_string(server)}, .open_timeout = 30});
    std::vector<tn::fed_value> fed;
    fed.push_back(tn::feed(which, life));
    (void)sess.run_untyped(std::move(fed), {begins}, all);
}

void read_last(const std::string& target, int server, std::vector<operation>& reads, std::vector<std::int64_t>& left) {
    const model m(server);
    const tn::device_scope there(m.place);
    const auto size = m.queue->size();
    const auto [taken, put_in] = m.queue->dequeue();
    tn::session sess(target, m.graph,
                     {.device_filters = {"/job:ps/task:" + std::to_string(server)}, .open_timeout = 30});
    for (std::size_t w = 0; w < m.of.size(); ++w) {
        operation& o = reads.emplace_back();
        o.kind = kind::read;
        o.server = server;
        o.writer = server + servers * static_cast<int>(w);
        o.limit = 30;
        o.begin = seconds_now();
        const auto [l, adds, first, second] = sess.run(*m.life, m.of[w].adds, m.of[w].first, m.of[w].second);
        fill(o, l, adds, first, second);
        o.outcome = outcome::ok;
        o.end = seconds_now();
    }
    for (auto n = sess.run(size)(); n > 0; --n) left.push_back(sess.run(taken)());
}

} // namespace standing
