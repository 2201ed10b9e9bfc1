// Fewer bytes, and what they cost in accuracy: the network 784-300-100-10 on Fashion-MNIST, trained asynchronously by two workers over two
// parameter servers on loopback, with gradients as they are, as bfloat16 on the wire, as 8 bits and as their largest hundredth.
// Then a table of embeddings over two parameter servers, whose rows are read by themselves and through a cache.
//
//   net_compression [--data DIR] [--epochs N] [--only TEXT]

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <random>

#include "cluster_training.hpp"

namespace {

namespace tn = tenon;
namespace nn = tenon::nn;
using namespace cluster_training;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
constexpr int samples = 100;

struct options {
    std::string data = "/usr/share/datasets/fashion-mnist", only;
    int epochs = 8;
};

using pairs = std::vector<tn::gradient_and_variable>;
struct way {
    const char* name;
    tn::element_type wire;
    std::function<pairs(const pairs&)> compress;
};

struct worker {
    worker(const tasks& t, int index, const way& how) {
        const tn::graph_scope in(graph);
        const std::string own = "/job:worker/task:" + std::to_string(index);
        const auto placed = tn::on(tn::replica_device_setter(t.cluster, {.worker_device = tn::device_name(own)}));
        images = tn::placeholder<float, tn::shape<batch, 28, 28>>("images");
        labels = tn::placeholder<std::uint8_t, tn::shape<batch>>("labels");
        auto model = nn::sequential(nn::flatten(), nn::dense<300>(nn::relu), nn::dense<100>(nn::relu), nn::dense<10>());
        const auto loss = nn::cross_entropy(model(images, nn::training), tn::cast<std::int32_t>(labels));
        const auto descent = tn::gradient_descent(0.1f);
        train = descent.apply_gradients(how.compress(descent.compute_gradients(loss)));
        predicted = nn::predicted_class(model(images));
        session.emplace(t.all.at({"worker", index}).target(), graph,
                        tn::session_options{.wire_type = how.wire, .device_filters = {"/job:ps", own}});
        if (index == 0) session->run(tn::initialize_variables());
        else session->run(tn::untyped::initialize_variables(graph.collection(tn::local_variables)));
    }
    double bytes() {
        const tn::array<float, tn::shape<batch, 28, 28>> x(samples);
        const tn::array<std::uint8_t, tn::shape<batch>> y(samples);
        return static_cast<double>(
            session->explain_placement(tn::feed(images, x), tn::feed(labels, y), train).crossing_bytes());
    }
    tn::graph graph;
    tn::tensor<float, tn::shape<batch, 28, 28>> images;
    tn::tensor<std::uint8_t, tn::shape<batch>> labels;
    tn::operation train;
    tn::tensor<std::int32_t, tn::shape<batch>> predicted;
    std::optional<tn::session> session;
};

void train_network(const options& o, const tn::image_data& data, const way& how) {
    const tasks t(2, 2);
    worker first(t, 0, how), second(t, 1, how);
    std::atomic<std::int64_t> steps{0};
    std::exception_ptr failed[2];
    const double took = seconds_of([&] {
        std::vector<std::thread> threads;
        for (int w = 0; w < 2; ++w)
            threads.emplace_back([&, w] {
                try {
                    worker& by = w ? second : first;
                    tn::minibatches batches({.size = samples, .seed = static_cast<std::uint64_t>(w) + 1},
                                            tn::scaled<float>(data.train_images, 1 / 255.0f), data.train_labels);
                    auto step = by.session->callable(tn::feeds(by.images, by.labels), tn::fetches(by.train));
                    const std::int64_t all = batches.size() * o.epochs / 2;
                    for (std::int64_t done = 0; done < all;)
                        for (auto [x, y] : batches) {
                            if (done == all) break;
                            step(x, y);
                            ++done;
                            ++steps;
                        }
                } catch (...) {
                    failed[w] = std::current_exception();
                }
            });
        for (std::thread& th : threads) th.join();
    });
    for (const std::exception_ptr& e : failed)
        if (e) std::rethrow_exception(e);
    tn::minibatches tests({.size = 500, .shuffle = false}, tn::scaled<float>(data.test_images, 1 / 255.0f),
                          data.test_labels);
    nn::confusion_matrix confusion(10);
    for (auto [x, y] : tests) confusion.add(y, first.session->run(tn::feed(first.images, x), first.predicted));
    std::printf("%-40s %8.2f %% %9.0f %14.3f\n", how.name, 100 * confusion.accuracy(),
                static_cast<double>(steps) / took, first.bytes() / 1e6);
    std::fflush(stdout);
}

// Rows are drawn as words are: the n-th most frequent n times as seldom as the first.
void train_table(std::int64_t capacity, std::int64_t staleness, bool writes) {
    constexpr int rows = 200'000, width = 64, each = 2048, all = 300;
    const tasks t(2, 1);
    const tn::graph graph;
    const tn::graph_scope in(graph);
    const auto placed = tn::on(tn::replica_device_setter(t.cluster, {.worker_device = "/job:worker/task:0"}));
    const auto ids = tn::placeholder<std::int32_t, tn::shape<each>>("ids");
    const auto table =
        tn::variable<float, tn::shape<rows, width>>("table", tn::uniform(-0.5, 0.5, 7), {.partition = {.parts = 2}});
    const tn::row_cache cache(table, {.capacity = capacity, .staleness = staleness, .write_through = writes ? 0.1 : 0});
    const auto found = capacity > 0 ? cache.gather(ids) : tn::gather(table, ids);
    const auto loss = tn::mean(tn::square(tn::sum<1>(found) - 1.0f));
    const tn::operation train = tn::gradient_descent(0.1f).minimize(loss);
    tn::session s(t.all.at({"worker", 0}).target(), graph);
    s.run(tn::initialize_variables());
    std::mt19937 random(1);
    std::uniform_real_distribution<double> uniform;
    tn::array<std::int32_t, tn::shape<each>> at;
    const auto draw = [&] {
        for (std::int32_t& i : at)
            i = static_cast<std::int32_t>(std::pow(static_cast<double>(rows), uniform(random))) - 1;
    };
    const double took = seconds_of([&] {
        for (int i = 0; i < all; ++i) {
            draw();
            s.run(tn::feed(ids, at), train);
        }
    });
    double hits = 0, saved = 0;
    if (capacity > 0) {
        const auto [h, b] = s.run(cache.hits(), cache.bytes_saved());
        hits = static_cast<double>(h.item());
        saved = static_cast<double>(b.item());
    }
    const double used = static_cast<double>(all) * each;
    std::printf("capacity %6lld, staleness %3lld, %-16s %9.0f %9.1f %% %14.3f %10.4f\n",
                static_cast<long long>(capacity), static_cast<long long>(staleness), writes ? "written through" : "",
                all / took, 100 * hits / used, (used * width * 4 - saved) / all / 1e6,
                static_cast<double>(s.run(tn::feed(ids, at), loss).item()));
    std::fflush(stdout);
}

} // namespace

