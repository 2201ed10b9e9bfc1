// Layers of 16 bits on a GPU: what follows a product, and the gradient of a bias, are made in cuBLASLt's passes where it has them.

#include "tests.hpp"
#include "emulator/libraries/cublaslt.hpp"
#include "products.hpp"

using namespace matmul_test;
namespace cublaslt = tenon::emulator::cublaslt;

namespace {

enum class activation { linear, relu, gelu };

template <class T> double at(const any_array& a, std::int64_t i) {
    return static_cast<double>(static_cast<float>(a.data<T>()[i]));
}

// A layer y = activation(x w + b), and what flows into x, w and b where dy flows into y; with a transposed w it lies as [units, inputs].
template <class T> struct layer {
    layer(activation f, bool transpose_w) {
        using matrix = tn::shape<tn::dyn, tn::dyn>;
        const tn::graph_scope scope(g);
        const tn::device_scope there("/gpu:0");
        auto in = tn::placeholder<T, matrix>("x"), kernel = tn::placeholder<T, matrix>("w");
        auto incoming = tn::placeholder<T, matrix>("dy");
        auto bias = tn::placeholder<T, tn::shape<tn::dyn>>("b");
        const auto product = [&] {
            if (transpose_w) return any_tensor(matmul<tn::transpose_b>(in, kernel));
            return any_tensor(matmul(in, kernel));
        }();
        const auto typed = tn::as<T, matrix>(product);
        switch (f) {
        case activation::linear: y = tn::detail::as_tensor(typed + bias); break;
        case activation::relu: y = tn::detail::as_tensor(relu(typed + bias)); break;
        default: y = tn::detail::as_tensor(gelu_tanh(typed + bias));
        }
        x = in, w = kernel, b = bias, dy = incoming;
        d = tn::detail::add_gradients({tn::untyped::sum(tn::untyped::multiply(y, dy))}, {y, x, w, b});
    }
    std::vector<any_array> run(tn::session& s, const std::vector<any_tensor>& fetched) const {
        std::vector<tn::fed_value> feeds;
        for (const auto& [to, value] :
             {std::pair(&x, &x_value), std::pair(&w, &w_value), std::pair(&b, &b_value), std::pair(&dy, &dy_value)})
            feeds.push_back({*to, value->share()});
        return s.run_untyped(std::move(feeds), fetched);
    }
    tn::graph g;
    any_tensor x, w, b, dy, y;
    std::vector<any_tensor> d; // of y, x, w, b
    any_array x_value, w_value, b_value, dy_value;
};

// By its formula: y, and the gradients of x, w and b, each with the sum of the sizes of what was added.
struct by_formula_of_layer {
    std::vector<double> y, dx, dw, db, size_y, size_dx, size_dw, size_db;
};
// `y`: that decides where relu is open, since a product that was rounded before its bias may have another sign.
template <class T>
by_formula_of_layer expected_of(const layer<T>& l, activation f, bool transpose_w, const any_array* y = nullptr) {
    const std::int64_t m = l.dy_value.extents()[0].size, n = l.dy_value.extents()[1].size,
                       k = l.x_value.extents()[1].size;
    const auto size = [](std::int64_t c) { return std::vector<double>(static_cast<std::size_t>(c)); };
    by_formula_of_layer e{size(m * n), size(m * k), size(k * n), size(n),
                          size(m * n), size(m * k), size(k * n), size(n)};
    const auto w_at = [&](std::int64_t i, std::int64_t j) { return transpose_w ? j * k + i : i * n + j; };
    for (std::int64_t r = 0; r < m; ++r)
        for (std::int64_t j = 0; j < n; ++j) {
            double z = at<T>(l.b_value, j), sizes = std::fabs(z);
            for (std::int64_t i = 0; i < k; ++i) {
                const double p = at<T>(l.x_value, r * k + i) * at<T>(l.w_value, w_at(i, j));
                z += p;
                sizes += std::fabs(p);
            }
            const double c = std::sqrt(2 / std::acos(-1.0)), t = std::tanh(c * (z + 0.044715 * z * z * z));
            const double slope = f == activation::linear ? 1
                                 : f == activation::relu
                                     ? ((y ? at<T>(*y, r * n + j) : z) > 0 ? 1 : 0)
                                     : 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * c * (1 + 3 * 0.044715 * z * z);
            const auto here = static_cast<std::size_t>(r * n + j);
            e.y[here] = f == activation::linear ? z : f == activation::relu ? std::fmax(z, 0) : 0.5 * z * (1 + t);
            e.size_y[here] = sizes;
            const double dz = at<T>(l.dy_value, r * n + j) * slope;
            const double size_dz =
                std::fabs(dz) + (f == activation::gelu ? std::fabs(at<T>(l.dy_value, r * n + j)) : 0);
            e.db[static_cast<std::size_t>(j)] += dz;
            e.size_db[static_cast<std::size_t>(j)] += size_dz;
            for (std::int64_t i = 0; i < k; ++i) {
                const auto in_x = static_cast<std::size_t>(r * k + i), in_w = static_cast<std::size_t>(w_at(i, j));
                e.dx[in_x] += dz * at<T>(l.w_value, w_at(i, j));
                e.dw[in_w] += dz * at<T>(l.x_value, r * k + i);
                e.size_dx[in_x] += size_dz * std::fabs(at<T>(l.w_value, w_at(i, j)));
                e.size_dw[in_w] += size_dz * std::fabs(at<T>(l.x_value, r * k + i));
            }
        }
    return e;
}

// The furthest that an element is off, in roundings of T of the size of what was added.
template <class T> double furthest(const any_array& a, const std::vector<double>& e, const std::vector<double>& sizes) {
    REQUIRE(a.elements() == static_cast<std::int64_t>(e.size()));
    const double rounding = std::is_same_v<T, tn::half> ? 0x1p-11 : 0x1p-8;
    double most = 0;
    for (std::size_t i = 0; i < e.size(); ++i) {
        const double off = std::fabs(at<T>(a, static_cast<std::int64_t>(i)) - e[i]);
        most = std::fmax(most, off <= 1e30 ? off / (rounding * (sizes[i] + 1e-3)) : 1e30);
    }
    return most;
}

template <class T>
void draw(layer<T>& l, std::int64_t m, std::int64_t k, std::int64_t n, bool transpose_w, std::mt19937_64& random) {
    l.x_value = random_array<T>(extents(m, k), random);
    l.w_value = random_array<T>(transpose_w ? extents(n, k) : extents(k, n), random);
    l.b_value = random_array<T>(extents(n), random);
    l.dy_value = random_array<T>(extents(m, n), random);
    for (std::int64_t i = 0; i < l.w_value.elements(); ++i) // the slope of gelu is not to be 0 or 1 alone
        l.w_value.template data<T>()[i] = static_cast<T>(static_cast<float>(l.w_value.template data<T>()[i]) / 8);
}

struct counted {
    std::uint64_t products, launches;
};
template <class T>
counted count(const machine& m, const layer<T>& l, tn::session& s, const std::vector<any_tensor>& fetched,
              std::vector<any_array>& got) {
    const counted before{*m.products_by_cublaslt(), *m.launches()};
    got = l.run(s, fetched);
    return {*m.products_by_cublaslt() - before.products, *m.launches() - before.launches};
}

} // namespace

