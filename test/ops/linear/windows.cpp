#include "tests.hpp"
#include "../check_gradients.hpp"
#include "../random/random_arrays.hpp"
#include "reference/windows.hpp"

// Convolutions and pools in one and three dimensions, against plain loops.

using namespace tenon;
using test::element;
using test::random_array;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;

std::vector<any_array> run(const std::vector<any_tensor>& fetched, const std::vector<any_tensor>& fed,
                           const std::vector<any_array>& values) {
    session s(graph::current());
    std::vector<fed_value> feeds;
    for (std::size_t i = 0; i < fed.size(); ++i) feeds.push_back({fed[i], values[i].share()});
    return s.run_untyped(std::move(feeds), fetched);
}

using reference::along;

// x [b, d, h, w, c] and windows [.., c / groups, o], as the formula has it.
std::vector<double> convolved(const any_array& x, const any_array& w, const along& d, const along& h, const along& v,
                              std::int64_t groups) {
    const reference::convolution of{
        {x.extents()[0].size, h, v, d}, x.extents()[4].size / groups, w.extents()[4].size, groups};
    std::vector<double> y(static_cast<std::size_t>(of.of.count() * of.outputs));
    of.products(
        [&](std::size_t i, std::size_t k, std::size_t r) { y[r] += x.data<double>()[i] * w.data<double>()[k]; });
    return y;
}
void check_values(const any_array& got, const std::vector<double>& wanted) {
    REQUIRE(got.elements() == static_cast<std::int64_t>(wanted.size()));
    for (std::size_t i = 0; i < wanted.size(); ++i)
        REQUIRE(element<double>(got, static_cast<std::int64_t>(i)) ==
                doctest::Approx(wanted[i]).epsilon(1e-12).scale(1));
}
double dot(const any_array& a, const any_array& b) {
    REQUIRE(a.elements() == b.elements());
    double sum = 0;
    for (std::int64_t i = 0; i < a.elements(); ++i) sum += element<double>(a, i) * element<double>(b, i);
    return sum;
}

} // namespace

TEST_CASE("conv1d, conv3d: equal their formula") {
    const graph_scope scope{graph()};
    const along none{1, 1, 1, 1, 0, 1};
    const any_array line = random_array<double>({2, 1, 1, 9, 4}, 1), w1 = random_array<double>({1, 1, 3, 4, 6}, 2),
                    w1g = random_array<double>({1, 1, 3, 2, 6}, 3);
    const auto x = placeholder<double, shape<batch, dyn, 4>>("x");
    const auto w = placeholder<double, shape<3, 4, 6>>("w");
    const auto g = placeholder<double, shape<3, 2, 6>>("g");
    std::vector<any_array> values;
    values.push_back(line.share().reshape({2, 9, 4}));
    values.push_back(w1.share().reshape({3, 4, 6}));
    values.push_back(w1g.share().reshape({3, 2, 6}));
    const auto y = run({conv1d(x, w), conv1d<2, same>(x, w), conv1d<conv1d_options{1, pad(0, 0, 4, 0), 2, 2}>(x, g)},
                       {x, w, g}, values);
    check_values(y[0], convolved(line, w1, none, none, {9, 3, 1, 1, 0, 7}, 1));
    check_values(y[1], convolved(line, w1, none, none, {9, 3, 2, 1, 1, 5}, 1));
    check_values(y[2], convolved(line, w1g, none, none, {9, 3, 1, 2, 4, 9}, 2));

    const any_array volume = random_array<double>({2, 5, 6, 7, 4}, 4), w3 = random_array<double>({3, 2, 3, 4, 6}, 5),
                    w3g = random_array<double>({2, 3, 3, 2, 6}, 6);
    const auto v = placeholder<double, shape<batch, 5, dyn, dyn, 4>>("v");
    const auto k = placeholder<double, shape<3, 2, 3, 4, 6>>("k");
    const auto kg = placeholder<double, shape<2, 3, 3, 2, 6>>("kg");
    values.clear();
    for (const any_array* a : {&volume, &w3, &w3g}) values.push_back(a->share());
    constexpr conv3d_options spread{{2, 1, 2}, pad_volume(1, 1, 2), {1, 2, 1}, 1},
        grouped{1, {valid, 0, 1}, {3, 1, 1}, 2};
    const auto z =
        run({conv3d(v, k), conv3d<2, same>(v, k), conv3d<spread>(v, k), conv3d<grouped>(v, kg)}, {v, k, kg}, values);
    check_values(z[0], convolved(volume, w3, {5, 3, 1, 1, 0, 3}, {6, 2, 1, 1, 0, 5}, {7, 3, 1, 1, 0, 5}, 1));
    check_values(z[1], convolved(volume, w3, {5, 3, 2, 1, 1, 3}, {6, 2, 2, 1, 0, 3}, {7, 3, 2, 1, 1, 4}, 1));
    check_values(z[2], convolved(volume, w3, {5, 3, 2, 1, 1, 3}, {6, 2, 1, 2, 1, 6}, {7, 3, 2, 1, 2, 5}, 1));
    check_values(z[3], convolved(volume, w3g, {5, 2, 1, 3, 0, 2}, {6, 3, 1, 1, 0, 4}, {7, 3, 1, 1, 0, 5}, 2));
}

