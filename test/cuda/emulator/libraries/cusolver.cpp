#include "cusolver.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>

#include "emulator/control.hpp"
#include "held.hpp"
#include "planned_faults.hpp"

struct cusolverDnContext {
    int card = 0;
    cudaStream_t stream = nullptr;
};

namespace {

auto& faults =
    *new tenon::emulator::planned_faults<cusolverStatus_t>; // never destroyed: some is called when the program ends
auto& divergent = *new tenon::emulator::planned_faults<int>;
int info_of(const char* function) { return divergent.of_call(function).value_or(0); }
struct library_state {
    std::mutex guard;
    std::size_t handles = 0;
    std::uint64_t calls = 0;
};
tenon::emulator::held<library_state> the_library() {
    static auto& s = *new library_state;
    return s;
}

template <class T> using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T> Eigen::Map<matrix<T>> as_matrix(T* a, int m, int n) { return {a, m, n}; }
template <class T> Eigen::Map<const matrix<T>> as_matrix(const T* a, int m, int n) { return {a, m, n}; }

bool is_current(int card) {
    int current = -1;
    return cudaGetDevice(&current) == cudaSuccess && current == card;
}

// Puts the work on the handle's stream, where nothing speaks against it.
template <class F>
cusolverStatus_t give(cusolverDnHandle_t h, const char* name, std::initializer_list<const void*> pointers, const F& f) {
    if (!h) return CUSOLVER_STATUS_NOT_INITIALIZED;
    for (const void* p : pointers)
        if (!p) return CUSOLVER_STATUS_INVALID_VALUE;
    if (!is_current(h->card)) return CUSOLVER_STATUS_EXECUTION_FAILED;
    cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
    if (cudaStreamIsCapturing(h->stream, &captured) != cudaSuccess || captured != cudaStreamCaptureStatusNone)
        return CUSOLVER_STATUS_EXECUTION_FAILED;
    ++the_library()->calls;
    const auto work = [f] {
        f();
        return true;
    };
    return tenon::emulator::enqueue(h->stream, name, work) == cudaSuccess ? CUSOLVER_STATUS_SUCCESS
                                                                          : CUSOLVER_STATUS_EXECUTION_FAILED;
}
// Working memory of a call, in elements, all of which it writes; aligned as cudaMalloc gives it, of less nothing is documented.
int work_of(int m, int n) { return 3 * (m + n) + 17; }
bool is_aligned(const void* work) { return reinterpret_cast<std::uintptr_t>(work) % 256 == 0; }
cusolverStatus_t tell(cusolverDnHandle_t h, int m, int n, int lda, int* count) {
    if (!h) return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (!is_current(h->card)) return CUSOLVER_STATUS_EXECUTION_FAILED;
    if (m < 0 || n < 0 || lda < m || !count) return CUSOLVER_STATUS_INVALID_VALUE;
    *count = work_of(m, n);
    return CUSOLVER_STATUS_SUCCESS;
}
template <class T> void spoil(T* work, int count) { std::fill_n(work, count, static_cast<T>(NAN)); }

template <class T>
cusolverStatus_t potrf(cusolverDnHandle_t h, const char* name, cublasFillMode_t uplo, int n, T* a, int lda, T* work,
                       int count, int* info) {
    if (uplo != CUBLAS_FILL_MODE_UPPER || lda != n || count < work_of(n, n) || !is_aligned(work))
        return CUSOLVER_STATUS_INVALID_VALUE;
    return give(h, name, {a, work, info}, [=] {
        spoil(work, count);
        *info = 0;
        auto u = as_matrix(a, n, n); // a = u^T u
        for (int i = 0; i < n; ++i) {
            double d = static_cast<double>(u(i, i));
            for (int k = 0; k < i; ++k) d -= static_cast<double>(u(k, i)) * static_cast<double>(u(k, i));
            if (d <= 0) { // NaN is passed on
                *info = i + 1;
                return;
            }
            u(i, i) = static_cast<T>(std::sqrt(d));
            for (int j = i + 1; j < n; ++j) {
                double s = static_cast<double>(u(i, j));
                for (int k = 0; k < i; ++k) s -= static_cast<double>(u(k, i)) * static_cast<double>(u(k, j));
                u(i, j) = static_cast<T>(s / static_cast<double>(u(i, i)));
            }
        }
    });
}

template <class T>
cusolverStatus_t getrf(cusolverDnHandle_t h, const char* name, int m, int n, T* a, int lda, T* work, int* pivots,
                       int* info) {
    if (m != n || lda != m || !is_aligned(work)) return CUSOLVER_STATUS_INVALID_VALUE;
    return give(h, name, {a, work, pivots, info}, [=] {
        spoil(work, work_of(m, n));
        *info = 0;
        auto lu = as_matrix(a, m, n);
        for (int p = 0; p < n; ++p) {
            int best = p;
            for (int i = p + 1; i < n; ++i)
                if (std::fabs(lu(i, p)) > std::fabs(lu(best, p))) best = i;
            pivots[p] = best + 1;
            if (best != p) lu.row(p).swap(lu.row(best));
            if (lu(p, p) == 0) {
                if (*info == 0) *info = p + 1;
                continue;
            }
            for (int i = p + 1; i < n; ++i) {
                lu(i, p) /= lu(p, p);
                for (int j = p + 1; j < n; ++j) lu(i, j) -= lu(i, p) * lu(p, j);
            }
        }
    });
}

template <class T>
cusolverStatus_t getrs(cusolverDnHandle_t h, const char* name, cublasOperation_t way, int n, int columns, const T* a,
                       int lda, const int* pivots, T* b, int ldb, int* info) {
    if (lda != n || ldb != n || columns < 1 || (way != CUBLAS_OP_N && way != CUBLAS_OP_T))
        return CUSOLVER_STATUS_INVALID_VALUE;
    return give(h, name, {a, pivots, b, info}, [=] {
        *info = 0;
        const auto lu = as_matrix(a, n, n);
        auto x = as_matrix(b, n, columns);
        if (way == CUBLAS_OP_N) {
            for (int i = 0; i < n; ++i) x.row(i).swap(x.row(pivots[i] - 1));
            lu.template triangularView<Eigen::UnitLower>().solveInPlace(x);
            lu.template triangularView<Eigen::Upper>().solveInPlace(x);
            return;
        }
        lu.template triangularView<Eigen::Upper>().transpose().solveInPlace(x);
        lu.template triangularView<Eigen::UnitLower>().transpose().solveInPlace(x);
        for (int i = n; i-- > 0;) x.row(i).swap(x.row(pivots[i] - 1));
    });
}

} // namespace

