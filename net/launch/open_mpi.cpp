// Open MPI: mpirun numbers its processes and tells no addresses of others.
//
//   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, OMPI_COMM_WORLD_LOCAL_RANK, OMPI_COMM_WORLD_LOCAL_SIZE
//   PMIX_NAMESPACE             a number that only this run has
//   OMPI_MCA_orte_precondition_transports   128 random bits of this run, which are on no command line
//   OMPI_MCA_orte_hnp_uri, OMPI_MCA_orte_local_daemon_uri   (Open MPI 1.7 to 4) the daemons of mpirun's host and of this one:
//                              "624361472.0;tcp://192.0.2.2,10.1.0.1:35943;tcp6://[fd00::2]:56677"
//
// Else than on one host, rank 0 serves on mpirun's host, if it runs there,
// which it can tell: its daemon is then mpirun itself.

#include <net/launch/launchers.hpp>

namespace tenon::net {

namespace {

// The addresses of a daemon of version 4 of the internet protocol; none where the text is not as expected.
std::vector<std::string> hosts_of(const std::string& uri) {
    std::vector<std::string> hosts;
    const std::string scheme = ";tcp://";
    const std::size_t begin = uri.find(scheme);
    if (begin == std::string::npos) return hosts;
    const std::size_t end = std::min(uri.find(';', begin + 1), uri.size());
    const std::string text = uri.substr(begin + scheme.size(), end - begin - scheme.size());
    const std::size_t colon = text.rfind(':');
    for (std::size_t at = 0; colon != std::string::npos && at < colon;) {
        const std::size_t comma = std::min(text.find(',', at), colon);
        const std::string host = text.substr(at, comma - at);
        if (host.empty() || host.find_first_not_of("0123456789.") != std::string::npos) return {};
        hosts.push_back(host);
        at = comma + 1;
    }
    return hosts;
}

} // namespace

sighting see_open_mpi(const settings& s) {
    const auto rank = s.variable("OMPI_COMM_WORLD_RANK");
    return {rank ? rank->text() : "", ""};
}

ranked_process read_open_mpi(const settings& s) {
    const std::string because =
        "mpirun sets it beside OMPI_COMM_WORLD_RANK: start the program with mpirun, or set TENON_LAUNCHER=none";
    const named_value size = s.needed("OMPI_COMM_WORLD_SIZE", because),
                      rank = s.needed("OMPI_COMM_WORLD_RANK", because);
    ranked_process p;
    p.size = size.number(1, most_ranks, "the number of processes");
    p.size_from = size.name;
    p.rank = rank.number(0, most_ranks, "a process's rank");
    if (p.rank >= p.size) rank.refuse("there are only " + std::to_string(p.size) + " processes, by " + size.text());
    if (const auto local = s.variable("OMPI_COMM_WORLD_LOCAL_RANK"))
        p.of_host = local->number(0, p.size - 1, "a process's rank on its host");
    if (const auto local = s.variable("OMPI_COMM_WORLD_LOCAL_SIZE"))
        p.one_host = local->number(1, p.size, "the number of processes on a host") == p.size;
    if (const auto run = s.variable("PMIX_NAMESPACE")) p.run = "open_mpi " + run->value;
    if (const auto key = s.variable("OMPI_MCA_orte_precondition_transports")) p.token = key->value;

    if (p.one_host && !p.run.empty()) {
        meet_on_this_host(p);
        return p;
    }
    const auto first = s.variable("OMPI_MCA_orte_hnp_uri"), mine = s.variable("OMPI_MCA_orte_local_daemon_uri");
    const std::vector<std::string> hosts = first ? hosts_of(first->value) : std::vector<std::string>();
    if (hosts.empty() || p.run.empty()) {
        p.nowhere = "Open MPI does not tell where rank 0 runs";
    } else if (p.rank == 0 && (!mine || mine->value != first->value)) {
        p.nowhere =
            "rank 0 is not on mpirun's host (OMPI_MCA_orte_local_daemon_uri differs from OMPI_MCA_orte_hnp_uri), so "
            "nobody knows where it is";
    } else {
        meet_at_ports_of_run(p, hosts, "0.0.0.0");
        p.how = "rank 0 serves on mpirun's host, of OMPI_MCA_orte_hnp_uri, on a port made of PMIX_NAMESPACE";
    }
    return p;
}

} // namespace tenon::net
