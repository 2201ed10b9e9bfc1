#pragma once

#include <memory>
#include <string>

#include <tenon/resources/collective/collective_group.hpp>

/// Collectives of processes that mpirun started. Linking tenon::mpi registers the method "mpi" of tn::processes(); a program names
/// nothing of this.

namespace tenon::mpi {

/// All processes of MPI_COMM_WORLD. Initialises MPI where nobody has, and then ends it with the program; a process that mpirun did not
/// start is a group of one. failed_precondition_error where MPI is another one than this was built with, where mpirun is another MPI's
/// (each process would be alone), or where the program has initialised MPI so that one thread alone may call it.
std::shared_ptr<collective_group> join(const std::string& name = "mpi");

/// The MPI that this was built with: "Open MPI 4.1.4".
std::string built_with();

} // namespace tenon::mpi
