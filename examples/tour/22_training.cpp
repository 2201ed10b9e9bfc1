// A dense network trained on Fashion-MNIST: alone; in-graph, where one program has all replicas in its graph and runs a thread for
// each; and between-graph, where each worker has a graph and a session of its own. On the cluster the variables are on parameter
// servers, and the workers train asynchronously: each reads them, computes, and updates them whatever the others do meanwhile.
// Staleness is how many updates of others came between a step's reads and its own update.
//
//     22_training [--data DIR] [--epochs N] [--ps N] [--workers N]
//
// needs: the data set
// links: tenon::net
#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "local_cluster.hpp"

namespace tn = tenon;
namespace nn = tenon::nn;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

namespace {

constexpr int samples = 100; // of a step

struct options {
    std::string data = "/usr/share/datasets/fashion-mnist";
    int epochs = 2, ps = 2, workers = 2;
};

// A model, and what of it a worker computes with.
struct network {
    tn::tensor<float, tn::shape<batch, 28, 28>> images;
    tn::tensor<std::uint8_t, tn::shape<batch>> labels;
    tn::tensor<float, tn::shape<>> loss;
    tn::tensor<std::int64_t, tn::shape<>> stale; // trains, too
    tn::tensor<std::int32_t, tn::shape<batch>> predicted;
};

auto make_model() {
    return nn::sequential(nn::flatten(), nn::dense<300>(nn::relu), nn::dense<100>(nn::relu), nn::dense<10>());
}

// One more replica of the model, which has its variables from its first one.
template <class Model> network replica_of(Model& model) {
    network n;
    const auto images = tn::placeholder<float, tn::shape<batch, 28, 28>>("images");
    const auto labels = tn::placeholder<std::uint8_t, tn::shape<batch>>("labels");
    const auto loss = nn::cross_entropy(model(images, nn::training), tn::cast<std::int32_t>(labels));
    n.stale = tn::staleness(tn::adam(1e-3f).minimize(loss));
    n.predicted = nn::predicted_class(model(images));
    n.images = images;
    n.labels = labels;
    n.loss = loss;
    return n;
}

struct result {
    double accuracy = 0, seconds = 0, steps = 0, staleness = 0, bytes = 0; // of a step: the last two

    void print(const char* name) const {
        std::printf("%-28s %7.1f %% %9.0f %11.0f %10.2f %12.2f\n", name, 100 * accuracy, steps / seconds,
                    steps * samples / seconds, staleness, bytes / 1e6);
        std::fflush(stdout);
    }
};

class trainer {
public:
    trainer(const options& o, tn::image_data data) : options_(o), data_(std::move(data)) {}

    // Workers train at the same time, each with its session and its network; the first one is tested then.
    result train(const std::vector<tn::session*>& sessions, const std::vector<network>& networks) const {
        const std::size_t workers = networks.size();
        std::vector<double> staleness(workers), steps(workers);
        std::vector<std::exception_ptr> failed(workers);
        const auto began = std::chrono::steady_clock::now();
        std::vector<std::thread> threads;
        for (std::size_t w = 0; w < workers; ++w)
            threads.emplace_back([&, w] {
                try {
                    work(*sessions[w], networks[w], w, workers, steps[w], staleness[w]);
                } catch (...) {
                    failed[w] = std::current_exception();
                }
            });
        for (std::thread& t : threads) t.join();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
        for (const std::exception_ptr& e : failed)
            if (e) std::rethrow_exception(e);

        result r;
        r.seconds = took.count();
        for (std::size_t w = 0; w < workers; ++w) {
            r.steps += steps[w];
            r.staleness += staleness[w];
        }
        r.staleness /= r.steps;
        r.accuracy = accuracy(*sessions[0], networks[0]);
        const tn::array<float, tn::shape<batch, 28, 28>> x(samples);
        const tn::array<std::uint8_t, tn::shape<batch>> y(samples);
        r.bytes = static_cast<double>(
            sessions[0]
                ->explain_placement(tn::feed(networks[0].images, x), tn::feed(networks[0].labels, y), networks[0].stale)
                .crossing_bytes());
        return r;
    }

private:
    void work(tn::session& sess, const network& n, std::size_t worker, std::size_t workers, double& steps,
              double& staleness) const {
        tn::minibatches batches({.size = samples, .seed = worker + 1},
                                tn::scaled<float>(data_.train_images, 1 / 255.0f), data_.train_labels);
        const auto all = static_cast<double>(batches.size() * options_.epochs / static_cast<std::int64_t>(workers));
        auto step = sess.callable(tn::feeds(n.images, n.labels), tn::fetches(n.loss, n.stale));
        while (steps < all)
            for (auto [x, y] : batches) {
                if (steps == all) break;
                const auto [loss, stale] = step(x, y);
                staleness += static_cast<double>(stale.item());
                ++steps;
            }
    }
    double accuracy(tn::session& sess, const network& n) const {
        tn::minibatches batches({.size = 500, .shuffle = false}, tn::scaled<float>(data_.test_images, 1 / 255.0f),
                                data_.test_labels);
        nn::confusion_matrix confusion(10);
        for (auto [x, y] : batches) confusion.add(y, sess.run(tn::feed(n.images, x), n.predicted));
        return confusion.accuracy();
    }

