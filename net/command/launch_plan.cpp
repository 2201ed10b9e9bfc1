#include <net/command/launch_plan.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <net/command/hosts.hpp>
#include <tenon/core/error.hpp>

namespace tenon::command {

namespace {

constexpr int most_tasks = 1000;

void check_count(const char* flag, int count) {
    if (count < 0 || count > most_tasks)
        throw invalid_argument_error(std::string(flag) + " is " + std::to_string(count) + "; it must be from 0 to " +
                                     std::to_string(most_tasks));
}

std::string joined(const std::vector<std::string>& parts) {
    std::string text;
    for (const std::string& p : parts) text += (text.empty() ? "" : ",") + p;
    return text;
}

// The tasks and what each runs, parameter servers first.
std::vector<task_plan> what_runs(const launch_options& options, const std::string& tenon) {
    check_count("--ps", options.ps);
    check_count("--worker", options.workers);
    const int tasks = options.ps + options.workers;
    if (tasks == 0) throw invalid_argument_error("there is nothing to start; give --worker, --ps or both");
    if (options.program.empty() && (options.workers > 0 || options.ps_run_program))
        throw invalid_argument_error(
            "what workers run is missing; write it behind two dashes: tenon launch --worker 2 -- program "
            "arguments");
    if (options.ps_run_program && !options.ps_command.empty())
        throw invalid_argument_error("--ps-command and --ps-run-program both say what parameter servers run; give one");
    std::vector<task_plan> plans;
    for (int i = 0; i < tasks; ++i) {
        const bool serves = i < options.ps;
        task_plan plan{.job = serves ? "ps" : "worker", .task = serves ? i : i - options.ps};
        if (!serves || options.ps_run_program) plan.arguments = options.program;
        else if (!options.ps_command.empty()) plan.arguments = {options.ps_command};
        else plan.arguments = {tenon, "serve"};
        plans.push_back(std::move(plan));
    }
    return plans;
}

// To these workers, of one host. There may be none to give.
void give_gpus(const std::vector<task_plan*>& workers, const std::vector<std::string>& gpus) {
    const auto shares = deal_gpus(gpus, static_cast<int>(workers.size()));
    for (std::size_t i = 0; i < workers.size(); ++i) workers[i]->variables["CUDA_VISIBLE_DEVICES"] = joined(shares[i]);
}

struct dealt_hosts {
    std::vector<host> all, ps, workers; // the last two: instead of all, where they are not empty
};
dealt_hosts read_all_hosts(const launch_options& options) {
    const auto read = [](const char* flag, const std::string& list) {
        return list.empty() ? std::vector<host>() : read_hosts(flag, list);
    };
    return {read_hosts("--hosts", options.hosts), read("--ps-hosts", options.ps_hosts),
            read("--worker-hosts", options.worker_hosts)};
}

// "ps=2,worker=4"
std::string tasks_text(const launch_options& options) {
    std::string text;
    for (const auto& [job, count] : {std::pair<const char*, int>{"ps", options.ps}, {"worker", options.workers}})
        if (count > 0) text += (text.empty() ? "" : ",") + std::string(job) + "=" + std::to_string(count);
    return text;
}

} // namespace

std::vector<task_plan> plan_launch(const launch_options& options, const std::string& self,
                                   const std::vector<int>& ports, const std::vector<std::string>& gpus) {
    std::vector<task_plan> plans = what_runs(options, self);
    if (ports.size() != plans.size()) throw internal_error("launch: there is not a port for each task");

    std::vector<cluster::named_tasks> jobs;
    std::size_t next = 0;
    for (const auto& [job, count] : {std::pair<const char*, int>{"ps", options.ps}, {"worker", options.workers}}) {
        std::vector<std::string> addresses;
        for (int t = 0; t < count; ++t) addresses.push_back(options.host + ":" + std::to_string(ports[next++]));
        if (count > 0) jobs.emplace_back(job, addresses);
    }
    const std::string described = cluster(jobs).to_json();

    std::vector<task_plan*> workers;
    for (task_plan& plan : plans) {
        plan.variables = {
            {"TENON_CLUSTER", described}, {"TENON_JOB", plan.job}, {"TENON_TASK", std::to_string(plan.task)}};
        if (plan.job == "ps") plan.variables["CUDA_VISIBLE_DEVICES"] = "";
        else workers.push_back(&plan);
    }
    if (!gpus.empty() || options.gpus) give_gpus(workers, gpus);
    return plans;
}

std::vector<task_plan> plan_on_hosts(const launch_options& options, const std::string& self, int port) {
    std::vector<task_plan> plans = what_runs(options, options.remote_tenon.empty() ? self : options.remote_tenon);
    const dealt_hosts hosts = read_all_hosts(options);
    const std::vector<std::string> gpus = read_gpus(options.gpus.value_or(""));
    const auto handed_on = variables_of_shell(options.env);
    std::size_t of_all = 0;
    std::map<std::string, std::vector<task_plan*>> workers; // of each host
    const host* first = nullptr;
    for (std::size_t rank = 0; rank < plans.size(); ++rank) {
        task_plan& plan = plans[rank];
        const std::vector<host>& own = plan.job == "ps" ? hosts.ps : hosts.workers;
        const host& at = own.empty() ? hosts.all[of_all++ % hosts.all.size()]
                                     : own[static_cast<std::size_t>(plan.task) % own.size()];
        if (!first) first = &at;
        plan.login = at.login;
        plan.variables = {{"TENON_RANK", std::to_string(rank)},
                          {"TENON_TASKS", tasks_text(options)},
                          {"TENON_RENDEZVOUS", before_port(first->address) + ":" + std::to_string(port)},
                          {"TENON_HOST", before_port(at.address)}};
        if (options.port_base > 0) plan.variables["TENON_PORT"] = std::to_string(options.port_base + 1);
        if (options.insecure) plan.variables["TENON_INSECURE"] = "1";
        if (plan.job == "ps") plan.variables["CUDA_VISIBLE_DEVICES"] = "";
        else workers[at.login].push_back(&plan);
        plan.variables.insert(handed_on.begin(), handed_on.end());
    }
    if (options.gpus)
        for (const auto& [login, of_host] : workers) give_gpus(of_host, gpus);
    return plans;
}

std::vector<std::string> addresses_of_hosts(const launch_options& options) {
    std::vector<std::string> addresses;
    const dealt_hosts hosts = read_all_hosts(options);
    for (const auto* list : {&hosts.all, &hosts.ps, &hosts.workers})
        for (const host& h : *list)
            if (std::find(addresses.begin(), addresses.end(), h.address) == addresses.end())
                addresses.push_back(h.address);
    return addresses;
}

std::vector<std::vector<std::string>> deal_gpus(const std::vector<std::string>& gpus, int workers) {
    const auto w = static_cast<std::size_t>(workers), g = gpus.size();
    std::vector<std::vector<std::string>> shares(w);
    std::size_t next = 0;
    for (std::size_t i = 0; i < w && g > 0; ++i) {
        if (g < w) {
            shares[i] = {gpus[i % g]};
            continue;
        }
        const std::size_t count = g / w + (i < g % w ? 1 : 0);
        for (std::size_t n = 0; n < count; ++n) shares[i].push_back(gpus[next++]);
    }
    return shares;
}

std::vector<std::string> read_gpus(const std::string& list) {
    std::vector<std::string> gpus;
    if (list.empty() || list == "none") return gpus;
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(',', at), list.size());
        const std::string gpu = list.substr(at, end - at);
        at = end + 1;
        if (gpu == "-1") break;
        if (gpu.empty() || gpu.find_first_of(" \t\n") != std::string::npos)
            throw invalid_argument_error("GPUs \"" + list +
                                         "\": give their numbers or identifiers with commas between, as "
                                         "\"0,1,3\", or none");
        for (const std::string& other : gpus)
            if (other == gpu) throw invalid_argument_error("GPUs \"" + list + "\": " + gpu + " occurs twice");
        gpus.push_back(gpu);
    }
    return gpus;
}

std::vector<std::string> gpus_of_machine() {
    if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) return read_gpus(visible);
    std::error_code none;
    std::vector<std::string> gpus;
    for ([[maybe_unused]] const auto& gpu : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", none))
        gpus.push_back(std::to_string(gpus.size()));
    return gpus;
}

} // namespace tenon::command
