#include <tenon/net/cluster_source.hpp>

#include <algorithm>
#include <cstring>

#include <unistd.h>

#include <net/launch/deal.hpp>
#include <net/launch/launchers.hpp>
#include <tenon/core/device_name.hpp>
#include <tenon/core/error.hpp>
#include <tenon/io/files/file.hpp>

extern char** environ;

namespace tenon::net {

environment environment::of_process() {
    environment all;
    for (char** entry = environ; entry && *entry; ++entry)
        if (const char* mark = std::strchr(*entry, '='))
            all.set(std::string(*entry, static_cast<std::size_t>(mark - *entry)), mark + 1);
    // Hydra sets no variable that tells its runs apart.
    if (all.find("PMI_RANK")) all.set("HYDRA_CONTROL_PORT", hydra_control_port());
    return all;
}

namespace {

struct launcher {
    const char* name;       // in explanations
    const char* short_name; // in TENON_LAUNCHER
    sighting (*see)(const settings&);
};

// From what is said most explicitly, and is nearest to the process, to what is farthest: torchrun and mpirun run inside of
// jobs of Slurm and Kubernetes, not the other way round.
constexpr launcher launchers[] = {
    {"TF_CONFIG", "tf_config", see_tf_config},
    {"torchrun", "torchrun", see_torchrun},
    {"Open MPI", "open_mpi", see_open_mpi},
    {"PMI", "pmi", see_pmi},
    {"Slurm", "slurm", see_slurm},
    {"JobSet", "jobset", see_jobset},
    {"Kubernetes", "kubernetes", see_kubernetes},
};

sighting see_rank(const settings& s) {
    const auto rank = s.rank();
    return {rank ? rank->text() : "", ""};
}
constexpr launcher own_rank{"TENON_RANK", "", see_rank};

std::string task_words(const std::string& job, int task) { return "/job:" + job + "/task:" + std::to_string(task); }

std::string indices_of(const cluster& c, const std::string& job) {
    std::string text;
    for (const int t : c.tasks(job)) {
        if (text.size() > 60) return text + ", ...";
        text += (text.empty() ? "" : ", ") + std::to_string(t);
    }
    return text;
}

std::string jobs_of(const cluster& c) {
    std::string text;
    for (const std::string& job : c.jobs()) text += (text.empty() ? "" : "; ") + job + " " + indices_of(c, job);
    return text;
}

/// One resolution.
class resolution {
public:
    explicit resolution(const settings& s) : s_(s) {}

    cluster_source run() {
        const auto described = s_.cluster();
        const launcher* by = choose(described.has_value());
        source_.run = run_name({});
        if (described) {
            from_description(*described, by);
        } else if (!by) {
            alone();
        } else if (by->see == see_tf_config) {
            from_tf_config();
        } else {
            from_ranks(*by);
        }
        return std::move(source_);
    }

private:
    void say(const std::string& line) { source_.explanation.push_back(line); }

    // Whose variables count; nullptr: nobody's. `passed` are told of once it is known who decides.
    const launcher* choose(bool described) {
        const auto named = s_.launcher();
        std::vector<std::pair<const launcher*, sighting>> seen;
        if (!see_rank(s_).seen.empty()) seen.emplace_back(&own_rank, see_rank(s_));
        const launcher* wanted = nullptr;
        std::string names = "none";
        for (const launcher& l : launchers) {
            names += std::string(", ") + l.short_name;
            if (named && named->value == l.short_name) wanted = &l;
        }
        if (named && !wanted && named->value != "none")
            named->refuse("there is no such launcher; give one of " + names);
        for (const launcher& l : launchers) {
            if (named && &l != wanted) continue; // not even read: it may be malformed
            if (described && l.see == see_tf_config) {
                if (const auto v = s_.variable("TF_CONFIG"))
                    passed_ += "\npassed over: TF_CONFIG: a cluster is given by " + s_.cluster()->name;
                continue;
            }
            if (sighting what = l.see(s_); !what.seen.empty()) seen.emplace_back(&l, std::move(what));
        }
        const launcher* by = nullptr;
        for (const auto& [l, what] : seen) {
            if (!by && what.unusable.empty()) {
                by = l;
                seen_ = what.seen;
                if (wanted) seen_ += ", as " + named->text();
                continue;
            }
            passed_ += "\npassed over: " + std::string(l->name) + " (" + what.seen + "): " +
                       (!what.unusable.empty() ? what.unusable
                        : by == &own_rank      ? "a rank of our own stands over it"
                                               : std::string(by->name) + " comes before it");
        }
        if (wanted && by != wanted && by != &own_rank)
            named->refuse("that launcher's variables are not there, or say nothing" + passed_);
        if (named && !wanted) passed_ += "\npassed over: what launchers set: " + named->text();
        return by;
    }

