#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

/// Models as their training on parameter servers sees them: variables, their sizes, and the arithmetic between.

namespace scaling {

/// Layers in the order of the forward pass; `share` is of the step's arithmetic.
struct layer {
    std::vector<double> variables; ///< bytes of each
    double share = 0;
};

struct model {
    std::string name;
    std::vector<layer> layers;
    double fed = 0;     ///< bytes of a batch
    double compute = 0; ///< seconds of a step's arithmetic on a worker by itself
    double part = 0;    ///< bytes below which a variable is not partitioned further
    double frame = 1e6; ///< bytes of a message that are sent while those before them are received

    double bytes() const {
        double sum = 0;
        for (const layer& l : layers)
            for (const double v : l.variables) sum += v;
        return sum;
    }
    std::size_t variables() const {
        std::size_t n = 0;
        for (const layer& l : layers) n += l.variables.size();
        return n;
    }
};

/// 784-300-100-10, batch 128.
inline model mlp() {
    model m{"MLP 784-300-100-10, batch 128", {}, 128 * 784 * 4.0 + 128 * 4.0, 0, 64e3, 256e3};
    const double sizes[] = {784, 300, 100, 10};
    for (int i = 0; i < 3; ++i) m.layers.push_back({{sizes[i] * sizes[i + 1] * 4, sizes[i + 1] * 4}, 0});
    for (int i = 0; i < 3; ++i) m.layers[static_cast<std::size_t>(i)].share = sizes[i] * sizes[i + 1] / 266'200;
    return m;
}

/// An embedding of 30,000 x 768, tied with the output, and 12 layers of attention and feed-forward without biases: 108 million
/// parameters. A batch is 8 sequences of 128; all gradients are dense.
inline model transformer() {
    model m{"transformer, 108 million parameters, batch 8 x 128", {}, 8 * 128 * 8.0, 0, 4e6, 4e6};
    constexpr double width = 768, words = 30'000, tokens = 8 * 128;
    m.layers.push_back({{words * width * 4, 128 * width * 4}, words * width});
    for (int i = 0; i < 12; ++i) {
        layer l;
        for (const double columns : {3.0, 1.0, 4.0, 4.0}) // attention's inputs, its output, feed-forward
            l.variables.push_back(width * width * columns * 4);
        for (int norm = 0; norm < 2; ++norm) l.variables.push_back(width * 4);
        l.share = 12 * width * width;
        m.layers.push_back(l);
    }
    double sum = 0;
    for (const layer& l : m.layers) sum += l.share;
    for (layer& l : m.layers) l.share /= sum;
    m.compute = 6 * sum * tokens; // operations: whoever knows a worker's rate divides by it
    return m;
}

/// How variables are dealt to parameter servers.
enum class placing { round_robin, least_loaded, partitioned };
inline const char* name_of(placing p) {
    return p == placing::round_robin ? "round robin" : p == placing::least_loaded ? "least loaded" : "partitioned";
}

/// What is read, sent and updated as one.
struct piece {
    int ps = 0;
    double bytes = 0;
};

/// The pieces of each layer. As tn::replica_device_setter does: round robin in the order in which variables are made, or to the task
/// that holds the fewest bytes so far. Partitioned: each variable into as many even pieces as there are tasks, but none of
/// fewer than model::part bytes, which are dealt by load.
inline std::vector<std::vector<piece>> place(const model& m, int ps, placing how) {
    std::vector<double> load(static_cast<std::size_t>(ps), 0);
    std::vector<std::vector<piece>> all;
    std::size_t made = 0;
    for (const layer& l : m.layers) {
        std::vector<piece>& pieces = all.emplace_back();
        for (const double bytes : l.variables) {
            const int parts =
                how == placing::partitioned ? std::clamp(static_cast<int>(std::ceil(bytes / m.part)), 1, ps) : 1;
            for (int i = 0; i < parts; ++i) {
                const std::size_t to =
                    how == placing::round_robin
                        ? made++ % load.size()
                        : static_cast<std::size_t>(std::min_element(load.begin(), load.end()) - load.begin());
                load[to] += bytes / parts;
                pieces.push_back({static_cast<int>(to), bytes / parts});
            }
        }
    }
    return all;
}

} // namespace scaling
