// Sums over GPUs, and which way to sum is chosen where none is asked for.

#include <limits>

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

void copy(const kernel_run& r, const std::vector<tensor_type>& types) {
    for (std::size_t t = 0; t < types.size(); ++t) {
        const auto bytes = static_cast<std::size_t>(types[t].extents.elements()) * size_of(types[t].element);
        if (bytes == 0 || !r.out[t] || r.out[t] == r.in[t]) continue;
        check(cudaMemcpyAsync(r.out[t], r.in[t], bytes, cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(r.stream)),
              "cudaMemcpyAsync");
    }
}

// The streams of the others go on before the last one comes: what reads the sum is given to them after all have come, since
// all_reduced runs after all all_reduce, and the executor gives all streams of a step their work one after another.
class all_reduce_kernel final : public kernel {
public:
    explicit all_reduce_kernel(const kernel_setup& s) :
        a_(decode<all_reduce_op::attributes>(s.attrs)), types_(s.inputs.begin(), s.inputs.end()), gpu_(s.gpu) {
        for (const tensor_type& t : types_) elements_.push_back(t.extents.elements());
    }
    void run(const kernel_run& r) override {
        copy(r, types_);
        const std::vector<participant> met =
            join_participants(r.step, a_.meeting, static_cast<int>(a_.number), static_cast<int>(a_.all),
                              {.memory = {r.out, r.out + types_.size()}, .stream = r.stream, .gpu = gpu_});
        if (met.empty()) return;
        for (const participant& p : met)
            if (!p.gpu)
                throw internal_error("all_reduce: some of " + std::to_string(met.size()) +
                                     " tensors are on CPUs, some on GPUs; give mirrored_strategy a chunked_all_reduce");
        all_reduce(types_[0].element, elements_, met);
    }
    double cost() const override {
        double all = 0;
        for (const std::int64_t n : elements_) all += static_cast<double>(n);
        return 20000 + all * 0.02;
    }
    bool may_share(int i, int o) const override { return i == o; }
    bool may_be_recorded() const override { return false; } // who comes last is seen in each step

private:
    const all_reduce_op::attributes a_;
    const std::vector<tensor_type> types_; // of one element type
    std::vector<std::int64_t> elements_;
    gpu_context* const gpu_;
};

class all_reduced_kernel final : public kernel {
public:
    explicit all_reduced_kernel(const kernel_setup& s) :
        meeting_(decode<all_reduced_op::attributes>(s.attrs).meeting), types_(s.inputs.begin(), s.inputs.end()) {}
    void run(const kernel_run& r) override {
        require_all_joined(r.step, meeting_);
        copy(r, types_);
    }
    bool may_share(int i, int o) const override { return i == o; }
    bool may_be_recorded() const override { return false; }

private:
    const std::int64_t meeting_;
    const std::vector<tensor_type> types_;
};

// By NCCL where it can: there is one, all are GPUs of this machine, none is a part of another's card, and it has the type.
class chosen_all_reduce final : public all_reduce_method {
    std::vector<any_tensor> add_sums(const std::vector<any_tensor>& tensors,
                                     const std::vector<device_name>& devices) const override {
        if (suits(tensors, devices)) return by_nccl_.sum(tensors, devices);
        return chunked_all_reduce().sum(tensors, devices);
    }
    std::vector<std::vector<any_tensor>> add_bucket(const std::vector<std::vector<any_tensor>>& tensors,
                                                    const std::vector<device_name>& devices) const override {
        return suits(tensors[0], devices) ? by_nccl_.sum_all(tensors, devices)
                                          : chunked_all_reduce().sum_all(tensors, devices);
    }
    std::int64_t bucket_bytes(const std::vector<any_tensor>&, const std::vector<device_name>&) const override {
        return std::numeric_limits<std::int64_t>::max(); // theirs
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

    const collective_all_reduce by_nccl_;
};

} // namespace

void register_all_reduce() {
    enter({{all_reduce_op::name, prepare<all_reduce_kernel>}, {all_reduced_op::name, prepare<all_reduced_kernel>}});
    tenon::register_all_reduce(std::make_shared<const chosen_all_reduce>());
}

} // namespace tenon::cuda
