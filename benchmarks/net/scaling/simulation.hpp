#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include <net/transport/simulated/simulated.hpp>

#include "models.hpp"

/// Asynchronous training on parameter servers over a simulated network: the messages of Tenon's steps, whose kernels and whose handling
/// of messages take simulated time on the cores of simulated machines.

namespace scaling {

namespace net = tenon::net;

/// Of one machine, in seconds of a core where nothing else is said.
struct costs {
    int cores = 2;
    double message = 20e-6;      ///< a message, sent and received, at both ends together
    double step = 20e-6;         ///< of the worker, for each step: client, master
    double beside = 0;           ///< of the worker, while it computes: threads that wait awake, or are woken
    double pull_byte = 0.5e-9;   ///< of a variable read, sent and received, at both ends together
    double push_byte = 0.5e-9;   ///< of a gradient
    double update_byte = 0.2e-9; ///< of a variable updated
    double pull_stream = 2.5e9;  ///< bytes a second that one connection brings by itself, of a variable read
    double push_stream = 2.5e9;  ///< of a gradient
    double wake = 20e-6;         ///< until a thread that sleeps runs on a core that is idle
};

struct network {
    std::string name;
    double card = std::numeric_limits<double>::infinity(); ///< bytes per second each way, of each machine
    double latency = 0;                                    ///< seconds one way
    bool one_machine = false;                              ///< all tasks are on one
};

/// Cores, and what waits for one: first come, first served.
class machine {
public:
    machine(net::simulated_network& n, int cores) : net_(n), free_(cores) {}
    void work(double seconds, std::function<void()> then) {
        if (free_ > 0) begin(seconds, std::move(then));
        else waiting_.emplace_back(seconds, std::move(then));
    }
    bool has_idle_core() const noexcept { return free_ > 0; }
    double busy = 0; ///< core seconds

private:
    void begin(double seconds, std::function<void()> then) {
        --free_;
        net_.call_at(net_.now() + net::seconds_of(seconds), [this, seconds, then = std::move(then)] {
            busy += seconds;
            ++free_;
            if (!waiting_.empty()) {
                auto next = std::move(waiting_.front());
                waiting_.pop_front();
                begin(next.first, std::move(next.second));
            }
            then();
        });
    }
    net::simulated_network& net_;
    int free_;
    std::deque<std::pair<double, std::function<void()>>> waiting_;
};

/// How much of the measured time was taken of what was busiest of each kind; of the workers' arithmetic, on average.
struct training_result {
    double steps_per_second = 0, bytes_per_second = 0;
    double worker_compute = 0, worker_card = 0, ps_card = 0, ps_cores = 0, variable = 0;
    double cores_per_step = 0; ///< seconds of cores, of all machines
};

/// Of one worker's step: between the worker and each parameter server that holds pieces of variables, a call to run its part and the
/// reply; of each piece its value, its gradient and the sign that it is updated. Then the step counter, which is on one of them:
/// a sign that it may count, and one that it has.
struct step_messages {
    double messages = 0, bytes = 0; ///< bytes of values and gradients
};
inline step_messages to_and_from(const std::vector<std::vector<piece>>& layers, int ps, bool counts, bool to_ps) {
    step_messages sum{1, 0}; // run_part, or its reply
    for (const auto& l : layers)
        for (const piece& p : l)
            if (p.ps == ps) {
                sum.messages += to_ps ? 1 : 2;
                sum.bytes += p.bytes;
            }
    if (counts) ++sum.messages;
    return sum;
}
/// Where the step counter is, which is made last.
inline int counter_of(const std::vector<std::vector<piece>>& layers, int ps, placing how) {
    std::vector<double> load(static_cast<std::size_t>(ps), 0);
    std::size_t made = 0;
    for (const auto& l : layers)
        for (const piece& p : l) load[static_cast<std::size_t>(p.ps)] += p.bytes, ++made;
    if (how == placing::round_robin) return static_cast<int>(made % load.size());
    return static_cast<int>(std::min_element(load.begin(), load.end()) - load.begin());
}

class simulated_training {
public:
    simulated_training(const model& m, const costs& c, const network& n, int ps, int workers, placing how) :
        model_(m), costs_(c), network_(n), net_(1, {net::seconds_of(n.latency), {}, 1e15}), pieces_(place(m, ps, how)) {
        net_.share_arrays(true);
        for (int t = 0; t < ps + workers; ++t)
            add_task(t < ps ? "ps" + std::to_string(t) : "w" + std::to_string(t - ps));
        ps_ = ps;
        counter_ = counter_of(pieces_, ps, how);
        tasks_[static_cast<std::size_t>(counter_)]->holds = true;
        for (auto& l : pieces_)
            for (const piece& p : l) {
                numbers_.emplace_back(p);
                tasks_[static_cast<std::size_t>(p.ps)]->holds = true;
            }
        for (int w = 0; w < workers; ++w) {
            auto& x = workers_.emplace_back(std::make_unique<worker>());
            x->self = tasks_[static_cast<std::size_t>(ps + w)].get();
            for (int p = 0; p < ps; ++p)
                if (tasks_[static_cast<std::size_t>(p)]->holds) connect(*tasks_[static_cast<std::size_t>(p)], *x->self);
        }
        net_.work_for(std::chrono::seconds(1));
    }
    ~simulated_training() {
        for (auto& t : tasks_) t->to.clear();
    }

