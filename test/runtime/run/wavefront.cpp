#include "tests.hpp"
#include "runtime/support.hpp"

// Recurrent networks with a layer on each device (SEMANTICS 43).

using probe::deed;

namespace {

using value = tn::tensor<float, tn::shape<4>>;

// Of two layers, times 0 and 1: the first layer's second cell and the second layer's first one each wait until both run.
std::vector<float> met(const std::vector<tn::device_name>& devices, auto&& session_of) {
    const own_graph g;
    const value x = tn::placeholder<float, tn::shape<4>>("x");
    const auto cell = [&](std::size_t layer, const value& below, const value& before, const std::string& name,
                          deed what) {
        return tn::on(devices[layer], [&] { return probe::watched(tanh(below + before), name, what); });
    };
    const value a0 = cell(0, x, x, "a0", deed::note);
    const value a1 = cell(0, x, a0, "a1", deed::meet);
    const value b0 = cell(1, a0, a0, "b0", deed::meet);
    tn::session s = session_of(g);
    probe::present() = 0;
    const auto [one, other] = s.run(tn::feed(x, tn::array<float, tn::shape<4>>{1, 2, 3, 4}), a1, b0);
    return {one.data()[0], other.data()[0]};
}

} // namespace

TEST_CASE("S43: layer 1 at time 0 runs while layer 0 is at time 1, on devices and on tasks") {
    const std::vector<float> yes{1, 1}; // each saw the other
    CHECK(met({"/gpu:0", "/gpu:1"}, [](const tn::graph& g) {
              return tn::session(g, {.intra_op_threads = 2,
                                     .use_per_session_threads = true,
                                     .gpus = tn::simulated_gpu(2, std::size_t{16} << 20)});
          }) == yes);
    CHECK(met({"/cpu:0", "/cpu:1"}, [](const tn::graph& g) {
              return tn::session(g, {.intra_op_threads = 2, .use_per_session_threads = true, .cpu_devices = 2});
          }) == yes);
    const tn::task first({.intra_op_threads = 2, .job = "a"}), second({.intra_op_threads = 2, .job = "b"});
    CHECK(met({"/job:a", "/job:b"}, [&](const tn::graph& g) { return tn::session({first, second}, g); }) == yes);
}
