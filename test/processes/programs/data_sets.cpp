// A worker whose iterators are on a parameter server, which `tenon serve` runs: data sets stay in the worker's program, functions and
// all (SEMANTICS 38). What a session of this process gives is the oracle.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <tenon/input.hpp>
#include <tenon/net/net.hpp>

#include "own_graph.hpp"

namespace tn = tenon;

namespace {

int wrong = 0;

void expect(bool holds, const std::string& what) {
    if (holds) return;
    std::printf("WRONG: %s\n", what.c_str());
    ++wrong;
}

// What f says when it fails: the code's name and the words.
template <class F> std::string error_of(F f) {
    try {
        f();
        return "no error";
    } catch (const tn::error& e) {
        return std::string(tn::name_of(e.code())) + (e.reason() == tn::error_reason::other_shard ? ", shard" : "") +
               ": " + e.what();
    }
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

using numbers = tn::data_set<std::int64_t>;

tn::session open(const std::string& target, const tn::graph& g) {
    return tn::session(target, g, {.operation_timeout = 20, .device_filters = {"/job:ps"}});
}

// The same actions, drawn at random, here and there: values, ends and errors are the same, and a state of one goes on in the other.
int compare_with_local(const std::string& target, unsigned seed) {
    std::mt19937 random(seed);
    const own_graph g;
    const auto range = tn::data::range(std::int64_t{1 + seed % 17});
    const numbers squares = range.map_host([](std::int64_t x) {
        if (x == 5) throw std::runtime_error("no square of five");
        return x * x;
    });
    const numbers shuffled = range.shuffle(4, {.seed = 3}).repeat(2);
    const tn::iterator<std::int64_t> it;
    const auto to_squares = it.make_initializer(squares), to_shuffled = it.make_initializer(shuffled),
               to_shard = it.make_initializer(range.shard(2, 0)),
               to_other_shard = it.make_initializer(range.shard(2, 1));
    const auto next = it.get_next();
    const auto state = it.save();
    const auto given = tn::placeholder<std::string, tn::shape<>>("given");
    const auto restore = it.restore(given);
    tn::session here(g), there = open(target, g);
    std::string saved;
    int done = 0;
    for (int n = 0; n < 60; ++n) {
        const auto action = random() % 14;
        const auto act = [&](tn::session& s) -> std::string {
            if (action == 0) s.run(to_squares);
            else if (action == 1) s.run(to_shuffled);
            else if (action == 2 && !saved.empty()) s.run(tn::feed(given, saved), restore);
            else if (action == 12) s.run(to_shard);
            else if (action == 13) s.run(to_other_shard);
            else if (action > 3) return std::to_string(s.run(next)());
            return {};
        };
        std::string a, b;
        const std::string failed_a = error_of([&] { a = act(here); }), failed_b = error_of([&] { b = act(there); });
        // Words name the device.
        expect(a == b && failed_a.substr(0, failed_a.find(" [node")) == failed_b.substr(0, failed_b.find(" [node")),
               "seed " + std::to_string(seed) + ", action " + std::to_string(n) + ": here " + a + " (" + failed_a +
                   "), there " + b + " (" + failed_b + ")");
        if (action == 3) {
            const std::string of_here = here.run(state)(), of_there = there.run(state)();
            saved = random() % 2 == 0 ? of_here : of_there;
        }
        ++done;
    }
    return done;
}

} // namespace

int main(int, char** argv) {
    const tn::net::cluster_source place = tn::net::resolve_cluster({});
    const std::string target = "tenon://" + place.tasks.address("ps", 1); // not the first task, where queues are
    int compared = 0;
    for (unsigned seed = 1; seed <= 12; ++seed) compared += compare_with_local(target, seed);

    { // one element a step, however often it is fetched, of large components; the end is one of its own
        const own_graph g;
        tn::array<float, tn::shape<3, 100000>> rows;
        for (std::int64_t i = 0; i < 300000; ++i) rows.data()[i] = static_cast<float>(i);
        const auto row = tn::make_one_shot_iterator(tn::data::slices(rows)).get_next();
        const auto sum = tn::sum(row);
        const auto last = row + 0.0f;
        tn::session s = open(target, g);
        for (int n = 0; n < 3; ++n) {
            const auto [got, total, same] = s.run(row, sum, last);
            expect(got.size() == 100000 && got == same && got(99999) == static_cast<float>(100000 * n + 99999),
                   "a large element");
            expect(total() > 0, "a sum of it");
        }
        bool ended = false;
        try {
            (void)s.run(row);
        } catch (const tn::end_of_data_error&) {
            ended = true;
        }
        expect(ended, "the end of data is an error of its own");
    }
    { // what a user's function throws is told, whatever it is, and the next element comes
        const own_graph g;
        const auto set = tn::data::range(std::int64_t{4}).map_host([](std::int64_t x) {
            if (x == 1) throw 7;
            return x;
        });
        const auto next = tn::make_one_shot_iterator(set).get_next();
        tn::session s = open(target, g);
        expect(s.run(next)() == 0, "the first element");
        const std::string why = error_of([&] { (void)s.run(next); });
        expect(has(why, "map_host"), "the error names the step: " + why);
        expect(s.run(next)() == 2, "the element behind the one that failed");
    }
    { // who waits for a silent data set has his limit, others go on, and a session can be closed meanwhile
        const own_graph g;
        std::atomic<bool> opened{false};
        const auto silent = tn::data::generator([&opened] {
            return [&opened, n = std::int64_t{0}]() mutable -> std::optional<std::int64_t> {
                opened.wait(false);
                return n++;
            };
        });
        const auto slow = tn::make_one_shot_iterator(silent).get_next();
        const auto quick = tn::make_one_shot_iterator(tn::data::range(std::int64_t{100})).get_next();
        tn::session s = open(target, g);
        const std::string why = error_of([&] { (void)s.run_for(0.2, slow); });
        expect(has(why, "deadline_exceeded") && has(why, "iterator"), "a silent data set: " + why);
        for (int n = 0; n < 10; ++n) expect(s.run(quick)() == n, "an element beside one that is waited for");
        opened = true;
        opened.notify_all();
        expect(s.run(slow)() == 0, "the element that the late step would have had is the next one's");

        const auto pipe = std::string(argv[1]) + "/pipe";
        expect(std::system(("mkfifo " + pipe).c_str()) == 0, "mkfifo");
        std::fstream writes(pipe); // nothing
        const auto line = tn::make_one_shot_iterator(tn::data::text_lines(pipe)).get_next();
        const auto waiting = s.callable(tn::feeds(), tn::fetches(line));
        auto step = waiting.start();
        s.close();
        const std::string closed = error_of([&] { (void)step.get(); });
        expect(has(closed, "cancelled"), "a session that is closed: " + closed);
    }
    { // more than a server goes through for one session: refused by name, and what is there goes on
        const own_graph g;
        constexpr std::size_t most = tn::client_limits{}.data_sets;
        std::vector<tn::initializable_iterator<std::int64_t>> its;
        std::vector<tn::tensor<std::int64_t, tn::shape<>>> next;
        for (std::size_t i = 0; i < most + 1; ++i) {
            its.push_back(tn::make_initializable_iterator(tn::data::range(std::int64_t{10})));
            next.push_back(its.back().get_next());
        }
        tn::session s = open(target, g);
        std::vector<tn::operation> all;
        std::vector<tn::any_tensor> firsts;
        for (const auto& it : its) all.push_back(it.initializer());
        for (std::size_t i = 0; i < most; ++i) firsts.emplace_back(next[i]);
        (void)s.run_untyped({}, {}, all);
        for (const tn::any_array& v : s.run_untyped({}, firsts)) expect(*v.data<std::int64_t>() == 0, "one of many");
        for (int again = 0; again < 2; ++again) {
            const std::string why = error_of([&] { (void)s.run(next[most]); });
            expect(has(why, "resource_exhausted") && has(why, "client_limits::data_sets"), "one too many: " + why);
        }
        expect(s.run(next[1])() == 1, "one of as many as there may be");
        s.run(its[1].initializer()); // what it went through is closed
        expect(s.run(next[most])() == 0, "one for which there is room again");
    }
    { // of several sessions: one whose data set has gone says so, and goes on with another's
        const own_graph g;
        const auto it = tn::make_initializable_iterator(tn::data::range(std::int64_t{10}), {.shared_name = "shared"});
        const auto next = it.get_next();
        tn::session first = open(target, g), second = open(target, g);
        first.run(it.initializer());
        expect(first.run(next)() == 0 && second.run(next)() == 1, "an iterator of two sessions");
        first.close();
        const std::string why = error_of([&] { (void)second.run(next); });
        expect(has(why, "cancelled") && has(why, "initialise an iterator that others use"),
               "its session is gone: " + why);
        second.run(it.initializer());
        expect(second.run(next)() == 0, "another session's data set");
    }
    { // where it is: with the session, where nothing pins it; elsewhere it cannot be
        const own_graph g;
        const auto made = [] { return tn::make_one_shot_iterator(tn::data::range(std::int64_t{3})).get_next(); };
        const auto free = made();
        const auto setter = [&] {
            const auto placed = tn::on(tn::replica_device_setter(place.tasks, {.worker_device = "/job:ps/task:1"}));
            return made();
        }();
        const auto elsewhere = [&] {
            const tn::device_scope there("/job:ps/task:0");
            return made();
        }();
        tn::session s = open(target, g);
        expect(s.run(free)() == 0 && s.run(setter)() == 0, "an iterator that nothing pins");
        const std::string why = error_of([&] { (void)s.run(elsewhere); });
        expect(has(why, "failed_precondition") && has(why, "place the iterator on the task"), "elsewhere: " + why);
    }
    std::printf("%d actions were compared\n", compared);
    return wrong != 0;
}
