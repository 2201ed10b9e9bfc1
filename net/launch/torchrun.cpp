// torchrun, and what starts processes as it does (PyTorchJob, env://): ranks, and the host of rank 0.
//
//   RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, TORCHELASTIC_RUN_ID
//   TORCHELASTIC_USE_AGENT_STORE=True: torchrun itself listens on MASTER_PORT

#include <net/launch/launchers.hpp>

namespace tenon::net {

sighting see_torchrun(const settings& s) {
    const auto rank = s.variable("RANK");
    // Names as plain as these may be somebody else's: all three must be there.
    if (!rank || !s.has("WORLD_SIZE") || !(s.has("MASTER_ADDR") || s.has("TORCHELASTIC_RUN_ID"))) return {};
    return {rank->text(), ""};
}

ranked_process read_torchrun(const settings& s) {
    const std::string because =
        "torchrun sets it beside RANK: start the program with torchrun, or set TENON_LAUNCHER=none";
    const named_value size = s.needed("WORLD_SIZE", because), rank = s.needed("RANK", because);
    ranked_process p;
    p.size = size.number(1, most_ranks, "the number of processes");
    p.size_from = size.name;
    p.rank = rank.number(0, most_ranks, "a process's rank");
    if (p.rank >= p.size) rank.refuse("there are only " + std::to_string(p.size) + " processes, by " + size.text());
    if (const auto local = s.variable("LOCAL_RANK"))
        p.of_host = local->number(0, p.size - 1, "a process's rank on its host");
    if (const auto local = s.variable("LOCAL_WORLD_SIZE"))
        p.one_host = local->number(1, p.size, "the number of processes on a host") == p.size;

    const named_value host = s.needed("MASTER_ADDR", because), port = s.needed("MASTER_PORT", because);
    const auto agent = s.variable("TORCHELASTIC_USE_AGENT_STORE");
    const bool taken = agent && (agent->value == "True" || agent->value == "1");
    const int number = port.number(1, taken ? 65534 : 65535, "the port of rank 0") + (taken ? 1 : 0);
    const bool bare = host.value.find(':') != std::string::npos && host.value.front() != '['; // version 6
    const std::string named = bare ? "[" + host.value + "]" : host.value;
    const auto run = s.variable("TORCHELASTIC_RUN_ID"), tries = s.variable("TORCHELASTIC_RESTART_COUNT");
    p.run = "torchrun " + (run && run->value != "none" ? run->value : host.value + ":" + port.value) +
            (tries ? "." + tries->value : "");
    if (p.one_host) {
        meet_on_this_host(p);
        return p;
    }
    p.listen = p.reached = {named + ":" + std::to_string(number)};
    p.how = std::string("rank 0 serves on MASTER_ADDR") +
            (taken ? " and the port after MASTER_PORT, where torchrun itself listens" : " and MASTER_PORT");
    return p;
}

} // namespace tenon::net