namespace tenon::emulator::cusolver {

void reset() {
    faults.clear();
    divergent.clear();
    the_library()->calls = 0;
}
void fail(const std::string& function, cusolverStatus_t status, std::uint64_t after, std::uint64_t times) {
    faults.plan(function, status, after, times);
}
void diverge(const std::string& function, int info) { divergent.plan(function, info, 0, ~std::uint64_t{0}); }
std::uint64_t calls() { return the_library()->calls; }
std::size_t handles() { return the_library()->handles; }

} // namespace tenon::emulator::cusolver

extern "C" {

cusolverStatus_t cusolverGetVersion(int* version) {
    *version = CUSOLVER_VERSION;
    return CUSOLVER_STATUS_SUCCESS;
}

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* to) {
    TENON_REFUSE(cusolverDnCreate);
    auto* const h = new cusolverDnContext;
    if (cudaGetDevice(&h->card) != cudaSuccess) {
        delete h;
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    }
    *to = h;
    ++the_library()->handles;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t h) {
    if (!h) return CUSOLVER_STATUS_NOT_INITIALIZED;
    delete h;
    --the_library()->handles;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t h, cudaStream_t stream) {
    TENON_REFUSE(cusolverDnSetStream);
    if (!h) return CUSOLVER_STATUS_NOT_INITIALIZED;
    h->stream = stream;
    return CUSOLVER_STATUS_SUCCESS;
}

