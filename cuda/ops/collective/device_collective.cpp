// What begins and ends a sum over GPUs of several processes; who waits in between is the host's.

#include <map>
#include <mutex>
#include <utility>

#include <cuda/device/context.hpp>
#include <cuda/device/error.hpp>
#include <cuda/nccl/process_sums.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <tenon/core/error.hpp>
#include <tenon/op/attributes.hpp>
#include <tenon/ops/collective/device_collective.hpp>

namespace tenon::cuda {

namespace {

void copy(void* to, const void* from, const tensor_type& t, void* stream) {
    const std::size_t bytes = static_cast<std::size_t>(t.extents.elements()) * size_of(t.element);
    if (bytes == 0 || !to) return;
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(stream)),
          "cudaMemcpyAsync");
}

class start_kernel final : public kernel {
public:
    explicit start_kernel(const kernel_setup& s) :
        a_(decode<device_collective_start_op::attributes>(s.attrs)),
        type_(s.inputs[0]),
        gpu_(*s.gpu),
        spare_(keep_on_gpu(a_.sums, type_, gpu_)) {}
    void run(const kernel_run& r) override {
        copy(kept_of(r)->memory(), r.in[0], type_, r.stream);
        cuda::check(cudaMemsetAsync(r.out[0], 0, sizeof(double), static_cast<cudaStream_t>(r.stream)),
                    "cudaMemsetAsync");
    }
    bool may_be_recorded() const override { return false; } // where it lies is each step's

private:
    // A step is used again and again, by one at a time; what it keeps ends with the plan.
    std::shared_ptr<kept_on_gpu> kept_of(const kernel_run& r) {
        if (!r.step) throw internal_error("a sum over processes needs a step, which this kernel was run without");
        const std::lock_guard lock(guard_);
        std::shared_ptr<kept_on_gpu>& kept = of_[r.step->id()];
        if (!kept) {
            kept = spare_ ? std::exchange(spare_, nullptr) : keep_on_gpu(a_.sums, type_, gpu_);
            keep_value(r.step, a_.place, kept);
        }
        return kept;
    }

    const device_collective_start_op::attributes a_;
    const tensor_type type_;
    gpu_context& gpu_;
    std::mutex guard_;                                         // of what follows
    std::shared_ptr<kept_on_gpu> spare_;                       // made with the plan: a card that is full is found then
    std::map<std::uint64_t, std::shared_ptr<kept_on_gpu>> of_; // by step
};

class done_kernel final : public kernel {
public:
    explicit done_kernel(const kernel_setup& s) :
        place_(decode<device_collective_done_op::attributes>(s.attrs).place), type_(s.outputs[0]) {}
    void run(const kernel_run& r) override {
        const auto& kept = dynamic_cast<const kept_on_gpu&>(*value_kept(r.step, place_));
        copy(r.out[0], kept.memory(), type_, r.stream);
    }
    bool may_be_recorded() const override { return false; }

private:
    const std::int64_t place_;
    const tensor_type type_;
};

} // namespace

void register_device_collective() {
    enter({{device_collective_start_op::name, prepare<start_kernel>},
           {device_collective_done_op::name, prepare<done_kernel>}});
    register_process_sums(nccl_process_sums());
}

} // namespace tenon::cuda
