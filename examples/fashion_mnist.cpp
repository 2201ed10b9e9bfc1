// Trains two networks on Fashion-MNIST, tests them, and saves their weights; or loads weights and predicts. The images come as
// bytes and in a new order each epoch through a data set, which makes floats of them while the last batch is learned.
// needs: the data set (examples/run.sh installs it)
#include <tenon/data/from.hpp>
#include <tenon/data/iterator.hpp>
#include <tenon/tenon.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tuple>
#include <vector>

#include <unistd.h>

namespace tn = tenon;
namespace nn = tenon::nn;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

namespace {

const std::vector<std::string> classes{"T-shirt", "trousers", "pullover", "dress", "coat",
                                       "sandal",  "shirt",    "sneaker",  "bag",   "ankle boot"};

struct options {
    std::string data = "/usr/share/datasets/fashion-mnist";
    std::string save, load;
    std::string model = "both";
    int epochs = 0; // 0: what each network needs
    int threads = 0;
};

constexpr const char* usage = "fashion_mnist [options]\n"
                              "  --data DIR             the folder of the four IDX files, gzipped or not\n"
                              "  --model dense|conv|both\n"
                              "  --epochs N             times that each image is seen (dense: 12, conv: 5)\n"
                              "  --threads N            of one kernel; 0: all cores\n"
                              "  --save FILE            writes the weights there, as safetensors\n"
                              "  --load FILE            reads them from there, and predicts without training\n";

[[noreturn]] void wrong_usage(const std::string& what) {
    std::fprintf(stderr, "fashion_mnist: %s\n%s", what.c_str(), usage);
    std::exit(2);
}

int number_of(const std::string& name, const std::string& text, int least) {
    char* end = nullptr;
    const long n = std::strtol(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || n < least || n > 10000)
        wrong_usage(name + " " + text + ": a number from " + std::to_string(least) + " to 10000 is needed");
    return static_cast<int>(n);
}

options read_options(int argc, char** argv) {
    options o;
    for (int i = 1; i < argc; ++i) {
        std::string name = argv[i], value;
        if (name == "--help" || name == "-h") {
            std::fputs(usage, stdout);
            std::exit(0);
        }
        if (name == "--augment") wrong_usage(name + ": this is the program fashion_mnist_augmented");
        const std::size_t equals = name.find('=');
        if (equals != std::string::npos) {
            value = name.substr(equals + 1);
            name.erase(equals);
        } else if (i + 1 < argc) value = argv[++i];
        else wrong_usage(name + ": a value is missing, or there is no such option");
        if (name == "--data") o.data = value;
        else if (name == "--save") o.save = value;
        else if (name == "--load") o.load = value;
        else if (name == "--epochs") o.epochs = number_of(name, value, 1);
        else if (name == "--threads") o.threads = number_of(name, value, 0);
        else if (name == "--model" && (value == "dense" || value == "conv" || value == "both")) o.model = value;
        else wrong_usage(name + " " + value + ": there is no such option");
    }
    return o;
}

// One row of an image as characters: half blocks in grey on a terminal, each for two pixels, else ASCII shades.
std::string drawn_row(const tn::const_array<std::uint8_t>& image, int row, bool is_terminal) {
    std::string text;
    for (int x = 0; x < 28; ++x) {
        const int upper = image(row, x), lower = image(row + 1, x);
        if (is_terminal)
            text += "\033[38;5;" + std::to_string(232 + upper * 23 / 255) + ";48;5;" +
                    std::to_string(232 + lower * 23 / 255) + "m\u2580";
        else text += " .:-=+*#%@"[(upper + lower) * 9 / 510];
    }
    return is_terminal ? text + "\033[0m" : text;
}

void draw_wrong_guesses(const tn::image_data& data, const std::vector<int>& guesses) {
    constexpr int shown = 4, in_a_row = 2;
    std::vector<std::int64_t> wrong;
    for (std::int64_t i = 0; i < data.test_labels.size() && wrong.size() < shown; ++i)
        if (guesses[static_cast<std::size_t>(i)] != data.test_labels[i]) wrong.push_back(i);
    const bool is_terminal = isatty(STDOUT_FILENO) == 1;
    for (std::size_t first = 0; first < wrong.size(); first += in_a_row) {
        const std::size_t end = std::min(first + in_a_row, wrong.size());
        std::string captions;
        for (std::size_t k = first; k < end; ++k) {
            const std::string caption = classes[data.test_labels[wrong[k]]] + ", taken for " +
                                        classes[static_cast<std::size_t>(guesses[static_cast<std::size_t>(wrong[k])])];
            captions += caption + std::string(32 - std::min<std::size_t>(caption.size(), 31), ' ');
        }
        std::printf("\n%s\n", captions.c_str());
        for (int row = 0; row < 28; row += 2) {
            std::string line;
            for (std::size_t k = first; k < end; ++k)
                line += drawn_row(data.test_images.row(wrong[k]), row, is_terminal) + "    ";
            std::printf("%s\n", line.c_str());
        }
    }
}

using images_and_labels =
    tn::data_set<tn::component<float, tn::shape<batch, 28, 28>>, tn::component<std::uint8_t, tn::shape<batch>>>;

auto rows_of(const tn::array<std::uint8_t>& images, const tn::array<std::uint8_t>& labels) {
    return tn::data::slices(images.as<tn::shape<tn::dyn, 28, 28>>(), labels.as<tn::shape<tn::dyn>>());
}

#ifndef FASHION_MNIST_AUGMENTED // where fashion_mnist_augmented.cpp has another
constexpr auto augmented = [](auto images) { return images; };
#endif

// Batches without end, each epoch's in an order of its own.
images_and_labels batches_to_train(const tn::image_data& data, std::int64_t size) {
    return rows_of(data.train_images, data.train_labels)
        .shuffle(data.train_labels.size(), {.seed = 4})
        .batch<batch>(size)
        .repeat()
        .map([](auto images, auto labels) { return std::tuple(tn::cast<float>(augmented(images)) / 255.0f, labels); })
        .prefetch(2);
}

images_and_labels batches_to_test(const tn::image_data& data) {
    return rows_of(data.test_images, data.test_labels).batch<batch>(500).map([](auto images, auto labels) {
        return std::tuple(tn::cast<float>(images) / 255.0f, labels);
    });
}

// A network as this program uses it: a step of training, and predictions.
template <class Step, class Predict> struct experiment {
    std::string title;
    int epochs;
    double rate;
    Step step;       // images, labels, learning rate -> loss
    Predict predict; // images -> classes

    void train(const tn::image_data& data) const {
        constexpr std::int64_t size = 100;
        const std::int64_t in_epoch = (data.train_labels.size() + size - 1) / size, steps = in_epoch * epochs;
        tn::progress_bar bar(steps, "training", {.samples_per_step = size});
        double mean_loss = 0;
        for (const auto& [images, labels] : batches_to_train(data, size).take(steps)) {
            const double done = static_cast<double>(bar.done()) / static_cast<double>(steps);
            auto [loss] = step(images, labels, rate * (1 + std::cos(3.14159265 * done)) / 2);
            const double l = static_cast<double>(loss.item());
            mean_loss = bar.done() == 0 ? l : 0.99 * mean_loss + 0.01 * l;
            bar.advance(1, {{"epoch", static_cast<int>(bar.done() / in_epoch) + 1}, {"loss", mean_loss}});
        }
    }

    void test(const tn::image_data& data) const {
        nn::confusion_matrix confusion(static_cast<int>(classes.size()));
        std::vector<int> guesses;
        for (const auto& [images, labels] : batches_to_test(data)) {
            auto [predicted] = predict(images);
            confusion.add(labels, predicted);
            guesses.insert(guesses.end(), predicted.begin(), predicted.end());
        }
        std::printf("test accuracy: %.1f %%\n\n%s", 100 * confusion.accuracy(), confusion.to_string(classes).c_str());
        draw_wrong_guesses(data, guesses);
    }
};

template <class Model>
auto make_experiment(tn::session& sess, const std::string& title, const Model& model, int epochs, double rate) {
    auto images = tn::placeholder<float, tn::shape<batch, 28, 28>>("images");
    auto labels = tn::placeholder<std::uint8_t, tn::shape<batch>>("labels");
    auto learning_rate = tn::placeholder<float, tn::shape<>>("learning_rate");

    auto loss = nn::cross_entropy(model(images, nn::training), tn::cast<std::int32_t>(labels));
    auto train = tn::adam(learning_rate).minimize(loss);
    auto predicted = nn::predicted_class(model(images));

    auto step = sess.callable(tn::feeds(images, labels, learning_rate), tn::fetches(train, loss));
    auto predict = sess.callable(tn::feeds(images), tn::fetches(predicted));
    return experiment<decltype(step), decltype(predict)>{title, epochs, rate, step, predict};
}

template <class E> void run(const E& e, const options& o, const tn::image_data& data) {
    std::printf("\n== %s\n", e.title.c_str());
    const auto start = std::chrono::steady_clock::now();
    if (o.load.empty()) e.train(data);
    e.test(data);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("\ntook %.1f s\n", took.count());
}

void run(const options& o) {
    const tn::image_data data = tn::load_mnist_like(o.data);
    tn::graph::current().set_seed(42);

    auto dense = nn::sequential(nn::flatten(), nn::dense<300>(nn::relu, {.name = "dense_net/hidden"}),
                                nn::dense<100>(nn::relu, {.name = "dense_net/hidden"}),
                                nn::dense<10>({.name = "dense_net/logits"}));

    constexpr tn::conv2d_options padded{.padding = tn::same};
    auto conv =
        nn::sequential(nn::reshaped_to<28, 28, 1>(), nn::conv2d<16, 5, padded>(nn::relu, {.name = "conv_net/conv"}),
                       nn::max_pool<2>(), nn::conv2d<32, 5, padded>(nn::relu, {.name = "conv_net/conv"}),
                       nn::max_pool<2>(), nn::flatten(), nn::dense<128>(nn::relu, {.name = "conv_net/hidden"}),
                       nn::dropout(0.3), nn::dense<10>({.name = "conv_net/logits"}));

    tn::session sess({.intra_op_threads = o.threads});
    const auto with_dense =
        make_experiment(sess, "dense network: 784-300-100-10", dense, o.epochs ? o.epochs : 12, 2e-3);
    const auto with_conv =
        make_experiment(sess, "convolutional network: 16 5x5, 32 5x5, 128-10", conv, o.epochs ? o.epochs : 5, 2e-3);
    std::vector<tn::any_tensor> weights;
    for (const tn::any_tensor& v : tn::graph::current().collection(tn::trainable_variables))
        if (o.model == "both" || v.name().starts_with(o.model)) weights.push_back(v);

    sess.run(tn::initialize_variables());
    if (!o.load.empty()) tn::load_variables(sess, o.load, {.variables = weights});
    if (!o.save.empty()) tn::save_variables(sess, o.save, {.variables = weights, .rehearsal = true});
    if (o.model != "conv") run(with_dense, o, data);
    if (o.model != "dense") run(with_conv, o, data);
    if (!o.save.empty()) {
        tn::save_variables(sess, o.save, {.variables = weights});
        std::printf("\nsaved %s\n", o.save.c_str());
    }
}

} // namespace

int main(int argc, char** argv) {
    const options o = read_options(argc, argv);
    try {
        run(o);
    } catch (const tn::error& e) {
        std::fprintf(stderr, "fashion_mnist: %s\n", e.what());
        if (e.code() == tn::error_code::not_found && o.load.empty())
            std::fprintf(stderr,
                         "Debian's package dataset-fashion-mnist brings the data; --data DIR names another folder.\n");
        return 1;
    }
}
