#pragma once

#include <string>

#include <net/transport/transport.hpp>

/// What the processes of a run of MPICH's mpiexec tell each other through it, on however many hosts: version 1 of the process management
/// interface, lines over a socket that mpiexec's proxy gives each. It is MPI's own, too: for programs that do not use MPI.

namespace tenon::net {

/// One thread.
class pmi_board {
public:
    /// `socket`: PMI_FD, which stays open. Waits for so long in all. Throws unavailable_error where what is there speaks another language.
    pmi_board(int socket, duration limit);

    /// Has others find this text, without spaces, under this word, once all have met.
    void put(const std::string& word, const std::string& text);
    /// Waits for all processes of the run. Throws deadline_exceeded_error.
    void meet();
    /// What was put there. Throws unavailable_error where nothing was.
    std::string get(const std::string& word);

private:
    std::string ask(const std::string& what, const std::string& expected);

    const int socket_;
    const time_point until_;
    std::string rest_; // of what came, behind a line
    std::string space_;
};

/// The value of `key` in "cmd=get_result rc=0 value=x"; empty: it has none.
std::string pmi_value(const std::string& line, const std::string& key);

/// A library of MPI is linked to this program, and would speak over the same socket.
bool uses_mpi() noexcept;

} // namespace tenon::net
