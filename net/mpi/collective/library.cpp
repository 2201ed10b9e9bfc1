#include <net/mpi/collective/library.hpp>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include <tenon/core/error.hpp>
#include <tenon/mpi/mpi.hpp>

namespace tenon::mpi {

namespace {

std::atomic<bool> finalizes{false}; // this library has initialised MPI, and nothing keeps it from ending it

void end_library() {
    int over = 0;
    if (finalizes && MPI_Finalized(&over) == MPI_SUCCESS && !over) MPI_Finalize();
}

std::string running() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    require(MPI_Get_library_version(text, &length), "MPI_Get_library_version");
    return std::string(text, static_cast<std::size_t>(length));
}

} // namespace

std::string built_with() {
#if defined(OMPI_MAJOR_VERSION)
    return "Open MPI " + std::to_string(OMPI_MAJOR_VERSION) + "." + std::to_string(OMPI_MINOR_VERSION) + "." +
           std::to_string(OMPI_RELEASE_VERSION);
#elif defined(I_MPI_VERSION)
    return "Intel MPI " I_MPI_VERSION;
#elif defined(MPICH_VERSION)
    return "MPICH " MPICH_VERSION;
#else
    return "MPI";
#endif
}

std::string family_of(const std::string& version) {
    for (const char* family : {"Open MPI", "Intel", "MPICH"})
        if (version.find(family) != std::string::npos) return family;
    return "";
}

std::string launched_by(int& processes) {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"})
        if (const char* value = std::getenv(name)) {
            processes = std::atoi(value);
            return std::string(name) + "=" + value;
        }
    processes = 0;
    return {};
}

void require(int code, const char* call) {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
    throw internal_error(std::string(call) + " failed: " + std::string(text, static_cast<std::size_t>(length)));
}

void never_finalize() noexcept { finalizes = false; }

void begin_library() {
    static std::mutex guard;
    const std::lock_guard lock(guard);
    const std::string library = running(), family = family_of(library), built = built_with();
    if (!family.empty() && family_of(built) != family)
        throw failed_precondition_error("tenon::mpi was built with " + built + " and runs with " +
                                        library.substr(0, 60) +
                                        ": these are not compatible. Build Tenon with the MPI that programs run with "
                                        "(CMake: -DMPI_C_COMPILER=mpicc of that one)");
    int initialized = 0, finalized = 0;
    require(MPI_Initialized(&initialized), "MPI_Initialized");
    require(MPI_Finalized(&finalized), "MPI_Finalized");
    if (finalized)
        throw failed_precondition_error("the program has ended MPI (MPI_Finalize): its processes cannot join any more");
    int threads = MPI_THREAD_SINGLE;
    if (!initialized) {
        require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads), "MPI_Init_thread");
        finalizes = true;
        std::atexit(end_library);
    } else require(MPI_Query_thread(&threads), "MPI_Query_thread");
    if (threads < MPI_THREAD_SERIALIZED)
        throw failed_precondition_error(
            initialized
                ? "the program has initialised MPI for one thread (MPI_Init, or MPI_Init_thread with less than "
                  "MPI_THREAD_SERIALIZED); initialise it with MPI_THREAD_MULTIPLE, or leave that to Tenon"
                : "this MPI (" + built + ") can be called by one thread only; take one that was built with threads");
    int size = 1, expected = 0;
    require(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
    const std::string by = launched_by(expected);
    if (size == 1 && expected > 1)
        throw failed_precondition_error(
            "the program was started by an mpirun (" + by + ") that is not that of " + built +
            ", which tenon::mpi was built with: each process would be alone. Start it by the "
            "mpirun of " +
            built + ", or build Tenon with the other MPI");
}

} // namespace tenon::mpi
