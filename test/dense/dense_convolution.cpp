#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>
#include <tenon/dense/convolution.hpp>

#include "messages.hpp"
#include "each_thread.hpp"
#include "dense_support.hpp"
#include "reference/windows.hpp"

using namespace tenon;
using namespace tenon::dense;

namespace {

/// The products of the convolution's sums.
reference::convolution products_of(const convolution_description& d) {
    return {{d.batch,
             {d.height, d.kernel_h, d.stride_h, d.dilation_h, d.pad_top, d.out_height()},
             {d.width, d.kernel_w, d.stride_w, d.dilation_w, d.pad_left, d.out_width()}},
            d.in_channels / d.groups,
            d.out_channels,
            d.groups};
}

thread_pool& pool_of(int threads) {
    static thread_pool two(2);
    static thread_pool four(4);
    return threads == 2 ? two : four;
}

template <class T> void check_all_products(convolution_description d) {
    d.element = element_type_of<T>;
    INFO(said_by(d));
    const std::int64_t nx = d.batch * d.height * d.width * d.in_channels;
    const std::int64_t nw = d.kernel_h * d.kernel_w * (d.in_channels / d.groups) * d.out_channels;
    const std::int64_t ny = d.batch * d.out_height() * d.out_width() * d.out_channels;
    const auto x = random_numbers<T>(nx, 1);
    const auto w = random_numbers<T>(nw, 2);
    const auto dy = random_numbers<T>(ny, 3);
    const auto bias = random_numbers<T>(d.out_channels, 4);

    std::vector<double> y(static_cast<std::size_t>(ny), 0.0);
    std::vector<double> dx(static_cast<std::size_t>(nx), 0.0);
    std::vector<double> dw(static_cast<std::size_t>(nw), 0.0);
    std::vector<double> dbias(static_cast<std::size_t>(d.out_channels), 0.0);
    products_of(d).products([&](std::size_t xi, std::size_t wi, std::size_t yi) {
        y[yi] += static_cast<double>(x[xi]) * static_cast<double>(w[wi]);
        dx[xi] += static_cast<double>(dy[yi]) * static_cast<double>(w[wi]);
        dw[wi] += static_cast<double>(dy[yi]) * static_cast<double>(x[xi]);
    });
    for (std::size_t i = 0; i < y.size(); ++i) {
        const auto o = i % static_cast<std::size_t>(d.out_channels);
        dbias[o] += static_cast<double>(dy[i]);
        if (adds_bias(d.after)) y[i] += static_cast<double>(bias[o]);
        if (clips(d.after)) y[i] = std::max(y[i], 0.0);
    }
    const auto taps = static_cast<double>(d.kernel_h * d.kernel_w);
    const double forward_scale = taps * static_cast<double>(d.in_channels) + 2;
    const double data_scale = taps * static_cast<double>(d.out_channels) + 2;
    const double weights_scale = static_cast<double>(d.batch * d.out_height() * d.out_width()) + 2;

    std::vector<backend> backends{backend::best, backend::eigen};
    if (has_backend(backend::onednn) && d.element == element_type::float32) backends.push_back(backend::onednn);
    for (const auto with : backends) {
        for (const int threads : {1, 2, 4}) {
            CAPTURE(name_of(with));
            CAPTURE(threads);
            thread_pool* pool = threads == 1 ? nullptr : &pool_of(threads);
            auto plan = d;
            plan.with = with;
            plan.threads = threads;
            const convolution forward(plan);
            plan.after = epilogue::none;
            const convolution_backward_data backward_data(plan);
            const convolution_backward_weights backward_weights(plan);
            for (int round = 0; round < 2; ++round) {
                std::vector<T> found_y(static_cast<std::size_t>(ny), T(77));
                std::vector<T> found_dx(static_cast<std::size_t>(nx), T(77));
                std::vector<T> found_dw(static_cast<std::size_t>(nw), T(77));
                std::vector<T> found_dbias(static_cast<std::size_t>(d.out_channels), T(77));
                forward.run(x.data(), w.data(), bias.data(), found_y.data(), pool);
                CHECK(worst_error(found_y, y, forward_scale) <= allowed<T>());
                backward_data.run(dy.data(), w.data(), found_dx.data(), pool);
                CHECK(worst_error(found_dx, dx, data_scale) <= allowed<T>());
                backward_weights.run(x.data(), dy.data(), found_dw.data(), found_dbias.data(), pool);
                CHECK(worst_error(found_dw, dw, weights_scale) <= allowed<T>());
                CHECK(worst_error(found_dbias, dbias, weights_scale) <= allowed<T>());
                std::fill(found_dw.begin(), found_dw.end(), T(77));
                backward_weights.run(x.data(), dy.data(), found_dw.data(), nullptr, pool);
                CHECK(worst_error(found_dw, dw, weights_scale) <= allowed<T>());
            }
        }
    }
}

convolution_description image(std::int64_t batch, std::int64_t height, std::int64_t width, std::int64_t in,
                              std::int64_t kernel, std::int64_t out) {
    return convolution_description{.batch = batch,
                                   .height = height,
                                   .width = width,
                                   .in_channels = in,
                                   .kernel_h = kernel,
                                   .kernel_w = kernel,
                                   .out_channels = out};
}

} // namespace

