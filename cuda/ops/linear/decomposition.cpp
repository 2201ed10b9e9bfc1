// Decompositions with orthonormal vectors: ops/linear/decomposition.hpp.

#include <cuda/kernels/matrices/orthogonal.hpp>
#include <cuda/ops/kernel_table.hpp>
#include <cuda/ops/linear/by_solver.hpp>
#include <tenon/ops/linear/decomposition.hpp>

namespace tenon::cuda {

namespace {

matrix_batch batch_of(const extents& a) {
    return {a[a.rank() - 2].size, a[a.rank() - 1].size, detail::batch_dimensions(a).elements()};
}

class decomposition_kernel : public matrices_kernel {
protected:
    decomposition_kernel(const kernel_setup& s, const char* wrong, std::int64_t doubles) :
        matrices_kernel(s, detail::batch_dimensions(s.inputs[0].extents), wrong,
                        static_cast<std::size_t>(batch_of(s.inputs[0].extents).count * doubles) * sizeof(double)),
        all(batch_of(s.inputs[0].extents)) {}

    const matrix_batch all;
};

class qr_kernel final : public decomposition_kernel {
public:
    explicit qr_kernel(const kernel_setup& s) :
        decomposition_kernel(s, nullptr, qr_doubles(batch_of(s.inputs[0].extents))) {}
    void run(const kernel_run& r) override {
        if (all.count * all.k() > 0) factor_qr(element, all, r.in[0], r.out[0], r.out[1], work<double>(r), r.stream);
    }
};

class svd_kernel final : public decomposition_kernel {
public:
    explicit svd_kernel(const kernel_setup& s) :
        decomposition_kernel(s, detail::not_finite, svd_doubles(batch_of(s.inputs[0].extents))),
        vectors_(decode<svd_op::attributes>(s.attrs).vectors) {}
    void run(const kernel_run& r) override {
        if (all.count * all.k() == 0) return;
        factor_svd(element, all, r.in[0], vectors_ ? r.out[1] : nullptr, r.out[0], vectors_ ? r.out[2] : nullptr,
                   work<double>(r), flags(r), r.stream);
        report(r);
    }

private:
    const bool vectors_;
};

class eigh_kernel final : public decomposition_kernel {
public:
    explicit eigh_kernel(const kernel_setup& s) :
        decomposition_kernel(s, detail::not_finite, eigh_doubles(batch_of(s.inputs[0].extents).n)) {}
    void run(const kernel_run& r) override {
        if (all.count * all.n == 0) return;
        factor_symmetric(element, all.n, all.count, r.in[0], r.out[0], r.out[1], work<double>(r), flags(r), r.stream);
        report(r);
    }
};

// By cuSOLVER, of copies in double that lie columns first. Its iterations may end before they are done.
const char* const not_decomposed =
    "has elements that are not finite, or its decomposition by cuSOLVER does not converge";
class large_qr_kernel final : public solver_kernel {
public:
    large_qr_kernel(const kernel_setup& s, const std::shared_ptr<solver>& of) :
        large_qr_kernel(s, of, batch_of(s.inputs[0].extents)) {}
    void run(const kernel_run& r) override {
        const std::int64_t m = rows, n = columns, k = m < n ? m : n;
        for (std::int64_t i = 0; i < count; ++i) {
            memory_pieces of = pieces(r);
            auto* const a = of.take<double>(static_cast<std::size_t>(m * n) * sizeof(double));
            auto* const taus = of.take<double>(static_cast<std::size_t>(k) * sizeof(double));
            copy_transposed(element, matrix_in(r.in[0], i, m * n), element_type::float64, a, m, n, r.stream);
            by->reflect(a, taus, m, n, library_work(r), info(r), r.stream);
            if (r.out[1]) take_upper(a, element, matrix_in(r.out[1], i, k * n), m, n, r.stream);
            if (!r.out[0]) continue;
            by->take_q(a, taus, m, n, library_work(r), info(r), r.stream);
            copy_transposed(element_type::float64, a, element, matrix_in(r.out[0], i, m * k), k, m, r.stream);
        }
    }

private:
    large_qr_kernel(const kernel_setup& s, const std::shared_ptr<solver>& of, const matrix_batch& all) :
        solver_kernel(s, detail::batch_dimensions(s.inputs[0].extents), nullptr, of, of->qr_bytes(all.m, all.n),
                      bytes_of({{all.m * all.n, sizeof(double)}, {all.k(), sizeof(double)}})) {}
};

class large_svd_kernel final : public solver_kernel {
public:
    large_svd_kernel(const kernel_setup& s, const std::shared_ptr<solver>& of) :
        large_svd_kernel(s, of, batch_of(s.inputs[0].extents)) {}
    void run(const kernel_run& r) override {
        const bool wide = rows < columns; // then its transpose is decomposed, which lies there columns first
        const std::int64_t high = wide ? columns : rows, k = wide ? rows : columns;
        const bool vectors = vectors_ && (r.out[1] || r.out[2]);
        for (std::int64_t i = 0; i < count; ++i) {
            memory_pieces of = pieces(r);
            const auto doubles = [&](std::int64_t n) {
                return of.take<double>(static_cast<std::size_t>(n) * sizeof(double));
            };
            double *const a = doubles(high * k), *const u = doubles(high * k), *const vt = doubles(k * k),
                          *const s = doubles(k);
            const void* const from = matrix_in(r.in[0], i, high * k);
            if (wide) take_all(from, a, high * k, r.stream);
            else copy_transposed(element, from, element_type::float64, a, high, k, r.stream);
            refuse_not_finite(a, high * k, flags(r) + i, r.stream);
            by->svd(a, vectors ? u : nullptr, s, vectors ? vt : nullptr, high, k, library_work(r), info(r), r.stream);
            refuse_failed(info(r), flags(r) + i, r.stream);
            if (r.out[0]) take_numbers(s, element, matrix_in(r.out[0], i, k), k, r.stream);
            if (!vectors) continue;
            // The right vectors of the matrix, which say where both point, are the left ones of its transpose.
            void *const to_u = matrix_in(r.out[1], i, rows * k), *const to_vt = matrix_in(r.out[2], i, k * columns);
            if (wide) take_vectors({u, vt, high, k, k, high, 1, 1, k, to_vt, to_u, true, false}, element, r.stream);
            else take_vectors({vt, u, k, high, k, 1, k, high, 1, to_vt, to_u, true, false}, element, r.stream);
        }
        report(r);
    }

private:
    large_svd_kernel(const kernel_setup& s, const std::shared_ptr<solver>& of, const matrix_batch& all) :
        solver_kernel(s, detail::batch_dimensions(s.inputs[0].extents), not_decomposed, of,
                      of->svd_bytes(all.high(), all.k()),
                      bytes_of({{all.high() * all.k(), sizeof(double)},
                                {all.high() * all.k(), sizeof(double)},
                                {all.k() * all.k(), sizeof(double)},
                                {all.k(), sizeof(double)}})),
        vectors_(decode<svd_op::attributes>(s.attrs).vectors) {}
    void take_all(const void* from, double* to, std::int64_t n, void* stream) const {
        copy_transposed(element, from, element_type::float64, to, n, 1, stream);
    }

