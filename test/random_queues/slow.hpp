#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include <tenon/graph/graph.hpp>
#include <tenon/op/kernel.hpp>

/// A kernel that takes its time, so that steps of several threads overlap.

namespace random_queues {

/// Its input, a scalar int64.
struct slow_op {
    static constexpr const char* name = "test_slow";
    static constexpr tenon::op_flags flags = tenon::op_flags::stateful; // not folded, nor joined with others
    static constexpr tenon::element_types gpu_types = tenon::no_elements;
    struct attributes {
        std::int64_t microseconds = 0;
    };
    static tenon::inferred infer(const attributes&, tenon::type_list in, int) {
        if (in.size() != 1) return tenon::fault::expects_more_operands;
        return tenon::inferred(in[0].element, in[0].extents);
    }
    struct slow_kernel final : tenon::kernel {
        explicit slow_kernel(const tenon::kernel_setup& s) : time(tenon::decode<attributes>(s.attrs).microseconds) {}
        void run(const tenon::kernel_run& r) override {
            std::this_thread::sleep_for(time);
            *r.output<std::int64_t>(0) = *r.input<std::int64_t>(0);
        }
        std::chrono::microseconds time;
    };
    static tenon::kernel_pointer prepare(const tenon::kernel_setup& s) { return std::make_unique<slow_kernel>(s); }
};
inline const tenon::op_definition& slow_definition = tenon::definition_of<slow_op>();

} // namespace random_queues
