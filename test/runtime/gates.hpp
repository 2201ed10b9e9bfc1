#pragma once

#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <tenon/graph/tensor.hpp>
#include <tenon/op/wait.hpp>

/// An op that waits as tests want it to: written here as any program may write its own.

namespace probe {

namespace tn = tenon;

/// Where ops wait, by name. Nothing is passed on by itself: a test opens a gate for those that wait at it, or for good.
class gates {
public:
    static gates& get() {
        static gates g;
        return g;
    }
    class waiter {
    public:
        virtual void opened(std::exception_ptr failure) noexcept = 0;

    protected:
        ~waiter() = default;
    };

    /// Everybody who waits at the gate goes on, or fails.
    void open(const std::string& gate, std::exception_ptr failure = nullptr) {
        std::list<waiter*> all;
        {
            const std::lock_guard lock(guard_);
            all.swap(at_[gate].waiting);
        }
        for (waiter* w : all) w->opened(failure);
    }
    /// Whoever comes to the gate goes on at once; false: waits again.
    void leave_open(const std::string& gate, bool yes = true) {
        {
            const std::lock_guard lock(guard_);
            at_[gate].open = yes;
        }
        if (yes) open(gate);
    }
    /// Returns when so many wait at the gate.
    void wait_for(const std::string& gate, std::size_t count = 1) {
        std::unique_lock lock(guard_);
        came_.wait(lock, [&] { return at_[gate].waiting.size() == count; });
    }
    std::size_t waiting() {
        const std::lock_guard lock(guard_);
        std::size_t all = 0;
        for (const auto& [name, g] : at_) all += g.waiting.size();
        return all;
    }
    /// How often somebody came, since the last call.
    int take_arrivals(const std::string& gate) {
        const std::lock_guard lock(guard_);
        return std::exchange(at_[gate].arrivals, 0);
    }

    bool enter(const std::string& gate, waiter& w) {
        const std::lock_guard lock(guard_);
        state& g = at_[gate];
        ++g.arrivals;
        if (g.open) return false;
        g.waiting.push_back(&w);
        came_.notify_all();
        return true;
    }
    bool leave(const std::string& gate, waiter& w) {
        const std::lock_guard lock(guard_);
        auto& all = at_[gate].waiting;
        const auto before = all.size();
        all.remove(&w);
        came_.notify_all();
        return all.size() != before;
    }

private:
    struct state {
        std::list<waiter*> waiting;
        bool open = false;
        int arrivals = 0;
    };
    std::mutex guard_; // of what follows
    std::condition_variable came_;
    std::map<std::string, state> at_;
};

/// Its input, once the gate of this name is opened. `shape`: the sizes that are known before.
struct gate_op {
    static constexpr const char* name = "test_gate";
    static constexpr tn::op_flags flags = tn::op_flags::waits | tn::op_flags::stateful;
    static constexpr tn::element_types gpu_types = tn::no_elements;
    struct attributes {
        std::string gate;
        tn::extents shape;
        bool alone = false; ///< one output, which is not its input: the one number of its first, that many times
    };
    static constexpr int outputs(const attributes& a, int inputs) { return a.alone ? 1 : inputs; }
    static tn::inferred infer(const attributes& a, tn::type_list in, int o) {
        return tn::inferred(in[o].element, in.size() == 1 ? a.shape : in[o].extents);
    }

    class passage final : public tn::wait, private gates::waiter {
    public:
        passage(std::string gate, bool counted) : gate_(std::move(gate)), counted_(counted) {}
        void start(const tn::step&, tn::completion& then) override {
            then_ = &then;
            if (!gates::get().enter(gate_, *this)) opened(nullptr);
        }
        bool stop() noexcept override { return gates::get().leave(gate_, *this); }
        std::string awaited() const override { return "gate \"" + gate_ + "\""; }

    private:
        void opened(std::exception_ptr failure) noexcept override {
            if (counted_ && !failure) {
                const float x = *values[0].data<float>();
                tn::any_array repeated(tn::element_type::float32, tn::extents(static_cast<std::int64_t>(x)));
                for (std::int64_t i = 0; i < repeated.elements(); ++i) repeated.data<float>()[i] = x;
                values[0] = std::move(repeated);
            }
            then_->completed(std::move(failure));
        }
        const std::string gate_;
        const bool counted_;
        tn::completion* then_ = nullptr;
    };
    struct gate_kernel final : tn::waiting_kernel {
        explicit gate_kernel(const tn::kernel_setup& s) : a(tn::decode<attributes>(s.attrs)) {}
        std::unique_ptr<tn::wait> make_wait() const override { return std::make_unique<passage>(a.gate, a.alone); }
        attributes a;
    };
    static tn::kernel_pointer prepare(const tn::kernel_setup& s) { return std::make_unique<gate_kernel>(s); }
};
inline const tn::op_definition& gate_definition = tn::definition_of<gate_op>();

/// A gate that is open while it lives.
class open_gate {
public:
    explicit open_gate(std::string gate) : gate_(std::move(gate)) { gates::get().leave_open(gate_); }
    open_gate(const open_gate&) = delete;
    ~open_gate() { gates::get().leave_open(gate_, false); }

private:
    const std::string gate_;
};

/// x, of sizes S, once the gate is open.
template <class S, class T, class S1>
tn::tensor<T, tn::canonical_t<S>> gated(const std::string& gate, const tn::tensor<T, S1>& x,
                                        const std::string& name = {}) {
    return tn::tensor<T, tn::canonical_t<S>>::unchecked(tn::add<gate_op>({gate, S::extents, false}, {x}, name));
}
template <tn::Operand X> auto gated(const std::string& gate, const X& x) {
    const auto& t = tn::detail::as_tensor(x);
    return gated<typename X::shape_type>(gate, t);
}
/// x times the number x, once the gate is open.
template <class S>
tn::tensor<float, tn::canonical_t<S>> repeated(const std::string& gate, const tn::tensor<float, tn::shape<>>& x,
                                               const std::string& name = {}) {
    return tn::tensor<float, tn::canonical_t<S>>::unchecked(tn::add<gate_op>({gate, S::extents, true}, {x}, name));
}

} // namespace probe