TEST_CASE_FIXTURE(in_graph, "conv1d_transpose, conv3d_transpose: what the convolution does to gradients") {
    // <conv(x), y> = <x, conv_transpose(y)> for all x and y.
    const auto check = [&](const auto& conv, const auto& back, const extents& of_x, const extents& of_w) {
        const any_tensor x = untyped::placeholder(element_type::float64, of_x),
                         w = untyped::placeholder(element_type::float64, of_w);
        const any_tensor y = conv(x, w), u = untyped::placeholder(element_type::float64, y.extents()), v = back(u, w);
        REQUIRE(v.extents() == of_x);
        std::vector<any_array> values;
        values.push_back(random_array<double>(of_x, 1));
        values.push_back(random_array<double>(of_w, 2));
        values.push_back(random_array<double>(y.extents(), 3));
        const auto got = run({y, v}, {x, w, u}, values);
        CHECK(dot(got[0], values[2]) == doctest::Approx(dot(values[0], got[1])));
    };
    for (const conv1d_options& o : {conv1d_options{}, conv1d_options{2, same}, conv1d_options{2, pad(1), 2, 2}})
        check([&](auto x, auto w) { return untyped::conv1d(x, w, o); },
              [&](auto y, auto w) { return untyped::conv1d_transpose(y, w, o); },
              {2,
               o.padding == same ? 8
               : o.stride == 2   ? 9
                                 : 8,
               4},
              {3, 4 / o.groups, 6});
    for (const conv3d_options& o : {conv3d_options{}, conv3d_options{2, same}, conv3d_options{2, pad_volume(1), 1, 2},
                                    conv3d_options{{1, 2, 1}, {pad(1), 1, 0}, {2, 1, 1}, 1}})
        check([&](auto x, auto w) { return untyped::conv3d(x, w, o); },
              [&](auto y, auto w) { return untyped::conv3d_transpose(y, w, o); },
              {2, o.padding.plane == same ? 4 : 5, o.padding.plane == same ? 6 : 5, o.padding.plane == same ? 4 : 5, 4},
              {3, 3, 3, 4 / o.groups, 6});
    const auto x = placeholder<float, shape<batch, 5, 3>>("x");
    const auto w = placeholder<float, shape<4, 8, 3>>("w");
    static_assert(std::is_same_v<decltype(conv1d_transpose<2>(x, w)), tensor<float, shape<batch, 12, 8>>>);
    static_assert(std::is_same_v<decltype(conv1d_transpose<2, same>(x, w)), tensor<float, shape<batch, 10, 8>>>);
}

