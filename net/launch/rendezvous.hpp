#pragma once

#include <memory>
#include <string>

#include <net/launch/rendezvous_table.hpp>
#include <net/transport/transport.hpp>
#include <tenon/net/cluster_source.hpp>

/// The processes of a launcher that tells no addresses find each other: rank 0 serves, the others come, all get the same cluster.
///
/// A visitor sends `join`, is answered `wait` with the time that rank 0 still has, and, when all are there, `cluster`, which it
/// answers with `received`; or it is `refused`. All are notes of the verbs below. While it waits it says `join` again every second, so
/// that both sides notice a connection that is lost in silence. Who loses its connection comes again: it is known by its
/// incarnation.

namespace tenon::net {

enum class rendezvous_verb : std::uint8_t { join = 1, wait, cluster, received, refused };

inline constexpr duration rendezvous_heartbeat = std::chrono::seconds(1);
inline constexpr duration rendezvous_silence = std::chrono::seconds(5); ///< after which a connection is given up

struct rendezvous_options {
    duration limit =
        std::chrono::seconds(60); ///< from its begin: for rank 0 until all are there, for others until rank 0 is
    std::string serve;            ///< where this process serves, instead of what the point says
    bool insecure =
        false; ///< also over connections that others could read or change: names of hosts, no secrets, go over them
};

/// One process's part in it, under way. Thread-safe.
class rendezvous {
public:
    /// Throws invalid_argument_error, or unavailable_error where rank 0 cannot serve where it should.
    static std::unique_ptr<rendezvous> begin(transport& t, const rendezvous_point& point, rendezvous_options options);
    virtual ~rendezvous() = default;

    /// Whether result() answers, and nobody needs this process's part any more; at the latest some seconds after the limit.
    virtual bool done() const = 0;
    /// Throws deadline_exceeded_error that names the ranks that did not come, or rank 0 and its address; permission_denied_error
    /// where the connection is neither on loopback nor encrypted; invalid_argument_error where this process was refused.
    virtual placed result() const = 0;
};

/// Does what is still to be done of `source`, and adds to its explanation. Waits, and works for the transport.
void meet(transport& t, cluster_source& source, const rendezvous_options& options = {});

// What rank 0 tells of itself by a file: its address, and a word that no other run has.
struct rendezvous_file {
    std::string address, word;
};
/// Replaces the file; only this user can read it. Throws unavailable_error.
void write_rendezvous_file(const std::string& path, const rendezvous_file& what);
/// Why it cannot be read, or empty. A file of another user, or one that others can write, is not believed.
std::string read_rendezvous_file(const std::string& path, rendezvous_file& what);

// The two parts.
std::unique_ptr<rendezvous> host_rendezvous(transport& t, const rendezvous_point& point, rendezvous_options options);
std::unique_ptr<rendezvous> visit_rendezvous(transport& t, const rendezvous_point& point, rendezvous_options options);

} // namespace tenon::net
