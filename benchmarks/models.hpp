#pragma once

#include <random>

#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/elementwise/formulas.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/linear/convolution.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/linear/pooling.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/rows/softmax.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/runtime/session/session.hpp>
#include <tenon/train/optimize/optimizers.hpp>

/// The two networks whose training steps are measured (PERFORMANCE P5, P6), with plain gradient descent.

namespace models {

namespace tn = tenon;

inline tn::session_options with_threads(int threads) {
    tn::session_options o;
    o.intra_op_threads = threads;
    o.use_per_session_threads = true;
    return o;
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

/// 784-300-100-10 with relu and softmax cross-entropy.
template <int Batch> struct mlp {
    using images_shape = tn::shape<Batch, 784>;
    static constexpr double rate = 0.01;
    tn::graph g;
    tn::graph_scope scope{g};
    tn::tensor<float, images_shape> x = tn::placeholder<float, images_shape>("x");
    tn::tensor<std::int32_t, tn::shape<Batch>> y = tn::placeholder<std::int32_t, tn::shape<Batch>>("y");
    tn::variable_tensor<float, tn::shape<784, 300>> w1 =
        tn::variable<float, tn::shape<784, 300>>("w1", tn::glorot_uniform(1));
    tn::variable_tensor<float, tn::shape<300>> b1 = tn::variable<float, tn::shape<300>>("b1", tn::zeros());
    tn::variable_tensor<float, tn::shape<300, 100>> w2 =
        tn::variable<float, tn::shape<300, 100>>("w2", tn::glorot_uniform(2));
    tn::variable_tensor<float, tn::shape<100>> b2 = tn::variable<float, tn::shape<100>>("b2", tn::zeros());
    tn::variable_tensor<float, tn::shape<100, 10>> w3 =
        tn::variable<float, tn::shape<100, 10>>("w3", tn::glorot_uniform(3));
    tn::variable_tensor<float, tn::shape<10>> b3 = tn::variable<float, tn::shape<10>>("b3", tn::zeros());
    tn::tensor<float, tn::shape<>> loss;
    tn::operation train;
    tn::session session;

    explicit mlp(int threads) : session((build(), g), with_threads(threads)) {
        session.run(tn::initialize_variables());
    }

private:
    void build() {
        const auto h1 = relu(tn::matmul(x, w1) + b1);
        const auto h2 = relu(tn::matmul(h1, w2) + b2);
        const auto logits = tn::matmul(h2, w3) + b3;
        loss = tn::mean(tn::sparse_softmax_cross_entropy(logits, y));
        train = tn::gradient_descent(rate).minimize(loss, {.advance_global_step = false});
    }
};

/// 28x28 -> 32 5x5 -> pool -> 64 5x5 -> pool -> 256 -> 10, same padding, relu, softmax cross-entropy.
template <int Batch> struct conv {
    using images_shape = tn::shape<Batch, 28, 28, 1>;
    static constexpr double rate = 0.01;
    tn::graph g;
    tn::graph_scope scope{g};
    tn::tensor<float, images_shape> x = tn::placeholder<float, images_shape>("x");
    tn::tensor<std::int32_t, tn::shape<Batch>> y = tn::placeholder<std::int32_t, tn::shape<Batch>>("y");
    tn::variable_tensor<float, tn::shape<5, 5, 1, 32>> w1 =
        tn::variable<float, tn::shape<5, 5, 1, 32>>("w1", tn::he_normal(1));
    tn::variable_tensor<float, tn::shape<32>> b1 = tn::variable<float, tn::shape<32>>("b1", tn::zeros());
    tn::variable_tensor<float, tn::shape<5, 5, 32, 64>> w2 =
        tn::variable<float, tn::shape<5, 5, 32, 64>>("w2", tn::he_normal(2));
    tn::variable_tensor<float, tn::shape<64>> b2 = tn::variable<float, tn::shape<64>>("b2", tn::zeros());
    tn::variable_tensor<float, tn::shape<3136, 256>> w3 =
        tn::variable<float, tn::shape<3136, 256>>("w3", tn::he_normal(3));
    tn::variable_tensor<float, tn::shape<256>> b3 = tn::variable<float, tn::shape<256>>("b3", tn::zeros());
    tn::variable_tensor<float, tn::shape<256, 10>> w4 = tn::variable<float, tn::shape<256, 10>>("w4", tn::he_normal(4));
    tn::variable_tensor<float, tn::shape<10>> b4 = tn::variable<float, tn::shape<10>>("b4", tn::zeros());
    tn::tensor<float, tn::shape<>> loss;
    tn::operation train;
    tn::session session;

    explicit conv(int threads) : session((build(), g), with_threads(threads)) {
        session.run(tn::initialize_variables());
    }

private:
    void build() {
        const auto h1 = tn::max_pool2d<2>(relu(tn::conv2d<1, tn::same>(x, w1) + b1));
        const auto h2 = tn::max_pool2d<2>(relu(tn::conv2d<1, tn::same>(h1, w2) + b2));
        const auto flat = tn::reshape<tn::shape<Batch, 3136>>(h2);
        const auto h3 = relu(tn::matmul(flat, w3) + b3);
        const auto logits = tn::matmul(h3, w4) + b4;
        loss = tn::mean(tn::sparse_softmax_cross_entropy(logits, y));
        train = tn::gradient_descent(rate).minimize(loss, {.advance_global_step = false});
    }
};

} // namespace models
