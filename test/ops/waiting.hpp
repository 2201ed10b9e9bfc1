#pragma once

#include <exception>

#include <tenon/op/wait.hpp>
#include <tenon/resources/resources.hpp>

#include "tests.hpp"

/// Ops driven by hand, without a session: their kernels are prepared, started and stopped by the test.

namespace waiting {

/// A device's resources as kernels see them, for one session or another.
struct device {
    tn::resource_manager resources;
    std::uint64_t graph_seed = 0;
    const char* session = "session";
};

/// What the kernel of a node is prepared for: as the node was made.
class prepared {
public:
    prepared(const tn::node* n, device& on) {
        for (int i = 0; i < static_cast<int>(n->inputs.size()); ++i) inputs_.push_back(n->input_type(i));
        outputs_ = n->outputs;
        const auto list = [](const std::vector<tn::tensor_type>& types) {
            return tn::type_list(types.data(), static_cast<int>(types.size()));
        };
        const tn::kernel_setup s{*n, n->attributes, list(inputs_), list(outputs_),
                                 1,  &on.resources, on.graph_seed, on.session};
        kernel_ = n->op->cpu(s);
    }
    tn::kernel& kernel() { return *kernel_; }

private:
    std::vector<tn::tensor_type> inputs_, outputs_;
    tn::kernel_pointer kernel_;
};

/// Runs an op that does not wait; its output, where it has one.
inline tn::any_array run(const tn::node* n, device& on) {
    prepared p(n, on);
    tn::any_array output;
    void* out[1] = {nullptr};
    if (!n->outputs.empty()) {
        output = tn::any_array(n->outputs[0].element, n->outputs[0].extents);
        out[0] = output.data();
    }
    const std::vector<const void*> in(n->inputs.size() + 1, nullptr);
    p.kernel().run({in.data(), out, nullptr, nullptr});
    return output;
}

inline std::string told(const std::exception_ptr& failure) {
    if (!failure) return "";
    try {
        std::rethrow_exception(failure);
    } catch (const tn::error& e) {
        return std::string(tn::name_of(e.code())) + ": " + e.what();
    }
}

/// An op that waits, in one step.
class started final : public tn::completion {
public:
    started(const tn::node* n, device& on, std::vector<tn::any_array> values = {}) : node_(n), prepared_(n, on) {
        const auto* k = dynamic_cast<const tn::waiting_kernel*>(&prepared_.kernel());
        REQUIRE(k != nullptr);
        wait_ = k->make_wait();
        start(std::move(values));
    }
    /// Another step, once this one has ended. `values`: of the inputs that are needed.
    void start(std::vector<tn::any_array> values = {}) {
        done = false;
        failure.clear();
        wait_->values.clear();
        auto next = values.begin();
        for (int i = 0; i < static_cast<int>(node_->inputs.size()); ++i)
            wait_->values.push_back(node_->op->reads(node_->attributes, i) && next != values.end() ? std::move(*next++)
                                                                                                   : tn::any_array());
        wait_->start(step_, *this);
    }
    bool stop() { return wait_->stop(); }
    std::string awaited() const { return wait_->awaited(); }
    /// The outputs.
    std::vector<tn::any_array>& got() { return wait_->values; }

    bool done = false;
    std::string failure; // empty: none

private:
    void completed(std::exception_ptr why) noexcept override {
        CHECK(!done);
        done = true;
        failure = told(why);
    }
    const tn::node* node_;
    prepared prepared_;
    tn::step step_;
    std::unique_ptr<tn::wait> wait_;
};

inline std::vector<tn::any_array> tuple() { return {}; }
template <class... A> std::vector<tn::any_array> tuple(A&&... arrays) {
    std::vector<tn::any_array> all;
    (all.push_back(tn::any_array(std::forward<A>(arrays))), ...);
    return all;
}

} // namespace waiting