TEST_CASE_FIXTURE(in_graph, "max_pool1d, average_pool1d, max_pool3d, average_pool3d: of what is inside") {
    const any_array volume = random_array<double>({2, 5, 6, 7, 3}, 7);
    const auto v = placeholder<double, shape<batch, 5, 6, 7, 3>>("v");
    const auto x = placeholder<double, shape<dyn, dyn, 3>>("x");
    constexpr pool3d_options o{{2, 3, 2}, {2, 1, 3}, pad_volume(1, 1, 0)},
        dilated{{2, 3, 2}, {2, 1, 3}, pad_volume(1, 1, 0), false, {3, 2, 2}};
    std::vector<any_array> values;
    values.push_back(volume.share());
    values.push_back(volume.share().reshape({60, 7, 3}));
    const auto max = max_pool3d<o>(v);
    static_assert(std::is_same_v<decltype(max), const tensor<double, shape<batch, 3, 6, 2, 3>>>);
    const auto got =
        run({max, average_pool3d<o>(v), max_pool1d<3, 2, same>(x), average_pool1d<pool1d_options{3, 2, pad(1)}>(x),
             max_pool3d<dilated>(v), average_pool1d<pool1d_options{3, 2, pad(1), false, 2}>(x)},
            {v, x}, values);
    const auto check = [](const any_array& a, const any_array& pooled, bool average, const along& d, const along& h,
                          const along& w) {
        reference::windows{d.out == 1 ? 60 : 2, h, w, d}.each_pool(3, [&](std::size_t at, const auto& inside) {
            double most = -std::numeric_limits<double>::infinity(), sum = 0;
            for (const std::size_t k : inside) {
                most = std::max(most, a.data<double>()[k]);
                sum += a.data<double>()[k];
            }
            REQUIRE(element<double>(pooled, static_cast<std::int64_t>(at)) ==
                    doctest::Approx(average ? sum / static_cast<double>(inside.size()) : most));
        });
    };
    const along d{5, 2, 2, 1, 1, 3}, h{6, 3, 1, 1, 1, 6}, w{7, 2, 3, 1, 0, 2}, one{1, 1, 1, 1, 0, 1},
        line{7, 3, 2, 1, 1, 4};
    const along far_d{5, 2, 2, 3, 1, 2}, far_h{6, 3, 1, 2, 1, 4}, far_w{7, 2, 3, 2, 0, 2}, far_line{7, 3, 2, 2, 1, 3};
    check(volume, got[0], false, d, h, w);
    check(volume, got[1], true, d, h, w);
    check(volume, got[2], false, one, one, line);
    check(volume, got[3], true, one, one, line);
    check(volume, got[4], false, far_d, far_h, far_w);
    check(volume, got[5], true, one, one, far_line);
}

TEST_CASE_FIXTURE(in_graph, "ceil_mode: what is left over has a window of its own, which begins inside") {
    // Of a line: length, window, stride, padding, and how many windows there are.
    struct line {
        int n, window, stride, around, windows;
    };
    for (const line& l :
         {line{5, 2, 2, 0, 3}, line{6, 3, 2, 0, 3}, line{7, 3, 2, 0, 3}, line{5, 2, 3, 1, 2}, line{4, 2, 3, 0, 2},
          line{7, 2, 3, 0, 3}, line{5, 3, 3, 1, 2}, line{1, 1, 5, 0, 1}, line{4, 3, 4, 1, 2}}) {
        CAPTURE(l.n);
        CAPTURE(l.window);
        CAPTURE(l.stride);
        const any_array values = random_array<double>({2, l.n, 3}, 9);
        const any_tensor x = untyped::placeholder(element_type::float64, {extent{}, extent{}, 3});
        const pool1d_options o{l.window, l.stride, pad(l.around), true};
        std::vector<any_array> fed;
        fed.push_back(values.share());
        const auto got = run({untyped::max_pool1d(x, o), untyped::average_pool1d(x, o)}, {x}, fed);
        REQUIRE(got[0].extents() == extents(2, l.windows, 3));
        std::int64_t at = 0;
        for (int b = 0; b < 2; ++b)
            for (int i = 0; i < l.windows; ++i)
                for (int c = 0; c < 3; ++c, ++at) {
                    double most = -std::numeric_limits<double>::infinity(), sum = 0, count = 0;
                    for (int p = 0; p < l.window; ++p)
                        if (const int j = i * l.stride + p - l.around; j >= 0 && j < l.n) {
                            const double e = element<double>(values, (b * l.n + j) * 3 + c);
                            most = std::max(most, e);
                            sum += e;
                            count += 1;
                        }
                    CHECK(element<double>(got[0], at) == most);
                    CHECK(element<double>(got[1], at) == doctest::Approx(sum / count));
                }
    }
    const auto image = placeholder<float, shape<batch, 5, 5, 2>>("image");
    static constexpr pool2d_options two{.window = 2, .ceil_mode = true};
    static_assert(std::is_same_v<decltype(max_pool2d<two>(image)), tensor<float, shape<batch, 3, 3, 2>>>);
    static_assert(std::is_same_v<decltype(max_pool3d<pool3d_options{.ceil_mode = true}>(
                                     placeholder<float, shape<batch, 3, 5, 5, 2>>())),
                                 tensor<float, shape<batch, 2, 3, 3, 2>>>);
}

