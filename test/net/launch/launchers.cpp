#include <tenon/net/cluster_source.hpp>

#include "tests.hpp"

// The environments that launchers make, as their documents have them.

using namespace tenon::net;
using bad = tn::invalid_argument_error;

namespace {

std::string mistake(const environment& e) {
    return message_of<bad>([&] { resolve_cluster({}, e); });
}
environment with(environment e, std::initializer_list<std::pair<const char*, const char*>> changes) {
    for (const auto& [name, value] : changes) e.set(name, value);
    return e;
}
std::string place(const cluster_source& s) { return s.job + " " + std::to_string(s.task); }
std::string address(const cluster_source& s) { return s.tasks.address(s.job, s.task); }

} // namespace

TEST_CASE("TF_CONFIG: a cluster and a task, as TensorFlow has them") {
    const auto config = [](const std::string& task) {
        return environment{{"TF_CONFIG", R"({"cluster": {"chief": ["h0:2222"], "worker": ["h1:2222", "h2:2222"],
            "ps": ["h3:2222"]}, "task": )" + task +
                                             R"(, "environment": "cloud", "rpc_layer": "grpc"})"}};
    };
    const cluster_source worker = resolve_cluster({}, config(R"({"type": "worker", "index": 1})"));
    CHECK(worker.decided == "TF_CONFIG");
    CHECK(place(worker) == "worker 1");
    CHECK(address(worker) == "h2:2222");
    CHECK_FALSE(worker.is_chief());
    CHECK(worker.described() == "cluster: the cluster is given by TF_CONFIG: chief 0; ps 0; worker 0, 1\n"
                                "cluster: this process is /job:worker/task:1, by TF_CONFIG\n");
    CHECK(resolve_cluster({}, config(R"({"type": "chief", "index": 0})")).is_chief());
    CHECK(place(resolve_cluster({}, config(R"({"type": "ps", "index": "0"})"))) == "ps 0"); // some write texts
    CHECK(place(resolve_cluster({}, config(R"({"type": "chief"})"))) == "chief 0");

    // An evaluator stands beside the cluster.
    const cluster_source evaluator = resolve_cluster({}, config(R"({"type": "evaluator", "index": 0})"));
    CHECK(place(evaluator) == "evaluator 0");
    CHECK_FALSE(evaluator.is_task());
    CHECK(evaluator.tasks.has("ps", 0));
    CHECK(contains(mistake(config(R"({"type": "evaluator", "index": 1})")), "there is one evaluator"));

    CHECK(contains(mistake(config(R"({"type": "worker", "index": 2})")),
                   "its task is /job:worker/task:2, which the cluster has not; it has chief 0; ps 0; worker 0, 1"));
    CHECK(contains(mistake(config(R"({"type": "wroker", "index": 0})")),
                   "its task is of job \"wroker\", which the cluster has not"));
    CHECK(contains(mistake(config(R"({"type": "worker", "index": -1})")),
                   "\"index\" must be a number from 0 to 999999999, not -1"));
    CHECK(contains(mistake(config(R"({"index": 0})")), "\"task\" has no text \"type\""));
    CHECK(contains(mistake(config("null")), "it describes a cluster, but no \"task\""));
    CHECK(contains(mistake(config("3")), "\"task\" must be an object"));
}

TEST_CASE("TF_CONFIG: what is no description of a cluster is refused; none at all is passed over") {
    for (const char* text :
         {"{", "[]", "3", R"({"cluster": []})", R"({"cluster": {"worker": []}})",
          R"({"cluster": {"chief": ["a:1", "b:1"]}, "task": {"type": "chief", "index": 0}})",
          R"({"cluster": {"chief": ["a:1"], "master": ["b:1"]}, "task": {"type": "chief", "index": 0}})",
          R"({"cluster": {"worker": ["a"]}, "task": {"type": "worker", "index": 0}})"}) {
        CAPTURE(text);
        CHECK(mistake({{"TF_CONFIG", text}}).starts_with("TF_CONFIG=\""));
    }
    CHECK(contains(resolve_cluster({}, {{"TF_CONFIG", "{}"}}).described(),
                   "passed over: TF_CONFIG (TF_CONFIG=\"{}\"): it describes no cluster"));
    const environment one{{"TF_CONFIG", R"({"cluster": {"worker": ["a:1", "b:1"]}})"}};
    CHECK(place(resolve_cluster({}, with(one, {{"TENON_JOB", "worker"}, {"TENON_TASK", "1"}}))) == "worker 1");
}

