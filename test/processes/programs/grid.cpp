// A search over a grid whose workers, or which itself, are killed: real processes. Starts `tenon serve` for each task.
//
//   killed --search FILE CLUSTER    a search, as the tests start it to kill it: tells "begun N" for each point that it begins;
//                                   CLUSTER is "here" for two CPUs of its own

#include <csignal>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <processes/programs/tasks.hpp>
#include <tenon/net/net.hpp>
#include <tenon/search/grid_search.hpp>

#include "tests.hpp"
#include "same_results.hpp"

namespace {

struct settings {
    int number = 0;
};
constexpr int points = 12, steps = 4;
tn::grid<settings> numbers() {
    std::vector<int> all;
    for (int i = 0; i < points; ++i) all.push_back(i);
    return tn::grid(tn::axis("number", &settings::number, all));
}
tn::grid_search_options with(const std::string& file) {
    return {.name = "numbers", .file = file, .keep = 2, .log = [](const std::string&) {}};
}
template <class F> void train(const settings& s, tn::trial& t, F before) {
    const auto w = tn::variable<float, tn::shape<64>>("w", tn::uniform(-1, 1));
    const auto more = tn::mean(w.assign_add(static_cast<float>(s.number % 5)));
    tn::session& sess = t.session();
    sess.run(tn::initialize_variables());
    for (int i = 1; i <= steps; ++i) {
        before(i);
        if (!t.report(i, static_cast<double>(sess.run(more)()))) return;
    }
}
constexpr auto nothing = [](int) {};

std::vector<tn::trial_result<settings>> results_alone() {
    tn::grid_search search(numbers(), tn::devices_of(tn::task()), with(""));
    search.run([](const settings& s, tn::trial& t) { train(s, t, nothing); });
    return search.results();
}

// The search as a process, whose lines are read from a pipe.
struct searching {
    searching(const std::string& file, const std::string& devices) {
        int ends[2];
        REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
        std::string words[] = {"/proc/self/exe", "--search", file, devices};
        char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
        pid = ::fork();
        REQUIRE(pid >= 0);
        if (pid == 0) {
            ::dup2(ends[1], 1);
            ::execv(arguments[0], arguments);
            ::_exit(127);
        }
        ::close(ends[1]);
        from = ::fdopen(ends[0], "r");
    }
    ~searching() {
        std::fclose(from);
        if (pid > 0) end(SIGKILL);
    }
    /// The next point that it begins; -1: it has ended.
    int next_begun() {
        int point = -1;
        return std::fscanf(from, " begun %d", &point) == 1 ? point : -1;
    }
    /// Whether all of its threads stand; else it has ended.
    bool stop_still() {
        ::kill(pid, SIGSTOP);
        int status = 0;
        if (::waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status)) return true;
        pid = -1;
        return false;
    }
    int end(int signal) {
        if (pid < 0) return 0;
        if (signal) ::kill(pid, signal);
        int status = 0;
        ::waitpid(pid, &status, 0);
        pid = -1;
        return status;
    }
    pid_t pid = -1;
    std::FILE* from = nullptr;
};

/// Those that are kept, with the value that is the score.
void best_have_weights(const tn::grid_search<settings>& search) {
    for (const auto& r : search.best(2)) {
        const own_graph g;
        const auto w = tn::variable<float, tn::shape<64>>("w", tn::zeros());
        tn::session sess(g);
        (void)r.weights.load(sess);
        CHECK(static_cast<double>(sess.run(tn::mean(w))()) == r.score);
    }
}

int search_as_told(const std::string& file, const std::string& cluster) {
    tn::stop_on_signals();
    const auto devices = cluster == "here" ? tn::devices_of(tn::task({.cpu_devices = 2}))
                                           : tn::devices_of(tn::cluster::from_json(cluster), {"worker"});
    tn::grid_search search(numbers(), devices, with(file));
    std::mutex guard;
    search.run([&](const settings& s, tn::trial& t) {
        train(s, t, [&](int step) {
            if (step != 1) return;
            const std::lock_guard lock(guard);
            std::printf("begun %d\n", t.point());
            std::fflush(stdout);
        });
    });
    return tn::stop_signal() ? 128 + tn::stop_signal() : search.is_complete() ? 0 : 1;
}

const bool searches = starts_as.emplace("--search", search_as_told).second;

} // namespace

TEST_CASE(
    "TOUR 20: a search that is killed again and again comes to the results of one that was not, and trains nothing "
    "twice that had ended") {
    processes all(1, 2);
    const temporary_folder folder;
    const std::string file = folder / "numbers.jsonl";
    std::mt19937 random(20);
    int killed = 0;
    for (bool complete = false; !complete;) {
        std::set<int> ended;
        {
            const tn::grid_search before(numbers(), tn::devices_of(tn::task()), with(file));
            for (const auto& r : before.results()) ended.insert(r.point);
        }
        searching s(file, all.cluster.to_json());
        const int lives_for = std::uniform_int_distribution<int>(1, 4)(random); // points
        for (int begun = 0; begun < lives_for && !complete; ++begun) {
            const int point = s.next_begun();
            complete = point < 0;
            CHECK_FALSE(ended.contains(point));
        }
        const int status = s.end(complete ? 0 : SIGKILL);
        if (complete) CHECK(status == 0);
        else ++killed;
        REQUIRE(killed < 100);
    }
    CHECK(killed >= 3);
    tn::grid_search after(numbers(), tn::devices_of(tn::task()), with(file));
    after.run([](const settings&, tn::trial&) { FAIL("nothing is left"); }); // but to tidy up
    same_results(after.results(), results_alone());
    best_have_weights(after);
    CHECK(folder.file_count() == 3); // weights of no others are left
}