    /// Workers begin within `cycle` seconds. `before` steps are not measured, then so many are.
    training_result run(double cycle, int before, int measured) {
        for (auto& w : workers_)
            net_.call_at(net_.now() + net::seconds_of(cycle * unit_(random_)), [this, &w] { begin_step(*w); });
        work_until(before);
        const std::int64_t from = steps_;
        const net::time_point began = net_.now();
        const double bytes = bytes_;
        std::vector<double> cores, in, out, locks, computed;
        for (auto& t : tasks_) cores.push_back(t->on->busy), in.push_back(t->in), out.push_back(t->out);
        for (auto& v : numbers_) locks.push_back(v.busy);
        for (auto& w : workers_) computed.push_back(w->computed);
        work_until(from + measured);
        const double took = std::chrono::duration<double>(net_.now() - began).count();
        training_result r{.steps_per_second = static_cast<double>(steps_ - from) / took,
                          .bytes_per_second = (bytes_ - bytes) / took};
        const auto most = [&](double& of, double is) { of = std::max(of, is / took); };
        for (std::size_t t = 0; t < tasks_.size(); ++t) {
            const bool is_ps = t < static_cast<std::size_t>(ps_);
            const double most_way = std::max(tasks_[t]->in - in[t], tasks_[t]->out - out[t]);
            most(is_ps ? r.ps_card : r.worker_card, most_way / network_.card);
            if (is_ps) most(r.ps_cores, (tasks_[t]->on->busy - cores[t]) / costs_.cores);
        }
        for (std::size_t v = 0; v < numbers_.size(); ++v) most(r.variable, numbers_[v].busy - locks[v]);
        double sum = 0;
        for (std::size_t w = 0; w < workers_.size(); ++w) sum += workers_[w]->computed - computed[w];
        for (std::size_t i = 0; i < (network_.one_machine ? 1 : tasks_.size()); ++i)
            r.cores_per_step += (tasks_[i]->on->busy - cores[i]) / static_cast<double>(steps_ - from);
        r.worker_compute = sum / took / static_cast<double>(workers_.size());
        return r;
    }
    std::uint64_t events() const { return net_.events(); }

private:
    struct task {
        std::string name;
        std::shared_ptr<machine> on;
        net::transport* process = nullptr;
        std::unique_ptr<net::listener> listening;
        std::unordered_map<const task*, std::shared_ptr<net::connection>> to;
        bool holds = false;
        double in = 0, out = 0; // bytes
    };
    struct worker {
        task* self = nullptr;
        std::vector<int> missing;  // pieces that a layer waits for, by layer
        std::vector<int> updating; // updates that a parameter server still has to do, by its number
        std::size_t next = 0;      // layer of the forward pass
        bool computes = false;
        int signs = 0;   // of updates, that have not come
        int replies = 0; // and the counter's sign
        double jitter = 1, computed = 0;
    };
    // A piece of a variable where it is: one update at a time.
    struct held_piece {
        explicit held_piece(const piece& p) : bytes(p.bytes), ps(p.ps) {}
        double bytes;
        int ps;
        bool is_updated = false;
        std::deque<std::function<void()>> waiting;
        double busy = 0;
    };
    struct end final : net::connection_user {
        explicit end(simulated_training& t) : all(t) {}
        void received(net::message m) override { all.arrived(m.request); }
        void closed(const std::string&) override {}
        simulated_training& all;
    };

