// Products of matrices on a GPU, through the graph and by themselves, against their formula in float64.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <cuda/blas/lt.hpp>
#include <cuda/device/error.hpp>
#include <cuda/kernels/gemm.hpp>
#include <tenon/cuda/gpus.hpp>
#include <tenon/ops/control.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/matmul.hpp>
#include <tenon/runtime/session/session.hpp>

#include "emulated_libraries_if_any.hpp"

namespace {

namespace tn = tenon;
using tn::any_array;
using tn::any_tensor;
using tn::element_type;
using tn::extents;

// A fresh machine, before and after.
struct machine {
#if defined(TENON_CUDA_EMULATED)
    machine() { begin(); }
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;
    ~machine() { begin(); }
    static void begin() {
        tn::emulator::reset();
        tn::emulator::cublaslt::reset();
    }
#endif
    bool is_clean() const {
#if defined(TENON_CUDA_EMULATED)
        return tn::emulator::violations().empty();
#else
        return cudaDeviceSynchronize() == cudaSuccess;
#endif
    }
};

// Products that cuBLASLt made, of which only the emulated one keeps count.
std::uint64_t products_by_library() {
#if defined(TENON_CUDA_EMULATED)
    return tn::emulator::cublaslt::count().products;
#else
    return ~std::uint64_t{0};
#endif
}

std::uint64_t fresh_seed() { return (std::uint64_t{std::random_device{}()} << 32) | std::random_device{}(); }

// Numbers of -2 .. 2 that half has exactly; integers of all sizes, whose products wrap around.
template <class T> any_array random_array(const extents& sizes, std::mt19937_64& random) {
    any_array a(tn::element_type_of<T>, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i) {
        if constexpr (std::is_integral_v<T>) a.data<T>()[i] = static_cast<T>(random());
        else a.data<T>()[i] = static_cast<T>(static_cast<float>(static_cast<int>(random() % 257) - 128) / 64.0F);
    }
    return a;
}

struct product {
    extents a, b;
    bool transpose_a = false, transpose_b = false;
    bool bias = false, relu = false;
};
std::string text_of(const product& p) {
    return to_string(p.a) + (p.transpose_a ? "' x " : " x ") + to_string(p.b) + (p.transpose_b ? "'" : "") +
           (p.bias ? " + bias" : "") + (p.relu ? ", relu" : "");
}
std::int64_t from_end(const extents& e, int k) { return k <= e.rank() ? e[e.rank() - k].size : 1; }
std::int64_t inner_size(const product& p) { return from_end(p.a, p.transpose_a ? 2 : 1); }

// c by its formula, and of each element how far a sum in T may be from it.
struct expected {
    extents sizes; // [batch..., m, n]
    std::vector<double> values, bounds;
    std::vector<std::uint64_t> wrapped; // of integers
};
template <class T>
expected by_formula(const product& p, const any_array& a, const any_array& b, const any_array* bias) {
    expected e;
    const int batches = std::max(std::max(p.a.rank(), p.b.rank()) - 2, 0);
    for (int i = batches; i > 0; --i) {
        const std::int64_t x = from_end(p.a, i + 2), y = from_end(p.b, i + 2);
        e.sizes.push_back(x == 1 ? y : x);
    }
    const bool row = p.a.rank() == 1, column = p.b.rank() == 1;
    const std::int64_t m = row ? 1 : from_end(p.a, p.transpose_a ? 1 : 2), k = inner_size(p);
    const std::int64_t n = column ? 1 : from_end(p.b, p.transpose_b ? 2 : 1);
    e.sizes.push_back(m);
    e.sizes.push_back(n);
    // Where element (y, x) of the matrix at `batch` lies; a dimension of 1 is repeated.
    const auto place = [&](const extents& of, const std::vector<std::int64_t>& batch, std::int64_t y, std::int64_t x) {
        std::int64_t at = 0;
        for (int i = 0; i + 2 < of.rank(); ++i) {
            const auto d = static_cast<std::size_t>(i + batches + 2 - of.rank());
            at = at * of[i].size + (of[i].size == 1 ? 0 : batch[d]);
        }
        return (at * from_end(of, 2) + y) * from_end(of, 1) + x;
    };
    const double rounding = std::is_same_v<T, double>         ? 0x1p-53
                            : std::is_same_v<T, tn::half>     ? 0x1p-11
                            : std::is_same_v<T, tn::bfloat16> ? 0x1p-8
                                                              : 0x1p-24;
    const double summing = std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24;
    for (std::int64_t at = 0; at < e.sizes.elements(); ++at) {
        std::vector<std::int64_t> batch(static_cast<std::size_t>(batches));
        std::int64_t rest = at / (m * n);
        for (int i = batches; i-- > 0; rest /= e.sizes[i].size)
            batch[static_cast<std::size_t>(i)] = rest % e.sizes[i].size;
        const std::int64_t i = at / n % m, j = at % n;
        double sum = bias ? static_cast<double>(bias->data<T>()[j]) : 0, size = std::fabs(sum);
        std::uint64_t wrapped = 0;
        if constexpr (std::is_integral_v<T>) wrapped = bias ? static_cast<std::uint64_t>(bias->data<T>()[j]) : 0;
        for (std::int64_t l = 0; l < k; ++l) {
            const T x = a.data<T>()[row ? l : p.transpose_a ? place(p.a, batch, l, i) : place(p.a, batch, i, l)];
            const T y = b.data<T>()[column ? l : p.transpose_b ? place(p.b, batch, j, l) : place(p.b, batch, l, j)];
            if constexpr (std::is_integral_v<T>)
                wrapped += static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y);
            sum += static_cast<double>(x) * static_cast<double>(y);
            size += std::fabs(static_cast<double>(x) * static_cast<double>(y));
        }
        if (p.relu) {
            sum = std::fmax(sum, 0.0);
            if constexpr (std::is_integral_v<T>) wrapped = static_cast<T>(wrapped) < 0 ? 0 : wrapped;
        }
        e.values.push_back(sum);
        e.bounds.push_back(static_cast<double>(k + 2) * summing * size + 2 * rounding * std::fabs(sum));
        e.wrapped.push_back(wrapped);
    }
    return e;
}

