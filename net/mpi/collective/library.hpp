#pragma once

#include <string>

#include <mpi.h>

/// The MPI library of this process: which one it is, and its beginning and end.

namespace tenon::mpi {

/// "Open MPI", "MPICH": by a library's own words (MPI_Get_library_version).
std::string family_of(const std::string& library_version);
/// The line of the environment that an mpirun has set, "OMPI_COMM_WORLD_SIZE=2", and of how many processes; "" and 0: none has.
std::string launched_by(int& processes);

/// Initialises MPI where nobody has; then it is finalised when the program ends. Throws what join() throws.
void begin_library();
/// Something is under way that will never end: MPI is not to be finalised, which would wait for it.
void never_finalize() noexcept;

/// Throws internal_error in MPI's words where a call failed.
void require(int code, const char* call);

} // namespace tenon::mpi
