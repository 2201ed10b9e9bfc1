#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tenon/core/shared_function.hpp>
#include <tenon/resources/collective/collective_group.hpp>

/// The processes of one program, which train one model together.
///
///     const auto together = tn::processes();       // under mpirun, in a cluster, or alone
///     std::puts(together->explained().c_str());    // which way it chose, and why
///     tn::mirrored_strategy mirrored(together);

namespace tenon {

struct processes_options {
    /// Which way: "mpi" (tenon::mpi), "links" (tenon::net: the server of this process, or the task that the environment says it is),
    /// "alone"; empty: the first of these that fits.
    std::string method = {};
    std::vector<std::string> jobs =
        {};              ///< of links: those whose tasks take part, in this order; without, the job of this task
    double seconds = 60; ///< in which all must come
};

/// All processes call it. Where a way was asked for that does not fit, or that is not linked, failed_precondition_error says why; where not
/// all come, the way's own error names who does not. Called again while a group of that way lives, it gives that one.
std::shared_ptr<collective_group> processes(const processes_options& o = {});

/// How processes find each other; a library that knows one registers it when it is loaded.
struct processes_way {
    std::string name;
    int place = 0; ///< those of smaller ones are asked first
    /// Whether it fits here; why, or why not, in words: "the program was started by mpirun".
    shared_function<bool(std::string& why)> fits;
    shared_function<std::shared_ptr<collective_group>(const processes_options&, const std::string& why)> join;
};
void register_processes_way(processes_way w);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/replicated/processes.ipp>
#endif
