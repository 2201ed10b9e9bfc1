#include <doctest/doctest.h>

#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "emulator/control.hpp"

#include "own_ops.hpp"

// A step that gives its streams all at once is recorded as a CUDA graph in its second run, and given again in later ones.

namespace tn = tenon;
namespace emulator = tenon::emulator;

namespace {

constexpr int n = 6;
using row = tn::tensor<float, tn::shape<n>>;
using numbers = tn::array<float, tn::shape<n>>;

std::size_t launched() { return emulator::count_calls("cudaGraphLaunch"); }
std::size_t recorded() { return emulator::count_calls("cudaStreamEndCapture"); }

std::mt19937& random_source() {
    static std::mt19937 random = [] {
        const unsigned seed = std::random_device()();
        MESSAGE("seed " << seed);
        return std::mt19937(seed);
    }();
    return random;
}
float draw() { return static_cast<float>(std::uniform_int_distribution<int>(-50, 50)(random_source())); }
numbers draw_row() {
    numbers r;
    for (int i = 0; i < n; ++i) r(i) = draw();
    return r;
}

// What a step does: y = a number of additions to x, some of which meet again.
row some_work(const row& x, int additions) {
    std::vector<row> all{x};
    for (int i = 0; i < additions; ++i) all.push_back(tn::add_n(all.back(), all[all.size() / 2]));
    return all.back();
}
float some_work_on(float x, int additions) {
    std::vector<float> all{x};
    for (int i = 0; i < additions; ++i) all.push_back(all.back() + all[all.size() / 2]);
    return all.back();
}

// A variable that grows by what is fed, and what it was before, beside other work.
struct growing {
    explicit growing(const tn::session_options& o = {}) : s(g, o) { s.run(tn::initialize_variables()); }
    const tn::graph g;
    const tn::graph_scope in{g};
    const tn::device_scope where{"/gpu:0"};
    tn::tensor<float, tn::shape<n>> x = tn::placeholder<float, tn::shape<n>>("x");
    tn::variable_tensor<float, tn::shape<n>> w = tn::variable("w", tn::constant(numbers()));
    row more = w.assign(tn::add_n(w, x));
    row work = some_work(x, 5);
    tn::session s;
    std::vector<float> wanted = std::vector<float>(n);

    void step(const numbers& by) {
        const auto [now, worked] = s.run(tn::feed(x, by), more, work);
        for (int i = 0; i < n; ++i) {
            wanted[static_cast<std::size_t>(i)] += by(i);
            REQUIRE(now(i) == wanted[static_cast<std::size_t>(i)]);
            REQUIRE(worked(i) == some_work_on(by(i), 5));
        }
    }
};

} // namespace

TEST_CASE("a step is given as it is in its first run, recorded in its second, and given again from then on") {
    emulator::reset();
    growing program;
    const std::size_t before = launched();
    program.step(draw_row());
    CHECK(launched() == before);
    for (int i = 0; i < 30; ++i) program.step(draw_row());
    CHECK(launched() == before + 30);
    CHECK(recorded() <= 4); // a variable has few places
    CHECK(emulator::violations().empty());
}

TEST_CASE("a recorded step costs as many calls as a graph of its own would") {
    emulator::reset();
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto x = tn::placeholder<float, tn::shape<n>>("x");
    const auto y = tn::on("/gpu:0", [&] { return some_work(x, 300); });
    tn::session s(g);
    const auto step = s.callable(tn::feeds(x), tn::fetches(y));
    for (int i = 0; i < 3; ++i) (void)step(draw_row());
    const std::size_t before = emulator::calls().size();
    (void)step(draw_row());
    std::size_t calls = 0;
    const auto all = emulator::calls();
    for (std::size_t c = before; c < all.size(); ++c) calls += all[c].name != "cudaEventQuery" && all[c].name != "cudaSetDevice";
    CHECK(calls == 2); // the graph, and an event behind it
}
