// The models of examples/models: each learns something of data that can be learnt.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

#include "../../examples/models/tenon/autoencoder.hpp"
#include "../../examples/models/tenon/batch.hpp"
#include "../../examples/models/tenon/binary_layer.hpp"
#include "../../examples/models/tenon/conjugate_gradient.hpp"
#include "../../examples/models/tenon/convnet.hpp"
#include "../../examples/models/tenon/diffusion.hpp"
#include "../../examples/models/tenon/dqn.hpp"
#include "../../examples/models/tenon/gan.hpp"
#include "../../examples/models/tenon/gru_classifier.hpp"
#include "../../examples/models/tenon/lstm.hpp"
#include "../../examples/models/tenon/mixture_of_experts.hpp"
#include "../../examples/models/tenon/policy_gradient.hpp"
#include "../../examples/models/tenon/resnet.hpp"
#include "../../examples/models/tenon/seq2seq.hpp"
#include "../../examples/models/tenon/speech.hpp"
#include "../../examples/models/tenon/transformer.hpp"
#include "../../examples/models/tenon/triplet.hpp"
#include "../../examples/models/tenon/two_towers.hpp"
#include "../../examples/models/tenon/unet.hpp"
#include "../../examples/models/tenon/vae.hpp"
#include "../../examples/models/tenon/word2vec.hpp"
#include "../own_graph.hpp"

namespace tn = tenon;
namespace nn = tenon::nn;
using models::batch;
using std::int32_t;

namespace {

inline constexpr struct time_steps : tn::dim<"time"> {} time_steps;
inline constexpr struct out_steps : tn::dim<"out"> {} out_steps;

// A graph of its own, and placeholders with what is fed for them.
struct some_model : own_graph {
    some_model() { tn::graph::current().set_seed(5); }

    template <class S, class... N> auto numbers(N... n) {
        tn::array<float, S> a(n...);
        for (std::int64_t i = 0; i < a.size(); ++i) a.data()[i] = 0.5f + 0.5f * std::sin(1.7f * static_cast<float>(i));
        return a;
    }
    // What differs from what stands before it, as letters do that are to be learnt.
    template <class S, class... N> auto indices(int below, N... n) {
        tn::array<int32_t, S> a(n...);
        for (std::int64_t i = 0; i < a.size(); ++i) a.data()[i] = static_cast<int32_t>(i * 7 % 5 % below);
        return a;
    }
    // The loss after some steps, as a part of what it was.
    template <class Loss, class Places, class... Arrays>
    float what_is_left(const Loss& loss, const Places& places, int steps, const Arrays&... arrays) {
        const auto train = tn::adam(0.005).minimize(loss);
        tn::session sess;
        sess.run(tn::initialize_variables());
        auto step = std::apply(
            [&](const auto&... p) { return sess.callable(tn::feeds(p...), tn::fetches(train, loss)); }, places);
        const float first = std::get<0>(step(arrays...)).item();
        float last = first;
        for (int i = 0; i < steps; ++i) last = std::get<0>(step(arrays...)).item();
        return last / first;
    }
};

} // namespace

