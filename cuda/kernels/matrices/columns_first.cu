#include <cuda/kernels/matrices/columns_first.hpp>

#include <limits>

#include <cuda/kernels/each.hpp>
#include <cuda/kernels/launch.hpp>
#include <cuda/kernels/matrices/block.hpp>
#include <cuda/kernels/matrices/rotations.hpp>

namespace tenon::cuda {

namespace {

template <class T, class U> __global__ void transpose(const T* from, U* to, std::int64_t m, std::int64_t n) {
    each_in_grid(m * n, [&](std::int64_t i) { to[i] = static_cast<U>(from[i % m * n + i / m]); });
}

template <class T, class U> __global__ void symmetric(const T* a, U* to, std::int64_t n, bool lower) {
    each_in_grid(n * n, [&](std::int64_t at) {
        const std::int64_t i = at / n, j = at % n;
        to[at] = lower && j > i ? U{0} : (static_cast<U>(a[i * n + j]) + static_cast<U>(a[j * n + i])) / 2;
    });
}

template <class U> __global__ void upper(const double* from, U* r, std::int64_t m, std::int64_t n) {
    each_in_grid((m < n ? m : n) * n, [&](std::int64_t at) {
        const std::int64_t i = at / n, j = at % n;
        r[at] = j < i ? U{0} : static_cast<U>(from[j * m + i]);
    });
}

template <class T> __global__ void unit(T* x, std::int64_t n) {
    each_in_grid(n * n, [&](std::int64_t at) { x[at] = at / n == at % n ? T{1} : T{0}; });
}

// One block.
__global__ void check_finite(double* x, std::int64_t n, std::int32_t* failed) {
    bool finite = true;
    (void)largest_of(x, n, finite);
    if (threadIdx.x == 0) *failed = finite ? 0 : 1;
    if (!finite) each_of(n, [&](std::int64_t i) { x[i] = 0; });
}

__global__ void check_info(const int* info, std::int32_t* failed) {
    if (*info != 0) *failed = 1;
}

template <class T> __global__ void check_positive(const T* l, std::int64_t n, const int* info, std::int32_t* failed) {
    bool good = *info == 0;
    each_of(n, [&](std::int64_t i) { good = good && l[i * n + i] > 0; });
    good = __syncthreads_and(good) != 0;
    if (threadIdx.x == 0) *failed = good ? 0 : 1;
}

template <class T> __global__ void measure(const T* a, T* scales, std::int64_t n) {
    each_in_grid(2 * n, [&](std::int64_t at) {
        const bool of_row = at < n;
        const std::int64_t line = of_row ? at : at - n;
        T most = 0;
        for (std::int64_t i = 0; i < n; ++i) {
            const T v = fabs(of_row ? a[line * n + i] : a[i * n + line]);
            if (!(v <= most)) most = v;
        }
        scales[at] = most;
    });
}

// One block. Row i of the triangles was which row of the matrix: followed back through the exchanges.
template <class T>
__global__ void check_pivots(const T* lu, const int* pivots, const T* scales, std::int64_t n, std::int32_t* failed) {
    const T least = static_cast<T>(n) * std::numeric_limits<T>::epsilon();
    bool good = true;
    each_of(n, [&](std::int64_t place) {
        std::int64_t row = place;
        for (std::int64_t i = n; i-- > 0;) {
            const std::int64_t with = pivots[i] - 1;
            row = row == i ? with : row == with ? i : row;
        }
        const T of_row = scales[row], of_column = scales[n + place];
        good = good && fabs(lu[place * n + place]) > least * (of_row < of_column ? of_row : of_column);
    });
    good = __syncthreads_and(good) != 0;
    if (threadIdx.x == 0) *failed = good ? 0 : 1;
}

template <class T>
__global__ void determinant(const T* lu, const int* pivots, std::int64_t n, T* product_to, T* sign_to, T* log_to) {
    if (threadIdx.x != 0) return;
    double log = 0, sign = 1;
    for (std::int64_t i = 0; i < n; ++i)
        if (pivots[i] - 1 != i) sign = -sign;
    double product = sign;
    for (std::int64_t i = 0; i < n; ++i) {
        const double pivot = static_cast<double>(lu[i * n + i]);
        product *= pivot;
        log += ::log(fabs(pivot));
        if (!(pivot > 0)) sign *= pivot < 0 ? -1.0 : pivot; // 0 and NaN stay
    }
    if (product_to) *product_to = static_cast<T>(product);
    if (sign_to) *sign_to = static_cast<T>(sign);
    if (log_to) *log_to = static_cast<T>(log);
}

template <class U> __global__ void vectors(found_vectors v, U* to_x, U* to_y) {
    each_in_grid(v.k, [&](std::int64_t j) {
        const double* const x = v.x + j * v.x_vector;
        const double sign = turned_to_positive(v.m, [&](std::int64_t i) { return x[i * v.x_element]; });
        for (std::int64_t i = 0; to_x && i < v.m; ++i)
            to_x[v.x_across ? j * v.m + i : i * v.k + j] = static_cast<U>(sign * x[i * v.x_element]);
        for (std::int64_t i = 0; to_y && i < v.n; ++i)
            to_y[v.y_across ? j * v.n + i : i * v.k + j] = static_cast<U>(sign * v.y[j * v.y_vector + i * v.y_element]);
    });
}

template <class U> __global__ void numbers(const double* from, U* to, std::int64_t n) {
    each_in_grid(n, [&](std::int64_t i) { to[i] = static_cast<U>(from[i]); });
}

// f(T{}, U{})
template <class F> void with_both(tenon::element_type e, tenon::element_type as, const F& f) {
    with_float_or_double(e, [&]<class T>(T t) { with_float_or_double(as, [&]<class U>(U u) { f(t, u); }); });
}
constexpr unsigned one_block = 32 * most_matrix_warps;

} // namespace

void copy_transposed(tenon::element_type e, const void* from, tenon::element_type as, void* to, std::int64_t m,
                     std::int64_t n, void* stream) {
    with_both(e, as, [&]<class T, class U>(T, U) {
        launch(transpose<T, U>, blocks_for(m * n), block_threads, 0, stream, static_cast<const T*>(from),
               static_cast<U*>(to), m, n);
    });
}

void take_symmetric(tenon::element_type e, const void* a, tenon::element_type as, void* to, std::int64_t n, bool lower,
                    void* stream) {
    with_both(e, as, [&]<class T, class U>(T, U) {
        launch(symmetric<T, U>, blocks_for(n * n), block_threads, 0, stream, static_cast<const T*>(a),
               static_cast<U*>(to), n, lower);
    });
}

void take_upper(const double* from, tenon::element_type as, void* r, std::int64_t m, std::int64_t n, void* stream) {
    with_float_or_double(as, [&]<class U>(U) {
        launch(upper<U>, blocks_for((m < n ? m : n) * n), block_threads, 0, stream, from, static_cast<U*>(r), m, n);
    });
}

void set_unit(tenon::element_type e, void* x, std::int64_t n, void* stream) {
    with_float_or_double(
        e, [&]<class T>(T) { launch(unit<T>, blocks_for(n * n), block_threads, 0, stream, static_cast<T*>(x), n); });
}

void refuse_not_finite(double* x, std::int64_t n, std::int32_t* failed, void* stream) {
    launch(check_finite, 1, one_block, 0, stream, x, n, failed);
}

void refuse_failed(const int* info, std::int32_t* failed, void* stream) {
    launch(check_info, 1, 1, 0, stream, info, failed);
}

void refuse_not_positive(tenon::element_type e, const void* l, std::int64_t n, const int* info, std::int32_t* failed,
                         void* stream) {
    with_float_or_double(e, [&]<class T>(T) {
        launch(check_positive<T>, 1, one_block, 0, stream, static_cast<const T*>(l), n, info, failed);
    });
}

void measure_lines(tenon::element_type e, const void* a, void* scales, std::int64_t n, void* stream) {
    with_float_or_double(e, [&]<class T>(T) {
        launch(measure<T>, blocks_for(2 * n), block_threads, 0, stream, static_cast<const T*>(a),
               static_cast<T*>(scales), n);
    });
}

void refuse_singular(tenon::element_type e, const void* lu, const int* pivots, const void* scales, std::int64_t n,
                     std::int32_t* failed, void* stream) {
    with_float_or_double(e, [&]<class T>(T) {
        launch(check_pivots<T>, 1, one_block, 0, stream, static_cast<const T*>(lu), pivots,
               static_cast<const T*>(scales), n, failed);
    });
}

void take_determinant(tenon::element_type e, const void* lu, const int* pivots, std::int64_t n, void* product,
                      void* sign, void* log, void* stream) {
    with_float_or_double(e, [&]<class T>(T) {
        launch(determinant<T>, 1, 32, 0, stream, static_cast<const T*>(lu), pivots, n, static_cast<T*>(product),
               static_cast<T*>(sign), static_cast<T*>(log));
    });
}

void take_vectors(const found_vectors& v, tenon::element_type as, void* stream) {
    with_float_or_double(as, [&]<class U>(U) {
        launch(vectors<U>, blocks_for(v.k), block_threads, 0, stream, v, static_cast<U*>(v.to_x),
               static_cast<U*>(v.to_y));
    });
}

void take_numbers(const double* from, tenon::element_type as, void* to, std::int64_t n, void* stream) {
    with_float_or_double(as, [&]<class U>(U) {
        launch(numbers<U>, blocks_for(n), block_threads, 0, stream, from, static_cast<U*>(to), n);
    });
}

} // namespace tenon::cuda