TEST_CASE_FIXTURE(in_graph, "max_pool2d_with_indices: places are where the values are") {
    const any_array image = random_array<float>({2, 5, 6, 3}, 8);
    const auto x = placeholder<float, shape<batch, dyn, dyn, 3>>("x");
    const auto [values, places] = max_pool2d_with_indices<3, 2, same>(x);
    static_assert(std::is_same_v<decltype(places), const tensor<std::int64_t, shape<batch, dyn, dyn, 3>>>);
    std::vector<any_array> fed;
    fed.push_back(image.share());
    const auto got = run({values, places}, {x}, fed);
    REQUIRE(got[0].extents() == extents(2, 3, 3, 3));
    for (std::int64_t i = 0; i < got[0].elements(); ++i) {
        const std::int64_t place = got[1].data<std::int64_t>()[i], c = i % 3, b = i / 27;
        const std::int64_t row = place / 6, column = place % 6, top = i / 9 % 3 * 2 - 1, left = i / 3 % 3 * 2;
        CHECK((row >= top && row < top + 3 && column >= left && column < left + 3));
        CHECK(element<float>(got[0], i) == element<float>(image, (b * 30 + place) * 3 + c));
    }
}

TEST_CASE_FIXTURE(in_graph, "places in lines and volumes: of equal elements the first, and the gradient goes there") {
    const auto x = placeholder<float, shape<batch, 4, 5, 3, 2>>("x");
    constexpr pool3d_options wide{.window = 2, .stride = {2, 1, 2}, .padding = pad_volume(1, 0, 1), .ceil_mode = true};
    const auto [values, places] = max_pool3d_with_indices<wide>(x);
    static_assert(std::is_same_v<decltype(places), const tensor<std::int64_t, shape<batch, 3, 4, 2, 2>>>);
    const auto line = placeholder<float, shape<batch, 7, 2>>("line");
    const auto [most, at] = max_pool1d_with_indices<pool1d_options{.window = 3, .stride = 2, .ceil_mode = true}>(line);
    const auto [slope] = gradients(sum(max_pool3d<wide>(x)), x);
    array<float> volume(extents{2, 4, 5, 3, 2}), lines(extents{2, 7, 2});
    for (std::int64_t i = 0; i < volume.size(); ++i)
        volume.data()[i] = static_cast<float>(i * 7 % 5 % 3); // many are equal
    for (std::int64_t i = 0; i < lines.size(); ++i) lines.data()[i] = static_cast<float>(i * 7 % 5 % 3);
    session s;
    const auto [v, p, d] = s.run(feed(x, volume), values, places, slope);
    REQUIRE(v.extents() == extents(2, 3, 4, 2, 2));
    array<float> flowing(volume.extents());
    for (int b = 0; b < 2; ++b)
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 4; ++j)
                for (int k = 0; k < 2; ++k)
                    for (int c = 0; c < 2; ++c) {
                        int best[] = {-1, 0, 0};
                        for (int z = std::max(2 * i - 1, 0); z < std::min(2 * i + 1, 4); ++z)
                            for (int row = j; row < j + 2; ++row)
                                for (int column = std::max(2 * k - 1, 0); column < std::min(2 * k + 1, 3); ++column)
                                    if (best[0] < 0 ||
                                        volume(b, z, row, column, c) > volume(b, best[0], best[1], best[2], c))
                                        best[0] = z, best[1] = row, best[2] = column;
                        CHECK(v(b, i, j, k, c) == volume(b, best[0], best[1], best[2], c));
                        CHECK(p(b, i, j, k, c) == (best[0] * 5 + best[1]) * 3 + best[2]);
                        flowing(b, best[0], best[1], best[2], c) += 1;
                    }
    CHECK(d.untyped() == flowing.untyped());
    const auto [m, a] = s.run(feed(line, lines), most, at);
    for (int b = 0; b < 2; ++b)
        for (int i = 0; i < 3; ++i)
            for (int c = 0; c < 2; ++c) {
                int best = 2 * i;
                for (int l = 2 * i; l < std::min(2 * i + 3, 7); ++l)
                    if (lines(b, l, c) > lines(b, best, c)) best = l;
                CHECK(m(b, i, c) == lines(b, best, c));
                CHECK(a(b, i, c) == best);
            }
}

