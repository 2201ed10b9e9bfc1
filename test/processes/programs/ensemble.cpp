// An ensemble whose members are processes, of which one is killed in mid-run and one stands still and is late (SEMANTICS 45). Starts
// `tenon serve` for the parameter server that has the queues.
//
//   killed --member N CLUSTER       a member, as the tests start it: it is task N of job "worker", where its network is

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include <processes/programs/tasks.hpp>
#include <tenon/net/net.hpp>
#include <tenon/models.hpp>

#include "tests.hpp"

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
using rows = tn::component<float, tn::shape<batch, 2>>;
using classes = tn::component<float, tn::shape<batch, 3>>;
using queues = tn::ensemble_queues<rows, classes>;
constexpr int members = 3;
constexpr double lease = 1.5;

queues queues_on_ps() {
    return queues({.name = "digits", .device = tn::device_name("/job:ps/task:0"), .members = members, .quorum = 2});
}

// Member m says (m + 1) x w, for ever, whatever becomes of its connections.
int answer_as_told(const std::string& number, const std::string& cluster) {
    tn::set_client_options({.heartbeat = 0.3, .lease = lease});
    const int member = std::atoi(number.c_str());
    const tn::cluster c = tn::cluster::from_json(cluster);
    const tn::server self(c, "worker", member, {.heartbeat = 0.3, .lease = lease});
    const std::string task = "/job:worker/task:" + std::to_string(member);
    const queues q = queues_on_ps();
    const tn::device_scope here{tn::device_name(task)};
    const auto w = tn::constant<float, tn::shape<2, 3>>({{1, -2, 0.5f}, {0.25f, 3, -1}});
    const tn::operation serve =
        q.serve(member, [&](auto x) { return tn::matmul(x, w) * static_cast<float>(member + 1); });
    tn::session_options with{.device_filters = {"/job:ps", task}};
    tn::monitored_session sess({.target = self.target(), .session = with, .recovery_timeout = 60});
    std::printf("serves\n");
    std::fflush(stdout);
    sess.loop([&] { sess.run(serve); });
    return 0;
}

class member_process {
public:
    member_process(int number, const tn::cluster& c) {
        int ends[2];
        REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
        std::string words[] = {"/proc/self/exe", "--member", std::to_string(number), c.to_json()};
        char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
        pid_ = ::fork();
        REQUIRE(pid_ >= 0);
        if (pid_ == 0) {
            ::dup2(ends[1], 1);
            ::execv(arguments[0], arguments);
            ::_exit(127);
        }
        ::close(ends[1]);
        char one = 0;
        CHECK(::read(ends[0], &one, 1) == 1); // it serves
        ::close(ends[0]);
    }
    ~member_process() { (void)end(SIGKILL); }
    void signal(int number) const { ::kill(pid_, number); }
    void stop_still() const {
        signal(SIGSTOP);
        int status = 0;
        REQUIRE(::waitpid(pid_, &status, WUNTRACED) == pid_);
        REQUIRE(WIFSTOPPED(status));
    }
    /// Its status, when it has ended; 0: it is not asked to.
    int end(int number) {
        if (pid_ < 0) return 0;
        if (number) signal(number);
        int status = 0;
        ::waitpid(pid_, &status, 0);
        pid_ = -1;
        return status;
    }

private:
    pid_t pid_ = -1;
};

tn::cluster some_cluster() {
    const std::vector<std::string> at = free_addresses(1 + members);
    return tn::cluster(
        {{"ps", std::vector<std::string>{at[0]}}, {"worker", std::vector<std::string>(at.begin() + 1, at.end())}});
}
tn::session_options ps_alone() { return {.device_filters = {"/job:ps"}}; }