TEST_CASE_TEMPLATE("convolution and its gradients equal the naive sums, for every stride, dilation and padding", T,
                   float, double) {
    for_each_isa([](simd::isa isa) {
        CAPTURE(simd::name_of(isa));
        for (const std::int64_t stride : {1, 2, 3}) {
            for (const std::int64_t dilation : {1, 2}) {
                for (const std::int64_t pad : {0, 1, 2}) {
                    auto d = image(3, 9, 8, 3, 3, 5);
                    d.stride_h = stride;
                    d.stride_w = stride == 3 ? 2 : stride;
                    d.dilation_h = dilation;
                    d.dilation_w = 3 - dilation;
                    d.pad_top = pad;
                    d.pad_left = pad == 1 ? 2 : pad;
                    d.pad_bottom = pad / 2;
                    d.pad_right = pad == 2 ? 1 : 0;
                    check_all_products<T>(d);
                }
            }
        }
    });
}

TEST_CASE_TEMPLATE("convolution and its gradients, for widths around those of registers", T, float, double) {
    for_each_isa([](simd::isa isa) {
        CAPTURE(simd::name_of(isa));
        for (const std::int64_t in : {1, 4, 17}) {
            for (const std::int64_t out : {1, 8, 16, 33, 52}) {
                auto d = image(2, 5, 6, in, 3, out);
                d.pad_top = d.pad_bottom = d.pad_left = d.pad_right = 1;
                check_all_products<T>(d);
            }
        }
    });
}

TEST_CASE_TEMPLATE("convolution in groups, down to one channel each", T, float, double) {
    for (const std::int64_t groups : {2, 3, 6}) {
        for (const std::int64_t multiple : {1, 2, 9}) {
            auto d = image(2, 7, 7, 6, 3, groups * multiple);
            d.groups = groups;
            d.pad_top = d.pad_left = 1;
            d.stride_w = 2;
            check_all_products<T>(d);
        }
    }
}

TEST_CASE_TEMPLATE("convolution's epilogues add the bias of the channel, clip at zero, or both", T, float, double) {
    for (const auto after : {epilogue::none, epilogue::bias, epilogue::relu, epilogue::bias_relu}) {
        auto d = image(4, 6, 6, 8, 5, 20);
        d.pad_top = d.pad_bottom = d.pad_left = d.pad_right = 2;
        d.after = after;
        check_all_products<T>(d);
        d.groups = 4;
        check_all_products<T>(d);
    }
}

TEST_CASE_TEMPLATE("convolution of one pixel, of one large image, and of kernels that cross the whole image", T, float,
                   double) {
    check_all_products<T>(image(9, 1, 1, 40, 1, 70));
    check_all_products<T>(image(1, 4, 5, 3, 4, 6));
    auto large = image(1, 40, 37, 3, 7, 16);
    large.stride_h = large.stride_w = 2;
    large.pad_top = large.pad_left = 3;
    large.pad_bottom = large.pad_right = 3;
    check_all_products<T>(large);
    auto deep = image(3, 4, 4, 130, 3, 65); // more than one block of k
    deep.pad_top = deep.pad_left = deep.pad_bottom = deep.pad_right = 1;
    check_all_products<T>(deep);
    auto border = image(2, 3, 3, 2, 3, 4); // windows that lie wholly in the border
    border.pad_top = border.pad_left = border.pad_bottom = border.pad_right = 4;
    check_all_products<T>(border);
    auto sparse = image(2, 9, 9, 2, 1, 3); // strides that skip pixels: their gradient is zero
    sparse.stride_h = sparse.stride_w = 4;
    check_all_products<T>(sparse);
}

