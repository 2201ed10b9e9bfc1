// A model of fifty layers; who includes it says how many rows the 27th layer's kernel has, and how long its bias is.
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

template <int In, int Out> auto weights() { return tn::variable<float, tn::shape<In, Out>>("w", tn::glorot_uniform()); }
template <int Out> auto bias() { return tn::variable<float, tn::shape<Out>>("b", tn::zeros()); }

auto model(const tn::tensor<float, tn::shape<batch, 784>>& x) {
    const auto h1 = tanh(matmul(x, weights<784, 101>()) + bias<101>());
    const auto h2 = sigmoid(matmul(h1, weights<101, 102>()) + bias<102>());
    const auto h3 = relu(matmul(h2, weights<102, 103>()) + bias<103>());
    const auto h4 = tanh(matmul(h3, weights<103, 104>()) + bias<104>());
    const auto h5 = sigmoid(matmul(h4, weights<104, 105>()) + bias<105>());
    const auto h6 = relu(matmul(h5, weights<105, 106>()) + bias<106>());
    const auto h7 = tanh(matmul(h6, weights<106, 107>()) + bias<107>());
    const auto h8 = sigmoid(matmul(h7, weights<107, 108>()) + bias<108>());
    const auto h9 = relu(matmul(h8, weights<108, 109>()) + bias<109>());
    const auto h10 = tanh(matmul(h9, weights<109, 110>()) + bias<110>());
    const auto h11 = sigmoid(matmul(h10, weights<110, 111>()) + bias<111>());
    const auto h12 = relu(matmul(h11, weights<111, 112>()) + bias<112>());
    const auto h13 = tanh(matmul(h12, weights<112, 113>()) + bias<113>());
    const auto h14 = sigmoid(matmul(h13, weights<113, 114>()) + bias<114>());
    const auto h15 = relu(matmul(h14, weights<114, 115>()) + bias<115>());
    const auto h16 = tanh(matmul(h15, weights<115, 116>()) + bias<116>());
    const auto h17 = sigmoid(matmul(h16, weights<116, 117>()) + bias<117>());
    const auto h18 = relu(matmul(h17, weights<117, 118>()) + bias<118>());
    const auto h19 = tanh(matmul(h18, weights<118, 119>()) + bias<119>());
    const auto h20 = sigmoid(matmul(h19, weights<119, 120>()) + bias<120>());
    const auto h21 = relu(matmul(h20, weights<120, 121>()) + bias<121>());
    const auto h22 = tanh(matmul(h21, weights<121, 122>()) + bias<122>());
    const auto h23 = sigmoid(matmul(h22, weights<122, 123>()) + bias<123>());
    const auto h24 = relu(matmul(h23, weights<123, 124>()) + bias<124>());
    const auto h25 = tanh(matmul(h24, weights<124, 125>()) + bias<125>());
    const auto h26 = sigmoid(matmul(h25, weights<125, 126>()) + bias<126>());
    const auto h27 = relu(matmul(h26, weights<rows_of_27, 127>()) + bias<bias_of_27>());
    const auto h28 = tanh(matmul(h27, weights<127, 128>()) + bias<128>());
    const auto h29 = sigmoid(matmul(h28, weights<128, 129>()) + bias<129>());
    const auto h30 = relu(matmul(h29, weights<129, 130>()) + bias<130>());
    const auto h31 = tanh(matmul(h30, weights<130, 131>()) + bias<131>());
    const auto h32 = sigmoid(matmul(h31, weights<131, 132>()) + bias<132>());
    const auto h33 = relu(matmul(h32, weights<132, 133>()) + bias<133>());
    const auto h34 = tanh(matmul(h33, weights<133, 134>()) + bias<134>());
    const auto h35 = sigmoid(matmul(h34, weights<134, 135>()) + bias<135>());
    const auto h36 = relu(matmul(h35, weights<135, 136>()) + bias<136>());
    const auto h37 = tanh(matmul(h36, weights<136, 137>()) + bias<137>());
    const auto h38 = sigmoid(matmul(h37, weights<137, 138>()) + bias<138>());
    const auto h39 = relu(matmul(h38, weights<138, 139>()) + bias<139>());
    const auto h40 = tanh(matmul(h39, weights<139, 140>()) + bias<140>());
    const auto h41 = sigmoid(matmul(h40, weights<140, 141>()) + bias<141>());
    const auto h42 = relu(matmul(h41, weights<141, 142>()) + bias<142>());
    const auto h43 = tanh(matmul(h42, weights<142, 143>()) + bias<143>());
    const auto h44 = sigmoid(matmul(h43, weights<143, 144>()) + bias<144>());
    const auto h45 = relu(matmul(h44, weights<144, 145>()) + bias<145>());
    const auto h46 = tanh(matmul(h45, weights<145, 146>()) + bias<146>());
    const auto h47 = sigmoid(matmul(h46, weights<146, 147>()) + bias<147>());
    const auto h48 = relu(matmul(h47, weights<147, 148>()) + bias<148>());
    const auto h49 = tanh(matmul(h48, weights<148, 149>()) + bias<149>());
    const auto h50 = sigmoid(matmul(h49, weights<149, 150>()) + bias<150>());
    return mean(square(h50));
}

auto train(const tn::tensor<float, tn::shape<batch, 784>>& x) { return tn::gradient_descent(0.1).minimize(model(x)); }