TEST_CASE_TEMPLATE("a layer of 16 bits is a launch on a GPU, and two backward, its bias's gradient in the weights'", T,
                   tn::bfloat16, tn::half) {
    const machine m;
    std::mt19937_64 random(drawn_seed());
    for (const bool transpose_w : {false, true})
        for (const activation f : {activation::linear, activation::relu, activation::gelu}) {
            CAPTURE(transpose_w);
            CAPTURE(static_cast<int>(f));
            layer<T> l(f, transpose_w);
            draw(l, 24, 40, 16, transpose_w, random);
            const by_formula_of_layer e = expected_of(l, f, transpose_w);
            tn::session s(l.g);
            std::vector<any_array> got;
            const std::uint64_t relu = f == activation::relu; // by itself: cuBLASLt's makes 0 of NaN
            counted c = count(m, l, s, {l.y}, got);
            CHECK(c.products == 1);
            CHECK(c.launches == relu);
            CHECK(furthest<T>(got[0], e.y, e.size_y) <= 1.01);
            // Backward there is one pass for what flows into the layer, and through its activation.
            CHECK(count(m, l, s, {l.d[0]}, got).launches == 1);
            c = count(m, l, s, {l.y, l.d[1], l.d[2], l.d[3]}, got);
            CHECK(c.products == 3);
            CHECK(c.launches == relu + 1);
            CHECK(furthest<T>(got[0], e.y, e.size_y) <= 1.01);
            // A slope is of what was rounded, and is rounded itself; gelu's second derivative is below 1.2.
            const double bound = f == activation::linear ? 1.01 : f == activation::relu ? 2.01 : 20;
            CHECK(furthest<T>(got[1], e.dx, e.size_dx) <= bound);
            CHECK(furthest<T>(got[2], e.dw, e.size_dw) <= bound);
            CHECK(furthest<T>(got[3], e.db, e.size_db) <= bound);
        }
}

