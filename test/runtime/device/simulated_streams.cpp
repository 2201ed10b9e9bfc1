#include <chrono>
#include <stdexcept>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/runtime/device/simulated_streams.hpp>

#include "tests.hpp"

// What the streams of a simulated device do: each in its order, at the same time as others, told to wait by events.

using tn::detail::simulated_machine;
using tn::detail::simulated_streams;
using streams = tn::device_streams;

namespace {

struct follower final : tn::step_monitor {
    bool wanted(int) noexcept override { return !stopped; }
    void ended(int command, std::int64_t begin, std::int64_t end) noexcept override {
        const std::lock_guard lock(guard);
        order.push_back(command);
        seconds.push_back(static_cast<double>(end - begin) * 1e-9);
    }
    void failed(int command, std::exception_ptr) noexcept override {
        failures.push_back(command);
        stopped = true;
    }
    std::mutex guard; // of what follows but `stopped`
    std::vector<int> order, failures;
    std::vector<double> seconds;
    std::atomic<bool> stopped{false};
};

// Adds one to each of n integers.
struct increment final : tn::kernel {
    explicit increment(int* at, double c = 100) : p(at), thought(c) {}
    void run(const tn::kernel_run&) override {
        for (int i = 0; i < 1000; ++i) ++p[i];
    }
    double cost() const override { return thought; }
    int* p;
    double thought;
};
// The same where its output points.
struct increment_output final : tn::kernel {
    void run(const tn::kernel_run& r) override {
        for (int i = 0; i < 1000; ++i) r.output<int>(0)[i] = r.input<int>(0)[i] + 1;
    }
};
struct fails final : tn::kernel {
    void run(const tn::kernel_run&) override { throw std::runtime_error("no"); }
};

struct machine {
    explicit machine(tn::thread_pool* pool, double bandwidth = 0, double latency = 0) :
        shared(std::make_shared<simulated_machine>(pool)), first(shared, bandwidth, latency), second(shared, 0, 0) {}
    std::shared_ptr<simulated_machine> shared;
    simulated_streams first, second;
};

struct flag final : tn::completion {
    void completed(std::exception_ptr) noexcept override { is_set = true; }
    std::atomic<bool> is_set{false};
};

// All that was given has ended when it returns; this thread has worked on it.
void finish(simulated_streams& l, streams::stream which) {
    struct waker final : tn::completion {
        explicit waker(simulated_streams& l) : streams(l) {}
        void completed(std::exception_ptr) noexcept override {
            simulated_streams& of = streams; // this ends once it is set
            is_set = true;
            of.wake();
        }
        simulated_streams& streams;
        std::atomic<bool> is_set{false};
    } reached(l);
    const auto e = l.make_event();
    l.record(which, *e, &reached);
    l.work_until([&] { return reached.is_set.load(); });
}

const tn::kernel_run none{};

} // namespace

TEST_CASE("a stream does what it is given in order, whoever works on it") {
    tn::thread_pool pool(2);
    for (tn::thread_pool* p : {static_cast<tn::thread_pool*>(nullptr), &pool})
        for (const double cost : {100.0, 1e6}) { // the pool is asked for what costs much
            machine m(p);
            follower f;
            std::vector<int> a(1000), b(1000);
            increment k(a.data(), cost);
            for (int i = 0; i < 50; ++i) {
                m.first.launch(streams::compute, k, none, f, 2 * i);
                if (i == 24) m.first.copy(streams::compute, b.data(), a.data(), 4000, f, 1);
            }
            finish(m.first, streams::compute);
            CHECK(a[999] == 50);
            CHECK(b[999] == 25);
            CHECK(f.order.size() == 51);
            CHECK(f.order[25] == 1);
        }
}

