// A deep recurrent network with a layer on each of four GPUs (simulated ones, where there are not as many). Layer l can compute its
// time t as soon as it has its own t - 1 and the layer below its t: so when layer l is at t the layer below is at t + 1, and a
// wave goes through the network. The trace of a step shows it. Printed is the tick in which each cell ran: one after what ran on its
// device before it, and after what it was computed of, as the trace has them.
//
//     tick    0  1  2  3  4  5  6  7  8
//     GPU:0  t0 t1 t2 t3 t4 t5
//     GPU:1     t0 t1 t2 t3 t4 t5
//     GPU:2        t0 t1 t2 t3 t4 t5
//     GPU:3           t0 t1 t2 t3 t4 t5
//     24 cells in 9 ticks
//     in each step cross, by edge:
//     GPU:0 to GPU:1: 6 tensors of 8192 bytes
//     GPU:1 to GPU:2: 6 tensors of 8192 bytes
//     GPU:2 to GPU:3: 6 tensors of 8192 bytes
//     one device gives the same: yes
//
// With the name of a file, the trace is also written there, for ui.perfetto.dev or chrome://tracing.
#include <tenon/tenon.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "shared/devices.hpp"

namespace tn = tenon;

namespace {

constexpr int layers = 4, times = 6, samples = 32, width = 64;
using value = tn::tensor<float, tn::shape<samples, width>>;

struct cell {
    tn::variable_tensor<float, tn::shape<width, width>> from_below, from_before;
    tn::variable_tensor<float, tn::shape<width>> bias;

    explicit cell(int layer) :
        from_below(tn::variable<float, tn::shape<width, width>>("w" + std::to_string(layer), tn::glorot_uniform(1))),
        from_before(tn::variable<float, tn::shape<width, width>>("u" + std::to_string(layer), tn::glorot_uniform(2))),
        bias(tn::variable<float, tn::shape<width>>("b" + std::to_string(layer), tn::zeros())) {}
    value operator()(const value& below, const value& before) const {
        return tanh(matmul(below, from_below) + matmul(before, from_before) + bias);
    }
};

std::string name_of(int layer, int time) { return "layer_" + std::to_string(layer) + "_time_" + std::to_string(time); }

// What the last layer gives at the last time; layer l is on devices[l].
value network(const std::vector<value>& inputs, const std::vector<tn::device_name>& devices) {
    std::vector<value> below = inputs;
    for (int l = 0; l < layers; ++l) {
        const auto there = tn::on(devices[static_cast<std::size_t>(l)]);
        const cell c(l);
        value state = tn::constant(tn::array<float, tn::shape<samples, width>>());
        for (int t = 0; t < times; ++t) {
            const tn::name_scope names(name_of(l, t));
            below[static_cast<std::size_t>(t)] = state = c(below[static_cast<std::size_t>(t)], state);
        }
    }
    return below.back();
}

// By layer and time: when the cell's last node began, and on which device.
struct ran {
    std::int64_t begin = 0;
    std::string device;
};
std::map<std::pair<int, int>, ran> cells_in(const tn::trace& t) {
    std::map<std::pair<int, int>, ran> cells;
    t.each([&](const tn::trace_event& e) {
        for (int l = 0; l < layers; ++l)
            for (int time = 0; time < times; ++time)
                if (e.row.starts_with("GPU") && e.row.find(" to ") == std::string::npos &&
                    e.name.starts_with(name_of(l, time) + "/"))
                    if (ran& c = cells[{l, time}]; e.begin >= c.begin) c = {e.begin, e.row};
    });
    return cells;
}

void show_wave(const tn::trace& t) {
    const auto cells = cells_in(t);
    std::vector<std::pair<std::int64_t, std::pair<int, int>>> in_order; // as they began
    for (const auto& [at, c] : cells) in_order.push_back({c.begin, at});
    std::sort(in_order.begin(), in_order.end());
    std::map<std::pair<int, int>, int> tick;
    std::map<std::string, int> next; // of each device
    std::map<std::string, std::map<int, int>> picture;
    int ticks = 0;
    for (const auto& [begin, at] : in_order) {
        const auto [layer, time] = at;
        int now = next[cells.at(at).device];
        if (layer > 0) now = std::max(now, tick[{layer - 1, time}] + 1);
        tick[at] = now;
        next[cells.at(at).device] = now + 1;
        picture[cells.at(at).device][now] = time;
        ticks = std::max(ticks, now + 1);
    }
    std::printf("tick  ");
    for (int i = 0; i < ticks; ++i) std::printf(" %2d", i);
    for (const auto& [device, row] : picture) {
        std::string line = device + " ";
        for (int i = 0; i <= row.rbegin()->first; ++i)
            line += row.contains(i) ? " t" + std::to_string(row.at(i)) : std::string("   ");
        std::printf("\n%s", line.c_str());
    }
    std::printf("\n%d cells in %d ticks\n", static_cast<int>(cells.size()), ticks);
}

// Of what crosses between the layers.
void show_bytes(const std::vector<tn::crossing>& all) {
    std::map<std::pair<std::string, std::string>, std::pair<int, std::int64_t>> links;
    for (const tn::crossing& c : all)
        if (c.from.find("GPU") != std::string::npos && c.to.find("GPU") != std::string::npos) {
            auto& [count, bytes] = links[{c.from.substr(c.from.rfind('/') + 8), c.to.substr(c.to.rfind('/') + 8)}];
            ++count;
            bytes = c.bytes;
        }
    std::printf("in each step cross, by edge:\n");
    for (const auto& [link, sum] : links)
        std::printf("%s to %s: %d tensors of %lld bytes\n", link.first.c_str(), link.second.c_str(), sum.first,
                    static_cast<long long>(sum.second));
}

} // namespace

int main(int argc, char** argv) {
    tn::graph g;
    const tn::graph_scope in(g);
    g.set_seed(23);
    std::vector<value> inputs;
    for (int t = 0; t < times; ++t)
        inputs.push_back(tn::random_normal<float, tn::shape<samples, width>>(0, 1, static_cast<std::uint64_t>(t) + 1));
    const value split = network(inputs, {"/gpu:0", "/gpu:1", "/gpu:2", "/gpu:3"});
    const value whole = network(inputs, std::vector<tn::device_name>(layers, "/cpu:0"));

    tn::session sess({.gpus = gpus(4)});
    sess.run(tn::initialize_variables());
    sess.run(split); // plans
    tn::trace seen;
    sess.set_trace(&seen);
    sess.run(split);
    sess.set_trace(nullptr);
    show_wave(seen);
    show_bytes(tn::crossings(seen));
    const auto [a, b] = sess.run(split, whole);
    float most = 0;
    for (int i = 0; i < samples * width; ++i) most = std::max(most, std::fabs(a.data()[i] - b.data()[i]));
    std::printf("one device gives the same: %s\n", most < 1e-4f ? "yes" : "no");
    if (argc > 1) seen.save(argv[1]);
    return most < 1e-4f ? 0 : 1;
}
