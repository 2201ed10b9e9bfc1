#include "tests.hpp"
#include "scaled.hpp"

// S47, S28: tasks are stopped and started at random while weights are replaced and clients ask, held to a model: a version has the
// weights that replace() gave it.

using namespace serve_test;

namespace {

// What one client was answered.
struct client_log {
    std::int64_t last = 0; // version
    int answered = 0, went_back = 0;
    std::set<std::pair<std::int64_t, float>> seen; // versions and what they answered
    std::set<std::string> other;                   // failures
};

struct client {
    // Kept by the request: its callback may still be leaving when the client goes on.
    struct slot {
        std::mutex guard; // of what follows
        std::condition_variable changed;
        std::optional<tn::model_answer> answer;
    };
    explicit client(scaled& of) : thread([this, &of] { ask(of); }) {}
    void ask(scaled& of) {
        while (!stop) {
            ++requests;
            const auto to = std::make_shared<slot>();
            std::vector<tn::any_array> inputs;
            inputs.push_back(rows(1, 1).untyped().copy());
            try {
                const auto request = of.server->state()->ask(tn::detail::client_of_thread(), std::move(inputs), 0, true,
                                                             [this, to](tn::model_answer&& a) {
                                                                 ++told;
                                                                 const std::lock_guard lock(to->guard);
                                                                 to->answer.emplace(std::move(a));
                                                                 to->changed.notify_all();
                                                             });
                ++taken;
                std::unique_lock lock(to->guard);
                to->changed.wait(lock, [&] { return to->answer.has_value(); });
                const tn::model_answer& answer = *to->answer;
                if (answer.failure) std::rethrow_exception(answer.failure);
                if (answer.version < log.last) ++log.went_back;
                log.last = answer.version;
                log.seen.emplace(answer.version, answer.outputs[0].data<float>()[0] / 4.75f);
                ++log.answered;
            } catch (const tn::unavailable_error&) { // no device is left
                (void)comes([&] { return stop || of.server->why_not_ready().empty(); });
            } catch (const tn::error& e) {
                log.other.insert(e.what());
            }
        }
    }
    client_log log; // of its thread, until that has ended
    std::atomic<int> requests{0}, taken{0}, told{0};
    std::atomic<bool> stop{false};
    std::thread thread;
};

void run(unsigned seed) {
    std::mt19937_64 random(seed);
    const bool has_copies = seed % 2 == 0;
    const temporary_folder folder;
    scaled m(has_copies, {.largest_batch = 2}, with_files(folder));
    m.initialize();
    // Those that are stopped and started: not the one at which sessions are opened.
    const std::vector<std::pair<std::string, int>> tasks =
        has_copies ? std::vector<std::pair<std::string, int>>{{"worker", 0}, {"worker", 1}}
                   : std::vector<std::pair<std::string, int>>{{"ps", 0}, {"worker", 1}};
    std::vector<bool> is_up(tasks.size(), true);
    std::map<std::int64_t, float> values{{1, 1.0f}}; // by version
    std::array<client, 3> clients{client(m), client(m), client(m)};
    float next = 2;
    const auto replace = [&] {
        const float value = next++;
        const std::string path = scaled::saved(folder, value, static_cast<int>(value) % 2 == 0);
        try {
            values[m.server->replace(path).version] = value;
        } catch (const tn::unavailable_error&) { // nothing has changed
        } catch (const tn::aborted_error&) {
        }
    };
    for (int turn = 0; turn < 16; ++turn) {
        const std::uint64_t what = random() % 3; // a replacement, a task, or both at once
        std::thread beside;
        if (what == 2) beside = std::thread(replace);
        if (what == 0) replace();
        else {
            const std::size_t t = random() % tasks.size();
            const auto& [job, index] = tasks[t];
            if (is_up[t]) m.all.stop(job, index);
            else m.all.start(job, index);
            is_up[t] = !is_up[t];
        }
        if (beside.joinable()) beside.join();
        if (random() % 3 != 0) { // some requests come between
            const int before = clients[0].requests;
            (void)comes([&] { return clients[0].requests > before + 2 || !m.server->why_not_ready().empty(); });
        }
    }
    for (std::size_t t = 0; t < tasks.size(); ++t)
        if (!is_up[t]) m.all.start(tasks[t].first, tasks[t].second);
    // All are there: a replacement succeeds once the lost ones are known, and all devices come back to it.
    const std::size_t versions = values.size();
    CHECK(comes([&] {
        if (values.size() == versions) replace();
        return values.size() > versions && !m.is_lost(0) && !m.is_lost(1);
    }));
    CHECK(m.all_answer(values.rbegin()->second));
    for (client& c : clients) c.stop = true;
    for (client& c : clients) c.thread.join();
    CHECK(m.server->close(60));
    CHECK(m.server->version() == static_cast<std::int64_t>(values.size()));
    for (const client& c : clients) {
        CHECK(c.log.went_back == 0);
        for (const std::string& what : c.log.other) CHECK_MESSAGE(false, what);
        for (const auto& seen : c.log.seen) {
            CAPTURE(seen.first);
            CHECK(values.at(seen.first) == seen.second);
        }
        CHECK(c.told == c.taken); // of each was waited for one
        CHECK(c.log.answered > 0);
    }
}

} // namespace

TEST_CASE(
    "S47: whatever tasks are lost while weights are replaced, each request is answered once, each version has the "
    "weights that it was given, and none goes back") {
    for (unsigned seed = 0; seed < 6; ++seed) {
        CAPTURE(seed);
        run(seed);
    }
}