namespace {

// srun -N 3 -n 7 in an allocation of four nodes, of task 4.
const environment slurm{{"SLURM_JOB_ID", "4711"},
                        {"SLURM_JOBID", "4711"},
                        {"SLURM_JOB_NODELIST", "rack[1-2]n[1-2]"},
                        {"SLURM_NODELIST", "rack[1-2]n[1-2]"},
                        {"SLURM_JOB_NUM_NODES", "4"},
                        {"SLURM_TASKS_PER_NODE", "3(x2),1"},
                        {"SLURM_SUBMIT_DIR", "/home/u/job"},
                        {"SLURMD_NODENAME", "rack1n2"},
                        {"SLURM_STEP_ID", "0"},
                        {"SLURM_STEPID", "0"},
                        {"SLURM_STEP_NODELIST", "rack1n[1-2],rack2n1"},
                        {"SLURM_STEP_NUM_NODES", "3"},
                        {"SLURM_STEP_NUM_TASKS", "7"},
                        {"SLURM_STEP_TASKS_PER_NODE", "3(x2),1"},
                        {"SLURM_NTASKS", "7"},
                        {"SLURM_NPROCS", "7"},
                        {"SLURM_PROCID", "4"},
                        {"SLURM_LOCALID", "1"},
                        {"SLURM_NODEID", "1"},
                        {"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"},
                        {"SLURM_SRUN_COMM_PORT", "40000"},
                        {"TENON_PS_TASKS", "2"}};

} // namespace

TEST_CASE("Slurm: the processes of a step of several hosts meet by a file in the job's folder") {
    const cluster_source s = resolve_cluster({}, slurm);
    CHECK(s.decided == "Slurm");
    CHECK(s.tasks.jobs().empty());
    REQUIRE(s.rendezvous);
    const rendezvous_point& p = *s.rendezvous;
    CHECK(p.rank == 4);
    CHECK(p.size == 7);
    CHECK(p.job == "worker");
    CHECK(p.task == 2);
    CHECK(p.run == "slurm 4711.0");
    CHECK(p.file == "/home/u/job/.tenon-4711.0");
    CHECK(p.listen == std::vector<std::string>{"rack1n2:0"});
    CHECK(p.serve == "rack1n2:0"); // any port that is free, by the name that Slurm gives the host
    CHECK(!p.one_host);
    CHECK(contains(s.described(),
                   "the tasks are those of Slurm (SLURM_PROCID=\"4\"): rank 4 of 7, by SLURM_STEP_NUM_TASKS\n"));
    CHECK(contains(
        s.described(),
        "ranks are dealt out as ps 0-1, worker 0-4 (TENON_PS_TASKS=\"2\"): this process is /job:worker/task:2\n"));
    CHECK(resolve_cluster({}, with(slurm, {{"TENON_PORT", "8888"}})).rendezvous->serve == "rack1n2:8889");
    CHECK(resolve_cluster({}, with(slurm, {{"TENON_HOST", "ib4"}})).rendezvous->serve == "ib4:0");
}

TEST_CASE("Slurm: where all have a token no folder is needed, and each job has ports of its own") {
    const auto p = *resolve_cluster({}, with(slurm, {{"TENON_TOKEN", "secret"}})).rendezvous;
    const auto other =
        *resolve_cluster({}, with(slurm, {{"TENON_TOKEN", "secret"}, {"SLURM_JOB_ID", "4712"}})).rendezvous;
    CHECK(p.file.empty());
    REQUIRE(p.addresses.size() > 1); // where one is taken by another, the next
    CHECK(p.addresses == p.listen);
    for (const std::string& a : p.addresses) CHECK(a.starts_with("rack1n1:2"));
    CHECK(p.addresses.front() != other.addresses.front());
}

