#pragma once

#include <string>

#include <tenon/graph/tensor.hpp>

/// Edges of a graph that lead from one task to another. The planner makes these where it cuts a step by task.

namespace tenon {

/// in: a tensor, or nothing where only the order matters. Sends it to the task where the receive with this number is.
struct send_op {
    static constexpr const char* name = "send";
    static constexpr op_flags flags = op_flags::stateful | op_flags::waits | op_flags::early;
    static constexpr element_types gpu_types = no_elements;
    struct attributes {
        std::int64_t edge = 0;
        bool used = false; ///< the other task changes something by what it computes of it
    };
    static constexpr int outputs(const attributes&, int) { return 0; }
    static constexpr inferred infer(const attributes&, type_list in, int) {
        return in.size() <= 1 ? fault::none : fault::expects_more_operands;
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(exchange, send);

/// What is sent with this number, when it is there: one output, or none where only the order matters.
struct receive_op {
    static constexpr const char* name = "receive";
    static constexpr op_flags flags = op_flags::stateful | op_flags::source | op_flags::waits;
    static constexpr element_types gpu_types = no_elements;
    struct attributes {
        std::int64_t edge = 0;
        std::string tensor; ///< its name where it is made; empty: nothing is sent
        std::string from;   ///< the device there
        std::string to;     ///< the task that receives
        element_type element = element_type::none;
        extents shape;
        bool follows_update = false; ///< an update of the same step, of whichever task, comes before it
    };
    static int outputs(const attributes& a, int) { return a.tensor.empty() ? 0 : 1; }
    static constexpr inferred infer(const attributes& a, type_list, int) { return inferred(a.element, a.shape); }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(exchange, receive);

/// in: a tensor of floating type. The same rounded to another one, or widened: what is sent may travel in fewer bytes. The rewriter
/// makes it an elementwise pass, which is joined with what is beside it.
struct convert_op {
    static constexpr const char* name = "convert";
    static constexpr op_flags flags = op_flags::none;
    struct attributes {
        element_type element = element_type::none;
    };
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() < 1) return fault::expects_more_operands;
        if (!is_floating(in[0].element) || !is_floating(a.element)) return fault::element_type_must_be_floating;
        return inferred(a.element, in[0].extents);
    }
};
TENON_OP(exchange, convert);

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_exchange)

#include <memory>

#include <tenon/core/error.hpp>
#include <tenon/op/wait.hpp>
#include <tenon/resources/rendezvous.hpp>

namespace tenon {

namespace detail {

inline rendezvous& rendezvous_of(const step& in) {
    if (!in.values)
        throw internal_error("a step that is no part of another one has nowhere to send to or receive from");
    return *in.values;
}

class sending final : public wait {
public:
    explicit sending(std::int64_t edge) : edge_(edge) {}
    void start(const step& in, completion& then) override {
        rendezvous_of(in).send(edge_, values.empty() ? any_array() : std::move(values[0]));
        values.clear();
        then.completed(nullptr);
    }
    bool stop() noexcept override { return false; }
    std::string awaited() const override { return "nothing"; }

private:
    const std::int64_t edge_;
};

class receiving final : public wait, private arrival {
public:
    explicit receiving(const receive_op::attributes& a) : a_(a) {}
    void start(const step& in, completion& then) override {
        then_ = &then;
        values.reserve(1); // what arrives needs no memory
        rendezvous_ = &rendezvous_of(in);
        rendezvous_->receive(a_.edge, *this);
    }
    bool stop() noexcept override { return rendezvous_ && rendezvous_->stop(a_.edge, *this); }
    std::string awaited() const override {
        return (a_.tensor.empty() ? std::string("what it runs after") : "tensor " + a_.tensor) + " from " + a_.from +
               " to " + a_.to;
    }

private:
    void arrived() noexcept override {
        values.clear();
        if (!a_.tensor.empty()) values.push_back(std::move(value));
        then_->completed(nullptr);
    }
    const receive_op::attributes a_;
    completion* then_ = nullptr;
    rendezvous* rendezvous_ = nullptr;
};

class send_kernel final : public waiting_kernel {
public:
    explicit send_kernel(const kernel_setup& s) : a_(decode<send_op::attributes>(s.attrs)) {}
    std::unique_ptr<wait> make_wait() const override { return std::make_unique<sending>(a_.edge); }
    bool uses_values() const override { return a_.used; }

private:
    const send_op::attributes a_;
};

class receive_kernel final : public waiting_kernel {
public:
    explicit receive_kernel(const kernel_setup& s) : a_(decode<receive_op::attributes>(s.attrs)) {}
    std::unique_ptr<wait> make_wait() const override { return std::make_unique<receiving>(a_); }

private:
    const receive_op::attributes a_;
};

} // namespace detail

TENON_KERNEL(send, detail::send_kernel);
TENON_KERNEL(receive, detail::receive_kernel);

} // namespace tenon

#endif
