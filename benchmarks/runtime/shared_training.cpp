// Threads that train one model in one session, each kernel on one thread: steps per second of two threads beside one, of an MLP
// (784-300-100-10) with small batches, and of a step so small that it is little but what the variables cost.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <tenon/ops/shape/gather.hpp>

#include "models.hpp"
#include "timing.hpp"

namespace tn = tenon;

namespace {

// Steps per second of so many threads together.
template <class Step> double measure(int threads, double seconds, const Step& step) {
    std::atomic<bool> begin{false}, end{false};
    std::vector<long> done(static_cast<std::size_t>(threads) * 16); // apart from each other in memory
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
            long n = 0;
            step(t);
            while (!begin) std::this_thread::yield();
            for (; !end.load(std::memory_order_relaxed); ++n) step(t);
            done[static_cast<std::size_t>(t) * 16] = n;
        });
    const auto from = std::chrono::steady_clock::now();
    begin = true;
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    end = true;
    for (std::thread& t : all) t.join();
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    long sum = 0;
    for (const long n : done) sum += n;
    return static_cast<double>(sum) / took;
}

template <class Step> void compare(const char* title, double seconds, double target, const Step& step) {
    std::vector<double> one, two;
    for (int repeat = 0; repeat < 7; ++repeat) {
        one.push_back(measure(1, seconds, step));
        two.push_back(measure(2, seconds, step));
    }
    const double a = timing::median(one), b = timing::median(two);
    std::printf("%-52s %12.4g %12.4g %9.2f", title, a, b, b / a);
    if (target > 0) std::printf(" %9.2f", target);
    std::printf("\n");
    std::fflush(stdout);
}

template <int Batch> void train_mlp(const char* title, double seconds, double target) {
    models::mlp<Batch> m(1);
    const typename models::mlp<Batch>::batch data;
    const auto first = m.step(), second = m.step();
    compare(title, seconds, target, [&](int t) { (void)(t == 0 ? first : second)(data.images, data.labels); });
    // What two threads can do on this machine.
    models::mlp<Batch> other(1);
    const auto apart = other.step();
    compare("  each a model of its own", seconds, 0,
            [&](int t) { (void)(t == 0 ? first : apart)(data.images, data.labels); });
}

void train_little(double seconds) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    using eight = tn::shape<8>;
    const auto x = tn::placeholder<float, eight>("x");
    const auto w = tn::variable<float, eight>("w", tn::ones());
    const auto b = tn::variable<float, tn::shape<>>("b", tn::zeros());
    const auto loss = tn::sum(x * w) + b;
    const auto train = tn::gradient_descent(1e-9).minimize(loss, {.advance_global_step = false});
    tn::session s(g, models::with_threads(1));
    s.run(tn::initialize_variables());
    const tn::array<float, eight> data{.1f, .2f, .3f, .4f, .5f, .6f, .7f, .8f};
    const auto first = s.callable(tn::feeds(x), tn::fetches(train, loss));
    const auto second = s.callable(tn::feeds(x), tn::fetches(train, loss));
    compare("a step of two variables of 9 numbers", seconds, 0, [&](int t) { (void)(t == 0 ? first : second)(data); });
}

void train_table(double seconds) {
    const tn::graph g;
    const tn::graph_scope scope(g);
    constexpr int batch = 256, width = 64, rows = 100'000;
    const auto ids = tn::placeholder<std::int32_t, tn::shape<batch>>("ids");
    const auto table = tn::variable<float, tn::shape<rows, width>>("table", tn::glorot_uniform(1));
    const auto w = tn::variable<float, tn::shape<width, width>>("w", tn::glorot_uniform(2));
    const auto h = tanh(tn::matmul(tn::gather<0>(table, ids), w));
    const auto loss = tn::mean(h * h);
    const auto train = tn::gradient_descent(0.01).minimize(loss, {.advance_global_step = false});
    tn::session s(g, models::with_threads(1));
    s.run(tn::initialize_variables());
    std::mt19937 random(1);
    tn::array<std::int32_t, tn::shape<batch>> some{};
    for (std::int32_t& i : some) i = static_cast<std::int32_t>(random() % rows);
    const auto first = s.callable(tn::feeds(ids), tn::fetches(train, loss));
    const auto second = s.callable(tn::feeds(ids), tn::fetches(train, loss));
    compare("rows of a table [100000, 64], batch 256", seconds, 0,
            [&](int t) { (void)(t == 0 ? first : second)(some); });
}

} // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 0.3;
    std::printf("%-52s %12s %12s %9s %9s\n", "steps per second", "one thread", "two", "ratio", "target");
    train_mlp<16>("MLP 784-300-100-10, batch 16", seconds, 0);
    train_mlp<32>("MLP 784-300-100-10, batch 32", seconds, 1.7);
    train_mlp<128>("MLP 784-300-100-10, batch 128", seconds, 1.7);
    train_table(seconds);
    train_little(seconds);
}
