// Products of matrices: by cuBLASLt where it has them, else by a kernel of our own.

#include <algorithm>
#include <utility>

#include <cuda_runtime_api.h>

#include <cuda/blas/lt.hpp>
#include <cuda/device/error.hpp>
#include <cuda/kernels/linear/convolution.hpp>
#include <cuda/kernels/linear/float8.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/memory_pieces.hpp>
#include <tenon/op/attributes.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/linear/matmul_float8.hpp>

namespace tenon::cuda {

namespace {

// The batch's dimensions, from the last: those that all step through evenly are one.
gemm_description describe(const kernel_setup& s, bool transpose_a, bool transpose_b) {
    const extents &a = s.inputs[0].extents, &b = s.inputs[1].extents;
    const int ra = a.rank(), rb = b.rank();
    gemm_description d;
    d.element = s.inputs[0].element;
    d.transpose_a = transpose_a;
    d.transpose_b = transpose_b;
    d.k = a[transpose_a ? ra - 2 : ra - 1].size;
    d.m = ra == 1 ? 1 : a[transpose_a ? ra - 1 : ra - 2].size;
    d.n = rb == 1 ? 1 : b[transpose_b ? rb - 2 : rb - 1].size;
    const auto batch_size = [](const extents& e, int from_end) {
        return from_end + 2 <= e.rank() ? e[e.rank() - 2 - from_end].size : 1;
    };
    gemm_batch next{1, d.m * d.k, d.k * d.n, d.m * d.n};
    for (int i = 1; i + 2 <= (ra > rb ? ra : rb); ++i) {
        const std::int64_t size_a = batch_size(a, i), size_b = batch_size(b, i), size = size_a == 1 ? size_b : size_a;
        if (size == 1) continue;
        const gemm_batch here{size, size_a == 1 ? 0 : next.step_a, size_b == 1 ? 0 : next.step_b, next.step_c};
        gemm_batch* const last = d.dimensions > 0 ? &d.batch[d.dimensions - 1] : nullptr;
        if (last && here.step_a == last->size * last->step_a && here.step_b == last->size * last->step_b)
            last->size *= size;
        else d.batch[d.dimensions++] = here;
        next.step_a *= size_a;
        next.step_b *= size_b;
        next.step_c *= size;
    }
    // Rows that follow each other and meet the same b are one matrix.
    if (d.dimensions > 0 && !d.transpose_a && d.batch[0].step_b == 0 && d.batch[0].step_a == d.m * d.k) {
        d.m *= d.batch[0].size;
        for (int i = 1; i < d.dimensions; ++i) d.batch[i - 1] = d.batch[i];
        d.batch[--d.dimensions] = {};
    }
    return d;
}

class product_kernel final : public kernel {
public:
    product_kernel(const kernel_setup& s, const gemm_description& d) :
        d_(d), elements_(s.outputs[0].extents.elements()) {
        gemm_description asked = d;
        asked.relu = false; // cuBLASLt's makes 0 of NaN
        const auto ask = [&] { return (library_ = lt_product::make(*s.gpu, asked, s.allow_tf32)) != nullptr; };
        if (ask()) return;
        // What it has not in a product's pass comes after it.
        asked.gelu = asked.keeps_input = asked.sums_a = asked.sums_b = asked.gelu_gradient = false;
        passes_after_ = d.gelu || d.sums_a || d.sums_b || d.gelu_gradient;
        if ((passes_after_ && ask()) || !d.bias) return;
        asked.bias = false;
        adds_bias_ = ask();
    }
    void run(const kernel_run& r) override {
        void* const beside = d_.keeps_input || has_sums() ? r.out[1] : nullptr;
        if (r.out[0] && elements_ > 0 && multiply(r, beside)) return;
        if (has_sums() && beside)
            sum_pixels(r.in[d_.sums_a ? 0 : 1], d_.k, summed(), d_.element, beside, r.scratch, r.stream);
    }
    std::size_t scratch_bytes() const override {
        const std::size_t of_library = needs_workspace() ? library_->workspace_bytes() + memory_pieces::slack : 0;
        return std::max(of_library, has_sums() ? sum_pixels_scratch(d_.k, summed()) : 0);
    }
    bool may_share(int i, int) const override { return d_.addend && i == 2; }
    double cost() const override {
        const double operations = 2.0 * static_cast<double>(elements_) * static_cast<double>(d_.k);
        return 5000 + operations * 1e-4;
    }

private:
    // The product and all that is done to it. True where the library has made its sums as well.
    bool multiply(const kernel_run& r, void* beside) {
        const void* const added = d_.bias || d_.addend || d_.gelu_gradient ? r.in[2] : nullptr;
        void* const product = d_.keeps_input && passes_after_ ? beside : r.out[0]; // where the library leaves it
        const bool by_library = library_ && library_->run(r.in[0], r.in[1], added, product,
                                                          passes_after_ ? nullptr : beside, workspace(r), r.stream);
        if (by_library && !passes_after_ && !adds_bias_ && !d_.relu) return true;
        void* const to = d_.keeps_input ? beside : r.out[0];
        if (!by_library) gemm(d_, r.in[0], r.in[1], added, to, r.stream);
        else if (adds_bias_ || d_.relu)
            finish_product(result_of(d_.element), to, adds_bias_ ? added : nullptr, elements_ / d_.n, d_.n, d_.relu,
                           r.stream);
        if (d_.gelu) gelu_tanh(d_.element, to, r.out[0], elements_, false, r.stream);
        if (d_.gelu_gradient) gelu_tanh(d_.element, added, to, elements_, true, r.stream);
        return false;
    }
    bool has_sums() const { return d_.sums_a || d_.sums_b; }
    std::int64_t summed() const { return d_.sums_a ? d_.m : d_.n; } // of sums, how many
    bool needs_workspace() const { return library_ && library_->workspace_bytes() > 0; }
    std::byte* workspace(const kernel_run& r) const {
        return needs_workspace() ? memory_pieces::aligned(r.scratch) : nullptr;
    }

