// Fashion-MNIST, trained in every way that one model can be trained on several tasks, as one table: alone; from one graph and from one
// a worker, each asynchronous and synchronous; with a backup for a worker that is slow; by all-reduce; split over tasks by the columns of its
// layers, by layers, by channels; as a pipeline. All tasks are servers in this program, which share its cores: what is to be seen is what each
// way costs, and that all learn the same.
//
//     training_at_scale [--data DIR] [--epochs N] [--only TEXT]
//
// A step is of 100 samples, of all workers together where they are synchronous. Staleness: updates of others between a step's reads and
// its own update. Bytes: what crosses between devices, of an epoch; CPU seconds too.
//
// needs: the data set
// links: tenon::net
#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>

#include "tour/shared/local_cluster.hpp"

namespace tn = tenon;
namespace nn = tenon::nn;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

namespace {

constexpr int samples = 100, workers = 2;
const std::vector<tn::device_name> devices{"/job:worker/task:0", "/job:worker/task:1"};

using images_type = tn::tensor<float, tn::shape<batch, 28, 28>>;
using labels_type = tn::tensor<std::uint8_t, tn::shape<batch>>;

struct options {
    std::string data = "/usr/share/datasets/fashion-mnist", only;
    int epochs = 4;
};

// What is fed, and what predicts.
struct inputs {
    images_type images = tn::placeholder<float, tn::shape<batch, 28, 28>>("images");
    labels_type labels = tn::placeholder<std::uint8_t, tn::shape<batch>>("labels");
};
using predicted_type = tn::tensor<std::int32_t, tn::shape<batch>>;

tn::adam optimizer() { return tn::adam(1e-3f); }

auto dense_network() {
    return nn::sequential(nn::flatten(), nn::dense<300>(nn::relu), nn::dense<100>(nn::relu), nn::dense<10>());
}
template <class Logits> auto loss_of(const Logits& logits, const labels_type& labels) {
    return nn::cross_entropy(logits, tn::cast<std::int32_t>(labels));
}

double cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct row {
    double accuracy = 0, steps = 0, seconds = 0, cpu = 0, staleness = 0,
           bytes = 0; // all of the training's, but the staleness
    std::string remark{};
};

auto batches_of(const tn::image_data& d, std::int64_t size, std::uint64_t seed) {
    return tn::minibatches({.size = size, .seed = seed, .drop_remainder = true},
                           tn::scaled<float>(d.train_images, 1 / 255.0f), d.train_labels);
}
// The images, as batches without end.
class stream {
public:
    stream(const tn::image_data& d, std::int64_t size, std::uint64_t seed) : all_(batches_of(d, size, seed)) {}
    auto next() {
        if (at_) ++*at_;
        if (!at_ || *at_ == all_.end()) at_.emplace(all_.begin());
        return **at_;
    }

private:
    using batches = decltype(batches_of(std::declval<const tn::image_data&>(), 1, 1));
    batches all_;
    std::optional<typename batches::iterator> at_;
};

class trainer {
public:
    trainer(const options& o, tn::image_data d) : options_(o), data_(std::move(d)) {}

    std::int64_t steps() const { return options_.epochs * data_.train_images.extents()[0].size / samples; }
    const tn::image_data& data() const { return data_; }