int main(int argc, char** argv) {
    options o;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        if (name == "--data") o.data = argv[i + 1];
        if (name == "--epochs") o.epochs = std::max(1, std::atoi(argv[i + 1]));
        if (name == "--only") o.only = argv[i + 1];
    }
    const auto as_is = [](const pairs& p) { return p; };
    const auto eight = [](const pairs& p) { return tn::compressed(p, tn::quantized_gradients{}); };
    const auto top = [](const pairs& p) { return tn::compressed(p, tn::top_k_gradients{.fraction = 0.01}); };
    const auto lossy = [](const pairs& p) {
        return tn::compressed(p, tn::top_k_gradients{.fraction = 0.01, .error_feedback = false});
    };
    using enum tn::element_type;
    const way ways[] = {{"float", none, as_is},
                        {"bfloat16 on the wire", bfloat16, as_is},
                        {"8 bits", none, eight},
                        {"8 bits, bfloat16 on the wire", bfloat16, eight},
                        {"largest 1 %", none, top},
                        {"largest 1 %, bfloat16 on the wire", bfloat16, top},
                        {"largest 1 %, without error feedback", none, lossy}};
    try {
        if (!std::filesystem::exists(o.data))
            std::printf("no network is trained: there is no data set in %s\n", o.data.c_str());
        else if (o.only != "table") {
            const tn::image_data data = tn::load_mnist_like(o.data);
            std::printf("%-40s %10s %9s %14s\n", "gradients", "accuracy", "steps/s", "MB a step");
            for (const way& w : ways)
                if (std::string(w.name).find(o.only) != std::string::npos) train_network(o, data, w);
        }
        if (!o.only.empty() && o.only != "table") return 0;
        std::printf("%-50s %9s %11s %14s %10s\n", "rows of a table", "steps/s", "hits", "MB of rows", "loss");
        train_table(0, 0, false);
        train_table(20'000, 0, false);
        train_table(20'000, 10, false);
        train_table(20'000, 10, true);
        train_table(20'000, 100, true);
    } catch (const tn::error& e) {
        std::fprintf(stderr, "net_compression: %s\n", e.what());
        return 1;
    }
    return 0;
}
