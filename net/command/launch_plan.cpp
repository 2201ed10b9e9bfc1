#include <net/command/launch_plan.hpp>

#include <cstdlib>
#include <filesystem>

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

} // namespace

std::vector<task_plan> plan_launch(const launch_options& options, const std::string& self,
                                   const std::vector<int>& ports, const std::vector<std::string>& gpus) {
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
    if (static_cast<int>(ports.size()) != tasks) throw internal_error("launch: there is not a port for each task");

    std::vector<cluster::named_tasks> jobs;
    std::size_t next = 0;
    for (const auto& [job, count] : {std::pair<const char*, int>{"ps", options.ps}, {"worker", options.workers}}) {
        std::vector<std::string> addresses;
        for (int t = 0; t < count; ++t) addresses.push_back(options.host + ":" + std::to_string(ports[next++]));
        if (count > 0) jobs.emplace_back(job, addresses);
    }
    const std::string described = cluster(jobs).to_json();

    std::vector<task_plan> plans;
    const auto shares = deal_gpus(gpus, options.workers);
    for (int i = 0; i < tasks; ++i) {
        const bool serves = i < options.ps;
        task_plan plan;
        plan.job = serves ? "ps" : "worker";
        plan.task = serves ? i : i - options.ps;
        if (!serves || options.ps_run_program) plan.arguments = options.program;
        else if (!options.ps_command.empty()) plan.arguments = {options.ps_command};
        else plan.arguments = {self, "serve"};
        plan.variables = {
            {"TENON_CLUSTER", described}, {"TENON_JOB", plan.job}, {"TENON_TASK", std::to_string(plan.task)}};
        if (serves) plan.variables["CUDA_VISIBLE_DEVICES"] = "";
        else if (!gpus.empty())
            plan.variables["CUDA_VISIBLE_DEVICES"] = joined(shares[static_cast<std::size_t>(plan.task)]);
        else if (options.gpus) plan.variables["CUDA_VISIBLE_DEVICES"] = ""; // none were asked for
        plans.push_back(std::move(plan));
    }
    return plans;
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