struct run {
    run() {
        for (int m = 0; m < members; ++m) start(m);
    }
    void start(int m) {
        of[m].reset();
        of[m] = std::make_unique<member_process>(m, cluster);
    }
    // Asks for something new, holds the answer against what these members say, and gives who is missing.
    std::vector<int> ask(double seconds) {
        tn::array<float, tn::shape<batch, 2>> x(2);
        ++asked;
        for (int i = 0; i < 4; ++i) x.data()[i] = static_cast<float>((asked * 5 + i * 7) % 16 - 8) / 4;
        const auto began = std::chrono::steady_clock::now();
        const auto a = aggregator.ask(x, seconds);
        const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        CHECK(took < seconds + 30); // what a stopped machine may add
        double factor = 0;
        for (const int m : a.members) factor += (m + 1) / static_cast<double>(a.members.size());
        constexpr double w[2][3] = {{1, -2, 0.5}, {0.25, 3, -1}};
        for (int r = 0; r < 2; ++r)
            for (int c = 0; c < 3; ++c)
                CHECK(static_cast<double>(a.mean(r, c)) ==
                      doctest::Approx(factor *
                                      (static_cast<double>(x(r, 0)) * w[0][c] + static_cast<double>(x(r, 1)) * w[1][c]))
                          .epsilon(1e-6));
        return a.missing;
    }
    // Until all answer again: a process has to be started, or to connect again.
    void ask_until_all_answer() {
        for (int tries = 0;; ++tries) {
            REQUIRE(tries < 60);
            if (ask(2).empty()) return;
        }
    }

    const temporary_folder files;
    const tn::cluster cluster = some_cluster();
    task ps{cluster, "ps", 0, files.path().string()};
    own_graph graph;
    queues q = queues_on_ps();
    tn::session session{"tenon://" + cluster.address("ps", 0), graph, ps_alone()};
    tn::ensemble_aggregator<rows, classes> aggregator{q, session};
    std::unique_ptr<member_process> of[members];
    int asked = 0;
};
using missing = std::vector<int>;

const bool answers = starts_as.emplace("--member", answer_as_told).second;

} // namespace

TEST_CASE(
    "SEMANTICS 45, TOUR 21: a member that is killed in mid-run: each request is answered in time, without it from "
    "then on; started again, it answers again") {
    run r;
    CHECK(r.ask(60) == missing{});
    // Killed while requests are on their way, one after another.
    std::atomic<int> begun{0};
    std::thread killing([&] {
        while (begun < 4) std::this_thread::yield();
        r.of[1]->end(SIGKILL);
    });
    int with = 0, without = 0;
    while (without < 2) {
        ++begun;
        const missing m = r.ask(2);
        if (m.empty()) {
            ++with;
            CHECK(without == 0);
        } else {
            CHECK(m == missing{1});
            ++without;
        }
    }
    killing.join();
    CHECK(with >= 3);
    r.start(1);
    r.ask_until_all_answer();
    r.of[0]->end(SIGKILL);
    r.of[2]->end(SIGKILL);
    CHECK_ERROR(tn::deadline_exceeded_error, "by 1 of 3 members; missing: member 0, member 2; 2 are needed", r.ask(2));
    r.aggregator.close();
    CHECK(r.of[1]->end(0) == 0); // it has come to its end
}

TEST_CASE(
    "SEMANTICS 45, TOUR 21: a member that stands still answers late, which is taken for no other request; past its "
    "lease too") {
    run r;
    CHECK(r.ask(60) == missing{});
    r.of[2]->stop_still();
    CHECK(r.ask(2) == missing{2});
    CHECK(r.ask(2) == missing{2});
    const std::int64_t late = r.aggregator.statistics().members[2].late;
    CHECK(late == 0);
    r.of[2]->signal(SIGCONT);
    r.ask_until_all_answer();
    CHECK(r.aggregator.statistics().members[2].late >= 1);

    r.of[0]->stop_still();
    CHECK(r.ask(2) == missing{0});
    REQUIRE(r.ps.wait_for("has not been heard of for 1.5 s"));
    CHECK(r.ask(2) == missing{0});
    r.of[0]->signal(SIGCONT);
    r.ask_until_all_answer();
}
