#pragma once

#include <memory>
#include <string>

#include <net/launch/rendezvous/rendezvous_table.hpp>
#include <net/transport/transport.hpp>
#include <tenon/net/cluster_source.hpp>

/// The processes of a launcher that tells no addresses find each other: rank 0 serves, the others come, all get the same cluster.
///
/// It stands on links: a visitor calls `join` and is told the time that rank 0 still has; then it calls `place`, which is answered
/// when all are there. Links prove the token, and go on over connections that are lost; a visitor whose link is dead begins a new
/// one, and is known by its incarnation.

namespace tenon::net {

enum class rendezvous_verb : std::uint8_t { join = 1, place = 2 };
const char* name_of_rendezvous_verb(std::uint8_t verb);

struct rendezvous_options {
    duration limit =
        std::chrono::seconds(60); ///< from its begin: for rank 0 until all are there, for others until rank 0 is
    std::string serve;            ///< where this process serves, instead of what the point says
    std::string token;            ///< that all must have; empty: none, but for the word of a file
    bool insecure = false;        ///< also over connections that others could read or change
};

/// One process's part in it, under way. Thread-safe.
class rendezvous_part {
public:
    /// Throws invalid_argument_error, or unavailable_error where rank 0 cannot serve where it should.
    static std::unique_ptr<rendezvous_part> begin(transport& t, const rendezvous_point& point,
                                                  rendezvous_options options);
    virtual ~rendezvous_part() = default;

    /// Whether result() answers, and nobody needs this process's part any more; at the latest some seconds after the limit.
    virtual bool done() const = 0;
    /// Throws deadline_exceeded_error that names the ranks that did not come, or rank 0 and its address; permission_denied_error
    /// where the connection is neither on loopback nor encrypted, or the token is another; invalid_argument_error where this
    /// process was refused.
    virtual placed result() const = 0;
};

/// How processes have met.
struct met {
    std::string token; ///< made for this run; empty where options have one
    std::unique_ptr<rendezvous_part>
        open; ///< of rank 0, as long as processes may come again, to the places that they had
};
/// Does what is still to be done of `source`, its run included, and adds to its explanation. Waits, and works for the transport.
met meet(transport& t, cluster_source& source, const rendezvous_options& options = {});

/// What this host calls itself.
std::string own_name();

// What rank 0 tells of itself by a file: its address, and a word that no other run has.
struct rendezvous_file {
    std::string address, word;
};
/// Replaces the file; only this user can read it. A folder of private_folder() is made. Throws unavailable_error.
void write_rendezvous_file(const std::string& path, const rendezvous_file& what);
/// Why it cannot be read, or empty. A file of another user, or one that others can write, is not believed.
std::string read_rendezvous_file(const std::string& path, rendezvous_file& what);

// The two parts.
std::unique_ptr<rendezvous_part> host_rendezvous(transport& t, const rendezvous_point& point,
                                                 rendezvous_options options);
std::unique_ptr<rendezvous_part> visit_rendezvous(transport& t, const rendezvous_point& point,
                                                  rendezvous_options options);

} // namespace tenon::net
