#pragma once

#include <cstdint>

#include <tenon/graph/tensor.hpp>

/// Going through data again and again: what the producers of train/input/producers.hpp are made of.

namespace tenon {

/// in: nothing, or a tensor, of which only the size of dimension 0 matters. The numbers 0 .. n-1, int64 [n], where n is the
/// `limit`, or that size: in their order, or with `shuffle` in another random one each time. Each run of a session is an epoch;
/// after `epochs` of them, where that is not 0, an end_of_data_error. Seeds are those of random ops (ops/random/random.hpp), and so are runs
/// where a session goes on from a checkpoint: its orders are further ones, but it has all its epochs, since what was in queues is gone.
/// An n of 0 is an invalid_argument_error.
struct epoch_order_op {
    static constexpr const char* name = "epoch_order";
    static constexpr op_flags flags = op_flags::stateful;
    static constexpr element_types gpu_types = no_elements;
    struct attributes {
        std::int64_t limit = 0;
        std::int64_t epochs = 0;
        bool shuffle = false;
        std::int64_t seed = 0;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() == 0)
            return a.limit < 0 ? inferred(fault::size_must_be_known)
                               : inferred(element_type::int64, extents(extent(a.limit)));
        if (in.size() != 1) return fault::expects_more_operands;
        return in[0].extents.rank() < 1 ? inferred(fault::rank_too_low)
                                        : inferred(element_type::int64, extents(in[0].extents[0]));
    }
    static constexpr bool needs_value(const attributes&, int) { return false; }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(epochs, epoch_order);

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_epochs)

#include <numeric>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/ops/random/random_numbers.hpp>
#include <tenon/ops/random/random_source_kernel.hpp>

namespace tenon {

namespace detail {

struct epoch_order_kernel final : kernel {
    explicit epoch_order_kernel(const kernel_setup& s) :
        name(s.node.name),
        a(decode<epoch_order_op::attributes>(s.attrs)),
        n(s.outputs[0].extents[0].size),
        source(s, a.seed) {
        if (n < 1) throw invalid_argument_error(name + ": there is nothing to go through; give 1 element at least");
    }
    void run(const kernel_run& r) override {
        const run_counter::run epoch = source.next_run();
        if (a.epochs > 0 && epoch.here >= static_cast<std::uint64_t>(a.epochs))
            throw end_of_data_error(name + ": " + std::to_string(a.epochs) +
                                    (a.epochs == 1 ? " epoch is" : " epochs are") + " over");
        if (!r.out[0]) return;
        auto* const order = r.output<std::int64_t>(0);
        if (a.shuffle) fill_permutation(order, n, {source.key(), epoch.number, 0});
        else std::iota(order, order + n, std::int64_t{0});
    }
    double cost() const override { return 30 + (a.shuffle ? 20 : 1) * static_cast<double>(n); }
    std::string name;
    epoch_order_op::attributes a;
    std::int64_t n;
    random_source source;
};

} // namespace detail

TENON_KERNEL(epoch_order, detail::epoch_order_kernel);

} // namespace tenon

#endif
