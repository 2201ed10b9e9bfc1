#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/shared_function.hpp>
#include <tenon/memory/memory_budget.hpp>
#include <tenon/op/wait.hpp>
#include <tenon/ops/random/random_source_kernel.hpp>
#include <tenon/graph/resource_use.hpp>
#include <tenon/resources/queue.hpp>

/// The kernels of ops/queue/queue.hpp, and what queue a node stands for.

namespace tenon::detail {

// Nobody else knows what a graph calls its sizes.
inline std::vector<tensor_type> without_names(std::vector<tensor_type> components) {
    for (tensor_type& c : components)
        for (int d = 0; d < c.extents.rank(); ++d)
            if (!c.extents[d].is_number()) c.extents[d] = dynamic_extent;
    return components;
}

inline queue_description description_of(const queue_op::attributes& a, const std::string& name) {
    queue_description d;
    switch (a.how) {
    case queue_op::way::fifo: break;
    case queue_op::way::random_shuffle: d.order = queue_order::shuffled; break;
    case queue_op::way::padding_fifo: d.padded = true; break;
    case queue_op::way::priority: d.order = queue_order::priority; break;
    default:
        throw invalid_argument_error("queue \"" + name + "\": there is no kind of queue of number " +
                                     std::to_string(static_cast<int>(a.how)));
    }
    d.components = without_names(a.components);
    d.capacity = a.capacity;
    d.min_after_dequeue = a.min_after_dequeue;
    return d;
}

// The queue that a node stands for, on the device that `s` is for.
inline std::shared_ptr<queue_resource> queue_of(const node& n, const kernel_setup& s) {
    require_made_by<queue_op>(n, s, "queue");
    const auto a = decode<queue_op::attributes>(n.attributes);
    const resource_identity id(n, a.shared_name, s);
    const std::string& name = id.name;
    queue_description d = description_of(a, name);
    const bool shuffled = d.order == queue_order::shuffled, seeded = a.seed != 0 || s.graph_seed != 0;
    if (shuffled) d.key = key_of_seeds(s.graph_seed, static_cast<std::uint64_t>(a.seed), name);
    auto q = s.resources->find_or_make<queue_resource>(id.container, name,
                                                       [&] { return std::make_shared<queue_resource>(name, d); });
    if (!seeded) d.key = q->description().key; // any will do
    if (!(q->description() == d))
        throw invalid_argument_error("queue " + id.shown() + " exists as " + to_string(q->description()) + ", not as " +
                                     to_string(d) + (q->description().key != d.key ? ": their seeds differ" : ""));
    return q;
}
// The queue that the node of a kernel uses.
inline std::shared_ptr<queue_resource> used_queue(const kernel_setup& s) { return queue_of(*s.node.inputs[0].node, s); }

struct queue_kernel final : kernel {
    explicit queue_kernel(const kernel_setup& s) : q(queue_of(s.node, s)) {}
    void run(const kernel_run& r) override {
        if (r.out[0]) *r.output<std::int64_t>(0) = q->description().capacity;
    }
    double cost() const override { return 2; }
    std::shared_ptr<queue_resource> q;
};

struct queue_size_kernel final : kernel {
    explicit queue_size_kernel(const kernel_setup& s) : q(used_queue(s)) {}
    void run(const kernel_run& r) override { *r.output<std::int64_t>(0) = q->size(); }
    std::shared_ptr<queue_resource> q;
};

struct queue_is_closed_kernel final : kernel {
    explicit queue_is_closed_kernel(const kernel_setup& s) : q(used_queue(s)) {}
    void run(const kernel_run& r) override { *r.output<bool>(0) = q->is_closed(); }
    std::shared_ptr<queue_resource> q;
};

struct queue_close_kernel final : kernel {
    explicit queue_close_kernel(const kernel_setup& s) :
        q(used_queue(s)), cancel(decode<queue_close_op::attributes>(s.attrs).cancel_pending_enqueues) {}
    void run(const kernel_run&) override { q->close(cancel); }
    std::shared_ptr<queue_resource> q;
    bool cancel;
};

// What is asked of a queue.
using queue_request = shared_function<void(queue_resource&, queue_attempt&)>;

class queue_wait final : public wait, private queue_attempt {
public:
    queue_wait(std::shared_ptr<queue_resource> q, queue_request ask, bool splits) :
        queue_(std::move(q)), ask_(std::move(ask)), splits_(splits) {}

    void start(const step&, completion& then) override {
        then_ = &then;
        tuple.clear();
        queue_attempt::keeps = wait::keeps;
        if (values.size() > 1) memory_client::require_room_for_steps(current_payer()); // it enqueues
        // Of many, the queue copies each element. Nothing of what may be written or freed meanwhile is kept.
        try {
            for (std::size_t i = 1; i < values.size(); ++i) {
                const bool kept = splits_ || values[i].is_unique();
                tuple.push_back(kept ? std::move(values[i]) : values[i].copy());
                if (!splits_) tuple.back().pay_for_texts();
            }
            values.clear();
            ask_(*queue_, *this);
        } catch (...) {
            tuple.clear();
            throw;
        }
    }
    bool stop() noexcept override { return queue_->stop(*this); }
    void give_back() noexcept override { queue_->give_back(*this); }
    void let_go() noexcept override { queue_->let_go(*this); }
    std::string awaited() const override { return queue_->awaited(*this); }

private:
    void completed(std::exception_ptr failure) noexcept override {
        if (!failure) values.swap(tuple); // which keeps their memory
        tuple.clear();
        then_->completed(std::move(failure)); // whoever is told may start it anew
    }

    const std::shared_ptr<queue_resource> queue_;
    const queue_request ask_;
    const bool splits_; // what it enqueues is many elements
    completion* then_ = nullptr;
};

class waiting_queue_kernel final : public waiting_kernel {
public:
    waiting_queue_kernel(const kernel_setup& s, queue_request ask, bool splits) :
        queue_(used_queue(s)), ask_(std::move(ask)), splits_(splits), takes_(s.outputs.size() > 0) {
        // What they say of sizes may differ, which the step looks at.
        const auto asked = without_names(s.attrs.get<std::vector<tensor_type>>("components"));
        if (asked != queue_->description().components)
            throw invalid_argument_error(s.node.name + ": elements of " + to_string(asked) + " are asked of " +
                                         to_string(queue_->description()));
    }
    std::unique_ptr<wait> make_wait() const override { return std::make_unique<queue_wait>(queue_, ask_, splits_); }
    bool takes() const override { return takes_; }

private:
    std::shared_ptr<queue_resource> queue_;
    queue_request ask_;
    bool splits_, takes_;
};

inline kernel_pointer prepare_waiting(const kernel_setup& s, void (queue_resource::*ask)(queue_attempt&),
                                      bool splits = false) {
    const auto call = [ask](queue_resource& q, queue_attempt& a) { (q.*ask)(a); };
    return std::make_unique<waiting_queue_kernel>(s, call, splits);
}
inline kernel_pointer prepare_waiting(const kernel_setup& s, queue_request ask) {
    return std::make_unique<waiting_queue_kernel>(s, std::move(ask), false);
}

} // namespace tenon::detail
