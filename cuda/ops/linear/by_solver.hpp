#pragma once

#include <initializer_list>
#include <memory>
#include <utility>

#include <cuda/kernels/matrices/columns_first.hpp>
#include <cuda/ops/linear/matrices.hpp>
#include <cuda/solver/solver.hpp>

/// Kernels of few large matrices, by cuSOLVER: one matrix after another.

namespace tenon::cuda {

/// Working memory of one matrix: what cuSOLVER needs, and pieces of ours.
class solver_kernel : public matrices_kernel {
public:
    // cuSOLVER's documentation does not say which of its functions may be captured.
    bool may_be_recorded() const override { return false; }

protected:
    solver_kernel(const kernel_setup& s, const extents& of_batch, const char* wrong, std::shared_ptr<solver> of,
                  std::size_t library_bytes, std::size_t own_bytes) :
        matrices_kernel(s, of_batch, wrong,
                        padded(library_bytes) + own_bytes + memory_pieces::alignment + memory_pieces::slack),
        by(std::move(of)),
        library_bytes_(padded(library_bytes)) {}
    static std::size_t padded(std::size_t bytes) {
        memory_pieces of;
        of.take(bytes);
        return of.taken();
    }
    /// Bytes of pieces of so many elements of such types.
    struct piece {
        std::int64_t elements;
        std::size_t element_bytes;
    };
    static std::size_t bytes_of(std::initializer_list<piece> pieces) {
        memory_pieces of;
        for (const piece& p : pieces) of.take(static_cast<std::size_t>(p.elements) * p.element_bytes);
        return of.taken();
    }
    std::byte* library_work(const kernel_run& r) const { return memory_pieces::aligned(work(r)); }
    /// cuSOLVER's *info, then our own pieces.
    int* info(const kernel_run& r) const { return reinterpret_cast<int*>(library_work(r) + library_bytes_); }
    memory_pieces pieces(const kernel_run& r) const {
        return memory_pieces(library_work(r) + library_bytes_ + memory_pieces::alignment);
    }
    /// Matrix i of an operand or result of such matrices.
    const void* matrix_in(const void* all, std::int64_t i, std::int64_t elements) const {
        return static_cast<const std::byte*>(all) + static_cast<std::size_t>(i * elements) * size_of(element);
    }
    void* matrix_in(void* all, std::int64_t i, std::int64_t elements) const {
        return all ? static_cast<std::byte*>(all) + static_cast<std::size_t>(i * elements) * size_of(element) : nullptr;
    }

    const std::shared_ptr<solver> by;

private:
    const std::size_t library_bytes_;
};

/// Kernel(setup, solver), or nullptr where the solver is not to be asked for the matrices of input 0.
template <class Kernel> kernel_pointer prepare_by_solver(const kernel_setup& s, const extents& batch) {
    const extents& a = s.inputs[0].extents;
    if (auto by = solver::of(*s.gpu, a[a.rank() - 2].size, a[a.rank() - 1].size, batch.elements()))
        return std::make_unique<Kernel>(s, std::move(by));
    return nullptr;
}

} // namespace tenon::cuda
