// A typed model of your own layers: a learned scale, a residual connection, and a lambda.
#include <tenon/tenon.hpp>

#include <cmath>
#include <cstdio>

namespace tn = tenon;
namespace nn = tenon::nn;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

namespace {

// A layer with a variable: x / sqrt(mean(x^2) + epsilon) * scale, along the last dimension. The variable's size is the
// input's, which the compiler knows. B. Zhang, R. Sennrich, NeurIPS 2019.
class rms_norm {
public:
    template <tn::Operand X> auto operator()(const X& x) const {
        constexpr auto features = X::shape_type::extents[X::rank() - 1].size;
        const nn::first_call names(scale_, "rms_norm");
        auto scale = scale_.get<typename X::element_type, tn::shape<features>>("scale", tn::ones());
        auto mean_square = tn::mean<-1>(tn::square(x), tn::keepdims);
        return x * tn::rsqrt(mean_square + 1e-6f) * scale;
    }

private:
    nn::parameter scale_;
};

// A layer around another: x + inner(x). An inner layer that changes the sizes does not compile.
template <class Inner> struct residual {
    Inner inner;
    template <tn::Operand X> auto operator()(const X& x, nn::phase p) const { return x + nn::call(inner, x, p); }
};
template <class Inner> residual(Inner) -> residual<Inner>;

auto block() { return residual{nn::sequential(rms_norm(), nn::dense<32>(nn::gelu), nn::dense<32>())}; }

} // namespace

int main() {
    tn::graph::current().set_seed(1);
    auto x = tn::placeholder<float, tn::shape<batch, 2>>("x");
    auto y = tn::placeholder<float, tn::shape<batch, 1>>("y");

    auto waves = [](const auto& t) { return tn::concat<1>(tn::sin(t), tn::cos(t)); }; // [batch, 2] -> [batch, 4]
    auto model = nn::sequential(waves, nn::dense<32>(), block(), block(), rms_norm(), nn::dense<1>());

    auto loss = nn::mean_squared_error(model(x, nn::training), y); // model(x): tensor<float, shape<batch, 1>>
    auto train = tn::adam(tn::cosine_decay(5e-3, {.steps = 600})).minimize(loss);

    // A ripple over the square [-2, 2] x [-2, 2].
    constexpr int side = 20;
    tn::array<float, tn::shape<batch, 2>> points(side * side);
    tn::array<float, tn::shape<batch, 1>> heights(side * side);
    for (int i = 0; i < side * side; ++i) {
        points(i, 0) = 4.0f * static_cast<float>(i % side) / (side - 1) - 2;
        points(i, 1) = 4.0f * static_cast<float>(i / side) / (side - 1) - 2;
        heights(i, 0) = std::sin(3 * std::hypot(points(i, 0), points(i, 1)));
    }
    tn::session sess;
    sess.run(tn::initialize_variables());
    auto step = sess.callable(tn::feeds(x, y), tn::fetches(train, loss));
    float last = 1;
    for (int i = 0; i <= 600; ++i) {
        auto [l] = step(points, heights);
        last = l.item();
        if (i % 150 == 0) std::printf("step %3d  loss %.3f\n", i, static_cast<double>(last));
    }
    for (const tn::any_tensor& v : tn::graph::current().collection(tn::trainable_variables))
        std::printf("%-16s %s\n", v.name().c_str(), to_string(v.type()).c_str());
    return last < 0.02f ? 0 : 1;
}
