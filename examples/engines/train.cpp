// The program that everything in this folder starts, unchanged: it fits a line, and could as well be yours. Each process reads its
// share of the points; the variables are on the parameter servers, if there are some; whoever comes back goes on from the checkpoint.
//
//     train [--steps N] [--slope A] [--checkpoint DIR/NAME] [--pause MILLISECONDS] [flags of tn::net::join]
//
#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

namespace {

struct options {
    std::int64_t steps = 500; // of all processes together
    float slope = 3;          // of the line that the points are on
    std::string checkpoint;   // empty: none
    int pause = 0;            // between steps, as a larger model would take longer
};

options read_options(int argc, char** argv) {
    options o;
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (i + 1 < argc && name == "--steps") o.steps = std::atoll(argv[++i]);
        else if (i + 1 < argc && name == "--slope") o.slope = std::strtof(argv[++i], nullptr);
        else if (i + 1 < argc && name == "--checkpoint") o.checkpoint = argv[++i];
        else if (i + 1 < argc && name == "--pause") o.pause = std::atoi(argv[++i]);
        else throw tn::invalid_argument_error(name + ": there is no such option, or its value is missing");
    }
    return o;
}

void train(const tn::net::member& self, const options& o) {
    const auto placed = tn::on(self.placement());
    const auto x = tn::placeholder<float, tn::shape<batch>>("x");
    const auto y = tn::placeholder<float, tn::shape<batch>>("y");
    const auto slope = tn::variable("slope", 0.0f);
    const auto offset = tn::variable("offset", 0.0f);
    const auto step = tn::global_step();
    const auto loss = tn::nn::mean_squared_error(slope * x + offset, y);
    const auto update = tn::gradient_descent(0.1).minimize(loss);

    tn::array<float> xs(tn::extents{32}), ys(tn::extents{32}); // this replica's share
    for (int i = 0; i < 32; ++i) {
        xs(i) = static_cast<float>(i * self.replicas() + self.replica()) / static_cast<float>(16 * self.replicas()) - 1;
        ys(i) = o.slope * xs(i) - 1;
    }

    const std::string name = self.job() + " " + std::to_string(self.task());
    const auto say = [&name](const std::string& line) {
        std::printf("%s: %s\n", name.c_str(), line.c_str());
        std::fflush(stdout);
    };
    tn::session_options limits{.device_filters = self.device_filters()};
    tn::monitored_session sess({.target = self.target(),
                                .session = limits,
                                .is_chief = self.is_chief(),
                                .checkpoint = o.checkpoint,
                                .save_every = {.seconds = 30},
                                .hooks = {tn::stop_at_step(o.steps)},
                                .log = say});
    say("replica " + std::to_string(self.replica()) + " of " + std::to_string(self.replicas()) + " begins at step " +
        std::to_string(sess.session().run(step)()));
    sess.loop([&] {
        sess.run(tn::feed(x, xs), tn::feed(y, ys), update);
        if (o.pause > 0) std::this_thread::sleep_for(std::chrono::milliseconds(o.pause));
    });
    const auto [a, b, done] = sess.session().run(slope, offset, step);
    char line[100];
    std::snprintf(line, sizeof line, "y = %.2f x %+.2f at step %lld", static_cast<double>(a()),
                  static_cast<double>(b()), static_cast<long long>(done()));
    say(line);
    sess.close();
}

} // namespace

int main(int argc, char** argv) {
    try {
        const tn::net::member self = tn::net::join(argc, argv);
        const options o = read_options(argc, argv);
        if (self.is_parameter_server()) return self.serve();
        train(self, o);
        return self.finish();
    } catch (const tn::error& e) {
        std::fprintf(stderr, "train: %s\n", e.what());
        return tn::stop_signal() ? 128 + tn::stop_signal() : 1; // who asked it to stop knows that it has
    }
}