    // `train` returns the mean staleness of a step.
    row measure(const std::function<double()>& train) const {
        row r;
        const auto began = std::chrono::steady_clock::now();
        const double cpu = cpu_seconds();
        r.staleness = train();
        r.cpu = cpu_seconds() - cpu;
        r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        r.steps = static_cast<double>(steps());
        return r;
    }
    double accuracy(tn::session& s, const inputs& in, const predicted_type& predicted) const {
        tn::minibatches batches({.size = 500, .shuffle = false}, tn::scaled<float>(data_.test_images, 1 / 255.0f),
                                data_.test_labels);
        nn::confusion_matrix confusion(10);
        for (auto [x, y] : batches) confusion.add(y, s.run(tn::feed(in.images, x), predicted));
        return confusion.accuracy();
    }
    template <class Target> double bytes(tn::session& s, const inputs& in, const Target& of, int size = samples) const {
        const tn::array<float, tn::shape<batch, 28, 28>> x(size);
        const tn::array<std::uint8_t, tn::shape<batch>> y(size);
        return static_cast<double>(
            s.explain_placement(tn::feed(in.images, x), tn::feed(in.labels, y), of).crossing_bytes());
    }
    // One session, one operation that trains on a whole batch.
    template <class Train>
    row by_one_session(tn::session& s, const inputs& in, const Train& train, const predicted_type& predicted) const {
        s.run(tn::initialize_variables());
        auto step = s.callable(tn::feeds(in.images, in.labels), tn::fetches(train));
        row r = measure([&] {
            stream all(data_, samples, 1);
            for (std::int64_t i = 0; i < steps(); ++i) {
                auto [x, y] = all.next();
                step(x, y);
            }
            return 0.0;
        });
        r.accuracy = accuracy(s, in, predicted);
        r.bytes = bytes(s, in, train) * r.steps;
        return r;
    }
    // body(w) for each of so many workers, on a thread of its own; the mean of what they return.
    static double each_worker(int n, const std::function<double(int)>& body) {
        std::vector<double> said(static_cast<std::size_t>(n));
        tn::coordinator threads;
        std::vector<std::thread> all;
        for (int w = 0; w < n; ++w)
            all.emplace_back([&, w] {
                try {
                    said[static_cast<std::size_t>(w)] = body(w);
                } catch (...) {
                    threads.request_stop(std::current_exception());
                }
            });
        for (std::thread& t : all) t.join();
        threads.join(); // which throws what one of them threw
        double sum = 0;
        for (const double x : said) sum += x;
        return sum / n;
    }

private:
    const options options_;
    const tn::image_data data_;
};

local_cluster make_cluster(int n = workers) { return local_cluster({{"ps", 2}, {"worker", n}}); }
auto replica_on(const local_cluster& c, int worker) {
    return tn::on(
        tn::replica_device_setter(c.tasks(), {.worker_device = "/job:worker/task:" + std::to_string(worker)}));
}

template <class Network> row alone(const trainer& t, const Network& network) {
    const tn::graph g;
    const tn::graph_scope in(g);
    const inputs fed;
    const auto train = optimizer().minimize(loss_of(network(fed.images), fed.labels));
    const predicted_type predicted = nn::predicted_class(network(fed.images));
    tn::session s(g);
    return t.by_one_session(s, fed, train, predicted);
}

// What an asynchronous worker computes with.
struct replica {
    inputs fed{};
    tn::tensor<std::int64_t, tn::shape<>> stale{}; // trains, too
    predicted_type predicted{};
};
template <class Network> replica replica_of(const Network& network) {
    replica r;
    r.stale = tn::staleness(optimizer().minimize(loss_of(network(r.fed.images), r.fed.labels)));
    r.predicted = nn::predicted_class(network(r.fed.images));
    return r;
}
// Steps of worker w, of its own images; the mean staleness.
double asynchronous_worker(const trainer& t, tn::session& s, const replica& of, int w) {
    auto step = s.callable(tn::feeds(of.fed.images, of.fed.labels), tn::fetches(of.stale));
    stream mine(t.data(), samples, static_cast<std::uint64_t>(w) + 1);
    double sum = 0;
    const std::int64_t steps = t.steps() / workers;
    for (std::int64_t i = 0; i < steps; ++i) {
        auto [x, y] = mine.next();
        auto [stale] = step(x, y);
        sum += static_cast<double>(stale.item());
    }
    return sum / static_cast<double>(steps);
}

row in_graph_asynchronous(const trainer& t) {
    const local_cluster cluster = make_cluster();
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto network = dense_network();
    const std::vector<replica> all = tn::replicate(devices, [&](int) { return replica_of(network); },
                                                   {.place_variables = tn::replica_device_setter(cluster.tasks())});
    tn::session s(cluster.target("worker", 0), g);
    s.run(tn::initialize_variables());
    row r = t.measure([&] {
        return t.each_worker(workers,
                             [&](int w) { return asynchronous_worker(t, s, all[static_cast<std::size_t>(w)], w); });
    });
    r.accuracy = t.accuracy(s, all[0].fed, all[0].predicted);
    r.bytes = r.steps * t.bytes(s, all[0].fed, all[0].stale);
    return r;
}

row in_graph_synchronous(const trainer& t) {
    const local_cluster cluster = make_cluster();
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto network = dense_network();
    std::vector<inputs> fed;
    const auto gradients =
        tn::replicate(devices,
                      [&](int) {
                          const inputs& own = fed.emplace_back();
                          return optimizer().compute_gradients(loss_of(network(own.images), own.labels));
                      },
                      {.place_variables = tn::replica_device_setter(cluster.tasks())});
    const auto train = optimizer().apply_gradients(tn::average_gradients(gradients));
    const predicted_type predicted = nn::predicted_class(network(fed[0].images));
    tn::session s(cluster.target("worker", 0), g);
    s.run(tn::initialize_variables());
    auto step = s.callable(tn::feeds(fed[0].images, fed[0].labels, fed[1].images, fed[1].labels), tn::fetches(train));
    row r = t.measure([&] {
        stream first(t.data(), samples / workers, 1), second(t.data(), samples / workers, 2);
        for (std::int64_t i = 0; i < t.steps(); ++i) {
            auto [x, y] = first.next();
            auto [u, v] = second.next();
            step(x, y, u, v);
        }
        return 0.0;
    });
    r.accuracy = t.accuracy(s, fed[0], predicted);
    const tn::array<float, tn::shape<batch, 28, 28>> x(samples / workers);
    const tn::array<std::uint8_t, tn::shape<batch>> y(samples / workers);
    r.bytes =
        r.steps * static_cast<double>(s.explain_placement(tn::feed(fed[0].images, x), tn::feed(fed[0].labels, y),
                                                          tn::feed(fed[1].images, x), tn::feed(fed[1].labels, y), train)
                                          .crossing_bytes());
    return r;
}

// Each worker has a graph and a session of its own.
row between_graph_asynchronous(const trainer& t) {
    const local_cluster cluster = make_cluster();
    std::vector<tn::session> sessions;
    std::vector<replica> all;
    for (int w = 0; w < workers; ++w) {
        const tn::graph g; // the session keeps it
        const tn::graph_scope in(g);
        const auto placed = replica_on(cluster, w);
        all.push_back(replica_of(dense_network()));
        sessions.emplace_back(cluster.target("worker", w), g);
        if (w == 0) sessions.front().run(tn::initialize_variables()); // the others find them with values
    }
    row r = t.measure([&] {
        return t.each_worker(workers, [&](int w) {
            const auto i = static_cast<std::size_t>(w);
            return asynchronous_worker(t, sessions[i], all[i], w);
        });
    });
    r.accuracy = t.accuracy(sessions[0], all[0].fed, all[0].predicted);
    r.bytes = r.steps * t.bytes(sessions[0], all[0].fed, all[0].stale);
    return r;
}

// With a backup one worker more, which computes each gradient several times before it hands it over.
row between_graph_synchronous(const trainer& t, bool with_backup) {
    const int n = workers + with_backup, each = samples / workers;
    const local_cluster cluster = make_cluster(n);
    struct worker {
        inputs fed;
        tn::sync_replicas sync;
        tn::operation train;
        tn::tensor<float, tn::shape<>> loss;
        predicted_type predicted;
    };
    std::vector<tn::session> sessions;
    std::vector<worker> all;
    for (int w = 0; w < n; ++w) {
        const tn::graph g;
        const tn::graph_scope in(g);
        const auto placed = replica_on(cluster, w);
        const auto network = dense_network();
        worker own{{}, tn::sync_replicas(optimizer(), {.aggregate = workers, .total = n, .replica = w}), {}, {}, {}};
        own.loss = loss_of(network(own.fed.images), own.fed.labels);
        own.train = own.sync.minimize(own.loss);
        own.predicted = nn::predicted_class(network(own.fed.images));
        all.push_back(own);
        sessions.emplace_back(cluster.target("worker", w), g);
        if (w == 0) sessions.front().run(tn::initialize_variables());
    }
    std::atomic<std::int64_t> over{0};
    row r = t.measure([&] {
        return t.each_worker(n, [&](int w) {
            const worker& own = all[static_cast<std::size_t>(w)];
            tn::session& s = sessions[static_cast<std::size_t>(w)];
            auto applies = own.sync.start(s);
            auto step = s.callable(tn::feeds(own.fed.images, own.fed.labels), tn::fetches(own.train));
            auto again = s.callable(tn::feeds(own.fed.images, own.fed.labels), tn::fetches(own.loss));
            stream mine(t.data(), each, static_cast<std::uint64_t>(w) + 1);
            const bool slow = w == workers;
            for (std::int64_t i = 0; i < t.steps() && over < t.steps(); ++i) {
                auto [x, y] = mine.next();
                for (int k = 0; slow && k < 20; ++k) again(x, y);
                try {
                    step(x, y);
                } catch (const tn::end_of_data_error&) { // the others have had all steps
                    break;
                }
                if (!slow) over = i + 1;
            }
            applies.finish();
            return 0.0;
        });
    });
    r.accuracy = t.accuracy(sessions[0], all[0].fed, all[0].predicted);
    r.bytes = workers * r.steps * t.bytes(sessions[0], all[0].fed, all[0].train, each);
    if (with_backup) {
        auto dropped = sessions[0].run(all[0].sync.dropped());
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < dropped.size(); ++i) sum += dropped(i);
        r.remark = std::to_string(sum) + " gradients dropped, " + std::to_string(dropped(workers)) + " of the slow one";
    }
    return r;
}