    void add_task(const std::string& name) {
        auto t = std::make_unique<task>();
        t->name = name;
        t->on = network_.one_machine && !tasks_.empty() ? tasks_[0]->on : std::make_shared<machine>(net_, costs_.cores);
        t->process = &net_.start(name);
        if (std::isfinite(network_.card)) net_.set_card(name, {network_.card, {}});
        tasks_.push_back(std::move(t));
    }
    void connect(task& ps, task& w) {
        if (!ps.listening)
            ps.listening = ps.process->listen(ps.name + ":1", [this, &ps](std::shared_ptr<net::connection> c) {
                const std::string from = c->peer().substr(0, c->peer().rfind(':'));
                const auto number = static_cast<std::size_t>(ps_ + std::stoi(from.substr(1)));
                ps.to[tasks_[number].get()] = std::move(c);
                return std::make_shared<end>(*this);
            });
        net_.set_line(ps.name, w.name, line(costs_.pull_stream, costs_.pull_byte));
        net_.set_line(w.name, ps.name, line(costs_.push_stream, costs_.push_byte));
        w.process->dial(ps.name + ":1", std::chrono::seconds(1),
                        [this, &w, &ps](std::shared_ptr<net::connection> c, const std::string&) {
                            w.to[&ps] = std::move(c);
                            return std::make_shared<end>(*this);
                        });
    }

    // What one connection alone brings is bounded by more than its ends' work, which is with each frame's way.
    net::simulated_direction line(double stream, double byte_cost) const {
        const double left = 1 / stream - byte_cost / 4; // of a long message's frames, the first and the last one's work
        return {net::seconds_of(network_.latency), {}, left > 0 ? 1 / left : 1e15};
    }
    // A message, in frames: each is worked on by the sender, travels, and is worked on by the receiver, so that a long one is at both
    // ends at once. `then`, when all of it is there.
    void send(task& from, task& to, double bytes, double byte_cost, std::function<void()> then) {
        const int frames = std::clamp(static_cast<int>(std::ceil(bytes / model_.frame)), 1, 16);
        const double at_each_end = (costs_.message + bytes * byte_cost) / 2 / frames;
        const double size = (bytes + 120) / frames;
        auto whole = std::make_shared<in_flight>(in_flight{frames, at_each_end, size, &from, &to, std::move(then)});
        for (int i = 0; i < frames; ++i)
            from.on->work(at_each_end, [this, &from, &to, size, whole] {
                const std::uint64_t number = ++sent_;
                flying_[number] = whole;
                net::message m{.type = net::message_type::note, .request = number};
                m.arrays.push_back(tenon::any_array::view(nowhere_, tenon::element_type::uint8,
                                                          tenon::extents{static_cast<std::int64_t>(size)}));
                from.to.at(&to)->send(std::move(m));
            });
    }
    struct in_flight {
        int frames;
        double cost, size; // of a frame
        task *from, *to;
        std::function<void()> then;
    };
    void arrived(std::uint64_t number) {
        const auto at = flying_.find(number);
        const auto whole = std::move(at->second);
        flying_.erase(at);
        whole->from->out += whole->size;
        whole->to->in += whole->size;
        bytes_ += whole->size;
        const auto handle = [whole] {
            whole->to->on->work(whole->cost, [whole] {
                if (--whole->frames == 0) whole->then();
            });
        };
        if (whole->to->on->has_idle_core()) net_.call_at(net_.now() + net::seconds_of(costs_.wake), handle);
        else handle();
    }

    // ---- a worker's step

