#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include <tenon/graph/tensor.hpp>
#include <tenon/op/kernel.hpp>

/// An op beside which something happens: a step is cut short in a place, not at a time.

namespace reference {

/// What happens where the n-th of these ops runs, from when it is set.
class trip_wire {
public:
    static trip_wire& get() {
        static trip_wire one;
        return one;
    }
    void set(int n, std::function<void()> then) {
        const std::lock_guard lock(guard_);
        left_ = n;
        then_ = std::move(then);
    }
    /// Nothing happens any more; whether it has.
    bool clear() {
        const std::lock_guard lock(guard_);
        return !std::exchange(then_, nullptr);
    }
    void pass() {
        std::function<void()> then;
        {
            const std::lock_guard lock(guard_);
            if (then_ && left_-- == 0) then = std::exchange(then_, nullptr);
        }
        if (then) then();
    }

private:
    std::mutex guard_; // of what follows
    int left_ = 0;
    std::function<void()> then_;
};

/// Its input.
struct trip_op {
    static constexpr const char* name = "test_trip";
    static constexpr tenon::op_flags flags = tenon::op_flags::stateful; // not folded, nor joined with others
    static constexpr tenon::element_types gpu_types = tenon::no_elements;
    using attributes = tenon::no_attributes;
    static tenon::inferred infer(const attributes&, tenon::type_list in, int) {
        if (in.size() != 1) return tenon::fault::expects_more_operands;
        if (in[0].element == tenon::element_type::string) return tenon::fault::element_type_not_supported;
        return tenon::inferred(in[0]);
    }
    struct trip_kernel final : tenon::kernel {
        explicit trip_kernel(const tenon::kernel_setup& s) :
            bytes(static_cast<std::size_t>(tenon::bytes_of(s.outputs[0]))) {}
        void run(const tenon::kernel_run& r) override {
            trip_wire::get().pass();
            if (bytes > 0) std::memcpy(r.out[0], r.in[0], bytes);
        }
        std::size_t bytes;
    };
    static tenon::kernel_pointer prepare(const tenon::kernel_setup& s) { return std::make_unique<trip_kernel>(s); }
};
inline const tenon::op_definition& trip_definition = tenon::definition_of<trip_op>();

} // namespace reference