row all_reduce(const trainer& t) {
    const local_cluster cluster = make_cluster();
    const tn::graph g;
    const tn::graph_scope in(g);
    const inputs fed;
    const tn::mirrored_strategy mirrored(devices);
    const auto network = dense_network();
    const auto losses =
        mirrored.run([&](auto x, auto y) { return nn::cross_entropy(network(x), tn::cast<std::int32_t>(y)); },
                     mirrored.distribute(fed.images), mirrored.distribute(fed.labels));
    const auto [train, loss] = mirrored.minimize(optimizer(), losses);
    const predicted_type predicted = nn::predicted_class(network(fed.images));
    tn::session s(cluster.target("worker", 0), g);
    return t.by_one_session(s, fed, train, predicted);
}

// A network of which parts are on both workers.
template <class Network> row split(const trainer& t, const Network& network) {
    const local_cluster cluster = make_cluster();
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto placed = tn::on(devices[0]); // what has no place of its own
    const inputs fed;
    const auto train = optimizer().minimize(loss_of(network(fed.images), fed.labels));
    const predicted_type predicted = nn::predicted_class(network(fed.images));
    tn::session s(cluster.target("worker", 0), g);
    return t.by_one_session(s, fed, train, predicted);
}
row split_by_columns(const trainer& t) {
    const auto first = nn::column_parallel_dense<300>({devices[0], devices[1]}, nn::relu);
    const auto second = nn::row_parallel_dense<100>({devices[0], devices[1]}, nn::relu);
    const auto flat = nn::flatten();
    const auto last = nn::dense<10>();
    return split(t, [=](const auto& x) { return last(second(first(flat(x)))); });
}