TEST_CASE_FIXTURE(some_model, "sequences") {
    const auto x = tn::placeholder<int32_t, tn::shape<batch, time_steps>>("x");
    const auto next = tn::placeholder<int32_t, tn::shape<batch, time_steps>>("next");
    const auto xs = indices<tn::shape<batch, time_steps>>(5, 4, 9),
               nexts = indices<tn::shape<batch, time_steps>>(4, 4, 9);
    const auto learns = [&](const auto& loss) { return what_is_left(loss, std::tuple(x, next), 30, xs, nexts); };
    SUBCASE("transformer") {
        const auto model = models::transformer<5, 32, 4, 2>();
        CHECK(learns(models::transformer_loss(model, x, next)) < 0.3f);
        int kernels = 0; // four of each block's attention, two of its network, and the last
        for (const auto& v : nn::variables(model)) kernels += v.path.ends_with("kernel");
        CHECK(kernels == 2 * 6 + 1);
    }
    SUBCASE("lstm") { CHECK(learns(models::lstm_loss(models::lstm<5, 16, 32>(), x, next)) < 0.7f); }
    SUBCASE("gru") {
        const auto label = tn::placeholder<int32_t, tn::shape<batch>>("label");
        const auto loss = models::gru_classifier_loss(models::gru_classifier<5, 16, 32, 2>(), x, label);
        CHECK(what_is_left(loss, std::tuple(x, label), 60, xs, indices<tn::shape<batch>>(2, 4)) < 0.5f);
    }
    SUBCASE("from one to another") {
        const auto target = tn::placeholder<int32_t, tn::shape<batch, out_steps>>("target");
        const auto then = tn::placeholder<int32_t, tn::shape<batch, out_steps>>("then");
        const auto loss = models::seq2seq_loss(models::seq2seq<5, 16, 32>(), x, target, then);
        CHECK(what_is_left(loss, std::tuple(x, target, then), 30, xs, indices<tn::shape<batch, out_steps>>(5, 4, 6),
                           indices<tn::shape<batch, out_steps>>(3, 4, 6)) < 0.5f);
    }
    SUBCASE("speech") {
        const auto spectra = tn::placeholder<float, tn::shape<batch, time_steps, 8>>("spectra");
        const auto letters = tn::placeholder<int32_t, tn::shape<batch, 2>>("letters");
        const auto times = tn::placeholder<int32_t, tn::shape<batch>>("times");
        const auto lengths = tn::placeholder<int32_t, tn::shape<batch>>("lengths");
        const auto loss = models::speech_loss(models::speech<4, 16>(), spectra, letters, times, lengths);
        const tn::array<int32_t, tn::shape<batch, 2>> said{{1, 2}, {3, 0}};
        const tn::array<int32_t, tn::shape<batch>> steps{7, 5}, letters_each{2, 1};
        CHECK(what_is_left(loss, std::tuple(spectra, letters, times, lengths), 40,
                           numbers<tn::shape<batch, time_steps, 8>>(2, 7), said, steps, letters_each) < 0.3f);
    }
}

TEST_CASE_FIXTURE(some_model, "images") {
    const auto digits = tn::placeholder<float, tn::shape<batch, 28, 28, 1>>("digits");
    const auto label = tn::placeholder<int32_t, tn::shape<batch>>("label");
    const auto seen = numbers<tn::shape<batch, 28, 28, 1>>(4);
    SUBCASE("convnet") {
        const auto loss = models::convnet_loss(models::convnet(), digits, label);
        CHECK(what_is_left(loss, std::tuple(digits, label), 10, seen, indices<tn::shape<batch>>(5, 4)) < 0.9f);
    }
    SUBCASE("resnet") {
        const auto small = tn::placeholder<float, tn::shape<batch, 8, 8, 3>>("small");
        const auto loss = models::resnet_loss(models::resnet<3>(), small, label);
        CHECK(what_is_left(loss, std::tuple(small, label), 10, numbers<tn::shape<batch, 8, 8, 3>>(4),
                           indices<tn::shape<batch>>(3, 4)) < 0.5f);
    }
    SUBCASE("unet") {
        const auto small = tn::placeholder<float, tn::shape<batch, 8, 8, 1>>("small");
        const auto loss = models::unet_loss(models::unet(), small, tn::cast<float>(small > 0.5f));
        CHECK(what_is_left(loss, std::tuple(small), 20, numbers<tn::shape<batch, 8, 8, 1>>(2)) < 0.7f);
    }
    SUBCASE("autoencoder") {
        const auto loss = models::autoencoder_loss(models::autoencoder(), digits);
        CHECK(what_is_left(loss, std::tuple(digits), 20, seen) < 0.9f);
    }
    SUBCASE("triplet") {
        const auto loss = models::triplet_loss(models::siamese<8>(), digits, digits + 0.1f, 1.0f - digits);
        CHECK(what_is_left(loss, std::tuple(digits), 5, seen) < 1.0f);
    }
}

