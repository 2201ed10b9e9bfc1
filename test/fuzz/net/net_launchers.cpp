// Resolves a cluster from any environment, "NAME=value" a line (a line that is none continues the value before it): what cannot be
// is an error of one kind, what can is a place in a cluster or in a rendezvous.
// covers: net/launch/resolve net/launch/deal net/client/settings net/launch/slurm net/launch/tf_config net/launch/open_mpi

#include <tenon/core/error.hpp>
#include <tenon/net/cluster_source.hpp>

#include "fuzz/fuzzing.hpp"

using namespace tenon::net;

void try_input(const fuzz::input& in) {
    const std::string text = in.text();
    environment variables;
    std::string name;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        at = end + 1;
        const std::size_t mark = line.find('=');
        if (mark != std::string::npos && line.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == mark) {
            name = line.substr(0, mark);
            // Files are not read: a cluster is text here.
            if (name == "TENON_CLUSTER" && (mark + 1 == line.size() || line[mark + 1] != '{')) name += "_";
            variables.set(name, line.substr(mark + 1));
        } else if (const std::string* before = variables.find(name)) {
            variables.set(name, *before + "\n" + line);
        }
    }
    fuzz::is_read<tenon::invalid_argument_error>([&] {
        const cluster_source s = resolve_cluster({}, variables);
        const bool beside = s.job.empty() || s.job == "evaluator";
        fuzz::require(!s.explanation.empty() && (s.rendezvous || beside || s.is_task()), "a place that is none");
        fuzz::require(!s.rendezvous || (s.rendezvous->rank >= 0 && s.rendezvous->rank < s.rendezvous->size),
                      "a place of a rendezvous that is none");
    });
}
