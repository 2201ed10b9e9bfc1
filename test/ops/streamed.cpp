// Results that are stored past the caches are, bit for bit, those that are not: rows and columns of a large tensor are what a tensor of them
// alone gives, wherever it begins in memory, on one thread and on several, and in place.
#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/op/streamed.hpp>
#include <tenon/ops/rows/rows.hpp>

#include "tests.hpp"
#include "random/random_arrays.hpp"
#include "ops/untyped_run.hpp"

namespace td = tenon::detail;

namespace {

constexpr std::int64_t streamed_elements = (std::int64_t{8} << 20) / 4;

// Numbers of -3 .. 3 from the element `shift` of memory that begins a line; some of them far from those.
struct floats {
    floats(std::int64_t n, std::int64_t shift, std::uint64_t seed, bool far = false) :
        floats(tn::test::random_array<float>({n + shift}, seed), shift) {
        const float numbers[] = {90, -std::numeric_limits<float>::infinity(), -90, 2000};
        for (std::int64_t i = 0; i < n && far; i += 24001) data[i] = numbers[i % 4];
    }
    // What is to be written.
    floats(std::int64_t n, std::int64_t shift) : floats(tn::any_array(tn::element_type::float32, {n + shift}), shift) {}

    tn::any_array all;
    float* data;

private:
    floats(tn::any_array a, std::int64_t shift) : all(std::move(a)), data(all.data<float>() + shift) {}
};

bool equal(const float* a, const float* b, std::int64_t n) {
    return std::memcmp(a, b, static_cast<std::size_t>(n) * sizeof(float)) == 0;
}

// f of all rows is f of few of them at a time, which are not streamed.
using row_kernel = std::function<void(const float* x, const float* g, float* out, std::int64_t rows, tn::thread_pool*)>;
void check_rows(std::int64_t n, const row_kernel& f) {
    const std::int64_t rows = streamed_elements / n + 7, few = rows / 5;
    for (const std::int64_t shift : {0, 5}) {
        const floats x(rows * n, shift, 1, shift == 5), g(rows * n, 0, 2);
        floats out(rows * n, shift), wanted(rows * n, 0);
        for (std::int64_t r = 0; r < rows; r += few)
            f(x.data + r * n, g.data + r * n, wanted.data + r * n, few < rows - r ? few : rows - r, nullptr);
        tn::thread_pool pool(3);
        for (tn::thread_pool* const p : {static_cast<tn::thread_pool*>(nullptr), &pool}) {
            std::memset(out.data, 0xFF, static_cast<std::size_t>(rows * n) * sizeof(float));
            f(x.data, g.data, out.data, rows, p);
            CHECK(equal(out.data, wanted.data, rows * n));
        }
        f(x.data, g.data, x.data, rows, &pool);
        CHECK(equal(x.data, wanted.data, rows * n));
    }
}

} // namespace

TEST_CASE("stream copies any bytes to any place, and nothing beside them") {
    std::vector<unsigned char> from(700), to(700);
    std::iota(from.begin(), from.end(), static_cast<unsigned char>(0));
    for_each_isa([&] {
        for (const std::size_t place : {0U, 1U, 60U, 64U, 77U})
            for (const std::size_t bytes : {0U, 1U, 3U, 63U, 64U, 65U, 128U, 500U}) {
                std::fill(to.begin(), to.end(), static_cast<unsigned char>(0xEE));
                td::stream(to.data() + place, from.data() + 9, bytes);
                td::finish_streams();
                for (std::size_t i = 0; i < to.size(); ++i)
                    REQUIRE(to[i] == (i >= place && i < place + bytes ? from[9 + i - place] : 0xEE));
            }
    });
}

