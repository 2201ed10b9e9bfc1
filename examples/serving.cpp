// Trains a small network, serves it on two devices while it is trained further, and asks it from several threads, from another session by
// Tenon's protocol, and by HTTP. The newer weights take the place of the older ones without a request lost.
//
//     serving                                    on images that it draws itself
//     serving --data DIR --http 8000             on Fashion-MNIST; then waits for requests until its input ends
//
//     curl -d '{"inputs": [{"name": "images", "shape": [1, 784], "datatype": "FP32", "data": [...]}]}'
//         http://127.0.0.1:8000/v2/models/images/infer
//
// links: tenon::net
#include <tenon/models.hpp>
#include <tenon/net/serving.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace tn = tenon;
namespace nn = tenon::nn;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

namespace {

using images_type = tn::array<float, tn::shape<batch, 784>>;
using labels_type = tn::array<std::int32_t, tn::shape<batch>>;
struct labelled {
    images_type images;
    labels_type labels;
};

// A bright bar in one of ten places, and noise.
labelled drawn(std::int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> noise(0, 0.7f);
    labelled all{images_type(count), labels_type(count)};
    for (std::int64_t i = 0; i < count; ++i) {
        const int place = static_cast<int>(random() % 10);
        all.labels(i) = place;
        for (int p = 0; p < 784; ++p)
            all.images(i, p) = noise(random) + (p / 28 >= 2 * place + 3 && p / 28 < 2 * place + 5 ? 0.5f : 0.0f);
    }
    return all;
}

labelled of_files(const tn::array<std::uint8_t>& images, const tn::array<std::uint8_t>& labels) {
    labelled all{images_type(labels.size()), labels_type(labels.size())};
    for (std::int64_t i = 0; i < images.size(); ++i) all.images[i] = static_cast<float>(images[i]) / 255;
    for (std::int64_t i = 0; i < labels.size(); ++i) all.labels[i] = labels[i];
    return all;
}

// The same network in the graph that trains and in the one that serves: its variables have the same names.
auto network() {
    return nn::sequential(nn::dense<64>(nn::relu, {.name = "hidden"}), nn::dense<10>({.name = "scores"}));
}

class trainer {
public:
    explicit trainer(labelled data) :
        data_(std::move(data)),
        scope_(graph_),
        x_(tn::placeholder<float, tn::shape<batch, 784>>("x")),
        y_(tn::placeholder<std::int32_t, tn::shape<batch>>("y")),
        train_(tn::adam(1e-3).minimize(nn::cross_entropy(network()(x_), y_))),
        session_(graph_) {
        session_.run(tn::initialize_variables());
    }
    void train(int steps, tn::saver& to, std::int64_t number) {
        auto step = session_.callable(tn::feeds(x_, y_), tn::fetches(train_));
        for (int i = 0; i < steps; ++i, ++done_) {
            const std::int64_t begin = done_ * 50 % (data_.labels.size() - 49);
            step(data_.images.slice(begin, begin + 50), data_.labels.slice(begin, begin + 50));
        }
        to.save(session_, number);
    }

private:
    labelled data_;
    tn::graph graph_;
    tn::graph_scope scope_;
    tn::tensor<float, tn::shape<batch, 784>> x_;
    tn::tensor<std::int32_t, tn::shape<batch>> y_;
    tn::operation train_;
    tn::session session_;
    std::int64_t done_ = 0;
};

// Several threads ask for each image by itself; what part was right, and with which versions of the weights.
template <class Model> void ask(const Model& model, const labelled& test, const char* title) {
    std::atomic<std::int64_t> next{0}, right{0}, first{1 << 30}, last{0};
    std::vector<std::thread> clients;
    for (int t = 0; t < 4; ++t)
        clients.emplace_back([&] {
            for (std::int64_t i = next++; i < test.labels.size(); i = next++) {
                const auto pending = model.start_for(10, test.images.slice(i, i + 1));
                const std::int64_t version = pending.version();
                const auto [scores] = pending.get();
                const float* const most = std::max_element(scores.begin(), scores.end());
                if (most - scores.begin() == test.labels(i)) ++right;
                for (std::int64_t f = first; version < f && !first.compare_exchange_weak(f, version);) {
                }
                for (std::int64_t l = last; version > l && !last.compare_exchange_weak(l, version);) {
                }
            }
        });
    for (std::thread& c : clients) c.join();
    std::printf("%s: %.1f %% of %lld right, weights of version %lld%s\n", title,
                100.0 * static_cast<double>(right.load()) / static_cast<double>(test.labels.size()),
                static_cast<long long>(test.labels.size()), static_cast<long long>(first.load()),
                first == last ? "" : (" to " + std::to_string(last.load())).c_str());
}

int run(const std::string& data, const std::string& http_port) {
    labelled training, test;
    if (data.empty()) {
        training = drawn(5000, 1);
        test = drawn(1000, 2);
    } else {
        const tn::image_data all = tn::load_mnist_like(data);
        training = of_files(all.train_images, all.train_labels);
        test = of_files(all.test_images, all.test_labels);
    }
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("tenon-serving-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    const std::string prefix = (folder / "model").string();
    tn::saver saver(prefix);
    trainer trained(std::move(training));
    trained.train(20, saver, 1);

    const tn::graph g;
    const tn::graph_scope in(g);
    const auto images = tn::placeholder<float, tn::shape<batch, 784>>("images");
    tn::session sess(g, {.cpu_devices = 2});
    tn::model_server model(sess, tn::feeds(images), [net = network()](auto x) { return softmax(net(x)); },
                           {.name = "images",
                            .devices = {"/cpu:0", "/cpu:1"},
                            .outputs = {"probabilities"},
                            .log = [](const std::string& line) { std::printf("%s\n", line.c_str()); }});
    model.replace(prefix + "-1.json");
    ask(model, test, "after 20 steps of training");

    trained.train(480, saver, 2);
    std::thread replaces([&] { model.replace(prefix + "-2.json"); });
    ask(model, test, "meanwhile");
    replaces.join();
    ask(model, test, "after 500 steps");

    tn::server here = tn::server::create_local_server();
    tn::net::serve_model(here, model);
    ask(tn::net::remote_model(here.target(), "images")
            .as<tn::model_inputs<tn::component<float, tn::shape<batch, 784>>>,
                tn::model_outputs<tn::component<float, tn::shape<batch, 10>>>>(),
        test, "by Tenon's protocol");

    const tn::serving_metrics m = model.metrics();
    std::printf("%llu requests in %llu batches; half within %.0f us, 99 of 100 within %.0f us\n",
                static_cast<unsigned long long>(m.answered), static_cast<unsigned long long>(m.batches),
                1e6 * m.latency.quantile(0.5), 1e6 * m.latency.quantile(0.99));
    tn::net::inference_server http({.where = http_port.empty() ? "0" : http_port});
    http.add(model);
    std::printf("by HTTP: %s/v2/models/images\n", http.url().c_str());
    if (!http_port.empty())
        for (std::string line; std::getline(std::cin, line);) {
        }
    std::filesystem::remove_all(folder);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    std::string data, http;
    for (int i = 1; i < argc; i += 2) {
        const std::string name = argv[i];
        if (i + 1 < argc && name == "--data") data = argv[i + 1];
        else if (i + 1 < argc && name == "--http") http = argv[i + 1];
        else {
            std::fprintf(stderr, "serving [--data DIR] [--http PORT]\n");
            return 2;
        }
    }
    try {
        return run(data, http);
    } catch (const tn::error& e) {
        std::fprintf(stderr, "serving: %s\n", e.what());
        return 1;
    }
}
