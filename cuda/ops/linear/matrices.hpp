#pragma once

#include <string>

#include <cuda/kernels/matrices/batches.hpp>
#include <cuda/ops/memory_pieces.hpp>
#include <tenon/core/error.hpp>
#include <tenon/op/kernel.hpp>
#include <tenon/ops/linear/matrices.hpp>

/// What kernels of ops on batches of matrices share: how a matrix for which there is no result is told to the host.

namespace tenon::cuda {

/// The matrices of an operand, of a batch that it repeats.
inline repeated_batch repeated(const extents& batch, const extents& operand_batch) {
    repeated_batch r{.rank = batch.rank()};
    std::int64_t step = 1;
    for (int d = batch.rank(), o = operand_batch.rank(); d-- > 0;) {
        r.sizes[d] = batch[d].size;
        if (--o < 0) continue;
        r.steps[d] = operand_batch[o].size > 1 ? step : 0;
        step *= operand_batch[o].size;
    }
    return r;
}

/// Of a kernel whose device code writes a flag for each matrix that it cannot take.
class matrices_kernel : public kernel {
public:
    double cost() const override { return 20000 + 0.1 * nanoseconds_; }
    bool may_refuse() const override { return wrong_ != nullptr; }
    std::size_t told_bytes() const override { return wrong_ ? sizeof(std::int64_t) : 0; }
    void tell(std::byte* to) override {
        if (wrong_) *number_in(to) = -1;
    }
    void refuse(const std::byte* told) const override {
        if (!wrong_) return;
        const std::int64_t first = *reinterpret_cast<const std::int64_t*>(told);
        if (first >= 0) throw invalid_argument_error(detail::refused_matrix(op_.c_str(), batch, first, wrong_));
    }
    std::size_t scratch_bytes() const override { return flag_bytes() + work_bytes_; }

protected:
    /// Of matrices of a's sizes, in such a batch. `wrong`: what is said of one that is refused; nullptr: none is. `work_bytes`: of working
    /// memory beside the flags.
    matrices_kernel(const kernel_setup& s, const extents& of_batch, const char* wrong, std::size_t work_bytes) :
        batch(of_batch),
        element(s.inputs[0].element),
        rows(s.inputs[0].extents[s.inputs[0].extents.rank() - 2].size),
        columns(s.inputs[0].extents[s.inputs[0].extents.rank() - 1].size),
        count(of_batch.elements()),
        op_(s.node.op->name),
        wrong_(wrong),
        work_bytes_(work_bytes) {
        const double least = static_cast<double>(rows < columns ? rows : columns);
        nanoseconds_ = static_cast<double>(count * rows * columns) * least;
    }
    std::int32_t* flags(const kernel_run& r) const { return reinterpret_cast<std::int32_t*>(r.scratch); }
    template <class T = std::byte> T* work(const kernel_run& r) const {
        return reinterpret_cast<T*>(r.scratch + flag_bytes());
    }
    /// Gives the stream what tells the host of the flags.
    void report(const kernel_run& r) const { report_first_failed(flags(r), count, number_in(r.told), r.stream); }

    const extents batch;
    const element_type element;
    const std::int64_t rows, columns, count;

private:
    static std::int64_t* number_in(std::byte* told) { return reinterpret_cast<std::int64_t*>(told); }
    std::size_t flag_bytes() const {
        memory_pieces of;
        of.take(wrong_ ? static_cast<std::size_t>(count) * sizeof(std::int32_t) : 0);
        return of.taken();
    }

    const std::string op_;
    const char* const wrong_;
    const std::size_t work_bytes_;
    double nanoseconds_;
};

} // namespace tenon::cuda