TEST_CASE("rows of a large result are what they are alone") {
    for_each_isa([] {
        for (const std::int64_t n : {10, 100, 1000, 9001}) {
            CAPTURE(n);
            for (const bool logarithm : {false, true}) {
                check_rows(n, [&](const float* x, const float*, float* out, std::int64_t rows, tn::thread_pool* p) {
                    td::softmax_along<float>(x, out, {rows, n, 1}, logarithm, nullptr, 1, p);
                });
                check_rows(n, [&](const float* x, const float* g, float* out, std::int64_t rows, tn::thread_pool* p) {
                    td::softmax_backward_along<float>(x, g, out, {rows, n, 1}, logarithm, p);
                });
            }
            const std::vector<std::int64_t> labels(static_cast<std::size_t>(streamed_elements / n + 7), n - 1);
            check_rows(n, [&](const float* x, const float*, float* out, std::int64_t rows, tn::thread_pool* p) {
                CHECK(td::sparse_cross_entropy<float>(x, {labels.data(), true}, nullptr, out, rows, n, p) == -1);
            });
            check_rows(n, [&](const float* x, const float* g, float* out, std::int64_t rows, tn::thread_pool* p) {
                const std::vector<float> apart(x, x + (x == out ? rows * n : 0)); // it is not computed in place
                td::cross_entropy<float>(x == out ? apart.data() : x, g, nullptr, out, rows, n, p);
            });
            const floats gamma(n, 0, 5), beta(n, 0, 6);
            check_rows(n, [&](const float* x, const float* g, float* out, std::int64_t rows, tn::thread_pool* p) {
                td::layer_norm<float>(x, {g, beta.data, nullptr}, gamma.data, beta.data, out, nullptr, nullptr, rows, n,
                                      1e-5, p);
            });
            check_rows(n, [&](const float* x, const float* g, float* out, std::int64_t rows, tn::thread_pool* p) {
                const std::vector<float> same(static_cast<std::size_t>(rows), 0.5F);
                std::vector<float> partial(static_cast<std::size_t>(td::layer_norm_partials(rows) * 2 * n));
                td::layer_norm_backward<float>(x, gamma.data, g, same.data(), same.data(), nullptr, out, nullptr,
                                               nullptr, partial.data(), rows, n, p);
            });
        }
    });
}

TEST_CASE("columns of a large result are what they are alone") {
    for_each_isa([] {
        for (const td::axis_view v : {td::axis_view{1, 100, 21001}, td::axis_view{3, 7, 100003},
                                      td::axis_view{70001, 10, 3}, td::axis_view{5, 3000, 141}}) {
            CAPTURE(v.size);
            for (const bool logarithm : {false, true})
                for (const std::int64_t shift : {0, 5}) {
                    const floats x(v.elements(), shift, 1, shift == 5);
                    floats out(v.elements(), shift), wanted(v.elements(), 0);
                    REQUIRE(v.elements() >= streamed_elements);
                    // in place nothing is streamed
                    std::memcpy(wanted.data, x.data, static_cast<std::size_t>(v.elements()) * sizeof(float));
                    td::softmax_along<float>(wanted.data, wanted.data, v, logarithm, nullptr, 1, nullptr);
                    tn::thread_pool pool(3);
                    for (const int threads : {1, 3}) {
                        std::vector<float> terms(static_cast<std::size_t>(td::softmax_terms<float>(v, threads)));
                        std::memset(out.data, 0xFF, static_cast<std::size_t>(v.elements()) * sizeof(float));
                        td::softmax_along<float>(x.data, out.data, v, logarithm, terms.data(), threads,
                                                 threads == 1 ? nullptr : &pool);
                        CHECK(equal(out.data, wanted.data, v.elements()));
                    }
                }
        }
    });
}

TEST_CASE_TEMPLATE(
    "an expression of a large tensor is what it is of its elements, several outputs and parts of tensors included", T,
    float, double, tn::half) {
    const std::int64_t rows = 2051, cols = 2053 * 4 / static_cast<std::int64_t>(sizeof(T));
    const tn::any_array values = tn::test::random_array<T>({rows, cols}, 1);
    using C = std::conditional_t<sizeof(T) == 2, float, T>;
    const auto v = [&](std::int64_t i) { return static_cast<C>(values.data<T>()[i]); };
    std::vector<T> sums, products, differences;
    for (std::int64_t i = 0; i < rows * cols; ++i) {
        sums.push_back(T(v(i) + v(i)));
        products.push_back(T(v(i) * v(i)));
        if (i % cols < cols - 2) differences.push_back(T(v(i + 2) - v(i)));
    }
    for_each_isa([&] {
        for (const int threads : {1, 3}) {
            const own_graph g;
            const tn::any_tensor x = tn::untyped::placeholder(tn::element_type_of<T>, {rows, cols});
            const tn::any_tensor twice = tn::untyped::add(x, x), squares = tn::untyped::multiply(x, x);
            const auto part = [&](std::int64_t first) {
                return tn::untyped::slice(x, {tn::range{}, tn::range{first, first + cols - 2}});
            };
            const tn::any_tensor between = tn::untyped::subtract(part(2), part(0));
            tn::session s(g, {.intra_op_threads = threads, .use_per_session_threads = true});
            for (int run = 0; run < 2; ++run) {
                const auto found = s.run_untyped(tn::test::fed(x, values), {twice, squares, between});
                const auto is = [](const tn::any_array& got, const std::vector<T>& wanted) {
                    return std::memcmp(got.data(), wanted.data(), wanted.size() * sizeof(T)) == 0;
                };
                CHECK(is(found[0], sums));
                CHECK(is(found[1], products));
                CHECK(is(found[2], differences));
            }
        }
    });
}