TEST_CASE("a search that is killed at any moment, also while it writes, has each point that ended, and the weights of "
          "the best; "
          "while it lives another of the same file is refused") {
    const auto expected = results_alone();
    std::mt19937 random(21);
    for (int killed = 0; killed < 60;) {
        const temporary_folder folder;
        const std::string file = folder / "numbers.jsonl", mine = folder / "numbers.jsonl.point-of-view.safetensors";
        write_bytes(mine, "mine");
        std::size_t ended = 0;
        const auto look = [&] {
            tn::grid_search now(numbers(), tn::devices_of(tn::task()), with(file));
            const auto results = now.results();
            CHECK(results.size() >= ended); // what has ended once has for ever
            ended = results.size();
            for (const auto& r : results) CHECK(r.history == expected.at(static_cast<std::size_t>(r.point)).history);
            best_have_weights(now);
            return now.is_complete();
        };
        while (!look()) {
            searching s(file, "here");
            const int lives_for = std::uniform_int_distribution<int>(1, 4)(random); // points
            int begun = 0;
            while (begun < lives_for && s.next_begun() >= 0) ++begun;
            if (begun == 1 && s.stop_still()) {
                tn::grid_search other(numbers(), tn::devices_of(tn::task()), with(file));
                if (!other.is_complete()) // it has it still
                    CHECK_ERROR(tn::aborted_error, "another search writes to '",
                                other.run([](const settings&, tn::trial&) {}));
            }
            s.end(SIGKILL);
            ++killed;
        }
        tn::grid_search after(numbers(), tn::devices_of(tn::task()), with(file));
        after.run([](const settings&, tn::trial&) { FAIL("nothing is left"); }); // but to tidy up
        same_results(after.results(), expected);
        best_have_weights(after);
        CHECK(folder.file_count() == 4);
        CHECK(read_bytes(mine) == "mine");
    }
}

TEST_CASE(
    "a search that is asked to end by a signal ends, keeps what had ended, and goes on when it is started again") {
    processes all(1, 1);
    const temporary_folder folder;
    const std::string file = folder / "numbers.jsonl";
    int before = 0;
    {
        searching s(file, all.cluster.to_json());
        for (int i = 0; i < 4; ++i) CHECK(s.next_begun() == i);
        const int status = s.end(SIGTERM);
        CHECK(WIFEXITED(status));
        before = static_cast<int>(tn::grid_search(numbers(), tn::devices_of(tn::task()), with(file)).results().size());
        CHECK(before >= 3); // those before the last that it has begun
        if (before < points) CHECK(WEXITSTATUS(status) == 128 + SIGTERM);
    }
    searching s(file, all.cluster.to_json());
    int begun = 0;
    while (s.next_begun() >= 0) ++begun;
    CHECK(s.end(0) == 0);
    CHECK(begun == points - before);
    same_results(tn::grid_search(numbers(), tn::devices_of(tn::task()), with(file)).results(), results_alone());
}

TEST_CASE(
    "a worker that is killed, or stands still past its lease, while it trains a point: another trains that, and it "
    "takes points when it is back") {
    processes all(1, 3);
    const auto expected = results_alone();
    for (const int signal : {SIGKILL, SIGSTOP}) {
        std::mutex guard;
        std::condition_variable changed;
        std::string told;
        tn::grid_search_options o = with("");
        o.log = [&](const std::string& line) {
            const std::lock_guard lock(guard);
            told += line + "\n";
            changed.notify_all();
        };
        const auto wait_for = [&](const char* words) {
            std::unique_lock lock(guard);
            return changed.wait_for(lock, std::chrono::seconds(60),
                                    [&] { return told.find(words) != std::string::npos; });
        };
        tn::grid_search search(numbers(), tn::devices_of(all.cluster, {"worker"}), o);
        std::atomic<bool> gone{false}, back{false};
        search.run([&](const settings& s, tn::trial& t) {
            train(s, t, [&](int step) {
                if (t.device().task == 1 && step == 3 && !gone.exchange(true)) {
                    if (signal == SIGKILL) all.at("worker", 1).end(SIGKILL);
                    else all.at("worker", 1).stop_still();
                }
                if (t.device().task == 2 && step == 2) { // not all points are trained meanwhile
                    CHECK(wait_for("worker/replica:0/task:1/device:CPU:0 is lost, and point "));
                    if (!back.exchange(true)) {
                        if (signal == SIGKILL) all.start("worker", 1);
                        else all.at("worker", 1).signal(SIGCONT);
                    }
                    CHECK(wait_for("worker/replica:0/task:1/device:CPU:0 is there again"));
                }
            });
        });
        CHECK(search.progress().lost == 1);
        same_results(search.results(), expected);
    }
}
