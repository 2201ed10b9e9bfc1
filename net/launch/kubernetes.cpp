// Indexed jobs of Kubernetes: a pod's host name is made of the job's name and its index, and a headless service, the pods'
// subdomain, makes it known to the others.
//
//   JOB_COMPLETION_INDEX; HOSTNAME, "<job>-<index>", or JOB_NAME where that is another (a pod on the host's network)
//   TENON_TASKS (completions), TENON_SERVICE (subdomain): from the pod's template
//
// A JobSet has several jobs; its subdomain is the JobSet's name unless it says otherwise. These come from the pod's template,
// as fields of metadata.annotations['jobset.sigs.k8s.io/...']:
//
//   JOBSET_NAME, REPLICATED_JOB_NAME, JOB_INDEX, and JOB_COMPLETION_INDEX as above
//   TENON_TASKS "ps=1,worker=2x3": 1 pod, 2 jobs of 3 pods

#include <net/launch/launchers.hpp>

#include <algorithm>

#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

constexpr int port_of_pods = 2222; // each has its own

void reach_rank_0(const settings& s, ranked_process& p, const std::string& run) {
    const std::string& first = p.addresses.front();
    p.listen = p.reached = {first.substr(0, first.rfind(':') + 1) + std::to_string(s.port(0, port_of_pods) - 1)};
    p.of_host = 0;
    p.run = run;
}

} // namespace

sighting see_jobset(const settings& s) {
    const auto name = s.variable("JOBSET_NAME");
    return {name && s.has("REPLICATED_JOB_NAME") ? name->text() : "", ""};
}

ranked_process read_jobset(const settings& s, const std::vector<job_count>& jobs) {
    const std::string because =
        "the pod's template must set it beside JOBSET_NAME, from its annotations: docs/clusters.md";
    const named_value set = s.needed("JOBSET_NAME", because), mine = s.needed("REPLICATED_JOB_NAME", because);
    const named_value job = s.needed("JOB_INDEX", because), pod = s.needed("JOB_COMPLETION_INDEX", because);
    const auto subdomain = s.service();
    const std::string domain = subdomain ? subdomain->value : set.value;
    ranked_process p{.rank = -1};
    for (const job_count& j : jobs) {
        // Kubernetes has no "_" in names, jobs here have no "-".
        std::string name = j.job;
        std::replace(name.begin(), name.end(), '_', '-');
        if (name == mine.value) {
            const int index = job.number(0, j.tasks / j.pods_each - 1, "the index among the jobs " + mine.text(),
                                         "TENON_TASKS says how many there are");
            p.rank = p.size + index * j.pods_each +
                     pod.number(0, j.pods_each - 1, "the index among the pods of a job " + mine.text(),
                                "TENON_TASKS says how many there are, as \"" + j.job + "=JOBSxPODS\"");
        }
        for (int t = 0; t < j.tasks; ++t)
            p.addresses.push_back(set.value + "-" + name + "-" + std::to_string(t / j.pods_each) + "-" +
                                  std::to_string(t % j.pods_each) + "." + domain + ":" +
                                  std::to_string(s.port(0, port_of_pods)));
        p.size += j.tasks;
    }
    if (p.rank < 0)
        mine.refuse("TENON_TASKS names no such job; it has " + [&] {
            std::string names;
            for (const job_count& j : jobs) names += (names.empty() ? "" : ", ") + j.job;
            return names;
        }());
    p.size_from = "TENON_TASKS";
    p.how = "the host names that a JobSet gives its pods, in the domain \"" + domain + "\"";
    reach_rank_0(s, p, "jobset " + set.value);
    return p;
}

sighting see_kubernetes(const settings& s) {
    const auto index = s.variable("JOB_COMPLETION_INDEX");
    return {index ? index->text() : "", ""};
}

ranked_process read_kubernetes(const settings& s, int size) {
    const named_value index = s.needed("JOB_COMPLETION_INDEX", "an indexed job sets it");
    ranked_process p;
    p.size = size;
    p.size_from = "TENON_TASKS";
    p.rank = index.number(0, most_ranks, "a pod's index");
    if (p.rank >= size)
        index.refuse("there are only " + std::to_string(size) +
                     " tasks, by TENON_TASKS; set it to the job's completions");
    std::string job;
    if (const auto name = s.variable("JOB_NAME")) {
        job = name->value;
    } else {
        const named_value host =
            s.needed("HOSTNAME", "a pod of an indexed job has \"<job>-<index>\" there; set JOB_NAME to "
                                 "the job's name in the pod's template");
        const std::string own = host.value.substr(0, host.value.find('.')), tail = "-" + std::to_string(p.rank);
        if (!own.ends_with(tail) || own.size() == tail.size())
            host.refuse("the host name of a pod of an indexed job would end with \"" + tail +
                        "\"; set JOB_NAME to the job's name in the pod's template");
        job = own.substr(0, own.size() - tail.size());
    }
    const auto service = s.service();
    if (!service)
        throw invalid_argument_error(
            "TENON_SERVICE is not set; pods find each other by a headless service: make one, and name "
            "it in the pod's template, as subdomain and in TENON_SERVICE");
    for (int r = 0; r < size; ++r)
        p.addresses.push_back(job + "-" + std::to_string(r) + "." + service->value + ":" +
                              std::to_string(s.port(0, port_of_pods)));
    p.how = "the host names of an indexed job's pods in the service \"" + service->value + "\"";
    reach_rank_0(s, p, "kubernetes " + job);
    return p;
}

} // namespace tenon::net