TEST_CASE("convolutions and pools in one and three dimensions: gradients") {
    namespace u = untyped;
    using in = const std::vector<any_tensor>&;
    const auto check = [](any_tensor (*f)(in), const std::vector<test::untyped_input>& inputs) {
        CHECK(test::check_untyped_gradients(f, inputs) == "");
    };
    const auto apart = [](const extents& sizes) { return test::untyped_input{sizes, test::values::distinct}; };
    check([](in x) { return u::conv1d(x[0], x[1], {2, same}); }, {{{2, 5, 2}}, {{3, 2, 2}}});
    check([](in x) { return u::conv1d_transpose(x[0], x[1], {2}); }, {{{1, 3, 2}}, {{3, 2, 2}}});
    check([](in x) { return u::conv3d(x[0], x[1], {2, same}); }, {{{2, 3, 3, 2, 2}}, {{2, 2, 2, 2, 2}}});
    check([](in x) { return u::conv3d_transpose(x[0], x[1], {2}); }, {{{1, 2, 2, 2, 2}}, {{2, 2, 2, 1, 2}}});
    check([](in x) { return u::max_pool3d(x[0], {2, 1}); }, {apart({1, 3, 3, 3, 2})});
    check([](in x) { return u::average_pool3d(x[0], {2, 1, same}); }, {{{1, 3, 3, 3, 1}}});
    check([](in x) { return u::max_pool1d(x[0], {2}); }, {apart({2, 6, 2})});
    check([](in x) { return u::max_pool2d_with_indices(x[0], {2, 2})[0]; }, {apart({1, 4, 4, 2})});
    check([](in x) { return u::max_pool2d(x[0], {.window = 2, .ceil_mode = true}); }, {apart({1, 5, 3, 1})});
    check([](in x) { return u::average_pool2d(x[0], {.window = 2, .ceil_mode = true}); }, {{{1, 5, 3, 2}}});
}

TEST_CASE_FIXTURE(in_graph, "convolutions and pools in one and three dimensions: what does not fit is refused") {
    const auto x = untyped::placeholder(element_type::float32, {2, 8, 3}),
               w = untyped::placeholder(element_type::float32, {3, 4, 5});
    const auto open = untyped::placeholder(element_type::float32, {2, extent{}, 6, 6, 3});
    const auto k = untyped::placeholder(element_type::float32, {3, 3, 3, 3, 5});
    const auto refused = [](const auto& f, const char* words) {
        CHECK_THROWS_WITH_AS(f(), words, invalid_argument_error);
    };
    refused([&] { untyped::conv1d(x, w); }, "conv1d: numbers of channels differ: [2, 8, 3] x [3, 4, 5]");
    refused([&] { untyped::conv1d(open, w); }, "conv1d: rank must be 3 (batch, length, channels; size, channels, "
                                               "outputs): float[2, ?, 6, 6, 3] x float[3, 4, 5]");
    refused([&] { untyped::conv3d(open, k); }, "conv3d: depth, and of a convolution with groups the number of "
                                               "channels, must be numbers: float[2, ?, 6, 6, 3] x "
                                               "float[3, 3, 3, 3, 5]");
    const auto flat = untyped::placeholder(element_type::float32, {2, 0, 6, 6, 3});
    refused([&] { untyped::conv3d(flat, k, {.padding = same}); },
            "conv3d: a volume has no planes: float[2, 0, 6, 6, 3] x float[3, 3, 3, 3, 5]");
    refused([&] { untyped::max_pool1d(x, {9}); }, "max_pool1d: window is larger than the padded input: [2, 8, 3]");
}
