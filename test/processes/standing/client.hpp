#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "history.hpp"

/// A process that writes to servers, or reads.

namespace standing {

inline constexpr int writers = 4;                 ///< writer w's variables are on server w % servers
inline constexpr std::int64_t planted_every = 10; ///< operations, of a client that does wrong

/// What is deliberately done wrong, so that it is seen that it is found.
enum class plant {
    nothing,
    twice, ///< an addition is applied twice
    torn,  ///< of a pair one variable alone is assigned
    lost,  ///< an element is taken, and nobody says so
};

struct client_options {
    int writer = -1; ///< below 0: it reads
    int server = 0;  ///< whose variables and queue
    std::string target, file;
    std::int64_t first = 1; ///< number of its first operation
    std::uint64_t seed = 1;
    plant what = plant::nothing;
};

/// Until it is asked to end by SIGTERM.
void run_client(const client_options& o);
/// A SIGTERM that comes while it is not taken waits until it is, also from the program before.
void take_end(bool takes);

// Of a server that is reached by its own address: nothing is between.

/// Gives all its variables their first values, and says which life this is.
void initialize(const std::string& target, int server, std::int64_t life);
/// What is left in its queue, which it takes; and reads of all tables.
void read_last(const std::string& target, int server, std::vector<operation>& reads, std::vector<std::int64_t>& left);

} // namespace standing
