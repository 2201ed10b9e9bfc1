// Sums over GPUs, and which way to sum is chosen where none is asked for.

#include <cuda/device/context.hpp>
#include <cuda/device/error.hpp>
#include <cuda/nccl/all_reduce.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <tenon/cuda/gpus.hpp>
#include <tenon/op/attributes.hpp>
#include <tenon/ops/collective/all_reduce.hpp>
#include <tenon/train/replicated/all_reduce.hpp>

namespace tenon::cuda {

namespace {

void copy(const kernel_run& r, std::size_t bytes) {
    if (bytes == 0 || !r.out[0] || r.out[0] == r.in[0]) return;
    check(cudaMemcpyAsync(r.out[0], r.in[0], bytes, cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(r.stream)),
          "cudaMemcpyAsync");
}

// The streams of the others go on before the last one comes: what reads the sum is given to them after all have come, since
// all_reduced runs after all all_reduce, and the executor gives all streams of a step their work one after another.
class all_reduce_kernel final : public kernel {
public:
    explicit all_reduce_kernel(const kernel_setup& s) :
        a_(decode<all_reduce_op::attributes>(s.attrs)),
        element_(s.inputs[0].element),
        elements_(s.inputs[0].extents.elements()),
        gpu_(s.gpu) {}
    void run(const kernel_run& r) override {
        copy(r, static_cast<std::size_t>(elements_) * size_of(element_));
        const std::vector<participant> met = join_participants(r.step, a_.meeting, static_cast<int>(a_.number),
                                                               static_cast<int>(a_.all), {r.out[0], r.stream, gpu_});
        if (met.empty()) return;
        for (const participant& p : met)
            if (!p.gpu)
                throw internal_error("all_reduce: some of " + std::to_string(met.size()) +
                                     " tensors are on CPUs, some on GPUs; give mirrored_strategy a chunked_all_reduce");
        all_reduce(element_, elements_, met);
    }
    double cost() const override { return 20000 + static_cast<double>(elements_) * 0.02; }
    bool may_share(int, int) const override { return true; }
    bool may_be_recorded() const override { return false; } // who comes last is seen in each step

private:
    const all_reduce_op::attributes a_;
    const element_type element_;
    const std::int64_t elements_;
    gpu_context* const gpu_;
};

class all_reduced_kernel final : public kernel {
public:
    explicit all_reduced_kernel(const kernel_setup& s) :
        meeting_(decode<all_reduced_op::attributes>(s.attrs).meeting),
        bytes_(static_cast<std::size_t>(s.inputs[0].extents.elements()) * size_of(s.inputs[0].element)) {}
    void run(const kernel_run& r) override {
        require_all_joined(r.step, meeting_);
        copy(r, bytes_);
    }
    bool may_share(int, int) const override { return true; }
    bool may_be_recorded() const override { return false; }

private:
    const std::int64_t meeting_;
    const std::size_t bytes_;
};

// By NCCL where it can: there is one, all are GPUs of this machine, none is a part of another's card, and it has the type.
class chosen_all_reduce final : public all_reduce_method {
    std::vector<any_tensor> add_sums(const std::vector<any_tensor>& tensors,
                                     const std::vector<device_name>& devices) const override {
        if (suits(tensors, devices)) return collective_all_reduce().sum(tensors, devices);
        return chunked_all_reduce().sum(tensors, devices);
    }
    static bool suits(const std::vector<any_tensor>& tensors, const std::vector<device_name>& devices) {
        if (!all_reduce_op::gpu_types.has(tensors[0].element())) return false;
        for (const device_name& d : devices)
            if (d.type != "GPU" || d.index < 0 || d.job != devices[0].job || d.task != devices[0].task) return false;
        const auto cards = static_cast<int>(cuda_gpus()->physical().size());
        for (std::size_t i = 0; i < devices.size(); ++i) {
            if (devices[i].index >= cards) return false;
            for (std::size_t j = 0; j < i; ++j)
                if (devices[i].index == devices[j].index) return false;
        }
        return why_no_nccl().empty();
    }
};

} // namespace

void register_all_reduce() {
    enter({{all_reduce_op::name, prepare<all_reduce_kernel>}, {all_reduced_op::name, prepare<all_reduced_kernel>}});
    tenon::register_all_reduce(std::make_shared<const chosen_all_reduce>());
}

} // namespace tenon::cuda
