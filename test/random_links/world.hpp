#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include <net/rpc/peer.hpp>
#include <net/rpc/service.hpp>
#include <net/transport/simulated/simulated.hpp>

/// A cluster whose hosts add to each other's counters, and what must hold of that.

namespace random_links {

namespace tn = tenon;
namespace net = tenon::net;

/// One "add n to counter k" or "read counter k", or a note that adds.
struct operation {
    std::uint64_t id = 0;
    enum class kind { add, read, note } what{};
    std::uint32_t key = 0;
    std::uint64_t amount = 0;
    std::size_t from = 0, to = 0; // hosts
    std::uint64_t life = 0;       // of who calls
    std::uint64_t at_least = 0;   // a read: what this caller knows to have been added
    std::uint64_t known_of = 0;   // by that life of the other
    net::time_point made{}, deadline{};
    bool cancelled = false;
    bool caller_died = false;
    int ended = 0;                            // times
    std::optional<tn::error_code> error = {}; // where it failed
    int applied = 0;                          // times, by any life
};

struct settings {
    double seconds = 40; // of faults, before all is mended
};

class world {
public:
    world(std::uint64_t seed, const settings& s);
    ~world();
    /// Empty, or what was wrong; history() then says how it came.
    std::string run();
    std::string history(std::size_t lines) const { return net_.history(lines); }

    struct totals {
        std::uint64_t calls = 0, notes = 0, succeeded = 0, unavailable = 0, aborted = 0, late = 0, cancelled = 0,
                      events = 0, links = 0, connections = 0, restarts = 0;
    };
    const totals& sums() const { return sums_; }

private:
    class counter_service;
    struct node;

    double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
    net::duration about(net::duration mean);
    void wrong(const std::string& what);
    void start(std::size_t host);
    void kill(std::size_t host, bool silently);
    void plan_call(std::size_t host);
    void plan_kill();
    void make_call(node& from);
    void ended(operation& o, const net::answer& a);
    void check_bounds();
    void check_calls();
    void check_end();

    const settings settings_;
    std::mt19937_64 random_;
    net::simulated_network net_;
    net::link_options link_;
    net::link_limits limits_;
    std::string token_;
    bool faulty_ = true;
    std::vector<std::unique_ptr<node>> nodes_;
    std::uint64_t lives_ = 0;
    std::unordered_map<std::uint64_t, operation> operations_;
    std::string wrong_;
    totals sums_;
};

} // namespace random_links