// The first element of c that is not what it should be.
template <class T> std::string difference(const T* c, const expected& e) {
    for (std::size_t i = 0; i < e.values.size(); ++i) {
        if constexpr (std::is_integral_v<T>) {
            if (c[i] == static_cast<T>(e.wrapped[i])) continue;
            return "element " + std::to_string(i) + " is " + std::to_string(c[i]) + ", not " +
                   std::to_string(static_cast<T>(e.wrapped[i]));
        } else {
            if (std::fabs(static_cast<double>(c[i]) - e.values[i]) <= e.bounds[i]) continue; // not so of NaN
            return "element " + std::to_string(i) + " is " + std::to_string(static_cast<double>(c[i])) + ", not " +
                   std::to_string(e.values[i]);
        }
    }
    return "";
}

// A product on the GPU, with sizes that the graph does not know.
struct on_gpu {
    on_gpu(const product& p, element_type e) {
        const auto unknown = [e](int rank) {
            extents sizes;
            for (int i = 0; i < rank; ++i) sizes.push_back({});
            return tn::untyped::placeholder(e, sizes);
        };
        const tn::graph_scope scope(g);
        a = unknown(p.a.rank());
        b = unknown(p.b.rank());
        if (p.bias) bias = unknown(1);
        c = tn::on("/gpu:0", [&] {
            return p.bias ? tn::untyped::matmul_bias(a, b, bias, p.relu, p.transpose_a, p.transpose_b)
                          : tn::untyped::matmul(a, b, p.transpose_a, p.transpose_b);
        });
    }
    any_array run(tn::session& s, const any_array& x, const any_array& y, const any_array* z) const {
        std::vector<tn::fed_value> feeds;
        feeds.push_back({a, x.share()});
        feeds.push_back({b, y.share()});
        if (z) feeds.push_back({bias, z->share()});
        return std::move(s.run_untyped(std::move(feeds), {c})[0]);
    }
    tn::graph g;
    any_tensor a, b, bias, c;
};

