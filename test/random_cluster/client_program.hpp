#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <net/client/remote_session.hpp>
#include <random_cluster/client.hpp>
#include <random_cluster/session_graph.hpp>
#include <tenon/tenon.hpp>

/// What one client does, in a life of its own: its sessions (client.cpp) and its steps (client_steps.cpp).

namespace random_cluster {

using namespace std::chrono_literals;
using net::duration;
using net::time_point;

/// A step in flight.
struct flight {
    std::string name;
    std::shared_ptr<tn::detail::pending_state> pending = {};
    int step = 0, refused = 0;  // in the ledger; `refused`: what of it cannot be applied
    std::vector<int> seen = {}; // variables, by fetch
    std::set<int> tasks = {};   // ps
    bool bad = false, stopped = false, takes = false, beside = false;
    whole puts = 0;
    double limit = 0;
    time_point begun{};
};

class client_program {
public:
    client_program(world& w, net::transport& t, std::string host, std::uint64_t seed) :
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

} // namespace random_cluster