TEST_CASE("a stream waits for events of others; what is not told to wait does not") {
    tn::thread_pool pool(2);
    machine m(&pool);
    for (int round = 0; round < 100; ++round) {
        follower f;
        std::vector<int> a(1000), b(1000), c(1000);
        increment k(a.data(), round % 2 ? 1e6 : 10), later(b.data(), 1e6);
        const auto computed = m.first.make_event(), copied = m.first.make_event();
        m.first.launch(streams::compute, k, none, f, 0);
        m.first.record(streams::compute, *computed, nullptr);
        m.first.wait(streams::copies_out, *computed);
        m.first.copy(streams::copies_out, b.data(), a.data(), 4000, f, 1);
        m.first.record(streams::copies_out, *copied, nullptr);
        m.second.wait(streams::compute, *copied);
        m.second.launch(streams::compute, later, none, f, 2);
        m.second.copy(streams::compute, c.data(), b.data(), 4000, f, 3);
        finish(m.second, streams::compute);
        CHECK(c[500] == 2);
        CHECK(f.order == std::vector<int>{0, 1, 2, 3});
    }
}

TEST_CASE("copies take the latency and the bandwidth asked, one after another in a direction") {
    machine m(nullptr, 1e6, 2e-3);
    follower f;
    std::vector<char> from(4000), to(4000);
    const auto began = std::chrono::steady_clock::now();
    m.first.copy(streams::copies_in, to.data(), from.data(), 4000, f, 0); // 2 ms and 4 ms
    m.first.copy(streams::copies_in, to.data(), from.data(), 0, f, 1);    // 2 ms
    m.first.copy(streams::copies_out, from.data(), to.data(), 0, f, 2);   // the other way
    finish(m.first, streams::copies_in);
    finish(m.first, streams::copies_out);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    CHECK(took.count() >= 8e-3);
    REQUIRE(f.order.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(f.seconds[i] >= (f.order[i] == 0 ? 6e-3 : 2e-3));
}

TEST_CASE("what is recorded begins when it is given, each time anew, in its order over all streams, with the pointers "
          "of then") {
    machine m(nullptr, 0, 1e-4); // copies sleep
    std::vector<int> host(1000, 1), device(1000), back(1000);
    increment_output once;
    const void* in[] = {device.data()};
    void* out[] = {device.data()};
    tn::kernel_run pointers{in, out, nullptr, nullptr};
    tn::device_streams* const all[] = {&m.first};
    const auto recorder = m.first.begin_recording(all);
    recorder->copy(streams::copies_in, device.data(), host.data(), 1000 * sizeof(int), 7);
    recorder->mark(streams::copies_in, 7);
    recorder->wait(streams::compute, 7);
    recorder->launch(streams::compute, once, pointers, 1, 1, 8);
    recorder->mark(streams::compute, 8);
    recorder->wait(streams::copies_out, 8);
    recorder->copy(streams::copies_out, back.data(), device.data(), 1000 * sizeof(int), 9);
    const auto recorded = recorder->end(nullptr);
    in[0] = out[0] = nullptr;
    CHECK(device[0] == 0);
    const tn::step step;
    for (int i = 0; i < 3; ++i) {
        follower f;
        std::iota(host.begin(), host.end(), i);
        m.first.replay(*recorded, step, f);
        finish(m.first, streams::compute); // comes after all of it
        CHECK(f.order == std::vector<int>{7, 8, 9});
        CHECK(back[999] == 1000 + i);
    }
    follower stopped;
    stopped.stopped = true;
    std::iota(host.begin(), host.end(), 50);
    m.first.replay(*recorded, step, stopped);
    finish(m.first, streams::compute);
    CHECK(stopped.order.empty());
    CHECK(back[999] == 1002);
}

TEST_CASE("what follows a failure in a step is skipped, and another step on the same stream goes on") {
    machine m(nullptr);
    follower f, other;
    std::vector<int> a(1000), b(1000);
    increment k(a.data()), l(b.data());
    fails bad;
    m.first.launch(streams::compute, k, none, f, 0);
    m.first.launch(streams::compute, bad, none, f, 1);
    m.first.launch(streams::compute, k, none, f, 2);
    m.first.launch(streams::compute, l, none, other, 0);
    finish(m.first, streams::compute);
    CHECK(a[0] == 1);
    CHECK(b[0] == 1);
    CHECK(f.failures == std::vector<int>{1});
    CHECK(other.failures.empty());
}