template <class T>
std::string check_through_graph(const product& p, std::mt19937_64& random, const tn::session_options& o = {}) {
    const any_array a = random_array<T>(p.a, random), b = random_array<T>(p.b, random);
    std::optional<any_array> bias;
    if (p.bias) bias = random_array<T>(extents(from_end(p.b, p.transpose_b ? 2 : 1)), random);
    const on_gpu g(p, tn::element_type_of<T>);
    tn::session s(g.g, o);
    const any_array c = g.run(s, a, b, bias ? &*bias : nullptr);
    const expected e = by_formula<T>(p, a, b, bias ? &*bias : nullptr);
    if (c.elements() != e.sizes.elements())
        return text_of(p) + ": the result is " + to_string(c.type()) + ", not " + to_string(e.sizes);
    const std::string different = difference(c.data<T>(), e);
    return different.empty() ? "" : text_of(p) + " of " + name_of(tn::element_type_of<T>) + ": " + different;
}

// All combinations of transposes and epilogues for matrices of these sizes.
std::vector<product> matrix_products(std::int64_t m, std::int64_t n, std::int64_t k) {
    std::vector<product> all;
    for (const bool ta : {false, true})
        for (const bool tb : {false, true})
            for (const int epilogue : {0, 1, 2})
                all.push_back({ta ? extents(k, m) : extents(m, k), tb ? extents(n, k) : extents(k, n), ta, tb,
                               epilogue > 0, epilogue > 1});
    return all;
}

// Batches whose dimensions both operands have, or repeat, in many ways.
std::vector<product> batch_products() {
    return {
        {extents(3, 4, 5), extents(3, 5, 6)},
        {extents(3, 4, 5), extents(5, 6)},
        {extents(4, 5), extents(3, 5, 6)},
        {extents(2, 3, 4, 5), extents(3, 5, 6)},
        {extents(2, 1, 4, 5), extents(1, 3, 5, 6)},
        {extents(2, 1, 3, 4, 5), extents(2, 5, 1, 5, 6)},
        {extents(1, 3, 1, 4, 5), extents(2, 1, 5, 5, 6)},
        {extents(3, 5, 4), extents(5, 6), true},
        {extents(3, 5, 4), extents(3, 6, 5), true, true},
        {extents(2, 3, 4, 5), extents(2, 1, 6, 5), false, true, true, true},
        {extents(3, 4, 5), extents(5, 6), false, false, true},
        {extents(3, 5, 4), extents(1, 5, 6), true, false, true},
        {extents(7), extents(7)},
        {extents(7), extents(7, 5)},
        {extents(4, 7), extents(7)},
        {extents(3, 4, 7), extents(7)},
        {extents(7), extents(3, 7, 5)},
        {extents(7), extents(7, 5), false, false, true, true},
    };
}

std::vector<product> empty_products() {
    return {
        {extents(0, 5), extents(5, 6)},
        {extents(4, 5), extents(5, 0)},
        {extents(4, 0), extents(0, 6)},
        {extents(4, 0), extents(0, 6), false, false, true},
        {extents(4, 0), extents(0, 6), false, false, true, true},
        {extents(0, 4), extents(6, 0), true, true},
        {extents(0, 4, 5), extents(0, 5, 6)},
        {extents(3, 4, 0), extents(0, 6)},
        {extents(0), extents(0)},
    };
}

} // namespace

TEST_CASE_TEMPLATE("matmul on a GPU equals its formula, transposed or not, with bias and relu", T, float, double,
                   tn::half, tn::bfloat16, std::int32_t, std::int64_t) {
    const machine m;
    const std::uint64_t seed = fresh_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    for (const product& p : matrix_products(1, 1, 1)) CHECK(check_through_graph<T>(p, random) == "");
    for (const product& p : matrix_products(3, 5, 7)) CHECK(check_through_graph<T>(p, random) == "");
    for (const product& p : matrix_products(65, 33, 18)) CHECK(check_through_graph<T>(p, random) == "");
    for (int i = 0; i < 3; ++i) {
        const auto size = [&] { return static_cast<std::int64_t>(1 + random() % 40); };
        for (const product& p : matrix_products(size(), size(), size())) CHECK(check_through_graph<T>(p, random) == "");
    }
    if (!std::is_integral_v<T>) CHECK(products_by_library() >= 6 * matrix_products(1, 1, 1).size()); // all of them
    CHECK(m.is_clean());
}