TEST_CASE("convolution of an empty batch gives nothing, and weights' gradients of zero") {
    const auto d = image(0, 4, 4, 2, 3, 5);
    float nothing = 0;
    std::vector<float> w(90, 1.0F);
    std::vector<float> dw(90, 7.0F);
    std::vector<float> dbias(5, 7.0F);
    convolution(d).run(&nothing, w.data(), nullptr, &nothing, nullptr);
    convolution_backward_data(d).run(&nothing, w.data(), &nothing, nullptr);
    convolution_backward_weights(d).run(&nothing, &nothing, dw.data(), dbias.data(), nullptr);
    CHECK(dw == std::vector<float>(90, 0.0F));
    CHECK(dbias == std::vector<float>(5, 0.0F));
}

TEST_CASE("one convolution may be run by several threads at once") {
    auto d = image(4, 6, 6, 5, 3, 24);
    d.pad_top = d.pad_bottom = d.pad_left = d.pad_right = 1;
    d.threads = 2;
    for (const auto with : {backend::eigen, backend::onednn}) {
        if (!has_backend(with)) continue;
        d.with = with;
        const convolution forward(d);
        const convolution_backward_weights backward(d);
        const auto w = random_numbers<float>(9 * 5 * 24, 2);
        std::atomic<int> wrong{0};
        on_threads(4U, [&](unsigned t) {
            const auto x = random_numbers<float>(4 * 6 * 6 * 5, 10 + t);
            const auto dy = random_numbers<float>(4 * 6 * 6 * 24, 20 + t);
            std::vector<double> y(4 * 6 * 6 * 24, 0.0);
            std::vector<double> dw(w.size(), 0.0);
            products_of(d).products([&](std::size_t xi, std::size_t wi, std::size_t yi) {
                y[yi] += static_cast<double>(x[xi]) * static_cast<double>(w[wi]);
                dw[wi] += static_cast<double>(x[xi]) * static_cast<double>(dy[yi]);
            });
            std::vector<float> found_y(y.size());
            std::vector<float> found_dw(dw.size());
            for (int round = 0; round < 30; ++round) {
                forward.run(x.data(), w.data(), nullptr, found_y.data(), &pool_of(2));
                backward.run(x.data(), dy.data(), found_dw.data(), nullptr, &pool_of(2));
                if (worst_error(found_y, y) > 1e-5 || worst_error(found_dw, dw) > 1e-4) ++wrong;
            }
        });
        CHECK(wrong.load() == 0);
    }
}

TEST_CASE("convolution refuses what it cannot compute, in words that name the sizes") {
    auto d = image(1, 4, 4, 3, 5, 8);
    CHECK_ERROR(invalid_argument_error, "[1, 4, 4, 3] with [5, 5, 3, 8]", convolution{d});
    d = image(1, 4, 4, 3, 3, 8);
    d.groups = 2;
    CHECK_ERROR(invalid_argument_error, "groups", convolution{d});
    d = image(1, 4, 4, 4, 3, 7);
    d.groups = 2;
    CHECK_ERROR(invalid_argument_error, "groups", convolution{d});
    d = image(1, 4, 4, 3, 3, 8);
    d.stride_h = 0;
    CHECK_THROWS_AS(convolution{d}, invalid_argument_error);
    d = image(1, 4, 4, 3, 3, 8);
    d.pad_left = -1;
    CHECK_THROWS_AS(convolution_backward_data{d}, invalid_argument_error);
    d = image(1, 4, 4, 3, 3, 8);
    d.after = epilogue::relu;
    CHECK_THROWS_AS(convolution_backward_weights{d}, invalid_argument_error);
    d = image(1, 4, 4, 3, 3, 8);
    d.element = element_type::int32;
    CHECK_THROWS_AS(convolution{d}, invalid_argument_error);
}
