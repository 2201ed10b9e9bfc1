#include <cstdlib>
#include <mutex>
#include <vector>

#include <net/mpi/collective/group.hpp>
#include <net/mpi/collective/library.hpp>
#include <tenon/mpi/mpi.hpp>
#include <tenon/train/replicated/processes.hpp>

namespace tenon::mpi {

namespace {

constexpr double leaves_within = 6; // seconds, as a link's lease

bool fits(std::string& why) {
    int processes = 0, initialized = 0;
    const std::string by = launched_by(processes);
    if (!by.empty()) {
        why = "the program was started by mpirun (" + by + ")";
        return true;
    }
    if (MPI_Initialized(&initialized) == MPI_SUCCESS && initialized) {
        why = "the program has initialised MPI";
        return true;
    }
    why = "no mpirun has started it";
    return false;
}

// Who calls exit() leaves its groups, whose threads call MPI, before MPI ends: what is registered last is called first.
void left_at_exit(const std::shared_ptr<group>& g) {
    static std::mutex guard;
    static auto& living = *new std::vector<std::weak_ptr<group>>;
    static const int is_registered = std::atexit([] {
        const std::lock_guard lock(guard);
        for (const auto& w : living)
            if (const auto one = w.lock()) one->leave(1);
    });
    (void)is_registered;
    const std::lock_guard lock(guard);
    std::erase_if(living, [](const auto& w) { return w.expired(); });
    living.push_back(g);
}

} // namespace

std::shared_ptr<collective_group> join(const std::string& name) {
    begin_library();
    auto made = std::make_shared<group>(name);
    left_at_exit(made);
    // Left by whoever drops it.
    std::shared_ptr<collective_group> handle(made.get(), [made](collective_group*) { made->leave(leaves_within); });
    collective_group::enter(handle);
    handle->explain("by MPI (" + built_with() + "), " + std::to_string(made->size()) + " processes, of which this is " +
                    made->member(made->rank()));
    return handle;
}

} // namespace tenon::mpi

/// What has a program that links this library linked with it: the method "mpi".
extern "C" int tenon_mpi_linked;
int tenon_mpi_linked = [] {
    tenon::register_processes_way(
        {"mpi", 0, tenon::mpi::fits, [](const tenon::processes_options&, const std::string& why) {
             auto g = tenon::mpi::join();
             g->explain(g->explained() + ": " + why);
             return g;
         }});
    return 1;
}();