constexpr tn::conv2d_options padded{.padding = tn::same};
auto convolutional_network() {
    return nn::sequential(nn::reshaped_to<28, 28, 1>(), nn::conv2d<8, 5, padded>(nn::relu), nn::max_pool<2>(),
                          nn::conv2d<16, 5, padded>(nn::relu), nn::max_pool<2>(), nn::flatten(),
                          nn::dense<64>(nn::relu), nn::dense<10>());
}
row split_by_layers(const trainer& t) {
    const auto first =
        nn::sequential(nn::reshaped_to<28, 28, 1>(), nn::conv2d<8, 5, padded>(nn::relu), nn::max_pool<2>());
    const auto second = nn::sequential(nn::conv2d<16, 5, padded>(nn::relu), nn::max_pool<2>(), nn::flatten(),
                                       nn::dense<64>(nn::relu), nn::dense<10>());
    return split(t, [=](const auto& x) {
        const auto half = tn::on(devices[0], [&] { return first(x); });
        return tn::on(devices[1], [&] { return second(half); });
    });
}
// Half of the filters of each layer on each worker; the channels meet after each.
row split_by_channels(const trainer& t) {
    const auto first = [] { return nn::sequential(nn::conv2d<4, 5, padded>(nn::relu), nn::max_pool<2>()); };
    const auto second = [] { return nn::sequential(nn::conv2d<8, 5, padded>(nn::relu), nn::max_pool<2>()); };
    const auto a = first(), b = first();
    const auto c = second(), d = second();
    const auto shape = nn::reshaped_to<28, 28, 1>();
    const auto rest = nn::sequential(nn::flatten(), nn::dense<64>(nn::relu), nn::dense<10>());
    return split(t, [=](const auto& x) {
        const auto both = [&](const auto& left, const auto& right, const auto& of) {
            const auto l = tn::on(devices[0], [&] { return left(of); });
            const auto r = tn::on(devices[1], [&] { return right(of); });
            return tn::concat<3>(l, r);
        };
        return rest(both(c, d, both(a, b, shape(x))));
    });
}