    const bool vectors_;
};

class large_eigh_kernel final : public solver_kernel {
public:
    large_eigh_kernel(const kernel_setup& s, const std::shared_ptr<solver>& of) :
        large_eigh_kernel(s, of, batch_of(s.inputs[0].extents).n) {}
    void run(const kernel_run& r) override {
        const std::int64_t n = rows;
        for (std::int64_t i = 0; i < count; ++i) {
            memory_pieces of = pieces(r);
            auto* const a = of.take<double>(static_cast<std::size_t>(n * n) * sizeof(double));
            auto* const w = of.take<double>(static_cast<std::size_t>(n) * sizeof(double));
            take_symmetric(element, matrix_in(r.in[0], i, n * n), element_type::float64, a, n, false, r.stream);
            refuse_not_finite(a, n * n, flags(r) + i, r.stream);
            by->eigh(a, w, n, library_work(r), info(r), r.stream);
            refuse_failed(info(r), flags(r) + i, r.stream);
            if (r.out[0]) take_numbers(w, element, matrix_in(r.out[0], i, n), n, r.stream);
            if (r.out[1])
                take_vectors({a, nullptr, n, 0, n, n, 1, 0, 0, matrix_in(r.out[1], i, n * n), nullptr, false, false},
                             element, r.stream);
        }
        report(r);
    }

private:
    large_eigh_kernel(const kernel_setup& s, const std::shared_ptr<solver>& of, std::int64_t n) :
        solver_kernel(s, detail::batch_dimensions(s.inputs[0].extents), not_decomposed, of, of->eigh_bytes(n),
                      bytes_of({{n * n, sizeof(double)}, {n, sizeof(double)}})) {}
};

template <class Large, class Own> kernel_pointer prepare_either(const kernel_setup& s) {
    auto large = prepare_by_solver<Large>(s, detail::batch_dimensions(s.inputs[0].extents));
    return large ? std::move(large) : prepare<Own>(s);
}

} // namespace

void register_decomposition() {
    enter({{"qr", prepare_either<large_qr_kernel, qr_kernel>},
           {"svd", prepare_either<large_svd_kernel, svd_kernel>},
           {"eigh", prepare_either<large_eigh_kernel, eigh_kernel>}});
}

} // namespace tenon::cuda