TEST_CASE_FIXTURE(some_model, "distributions") {
    const auto points = tn::placeholder<float, tn::shape<batch, 6>>("points");
    const auto some = numbers<tn::shape<batch, 6>>(64);
    SUBCASE("vae") {
        CHECK(what_is_left(models::vae_loss(models::vae<6, 2>(), points), std::tuple(points), 60, some) < 0.98f);
    }
    SUBCASE("diffusion") {
        const auto loss = models::diffusion_loss(models::diffusion<6, 32>(), points);
        CHECK(what_is_left(loss, std::tuple(points), 100, some) < 0.9f);
    }
    SUBCASE("gan") {
        const auto maker = models::generator<6>();
        const auto judge = models::discriminator();
        const auto noise = tn::random_normal<float, tn::shape<batch, 4>>(points);
        const auto [of_judge, of_maker] = models::gan_losses(maker, judge, points, noise);
        const auto train_judge = tn::adam(0.001).minimize(of_judge, {.variables = nn::trainable(judge)});
        const auto train_maker = tn::adam(0.001).minimize(of_maker, {.variables = nn::trainable(maker)});
        tn::session sess;
        sess.run(tn::initialize_variables());
        auto judging = sess.callable(tn::feeds(points), tn::fetches(train_judge, of_judge));
        auto making = sess.callable(tn::feeds(points), tn::fetches(train_maker, of_maker));
        const float first = std::get<0>(judging(some)).item();
        float last = first;
        for (int i = 0; i < 40; ++i) last = std::get<0>(judging(some)).item();
        CHECK(last < 0.8f * first);
        const float fooled = std::get<0>(making(some)).item();
        for (int i = 0; i < 40; ++i) last = std::get<0>(making(some)).item();
        CHECK(last < 0.8f * fooled);
    }
}

TEST_CASE_FIXTURE(some_model, "things that are chosen") {
    const auto a = tn::placeholder<int32_t, tn::shape<batch>>("a");
    const auto b = tn::placeholder<int32_t, tn::shape<batch>>("b");
    const auto as = indices<tn::shape<batch>>(5, 5), bs = indices<tn::shape<batch>>(5, 5);
    SUBCASE("word2vec") {
        const auto loss = models::word2vec_loss<40>(models::word2vec<40, 8>(), a, b);
        CHECK(what_is_left(loss, std::tuple(a, b), 100, as, bs) < 0.8f);
    }
    SUBCASE("two towers") {
        const auto loss = models::two_towers_loss(models::two_towers<5, 5, 8>(), a, b);
        CHECK(what_is_left(loss, std::tuple(a, b), 60, as, bs) < 0.2f);
    }
    const auto state = tn::placeholder<float, tn::shape<batch, 4>>("state");
    const auto reward = tn::placeholder<float, tn::shape<batch>>("reward");
    const auto states = numbers<tn::shape<batch, 4>>(5);
    const auto rewards = numbers<tn::shape<batch>>(5);
    SUBCASE("deep Q-learning") {
        const auto model = models::dqn<5>();
        const auto target = nn::clone(model);
        const auto loss = models::dqn_loss(model, target, state, a, reward, state, tn::ones_like(reward));
        CHECK(what_is_left(loss, std::tuple(state, a, reward), 100, states, as, rewards) < 0.1f);
    }
    SUBCASE("policy gradient") {
        const auto loss = models::actor_critic_loss(models::actor_critic<5>(), state, a, reward);
        CHECK(what_is_left(loss, std::tuple(state, a, reward), 100, states, as, rewards) < 0.5f);
    }
    SUBCASE("mixture of experts") {
        const models::mixture_of_experts<4, 16, 4> model;
        const auto loss = nn::mean_squared_error(model(state), tn::reverse<1>(state));
        CHECK(what_is_left(loss, std::tuple(state), 200, states) < 0.5f);
    }
    SUBCASE("binary layer") {
        const auto signs = [](const auto& x) { return models::binary_sign(x); };
        const auto model =
            nn::sequential(models::binary_layer<16>(), nn::batch_norm(), signs, models::binary_layer<5>());
        const auto loss = nn::cross_entropy(model(state, nn::training), a);
        CHECK(what_is_left(loss, std::tuple(state, a), 100, states, as) < 0.9f);
    }
}

TEST_CASE_FIXTURE(some_model, "conjugate gradients") {
    tn::array<double, tn::shape<6, 6>> matrix;
    for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j) matrix(i, j) = i == j ? 4.0 : 1.0 / (1 + std::abs(i - j));
    const auto a = tn::constant(std::move(matrix));
    const auto b = tn::constant({1.0, -2.0, 3.0, 0.5, 0.0, 1.5});
    const auto x = models::conjugate_gradient(a, b, 1e-10);
    tn::session sess;
    const auto [left, same] = sess.run(tn::norm<2>(matmul(a, x) - b), tn::norm<2>(x - tn::solve(a, b)));
    CHECK(left.item() < 1e-9);
    CHECK(same.item() < 1e-9);
}
