#include <sstream>

#include "tests.hpp"

namespace nn = tenon::nn;

namespace model_of_ones_own {
inline constexpr struct batch : tn::dim<"batch"> {} batch;

// Not an aggregate: its variable is private.
class scaling {
public:
    template <tn::Operand X> auto operator()(const X& x) const {
        const nn::first_call names(by_, "scaling");
        return tn::detail::as_tensor(x * by_.get<typename X::element_type, tn::shape<4>>("by", tn::ones()));
    }

private:
    nn::parameter by_;
};

inline auto make_encoder() {
    return nn::sequential(nn::dense<4>(nn::relu), nn::residual(nn::layer_norm(), nn::dense<4>({.use_bias = false})),
                          nn::dropout(0.1));
}
struct translator {
    decltype(make_encoder()) encoder = make_encoder();
    std::vector<scaling> scales{scaling(), scaling()};
    nn::dense_layer<2> decoder = nn::dense<2>();
    double temperature = 2;

    template <tn::Operand X> auto operator()(const X& x, nn::phase p = nn::inference) const {
        return decoder(scales[1](scales[0](encoder(x, p)))) / static_cast<float>(temperature);
    }
};

inline std::string paths(const std::vector<nn::model_variable>& all) {
    std::string text;
    for (const nn::model_variable& v : all) text += v.path + (v.trained ? "" : "!") + " ";
    return text;
}
} // namespace model_of_ones_own

TEST_CASE_FIXTURE(in_graph, "variables of a model have paths: numbers, members' names, and what the layer calls them") {
    using namespace model_of_ones_own;
    auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
    const translator model;
    CHECK_ERROR(tn::invalid_argument_error, "the model has no variables yet", nn::variables(model));
    model(x);
    CHECK(paths(nn::variables(model)) ==
          "encoder/0/kernel encoder/0/bias encoder/1/0/gamma encoder/1/0/beta encoder/1/1/kernel "
          "scales/0/by scales/1/by decoder/kernel decoder/bias ");
    CHECK(nn::variables(model.encoder)[0].variable.node() == model.encoder.layer<0>().kernel().node());
    CHECK(nn::trainable(model.decoder).size() == 2);

    // A block of many, what is not trained, a lambda around a layer, and a layer that is there twice.
    auto t = tn::placeholder<float, tn::shape<batch, 5, 4>>("t");
    const auto block = nn::transformer_block<2, 8>();
    block(t);
    const std::vector<nn::model_variable> of_block = nn::variables(block);
    CHECK(of_block.size() == 16);
    CHECK(of_block[0].path == "attention/query/kernel");
    const auto shared = nn::dense<3>();
    const auto twice = nn::sequential(
        shared, nn::batch_norm(), [shared](const auto& v) { return shared(v); }, nn::all_steps(nn::gru<2>()));
    twice.layer<0>()(x);
    twice.layer<1>()(x, nn::training);
    CHECK(paths(nn::variables(twice)) == "0/kernel 0/bias 1/gamma 1/beta 1/moving_mean! 1/moving_variance! ");
    CHECK(nn::trainable(twice).size() == 4);
    CHECK(nn::variables(nn::relu).empty());
}

TEST_CASE_FIXTURE(in_graph, "a clone has variables of its own, which begin as the model's; assign follows them") {
    using namespace model_of_ones_own;
    auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
    const auto shared = nn::dense<3>();
    const auto model = nn::sequential(shared, nn::dense<3>(nn::relu), shared);
    auto y = model(x);
    const auto other = nn::clone(model);
    auto z = other(x);
    const auto of_model = nn::variables(model), of_other = nn::variables(other);
    REQUIRE(of_model.size() == 4); // the first is the third
    REQUIRE(of_other.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(of_model[i].path == of_other[i].path);
        CHECK(of_model[i].variable.node() != of_other[i].variable.node());
    }
    const auto follow = nn::assign(other, model, 0.25), become = nn::assign(other, model);
    initialized_session s;
    const tn::array<float> in{{1, 2, 3}, {-1, 0.5f, 2}};
    const auto differ = [&] {
        const auto [a, b] = s.run(tn::feed(x, in), y, z);
        float most = 0;
        for (std::int64_t i = 0; i < 6; ++i) most = std::max(most, std::abs(a[i] - b[i]));
        return most;
    };
    CHECK(differ() == 0);
    s.run(tn::untyped::assign(of_model[0].variable, tn::untyped::zeros_like(of_model[0].variable) + 2).operation());
    CHECK(differ() > 0.1f);
    const float before = s.run_untyped({}, {of_other[0].variable})[0].data<float>()[0];
    s.run(follow);
    CHECK(s.run_untyped({}, {of_other[0].variable})[0].data<float>()[0] ==
          doctest::Approx(before + 0.25f * (2 - before)));
    s.run(become);
    CHECK(differ() == 0);
    CHECK_ERROR(tn::invalid_argument_error, "assign: the models differ: 1/kernel",
                nn::assign(other, nn::sequential(shared)));
    CHECK_ERROR(tn::invalid_argument_error, "the part is 2", nn::assign(other, model, 2));
}

TEST_CASE_FIXTURE(in_graph, "a summary counts elements, bytes and operations") {
    using namespace model_of_ones_own;
    auto x = tn::placeholder<float, tn::shape<batch, 784>>("x");
    const auto model = nn::sequential(nn::dense<300>(nn::relu), nn::dropout(0.5), nn::dense<10>());
    model(x);
    std::ostringstream out;
    out << nn::summary(model);
    CHECK(out.str() == "variable  type             parameters    bytes\n"
                       "0/kernel  float[784, 300]     235,200  940,800\n"
                       "0/bias    float[300]              300    1,200\n"
                       "2/kernel  float[300, 10]        3,000   12,000\n"
                       "2/bias    float[10]                10       40\n"
                       "in all                        238,510  954,040\n"
                       "238,510 of the parameters are trained\n");
    const nn::model_summary by_layer = nn::summary(model, x);
    REQUIRE(by_layer.rows.size() == 3);
    CHECK(by_layer.rows[0].path == "0 dense");
    CHECK(by_layer.rows[0].type == "float[batch, 300]");
    CHECK(by_layer.rows[1].path == "1 dropout");
    CHECK(by_layer.rows[0].operations >= 2.0 * 784 * 300);
    CHECK(by_layer.rows[0].operations <= 2.0 * 784 * 300 + 3 * 300); // bias, relu
    CHECK(by_layer.parameters == 238510);

    auto sequences = tn::placeholder<float, tn::shape<batch, 32, 64>>("sequences");
    const auto block = nn::summary(nn::sequential(nn::transformer_block<4, 256>({.causal = true})), sequences);
    const double products = 2.0 * 32 * 64 * (4 * 64 + 2 * 256),
                 scores = 2.0 * 32 * 32 * 64;                       // half of both products of attention
    CHECK(block.operations >= products + scores + 2 * 8 * 32 * 64); // and two norms
    CHECK(block.operations <= 1.1 * (products + scores));
    CHECK(contains(nn::to_string(by_layer), "2 dense    float[batch, 10]"));
    CHECK(nn::summary(nn::relu, x).rows[0].path == "relu_activation");
    const nn::model_summary mixed = nn::summary(nn::mixed_precision<tn::bfloat16>(model), x);
    REQUIRE(mixed.rows.size() == 3);
    CHECK(mixed.rows[2].path == "2 dense");
    CHECK(mixed.rows[2].type == "bfloat16[batch, 10]");
    CHECK(mixed.rows[2].bytes == 12040); // of float
    CHECK(mixed.parameters == 238510);
}