TEST_CASE_FIXTURE(machine, "what cuBLASLt has no algorithm for follows the product, with the same numbers") {
    std::mt19937_64 random(drawn_seed());
    using T = tn::bfloat16;
    for (const int way : {0, 1, 2, 3}) // without epilogues, without algorithms, rows of no eight, nothing to sum
        for (const activation f : {activation::linear, activation::relu, activation::gelu}) {
            CAPTURE(way);
            CAPTURE(static_cast<int>(f));
            cublaslt::reset();
            if (way < 2) cublaslt::has_algorithms(way == 0, false);
            layer<T> l(f, false);
            draw(l, way == 3 ? 0 : 9, way == 3 ? 3 : 20, way == 2 ? 11 : 16, false, random);
            tn::session s(l.g);
            const std::vector<any_array> got = l.run(s, {l.y, l.d[1], l.d[2], l.d[3]});
            const by_formula_of_layer e = expected_of(l, f, false, &got[0]);
            CHECK(cublaslt::count().products == (way == 1 ? 0U : way == 3 ? 0U : 3U));
            CHECK(furthest<T>(got[0], e.y, e.size_y) <= 2.01); // the product is rounded where the bias comes later
            CHECK(furthest<T>(got[1], e.dx, e.size_dx) <= 20);
            CHECK(furthest<T>(got[2], e.dw, e.size_dw) <= 20);
            CHECK(furthest<T>(got[3], e.db, e.size_db) <= 20);
        }
}

TEST_CASE_FIXTURE(machine, "gelu of a product, and its slope, keep a NaN") {
    std::mt19937_64 random(7);
    layer<tn::bfloat16> l(activation::gelu, false);
    draw(l, 8, 16, 8, false, random);
    l.x_value.data<tn::bfloat16>()[2 * 16] = static_cast<tn::bfloat16>(std::nanf("")); // row 2
    tn::session s(l.g);
    const std::vector<any_array> got = l.run(s, {l.y, l.d[1]});
    for (std::int64_t r = 0; r < 8; ++r) {
        CHECK(std::isnan(at<tn::bfloat16>(got[0], r * 8)) == (r == 2));
        CHECK(std::isnan(at<tn::bfloat16>(got[1], r * 16)) == (r == 2));
    }
}