    void say_passed() {
        for (std::size_t at = 1; at < passed_.size();) {
            const std::size_t end = std::min(passed_.find('\n', at), passed_.size());
            say(passed_.substr(at, end - at));
            at = end + 1;
        }
    }

    // TENON_CLUSTER: JSON, or a file of it.
    void from_description(const named_value& v, const launcher* by) {
        source_.decided = v.name;
        const std::size_t first = v.value.find_first_not_of(" \t\r\n");
        const bool json = first != std::string::npos && v.value[first] == '{';
        std::string text = v.value;
        if (!json) {
            try {
                text = tenon::detail::text_of_file("cluster", v.value);
            } catch (const not_found_error&) {
                v.refuse("no such file can be read; give a cluster's JSON, or the path of a file that holds it");
            } catch (const error& e) {
                v.refuse(e.what());
            }
        }
        try {
            source_.tasks = cluster::from_json(text);
        } catch (const error& e) {
            v.refuse(e.what());
        }
        say("the cluster is given by " + (json ? v.name : v.name + ": the file " + v.value) + ": " +
            jobs_of(source_.tasks));
        const auto job = s_.job(), task = s_.task();
        if (!job && !task) {
            if (by)
                passed_ += "\npassed over: " + std::string(by->name) + " (" + seen_ + "): a cluster is given by " +
                           v.name + "; to be the task of a launcher's rank, give TENON_TASK=rank";
            say("neither TENON_JOB nor TENON_TASK is given: this process is a client, and no task of the cluster");
        } else if (task && task->value == "rank") {
            task_by_rank(*task, by);
        } else {
            if (by)
                passed_ +=
                    "\npassed over: " + std::string(by->name) + " (" + seen_ + "): a cluster is given by " + v.name;
            task_of_ours();
        }
        say_passed();
    }

    // TENON_TASK=rank: the launcher's rank among a job's tasks, or among all.
    void task_by_rank(const named_value& task, const launcher* by) {
        if (!by) task.refuse("there is no launcher that gives ranks; give a number");
        const int rank = ranks_of_launcher(*by, {}).rank;
        std::vector<std::pair<std::string, int>> all;
        const auto job = s_.job();
        if (job) check_job(*job);
        for (const std::string& name : source_.tasks.jobs())
            if (!job || job->value == name)
                for (const int t : source_.tasks.tasks(name)) all.emplace_back(name, t);
        if (static_cast<std::size_t>(rank) >= all.size())
            task.refuse(std::string(by->name) + " gives rank " + std::to_string(rank) + " (" + seen_ +
                        "), but there are only " + std::to_string(all.size()) + " tasks" +
                        (job ? " of job " + job->value : "") + ": " + jobs_of(source_.tasks));
        std::tie(source_.job, source_.task) = all[static_cast<std::size_t>(rank)];
        say("this process is " + task_words(source_.job, source_.task) + " by rank " + std::to_string(rank) + " of " +
            by->name + " (" + seen_ + "): TENON_TASK=rank");
    }

    void check_job(const named_value& job) const {
        if (!source_.tasks.has(job.value)) job.refuse("the cluster has no such job; it has " + jobs_of(source_.tasks));
    }

    // TENON_JOB and TENON_TASK in a cluster that is known; what is not given is what can be meant.
    void task_of_ours() {
        const auto job = s_.job(), task = s_.task();
        if (job) {
            check_job(*job);
            source_.job = job->value;
        } else {
            const auto jobs = source_.tasks.jobs();
            if (jobs.size() > 1)
                task->refuse("its job is not given, and there are several: " + jobs_of(source_.tasks) +
                             "; set TENON_JOB");
            source_.job = jobs.front();
        }
        const auto indices = source_.tasks.tasks(source_.job);
        if (task) {
            source_.task = task->number(0, 999'999'999, "a task's index");
            if (!source_.tasks.has(source_.job, source_.task))
                task->refuse("job " + source_.job + " has no such task; it has " +
                             indices_of(source_.tasks, source_.job));
        } else {
            if (indices.size() > 1)
                job->refuse("which of its tasks is not given: " + indices_of(source_.tasks, source_.job) +
                            "; set TENON_TASK");
            source_.task = indices.front();
        }
        say("this process is " + task_words(source_.job, source_.task) + ", by " + (job ? job->text() : "") +
            (job && task ? ", " : "") + (task ? task->text() : ""));
    }

