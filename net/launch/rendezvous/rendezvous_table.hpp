#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <net/wire/bytes.hpp>
#include <tenon/cluster/cluster.hpp>

/// Who has come to a rendezvous, and the cluster that is made of them: a state machine without connections, clocks or locks.

namespace tenon::net {

/// What a process says of itself.
struct joining {
    std::string run; ///< a process of another run is refused
    int size = 0;
    int rank = 0;
    std::string job;
    int task = -1;                 ///< -1: the next that is free, in the order of ranks
    std::string address = {};      ///< on which it will serve
    std::uint64_t incarnation = 0; ///< by which it is known when it comes again
};

bytes encode(const joining& who);
/// Throws data_loss_error for what is none.
joining decode_joining(std::span<const std::byte> body);

/// A cluster and one's place in it.
struct placed {
    cluster tasks;
    std::string job;
    int task = -1;
    std::string run;   ///< a name that no other run has
    std::string token; ///< made for this run; empty: all have one
};

bytes encode(const placed& place);
/// Throws data_loss_error, or invalid_argument_error where a cluster is none.
placed decode_placed(std::span<const std::byte> body);

class rendezvous_table {
public:
    rendezvous_table(std::string run, int size);

    /// Empty where it is welcome, as it is when it comes again; else why it is not.
    std::string join(const joining& who);
    /// All were there, one of them has gone, and comes again: empty where it is welcome to the place that it had, on the host that it had.
    std::string come_again(const joining& who);
    /// It has gone before all were there; it may come again. Nothing where another one has its rank.
    void leave(int rank, std::uint64_t incarnation);

    const std::string& run() const noexcept { return run_; }
    bool is_here(int rank) const noexcept { return here_.contains(rank); }
    /// By which a rank that is here is known.
    std::uint64_t incarnation_of(int rank) const { return here_.at(rank).incarnation; }
    bool complete() const noexcept { return here_.size() == static_cast<std::size_t>(size_); }
    /// Those that are here, in the order of ranks.
    std::vector<joining> all() const;
    /// "1, 3, 4 and 97 more"
    std::string missing() const;
    /// What one of those that are here is given, once all are. The first call makes the cluster.
    placed place_of(int rank);

private:
    std::string mistake_of(const joining& who) const;
    void make_cluster();

    std::string run_;
    int size_;
    std::map<int, joining> here_; // by rank
    std::map<std::string, int> addresses_;
    std::set<std::pair<std::string, int>> asked_; // tasks that somebody asked for by number
    std::optional<cluster> made_;
    std::map<int, std::pair<std::string, int>> places_;
};

} // namespace tenon::net
