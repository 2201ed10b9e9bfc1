// links: tenon::net
// The best three networks of a grid as an ensemble. In one graph: the mean of their probabilities, their vote, and the accuracy of all
// beside each one's, in one step. Between graphs: each member is a process, a task of a cluster, which takes requests from a queue on a
// parameter server and puts its probabilities into another; one member is killed in mid-run, and the others' answers come in time.
//
//     21_ensemble [FILE]                     # of 20_grid; what is not trained there is trained
//     21_ensemble --member N CLUSTER FILE    # member N, as the program starts it
//
//     in one graph
//     each: 0.9...
//     together: 0.9...
//     between graphs, 8 requests of 50 points
//     requests 1 to 4: 3 of 3 members
//     member 1 is killed
//     requests 5 to 8: 2 of 3 members; missing: member 1
//     each, of what it has answered: 0.9...
//     together: 0.9...
#include <tenon/net/net.hpp>
#include <tenon/models.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "shared/local_cluster.hpp"
#include "shared/own_folder.hpp"
#include "shared/spirals.hpp"

namespace tn = tenon;
namespace nn = tenon::nn;
using spirals::batch;

namespace {

constexpr int members = 3, requests = 8, points = 50;
using queues = tn::ensemble_queues<spirals::inputs, spirals::logits>;

queues queues_on_ps() {
    return queues({.name = "spirals", .device = tn::device_name("/job:ps/task:0"), .members = members, .quorum = 2});
}

// The best of the grid, which is trained where it was not.
std::vector<tn::trial_result<spirals::settings>> best_of_grid(const std::string& file) {
    tn::grid_search_options options{.name = "spirals", .file = file, .keep = members, .log = [](const std::string&) {}};
    tn::grid_search search(spirals::grid(), tn::devices_of(tn::task({.cpu_devices = 2})), options);
    search.run([](const spirals::settings& s, tn::trial& t) { spirals::train(s, t); });
    return search.best(members);
}

void in_one_graph(const std::string& file) {
    const auto best = best_of_grid(file);
    const auto x = tn::placeholder<float, tn::shape<batch, 2>>("x");
    const auto y = tn::placeholder<std::int32_t, tn::shape<batch>>("y");
    std::vector<spirals::logits> each;
    for (const auto& b : best) {
        const tn::name_scope scope("member_" + std::to_string(each.size()));
        each.push_back(spirals::network(b.settings, x));
    }
    const auto all = nn::ensemble(each);
    tn::session sess;
    for (std::size_t i = 0; i < best.size(); ++i)
        (void)best[i].weights.load(sess, {.prefix = "member_" + std::to_string(i) + "/"});

    const spirals::samples test = spirals::make(requests * points, 3);
    const auto [own, mean, vote] =
        sess.run(tn::feed(x, test.x), tn::feed(y, test.y), all.accuracies(y), all.accuracy(y), all.vote_accuracy(y));
    std::printf("in one graph\neach: %.3f, %.3f, %.3f\n", static_cast<double>(own(0)), static_cast<double>(own(1)),
                static_cast<double>(own(2)));
    std::printf("together: %.3f, by their votes %.3f\n", static_cast<double>(mean.item()),
                static_cast<double>(vote.item()));
}

// A member's process: its network is here, on its task; the queues are on the parameter server.
int member(int number, const std::string& cluster, const std::string& file) {
    const auto best = best_of_grid(file);
    const auto& mine = best.at(static_cast<std::size_t>(number));
    const tn::server self(tn::cluster::from_json(cluster), "worker", number);
    const std::string task = "/job:worker/task:" + std::to_string(number);
    const queues q = queues_on_ps();
    const auto here = tn::on(tn::device_name(task));
    const tn::operation serve =
        q.serve(number, [&](const auto& x) { return tn::softmax(spirals::network(mine.settings, x)); });
    tn::session_options with{.device_filters = {"/job:ps", task}};
    tn::session sess(self.target(), with);
    (void)mine.weights.load(sess);
    std::puts("serves"); // who reads this begins to ask
    std::fflush(stdout);
    tn::coordinator until_closed;
    while (!until_closed.should_stop()) until_closed.stop_on_exception([&] { sess.run(serve); });
    until_closed.join(); // throws what was no end of data
    return 0;
}

// Starts one, and returns when it serves.
pid_t start_member(int number, const std::string& cluster, const std::string& file) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    std::string words[] = {"/proc/self/exe", "--member", std::to_string(number), cluster, file};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), words[4].data(), nullptr};
    std::fflush(stdout);
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::dup2(ends[1], STDOUT_FILENO);
        ::close(ends[0]);
        ::close(ends[1]);
        ::execv(arguments[0], arguments);
        ::_exit(127);
    }
    ::close(ends[1]);
    char one = 0;
    if (pid < 0 || ::read(ends[0], &one, 1) != 1) throw tn::unavailable_error("a member has not started");
    ::close(ends[0]);
    return pid;
}

