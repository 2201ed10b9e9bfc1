// The reference model whose cost to compile is held: an MLP, its training step, and nothing else.
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 784>>("x");
    auto y = tn::placeholder<std::int32_t, tn::shape<batch>>("y");
    auto w1 = tn::variable<float, tn::shape<784, 300>>("w1", tn::glorot_uniform());
    auto b1 = tn::variable<float, tn::shape<300>>("b1", tn::zeros());
    auto w2 = tn::variable<float, tn::shape<300, 100>>("w2", tn::glorot_uniform());
    auto b2 = tn::variable<float, tn::shape<100>>("b2", tn::zeros());
    auto w3 = tn::variable<float, tn::shape<100, 10>>("w3", tn::glorot_uniform());
    auto b3 = tn::variable<float, tn::shape<10>>("b3", tn::zeros());
    auto h1 = relu(matmul(x, w1) + b1);
    auto h2 = relu(matmul(h1, w2) + b2);
    auto logits = matmul(h2, w3) + b3;
    auto loss = mean(sparse_softmax_cross_entropy(logits, y));
    auto train = tn::gradient_descent(0.1).minimize(loss);

    tn::session sess;
    sess.run(tn::initialize_variables());
    auto step = sess.callable(tn::feeds(x, y), tn::fetches(train, loss));
    const tn::array<float, tn::shape<batch, 784>> images(32);
    const tn::array<std::int32_t, tn::shape<batch>> labels(32);
    auto [l] = step(images, labels);
    return l.item() > 0 ? 0 : 1;
}