row by_pipeline(const trainer& t) {
    const local_cluster cluster = make_cluster();
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto placed = tn::on(devices[0]);
    const inputs fed;
    const auto pipe = tn::pipeline({.micro_batches = 4, .schedule = tn::one_forward_one_backward},
                                   tn::stage(devices[0], nn::flatten(), nn::dense<300>(nn::relu)),
                                   tn::stage(devices[1], nn::dense<100>(nn::relu), nn::dense<10>()));
    const auto loss = [](const auto& logits, const auto& y) {
        return nn::cross_entropy(logits, tn::cast<std::int32_t>(y));
    };
    const auto train = pipe.minimize(optimizer(), loss, fed.images, fed.labels).train;
    const predicted_type predicted = nn::predicted_class(pipe(fed.images));
    tn::session s(cluster.target("worker", 0), g);
    return t.by_one_session(s, fed, train, predicted);
}

options read_options(int argc, char** argv) {
    options o;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i], value = i + 1 < argc ? argv[++i] : "";
        if (name == "--data" && !value.empty()) o.data = value;
        else if (name == "--only" && !value.empty()) o.only = value;
        else if (name == "--epochs" && std::atoi(value.c_str()) > 0) o.epochs = std::atoi(value.c_str());
        else {
            std::fprintf(stderr,
                         "training_at_scale: %s: there is no such option, or its value is missing\n"
                         "training_at_scale [--data DIR] [--epochs N] [--only TEXT]\n",
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
        const std::vector<std::pair<const char*, std::function<row()>>> rows{
            {"alone", [&] { return alone(t, dense_network()); }},
            {"in-graph, asynchronous", [&] { return in_graph_asynchronous(t); }},
            {"in-graph, synchronous", [&] { return in_graph_synchronous(t); }},
            {"between-graph, asynchronous", [&] { return between_graph_asynchronous(t); }},
            {"between-graph, synchronous", [&] { return between_graph_synchronous(t, false); }},
            {"synchronous, slow one, backup", [&] { return between_graph_synchronous(t, true); }},
            {"all-reduce", [&] { return all_reduce(t); }},
            {"split by columns and rows", [&] { return split_by_columns(t); }},
            {"pipeline, 4 micro-batches", [&] { return by_pipeline(t); }},
            {"convolutional, alone", [&] { return alone(t, convolutional_network()); }},
            {"convolutional, split by layers", [&] { return split_by_layers(t); }},
            {"convolutional, by channels", [&] { return split_by_channels(t); }},
        };
        std::printf("2 parameter servers, %d workers, %d samples a step, %d epochs\n", workers, samples, o.epochs);
        std::printf("%-31s %9s %8s %10s %10s %9s %9s\n", "", "accuracy", "steps/s", "samples/s", "staleness",
                    "MB/epoch", "CPU s");
        for (const auto& [name, train] : rows) {
            if (std::string(name).find(o.only) == std::string::npos) continue;
            const row r = train();
            std::printf("%-31s %7.1f %% %8.0f %10.0f %10.2f %9.0f %9.1f%s%s\n", name, 100 * r.accuracy,
                        r.steps / r.seconds, r.steps * samples / r.seconds, r.staleness, r.bytes / 1e6 / o.epochs,
                        r.cpu / o.epochs, r.remark.empty() ? "" : "   ", r.remark.c_str());
            std::fflush(stdout);
        }
    } catch (const tn::error& e) {
        std::fprintf(stderr, "training_at_scale: %s\n", e.what());
        return 1;
    }
    return 0;
}