    const gemm_description d_;
    const std::int64_t elements_;
    std::unique_ptr<lt_product> library_;           // nullptr: our own kernel
    bool adds_bias_ = false, passes_after_ = false; // by kernels that follow: the bias; gelu or its slope, or sums
};

kernel_pointer prepare_matmul(const kernel_setup& s) {
    const auto t = decode<matmul_op::attributes>(s.attrs);
    return std::make_unique<product_kernel>(s, describe(s, t.transpose_a, t.transpose_b));
}
kernel_pointer prepare_matmul_bias(const kernel_setup& s) {
    const auto t = decode<matmul_bias_op::attributes>(s.attrs);
    gemm_description d = describe(s, t.transpose_a, t.transpose_b);
    d.bias = true;
    d.relu = t.relu;
    return std::make_unique<product_kernel>(s, d);
}
// What the planner makes of a product and a step: c + factor * the product of a and b.
kernel_pointer prepare_matmul_add(const kernel_setup& s) {
    const auto t = decode<matmul_op::attributes>(s.attrs);
    gemm_description d = describe(s, t.transpose_a, t.transpose_b);
    d.addend = true;
    d.factor = s.attrs.get<double>("factor");
    return std::make_unique<product_kernel>(s, d);
}

// The planner's, too: gelu_tanh(a b + bias), and what it is of where the node has a second output.
kernel_pointer prepare_matmul_gelu(const kernel_setup& s) {
    const auto t = decode<matmul_op::attributes>(s.attrs);
    gemm_description d = describe(s, t.transpose_a, t.transpose_b);
    d.bias = d.gelu = true;
    d.keeps_input = s.outputs.size() == 2;
    return std::make_unique<product_kernel>(s, d);
}
// a b and the sums of the rows of b, or of a.
kernel_pointer prepare_matmul_row_sums(const kernel_setup& s) {
    const auto t = decode<matmul_op::attributes>(s.attrs);
    gemm_description d = describe(s, t.transpose_a, t.transpose_b);
    (s.attrs.get<std::int64_t>("of_a") ? d.sums_a : d.sums_b) = true;
    return std::make_unique<product_kernel>(s, d);
}
// a b gelu_tanh'(c).
kernel_pointer prepare_matmul_gelu_gradient(const kernel_setup& s) {
    const auto t = decode<matmul_op::attributes>(s.attrs);
    gemm_description d = describe(s, t.transpose_a, t.transpose_b);
    d.gelu_gradient = true;
    return std::make_unique<product_kernel>(s, d);
}

// Of operands that are rounded to 8 bits first: as bytes where the library has their products, else as floats, whose products have the same
// terms.
class float8_kernel final : public kernel {
public:
    float8_kernel(const kernel_setup& s, const matmul_float8_op::attributes& t) :
        element_(s.outputs[0].element), elements_(s.outputs[0].extents.elements()) {
        const auto operand = [](const extents& e, bool transposed, float8_format f) {
            const std::int64_t rows = e[e.rank() - 2].size, columns = e[e.rank() - 1].size, matrix = rows * columns;
            return float8_operand{nullptr,    nullptr, matrix == 0 ? 0 : e.elements() / matrix, rows, columns,
                                  transposed, f};
        };
        operands_[0] = operand(s.inputs[0].extents, t.transpose_a, t.format_a());
        operands_[1] = operand(s.inputs[1].extents, !t.transpose_b, t.format_b());
        d_ = describe(s, t.transpose_a, t.transpose_b);
        gemm_description asked = describe(s, t.transpose_a, t.transpose_b);
        asked.transpose_a = false; // as they lie when they are rounded
        asked.transpose_b = true;
        asked.float8 = true;
        asked.format_a = t.format_a();
        asked.format_b = t.format_b();
        library_ = lt_product::make(*s.gpu, asked, false);
        bytes_ = library_ != nullptr;
        if (bytes_) return;
        for (float8_operand& x : operands_) x.transposed = false;
        d_.element = element_type::float32;
        library_ = lt_product::make(*s.gpu, d_, true); // TF32 has all fractions of 8 bits
    }
    void run(const kernel_run& r) override {
        if (!r.out[0] || elements_ == 0) return;
        std::byte* at = memory_pieces::aligned(r.scratch);
        const auto take = [&at](std::size_t bytes) { return std::exchange(at, at + padded(bytes)); };
        auto* const scales = reinterpret_cast<float8_scales*>(take(sizeof(float8_scales)));
        float8_operand operands[2] = {operands_[0], operands_[1]};
        for (int i = 0; i < 2; ++i) {
            operands[i].from = r.in[i];
            operands[i].to = take(operand_bytes(i));
        }
        void* const result = take(result_bytes());
        std::byte* const workspace = library_ ? take(library_->workspace_bytes()) : nullptr;
        round_to_float8(element_, operands, bytes_, scales, r.stream);
        if (bytes_) {
            const auto run = [&](void* to) {
                return library_->run(operands[0].to, operands[1].to, nullptr, to, nullptr, workspace, r.stream,
                                     scales->back);
            };
            if (run(r.out[0])) return;
            (void)run(result); // an output that lies within another one
            cuda::check(cudaMemcpyAsync(r.out[0], result, result_bytes(), cudaMemcpyDeviceToDevice,
                                        static_cast<cudaStream_t>(r.stream)),
                        "cudaMemcpyAsync");
            return;
        }
        if (!library_ || !library_->run(operands[0].to, operands[1].to, nullptr, result, nullptr, workspace, r.stream))
            gemm(d_, operands[0].to, operands[1].to, nullptr, result, r.stream);
        scale_back(element_, static_cast<const float*>(result), r.out[0], elements_, scales, r.stream);
    }
    std::size_t scratch_bytes() const override {
        return memory_pieces::slack + padded(sizeof(float8_scales)) + padded(operand_bytes(0)) +
               padded(operand_bytes(1)) + padded(result_bytes()) + (library_ ? padded(library_->workspace_bytes()) : 0);
    }
    double cost() const override {
        return 10000 + 2.0 * static_cast<double>(elements_) * static_cast<double>(d_.k) * 1e-4;
    }

private:
    static constexpr std::size_t padded(std::size_t bytes) {
        constexpr std::size_t to = memory_pieces::alignment;
        return (bytes + to - 1) / to * to;
    }
    std::size_t operand_bytes(int i) const {
        const float8_operand& x = operands_[i];
        return static_cast<std::size_t>(x.count * x.rows * x.columns) * (bytes_ ? 1 : sizeof(float));
    }
    std::size_t result_bytes() const {
        return static_cast<std::size_t>(elements_) * (bytes_ ? size_of(element_) : sizeof(float));
    }

    const element_type element_; // of operands and results
    const std::int64_t elements_;
    float8_operand operands_[2];
    gemm_description d_;
    std::unique_ptr<lt_product> library_; // of bytes, or of floats; nullptr: our own kernel, of floats
    bool bytes_ = false;
};

kernel_pointer prepare_matmul_float8(const kernel_setup& s) {
    return std::make_unique<float8_kernel>(s, decode<matmul_float8_op::attributes>(s.attrs));
}

} // namespace

void register_matmul() {
    enter({{matmul_op::name, prepare_matmul},
           {matmul_op::with_bias, prepare_matmul_bias},
           {"matmul_add", prepare_matmul_add},
           {"matmul_gelu", prepare_matmul_gelu},
           {"matmul_row_sums", prepare_matmul_row_sums},
           {"matmul_gelu_gradient", prepare_matmul_gelu_gradient},
           {matmul_float8_op::name, prepare_matmul_float8}});
}

} // namespace tenon::cuda