TEST_CASE_TEMPLATE("matmul on a GPU repeats batch dimensions, and takes vectors", T, float, double, tn::half,
                   std::int64_t) {
    const machine m;
    const std::uint64_t seed = fresh_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    for (const product& p : batch_products()) CHECK(check_through_graph<T>(p, random) == "");
    if (!std::is_integral_v<T>) CHECK(products_by_library() >= batch_products().size());
    CHECK(m.is_clean());
}

TEST_CASE_TEMPLATE("matmul on a GPU of nothing is nothing, and a sum of nothing is zero, or the bias", T, float, double,
                   tn::bfloat16, std::int32_t) {
    const machine m;
    const std::uint64_t seed = fresh_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    for (const product& p : empty_products()) CHECK(check_through_graph<T>(p, random) == "");
    CHECK(m.is_clean());
}

TEST_CASE_TEMPLATE("a product's gradients on a GPU are those that the CPU computes in double", T, float, double) {
    const machine m;
    const std::uint64_t seed = fresh_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    // The gradient of sum(y * y / 2), whose y is the product, flows by products alone, all on the GPU.
    const auto gradients_on = [&](const char* device, const product& p, element_type e, const any_array& a,
                                  const any_array& b) {
        const tn::graph g;
        const tn::graph_scope scope(g);
        const any_tensor x = tn::untyped::placeholder(e, a.extents()), w = tn::untyped::placeholder(e, b.extents());
        std::vector<any_tensor> d;
        {
            const tn::device_scope inside(device);
            d = tn::detail::add_gradients({tn::untyped::matmul(x, w, p.transpose_a, p.transpose_b)}, {x, w});
        }
        tn::session_options o;
        o.allow_soft_placement = true;
        tn::session s(g, o);
        std::vector<tn::fed_value> feeds;
        feeds.push_back({x, a.share()});
        feeds.push_back({w, b.share()});
        return s.run_untyped(std::move(feeds), d);
    };
    const auto widened = [](const any_array& from) {
        any_array to(element_type::float64, from.extents());
        for (std::int64_t i = 0; i < from.elements(); ++i)
            to.data<double>()[i] = static_cast<double>(from.data<T>()[i]);
        return to;
    };
    for (const bool ta : {false, true})
        for (const bool tb : {false, true}) {
            const product p{ta ? extents(2, 9, 4) : extents(2, 4, 9), tb ? extents(7, 9) : extents(9, 7), ta, tb};
            CAPTURE(text_of(p));
            const any_array a = random_array<T>(p.a, random), b = random_array<T>(p.b, random);
            const std::vector<any_array> got = gradients_on("/gpu:0", p, tn::element_type_of<T>, a, b);
            const std::vector<any_array> wanted =
                gradients_on("/cpu:0", p, element_type::float64, widened(a), widened(b));
            for (std::size_t i = 0; i < 2; ++i) {
                REQUIRE(got[i].extents() == wanted[i].extents());
                for (std::int64_t j = 0; j < got[i].elements(); ++j)
                    REQUIRE(static_cast<double>(got[i].data<T>()[j]) ==
                            doctest::Approx(wanted[i].data<double>()[j]).epsilon(1e-5).scale(10));
            }
        }
    CHECK(m.is_clean());
}