TEST_CASE_TEMPLATE("what flows back through gelu is made in the pass of the product behind it, or after it", T,
                   tn::bfloat16, tn::half) {
    const machine m;
    std::mt19937_64 random(drawn_seed());
    using matrix = tn::shape<tn::dyn, tn::dyn>;
    for (const int way :
         {0, 1, 2, 3, 4}) { // by cuBLASLt; without epilogues, without algorithms, rows of no eight, another reader
        CAPTURE(way);
        cublaslt::reset();
        if (way == 1 || way == 2) cublaslt::has_algorithms(way == 1, false);
        tn::graph g;
        any_tensor z, w, dy, dz, dh;
        {
            const tn::graph_scope scope(g);
            const tn::device_scope there("/gpu:0");
            const auto in = tn::placeholder<T, matrix>("z"), kernel = tn::placeholder<T, matrix>("w");
            const auto incoming = tn::placeholder<T, matrix>("dy");
            const auto h = gelu_tanh(in);
            const auto y = matmul(h, kernel);
            z = in, w = kernel, dy = incoming;
            const any_tensor loss = tn::untyped::sum(tn::untyped::multiply(y, dy));
            dz = tn::detail::add_gradients({loss}, {in})[0];
            dh = tn::detail::add_gradients({loss}, {tn::detail::as_tensor(h)})[0];
        }
        const std::int64_t rows = 9, units = way == 3 ? 11 : 16, outs = 24;
        const any_array z_value = random_array<T>(extents(rows, units), random),
                        w_value = random_array<T>(extents(units, outs), random),
                        dy_value = random_array<T>(extents(rows, outs), random);
        tn::session s(g);
        std::vector<any_tensor> fetched{dz};
        if (way == 4) fetched.push_back(dh);
        const std::uint64_t launched = *m.launches();
        std::vector<tn::fed_value> feeds;
        for (const auto& [to, value] : {std::pair(&z, &z_value), std::pair(&w, &w_value), std::pair(&dy, &dy_value)})
            feeds.push_back({*to, value->share()});
        const std::vector<any_array> got = s.run_untyped(std::move(feeds), fetched);
        CHECK(cublaslt::count().with_gelu_gradient == (way == 0));
        CHECK(*m.launches() - launched == (way == 0 ? 1 : way == 2 ? 3 : 2)); // beside the library's; the first is dy's
        const double c = std::sqrt(2 / std::acos(-1.0));
        std::vector<double> wanted, sizes;
        for (std::int64_t r = 0; r < rows; ++r)
            for (std::int64_t u = 0; u < units; ++u) {
                const double at_z = at<T>(z_value, r * units + u),
                             t = std::tanh(c * (at_z + 0.044715 * at_z * at_z * at_z)),
                             slope = 0.5 * (1 + t) + 0.5 * at_z * (1 - t * t) * c * (1 + 3 * 0.044715 * at_z * at_z);
                double sum = 0, size = 0;
                for (std::int64_t o = 0; o < outs; ++o) {
                    const double p = at<T>(dy_value, r * outs + o) * at<T>(w_value, u * outs + o);
                    sum += p, size += std::fabs(p);
                }
                wanted.push_back(sum * slope), sizes.push_back(size * std::fabs(slope));
            }
        CHECK(furthest<T>(got[0], wanted, sizes) <= (way == 0 ? 1.01 : 2.01)); // rounded once, or the product before
    }
}

TEST_CASE("a step of layers with float masters has gelu and the gradients of biases in the products' passes, and is "
          "the CPU's") {
    const machine m;
    using T = tn::bfloat16;
    const auto trained = [](const char* device) {
        const tn::graph_scope scope{tn::graph()};
        const tn::device_scope there(device);
        const auto hidden = tn::nn::dense<32>(tn::nn::gelu_tanh, {.kernel = tn::uniform(-1, 1, 5)});
        const auto last = tn::nn::dense<16>({.kernel = tn::uniform(-1, 1, 6)});
        const auto model = tn::nn::mixed_precision<T>(tn::nn::sequential(hidden, last));
        auto x = tn::placeholder<float, tn::shape<24, 40>>("x");
        const auto train = tn::gradient_descent(0.5).minimize(mean(square(model(x) - 1.0F)));
        tn::session_options o{.allow_soft_placement = true};
        initialized_session s(o);
        tn::array<float, tn::shape<24, 40>> fed;
        for (std::int64_t i = 0; i < fed.size(); ++i) fed[i] = static_cast<float>(i * 37 % 41 - 20) / 20;
        cublaslt::reset();
        for (int i = 0; i < 3; ++i) s.run(tn::feed(x, fed), train);
        return s.run_untyped({}, {hidden.kernel(), hidden.bias(), last.kernel(), last.bias()});
    };
    const std::vector<any_array> got = trained("/gpu:0");
    const auto counts = cublaslt::count();
    CHECK(counts.with_gelu * 5 ==
          counts.products); // of five products of a step, each time that they were given to a stream
    CHECK(counts.with_row_sums == 2 * counts.with_gelu);
    CHECK(counts.with_gelu_gradient == counts.with_gelu);
    CHECK(counts.with_gelu > 0);
    const std::vector<any_array> wanted = trained("/cpu:0");
    for (std::size_t k = 0; k < got.size(); ++k)
        for (std::int64_t i = 0; i < got[k].elements(); ++i)
            REQUIRE(got[k].data<float>()[i] == doctest::Approx(wanted[k].data<float>()[i]).epsilon(0.02));
}
