// A cluster on loopback, all of its tasks in this process, beside raw sockets between threads of it, in turns: a trivial step on a
// worker and through it on a parameter server (P9), reading and updating variables of 1 and 64 MB (P10), and the MLP
// 784-300-100-10, batch 128, trained asynchronously on two parameter servers by one worker and by two, beside the same step in a
// session of this process (P11). Medians of the rounds.
//
//   net_cluster [ROUNDS]

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;
namespace nn = tenon::nn;

namespace {

using scalar = tn::shape<>;

double seconds_of(const std::function<void()>& what) {
    const auto began = std::chrono::steady_clock::now();
    what();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}
double median(std::vector<double> all) {
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    return all[all.size() / 2];
}

void require(bool done, const char* what) {
    if (done) return;
    std::perror(what);
    std::exit(1);
}

int listening(sockaddr_in& at) {
    const int s = ::socket(AF_INET, SOCK_STREAM, 0);
    at = {};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    require(::bind(s, reinterpret_cast<sockaddr*>(&at), size) == 0, "bind");
    require(::listen(s, 4) == 0, "listen");
    (void)::getsockname(s, reinterpret_cast<sockaddr*>(&at), &size);
    return s;
}

// Blocking sockets: who is asked reads `question` bytes and answers `answer` bytes.
class raw_pair {
public:
    raw_pair(std::size_t question, std::size_t answer) : question_(question), answer_(answer) {
        sockaddr_in at{};
        const int l = listening(at);
        ask_ = ::socket(AF_INET, SOCK_STREAM, 0);
        require(::connect(ask_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0, "connect");
        told_ = ::accept(l, nullptr, nullptr);
        ::close(l);
        const int one = 1;
        for (const int s : {ask_, told_}) (void)::setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        answering_ = std::thread([this] {
            std::vector<char> in(question_), out(answer_);
            while (read_all(told_, in)) write_all(told_, out);
        });
    }
    ~raw_pair() {
        ::shutdown(ask_, SHUT_RDWR);
        answering_.join();
        ::close(ask_);
        ::close(told_);
    }
    void ask() {
        static std::vector<char> out, in;
        out.resize(question_);
        in.resize(answer_);
        write_all(ask_, out);
        require(read_all(ask_, in), "read");
    }

private:
    static bool read_all(int from, std::vector<char>& to) {
        for (std::size_t at = 0; at < to.size();) {
            const ssize_t got = ::read(from, to.data() + at, to.size() - at);
            if (got <= 0) return false;
            at += static_cast<std::size_t>(got);
        }
        return true;
    }
    static void write_all(int to, const std::vector<char>& from) {
        for (std::size_t at = 0; at < from.size();) {
            const ssize_t put = ::write(to, from.data() + at, from.size() - at);
            require(put > 0, "write");
            at += static_cast<std::size_t>(put);
        }
    }
    const std::size_t question_, answer_;
    int ask_ = -1, told_ = -1;
    std::thread answering_;
};

// Addresses that nobody listens on.
std::vector<std::string> free_addresses(int count) {
    std::vector<int> sockets;
    std::vector<std::string> all;
    for (int i = 0; i < count; ++i) {
        sockaddr_in at{};
        sockets.push_back(listening(at));
        all.push_back("127.0.0.1:" + std::to_string(ntohs(at.sin_port)));
    }
    for (const int s : sockets) ::close(s);
    return all;
}

struct tasks {
    tasks(int ps, int workers) {
        const std::vector<std::string> at = free_addresses(ps + workers);
        cluster = tn::cluster({{"ps", std::vector<std::string>(at.begin(), at.begin() + ps)},
                               {"worker", std::vector<std::string>(at.begin() + ps, at.end())}});
        for (const std::string& job : cluster.jobs())
            for (const int task : cluster.tasks(job)) all.emplace(std::pair(job, task), tn::server(cluster, job, task));
    }
    tn::cluster cluster;
    std::map<std::pair<std::string, int>, tn::server> all;
};

struct beside {
    std::vector<double> ours, theirs;
    void tell(const char* name, const char* unit, double scale) const {
        const double a = median(ours) * scale, b = median(theirs) * scale;
        std::printf("%-52s %9.2f %-5s  raw sockets %9.2f   ratio %5.2f\n", name, a, unit, b, a / b);
        std::fflush(stdout);
    }
};

void trivial_steps(const tasks& t, int rounds) {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto x = tn::placeholder<float, scalar>("x");
    tn::tensor<float, scalar> on_worker, on_ps;
    {
        const tn::device_scope there("/job:worker/task:0");
        on_worker = x + 1.0f;
    }
    {
        const tn::device_scope there("/job:ps/task:0");
        on_ps = x + 2.0f;
    }
    tn::session sess(t.all.at({"worker", 0}).target(), g);
    auto near = sess.callable(tn::feeds(x), tn::fetches(on_worker));
    auto far = sess.callable(tn::feeds(x), tn::fetches(on_ps));
    raw_pair raw(64, 64);
    constexpr int each = 200;
    beside a, b;
    for (int r = 0; r < rounds; ++r) {
        a.ours.push_back(seconds_of([&] {
                             for (int i = 0; i < each; ++i) (void)near(1.0f);
                         }) /
                         each);
        b.ours.push_back(seconds_of([&] {
                             for (int i = 0; i < each; ++i) (void)far(1.0f);
                         }) /
                         each);
        a.theirs.push_back(seconds_of([&] {
                               for (int i = 0; i < each; ++i) raw.ask();
                           }) /
                           each);
        b.theirs.push_back(a.theirs.back());
    }
    a.tell("P9 run x + 1 on a worker", "us", 1e6);
    b.tell("P9 through it on a parameter server", "us", 1e6);
}

void transfers(const tasks& t, int rounds, std::int64_t elements) {
    const tn::graph g;
    const tn::graph_scope in(g);
    const tn::tensor_type type{tn::element_type::float32, {elements}};
    tn::any_tensor there, here, sum;
    {
        const tn::device_scope ps("/job:ps/task:0");
        there = tn::untyped::variable("there" + std::to_string(elements), type, tn::zeros());
    }
    {
        const tn::device_scope worker("/job:worker/task:0");
        here = tn::untyped::variable("here" + std::to_string(elements), type, tn::ones());
        sum = tn::untyped::sum(there);
    }
    const tn::any_tensor pushed = tn::untyped::assign_sub(there, here);
    tn::session sess(t.all.at({"worker", 0}).target(), g);
    sess.run(tn::initialize_variables());
    auto pull = sess.callable_untyped({}, {sum});
    auto push = sess.callable_untyped({}, {}, {pushed.operation()});
    const auto bytes = static_cast<std::size_t>(elements) * 4;
    raw_pair reading(64, bytes), writing(bytes, 64);
    beside read, write;
    for (int r = 0; r < rounds; ++r) {
        read.ours.push_back(seconds_of([&] { (void)pull({}); }));
        read.theirs.push_back(seconds_of([&] { reading.ask(); }));
        write.ours.push_back(seconds_of([&] { (void)push({}); }));
        write.theirs.push_back(seconds_of([&] { writing.ask(); }));
    }
    const double mega = static_cast<double>(bytes) / 1e6;
    const auto tell = [&](const char* what, const beside& each) {
        const double ours = mega / 1e3 / median(each.ours), theirs = mega / 1e3 / median(each.theirs);
        std::printf("P10 a worker %s %3.0f MB                          %9.2f GB/s   raw sockets %9.2f   ratio %5.2f\n",
                    what, mega, ours, theirs, ours / theirs);
        std::fflush(stdout);
    };
    tell("reads ", read);
    tell("writes", write);
}

// Steps a second of so many workers, each a session on its own server and a thread.
double train(const tasks* t, int workers, double for_seconds) {
    std::atomic<bool> stop{false};
    std::atomic<std::int64_t> steps{0};
    std::vector<std::thread> threads;
    std::atomic<int> ready{0};
    for (int w = 0; w < workers; ++w)
        threads.emplace_back([&, w] {
            const tn::graph g;
            const tn::graph_scope in(g);
            const std::string own = "/job:worker/task:" + std::to_string(w);
            std::optional<tn::device_scope> placed;
            if (t) placed.emplace(tn::replica_device_setter(t->cluster, {.worker_device = tn::device_name(own)}));
            const auto x = tn::placeholder<float, tn::shape<128, 784>>("x");
            const auto y = tn::placeholder<std::int32_t, tn::shape<128>>("y");
            auto model = nn::sequential(nn::dense<300>(nn::relu), nn::dense<100>(nn::relu), nn::dense<10>());
            const auto loss = nn::cross_entropy(model(x), y);
            const auto step_op = tn::gradient_descent(0.01f).minimize(loss);
            tn::session sess =
                t ? tn::session(t->all.at({"worker", w}).target(), g, {.device_filters = {"/job:ps", own}})
                  : tn::session(g);
            if (w == 0) sess.run(tn::initialize_variables());
            tn::array<float, tn::shape<128, 784>> images;
            tn::array<std::int32_t, tn::shape<128>> labels;
            std::uint32_t random = 1;
            for (std::int64_t i = 0; i < 128 * 784; ++i)
                images.data()[i] = static_cast<float>((random = random * 1664525u + 1013904223u) >> 8) / 16777216.0f;
            for (std::int64_t i = 0; i < 128; ++i) labels.data()[i] = static_cast<std::int32_t>(i % 10);
            auto step = sess.callable(tn::feeds(x, y), tn::fetches(step_op));
            ++ready;
            while (ready < workers) std::this_thread::yield();
            for (int i = 0; i < 20; ++i) step(images, labels);
            ++ready;
            while (!stop) {
                step(images, labels);
                ++steps;
            }
        });
    while (ready < 2 * workers) std::this_thread::yield();
    const std::int64_t from = steps;
    const double took = seconds_of([&] { std::this_thread::sleep_for(std::chrono::duration<double>(for_seconds)); });
    const double rate = static_cast<double>(steps - from) / took;
    stop = true;
    for (std::thread& th : threads) th.join();
    return rate;
}

} // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 9;
    const tasks t(2, 2);
    trivial_steps(t, rounds);
    transfers(t, rounds, 250'000);
    transfers(t, rounds, 16'000'000);
    std::vector<double> one, two, here;
    for (int r = 0; r < std::max(1, rounds / 3); ++r) {
        here.push_back(train(nullptr, 1, 1));
        one.push_back(train(&t, 1, 1));
        two.push_back(train(&t, 2, 1));
    }
    std::printf("P11 MLP, batch 128: %.0f steps/s in one session, %.0f with one worker and 2 ps (%.2f), %.0f with two "
                "(%.2f of one)\n",
                median(here), median(one), median(one) / median(here), median(two), median(two) / median(one));
}
