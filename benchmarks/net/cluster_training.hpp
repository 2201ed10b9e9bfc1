#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <net/launch/free_ports.hpp>
#include <tenon/net/net.hpp>
#include <tenon/tenon.hpp>

#include "models.hpp"
#include "timing.hpp"

/// A cluster whose tasks are all in this process, on loopback, and the networks that it trains.

namespace cluster_training {

namespace tn = tenon;
using timing::median;

inline double seconds_of(const std::function<void()>& what) {
    const auto began = std::chrono::steady_clock::now();
    what();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// Of so many tasks on loopback.
inline tn::cluster loopback_cluster(int ps, int workers) {
    std::vector<std::string> at;
    for (const int port : tn::net::free_ports("127.0.0.1", ps + workers))
        at.push_back("127.0.0.1:" + std::to_string(port));
    return tn::cluster({{"ps", std::vector<std::string>(at.begin(), at.begin() + ps)},
                        {"worker", std::vector<std::string>(at.begin() + ps, at.end())}});
}

struct tasks {
    tasks(int ps, int workers, const tn::server_options& o = {}) : cluster(loopback_cluster(ps, workers)) {
        for (const std::string& job : cluster.jobs())
            for (const int task : cluster.tasks(job))
                all.emplace(std::pair(job, task), tn::server(cluster, job, task, o));
    }
    tn::cluster cluster;
    std::map<std::pair<std::string, int>, tn::server> all;
};

/// A worker that reads a variable of a parameter server, and one that pushes to it.
class transfer {
public:
    transfer(const std::string& worker, std::int64_t elements) {
        const tn::graph_scope in(graph_);
        const tn::tensor_type type{tn::element_type::float32, {elements}};
        tn::any_tensor there, here, sum;
        {
            const tn::device_scope ps("/job:ps/task:0");
            there = tn::untyped::variable("there" + std::to_string(elements), type, tn::zeros());
        }
        {
            const tn::device_scope own("/job:worker/task:0");
            here = tn::untyped::variable("here" + std::to_string(elements), type, tn::ones());
            sum = tn::untyped::sum(there);
        }
        const tn::any_tensor pushed = tn::untyped::assign_sub(there, here);
        session_.emplace(worker, graph_);
        session_->run(tn::initialize_variables());
        pull_.emplace(session_->callable_untyped({}, {sum}));
        push_.emplace(session_->callable_untyped({}, {}, {pushed.operation()}));
    }
    void pull() { (void)(*pull_)({}); }
    void push() { (void)(*push_)({}); }

private:
    tn::graph graph_;
    std::optional<tn::session> session_;
    std::optional<tn::untyped_callable> pull_, push_;
};

/// Batches of 128.
struct mlp : models::mlp_network {
    static constexpr int batch = 128;
};
/// Batches of 64.
struct convolutional : models::conv_network {
    static constexpr int batch = 64;
};

/// Such a network by plain gradient descent: on a worker of a cluster with its variables on the parameter servers in turn, or in
/// a session of this process; there also data-parallel, as one of several processes.
template <class Network> class training_worker {
    static constexpr int batch = Network::batch;
    using images = typename Network::template images<batch>;

public:
    /// `synchronous`: of so many workers, whose gradients are averaged; 0: by itself. `together`: data-parallel.
    training_worker(const tn::cluster* c, int index, const std::string& target, int synchronous = 0,
                    const std::shared_ptr<tn::collective_group>& together = nullptr) {
        const tn::graph_scope in(graph_);
        const std::string own = "/job:worker/task:" + std::to_string(index);
        std::optional<tn::device_scope> placed;
        if (c) placed.emplace(tn::replica_device_setter(*c, {.worker_device = tn::device_name(own)}));
        const auto x = tn::placeholder<float, images>("x");
        const auto y = tn::placeholder<std::int32_t, tn::shape<batch>>("y");
        auto model = Network::layers();
        const auto loss = [&](auto pictures, auto labels) { return tn::nn::cross_entropy(model(pictures), labels); };
        const auto descent = tn::gradient_descent(0.01f);
        if (synchronous > 0) sync_.emplace(descent, tn::sync_replicas_options{synchronous, synchronous, index});
        const tn::optimizer& how = sync_ ? static_cast<const tn::optimizer&>(*sync_) : descent;
        const tn::operation step = [&] {
            if (!together) return how.minimize(loss(x, y));
            const tn::mirrored_strategy mirrored(together);
            const auto losses = mirrored.run(loss, mirrored.distribute(x), mirrored.distribute(y));
            return mirrored.minimize(descent, losses).train;
        }();
        session_.emplace(c ? tn::session(target, graph_, {.device_filters = {"/job:ps", own}}) : tn::session(graph_));
        if (!c || index == 0) session_->run(tn::initialize_variables());
        std::uint32_t random = 1;
        for (std::int64_t i = 0; i < batch * 784; ++i)
            images_.data()[i] = static_cast<float>((random = random * 1664525u + 1013904223u) >> 8) / 16777216.0f;
        for (std::int64_t i = 0; i < batch; ++i) labels_.data()[i] = static_cast<std::int32_t>(i % 10);
        step_ = [this, run = session_->callable(tn::feeds(x, y), tn::fetches(step))] { run(images_, labels_); };
    }
    training_worker(training_worker&&) = delete;
    /// Once variables have values.
    void begin() {
        if (sync_) applies_.emplace(sync_->start(*session_));
    }
    void step() { step_(); }
    /// Synchronous: averages that were applied.
    std::int64_t applied() { return session_->run(sync_->step())(); }
    /// Where another one still steps it is not waited for.
    void end() {
        if (applies_) applies_->finish();
    }

private:
    tn::graph graph_;
    std::optional<tn::session> session_;
    tn::array<float, images> images_;
    tn::array<std::int32_t, tn::shape<batch>> labels_;
    std::function<void()> step_;
    std::optional<tn::sync_replicas> sync_;
    std::optional<tn::sync_replicas::applying> applies_;
};
using mlp_worker = training_worker<mlp>;

/// Steps a second of so many workers, each a session on its own server and a thread; without tasks in sessions of this process.
/// Synchronous, each of them takes each step.
template <class Network = mlp> double train(const tasks* t, int workers, double for_seconds, bool synchronous = false) {
    std::atomic<bool> stop{false};
    std::atomic<std::int64_t> steps{0};
    std::vector<std::thread> threads;
    std::atomic<int> ready{0};
    for (int w = 0; w < workers; ++w)
        threads.emplace_back([&, w] {
            training_worker<Network> by(t ? &t->cluster : nullptr, w,
                                        t ? t->all.at({"worker", w}).target() : std::string(),
                                        synchronous ? workers : 0);
            ++ready;
            while (ready < workers) std::this_thread::yield();
            by.begin();
            for (int i = 0; i < 20; ++i) by.step();
            ++ready;
            try {
                while (!stop) {
                    by.step();
                    ++steps;
                }
            } catch (const tn::end_of_data_error&) { // synchronous, and another one has finished
            }
            by.end();
        });
    while (ready < 2 * workers) std::this_thread::yield();
    const std::int64_t from = steps;
    const double took = seconds_of([&] { std::this_thread::sleep_for(std::chrono::duration<double>(for_seconds)); });
    const double rate = static_cast<double>(steps - from) / took;
    stop = true;
    for (std::thread& th : threads) th.join();
    return rate;
}

} // namespace cluster_training