TEST_CASE("Slurm: numbers that do not agree, and lists that are none, are refused by name") {
    CHECK(contains(mistake(with(slurm, {{"SLURM_PROCID", "7"}})),
                   "SLURM_PROCID=\"7\": there are only 7 tasks, by SLURM_STEP_NUM_TASKS=\"7\""));
    CHECK(contains(mistake(with(slurm, {{"SLURM_PROCID", "x"}})),
                   "SLURM_PROCID=\"x\": a task's number is a decimal number"));
    CHECK(contains(mistake(with(slurm, {{"SLURM_STEP_NODELIST", "rack1n[1-2"}})),
                   "SLURM_STEP_NODELIST=\"rack1n[1-2\": the end of the list stands where"));
    CHECK(contains(mistake(with(slurm, {{"TENON_PORT", "65535"}})),
                   "TENON_PORT=\"65535\": a host's task 1 would have port 65536"));
    CHECK(contains(mistake(with(slurm, {{"TENON_PS_TASKS", "7"}})), "none would be left as a worker"));
}

TEST_CASE("Slurm: an old one, one node, and a script of sbatch") {
    const environment old{{"SLURM_JOBID", "1"},  {"SLURM_STEPID", "0"}, {"SLURM_NODELIST", "a[1-2]"},
                          {"SLURM_NPROCS", "2"}, {"SLURM_PROCID", "1"}, {"SLURMD_NODENAME", "a2"}};
    CHECK(resolve_cluster({}, old).rendezvous->serve == "a2:0");
    CHECK(resolve_cluster({}, old).rendezvous->addresses.front().starts_with("a1:2"));
    const auto one = *resolve_cluster({}, with(old, {{"SLURM_NODELIST", "a7"}})).rendezvous;
    CHECK(one.one_host);
    CHECK(one.listen == std::vector<std::string>{"127.0.0.1:0"});
    CHECK(one.file.ends_with("/slurm-1.0"));
    CHECK(one.file.starts_with("/tmp/tenon-"));
    // The script itself is not started by srun.
    const environment script{
        {"SLURM_JOB_ID", "1"}, {"SLURM_JOB_NODELIST", "a[1-2]"}, {"SLURM_NTASKS", "2"}, {"SLURM_PROCID", "0"}};
    CHECK(resolve_cluster({}, script).decided.empty());
    CHECK(contains(resolve_cluster({}, script).described(),
                   "passed over: Slurm (SLURM_JOB_ID=\"1\"): this process was not started by srun"));
    CHECK(resolve_cluster({}, with(script, {{"SLURM_STEP_ID", "4294967291"}})).decided.empty());
}

TEST_CASE("Slurm: who asks for a job by name says so where they meet") {
    const cluster_source s = resolve_cluster({}, with(slurm, {{"TENON_JOB", "chief"}}));
    REQUIRE(s.rendezvous);
    CHECK(s.rendezvous->job == "chief");
    CHECK(s.rendezvous->task == -1);
    CHECK(s.rendezvous->rank == 4);
}

