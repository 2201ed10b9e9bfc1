#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/element_type.hpp>
#include <tenon/op/kernel.hpp>

/// Lets kernels that know float and double run on half and bfloat16 too: operands are copied to floats in the kernel's
/// scratch memory, results are rounded from there. Other types go straight through.

namespace tenon::detail {

void widen(const void* from, element_type element, float* to, std::int64_t n, thread_pool* pool);
void narrow(const float* from, void* to, element_type element, std::int64_t n, thread_pool* pool);

/// Where a kernel's operands lie: the first `inputs` of them (-1: all) and all results.
class widened_arrays {
public:
    explicit widened_arrays(const kernel_setup& s, int inputs = -1) : element_(s.outputs[0].element) {
        inputs_ = inputs < 0 ? s.inputs.size() : inputs;
        outputs_ = s.outputs.size();
        for (int i = 0; i < inputs_ + outputs_; ++i) {
            sizes_[i] = (i < inputs_ ? s.inputs[i] : s.outputs[i - inputs_]).extents.elements();
            offsets_[i] = bytes_;
            if (is_wide()) bytes_ += (static_cast<std::size_t>(sizes_[i]) * sizeof(float) + 63) / 64 * 64;
        }
    }
    std::size_t scratch_bytes() const noexcept { return bytes_; }
    /// The type computed in.
    element_type compute() const noexcept { return compute_type(element_); }
    bool is_wide() const noexcept { return element_ != compute(); }

private:
    friend class widened_run;
    static constexpr int most = 8;
    element_type element_;
    int inputs_ = 0, outputs_ = 0;
    std::int64_t sizes_[most]{};
    std::size_t offsets_[most]{};
    std::size_t bytes_ = 0;
};

/// The same in one run.
class widened_run {
public:
    widened_run(const widened_arrays& a, const kernel_run& r) : a_(a), r_(r) {}

    const void* input(int i) const {
        if (!a_.is_wide()) return r_.in[i];
        float* to = at(i);
        widen(r_.in[i], a_.element_, to, a_.sizes_[i], r_.pool);
        return to;
    }
    /// nullptr where nobody reads it.
    void* output(int o) const { return !r_.out[o] || !a_.is_wide() ? r_.out[o] : at(a_.inputs_ + o); }
    std::int64_t output_size(int o) const noexcept { return a_.sizes_[a_.inputs_ + o]; }
    void clear(int o) const {
        auto* to = static_cast<unsigned char*>(output(o));
        const std::size_t n = static_cast<std::size_t>(output_size(o)) * size_of(a_.compute());
        for (std::size_t i = 0; to && i < n; ++i) to[i] = 0;
    }
    /// Rounds the results.
    void finish() const {
        if (!a_.is_wide()) return;
        for (int o = 0; o < a_.outputs_; ++o)
            if (r_.out[o]) narrow(at(a_.inputs_ + o), r_.out[o], a_.element_, output_size(o), r_.pool);
    }

private:
    float* at(int i) const { return reinterpret_cast<float*>(r_.scratch + a_.offsets_[i]); }
    const widened_arrays& a_;
    const kernel_run& r_;
};

/// A whole kernel of floats as one of half or bfloat16: operands of these types are copied, all others passed on.
class widened_kernel final : public kernel {
public:
    widened_kernel(const kernel_setup& s, kernel_pointer floats);
    void run(const kernel_run& r) override;
    std::size_t scratch_bytes() const override { return bytes_ + floats_->scratch_bytes(); }
    double cost() const override { return floats_->cost() + 0.1 * static_cast<double>(bytes_ / sizeof(float)); }
    bool may_share(int i, int o) const override { return floats_->may_share(i, o); }

private:
    struct operand {
        element_type element;
        std::int64_t size = 0;  ///< 0: passed on
        std::size_t offset = 0; ///< of its copy in the scratch memory
    };
    static constexpr int most = 8;
    kernel_pointer floats_;
    operand inputs_[most], outputs_[most];
    int input_count_, output_count_;
    std::size_t bytes_ = 0;
};

/// Kernel<float> or Kernel<double> for the elements of input 0, made of the setup and the arguments; 16-bit elements
/// are widened for it.
template <template <class> class Kernel, class... A>
kernel_pointer make_floating(const kernel_setup& s, const A&... a) {
    const element_type e = s.inputs[0].element;
    if (e == element_type::float64) return std::make_unique<Kernel<double>>(s, a...);
    kernel_pointer floats = std::make_unique<Kernel<float>>(s, a...);
    if (e == element_type::float32) return floats;
    return std::make_unique<widened_kernel>(s, std::move(floats));
}

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/op/widened.ipp>
#endif