    const options options_;
    const tn::image_data data_;
};

result alone(const trainer& t) {
    const tn::graph g;
    const tn::graph_scope in(g);
    auto model = make_model();
    const network n = replica_of(model);
    tn::session sess(g);
    sess.run(tn::initialize_variables());
    return t.train({&sess}, {n});
}

auto replica_on(const tn::cluster& c, int worker) {
    return tn::on(tn::replica_device_setter(c, {.worker_device = "/job:worker/task:" + std::to_string(worker)}));
}

result in_graph(const trainer& t, const options& o) {
    const local_cluster cluster({{"ps", o.ps}, {"worker", o.workers}});
    const tn::graph g;
    const tn::graph_scope in(g);
    auto model = make_model();
    std::vector<network> replicas;
    for (int w = 0; w < o.workers; ++w) {
        const auto placed = replica_on(cluster.tasks(), w);
        replicas.push_back(replica_of(model));
    }
    tn::session sess(cluster.target("worker", 0), g);
    sess.run(tn::initialize_variables());
    return t.train(std::vector<tn::session*>(replicas.size(), &sess), replicas);
}

result between_graph(const trainer& t, const options& o) {
    const local_cluster cluster({{"ps", o.ps}, {"worker", o.workers}});
    std::vector<tn::session> sessions;
    std::vector<network> replicas;
    for (int w = 0; w < o.workers; ++w) {
        const tn::graph g; // the session keeps it
        const tn::graph_scope in(g);
        const auto placed = replica_on(cluster.tasks(), w);
        auto model = make_model();
        replicas.push_back(replica_of(model));
        sessions.emplace_back(cluster.target("worker", w), g);
        if (w == 0) sessions.front().run(tn::initialize_variables()); // the others find them with values
    }
    std::vector<tn::session*> each;
    for (tn::session& s : sessions) each.push_back(&s);
    return t.train(each, replicas);
}

options read_options(int argc, char** argv) {
    options o;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i], value = i + 1 < argc ? argv[++i] : "";
        const int number = std::atoi(value.c_str());
        if (name == "--data" && !value.empty()) o.data = value;
        else if (name == "--epochs" && number > 0) o.epochs = number;
        else if (name == "--ps" && number > 0) o.ps = number;
        else if (name == "--workers" && number > 0) o.workers = number;
        else {
            std::fprintf(stderr,
                         "22_training: %s: there is no such option, or its value is missing\n"
                         "22_training [--data DIR] [--epochs N] [--ps N] [--workers N]\n",
                         name.c_str());
            std::exit(2);
        }
    }
    return o;
}

} // namespace

int main(int argc, char** argv) {
    const options o = read_options(argc, argv);
    try {
        const trainer t(o, tn::load_mnist_like(o.data));
        std::printf("%d parameter servers, %d workers, %d samples a step\n", o.ps, o.workers, samples);
        std::printf("%-28s %9s %9s %11s %10s %12s\n", "", "accuracy", "steps/s", "samples/s", "staleness", "MB a step");
        alone(t).print("alone");
        in_graph(t, o).print("in-graph, asynchronous");
        between_graph(t, o).print("between-graph, asynchronous");
    } catch (const tn::error& e) {
        std::fprintf(stderr, "22_training: %s\n", e.what());
        return 1;
    }
    return 0;
}
