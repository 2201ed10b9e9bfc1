#pragma once

#include <optional>
#include <string>

#include <tenon/cluster/cluster.hpp>

/// Runs of this user on this machine, each written down where no other user can read it: so that `tenon status` and its like need not be
/// told the token of a run that this user has started.

namespace tenon::net {

/// So many hexadecimal digits that nobody can guess, by the system's source of random numbers: of a run's name, or a token.
std::string random_digits(int count);

/// Whether this machine has no such process any more.
bool has_ended(int process);

struct run_file {
    std::string run;   ///< letters and digits, its name among this user's runs
    std::string token; ///< what its tasks prove to each other
    cluster tasks;
    int process = 0; ///< who started it: the run is over when that has ended
};
std::string to_json(const run_file& r);
/// Throws data_loss_error where it is no JSON, invalid_argument_error where it is something else.
run_file read_run_file(const std::string& json);

/// The folder of this user's runs, which it makes if need be: tenon in XDG_RUNTIME_DIR where that is this user's, else
/// /tmp/tenon-<user's number>. Throws permission_denied_error where it is another user's, or others can enter it, and
/// unavailable_error where it cannot be made.
std::string folder_of_runs();

/// Writes a run down as long as it lives.
class noted_run {
public:
    /// Removes what runs that are over have left. Throws as folder_of_runs() and write_private_file() do.
    explicit noted_run(const run_file& r);
    noted_run(noted_run&&) = delete;
    ~noted_run();

private:
    std::string path_;
};

/// The run of this user that has a task at this address, "host:port", the newest where there are several; none where none is written
/// down. "localhost" is 127.0.0.1.
std::optional<run_file> find_run(const std::string& address);

} // namespace tenon::net
