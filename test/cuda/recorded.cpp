#include "tests.hpp"
#include "environment.hpp"
#include "machine.hpp"

// Training steps are recorded, and replayed from their second run on. On a real GPU a call that CUDA refuses while a stream is
// recorded would be seen in nothing but time, and in the report of the step.

using tenon::test::environment, tenon::test::machine;

namespace {

constexpr int batch = 16, steps = 12;
using images = tn::tensor<float, tn::shape<batch, 8, 8, 4>>;
using labels = tn::tensor<std::int32_t, tn::shape<batch>>;
using scalar = tn::tensor<float, tn::shape<>>;
using network = std::function<scalar(const images&, const labels&)>;

struct trained {
    std::vector<float> losses;
    std::uint64_t replays; // that CUDA was asked for
    tn::recording_counts told;
};

trained train(const char* device, const network& loss_of, const tn::optimizer& by) {
    own_graph g;
    g.set_seed(5);
    const auto x = tn::placeholder<float, images::shape_type>("x");
    const auto y = tn::placeholder<std::int32_t, labels::shape_type>("y");
    const auto there = tn::on(device);
    const scalar loss = loss_of(x, y);
    const tn::operation update = by.minimize(loss);
    initialized_session s(g);
    const auto step = s.callable(tn::feeds(x, y), tn::fetches(update, loss));
    tn::array<float, images::shape_type> fed_images;
    tn::array<std::int32_t, labels::shape_type> fed_labels;
    trained all{{}, machine::replays(), {}};
    for (int i = 0; i < steps; ++i) {
        int k = i;
        for (float& v : fed_images) v = std::sin(static_cast<float>(++k));
        for (std::int32_t& l : fed_labels) l = ++k % 5;
        const auto [value] = step(fed_images, fed_labels);
        all.losses.push_back(value.item());
    }
    all.replays = machine::replays() - all.replays;
    all.told = s.report(tn::feed(x, fed_images), tn::feed(y, fed_labels), update, loss).recordings;
    return all;
}

void check_recorded(const network& loss_of, const tn::optimizer& by, float tolerance) {
    // Of one kind from the first step on: when the compiler is done, kernels change.
    const environment tapes("TENON_CUDA_TAPES", machine::is_emulated() ? "interpreted" : "compiled");
    const machine m;
    const trained host = train("/cpu:0", loss_of, by), gpu = train("/gpu:0", loss_of, by);
    CHECK(gpu.replays == steps - 1);
    CHECK(gpu.told.replayed == steps - 1);
    CHECK(gpu.told.recorded >= 1);
    CHECK(gpu.told.recorded <= 4); // a variable has few places
    CHECK(gpu.told.given_again == 0);
    CHECK(gpu.told.failed == 0);
    CHECK(host.told == tn::recording_counts{});
    for (std::size_t i = 0; i < host.losses.size(); ++i) {
        INFO("step ", i, ": ", gpu.losses[i], " instead of ", host.losses[i]);
        CHECK(std::fabs(gpu.losses[i] - host.losses[i]) <= tolerance * (1 + std::fabs(host.losses[i])));
    }
    CHECK(host.losses.back() < host.losses.front());
}

template <int... Sizes> auto weights(const char* name) {
    return tn::variable<float, tn::shape<Sizes...>>(name, tn::he_normal(7));
}
template <int Size> auto bias(const char* name) { return tn::variable<float, tn::shape<Size>>(name, tn::zeros()); }

} // namespace

TEST_CASE("a training step of products is recorded") {
    const network loss_of = [](const images& x, const labels& y) {
        const auto flat = tn::reshape<tn::shape<batch, 256>>(x);
        const auto h = relu(tn::matmul(flat, weights<256, 64>("w1")) + bias<64>("b1"));
        return tn::mean(tn::sparse_softmax_cross_entropy(tn::matmul(h, weights<64, 5>("w2")) + bias<5>("b2"), y));
    };
    check_recorded(loss_of, tn::gradient_descent(0.05), 1e-4F);
}

TEST_CASE("a training step of convolutions and pooling is recorded") {
    const network loss_of = [](const images& x, const labels& y) {
        const auto h1 =
            tn::max_pool2d<2>(relu(tn::conv2d<1, tn::same>(x, weights<3, 3, 4, 16>("w1")) + bias<16>("b1")));
        const auto h2 = tn::average_pool2d<2>(relu(tn::conv2d<1, tn::same>(h1, weights<3, 3, 16, 8>("w2"))));
        const auto flat = tn::reshape<tn::shape<batch, 32>>(h2);
        return tn::mean(tn::sparse_softmax_cross_entropy(tn::matmul(flat, weights<32, 5>("w3")), y));
    };
    check_recorded(loss_of, tn::momentum(0.02), 1e-4F);
}

TEST_CASE("a training step with random numbers, of normalised lines, by Adam, is recorded") {
    const network loss_of = [](const images& x, const labels& y) {
        const auto flat = tn::reshape<tn::shape<batch, 256>>(x);
        const auto h =
            tn::layer_norm(tanh(tn::matmul(flat, weights<256, 48>("w1"))), weights<48>("gamma"), bias<48>("beta"));
        const auto dropped = tn::dropout(h, 0.1);
        return tn::mean(tn::sparse_softmax_cross_entropy(tn::matmul(dropped, weights<48, 5>("w2")), y));
    };
    check_recorded(loss_of, tn::adam(0.01), 1e-3F);
}
