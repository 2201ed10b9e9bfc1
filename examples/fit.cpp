// A recurrent network learns to remember: in each sequence of pairs one is marked, and whether the number there is positive is to be told at the
// end. tn::fit goes through epochs, validates, ends when nothing gets better, and leaves the best epoch's variables. It prints
//     layer    gives                 parameters   bytes  operations
//     0 lstm   float[batch, 12, 16]       1,216   4,864      28,752
//     1 gru    float[batch, 16]           1,632   6,528      38,336
//     2 dense  float[batch, 2]               34     136          66
//     in all                              2,882  11,528      67,154
//     2,882 of the parameters are trained
//     epoch 1 of 200: loss 0...
//     ...
//     no better for 4 epochs: the best is epoch ...
//     the best epoch tells more than 95 % right
//     and the network still does
#include <tenon/tenon.hpp>

#include <cstdio>
#include <random>
#include <string>

namespace tn = tenon;
namespace nn = tenon::nn;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

namespace {

constexpr int steps = 12;

struct sequences {
    tn::array<float, tn::shape<tn::dyn, steps, 2>> pairs; // a number, and whether it is marked
    tn::array<std::int32_t, tn::shape<tn::dyn>> labels;
};

sequences make_sequences(int count, unsigned seed) {
    std::mt19937 random(seed);
    const auto number = [&] { return static_cast<float>(random() % 2001) / 1000 - 1; };
    sequences s{tn::array<float, tn::shape<tn::dyn, steps, 2>>(count),
                tn::array<std::int32_t, tn::shape<tn::dyn>>(count)};
    for (int i = 0; i < count; ++i) {
        const int marked = static_cast<int>(random() % steps);
        for (int t = 0; t < steps; ++t) {
            s.pairs(i, t, 0) = number();
            s.pairs(i, t, 1) = t == marked ? 1.0f : 0.0f;
        }
        s.labels(i) = s.pairs(i, marked, 0) > 0;
    }
    return s;
}

} // namespace

int main() {
    tn::graph::current().set_seed(1);
    auto x = tn::placeholder<float, tn::shape<batch, steps, 2>>("x");
    auto y = tn::placeholder<std::int32_t, tn::shape<batch>>("y");

    const auto model = nn::sequential(nn::all_steps(nn::lstm<16>()), nn::last_step(nn::gru<16>()), nn::dense<2>());
    const auto logits = model(x);
    const auto loss = nn::cross_entropy(logits, y);
    const auto accuracy = nn::accuracy(logits, y);
    const tn::moving_average average(0.99, {.warm_up = true});
    const auto train = average.after(tn::radam(1e-2).minimize(loss, {.variables = nn::trainable(model)}));
    std::fputs(to_string(nn::summary(model, x)).c_str(), stdout);

    const sequences known = make_sequences(1000, 1), held_out = make_sequences(500, 2);
    tn::minibatches batches({.size = 50, .seed = 1}, known.pairs, known.labels);
    tn::minibatches others({.size = 100, .shuffle = false}, held_out.pairs, held_out.labels);

    tn::session sess;
    const auto step = sess.callable(tn::feeds(x, y), tn::fetches(train, loss, accuracy));
    const auto test = sess.callable(tn::feeds(x, y), tn::fetches(loss, accuracy));
    const tn::fit_history history = tn::fit(sess,
                                            {.epochs = 200,
                                             .metrics = {"loss", "accuracy"},
                                             .patience = 4,
                                             .average = &average, // is what is validated, and kept
                                             .log = [](const std::string& line) { std::printf("%s\n", line.c_str()); }},
                                            step, batches, test, others);

    const bool learned = history.best().validation[1] > 0.95;
    std::printf("the best epoch tells %s right\n", learned ? "more than 95 %" : "too few");
    const auto [l, right] = test(held_out.pairs, held_out.labels);
    const bool kept = static_cast<double>(right.item()) > history.best().validation[1] - 1e-6;
    std::printf("and the network %s\n", kept ? "still does" : "does not any more");
    return learned && kept && l.item() < 1 ? 0 : 1;
}