// How many of its rows have the largest number where the label says.
int right(const tn::array<float, tn::shape<batch, 3>>& probabilities, const spirals::labels& y) {
    int count = 0;
    for (int i = 0; i < points; ++i) {
        int best = 0;
        for (int c = 1; c < 3; ++c)
            if (probabilities(i, c) > probabilities(i, best)) best = c;
        count += best == y(i);
    }
    return count;
}

void between_graphs(const std::string& file) {
    local_cluster all({{"ps", 1}, {"worker", members}});
    for (int m = 0; m < members; ++m) all.stop("worker", m); // their addresses are for the processes
    const std::string cluster = all.tasks().to_json();
    std::vector<pid_t> processes;
    for (int m = 0; m < members; ++m) processes.push_back(start_member(m, cluster, file));

    const tn::graph g;
    const tn::graph_scope in(g);
    const queues q = queues_on_ps();
    tn::session_options with{.device_filters = {"/job:ps"}};
    tn::session sess(all.target("ps", 0), g, with);
    tn::ensemble_aggregator aggregator(q, sess);
    std::printf("between graphs, %d requests of %d points\n", requests, points);
    int together = 0, own[members] = {}, answered[members] = {};
    std::string told;
    int since = 1;
    for (int r = 1; r <= requests; ++r) {
        const spirals::samples some = spirals::make(points, 100 + static_cast<std::uint32_t>(r));
        if (r == 5) ::kill(processes[1], SIGKILL);
        const auto a = aggregator.ask(some.x, 1.5); // no longer than that, whoever is missing
        together += right(a.mean, some.y);
        for (std::size_t i = 0; i < a.members.size(); ++i) {
            own[a.members[i]] += right(a.answers[i], some.y);
            answered[a.members[i]] += points;
        }
        if (r == 5) {
            std::printf("requests %d to %d: %s\nmember 1 is killed\n", since, r - 1, told.c_str());
            since = r;
        }
        told = a.text();
    }
    std::printf("requests %d to %d: %s\neach, of what it has answered:", since, requests, told.c_str());
    for (int m = 0; m < members; ++m) std::printf("%s %.3f", m ? "," : "", static_cast<double>(own[m]) / answered[m]);
    std::printf("\ntogether: %.3f\n", static_cast<double>(together) / (requests * points));
    aggregator.close(); // the members that are left end
    for (const pid_t p : processes) ::waitpid(p, nullptr, 0);
}

} // namespace

int main(int argc, char** argv) {
    try {
        if (argc == 5 && std::string(argv[1]) == "--member") return member(std::atoi(argv[2]), argv[3], argv[4]);
        const own_folder folder("tenon-tour-21");
        const std::string file = argc > 1 ? argv[1] : folder / "spirals.jsonl";
        in_one_graph(file);
        between_graphs(file);
    } catch (const tn::error& e) {
        std::fprintf(stderr, "21_ensemble: %s\n", e.what());
        return 1;
    }
    return 0;
}
