// A cluster on loopback, all of its tasks in this process, beside raw sockets between threads of it, in turns: a trivial step on a
// worker and through it on a parameter server (P9; with how often threads were switched for it, which a busy machine changes
// little), reading and updating variables of 1 to 256 MB, through shared memory and by TCP alone (P10), and the MLP
// 784-300-100-10, batch 128, trained asynchronously on two parameter servers by one worker and by two, beside the same steps in
// sessions of this process with the bytes' time at the rates of raw sockets added (P11); synchronous steps of two workers, of the MLP
// and of a convolutional network, beside the same (P17). Medians of the rounds.
//
//   net_cluster [ROUNDS]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>

#include "cluster_training.hpp"
#include "raw_sockets.hpp"

namespace tn = tenon;

namespace {

using namespace cluster_training;

using scalar = tn::shape<>;

// Of all threads of this process, so far.
double switches() {
    rusage all{};
    (void)::getrusage(RUSAGE_SELF, &all);
    return static_cast<double>(all.ru_nvcsw + all.ru_nivcsw);
}

// Blocking sockets: who is asked reads `question` bytes and answers `answer` bytes.
class raw_pair {
public:
    raw_pair(std::size_t question, std::size_t answer) : question_(question), answer_(answer) {
        answering_ = std::thread([this] {
            std::vector<char> in(question_), out(answer_);
            while (raw::read_all(ends_.there, in.data(), in.size())) write_all(ends_.there, out);
        });
    }
    ~raw_pair() {
        ::shutdown(ends_.here, SHUT_RDWR);
        answering_.join();
    }
    void ask() {
        static std::vector<char> out, in;
        out.resize(question_);
        in.resize(answer_);
        write_all(ends_.here, out);
        raw::require(raw::read_all(ends_.here, in.data(), in.size()), "read");
    }

private:
    static void write_all(int to, const std::vector<char>& from) {
        for (std::size_t at = 0; at < from.size();) {
            const ssize_t put = ::write(to, from.data() + at, from.size() - at);
            raw::require(put > 0, "write");
            at += static_cast<std::size_t>(put);
        }
    }
    const std::size_t question_, answer_;
    raw::connected ends_;
    std::thread answering_;
};

struct beside {
    std::vector<double> ours, theirs;
};

// Many times in a row: seconds of one, and switches.
struct rounds_of {
    std::vector<double> took, switched;
    void add(int times, const std::function<void()>& what) {
        const double before = switches();
        took.push_back(seconds_of([&] {
                           for (int i = 0; i < times; ++i) what();
                       }) /
                       times);
        switched.push_back((switches() - before) / times);
    }
};

void trivial_steps(const tasks& t, int rounds) {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto x = tn::placeholder<float, scalar>("x");
    const auto on_worker = tn::on("/job:worker/task:0", [&] { return x + 1.0f; });
    const auto on_ps = tn::on("/job:ps/task:0", [&] { return x + 2.0f; });
    tn::session sess(t.all.at({"worker", 0}).target(), g);
    auto near = sess.callable(tn::feeds(x), tn::fetches(on_worker));
    auto far = sess.callable(tn::feeds(x), tn::fetches(on_ps));
    raw_pair raw(64, 64);
    rounds_of worker, ps, sockets;
    for (int r = 0; r < rounds; ++r) {
        worker.add(200, [&] { (void)near(1.0f); });
        ps.add(200, [&] { (void)far(1.0f); });
        sockets.add(200, [&] { raw.ask(); });
    }
    const auto tell = [&](const char* name, const rounds_of& ours) {
        const double a = median(ours.took) * 1e6, b = median(sockets.took) * 1e6;
        std::printf("%-40s %9.2f us, %4.1f switches   raw sockets %9.2f us, %4.1f   ratio %5.2f\n", name, a,
                    median(ours.switched), b, median(sockets.switched), a / b);
        std::fflush(stdout);
    };
    tell("P9 run x + 1 on a worker", worker);
    tell("P9 through it on a parameter server", ps);
}

// Bytes a second.
struct raw_rates {
    double read, write;
};

// What a push does where the variable is, in a session of this process.
std::vector<double> updates_alone(int rounds, std::int64_t elements) {
    const tn::graph g;
    const tn::graph_scope in(g);
    const tn::tensor_type type{tn::element_type::float32, {elements}};
    const tn::any_tensor there = tn::untyped::variable("there", type, tn::zeros());
    const tn::any_tensor pushed = tn::untyped::assign_sub(there, tn::untyped::variable("here", type, tn::ones()));
    tn::session sess(g);
    sess.run(tn::initialize_variables());
    auto update = sess.callable_untyped({}, {}, {pushed.operation()});
    std::vector<double> all;
    for (int r = -2; r < rounds; ++r) {
        const double took = seconds_of([&] { (void)update({}); });
        if (r >= 0) all.push_back(took);
    }
    return all;
}

raw_rates transfers(const tasks& shared, const tasks& apart, int rounds, std::int64_t elements) {
    const std::string at_worker = shared.all.at({"worker", 0}).target();
    transfer by_memory(at_worker, elements), by_tcp(apart.all.at({"worker", 0}).target(), elements);
    const auto bytes = static_cast<std::size_t>(elements) * 4;
    raw_pair reading(64, bytes), writing(bytes, 64);
    struct {
        std::vector<double> memory, tcp, raw;
    } read, write;
    for (int r = -2; r < rounds; ++r) { // the first come before there is memory that is shared
        if (r == 0) read = write = {};
        read.memory.push_back(seconds_of([&] { by_memory.pull(); }));
        read.tcp.push_back(seconds_of([&] { by_tcp.pull(); }));
        read.raw.push_back(seconds_of([&] { reading.ask(); }));
        write.memory.push_back(seconds_of([&] { by_memory.push(); }));
        write.tcp.push_back(seconds_of([&] { by_tcp.push(); }));
        write.raw.push_back(seconds_of([&] { writing.ask(); }));
    }
    const double mega = static_cast<double>(bytes) / 1e6;
    const auto tell = [&](const char* what, const auto& each) {
        const auto rate = [&](const std::vector<double>& of) { return mega / 1e3 / median(of); };
        const double memory = rate(each.memory), tcp = rate(each.tcp), raw = rate(each.raw);
        std::printf("P10 a worker %s %3.0f MB   shared memory %6.2f GB/s, TCP %6.2f, raw sockets %6.2f   of TCP %5.2f, "
                    "TCP of raw %5.2f\n",
                    what, mega, memory, tcp, raw, memory / tcp, tcp / raw);
        std::fflush(stdout);
    };
    tell("reads ", read);
    tell("writes", write);
    std::printf("    of which the update itself takes %.2f ms, in a session of this process\n",
                1e3 * median(updates_alone(rounds, elements)));
    return {static_cast<double>(bytes) / median(read.raw), static_cast<double>(bytes) / median(write.raw)};
}

constexpr double mlp_bytes = 266'610 * 4, convolutional_bytes = 857'738 * 4;

// Seconds that reading and writing so many bytes takes.
double moving(double bytes, raw_rates raw) { return bytes / raw.read + bytes / raw.write; }

// Beside what the same steps would do if nothing but their bytes, at the rates of raw sockets, came on top of one process's.
void asynchronous(const tasks& t, int rounds, raw_rates raw) {
    std::vector<double> here[2], there[2];
    for (int r = 0; r < rounds; ++r)
        for (int w = 0; w < 2; ++w) {
            here[w].push_back(train(nullptr, w + 1, 1));
            there[w].push_back(train(&t, w + 1, 1));
        }
    const double moved = moving(mlp_bytes, raw);
    std::printf(
        "P11 MLP, batch 128, 2 ps: a step reads %.2f MB and writes as many, %.2f ms at the rates of raw sockets\n",
        mlp_bytes / 1e6, moved * 1e3);
    for (int w = 0; w < 2; ++w) {
        const double workers = w + 1, is = median(there[w]), alone = median(here[w]);
        const double could = workers / (workers / alone + moved);
        std::printf(
            "P11 %d worker%s %8.0f steps/s   one process %6.0f, less the bytes %6.0f   ratio %5.2f, target 0.80\n",
            w + 1, w ? "s" : " ", is, alone, could, is / could);
    }
    std::printf(
        "P11 two workers together, of one                     %5.2f                                     target 1.70\n",
        median(there[1]) / median(there[0]));
}

// Beside a step of two sessions at once, each with its share of the cores, and the bytes.
template <class Network> void synchronous(const char* name, double bytes, const tasks& t, int rounds, raw_rates raw) {
    std::vector<double> own, together;
    for (int r = 0; r < rounds; ++r) {
        own.push_back(train<Network>(nullptr, 2, 2));
        together.push_back(train<Network>(&t, 2, 2, true));
    }
    const double alone = 2 / median(own), step = 2 / median(together), least = alone + moving(bytes, raw);
    std::printf(
        "P17 2 workers, synchronous, %-13s a step %6.2f ms   a worker's own, beside the other %6.2f, with its %.1f "
        "MB %6.2f   ratio %5.2f, target 1.15\n",
        name, step * 1e3, alone * 1e3, 2 * bytes / 1e6, least * 1e3, step / least);
}

} // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 9;
    const tasks t(2, 2);
    trivial_steps(t, rounds);
    raw_rates raw{};
    {
        const tasks apart(1, 1, {.shared_memory = false});
        for (const std::int64_t elements : {250'000, 1'000'000, 16'000'000, 64'000'000}) {
            const raw_rates here = transfers(t, apart, rounds, elements);
            if (elements == 250'000) raw = here;
        }
    }
    const int of_training = std::max(1, rounds / 3);
    asynchronous(t, of_training, raw);
    synchronous<cluster_training::mlp>("MLP", mlp_bytes, t, of_training, raw);
    const tasks others(2, 2); // whose variables have the same names
    synchronous<cluster_training::convolutional>("convolutional", convolutional_bytes, others, of_training, raw);
}
