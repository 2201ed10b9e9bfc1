// P18: requests a second of one row each to a 784-300-100-10 network, on one task and on two of one thread each, and what the slowest of
// a hundred takes beside the longest wait and two steps.
//
//     serving [SECONDS A MEASUREMENT]
//
// Where cores are shared with others the rate says little; the processor's seconds a request say how far two tasks get in the way of each
// other. TENON_TORCH_PYTHON and TENON_TENSORFLOW_PYTHON name Pythons with PyTorch and TensorFlow: a batching loop as one writes it with the
// one, the other's own batching (benchmarks/peers/torch_serving.py, tensorflow_serving.py), run in turns with these.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <tenon/models.hpp>

#include "timing.hpp"

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

namespace {

using clock_type = std::chrono::steady_clock;
using row_type = tn::array<float, tn::shape<batch, 784>>;
constexpr std::int64_t largest = 32;
constexpr int in_flight = 512; // a task

double now() { return std::chrono::duration<double>(clock_type::now().time_since_epoch()).count(); }

// The network on so many tasks.
struct served {
    explicit served(int count, double longest_wait) : scope(g), x(tn::placeholder<float, tn::shape<batch, 784>>("x")) {
        std::vector<tn::device_name> devices;
        for (int i = 0; i < count; ++i) {
            tasks.push_back(tn::task({.intra_op_threads = 1, .job = "worker", .index = i}));
            devices.emplace_back("/job:worker/task:" + std::to_string(i));
        }
        sess = std::make_unique<tn::session>(tasks, g);
        auto net =
            tn::nn::sequential(tn::nn::dense<300>(tn::nn::relu), tn::nn::dense<100>(tn::nn::relu), tn::nn::dense<10>());
        auto made = std::make_unique<server_type>(
            *sess, tn::feeds(x), [&](auto in) { return softmax(net(in)); },
            tn::model_server_options{.devices = devices,
                                     .copy_variables = true,
                                     .largest_batch = largest,
                                     .longest_wait = longest_wait,
                                     .capacity = 1 << 20});
        server = std::move(made);
        sess->run(tn::initialize_variables());
        // Each device has planned each size.
        for (std::int64_t rows = 1; rows <= largest; ++rows) {
            std::vector<tn::pending_answer<output_type>> all;
            for (int i = 0; i < 4 * count; ++i) all.push_back(server->start(row_type(rows)));
            for (const auto& a : all) (void)a.get();
        }
    }
    using output_type = tn::tensor<float, tn::shape<batch, 10>>;
    using server_type =
        tn::model_server<tn::feed_list<tn::tensor<float, tn::shape<batch, 784>>>, tn::fetch_list<output_type>>;
    tn::graph g;
    tn::graph_scope scope;
    tn::tensor<float, tn::shape<batch, 784>> x;
    std::vector<tn::task> tasks;
    std::unique_ptr<tn::session> sess;
    std::unique_ptr<server_type> server;
};

struct measured {
    double rate = 0;      // requests a second
    double processor = 0; // seconds a request
    double mean_batch = 0, step = 0;
};

// As many requests as may be are always under way: whoever is answered asks again.
measured saturated(served& s, double seconds) {
    const int most = in_flight * static_cast<int>(s.tasks.size());
    row_type x(1);
    x.fill(0.5f);
    const tn::serving_metrics before = s.server->metrics();
    std::mutex guard;
    std::condition_variable changed;
    std::atomic<std::uint64_t> answered{0};
    std::atomic<int> under_way{0};
    const double began = now(), used = timing::core_seconds();
    while (now() < began + seconds) {
        {
            std::unique_lock lock(guard);
            changed.wait(lock, [&] { return under_way < most / 2; });
            under_way += most / 2;
        }
        for (int i = 0; i < most / 2; ++i) {
            std::vector<tn::any_array> inputs;
            inputs.push_back(x.untyped().share());
            (void)s.server->state()->ask(static_cast<std::uint64_t>(1 + i % 64), std::move(inputs), 0, false,
                                         [&](tn::model_answer&&) {
                                             ++answered;
                                             const int left = --under_way;
                                             if (left != most / 2 - 1 && left != 0) return;
                                             const std::lock_guard lock(guard);
                                             changed.notify_one();
                                         });
        }
    }
    {
        std::unique_lock lock(guard);
        changed.wait(lock, [&] { return under_way == 0; });
    }
    const double took = now() - began, cpu = timing::core_seconds() - used;
    const tn::serving_metrics after = s.server->metrics();
    double busy = 0;
    for (std::size_t d = 0; d < after.devices.size(); ++d)
        busy += after.devices[d].busy_seconds - before.devices[d].busy_seconds;
    const double count = static_cast<double>(answered.load()),
                 batches = static_cast<double>(after.batches - before.batches);
    return {count / took, cpu / count, static_cast<double>(after.rows - before.rows) / batches, busy / batches};
}

// Another side, if there is one: its script says what it measured for one task and two.
struct peer {
    const char *name, *script, *python;
    std::vector<measured> of[2] = {};
    void measure(double seconds) {
        if (!python) return;
        const std::string command = std::string(python) + " benchmarks/peers/" + script + " " +
                                    std::to_string(static_cast<int>(seconds * 1000)) + " 2>/dev/null";
        FILE* const said = ::popen(command.c_str(), "r");
        int tasks = 0;
        for (measured m; said && std::fscanf(said, "%d %lf %lf", &tasks, &m.rate, &m.processor) == 3;) {
            m.processor *= 1e-6;
            of[tasks - 1].push_back(m);
        }
        if (!said || ::pclose(said) != 0) std::printf("%s failed\n", command.c_str());
    }
};

// The network's steps of 32 rows alone, without requests: microseconds of the processor a row, where so many threads run them.
double steps_alone(int count, double seconds) {
    std::vector<std::thread> all;
    std::atomic<std::int64_t> rows{0};
    std::mutex guard;
    std::condition_variable changed;
    int ready = 0;
    double used = 0, began = 0;
    for (int i = 0; i < count; ++i)
        all.emplace_back([&] {
            const tn::graph g;
            const tn::graph_scope in(g);
            const auto x = tn::placeholder<float, tn::shape<batch, 784>>("x");
            auto net = tn::nn::sequential(tn::nn::dense<300>(tn::nn::relu), tn::nn::dense<100>(tn::nn::relu),
                                          tn::nn::dense<10>());
            const auto y = softmax(net(x));
            tn::session sess({.intra_op_threads = 1, .use_per_session_threads = true});
            sess.run(tn::initialize_variables());
            auto step = sess.callable(tn::feeds(x), tn::fetches(y));
            row_type values(largest);
            values.fill(0.5f);
            for (int n = 0; n < 20; ++n) (void)step(values);
            {
                std::unique_lock lock(guard);
                if (++ready == count) {
                    began = now();
                    used = timing::core_seconds();
                    changed.notify_all();
                } else changed.wait(lock, [&] { return ready == count; });
            }
            while (now() < began + seconds) {
                (void)step(values);
                rows += largest;
            }
        });
    for (std::thread& t : all) t.join();
    return (timing::core_seconds() - used) / static_cast<double>(rows.load());
}

// The step of one row, called directly: its median.
double single_step(int count) {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto x = tn::placeholder<float, tn::shape<batch, 784>>("x");
    auto net =
        tn::nn::sequential(tn::nn::dense<300>(tn::nn::relu), tn::nn::dense<100>(tn::nn::relu), tn::nn::dense<10>());
    const auto y = softmax(net(x));
    tn::session sess({.intra_op_threads = 1, .use_per_session_threads = true});
    sess.run(tn::initialize_variables());
    auto step = sess.callable(tn::feeds(x), tn::fetches(y));
    row_type values(1);
    values.fill(0.5f);
    std::vector<double> took;
    for (int i = 0; i < count; ++i) {
        const double began = now();
        (void)step(values);
        took.push_back(now() - began);
    }
    std::sort(took.begin(), took.end());
    return took[took.size() / 2];
}

// Requests come at random times, so many a second on the mean: seconds that the part q took at most.
std::vector<double> latencies(served& s, double rate, double seconds) {
    row_type x(1);
    x.fill(0.5f);
    std::mt19937 random(1);
    std::exponential_distribution<double> gap(rate);
    std::vector<double> took;
    std::mutex guard;
    std::condition_variable changed;
    int under_way = 0;
    double next = now();
    const double until = next + seconds;
    std::mutex never_told;
    std::condition_variable never;
    while (next < until) {
        next += gap(random);
        std::unique_lock wait(never_told);
        while (now() < next) never.wait_for(wait, std::chrono::duration<double>(next - now()));
        wait.unlock();
        {
            const std::lock_guard lock(guard);
            ++under_way;
        }
        std::vector<tn::any_array> inputs;
        inputs.push_back(x.untyped().share());
        const double came = now();
        (void)s.server->state()->ask(tn::detail::new_client(), std::move(inputs), 0, false,
                                     [&, came](tn::model_answer&&) {
                                         const std::lock_guard lock(guard);
                                         took.push_back(now() - came);
                                         if (--under_way == 0) changed.notify_one();
                                     });
    }
    std::unique_lock lock(guard);
    changed.wait(lock, [&] { return under_way == 0; });
    std::sort(took.begin(), took.end());
    return took;
}

double at(const std::vector<double>& sorted, double q) {
    return sorted.empty()
               ? 0
               : sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(q * static_cast<double>(sorted.size())))];
}

