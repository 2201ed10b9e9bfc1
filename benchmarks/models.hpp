#pragma once

#include <random>
#include <vector>

#include <tenon/nn/convolution.hpp>
#include <tenon/nn/dense.hpp>
#include <tenon/nn/flatten.hpp>
#include <tenon/nn/losses.hpp>
#include <tenon/nn/model/model.hpp>
#include <tenon/nn/pooling.hpp>
#include <tenon/nn/sequential.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/elementwise/formulas.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/runtime/session/session.hpp>
#include <tenon/train/optimize/optimizers.hpp>

/// The two networks whose training steps are measured (PERFORMANCE P5, P6), with plain gradient descent.

namespace models {

namespace tn = tenon;

inline tn::session_options with_threads(int threads) {
    return {.intra_op_threads = threads, .use_per_session_threads = true};
}

/// Random images in [0, 1) and labels; never zeros, whose products are cheaper.
template <class Images, int Batch> struct random_batch {
    tn::array<float, Images> images;
    tn::array<std::int32_t, tn::shape<Batch>> labels;
    random_batch() {
        std::mt19937 r(7);
        std::uniform_real_distribution<float> pixel(0, 1);
        for (float& v : images) v = pixel(r);
        for (std::int32_t& l : labels) l = static_cast<std::int32_t>(r() % 10);
    }
};

/// 784-300-100-10, relu.
struct mlp_network {
    template <int Batch> using images = tn::shape<Batch, 784>;
    static auto layers() {
        using namespace tn::nn;
        return sequential(dense<300>(relu), dense<100>(relu), dense<10>());
    }
};
/// 28x28 -> 32 5x5 -> pool -> 64 5x5 -> pool -> 256 -> 10, same padding, relu.
struct conv_network {
    template <int Batch> using images = tn::shape<Batch, 28, 28, 1>;
    static auto layers() {
        using namespace tn::nn;
        constexpr tn::conv2d_options padded{.padding = tn::same};
        return sequential(conv2d<32, 5, padded>(relu), max_pool<2>(), conv2d<64, 5, padded>(relu), max_pool<2>(),
                          flatten(), dense<256>(relu), dense<10>());
    }
};

/// A training step of such a network down its softmax cross-entropy, in a session of its own.
template <class Network, int Batch> struct training {
    using images_shape = typename Network::template images<Batch>;
    using batch = random_batch<images_shape, Batch>;
    static constexpr double rate = 0.01;
    tn::graph g;
    tn::graph_scope scope{g};
    tn::tensor<float, images_shape> x = tn::placeholder<float, images_shape>("x");
    tn::tensor<std::int32_t, tn::shape<Batch>> y = tn::placeholder<std::int32_t, tn::shape<Batch>>("y");
    decltype(Network::layers()) network = Network::layers();
    tn::tensor<float, tn::shape<>> loss;
    tn::operation train;
    tn::session session;

    explicit training(int threads) : session((build(), g), with_threads(threads)) {
        session.run(tn::initialize_variables());
    }
    auto step() { return session.callable(tn::feeds(x, y), tn::fetches(train, loss)); }
    /// Of each layer in turn its weights and biases.
    std::vector<tn::any_array> values() {
        std::vector<tn::any_array> all;
        for (const auto& v : tn::nn::variables(network))
            all.push_back(std::move(session.run_untyped({}, {v.variable})[0]));
        return all;
    }

private:
    void build() {
        loss = tn::nn::cross_entropy(network(x), y);
        train = tn::gradient_descent(rate).minimize(loss, {.advance_global_step = false});
    }
};
template <int Batch> using mlp = training<mlp_network, Batch>;
template <int Batch> using conv = training<conv_network, Batch>;

} // namespace models