namespace {

// mpirun -n 4, Open MPI 4.1.4, of rank 2.
const environment open_mpi{
    {"OMPI_COMM_WORLD_RANK", "2"},
    {"OMPI_COMM_WORLD_SIZE", "4"},
    {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
    {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
    {"OMPI_COMM_WORLD_NODE_RANK", "2"},
    {"OMPI_UNIVERSE_SIZE", "4"},
    {"OMPI_FILE_LOCATION", "/tmp/ompi.h.0/pid.9/0/2"},
    {"OMPI_MCA_orte_hnp_uri", "624361472.0;tcp://192.0.2.2,10.1.0.1:35943;tcp6://[fd00::2]:56677"},
    {"OMPI_MCA_orte_local_daemon_uri", "624361472.0;tcp://192.0.2.2,10.1.0.1:35943;tcp6://[fd00::2]:56677"},
    {"OMPI_MCA_orte_jobfam_session_dir", "/tmp/ompi.h.0/pid.9"},
    {"OMPI_MCA_orte_precondition_transports", "be01bd4a0584e281-21879fe7b8cd6651"},
    {"PMIX_NAMESPACE", "624361473"},
    {"PMIX_RANK", "2"},
    {"PMIX_SERVER_TMPDIR", "/tmp/ompi.h.0/pid.9"},
    {"PMIX_SERVER_URI4", "624361472.0;tcp4://127.0.0.1:60011"}};

} // namespace

TEST_CASE("Open MPI: on one host rank 0 writes its port into a folder of this user") {
    const cluster_source s = resolve_cluster({}, with(open_mpi, {{"TENON_PS_TASKS", "1"}}));
    CHECK(s.decided == "Open MPI");
    CHECK(s.tasks.jobs().empty());
    REQUIRE(s.rendezvous);
    const rendezvous_point& p = *s.rendezvous;
    CHECK(p.rank == 2);
    CHECK(p.size == 4);
    CHECK(p.job == "worker");
    CHECK(p.task == 1);
    CHECK(p.file.starts_with("/tmp/tenon-"));
    CHECK(p.file.ends_with("/open_mpi-624361473"));
    CHECK(p.listen == std::vector<std::string>{"127.0.0.1:0"});
    CHECK(p.run == "open_mpi 624361473");
    CHECK(p.serve == ":0");
    CHECK(p.token == "be01bd4a0584e281-21879fe7b8cd6651");
    CHECK(contains(s.described(), "passed over: PMI (PMIX_RANK=\"2\"): mpirun set it for its own use"));
}

TEST_CASE("Open MPI: on several hosts rank 0 serves where mpirun runs, if it does") {
    environment several = with(open_mpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}});
    several.set("OMPI_MCA_orte_local_daemon_uri", "624361472.1;tcp://192.0.2.3:41000");
    const auto p = *resolve_cluster({}, several).rendezvous;
    REQUIRE(p.addresses.size() > 2);
    CHECK(p.addresses[0].starts_with("192.0.2.2:2"));
    CHECK(p.addresses[1].starts_with("10.1.0.1:2"));
    CHECK(p.serve == ":0");
    several.set("OMPI_COMM_WORLD_RANK", "0");
    CHECK(contains(mistake(several), "tells no addresses, and rank 0 is not on mpirun's host"));
    CHECK(contains(mistake(several), "set TENON_RENDEZVOUS to \"host:port\" of rank 0's host"));
    several.set("OMPI_MCA_orte_local_daemon_uri", *several.find("OMPI_MCA_orte_hnp_uri"));
    const auto zero = *resolve_cluster({}, several).rendezvous;
    CHECK(zero.addresses == p.addresses);
    CHECK(zero.listen.front() == "0.0.0.0" + p.addresses[0].substr(p.addresses[0].find(':')));
    several.unset("OMPI_MCA_orte_hnp_uri");
    CHECK(contains(mistake(several), "Open MPI does not tell where rank 0 runs"));
    several.set("TENON_RENDEZVOUS", "head:2221");
    CHECK(resolve_cluster({}, several).rendezvous->listen.front() == "head:2221");
    several.set("TENON_RENDEZVOUS", "file:/shared/x");
    CHECK(resolve_cluster({}, several).rendezvous->file == "/shared/x");
    for (const char* wrong : {"head", "file:", "head:99999", ":1"})
        CHECK(contains(mistake(with(several, {{"TENON_RENDEZVOUS", wrong}})), "TENON_RENDEZVOUS=\""));
}

TEST_CASE("Open MPI: numbers that do not agree") {
    CHECK(mistake(with(open_mpi, {{"OMPI_COMM_WORLD_RANK", "4"}})) ==
          "OMPI_COMM_WORLD_RANK=\"4\": there are only 4 processes, by OMPI_COMM_WORLD_SIZE=\"4\"");
    CHECK(contains(mistake({{"OMPI_COMM_WORLD_RANK", "0"}}), "OMPI_COMM_WORLD_SIZE is not set; mpirun sets it"));
    CHECK(contains(mistake(with(open_mpi, {{"TENON_TASKS", "ps=1,worker=2"}})),
                   "TENON_TASKS=\"ps=1,worker=2\": these are 3 tasks, but Open MPI started 4 processes"));
}