// A request alone, which its asker waits for: seconds.
std::vector<double> one_by_one(served& s, int count) {
    row_type x(1);
    x.fill(0.5f);
    std::vector<double> took;
    for (int i = 0; i < count; ++i) {
        const double began = now();
        (void)(*s.server)(x);
        took.push_back(now() - began);
    }
    std::sort(took.begin(), took.end());
    return took;
}

} // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
    constexpr int rounds = 5;
    served one(1, 0), two(2, 0);
    std::vector<measured> of_one, of_two;
    std::vector<double> alone, beside;
    peer peers[] = {{"PyTorch", "torch_serving.py", std::getenv("TENON_TORCH_PYTHON")},
                    {"TensorFlow", "tensorflow_serving.py", std::getenv("TENON_TENSORFLOW_PYTHON")}};
    for (int r = 0; r < rounds; ++r) {
        of_one.push_back(saturated(one, seconds));
        of_two.push_back(saturated(two, seconds));
        alone.push_back(steps_alone(1, seconds));
        beside.push_back(steps_alone(2, seconds));
        for (peer& p : peers) p.measure(seconds);
    }
    const auto of = [](const std::vector<measured>& all, double measured::*what) {
        std::vector<double> v;
        for (const measured& m : all) v.push_back(m.*what);
        return timing::median(v);
    };
    for (const auto& [name, all] : {std::pair("one task", &of_one), std::pair("two tasks", &of_two)})
        std::printf(
            "%-10s %9.0f requests/s, %6.2f us of the processor a request, %4.1f rows a batch, %6.0f us a batch\n", name,
            of(*all, &measured::rate), 1e6 * of(*all, &measured::processor), of(*all, &measured::mean_batch),
            1e6 * of(*all, &measured::step));
    for (const peer& p : peers)
        for (const auto& [name, ours, theirs] :
             {std::tuple("one task", &of_one, &p.of[0]), {"two tasks", &of_two, &p.of[1]}})
            if (!theirs->empty())
                std::printf(
                    "%s, %s: %.0f requests/s, %.2f us of the processor a request: Tenon is faster by %.2f, by the "
                    "processor's time %.2f\n",
                    p.name, name, of(*theirs, &measured::rate), 1e6 * of(*theirs, &measured::processor),
                    of(*ours, &measured::rate) / of(*theirs, &measured::rate),
                    of(*theirs, &measured::processor) / of(*ours, &measured::processor));
    std::printf("two tasks beside twice one: %.2f by rate, %.2f by the processor's seconds a request (target 0.90)\n",
                of(of_two, &measured::rate) / of(of_one, &measured::rate) / 2,
                of(of_one, &measured::processor) / of(of_two, &measured::processor));
    std::printf("steps of 32 rows without requests: %.2f us of the processor a row, %.2f where two threads run them: "
                "the cores themselves "
                "give %.2f\n",
                1e6 * timing::median(alone), 1e6 * timing::median(beside),
                timing::median(alone) / timing::median(beside));
    const std::vector<double> single = one_by_one(one, 5000);
    std::printf("a request alone: half within %.0f us, 99 of 100 within %.0f us; of that the step %.0f us\n",
                1e6 * at(single, 0.5), 1e6 * at(single, 0.99), 1e6 * single_step(5000));
    for (const double longest_wait : {0.0, 0.002, 0.005}) {
        served s(1, longest_wait);
        const measured full = saturated(s, seconds);
        for (const double part : {0.1, 0.5}) {
            const std::vector<double> took = latencies(s, part * full.rate, 2 * seconds);
            std::printf("longest wait %1.0f ms, %2.0f %% of the rate: half within %7.0f us, 99 of 100 within %7.0f us; "
                        "longest wait + two "
                        "steps: %7.0f us\n",
                        1e3 * longest_wait, 100 * part, 1e6 * at(took, 0.5), 1e6 * at(took, 0.99),
                        1e6 * (longest_wait + 2 * full.step));
        }
    }
    return 0;
}
