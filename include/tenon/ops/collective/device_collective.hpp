#pragma once

#include <cstdint>
#include <string>

#include <tenon/ops/collective/collective.hpp>

/// Sums and means over the processes of a group of values that lie on their GPUs, summed there (resources/collective/process_sums.hpp):
///
///     begun = device_collective_start(x)    on the GPU: it keeps x
///     total = device_collective(begun)      on the host: waits until all have come, then until the GPUs have summed
///     sum   = device_collective_done(total) on the GPU: what has become of x
///
/// What crosses segments is a few bytes, which say in which order. `place` joins the three, and is no other's in their graph. CPUs have no
/// kernels for what is on the GPU.

namespace tenon {

/// in: a tensor of floats. out: a zero, when it is kept.
struct device_collective_start_op {
    static constexpr const char* name = "device_collective_start";
    static constexpr op_flags flags = op_flags::stateful;
    struct attributes {
        std::string sums; ///< chosen_process_sums::name
        std::int64_t place = 0;
    };
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        return is_floating(in[0].element) ? inferred(element_type::float64, {})
                                          : inferred(fault::element_type_not_supported);
    }
};
TENON_OP(device_collective, device_collective_start);

/// in: what device_collective_start gives; of a mean, maybe a tensor, the number of whose rows is this process's weight (else 1). out: the
/// sum of the weights. What all mean is compared as of a `collective`, and what goes wrong is the same.
struct device_collective_op {
    static constexpr const char* name = "device_collective";
    static constexpr op_flags flags = op_flags::stateful | op_flags::waits | op_flags::early;
    static constexpr element_types gpu_types = no_elements;
    struct attributes {
        std::string group; ///< collective_group::name()
        collective_kind kind = collective_kind::sum;
        std::int64_t place = 0;
    };
    static constexpr char what_it_takes[] = "GPUs of several processes give sums and means";
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() < 1 || in.size() > 2) return fault::expects_more_operands;
        if (in.size() == 2 && in[1].extents.rank() == 0) return collective_op::weighs_by_rows;
        if (a.kind != collective_kind::sum && a.kind != collective_kind::mean) return what_it_takes;
        return inferred(element_type::float64, {});
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(device_collective, device_collective);

/// in: what device_collective gives; the tensor that device_collective_start was given, of which it asks the sizes.
struct device_collective_done_op {
    static constexpr const char* name = "device_collective_done";
    static constexpr op_flags flags = op_flags::by_reader;
    struct attributes {
        std::int64_t place = 0;
    };
    static constexpr bool needs_value(const attributes&, int input) { return input == 0; }
    static constexpr inferred infer(const attributes&, type_list in, int) {
        return in.size() == 2 ? inferred(in[1]) : inferred(fault::expects_more_operands);
    }
};
TENON_OP(device_collective, device_collective_done);

/// Adds the nodes, those of the GPU where the scope says; whoever makes them keeps the group, and `sums`
/// (chosen_process_sums::name). `rows`: as of add_collective. invalid_argument_error in the rules' words.
any_tensor add_device_collective(const std::shared_ptr<collective_group>& group, const std::string& sums,
                                 collective_kind kind, const any_tensor& x, const any_tensor& rows = {},
                                 const std::string& node_name = {});

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_device_collective)

#include <atomic>
#include <memory>
#include <optional>

#include <tenon/ops/collective/group_wait_kernel.hpp>
#include <tenon/resources/collective/process_sums.hpp>

namespace tenon {

namespace detail {

class device_collective_wait final : public group_wait {
public:
    device_collective_wait(const std::shared_ptr<collective_group>& g, const device_collective_op::attributes& a,
                           const std::string& name, const collective_turn& t) :
        group_wait(g, {collective_kind::sum, name, {element_type::float64, {}}}, t), a_(a), name_(name) {}
    // What is summed is the weights: the group has all come, or says who does not.
    void start(const step& in, completion& then) override {
        kept_ = value_kept(&in, a_.place);
        now_ = phase::gathering;
        summed_as_ = name_of(a_.kind) + (" " + name_) + " on GPUs, " + to_string(kept_->type);
        what.name = "of weights for " + summed_as_;
        own_ = own_weight();
        value = any_array(element_type::float64, {});
        *value.data<double>() = own_;
        values.resize(1);
        begin(in, then);
    }
    bool stop() noexcept override {
        if (group_wait::stop()) {
            kept_->drop();
            return true;
        }
        if (now_ == phase::summing) abort("has stopped a step in");
        return false;
    }
    std::string awaited() const override {
        return now_ == phase::summing ? summed_as_ + " of group " + group_->name() +
                                            ", to which all have come: the GPUs have not summed it"
                                      : group_wait::awaited();
    }

private:
    enum class phase { gathering, summing, over };
    void numbered() noexcept override { kept_->enter(); }
    // Told by the group, and then by who sums.
    void completed(std::exception_ptr failure) noexcept override {
        if (now_ == phase::gathering && !failure) {
            now_ = phase::summing;
            const double total = *value.data<double>();
            std::optional<double> share;
            if (a_.kind == collective_kind::mean) share = total == 0 ? 0 : own_ / total;
            const std::shared_ptr<kept_value> kept = kept_; // which may be over before it returns
            kept->sum(share, summed_);
            return;
        }
        if (now_.exchange(phase::over) == phase::gathering) kept_->drop();
        kept_.reset();
        end(std::move(failure));
    }
    struct summed final : completion {
        explicit summed(device_collective_wait& w) : of(w) {}
        void completed(std::exception_ptr failure) noexcept override { of.completed(std::move(failure)); }
        device_collective_wait& of;
    };

    const device_collective_op::attributes a_;
    const std::string name_;
    std::string summed_as_; // for messages
    summed summed_{*this};
    std::shared_ptr<kept_value> kept_;
    std::atomic<phase> now_{phase::over};
    double own_ = 1;
};

using device_collective_kernel = group_kernel<device_collective_op, device_collective_wait>;

} // namespace detail

TENON_KERNEL(device_collective, detail::device_collective_kernel);

TENON_INLINE any_tensor add_device_collective(const std::shared_ptr<collective_group>& group, const std::string& sums,
                                              collective_kind kind, const any_tensor& x, const any_tensor& rows,
                                              const std::string& node_name) {
    if (!group) throw invalid_argument_error("device_collective: there is no group of processes");
    detail::require_node(x.node(), "device_collective: a tensor");
    const graph g(x.node()->graph);
    const detail::home_scope scope{g};
    const std::int64_t place = g.size(); // no two have the same
    const any_tensor begun = tenon::add<device_collective_start_op>({sums, place}, {x});
    const any_tensor total =
        detail::add_group_node<device_collective_op>({group->name(), kind, place}, begun, rows, node_name);
    return tenon::add<device_collective_done_op>({place}, {total, x});
}

} // namespace tenon

#endif
