#include <tenon/net/cluster_source.hpp>

#include "tests.hpp"

// Where a cluster comes from: flags over our own variables over those of launchers.

using namespace tenon::net;
using bad = tn::invalid_argument_error;

namespace {

const std::string two = R"({"ps": ["a:1"], "worker": ["b:1", "c:1"]})";

std::string mistake(const environment& e, const cluster_flags& f = {}) {
    return message_of<bad>([&] { resolve_cluster(f, e); });
}

cluster_flags flags(std::vector<std::string> arguments, std::vector<std::string>* left = nullptr) {
    arguments.insert(arguments.begin(), "program");
    std::vector<char*> argv;
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    int argc = static_cast<int>(arguments.size());
    const cluster_flags f = take_cluster_flags(argc, argv.data());
    CHECK(argv[static_cast<std::size_t>(argc)] == nullptr);
    if (left) left->assign(argv.begin() + 1, argv.begin() + argc);
    return f;
}

} // namespace

TEST_CASE("SEMANTICS 22: a cluster comes from TENON_CLUSTER, with TENON_JOB and TENON_TASK") {
    const cluster_source s =
        resolve_cluster({}, {{"TENON_CLUSTER", two}, {"TENON_JOB", "worker"}, {"TENON_TASK", "1"}});
    CHECK(s.decided == "TENON_CLUSTER");
    CHECK(s.tasks == tn::cluster::from_json(two));
    CHECK(s.job == "worker");
    CHECK(s.task == 1);
    CHECK(s.is_task());
    CHECK_FALSE(s.is_chief());
    CHECK(s.described() == "cluster: the cluster is given by TENON_CLUSTER: ps 0; worker 0, 1\n"
                           "cluster: this process is /job:worker/task:1, by TENON_JOB=\"worker\", TENON_TASK=\"1\"\n");
}

TEST_CASE_FIXTURE(in_folder, "TENON_CLUSTER may name a JSON file") {
    write_bytes(folder / "cluster.json", "\n" + two);
    const cluster_source s = resolve_cluster({}, {{"TENON_CLUSTER", folder / "cluster.json"}, {"TENON_JOB", "ps"}});
    CHECK(s.tasks == tn::cluster::from_json(two));
    CHECK(s.task == 0); // there is no other
    CHECK(contains(s.described(), "TENON_CLUSTER: the file " + (folder / "cluster.json")));
    CHECK(mistake({{"TENON_CLUSTER", folder / "other.json"}}) ==
          "TENON_CLUSTER=\"" + (folder / "other.json") +
              "\": no such file can be read; give a cluster's JSON, or the path of a file that holds it");
    CHECK(contains(mistake({{"TENON_CLUSTER", folder / "."}}), "Is a directory; a file is needed"));
}

TEST_CASE("who has a cluster and no task in it is a client") {
    const cluster_source s = resolve_cluster({}, {{"TENON_CLUSTER", two}});
    CHECK(s.job.empty());
    CHECK_FALSE(s.is_task());
    CHECK(contains(s.described(), "this process is a client"));
}

TEST_CASE("a flag stands over a variable, each for itself") {
    const environment e{{"TENON_CLUSTER", two}, {"TENON_JOB", "worker"}, {"TENON_TASK", "1"}};
    const cluster_source other = resolve_cluster(flags({"--task=0"}), e);
    CHECK(other.task == 0);
    CHECK(contains(other.described(), "by TENON_JOB=\"worker\", --task=\"0\""));
    const cluster_source all =
        resolve_cluster(flags({"--cluster", R"({"x": ["h:1"]})", "--job", "x", "--task", "0"}), e);
    CHECK(all.decided == "--cluster");
    CHECK(all.job == "x");
}

TEST_CASE("flags are taken out of a program's arguments; the others are left, and all after --") {
    std::vector<std::string> left;
    const cluster_flags f = flags({"run", "--job=ps", "--steps=3", "--task", "1", "-v", "--", "--job=x"}, &left);
    CHECK(f.job == "ps");
    CHECK(f.task == "1");
    CHECK(left == std::vector<std::string>{"run", "--steps=3", "-v", "--", "--job=x"});
    CHECK(message_of<bad>([] { flags({"--job"}); }) == "--job has no value; write --job=VALUE");
    CHECK(message_of<bad>([] { flags({"--job=a", "--job=b"}); }) == "--job is given twice");
}