TEST_CASE("PMI: mpiexec of MPICH tells numbers, and by its connection where rank 0 is") {
    const environment hydra{{"PMI_RANK", "1"},
                            {"PMI_SIZE", "3"},
                            {"PMI_FD", "6"},
                            {"MPI_LOCALRANKID", "1"},
                            {"MPI_LOCALNRANKS", "2"},
                            {"MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "n2"},
                            {"HYDRA_CONTROL_PORT", "login:41234"}};
    const auto told = *resolve_cluster({}, hydra).rendezvous;
    CHECK(told.rank == 1);
    CHECK(told.size == 3);
    CHECK(told.pmi == 6);
    CHECK(told.serve == "n2:0");
    CHECK(told.run == "pmi login:41234");
    // On one host; what its proxy was told tells its runs apart.
    const auto here = *resolve_cluster({}, with(hydra, {{"MPI_LOCALNRANKS", "3"}})).rendezvous;
    CHECK(here.file.ends_with("/pmi-login:41234"));
    CHECK(here.pmi == -1);
    environment bare = hydra;
    bare.unset("PMI_FD");
    CHECK(contains(
        mistake(bare),
        "PMI (PMI_RANK=\"1\") tells no addresses, and PMI does not tell where rank 0 runs; set TENON_RENDEZVOUS"));
    const auto given = *resolve_cluster({}, with(hydra, {{"TENON_RENDEZVOUS", "n1:2221"}})).rendezvous;
    CHECK(given.addresses == std::vector<std::string>{"n1:2221"});
    CHECK(given.pmi == -1);
    CHECK(contains(mistake(with(hydra, {{"PMI_RANK", "3"}})), "there are only 3 processes, by PMI_SIZE=\"3\""));
    CHECK(contains(mistake({{"PMI_RANK", "3"}}), "PMI_SIZE is not set"));
    const environment pmix{{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "prterun-h-7@1"}, {"TENON_RENDEZVOUS", "n1:2221"}};
    CHECK(contains(mistake(pmix), "TENON_TASKS is not set; PMI does not tell how many processes there are"));
    CHECK(resolve_cluster({}, with(pmix, {{"TENON_TASKS", "2"}})).rendezvous->run == "pmi prterun-h-7@1");
}

TEST_CASE("PMI beside Slurm: srun's own is passed over, that of an mpiexec in a job decides") {
    const environment srun = with(slurm, {{"PMI_RANK", "4"}, {"PMI_SIZE", "7"}, {"PMI_JOBID", "4711.0"}});
    CHECK(resolve_cluster({}, srun).decided == "Slurm");
    CHECK(contains(resolve_cluster({}, srun).described(), "passed over: PMI (PMI_RANK=\"4\"): srun set it"));
    const environment mpiexec = with(slurm, {{"PMI_RANK", "4"}, {"PMI_SIZE", "32"}, {"TENON_RENDEZVOUS", "n1:2221"}});
    CHECK(resolve_cluster({}, mpiexec).decided == "PMI");
    CHECK(contains(resolve_cluster({}, mpiexec).described(),
                   "passed over: Slurm (SLURM_PROCID=\"4\"): PMI comes before it"));
}

TEST_CASE("torchrun: rank 0's host, and the port beside its store") {
    const environment torchrun{{"RANK", "3"},
                               {"WORLD_SIZE", "4"},
                               {"LOCAL_RANK", "1"},
                               {"LOCAL_WORLD_SIZE", "2"},
                               {"GROUP_RANK", "1"},
                               {"ROLE_RANK", "3"},
                               {"MASTER_ADDR", "node1"},
                               {"MASTER_PORT", "29500"},
                               {"TORCHELASTIC_RESTART_COUNT", "0"},
                               {"TORCHELASTIC_RUN_ID", "job7"},
                               {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
    const auto p = *resolve_cluster({}, torchrun).rendezvous;
    CHECK(p.addresses == std::vector<std::string>{"node1:29501"});
    CHECK(p.run == "torchrun job7.0");
    CHECK(p.serve == ":0");
    CHECK(p.job == "worker");
    CHECK(p.task == 3);
    CHECK(resolve_cluster({}, with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}})).rendezvous->listen ==
          std::vector<std::string>{"node1:29500"});
    CHECK(resolve_cluster({}, with(torchrun, {{"LOCAL_WORLD_SIZE", "4"}}))
              .rendezvous->file.ends_with("/torchrun-job7.0"));
    CHECK(resolve_cluster({}, with(torchrun, {{"MASTER_ADDR", "fd00::1"}})).rendezvous->listen ==
          std::vector<std::string>{"[fd00::1]:29501"});
    CHECK(contains(mistake(with(torchrun, {{"RANK", "4"}})),
                   "RANK=\"4\": there are only 4 processes, by WORLD_SIZE=\"4\""));
    CHECK(contains(mistake(with(torchrun, {{"MASTER_PORT", "65535"}})), "MASTER_PORT=\"65535\""));
    // torchrun in a step of srun: its agents have Slurm's numbers, its workers their own.
    environment inside = slurm;
    for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"})
        inside.set(name, *torchrun.find(name));
    CHECK(resolve_cluster({}, inside).decided == "torchrun");
}

