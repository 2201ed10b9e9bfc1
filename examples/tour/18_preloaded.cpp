// A training set that lies in memory: in a variable that is in no collection, so that it is neither trained nor saved, and gets its
// value by an assignment of its own. A producer gives its instances in another order each epoch, and batch() makes batches of them.
// Where the data are few they may also be a constant of the graph.
//
//     variables that are trained: w b
//     variables that are saved: w b global_step
//     epoch 1: loss ...
//     epoch 20: loss ...
//     y = 2.0 x1 - 1.0 x2 + 0.5
//     a constant of the graph: 3 instances an epoch, 6 in two
#include <tenon/input.hpp>

#include <cstdio>
#include <tuple>

namespace tn = tenon;

namespace {

constexpr int instances = 64, batch_size = 8, epochs = 20;

void print(const char* what, const char* collection) {
    std::printf("variables that are %s:", what);
    for (const auto& v : tn::graph::current().collection(collection)) std::printf(" %s", v.name().c_str());
    std::printf("\n");
}

void train() {
    const tn::graph g;
    const tn::graph_scope in(g);
    // The training set: features and targets of a plane.
    const tn::variable_options preloaded{.trainable = false, .collected = false};
    const auto features = tn::variable<float, tn::shape<instances, 2>>("features", tn::zeros(), preloaded);
    const auto targets = tn::variable<float, tn::shape<instances>>("targets", tn::zeros(), preloaded);
    const auto features_of_file = tn::placeholder<float, tn::shape<instances, 2>>("features_of_file");
    const auto load_features = features.assign(features_of_file);
    const auto targets_of_file = tn::placeholder<float, tn::shape<instances>>("targets_of_file");
    const auto load_targets = targets.assign(targets_of_file);

    const auto [one, its_target] =
        tn::slice_input_producer(std::tuple{features, targets}, {.num_epochs = epochs, .seed = 7});
    const auto [x, y] = tn::input::batch<batch_size>(std::tuple{one, its_target});

    const auto w = tn::variable<float, tn::shape<2, 1>>("w", tn::zeros());
    const auto b = tn::variable("b", 0.0f);
    const auto loss = tn::mean(tn::square(tn::reshape<tn::shape<batch_size>>(tn::matmul(x, w)) + b - y));
    const auto step = tn::gradient_descent(0.1f).minimize(loss);
    print("trained", tn::trainable_variables);
    print("saved", tn::global_variables);

    tn::session sess(g);
    sess.run(tn::initialize_variables());
    tn::array<float, tn::shape<instances, 2>> all;
    tn::array<float, tn::shape<instances>> values;
    for (int i = 0; i < instances; ++i) {
        const float x1 = static_cast<float>(i % 8) / 4 - 1, x2 = static_cast<float>(i / 8) / 4 - 1;
        all.data()[2 * i] = x1;
        all.data()[2 * i + 1] = x2;
        values.data()[i] = 2 * x1 - x2 + 0.5f;
    }
    sess.run(tn::feed(features_of_file, all), load_features);
    sess.run(tn::feed(targets_of_file, values), load_targets);

    tn::coordinator coord;
    tn::start_queue_runners(sess, coord);
    int steps = 0;
    while (coord.stop_on_exception([&] {
        const float now = sess.run(loss, step)();
        if (++steps == instances / batch_size) std::printf("epoch 1: loss %.4f\n", static_cast<double>(now));
        if (steps == epochs * instances / batch_size)
            std::printf("epoch %d: loss %.4f\n", epochs, static_cast<double>(now));
    })) {
    }
    coord.join();
    const auto learned = sess.run(w);
    const double w1 = static_cast<double>(learned(0, 0)), w2 = static_cast<double>(learned(1, 0));
    std::printf("y = %.1f x1 %c %.1f x2 + %.1f\n", w1, w2 < 0 ? '-' : '+', w2 < 0 ? -w2 : w2,
                static_cast<double>(sess.run(b)()));
}

void count_constants() {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto next =
        tn::slice_input_producer(tn::constant({{1.0f, 2.0f}, {3.0f, 4.0f}, {5.0f, 6.0f}}), {.num_epochs = 2});
    tn::session sess(g);
    tn::coordinator coord;
    tn::start_queue_runners(sess, coord);
    int count = 0;
    while (coord.stop_on_exception([&] {
        (void)sess.run(next);
        ++count;
    })) {
    }
    coord.join();
    std::printf("a constant of the graph: 3 instances an epoch, %d in two\n", count);
}

} // namespace

int main() {
    train();
    count_constants();
    return 0;
}