    void from_tf_config() {
        described_task d = read_tf_config(s_);
        const named_value v = *s_.variable("TF_CONFIG");
        source_.decided = "TF_CONFIG";
        source_.tasks = std::move(d.tasks);
        say("the cluster is given by TF_CONFIG: " + jobs_of(source_.tasks));
        if (s_.job() || s_.task()) {
            task_of_ours();
        } else if (d.job == "evaluator" && !source_.tasks.has(d.job)) {
            source_.job = d.job;
            source_.task = d.task;
            say("this process is the evaluator, which stands beside the cluster as a client");
        } else {
            if (!source_.tasks.has(d.job))
                v.refuse("its task is of job \"" + d.job + "\", which the cluster has not; it has " +
                         jobs_of(source_.tasks));
            if (!source_.tasks.has(d.job, d.task))
                v.refuse("its task is " + task_words(d.job, d.task) + ", which the cluster has not; it has " +
                         jobs_of(source_.tasks));
            source_.job = d.job;
            source_.task = d.task;
            say("this process is " + task_words(d.job, d.task) + ", by TF_CONFIG");
        }
        say_passed();
    }

    ranked_process ranks_of_launcher(const launcher& by, const std::vector<job_count>& jobs) const {
        if (by.see == see_torchrun) return read_torchrun(s_);
        if (by.see == see_open_mpi) return read_open_mpi(s_);
        if (by.see == see_pmi) return read_pmi(s_);
        if (by.see == see_slurm) return read_slurm(s_);
        if (by.see == see_jobset) return read_jobset(s_, jobs.empty() ? deal_ranks(s_, 0, "a JobSet") : jobs);
        if (by.see == see_kubernetes)
            return read_kubernetes(s_, ranks_of(jobs.empty() ? deal_ranks(s_, 0, "an indexed job") : jobs));
        ranked_process p;
        p.rank = s_.rank()->number(0, most_ranks, "a rank");
        p.run = "tenon";
        p.nowhere = "a rank alone does not tell where rank 0 runs";
        return p;
    }

    void from_ranks(const launcher& by) {
        ranked_process p;
        std::vector<job_count> jobs;
        if (by.see == see_jobset || by.see == see_kubernetes) {
            jobs = deal_ranks(s_, 0, by.see == see_jobset ? "a JobSet" : "an indexed job of Kubernetes");
            p = ranks_of_launcher(by, jobs);
        } else {
            p = ranks_of_launcher(by, {});
            jobs = deal_ranks(s_, p.size, &by == &own_rank ? "a rank alone" : by.name);
        }
        const int size = ranks_of(jobs);
        if (p.rank >= size)
            (s_.rank() ? *s_.rank() : named_value{by.name, seen_})
                .refuse("rank " + std::to_string(p.rank) + " of " + std::to_string(size) +
                        " tasks, which have ranks 0 to " + std::to_string(size - 1) +
                        "; TENON_TASKS says how many there are");
        source_.decided = by.name;
        say(std::string("the tasks are those of ") + by.name + " (" + seen_ + "): rank " + std::to_string(p.rank) +
            " of " + std::to_string(size) + (p.size_from.empty() ? ", by TENON_TASKS" : ", by " + p.size_from));

        auto [job, task] = task_of_rank(jobs, p.rank);
        const auto wish = s_.job(), index = s_.task();
        if (wish) {
            if (!tenon::detail::is_word(wish->value) || wish->value.size() > decltype(device_name::job)::most)
                wish->refuse(
                    "a job's name is a letter, then letters, digits and underscores, of at most 47 characters");
            job = wish->value;
            task = index && index->value != "rank" ? index->number(0, 999'999'999, "a task's index") : -1;
        } else if (index && index->value != "rank") {
            index->refuse("its job is not given; set TENON_JOB, or leave both to ranks");
        }
        const auto meeting = s_.rendezvous();
        if (!p.addresses.empty() && !wish && !meeting) {
            std::vector<cluster::named_tasks> all;
            for (std::size_t j = 0, rank = 0; j < jobs.size(); ++j) {
                std::vector<std::string> of_job;
                for (int t = 0; t < jobs[j].tasks; ++t) of_job.push_back(p.addresses[rank++]);
                all.emplace_back(jobs[j].job, of_job);
            }
            try {
                source_.tasks = cluster(all);
            } catch (const error& e) {
                named_value{by.name, seen_}.refuse(e.what());
            }
            source_.job = job;
            source_.task = task;
            source_.run = run_name(p.run);
            // A pod's name is not always known yet when it begins.
            const std::string& own = p.addresses[static_cast<std::size_t>(p.rank)];
            source_.listen = own.substr(own.rfind(':'));
            say("their addresses are made of " + p.how);
            say("ranks are dealt out as " + words(jobs) + why_dealt() + ": this process is " + task_words(job, task));
        } else {
            meet(p, size, job, task, meeting);
            say((wish ? "this process is to be of job " + job +
                            (task >= 0 ? ", task " + std::to_string(task) : ", in the order of ranks") + ", by " +
                            wish->text()
                      : "ranks are dealt out as " + words(jobs) + why_dealt() + ": this process is " +
                            task_words(job, task)));
        }
        say_passed();
    }