TEST_CASE_TEMPLATE("relu of a product on a GPU keeps NaN", T, float, double, tn::half) {
    const machine m;
    const product p{extents(32, 16), extents(16, 64), false, false, true, true};
    any_array a(tn::element_type_of<T>, p.a), b(tn::element_type_of<T>, p.b), bias(tn::element_type_of<T>, extents(64));
    std::fill_n(a.data<T>(), a.elements(), static_cast<T>(1.0F));
    std::fill_n(b.data<T>(), b.elements(), static_cast<T>(-1.0F));
    std::fill_n(bias.data<T>(), bias.elements(), static_cast<T>(1.0F));
    a.data<T>()[5 * 16 + 3] = static_cast<T>(std::nanf("")); // of row 5
    const on_gpu g(p, tn::element_type_of<T>);
    tn::session s(g.g);
    const any_array c = g.run(s, a, b, &bias);
    for (std::int64_t i = 0; i < c.elements(); ++i) {
        const auto found = static_cast<double>(c.data<T>()[i]);
        if (i / 64 == 5) REQUIRE(std::isnan(found));
        else REQUIRE(found == 0);
    }
    CHECK(m.is_clean());
}

TEST_CASE("float products are exact where TF32 is not asked for") {
    const machine m;
    // 1 + 2^-12 is 1 with 10 bits of fraction.
    const product p{extents(64, 64), extents(64, 64)};
    any_array a(element_type::float32, p.a), b(element_type::float32, p.b);
    for (std::int64_t i = 0; i < 64 * 64; ++i) {
        a.data<float>()[i] = 1 + 0x1p-12F;
        b.data<float>()[i] = i % 65 == 0 ? 1.0F : 0.0F;
    }
    const on_gpu g(p, element_type::float32);
    tn::session_options o;
    tn::session exact(g.g, o);
    const any_array c = g.run(exact, a, b, nullptr);
    for (std::int64_t i = 0; i < c.elements(); ++i) REQUIRE(c.data<float>()[i] == 1 + 0x1p-12F);
    o.allow_tf32 = true;
    tn::session rounding(g.g, o);
    const any_array near = g.run(rounding, a, b, nullptr);
    for (std::int64_t i = 0; i < near.elements(); ++i) {
#if defined(TENON_CUDA_EMULATED)
        REQUIRE(near.data<float>()[i] == 1);
#else // a GPU need not have it
        REQUIRE(std::fabs(near.data<float>()[i] - 1) <= 0x1p-12F);
#endif
    }
    CHECK(m.is_clean());
}

#if defined(TENON_CUDA_EMULATED)