TEST_CASE("our own variables stand over a launcher's, and the explanation says what was passed over") {
    const environment e{{"TENON_CLUSTER", two},
                        {"TENON_JOB", "ps"},
                        {"TF_CONFIG", R"({"cluster": {"worker": ["z:1"]}, "task": {"type": "worker", "index": 0}})"},
                        {"OMPI_COMM_WORLD_RANK", "2"},
                        {"OMPI_COMM_WORLD_SIZE", "4"}};
    const cluster_source s = resolve_cluster({}, e);
    CHECK(s.job == "ps");
    CHECK(contains(s.described(), "passed over: TF_CONFIG: a cluster is given by TENON_CLUSTER\n"));
    CHECK(contains(s.described(),
                   "passed over: Open MPI (OMPI_COMM_WORLD_RANK=\"2\"): a cluster is given by TENON_CLUSTER\n"));
}

TEST_CASE("TENON_TASK=rank takes a launcher's rank as the place in a cluster that is given") {
    environment e{
        {"TENON_CLUSTER", two}, {"TENON_TASK", "rank"}, {"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "3"}};
    const cluster_source all = resolve_cluster({}, e); // ps 0, worker 0, worker 1
    CHECK(all.job == "worker");
    CHECK(all.task == 1);
    CHECK_FALSE(all.rendezvous);
    e.set("TENON_JOB", "worker");
    CHECK(mistake(e) ==
          "TENON_TASK=\"rank\": Open MPI gives rank 2 (OMPI_COMM_WORLD_RANK=\"2\"), but there are only 2 tasks "
          "of job worker: ps 0; worker 0, 1");
    e.set("OMPI_COMM_WORLD_RANK", "1");
    CHECK(resolve_cluster({}, e).task == 1);
    e.unset("OMPI_COMM_WORLD_RANK");
    CHECK(contains(mistake(e), "there is no launcher that gives ranks"));
}

TEST_CASE("a task that is not in the cluster is refused, with those that are") {
    const auto with = [](const char* job, const char* task) {
        return mistake({{"TENON_CLUSTER", two}, {"TENON_JOB", job}, {"TENON_TASK", task}});
    };
    CHECK(with("chief", "0") == "TENON_JOB=\"chief\": the cluster has no such job; it has ps 0; worker 0, 1");
    CHECK(with("worker", "2") == "TENON_TASK=\"2\": job worker has no such task; it has 0, 1");
    CHECK(contains(with("worker", "-1"), "TENON_TASK=\"-1\": a task's index is a decimal number from 0"));
    CHECK(contains(with("worker", ""), "which of its tasks is not given: 0, 1; set TENON_TASK"));
    CHECK(contains(with("", "1"), "its job is not given, and there are several: ps 0; worker 0, 1; set TENON_JOB"));
    CHECK(mistake({{"TENON_JOB", "worker"}}) == "TENON_JOB=\"worker\": nothing says which cluster; set TENON_CLUSTER "
                                                "to its JSON or to a file that holds it, or start "
                                                "with a launcher");
    CHECK(contains(mistake({{"TENON_CLUSTER", "{\"ps\": [\"a\"]}"}}), "its address \"a\" has no port"));
    CHECK(contains(mistake({{"TENON_CLUSTER", "{"}}), "TENON_CLUSTER=\"{\": cluster JSON"));
}

TEST_CASE("where nothing says of a cluster a process is alone") {
    const cluster_source s = resolve_cluster({}, {{"PATH", "/bin"}, {"RANK", "3"}, {"TF_CONFIG", ""}});
    CHECK(s.decided.empty());
    CHECK(s.tasks.jobs().empty());
    CHECK_FALSE(s.rendezvous);
    CHECK(s.described() == "cluster: no flag, no variable and no launcher says of a cluster: this process is alone\n");
}

TEST_CASE("TENON_LAUNCHER says whose variables count") {
    environment e{{"RANK", "0"},
                  {"WORLD_SIZE", "1"},
                  {"MASTER_ADDR", "h"},
                  {"MASTER_PORT", "29500"},
                  {"OMPI_COMM_WORLD_RANK", "0"},
                  {"OMPI_COMM_WORLD_SIZE", "2"},
                  {"TENON_RENDEZVOUS", "h:2221"}};
    CHECK(resolve_cluster({}, e).decided == "torchrun");
    CHECK(contains(resolve_cluster({}, e).described(),
                   "passed over: Open MPI (OMPI_COMM_WORLD_RANK=\"0\"): torchrun comes before it"));
    e.set("TENON_LAUNCHER", "open_mpi");
    CHECK(resolve_cluster({}, e).decided == "Open MPI");
    e.set("TENON_LAUNCHER", "none");
    CHECK(resolve_cluster({}, e).decided.empty());
    e.set("TENON_LAUNCHER", "slurm");
    CHECK(contains(mistake(e), "TENON_LAUNCHER=\"slurm\": that launcher's variables are not there"));
    e.set("TENON_LAUNCHER", "abc");
    CHECK(contains(mistake(e),
                   "there is no such launcher; give one of none, tf_config, torchrun, open_mpi, pmi, slurm, "
                   "jobset, kubernetes"));
}

TEST_CASE("ranks are dealt out to jobs by TENON_PS_TASKS or TENON_TASKS") {
    environment e{{"TENON_RANK", "2"}, {"TENON_RENDEZVOUS", "h:2221"}};
    CHECK(mistake(e) ==
          "TENON_TASKS is not set; a rank alone does not tell how many processes there are: set it to their "
          "number, as \"8\" or by job as \"ps=2,worker=6\"");
    const auto place = [&] {
        const auto p = *resolve_cluster({}, e).rendezvous;
        return p.job + " " + std::to_string(p.task) + " of " + std::to_string(p.size);
    };
    e.set("TENON_TASKS", "4");
    CHECK(place() == "worker 2 of 4");
    e.set("TENON_PS_TASKS", "1");
    CHECK(place() == "worker 1 of 4");
    e.set("TENON_PS_TASKS", "3");
    CHECK(place() == "ps 2 of 4");
    e.set("TENON_PS_TASKS", "4");
    CHECK(contains(mistake(e), "TENON_PS_TASKS=\"4\": of 4 processes none would be left as a worker"));
    e.unset("TENON_PS_TASKS");
    e.set("TENON_TASKS", "chief=1,ps=1,worker=2");
    CHECK(place() == "worker 0 of 4");
    e.set("TENON_PS_TASKS", "1");
    CHECK(contains(mistake(e), "says already which ranks are parameter servers"));
    e.unset("TENON_PS_TASKS");
    for (const char* tasks : {"ps=1,worker", "ps", "=1", "ps=0", "ps=-1", "ps=1,ps=1", "ps=1x", "1,2", "a b=1",
                              "ps=1000001", "a=999999,b=999999", "a=1000000x1000000", ","}) {
        e.set("TENON_TASKS", tasks);
        CAPTURE(tasks);
        CHECK(contains(mistake(e), "TENON_TASKS=\"" + std::string(tasks) + "\""));
    }
    e.set("TENON_TASKS", "2");
    CHECK(contains(mistake(e), "rank 2 of 2 tasks, which have ranks 0 to 1"));
}

TEST_CASE("the chief is the job of this name, or worker 0 where there is none") {
    const auto chief = [](const char* cluster, const char* job) {
        return resolve_cluster({}, {{"TENON_CLUSTER", cluster}, {"TENON_JOB", job}, {"TENON_TASK", "0"}}).is_chief();
    };
    CHECK(chief(R"({"chief": ["a:1"], "worker": ["b:1"]})", "chief"));
    CHECK_FALSE(chief(R"({"chief": ["a:1"], "worker": ["b:1"]})", "worker"));
    CHECK(chief(R"({"ps": ["a:1"], "worker": ["b:1"]})", "worker"));
    CHECK_FALSE(chief(R"({"ps": ["a:1"], "worker": ["b:1"]})", "ps"));
}
