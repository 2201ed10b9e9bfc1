// Trains a dense network on Fashion-MNIST with parameter servers, between-graph and asynchronous: each worker is a process with
// a graph of its own, and the variables, which they share, are on the parameter servers.
//
//     tenon launch --ps 2 --worker 2 -- fashion_mnist_cluster --epochs 8
//
// or by srun, mpirun, torchrun, as pods: whatever starts several processes (docs/clusters.md).
// needs: the data set (examples/run.sh brings it)
// links: tenon::net
#include <tenon/debug/summary_hook.hpp>
#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace tn = tenon;
namespace nn = tenon::nn;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

namespace {

struct options {
    std::string data = "/usr/share/datasets/fashion-mnist";
    std::string save;  // what checkpoints are called, below the folder that servers allow; empty: none
    std::string logs;  // a folder; each worker has one below it, for TensorBoard
    std::string trace; // a file, ".json": what worker 0 and the tasks that it uses do in three steps, for Perfetto
    int epochs = 8;    // of all workers together
};

constexpr const char* usage =
    "fashion_mnist_cluster [options], alone or as a task of a cluster (see tenon launch --help)\n"
    "  --data DIR    the folder of the four IDX files, gzipped or not\n"
    "  --epochs N    times that each image is seen, by one worker or another\n"
    "  --save FILE   where the chief saves the variables after each of its epochs; what is there is "
    "gone on from\n"
    "  --logs DIR    what TensorBoard shows: tensorboard --logdir DIR\n"
    "  --trace FILE  what three steps of worker 0 do on all tasks, for https://ui.perfetto.dev\n";

options read_options(int argc, char** argv) {
    options o;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (i + 1 < argc && name == "--data") o.data = argv[++i];
        else if (i + 1 < argc && name == "--save") o.save = argv[++i];
        else if (i + 1 < argc && name == "--logs") o.logs = argv[++i];
        else if (i + 1 < argc && name == "--trace") o.trace = argv[++i];
        else if (i + 1 < argc && name == "--epochs" && std::atoi(argv[i + 1]) > 0) o.epochs = std::atoi(argv[++i]);
        else {
            std::fprintf(stderr, "fashion_mnist_cluster: %s: there is no such option, or its value is missing\n%s",
                         name.c_str(), usage);
            std::exit(2);
        }
    }
    return o;
}

void work(const options& o, const tn::net::member& self) {
    const std::string name = self.job() + " " + std::to_string(self.task());
    const tn::image_data data = tn::load_mnist_like(o.data);

    const auto placed = tn::on(self.placement());
    auto images = tn::placeholder<float, tn::shape<batch, 28, 28>>("images");
    auto labels = tn::placeholder<std::uint8_t, tn::shape<batch>>("labels");
    auto model = nn::sequential(nn::flatten(), nn::dense<300>(nn::relu), nn::dense<100>(nn::relu), nn::dense<10>());
    auto loss = nn::cross_entropy(model(images, nn::training), tn::cast<std::int32_t>(labels));
    auto train = tn::adam(1e-3f).minimize(loss);
    auto predicted = nn::predicted_class(model(images));
    auto stale = tn::staleness(train); // updates of others between what a step read and what it updated

    // Other workers are not needed: one that dies leaves this one training. Where a parameter server dies, the session waits for its
    // next life, and the chief restores the last checkpoint.
    tn::session_options limits{.operation_timeout = 60, .device_filters = self.device_filters()};
    tn::trace traced;
    std::vector<std::shared_ptr<tn::session_hook>> hooks;
    if (!o.logs.empty()) {
        const auto log = std::make_shared<tn::summary_writer>(o.logs + "/replica_" + std::to_string(self.replica()));
        hooks.push_back(tn::summary_hook(log, {.scalars = {{"loss", loss}, {"staleness", stale}}}));
    }
    tn::monitored_session sess({.target = self.target(),
                                .session = limits,
                                .is_chief = self.is_chief(),
                                .checkpoint = o.save,
                                .save_every = {.seconds = 2},
                                .recovery_timeout = 60,
                                .hooks = hooks,
                                .log = [&](const std::string& line) {
                                    std::printf("%s: %s\n", name.c_str(), line.c_str());
                                    std::fflush(stdout);
                                }});

    tn::minibatches batches({.size = 100, .seed = static_cast<std::uint64_t>(self.replica()) + 1},
                            tn::scaled<float>(data.train_images, 1 / 255.0f), data.train_labels);
    const std::int64_t steps = batches.size() * o.epochs / self.replicas(),
                       a_line = std::max<std::int64_t>(steps / 4, 1);
    double sum_of_losses = 0, staleness = 0, crossing = -1;
    auto began = std::chrono::steady_clock::now();
    std::int64_t done = 0;
    const bool traces = !o.trace.empty() && self.replica() == 0 && steps > 103;
    while (done < steps && !sess.should_stop())
        for (auto [x, y] : batches) {
            if (done == steps || sess.should_stop()) break;
            if (traces && done == 100) sess.session().set_trace(&traced);
            if (traces && done == 103) {
                sess.session().set_trace(nullptr);
                traced.save(o.trace);
            }
            try {
                auto [l, s] = sess.run(tn::feed(images, x), tn::feed(labels, y), loss, stale);
                sum_of_losses += static_cast<double>(l.item());
                staleness += static_cast<double>(s.item());
            } catch (const tn::unknown_outcome_error&) {
                continue; // lost with a task, and perhaps applied: it is not repeated
            }
            if (crossing < 0)
                crossing = static_cast<double>(
                    sess.session().explain_placement(tn::feed(images, x), tn::feed(labels, y), train).crossing_bytes());
            if (++done % a_line != 0 && done != steps) continue;
            const std::int64_t since = (done - 1) % a_line + 1;
            const auto now = std::chrono::steady_clock::now();
            const double rate = static_cast<double>(since) / std::chrono::duration<double>(now - began).count();
            std::printf("%s: step %lld of %lld, loss %.3f, %.0f steps/s, staleness %.2f, %.0f MB/s\n", name.c_str(),
                        static_cast<long long>(done), static_cast<long long>(steps),
                        sum_of_losses / static_cast<double>(since), rate, staleness / static_cast<double>(since),
                        rate * crossing / 1e6);
            std::fflush(stdout);
            sum_of_losses = staleness = 0;
            began = now;
        }

    if (sess.should_stop()) {
        sess.close(); // which saves
        return;
    }
    tn::minibatches tests({.size = 500, .shuffle = false}, tn::scaled<float>(data.test_images, 1 / 255.0f),
                          data.test_labels);
    nn::confusion_matrix confusion(10);
    for (auto [x, y] : tests) {
        confusion.add(y, sess.run(tn::feed(images, x), predicted));
    }
    std::printf("%s: test accuracy: %.1f %%\n", name.c_str(), 100 * confusion.accuracy());
    sess.close();
}

} // namespace

int main(int argc, char** argv) {
    try {
        const tn::net::member self = tn::net::join(argc, argv);
        const options o = read_options(argc, argv);
        if (!self.is_parameter_server()) work(o, self);
        return self.finish();
    } catch (const tn::error& e) {
        std::fprintf(stderr, "fashion_mnist_cluster: %s\n", e.what());
        return 1;
    }
}
