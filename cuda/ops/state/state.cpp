#include <cstring>

#include <cuda/device/error.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <tenon/core/error.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/resources/resources.hpp>

namespace tenon::cuda {

namespace {

void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, void* stream) {
    check(cudaMemcpyAsync(to, from, bytes, kind, static_cast<cudaStream_t>(stream)), "cudaMemcpyAsync");
}

struct assign_kernel final : kernel {
    explicit assign_kernel(const kernel_setup& s) : bytes(static_cast<std::size_t>(bytes_of(s.outputs[0]))) {}
    void run(const kernel_run& r) override {
        if (bytes > 0 && r.in[1] != r.out[0]) copy(r.out[0], r.in[1], bytes, cudaMemcpyDeviceToDevice, r.stream);
    }

    const std::size_t bytes;
};
// The host knows it, and tells it in each step.
struct is_initialized_kernel final : kernel {
    explicit is_initialized_kernel(const kernel_setup& s) {
        const tenon::node& v = *s.node.inputs[0].node;
        if (!v.op->is(op_flags::variable))
            throw invalid_argument_error(s.node.name + ": its input 0, " + v.name + ", is no variable but a " +
                                         v.op->name);
        variable = s.resources->variable(v.container, v.name, v.outputs[0]);
    }
    std::size_t told_bytes() const override { return sizeof(bool); }
    void tell(std::byte* to) override {
        const bool is = variable->is_initialized();
        std::memcpy(to, &is, sizeof is);
    }
    void run(const kernel_run& r) override {
        if (r.out[0]) copy(r.out[0], r.told, sizeof(bool), cudaMemcpyDefault, r.stream);
    }

    std::shared_ptr<variable_resource> variable;
};
// A constant is read where the plan keeps a copy of it; this is for one that runs in its own right.
struct constant_kernel final : kernel {
    explicit constant_kernel(const kernel_setup& s) : value(s.attrs.get<std::shared_ptr<const any_array>>("value")) {}
    bool may_be_recorded() const override { return false; } // what it copies is not pinned
    void run(const kernel_run& r) override {
        if (r.out[0] && value->bytes() > 0)
            copy(r.out[0], value->data(), value->bytes(), cudaMemcpyHostToDevice, r.stream);
    }

    const std::shared_ptr<const any_array> value;
};
} // namespace

void register_state() {
    enter({{"variable", variable_op::prepare}, // says that it has no value, and touches nothing
           {"assign", prepare<assign_kernel>},
           {"is_initialized", prepare<is_initialized_kernel>},
           {"constant", prepare<constant_kernel>}});
}

} // namespace tenon::cuda
