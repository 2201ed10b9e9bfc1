// What a program waits for before its first step: which libraries are opened, and on a real GPU how long it takes. cuda/check.sh runs this
// file as a process of its own.

#include <chrono>
#include <fstream>

#include "tests.hpp"
#include "environment.hpp"
#include "machine.hpp"

using tenon::test::environment, tenon::test::machine;

namespace {

using clock_type = std::chrono::steady_clock;
const clock_type::time_point begun = clock_type::now(); // before main

bool is_open(const std::string& library) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find("/lib" + library + ".so") != std::string::npos) return true;
    return false;
}

} // namespace

TEST_CASE("a program's first step of products opens no library for anything else, and on a GPU takes two seconds") {
    const machine m;
    const temporary_folder empty;
    const environment cache("TENON_CACHE_DIR", empty.path().string());
    const char* const others[] = {"cudnn", "cudnn_graph", "cusolver", "cufft", "nccl"};
    bool was_open[std::size(others)];
    for (std::size_t k = 0; k < std::size(others); ++k) was_open[k] = is_open(others[k]);

    const own_graph g;
    const auto there = tn::on("/gpu:0");
    const auto model = tn::nn::sequential(tn::nn::dense<32>(tn::nn::relu), tn::nn::dense<10>());
    const auto x = tn::placeholder<float, tn::shape<16, 64>>("x");
    const auto y = tn::placeholder<std::int32_t, tn::shape<16>>("y");
    const auto loss = tn::mean(tn::sparse_softmax_cross_entropy(model(x), y));
    const auto train = tn::adam(0.01).minimize(loss);
    initialized_session s(g);
    tn::array<float, tn::shape<16, 64>> images;
    tn::array<std::int32_t, tn::shape<16>> labels;
    for (std::int64_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i % 7);
    for (std::int64_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 10);
    const auto step = s.callable(tn::feeds(x, y), tn::fetches(train, loss));
    const auto [first] = step(images, labels);
    const double seconds = std::chrono::duration<double>(clock_type::now() - begun).count();

    CHECK(first.item() > 0);
    for (std::size_t k = 0; k < std::size(others); ++k) {
        INFO(others[k]);
        CHECK(is_open(others[k]) == was_open[k]);
    }
    if (!machine::is_emulated() && !was_open[0]) { // nothing of this process was before it
        MESSAGE("from the program's start to its first step: ", seconds, " s");
        CHECK(seconds <= 2);
    }
}