namespace {
// A product by itself, in memory of its own.
template <class T>
std::string check_alone(const product& p, const tn::cuda::gemm_description& d, std::mt19937_64& random) {
    const any_array a = random_array<T>(p.a, random), b = random_array<T>(p.b, random);
    const any_array bias = random_array<T>(extents(d.n), random);
    const expected e = by_formula<T>(p, a, b, p.bias ? &bias : nullptr);
    std::vector<void*> memory;
    const auto to_gpu = [&](const any_array& from) {
        void* at = nullptr;
        const auto bytes = static_cast<std::size_t>(from.elements()) * sizeof(T);
        tn::cuda::check(cudaMalloc(&at, bytes + 1), "cudaMalloc");
        tn::cuda::check(cudaMemcpy(at, from.data<T>(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
        memory.push_back(at);
        return at;
    };
    any_array c(tn::element_type_of<T>, e.sizes);
    void *x = to_gpu(a), *y = to_gpu(b), *z = to_gpu(bias), *to = to_gpu(c);
    tn::cuda::gemm(d, x, y, p.bias ? z : nullptr, to, nullptr);
    tn::cuda::check(
        cudaMemcpy(c.data<T>(), to, static_cast<std::size_t>(c.elements()) * sizeof(T), cudaMemcpyDeviceToHost),
        "cudaMemcpy");
    for (void* at : memory) (void)cudaFree(at);
    const std::string different = difference(c.data<T>(), e);
    return different.empty() ? "" : text_of(p) + ": " + different;
}

} // namespace

TEST_CASE_TEMPLATE("our own kernel has all products, of whatever type", T, float, double, tn::half, tn::bfloat16,
                   std::int32_t, std::int64_t) {
    const machine m;
    const std::uint64_t seed = fresh_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    tn::emulator::seed(seed);
    for (const auto& sizes :
         {std::array{1, 1, 1}, std::array{16, 16, 16}, std::array{17, 17, 1}, std::array{80, 70, 35}})
        for (const product& p : matrix_products(sizes[0], sizes[1], sizes[2])) {
            tn::cuda::gemm_description d;
            d.element = tn::element_type_of<T>;
            d.m = sizes[0];
            d.n = sizes[1];
            d.k = sizes[2];
            d.transpose_a = p.transpose_a;
            d.transpose_b = p.transpose_b;
            d.bias = p.bias;
            d.relu = p.relu;
            CHECK(check_alone<T>(p, d, random) == "");
        }
    CHECK(m.is_clean());
}

TEST_CASE("products run by our own kernel, or with the bias after them, where cuBLASLt has no algorithm") {
    const machine m;
    const std::uint64_t seed = fresh_seed();
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    tn::emulator::cublaslt::has_algorithms(false);
    for (const product& p : matrix_products(9, 20, 17)) CHECK(check_through_graph<float>(p, random) == "");
    for (const product& p : batch_products()) CHECK(check_through_graph<tn::half>(p, random) == "");
    CHECK(products_by_library() == 0);

    tn::emulator::cublaslt::has_algorithms(true, false);
    std::uint64_t products = 0;
    for (const product& p : matrix_products(9, 20, 17)) {
        CHECK(check_through_graph<double>(p, random) == "");
        CHECK(products_by_library() == ++products);
    }
    tn::emulator::cublaslt::reset();
    for (const cublasStatus_t s :
         {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_ARCH_MISMATCH}) {
        tn::emulator::cublaslt::fail("cublasLtMatmulAlgoGetHeuristic", s);
        CHECK(check_through_graph<float>(matrix_products(9, 20, 17)[5], random) == "");
    }
    tn::emulator::cublaslt::reset();
    REQUIRE(setenv("TENON_CUDA_PRODUCTS", "own", 1) == 0);
    CHECK(check_through_graph<float>(matrix_products(9, 20, 17)[0], random) == "");
    REQUIRE(unsetenv("TENON_CUDA_PRODUCTS") == 0);
    tn::emulator::cublaslt::needs_workspace(std::size_t{1} << 40); // no algorithm keeps within the limit
    CHECK(check_through_graph<float>(matrix_products(9, 20, 17)[0], random) == "");
    CHECK(products_by_library() == 0);
    CHECK(m.is_clean());
}

TEST_CASE("an algorithm is chosen once for a description on a GPU, and has the workspace that it asked for") {
    const machine m;
    std::mt19937_64 random(7);
    tn::emulator::cublaslt::needs_workspace(100001);
    const product p{extents(12, 8), extents(8, 20)};
    const on_gpu g(p, element_type::float32);
    const any_array a = random_array<float>(p.a, random), b = random_array<float>(p.b, random);
    {
        tn::session s(g.g);
        for (int i = 0; i < 3; ++i)
            CHECK(difference(g.run(s, a, b, nullptr).data<float>(), by_formula<float>(p, a, b, nullptr)) == "");
        CHECK(tn::emulator::cublaslt::count().heuristics == 1);
        CHECK(products_by_library() >= 1); // a recorded step launches what it has recorded
        CHECK(products_by_library() <= 3);
        // Another step of the session with the same product plans anew, and chooses nothing.
        const any_tensor again = tn::on("/gpu:0", [&] {
            const tn::graph_scope scope(g.g);
            return tn::untyped::matmul(g.a, g.b);
        });
        std::vector<tn::fed_value> feeds;
        feeds.push_back({g.a, a.share()});
        feeds.push_back({g.b, b.share()});
        (void)s.run_untyped(std::move(feeds), {again});
        CHECK(tn::emulator::cublaslt::count().heuristics == 1);
        CHECK(tn::emulator::cublaslt::count().largest_limit == std::uint64_t{32} << 20); // of a card with 9.0
    }
    const auto left = tn::emulator::cublaslt::count();
    CHECK(left.handles == 0);
    CHECK(left.operations + left.layouts + left.preferences == 0);
    tn::emulator::card older;
    older.major = 8;
    tn::emulator::cards({older});
    tn::emulator::cublaslt::reset();
    CHECK(check_through_graph<float>(p, random) == "");
    CHECK(tn::emulator::cublaslt::count().largest_limit == std::uint64_t{4} << 20);
    CHECK(m.is_clean());
}

TEST_CASE("the rounding of TF32 is a choice of its own beside the exact one, on the same GPU") {
    const machine m;
    tn::cuda::gemm_description d;
    d.m = d.n = d.k = 8;
    tn::gpu_context context(0);
    const auto exact = tn::cuda::lt_product::make(context, d, false);
    const auto rounding = tn::cuda::lt_product::make(context, d, true);
    const auto again = tn::cuda::lt_product::make(context, d, true);
    CHECK((exact && rounding && again));
    CHECK(tn::emulator::cublaslt::count().heuristics == 2);
}

TEST_CASE("an operand that is not aligned as was promised is no operand for cuBLASLt") {
    const machine m;
    tn::cuda::gemm_description d;
    d.m = d.n = d.k = 8;
    tn::gpu_context context(0);
    const auto p = tn::cuda::lt_product::make(context, d, false);
    REQUIRE(p);
    std::byte* memory = nullptr;
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&memory), 4096 + p->workspace_bytes()) == cudaSuccess);
    CHECK(p->run(memory, memory + 1024, nullptr, memory + 2048, memory + 4096, nullptr));
    CHECK_FALSE(p->run(memory + 4, memory + 1024, nullptr, memory + 2048, nullptr, nullptr));
    CHECK_FALSE(p->run(memory, memory + 1028, nullptr, memory + 2048, nullptr, nullptr));
    CHECK_FALSE(p->run(memory, memory + 1024, nullptr, memory + 2052, nullptr, nullptr));
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    CHECK(cudaFree(memory) == cudaSuccess);
}