    // Tenon's variable stands over what launchers say.
    std::string run_name(const std::string& of_launcher) const {
        const auto given = s_.run();
        return given ? given->value : of_launcher;
    }

    std::string why_dealt() const {
        if (const auto tasks = s_.tasks(); tasks && tasks->value.find('=') != std::string::npos)
            return " (" + tasks->text() + ")";
        if (const auto ps = s_.ps_tasks()) return " (" + ps->text() + ")";
        return " (TENON_PS_TASKS and TENON_TASKS would say otherwise)";
    }

    void meet(const ranked_process& p, int size, const std::string& job, int task,
              const std::optional<named_value>& where) {
        rendezvous_point m;
        m.rank = p.rank;
        m.size = size;
        m.job = job;
        m.task = task;
        m.run = run_name(p.run.empty() ? source_.decided : p.run);
        m.token = p.token;
        m.one_host = p.one_host;
        const auto host = s_.host();
        m.serve = (host ? host->value : p.host) + ":" + std::to_string(s_.port(p.of_host >= 0 ? p.of_host : p.rank, 0));
        if (where && where->value.starts_with("file:")) {
            m.file = where->value.substr(5);
            if (m.file.empty()) where->refuse("the file's name is missing; write file:PATH");
            m.listen = {(host ? host->value : p.one_host ? "127.0.0.1" : p.host) + ":0"};
            say("they find each other by " + where->text() + ", which rank 0 writes its address into");
        } else if (where) {
            check_address(*where);
            m.listen = m.addresses = {where->value};
            say("they find each other at " + where->text() + ", where rank 0 serves");
        } else if (!p.nowhere.empty()) {
            throw invalid_argument_error(
                std::string(source_.decided) + " (" + seen_ + ") tells no addresses, and " + p.nowhere +
                "; set TENON_RENDEZVOUS to \"host:port\" of rank 0's host, or to \"file:PATH\" in a "
                "folder that all processes see, or set TENON_LAUNCHER=none");
        } else {
            m.listen = p.listen;
            m.addresses = p.reached;
            m.file = p.file;
            m.pmi = p.pmi;
            say("they find each other by a rendezvous: " + p.how);
        }
        source_.rendezvous = std::move(m);
    }

    static void check_address(const named_value& v) {
        try {
            cluster({{"rendezvous", {v.value}}});
        } catch (const error&) {
            v.refuse("give \"host:port\", or \"file:PATH\"");
        }
    }

    void alone() {
        const auto job = s_.job(), task = s_.task();
        if (job || task)
            (job ? *job : *task)
                .refuse("nothing says which cluster; set TENON_CLUSTER to its JSON or to a file that holds it, or "
                        "start with a launcher");
        if (const auto meeting = s_.rendezvous(); meeting && !s_.launcher())
            meeting->refuse("nothing says which rank this process has; set TENON_RANK, or start with a launcher");
        if (const auto tasks = s_.tasks(); tasks && tasks->value != "1" && !s_.launcher())
            tasks->refuse("nothing says which of them this process is; set TENON_RANK, or start with a launcher");
        say("no flag, no variable and no launcher says of a cluster: this process is alone");
        say_passed();
    }

    const settings& s_;
    cluster_source source_;
    std::string seen_;   // by what the launcher that decides is known
    std::string passed_; // lines of those that do not
};

} // namespace

cluster_source resolve_cluster(const cluster_flags& flags, const environment& variables) {
    const settings s(flags, variables);
    return resolution(s).run();
}

bool cluster_source::is_chief() const noexcept {
    if (tasks.has("chief") || tasks.has("master")) return job == "chief" || job == "master";
    return job == "worker" && task == 0;
}

std::string cluster_source::described() const {
    std::string text;
    for (const std::string& line : explanation) text += "cluster: " + line + "\n";
    return text;
}

} // namespace tenon::net