TEST_CASE("Kubernetes: pods of an indexed job are found by their host names") {
    const environment pod{{"JOB_COMPLETION_INDEX", "2"},
                          {"HOSTNAME", "train-2"},
                          {"KUBERNETES_SERVICE_HOST", "10.96.0.1"},
                          {"TENON_TASKS", "ps=1,worker=3"},
                          {"TENON_SERVICE", "train-svc"}};
    const cluster_source s = resolve_cluster({}, pod);
    CHECK(s.decided == "Kubernetes");
    CHECK(s.tasks ==
          tn::cluster({{"ps", {"train-0.train-svc:2222"}},
                       {"worker", {"train-1.train-svc:2222", "train-2.train-svc:2222", "train-3.train-svc:2222"}}}));
    CHECK(place(s) == "worker 1");
    CHECK(contains(mistake(with(pod, {{"TENON_TASKS", ""}})),
                   "TENON_TASKS is not set; an indexed job of Kubernetes does not tell"));
    CHECK(contains(mistake(with(pod, {{"TENON_SERVICE", ""}})), "TENON_SERVICE is not set"));
    CHECK(contains(mistake(with(pod, {{"JOB_COMPLETION_INDEX", "4"}})),
                   "JOB_COMPLETION_INDEX=\"4\": there are only 4 tasks"));
    CHECK(contains(mistake(with(pod, {{"HOSTNAME", "node-17"}})),
                   "HOSTNAME=\"node-17\": the host name of a pod of an indexed job would end with \"-2\""));
    CHECK(address(resolve_cluster({}, with(pod, {{"HOSTNAME", "node-17"}, {"JOB_NAME", "train"}}))) ==
          "train-2.train-svc:2222");
    CHECK(resolve_cluster({}, with(pod, {{"TENON_JOB", "worker"}})).rendezvous->addresses ==
          std::vector<std::string>{"train-0.train-svc:2221"});
}

TEST_CASE("JobSet: its jobs are the cluster's, found by the host names of their pods") {
    const environment pod{
        {"JOBSET_NAME", "mnist"},      {"REPLICATED_JOB_NAME", "big-worker"}, {"JOB_INDEX", "1"},
        {"JOB_COMPLETION_INDEX", "2"}, {"HOSTNAME", "mnist-big-worker-1-2"},  {"TENON_TASKS", "ps=1,big_worker=2x3"}};
    const cluster_source s = resolve_cluster({}, pod);
    CHECK(s.decided == "JobSet");
    CHECK(place(s) == "big_worker 5");
    CHECK(address(s) == "mnist-big-worker-1-2.mnist:2222");
    CHECK(s.tasks.address("ps", 0) == "mnist-ps-0-0.mnist:2222");
    CHECK(s.tasks.address("big_worker", 2) == "mnist-big-worker-0-2.mnist:2222");
    CHECK(contains(s.described(), "passed over: Kubernetes (JOB_COMPLETION_INDEX=\"2\"): JobSet comes before it"));
    CHECK(address(resolve_cluster({}, with(pod, {{"TENON_SERVICE", "net"}}))) == "mnist-big-worker-1-2.net:2222");
    CHECK(contains(mistake(with(pod, {{"JOB_INDEX", "2"}})), "JOB_INDEX=\"2\": the index among the jobs"));
    CHECK(contains(mistake(with(pod, {{"JOB_COMPLETION_INDEX", "3"}})),
                   "JOB_COMPLETION_INDEX=\"3\": the index among the pods"));
    CHECK(contains(mistake(with(pod, {{"TENON_TASKS", "ps=1,worker=6"}})),
                   "REPLICATED_JOB_NAME=\"big-worker\": TENON_TASKS names no such job; it has ps, worker"));
    CHECK(contains(mistake(with(pod, {{"JOB_INDEX", ""}})), "JOB_INDEX is not set; the pod's template must set it"));
}
