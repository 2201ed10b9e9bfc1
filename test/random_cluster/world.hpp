#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <net/rpc/peer.hpp>
#include <net/server/server_core.hpp>
#include <net/transport/simulated/simulated.hpp>
#include <random_cluster/actors.hpp>
#include <random_cluster/ledger.hpp>

/// A cluster of one process: servers, clients, the network between them and what goes wrong, all from a seed.

namespace random_cluster {

namespace tn = tenon;
namespace net = tenon::net;

using random_numbers = std::mt19937_64;
inline double uniform(random_numbers& r) { return static_cast<double>(r() >> 11) * 0x1p-53; }
inline std::size_t below(random_numbers& r, std::size_t n) { return static_cast<std::size_t>(r() % n); }
net::duration about(random_numbers& r, net::duration mean);
inline double seconds(net::duration d) { return std::chrono::duration<double>(d).count(); }

struct settings {
    double seconds = 15; ///< of faults, before all is mended
};

class world {
public:
    world(std::uint64_t seed, const settings& s);
    ~world();
    /// Empty, or what was wrong; history() then says how it came.
    std::string run();
    /// What servers, clients and faults did; then the last lines of what the network did.
    std::string history(std::size_t lines) const;
    /// Of all that happened: the same for the same seed.
    std::uint64_t trace_hash() const;

    struct totals {
        std::uint64_t sessions = 0, steps = 0, done = 0, refused = 0, unknown = 0, faults = 0, events = 0;
    };
    totals sums;

    // For clients.
    void wrong(const std::string& what);
    void note(const std::string& who, const std::string& what);
    bool faulty() const { return faulty_ && wrong_.empty(); }
    bool calm() const { return calm_; }        ///< nothing goes wrong but what clients do
    bool is_prompt() const { return prompt_; } ///< what is sent arrives soon, where it arrives
    std::size_t tasks() const { return servers_.size(); }
    bool stands_still_since(std::size_t task, net::time_point t) const;
    /// No line was cut, and nobody else's connection lost.
    bool is_whole_since(net::time_point t) const { return cuts_ == 0 && broken_ < t; }
    const std::string& address(std::size_t task) const;
    int ps() const { return ps_; }
    int workers() const { return workers_; }
    net::peer_options dial(net::transport& t, std::size_t task) const;
    net::duration lease() const { return link_.lease; }
    net::time_point now() const { return net_.now(); }
    /// Of a pause of this host the end, or now, where it is paused.
    net::time_point went_on(const std::string& host) const { return net_.went_on(host); }
    ledger& books() { return books_; }
    std::set<std::int64_t> enqueued, dequeued;
    /// Who is the chief from when it was told, which it asked for before, until then.
    void leads(const std::string& who, std::int64_t term, net::time_point asked, net::time_point from,
               net::time_point until);

private:
    struct server;
    struct client;

    void start(server& s);
    void kill(server& s, bool silently);
    void start(client& c);
    void again(net::duration mean, std::function<void()> what);
    void later(net::duration d, std::function<void()> what);
    void plan_faults();
    void plan_strays();
    void start_stray();
    void mend();
    bool work(net::duration d, bool until_all_have_ended);
    void check_end();
    std::size_t any(std::size_t n) { return below(random_, n); }
    std::string any_host();
    void pause(const std::string& host, bool paused);

    const settings settings_;
    random_numbers random_;
    tn::thread_pool pool_{1};
    net::simulated_network net_;
    net::link_options link_;
    tn::cluster cluster_;
    std::string token_;
    int ps_ = 0, workers_ = 0;
    bool faulty_ = true, calm_ = false, prompt_ = true;
    std::map<std::string, net::time_point> paused_; // by host: since when
    int cuts_ = 0;
    net::time_point broken_{}; // when a line, a connection or a process last was
    ledger books_;
    std::vector<std::unique_ptr<server>> servers_; // ps first
    std::vector<std::unique_ptr<client>> clients_;
    std::unique_ptr<server> stray_;       // a process that should not be: a second one of a task, or of another cluster
    std::shared_ptr<net::peer> to_stray_; // who asks it for sessions
    struct reign {
        std::string who;
        std::int64_t term;
        net::time_point asked, from, until;
    };
    std::vector<reign> reigns_;
    actors actors_;
    std::string wrong_;
    std::deque<std::string> notes_;
    std::uint64_t hash_ = 14695981039346656037u;
};

} // namespace random_cluster