    void begin_step(worker& w) {
        w.jitter = 0.9 + 0.2 * unit_(random_); // no two batches take the same time
        w.next = 0;
        w.computes = false;
        w.missing.assign(pieces_.size(), 0);
        w.updating.assign(static_cast<std::size_t>(ps_), 0);
        w.signs = 0;
        w.replies = 1;
        for (std::size_t l = 0; l < pieces_.size(); ++l)
            for (const piece& p : pieces_[l]) ++w.missing[l], ++w.signs, ++w.updating[static_cast<std::size_t>(p.ps)];
        ++w.updating[static_cast<std::size_t>(counter_)];
        // The client's call to the master, which is of the worker's process.
        w.self->on->work(costs_.step + costs_.message + model_.fed * costs_.pull_byte, [this, &w] {
            const double more = model_.fed * (1 / costs_.pull_stream - costs_.pull_byte);
            net_.call_at(net_.now() + net::seconds_of(std::max(0.0, more)), [this, &w] { begin_parts(w); });
        });
    }
    void begin_parts(worker& w) {
        for (int p = 0; p < ps_; ++p) {
            task& ps = *tasks_[static_cast<std::size_t>(p)];
            if (!ps.holds) continue;
            ++w.replies;
            send(*w.self, ps, 0, 0, [this, &w, p] { run_part(w, p); });
        }
    }
    void run_part(worker& w, int p) {
        task& ps = *tasks_[static_cast<std::size_t>(p)];
        for (std::size_t l = 0; l < pieces_.size(); ++l)
            for (const piece& x : pieces_[l])
                if (x.ps == p)
                    send(ps, *w.self, x.bytes, costs_.pull_byte, [this, &w, l] {
                        --w.missing[l];
                        forward(w);
                    });
    }
    void forward(worker& w) {
        if (w.computes || w.next == pieces_.size() || w.missing[w.next] > 0) return;
        w.computes = true;
        compute(w, model_.layers[w.next].share / 3, [this, &w] {
            w.computes = false;
            if (++w.next == pieces_.size()) backward(w, pieces_.size());
            else forward(w);
        });
    }
    void backward(worker& w, std::size_t layers_left) {
        if (layers_left == 0) return;
        const std::size_t l = layers_left - 1;
        compute(w, model_.layers[l].share * 2 / 3, [this, &w, l] {
            backward(w, l); // first: what comes next does not wait for sending
            std::size_t number = 0;
            for (std::size_t k = 0; k < l; ++k) number += pieces_[k].size();
            for (const piece& x : pieces_[l]) {
                task& ps = *tasks_[static_cast<std::size_t>(x.ps)];
                send(*w.self, ps, x.bytes, costs_.push_byte, [this, &w, number] { update(w, numbers_[number]); });
                ++number;
            }
        });
    }
    // On all cores of its machine at once.
    void compute(worker& w, double share, const std::function<void()>& then) {
        const double seconds = model_.compute * share * w.jitter;
        w.computed += seconds;
        if (costs_.beside > 0) w.self->on->work(costs_.beside * share, [] {});
        auto left = std::make_shared<int>(costs_.cores);
        for (int i = 0; i < costs_.cores; ++i)
            w.self->on->work(seconds, [left, then] {
                if (--*left == 0) then();
            });
    }
    void update(worker& w, held_piece& v) {
        auto job = [this, &w, &v] {
            const double seconds = v.bytes * costs_.update_byte;
            v.busy += seconds;
            tasks_[static_cast<std::size_t>(v.ps)]->on->work(seconds, [this, &w, &v] {
                v.is_updated = false;
                if (!v.waiting.empty()) {
                    auto next = std::move(v.waiting.front());
                    v.waiting.pop_front();
                    v.is_updated = true;
                    next();
                }
                updated(w, v.ps);
            });
        };
        if (v.is_updated) v.waiting.push_back(std::move(job));
        else {
            v.is_updated = true;
            job();
        }
    }
    void updated(worker& w, int p) {
        task& ps = *tasks_[static_cast<std::size_t>(p)];
        send(ps, *w.self, 0, 0, [this, &w] {
            if (--w.signs > 0) return;
            task& counter = *tasks_[static_cast<std::size_t>(counter_)];
            send(*w.self, counter, 0, 0, [this, &w, &counter] {
                send(counter, *w.self, 0, 0, [this, &w] { ended(w); });
                part_ended(w, counter_);
            });
        });
        part_ended(w, p);
    }
    void part_ended(worker& w, int p) {
        if (--w.updating[static_cast<std::size_t>(p)] > 0) return;
        send(*tasks_[static_cast<std::size_t>(p)], *w.self, 0, 0, [this, &w] { ended(w); });
    }
    void ended(worker& w) {
        if (--w.replies > 0) return;
        w.self->on->work(costs_.message, [this, &w] { // the master's reply to the client
            ++steps_;
            begin_step(w);
        });
    }
    void work_until(std::int64_t steps) {
        net_.work_until([&] { return steps_ >= steps; }, net::time_point::max());
    }

    const model& model_;
    const costs costs_;
    const network network_;
    net::simulated_network net_;
    std::vector<std::vector<piece>> pieces_; // by layer
    std::deque<held_piece> numbers_;         // the same, one after another
    std::vector<std::unique_ptr<task>> tasks_;
    std::vector<std::unique_ptr<worker>> workers_;
    int ps_ = 0, counter_ = 0;
    std::unordered_map<std::uint64_t, std::shared_ptr<in_flight>> flying_;
    std::uint64_t sent_ = 0;
    std::int64_t steps_ = 0;
    double bytes_ = 0;
    std::mt19937_64 random_{1};
    std::uniform_real_distribution<double> unit_{0, 1};
    alignas(64) char nowhere_[64] = {};
};

} // namespace scaling
