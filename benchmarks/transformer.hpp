#pragma once

#include <tenon/tenon.hpp>

/// A block of a transformer and its training step: what is measured, and the launches of which test/cuda counts.

namespace models {

namespace tn = tenon;

/// One step of Adam down the squared distance of the results of a block, causal and four times as wide within, from what is wanted; bfloat16, of
/// float variables.
template <int Batch, int Time, int Width, int Heads> struct transformer {
    using values_shape = tn::shape<Batch, Time, Width>;
    /// Multiply-adds twice, forward and backward: the products, and attention of which half is seen.
    static constexpr double operations = 3.0 * Batch * Time * (2.0 * 12 * Width * Width + 2.0 * Time * Width);

    tn::graph g;
    tn::graph_scope scope{g};
    tn::tensor<float, values_shape> x = tn::placeholder<float, values_shape>("x"),
                                    wanted = tn::placeholder<float, values_shape>("wanted");
    tn::tensor<float, tn::shape<>> loss;
    tn::operation train;
    tn::session session;

    explicit transformer(const char* device, const tn::session_options& o = {}) : session((build(device), g), o) {
        session.run(tn::initialize_variables());
    }

    /// Values in [-1, 1), which repeat.
    static tn::array<float, values_shape> values(std::uint32_t seed) {
        tn::array<float, values_shape> a;
        for (float& v : a) {
            seed = seed * 1664525 + 1013904223;
            v = static_cast<float>(seed >> 8) / 8388608.0F - 1;
        }
        return a;
    }

private:
    void build(const char* device) {
        g.set_seed(1);
        const auto there = tn::on(tn::device_name(std::string(device)));
        const auto y =
            tn::nn::mixed_precision<tn::bfloat16>(tn::nn::transformer_block<Heads, 4 * Width>({.causal = true}))(x);
        loss = mean(square(y - wanted));
        train = tn::adam(1e-3).minimize(loss);
    }
};

} // namespace models
