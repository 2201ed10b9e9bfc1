#include <cuda/kernels/image/transform.hpp>

#include <cuda/kernels/elements.hpp>
#include <cuda/kernels/launch.hpp>

namespace tenon::cuda {

namespace {

// Rounded each by itself, which keeps the compiler from fusing them.
__device__ float times(float x, float y) { return __fmul_rn(x, y); }
__device__ double times(double x, double y) { return __dmul_rn(x, y); }
__device__ float plus(float x, float y) { return __fadd_rn(x, y); }
__device__ double plus(double x, double y) { return __dadd_rn(x, y); }

template <class C> struct point { C x, y; };

// Where the pixels of an image come from.
template <class C> struct transformation {
    __device__ transformation(const float* m, const image_sizes& s) :
        a(m[0]),
        b(m[1]),
        c(m[2]),
        d(m[3]),
        e(m[4]),
        f(m[5]),
        middle{static_cast<C>(s.width - 1) / 2, static_cast<C>(s.height - 1) / 2} {}
    __device__ point<C> source(std::int64_t row, std::int64_t column) const {
        const C y = static_cast<C>(row) - middle.y, x = static_cast<C>(column) - middle.x;
        const C of_row_x = plus(plus(times(b, y), c), middle.x), of_row_y = plus(plus(times(e, y), f), middle.y);
        return {plus(times(a, x), of_row_x), plus(times(d, x), of_row_y)};
    }
    C a, b, c, d, e, f;
    point<C> middle;
};

// tap(row, column, weight) for each pixel that lies in the image of those that one at `at` is made of; gives the weight of what
// lies around it.
template <class C, class Tap> __device__ C visit(const point<C>& at, const image_sizes& s, bool nearest, Tap&& tap) {
    const auto width = static_cast<C>(s.width), height = static_cast<C>(s.height);
    C x = at.x, y = at.y;
    if (nearest) {
        x = plus(x, C(0.5));
        y = plus(y, C(0.5));
        if (!(x >= 0 && x < width && y >= 0 && y < height)) return 1;
        tap(static_cast<std::int64_t>(y), static_cast<std::int64_t>(x), C(1));
        return 0;
    }
    // Written so that NaN lies around the image.
    if (!(x > -1 && x < width && y > -1 && y < height)) return 1;
    // Both are above -1: + 1 lets the conversion round down.
    const auto left = static_cast<std::int64_t>(plus(x, C(1))) - 1, top = static_cast<std::int64_t>(plus(y, C(1))) - 1;
    const C right_part = x - static_cast<C>(left), low_part = y - static_cast<C>(top);
    C outside = 0;
    const auto part = [&](std::int64_t row, std::int64_t column, C weight) {
        if (row < 0 || row >= s.height || column < 0 || column >= s.width) outside = plus(outside, weight);
        else tap(row, column, weight);
    };
    part(top, left, times(1 - low_part, 1 - right_part));
    part(top, left + 1, times(1 - low_part, right_part));
    part(top + 1, left, times(low_part, 1 - right_part));
    part(top + 1, left + 1, times(low_part, right_part));
    return outside;
}

template <class T, class Count>
__global__ void transform_elements(const T* __restrict__ images, T* __restrict__ to, image_sizes s,
                                   const float* __restrict__ matrices, bool nearest, compute_t<T> value) {
    using C = compute_t<T>;
    const auto n = static_cast<Count>(s.elements());
    for (Count i = Count{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += Count{gridDim.x} * blockDim.x) {
        const image_place<Count> at(i, s);
        const transformation<C> t(matrices + 6 * at.batch, s);
        const T* const image = images + at.batch * s.image() + at.channel;
        C sum = 0;
        const C outside =
            visit(t.source(at.row, at.column), s, nearest, [&](std::int64_t row, std::int64_t column, C weight) {
                sum = plus(sum, times(weight, widen(image[row * s.row() + column * s.channels])));
            });
        if (outside > 0) sum = plus(sum, times(outside, value));
        to[i] = narrow<T>(sum);
    }
}

// The pixels among which those lie that are made of one: a rectangle, first and end.
struct rectangle {
    std::int64_t top, bottom, left, right;
};
__device__ std::int64_t clamped(double x, std::int64_t most) {
    return x > 0 ? x < static_cast<double>(most) ? static_cast<std::int64_t>(x) : most : 0;
}
// They come from within 1 of it, and what rounding adds: the transformation backwards of a square.
template <class C>
__device__ rectangle made_of(const transformation<C>& t, const image_sizes& s, std::int64_t row, std::int64_t column) {
    const double a = t.a, b = t.b, d = t.d, e = t.e, determinant = a * e - b * d;
    const double x = static_cast<double>(column) - t.middle.x - t.c, y = static_cast<double>(row) - t.middle.y - t.f;
    const double in_x = (e * x - b * y) / determinant, in_y = (a * y - d * x) / determinant;
    const auto width = static_cast<double>(s.width), height = static_cast<double>(s.height);
    const double rounding = sizeof(C) == 4 ? 1e-5 : 1e-13;
    const double reach_x = 1 + rounding * ((fabs(a) + 1) * width + fabs(b) * height + fabs(static_cast<double>(t.c)));
    const double reach_y = 1 + rounding * ((fabs(e) + 1) * height + fabs(d) * width + fabs(static_cast<double>(t.f)));
    const double far_x = (fabs(e) * reach_x + fabs(b) * reach_y) / fabs(determinant) + 1;
    const double far_y = (fabs(a) * reach_y + fabs(d) * reach_x) / fabs(determinant) + 1;
    // Of a determinant that is 0, or nearly so, or NaN: any.
    constexpr double most = 1e15;
    if (!(far_x < most && far_y < most && fabs(in_x) < most && fabs(in_y) < most)) return {0, s.height, 0, s.width};
    const double to_x = in_x + t.middle.x, to_y = in_y + t.middle.y;
    return {clamped(to_y - far_y, s.height), clamped(to_y + far_y + 1, s.height), clamped(to_x - far_x, s.width),
            clamped(to_x + far_x + 1, s.width)};
}

template <class T, class Count>
__global__ void gather_gradient(const T* __restrict__ gradient, T* __restrict__ to, image_sizes s,
                                const float* __restrict__ matrices, bool nearest) {
    using C = compute_t<T>;
    const auto n = static_cast<Count>(s.elements());
    for (Count i = Count{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += Count{gridDim.x} * blockDim.x) {
        const image_place<Count> at(i, s);
        const transformation<C> t(matrices + 6 * at.batch, s);
        const rectangle in = made_of(t, s, at.row, at.column);
        const T* const image = gradient + at.batch * s.image() + at.channel;
        C sum = 0;
        for (std::int64_t y = in.top; y < in.bottom; ++y)
            for (std::int64_t x = in.left; x < in.right; ++x)
                visit(t.source(y, x), s, nearest, [&](std::int64_t row, std::int64_t column, C weight) {
                    if (row == at.row && column == at.column)
                        sum = plus(sum, times(weight, widen(image[y * s.row() + x * s.channels])));
                });
        to[i] = narrow<T>(sum);
    }
}

} // namespace

void affine_transform(element_type e, const void* images, void* to, const image_sizes& sizes, const float* matrices,
                      const transform_options& o, void* stream) {
    const std::int64_t n = sizes.elements();
    if (n == 0) return;
    with_floating_type(e, [&]<class T>(T) {
        with_count(n, [&]<class Count>(Count) {
            launch(transform_elements<T, Count>, blocks_for(n), block_threads, 0, stream, static_cast<const T*>(images),
                   static_cast<T*>(to), sizes, matrices, o.method == sampling::nearest,
                   static_cast<compute_t<T>>(o.value));
        });
    });
}

void affine_transform_gradient(element_type e, const void* gradient, void* to, const image_sizes& sizes,
                               const float* matrices, const transform_options& o, void* stream) {
    const std::int64_t n = sizes.elements();
    if (n == 0) return;
    with_floating_type(e, [&]<class T>(T) {
        with_count(n, [&]<class Count>(Count) {
            launch(gather_gradient<T, Count>, blocks_for(n), block_threads, 0, stream, static_cast<const T*>(gradient),
                   static_cast<T*>(to), sizes, matrices, o.method == sampling::nearest);
        });
    });
}

} // namespace tenon::cuda