#define TENON_OF_TYPE(X, T)                                                                                            \
    cusolverStatus_t cusolverDn##X##potrf_bufferSize(cusolverDnHandle_t h, cublasFillMode_t, int n, T*, int lda,       \
                                                     int* count) {                                                     \
        TENON_REFUSE(cusolverDn##X##potrf_bufferSize);                                                                 \
        return tell(h, n, n, lda, count);                                                                              \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##X##potrf(cusolverDnHandle_t h, cublasFillMode_t uplo, int n, T* a, int lda, T* work,  \
                                          int count, int* info) {                                                      \
        TENON_REFUSE(cusolverDn##X##potrf);                                                                            \
        return potrf(h, "cusolverDn" #X "potrf", uplo, n, a, lda, work, count, info);                                  \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##X##getrf_bufferSize(cusolverDnHandle_t h, int m, int n, T*, int lda, int* count) {    \
        TENON_REFUSE(cusolverDn##X##getrf_bufferSize);                                                                 \
        return tell(h, m, n, lda, count);                                                                              \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##X##getrf(cusolverDnHandle_t h, int m, int n, T* a, int lda, T* work, int* pivots,     \
                                          int* info) {                                                                 \
        TENON_REFUSE(cusolverDn##X##getrf);                                                                            \
        return getrf(h, "cusolverDn" #X "getrf", m, n, a, lda, work, pivots, info);                                    \
    }                                                                                                                  \
    cusolverStatus_t cusolverDn##X##getrs(cusolverDnHandle_t h, cublasOperation_t way, int n, int columns, const T* a, \
                                          int lda, const int* pivots, T* b, int ldb, int* info) {                      \
        TENON_REFUSE(cusolverDn##X##getrs);                                                                            \
        return getrs(h, "cusolverDn" #X "getrs", way, n, columns, a, lda, pivots, b, ldb, info);                       \
    }
TENON_OF_TYPE(S, float)
TENON_OF_TYPE(D, double)
#undef TENON_OF_TYPE

cusolverStatus_t cusolverDnDgeqrf_bufferSize(cusolverDnHandle_t h, int m, int n, double*, int lda, int* count) {
    TENON_REFUSE(cusolverDnDgeqrf_bufferSize);
    return tell(h, m, n, lda, count);
}
cusolverStatus_t cusolverDnDgeqrf(cusolverDnHandle_t h, int m, int n, double* a, int lda, double* taus, double* work,
                                  int count, int* info) {
    TENON_REFUSE(cusolverDnDgeqrf);
    if (lda != m || count < work_of(m, n) || !is_aligned(work)) return CUSOLVER_STATUS_INVALID_VALUE;
    return give(h, "cusolverDnDgeqrf", {a, taus, work, info}, [=] {
        spoil(work, count);
        *info = 0;
        auto all = as_matrix(a, m, n);
        const Eigen::HouseholderQR<matrix<double>> done(all);
        all = done.matrixQR();
        for (int i = 0; i < std::min(m, n); ++i) taus[i] = done.hCoeffs()[i];
    });
}
cusolverStatus_t cusolverDnDorgqr_bufferSize(cusolverDnHandle_t h, int m, int n, int k, const double*, int lda,
                                             const double*, int* count) {
    TENON_REFUSE(cusolverDnDorgqr_bufferSize);
    return k > n ? CUSOLVER_STATUS_INVALID_VALUE : tell(h, m, n, lda, count);
}
cusolverStatus_t cusolverDnDorgqr(cusolverDnHandle_t h, int m, int n, int k, double* a, int lda, const double* taus,
                                  double* work, int count, int* info) {
    TENON_REFUSE(cusolverDnDorgqr);
    if (lda != m || n > m || k != n || count < work_of(m, n) || !is_aligned(work)) return CUSOLVER_STATUS_INVALID_VALUE;
    return give(h, "cusolverDnDorgqr", {a, taus, work, info}, [=] {
        spoil(work, count);
        *info = 0;
        auto all = as_matrix(a, m, n);
        matrix<double> q = matrix<double>::Identity(m, n);
        for (int j = k; j-- > 0;) {
            Eigen::VectorXd v = Eigen::VectorXd::Zero(m);
            v[j] = 1;
            for (int i = j + 1; i < m; ++i) v[i] = all(i, j);
            q -= taus[j] * v * (v.transpose() * q).eval();
        }
        all = q;
    });
}

cusolverStatus_t cusolverDnDsyevd_bufferSize(cusolverDnHandle_t h, cusolverEigMode_t, cublasFillMode_t, int n,
                                             const double*, int lda, const double*, int* count) {
    TENON_REFUSE(cusolverDnDsyevd_bufferSize);
    return tell(h, n, n, lda, count);
}
cusolverStatus_t cusolverDnDsyevd(cusolverDnHandle_t h, cusolverEigMode_t mode, cublasFillMode_t uplo, int n, double* a,
                                  int lda, double* w, double* work, int count, int* info) {
    TENON_REFUSE(cusolverDnDsyevd);
    if (mode != CUSOLVER_EIG_MODE_VECTOR || uplo != CUBLAS_FILL_MODE_LOWER || lda != n || count < work_of(n, n) ||
        !is_aligned(work))
        return CUSOLVER_STATUS_INVALID_VALUE;
    return give(h, "cusolverDnDsyevd", {a, w, work, info}, [=, found = info_of("cusolverDnDsyevd")] {
        spoil(work, count);
        auto all = as_matrix(a, n, n);
        const Eigen::SelfAdjointEigenSolver<matrix<double>> done(all); // of the lower triangle
        *info = done.info() == Eigen::Success ? found : 1;
        for (int i = 0; i < n; ++i) w[i] = done.eigenvalues()[i];
        all = -done.eigenvectors(); // either sign will do
    });
}

cusolverStatus_t cusolverDnDgesvd_bufferSize(cusolverDnHandle_t h, int m, int n, int* count) {
    TENON_REFUSE(cusolverDnDgesvd_bufferSize);
    return m < n ? CUSOLVER_STATUS_INVALID_VALUE : tell(h, m, n, m, count);
}
cusolverStatus_t cusolverDnDgesvd(cusolverDnHandle_t h, signed char jobu, signed char jobvt, int m, int n, double* a,
                                  int lda, double* s, double* u, int ldu, double* vt, int ldvt, double* work, int count,
                                  double*, int* info) {
    TENON_REFUSE(cusolverDnDgesvd);
    if (m < n || lda != m || ldu != m || ldvt != n || jobu != jobvt || count < work_of(m, n) || !is_aligned(work) ||
        (jobu != 'N' && (jobu != 'S' || !u || !vt)))
        return CUSOLVER_STATUS_INVALID_VALUE;
    return give(h, "cusolverDnDgesvd", {a, s, work, info}, [=, found = info_of("cusolverDnDgesvd")] {
        spoil(work, count);
        *info = found;
        auto all = as_matrix(a, m, n);
        const Eigen::JacobiSVD<matrix<double>> done(all, jobu == 'N' ? 0U
                                                                     : static_cast<unsigned>(Eigen::ComputeThinU) |
                                                                           static_cast<unsigned>(Eigen::ComputeThinV));
        for (int i = 0; i < n; ++i) s[i] = done.singularValues()[i];
        if (jobu == 'S') {
            as_matrix(u, m, n) = -done.matrixU(); // either sign will do
            as_matrix(vt, n, n) = -done.matrixV().transpose();
        }
        all.setConstant(NAN);
    });
}

} // extern "C"