TEST_CASE("what cuBLASLt refuses is an error that names the product, its sizes and its type") {
    const machine m;
    std::mt19937_64 random(7);
    const product p{extents(64, 784), extents(784, 30), false, false, true, true};
    const auto run = [&] { (void)check_through_graph<tn::half>(p, random); };
    using tn::emulator::cublaslt::fail;
    fail("cublasLtMatmul", CUBLAS_STATUS_NOT_SUPPORTED);
    CHECK_THROWS_WITH_AS(run(), doctest::Contains("the product [64, 784] x [784, 30] of half with bias and relu"),
                         tn::unimplemented_error);
    fail("cublasLtMatmul", CUBLAS_STATUS_ARCH_MISMATCH);
    CHECK_THROWS_WITH_AS(run(), doctest::Contains("CUBLAS_STATUS_ARCH_MISMATCH"), tn::unimplemented_error);
    fail("cublasLtMatmul", CUBLAS_STATUS_ALLOC_FAILED);
    CHECK_THROWS_WITH_AS(run(), doctest::Contains("CUBLAS_STATUS_ALLOC_FAILED"), tn::resource_exhausted_error);
    fail("cublasLtMatmul", CUBLAS_STATUS_EXECUTION_FAILED);
    CHECK_THROWS_WITH_AS(run(), doctest::Contains("CUBLAS_STATUS_EXECUTION_FAILED"), tn::internal_error);
    tn::emulator::cublaslt::reset();
    fail("cublasLtCreate", CUBLAS_STATUS_NOT_INITIALIZED, 0, 1);
    CHECK_THROWS_WITH_AS(run(), doctest::Contains("is the driver older than the library"), tn::unavailable_error);
    run(); // and is asked again
    for (const char* function :
         {"cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute", "cublasLtMatrixLayoutCreate",
          "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute", "cublasLtMatmulAlgoGetHeuristic"})
        for (std::uint64_t after = 0; after < 3; ++after) {
            tn::emulator::cublaslt::reset();
            fail(function, CUBLAS_STATUS_ALLOC_FAILED, after, 1);
            try {
                const std::string different = check_through_graph<tn::half>(p, random); // it has not so many such calls
                CHECK(different == "");
            } catch (const tn::resource_exhausted_error& e) {
                CHECK(std::string(e.what()).find(function) != std::string::npos);
            }
            const auto left = tn::emulator::cublaslt::count();
            CHECK(left.handles + left.operations + left.layouts + left.preferences == 0);
        }
    CHECK(m.is_clean());
}

#endif
