#include "twins.hpp"

// A typed function and the untyped one of its name give the same bits, and types that agree; test/twins holds that each has
// its line.

using namespace op_table;

TEST_CASE("typed and untyped: products and reductions") {
    twins t;
    const auto x = t.operand<float, matrix>();
    const auto w = t.operand<float, shape<4, 5>>();
    const auto b = t.given<bool, matrix>({1, 0, 1, 1, 1, 1, 1});
    t.same("matmul", matmul(x, w), untyped::matmul(x, w));
    t.same("matmul", matmul<transpose_a>(x, x), untyped::matmul(x, x, true));
    t.same("matmul_float8", matmul_float8(x, w), untyped::matmul_float8(x, w));
    t.same("matmul_float8", matmul_float8<transpose_a>(x, x), untyped::matmul_float8(x, x, true));
    t.same("sum", sum<1>(x), untyped::sum(x, 1));
    t.same("sum", sum(x), untyped::sum(x));
    t.same("mean", mean<0>(x, keepdims), untyped::mean(x, 0, true));
    t.same("prod", prod<-1>(x), untyped::prod(x, -1));
    t.same("min", min<1>(x), untyped::min(x, 1));
    t.same("max", max<1>(x), untyped::max(x, 1));
    t.same("argmin", argmin<1>(x), untyped::argmin(x, 1));
    t.same("argmax", argmax(x), untyped::argmax(x));
    t.same("any", any<0>(b), untyped::any(b, 0));
    t.same("all", all<0>(b), untyped::all(b, 0));
    t.same("count_nonzero", count_nonzero<1>(b), untyped::count_nonzero(b, 1));
    t.same("logsumexp", logsumexp<1>(x), untyped::logsumexp(x, 1));
    t.same("variance", variance<1>(x, ddof{1}), untyped::variance(x, 1, false, 1));
    t.same("standard_deviation", standard_deviation<0>(x, keepdims), untyped::standard_deviation(x, 0, true));
    t.same("norm", norm<2, 1>(x), untyped::norm(x, 2, 1));
    const auto of_rows = untyped::moments(x, 1, true);
    t.same_parts("moments", moments<1>(x, keepdims), {of_rows.first, of_rows.second});
    t.same("l2_normalize", l2_normalize<1>(x), untyped::l2_normalize(x, 1));
    t.same("sum_like", sum_like(x, sum<0>(x)), untyped::sum_like(x, untyped::sum(x, 0)));
    t.same("cumsum", cumsum<1>(x, {.exclusive = true}), untyped::cumsum(x, 1, {.exclusive = true}));
    t.same("cumprod", cumprod<1>(x), untyped::cumprod(x, 1));
    t.same("cummax", cummax<0>(x, {.reversed = true}), untyped::cummax(x, 0, {.reversed = true}));
    t.same("cummin", cummin<1>(x), untyped::cummin(x, 1));
    t.same("cumlogsumexp", cumlogsumexp<-1>(x), untyped::cumlogsumexp(x, -1));
    const auto largest = top_k<2>(x);
    const std::vector<any_tensor> largest_too = untyped::top_k(x, 2);
    t.same("top_k", std::get<0>(largest), largest_too[0]);
    t.same("top_k", std::get<1>(largest), largest_too[1]);
    t.same("sort", sort<0>(x, {.descending = true}), untyped::sort(x, 0, {.descending = true}));
    t.same("argsort", argsort(x), untyped::argsort(x));
    const auto edges = t.given<float, shape<3>>({-1, 0, 1});
    t.same("searchsorted", searchsorted(edges, x, {.right = true}), untyped::searchsorted(edges, x, {.right = true}));
    t.same("matrix_trace", matrix_trace<1>(w), untyped::matrix_trace(w, 1));
}

TEST_CASE("typed and untyped: sizes, order and parts") {
    twins t;
    const auto x = t.operand<float, matrix>();
    const auto y = t.operand<float, shape<2, 6>>();
    const auto i = t.given<std::int32_t, shape<5>>({2, 0, 1, 2, 2});
    t.same("reshape", reshape<shape<batch, 2, 2>>(x), untyped::reshape(x, {extent::named("batch"), 2, 2}));
    t.same("reshape_like", reshape_like(y, transpose(y)), untyped::reshape_like(y, untyped::transpose(y)));
    t.same("expand_dims", expand_dims<1, -1>(x), untyped::expand_dims(x, {1, -1}));
    t.same("squeeze", squeeze<1>(expand_dims<1>(x)), untyped::squeeze(untyped::expand_dims(x, 1), 1));
    t.same("squeeze", squeeze(expand_dims<1>(x)), untyped::squeeze(untyped::expand_dims(x, 1)));
    t.same("flatten", flatten(y), untyped::flatten(y));
    t.same("einsum", einsum<"ij,kj->ki">(y, y), untyped::einsum("ij,kj->ki", {y, y}));
    t.same("flatten", flatten<1>(expand_dims<1>(x)), untyped::flatten(untyped::expand_dims(x, 1), 1));
    t.same("transpose", transpose(x), untyped::transpose(x));
    t.same("swapaxes", swapaxes<0, -1>(x), untyped::swapaxes(x, 0, -1));
    t.same("moveaxis", moveaxis<0, 2>(expand_dims<1>(x)), untyped::moveaxis(untyped::expand_dims(x, 1), 0, 2));
    t.same("broadcast_to", broadcast_to<shape<2, batch, 4>>(x),
           untyped::broadcast_to(x, {2, extent::named("batch"), 4}));
    t.same("broadcast_like", broadcast_like(sum<0>(x), x), untyped::broadcast_like(untyped::sum(x, 0), x));
    t.same("concat", concat<1>(x, x), untyped::concat({x, x}, 1));
    t.same_parts("split", split<3, 1>(y), untyped::split(y, 3, 1));
    t.same_parts("split_evenly", split_evenly<4, 1>(y), untyped::split_evenly(y, 4, 1));
    t.same_parts("split_sizes", split_sizes<1, 2, 4>(y), untyped::split_sizes(y, {2, 4}, 1));
    t.same("add_n", add_n(x, x), untyped::add_n({x, x}));
    t.same("stack", stack<1>(x, x), untyped::stack({x, x}, 1));
    t.same_parts("unstack", unstack<2, 0>(y), untyped::unstack(y, 2));
    t.same("slice", slice<range{0, 1}, range{.step = -2}>(y), untyped::slice(y, {range{0, 1}, range{.step = -2}}));
    t.same("reverse", reverse<1>(x), untyped::reverse(x, 1));
    t.same("pad", pad<margin{1, 0}, margin{0, 2}>(x), untyped::pad(x, {margin{1, 0}, margin{0, 2}}));
    t.same("tile", tile<2, 1>(y), untyped::tile(y, {2, 1}));
    t.same("roll", roll<2>(y), untyped::roll(y, 2));
    t.same("roll", roll<-4, 1>(y), untyped::roll(y, -4, 1));
    t.same("roll", roll<1>(x), untyped::roll(x, 1));
    t.same("repeat", repeat<3, 1>(x), untyped::repeat(x, 3, 1));
    t.same("one_hot", one_hot<3>(i), untyped::one_hot(i, 3));
    t.same("gather", gather<0>(x, i), untyped::gather(x, i));
    t.same("pad", pad<margin{0, 0}, margin{1, 2}>(y, pad_mode::wrap),
           untyped::pad(y, {margin{0, 0}, margin{1, 2}}, pad_mode::wrap));
}

TEST_CASE("typed and untyped: what indices of their own name") {
    twins t;
    const auto y = t.operand<float, shape<2, 6>>();
    const auto u = t.operand<float, shape<2, 3>>();
    const auto rows = t.operand<float, shape<3, 6>>();
    const auto i = t.given<std::int64_t, shape<2, 3>>({5, 0, 1, 2, 2, 4});
    const auto j = t.given<std::int32_t, shape<3, 1>>({1, 0, 1});
    t.same("take_along_axis", take_along_axis<1>(y, i), untyped::take_along_axis(y, i, 1));
    t.same("scatter_along_axis", scatter_along_axis<1>(y, i, u), untyped::scatter_along_axis(y, i, u, 1));
    t.same("scatter_add_along_axis", scatter_add_along_axis<-1>(y, i, u), untyped::scatter_add_along_axis(y, i, u, -1));
    t.same("gather_nd", gather_nd(y, j), untyped::gather_nd(y, j));
    t.same("scatter_nd", scatter_nd(y, j, rows), untyped::scatter_nd(y, j, rows));
    t.same("scatter_nd_add", scatter_nd_add(y, j, rows), untyped::scatter_nd_add(y, j, rows));
}

TEST_CASE("typed and untyped: diagonals and triangles, and numbers in sizes of others") {
    twins t;
    const auto x = t.operand<float, matrix>();
    const auto v = t.operand<float, shape<5>>();
    const extent of_batch = extent::named("batch");
    t.same("bit_cast", bit_cast<std::uint16_t>(x), untyped::bit_cast(x, element_type::uint16));
    t.same("tril", tril(x, 1), untyped::tril(x, 1));
    t.same("triu", triu(x), untyped::triu(x));
    t.same("diagonal", diagonal<-1>(x), untyped::diagonal(x, -1));
    t.same("diag", diag<2>(v), untyped::diag(v, 2));
    t.same("diag", diag(x), untyped::diag(x));
    t.same("diag_embed", diag_embed(x), untyped::diag_embed(x));
    t.same("eye_like", eye_like<double>(x), untyped::eye_like(x, element_type::float64));
    t.same("arange_like", arange_like<float, 0>(x, 2, 0.5), untyped::arange_like(x, element_type::float32, 0, 2, 0.5));
    t.same("full", full<shape<7, batch>>(3, x, v), untyped::full(element_type::int32, {7, of_batch}, 3, {x, v}));
    t.same("zeros", zeros<float, shape<batch, 2>>(x), untyped::zeros(element_type::float32, {of_batch, 2}, {x}));
    t.same("ones", ones<half, shape<batch>>(x), untyped::ones(element_type::float16, {of_batch}, {x}));
    t.same("random_uniform", random_uniform<float, shape<batch, 2>>(x, 0, 1, 7),
           untyped::random_uniform(element_type::float32, {of_batch, 2}, x, 0, 1, 7));
    t.same("random_normal", random_normal<double, shape<batch>>(x, 1, 2, 7),
           untyped::random_normal(element_type::float64, {of_batch}, x, 1, 2, 7));
    t.same("truncated_normal", truncated_normal<float, shape<2, batch>>(x, 1, 2, 7),
           untyped::truncated_normal(element_type::float32, {2, of_batch}, x, 1, 2, 7));
    t.same("random_integers", random_integers<std::int64_t, shape<batch>>(x, 1, 7, 7),
           untyped::random_integers(element_type::int64, {of_batch}, x, 1, 7, 7));
}

TEST_CASE("typed and untyped: matrices") {
    twins t;
    const auto a = t.given<double, shape<2, 2>>({4, 1, 2, 3});
    const auto b = t.operand<double, shape<2, 3>>();
    t.same("cholesky", cholesky(a), untyped::cholesky(a));
    t.same("triangular_solve", triangular_solve(a, b, {.lower = false}),
           untyped::triangular_solve(a, b, {.lower = false}));
    t.same("solve", solve(a, b), untyped::solve(a, b));
    t.same("inverse", inverse(a), untyped::inverse(a));
    t.same("determinant", determinant(a), untyped::determinant(a));
    t.same_parts("slogdet", slogdet(a), untyped::slogdet(a));
    t.same_parts("qr", qr(b), untyped::qr(b));
    t.same_parts("svd", svd(b), untyped::svd(b));
    t.same("singular_values", singular_values(b), untyped::singular_values(b));
    t.same_parts("eigh", eigh(a), untyped::eigh(a));
}

TEST_CASE("typed and untyped: transforms") {
    twins t;
    const auto z = t.operand<double, shape<batch, 4, 2>>();
    const auto x = t.operand<double, shape<2, 6>>();
    t.same("fft", fft(z), untyped::fft(z));
    t.same("fft", fft<2>(z), untyped::fft(z, 2));
    t.same("ifft", ifft<2>(z), untyped::ifft(z, 2));
    t.same("rfft", rfft<2>(x), untyped::rfft(x, 2));
    t.same("irfft", irfft(z), untyped::irfft(z));
    t.same("irfft", irfft<2, 7>(z), untyped::irfft(z, 2, 7));
}

TEST_CASE("typed and untyped: convolutions and pools in one dimension and in three") {
    twins t;
    const auto line = t.operand<float, shape<batch, 6, 2>>();
    const auto w = t.operand<float, shape<3, 2, 2>>();
    const auto volume = t.operand<float, shape<batch, 4, 4, 3, 2>>();
    const auto k = t.operand<float, shape<2, 2, 3, 2, 2>>();
    const auto image = t.operand<float, shape<batch, 5, 4, 2>>();
    t.same("conv1d", conv1d<2, same>(line, w), untyped::conv1d(line, w, {2, same}));
    t.same("conv1d_transpose", conv1d_transpose<2>(line, w), untyped::conv1d_transpose(line, w, {2}));
    t.same("conv3d", conv3d<2, same>(volume, k), untyped::conv3d(volume, k, {2, same}));
    t.same("conv3d_transpose", conv3d_transpose<2>(volume, k), untyped::conv3d_transpose(volume, k, {2}));
    t.same("max_pool1d", max_pool1d<2>(line), untyped::max_pool1d(line, {2}));
    t.same("average_pool1d", average_pool1d<3, 1, same>(line), untyped::average_pool1d(line, {3, 1, same}));
    t.same("max_pool3d", max_pool3d<2>(volume), untyped::max_pool3d(volume, {2}));
    t.same("average_pool3d", average_pool3d<2, 1>(volume), untyped::average_pool3d(volume, {2, 1}));
    t.same_parts("max_pool1d_with_indices", max_pool1d_with_indices<2>(line),
                 untyped::max_pool1d_with_indices(line, {2}));
    t.same_parts("max_pool2d_with_indices", max_pool2d_with_indices<2>(image),
                 untyped::max_pool2d_with_indices(image, {2, 2}));
    t.same_parts("max_pool3d_with_indices", max_pool3d_with_indices<2>(volume),
                 untyped::max_pool3d_with_indices(volume, {2}));
}

TEST_CASE("typed and untyped: layers") {
    twins t;
    const auto image = t.operand<float, shape<batch, 5, 4, 2>>();
    const auto w = t.operand<float, shape<3, 3, 2, 4>>();
    const auto back = t.operand<float, shape<3, 3, 4, 2>>();
    const auto x = t.operand<float, matrix>();
    const auto scale = t.operand<float, shape<4>>();
    const auto labels = t.given<std::int32_t, shape<batch>>({3, 0, 1});
    constexpr conv2d_options moved{.stride = 2, .padding = same};
    t.same("conv2d", conv2d<moved>(image, w), untyped::conv2d(image, w, moved));
    t.same("conv2d_transpose", conv2d_transpose<moved>(image, back), untyped::conv2d_transpose(image, back, moved));
    t.same("max_pool2d", max_pool2d<3, 2, same>(image), untyped::max_pool2d(image, {3, 2, same}));
    t.same("average_pool2d", average_pool2d<2>(image), untyped::average_pool2d(image, {2, 2, valid}));
    t.same("global_average_pool", global_average_pool(image), untyped::global_average_pool(image));
    t.same("softmax", softmax(x), untyped::softmax(x));
    t.same("log_softmax", log_softmax<0>(x), untyped::log_softmax(x, 0));
    t.same("sparse_softmax_cross_entropy", sparse_softmax_cross_entropy(x, labels),
           untyped::sparse_softmax_cross_entropy(x, labels));
    t.same("softmax_cross_entropy", softmax_cross_entropy(x, softmax(x)),
           untyped::softmax_cross_entropy(x, untyped::softmax(x)));
    const auto answers = t.operand<float, matrix>(0, 1);
    t.same("sigmoid_cross_entropy", sigmoid_cross_entropy(x, answers), untyped::sigmoid_cross_entropy(x, answers),
           1e-6);
    t.same("layer_norm", layer_norm(x, scale, scale), untyped::layer_norm(x, scale, scale));
    t.same("attention", attention(x, x, x, {.causal = true}), untyped::attention(x, x, x, {.causal = true}));
    const auto length = constant(std::int32_t{2});
    t.same("attention", attention(x, x, x, length), untyped::attention(x, x, x, length));
}

TEST_CASE("typed and untyped: losses") {
    twins t;
    const auto x = t.operand<float, matrix>(), y = t.operand<float, matrix>(-1, 3);
    const auto p = t.operand<float, matrix>(0.1, 0.9), q = t.operand<float, matrix>(0, 1);
    const auto labels = t.given<std::int64_t, shape<batch>>({3, 0, 1});
    constexpr double rounding = 1e-6;
    t.same("mean_squared_error", nn::mean_squared_error(x, y), nn::untyped::mean_squared_error(x, y), rounding);
    t.same("mean_absolute_error", nn::mean_absolute_error(x, y), nn::untyped::mean_absolute_error(x, y), rounding);
    t.same("huber", nn::huber(x, y, 0.5), nn::untyped::huber(x, y, 0.5), rounding);
    t.same("cross_entropy", nn::cross_entropy(x, labels), nn::untyped::cross_entropy(x, labels));
    t.same("binary_cross_entropy", nn::binary_cross_entropy(x, q), nn::untyped::binary_cross_entropy(x, q), rounding);
    t.same("log_loss", nn::log_loss(p, q), nn::untyped::log_loss(p, q), rounding);
    t.same("cross_entropy", nn::cross_entropy(x, labels, {.label_smoothing = 0.2}),
           nn::untyped::cross_entropy(x, labels, {.label_smoothing = 0.2}), rounding);
    t.same("focal", nn::focal(x, labels), nn::untyped::focal(x, labels), rounding);
    t.same("binary_focal", nn::binary_focal(x, q), nn::untyped::binary_focal(x, q), rounding);
    t.same("hinge", nn::hinge(x, y), nn::untyped::hinge(x, y), rounding);
    t.same("kl_divergence", nn::kl_divergence(x, p), nn::untyped::kl_divergence(x, p), rounding);
    t.same("cosine_similarity", nn::cosine_similarity(x, y), nn::untyped::cosine_similarity(x, y), rounding);
    t.same("cosine_distance", nn::cosine_distance(x, y), nn::untyped::cosine_distance(x, y), rounding);
    t.same("triplet", nn::triplet(x, y, p, 2), nn::untyped::triplet(x, y, p, 2), rounding);
    const auto steps = t.operand<float, shape<batch, 4, 5>>();
    const auto few = t.given<std::int32_t, shape<batch, 2>>({1, 2, 3, 3, 2, 1});
    const auto times = t.given<std::int32_t, shape<batch>>({4, 3, 4}),
               lengths = t.given<std::int32_t, shape<batch>>({2, 2, 1});
    t.same("ctc_loss", ctc_loss(steps, few, times, lengths), untyped::ctc_loss(steps, few, times, lengths));
    t.same("ctc", nn::ctc(steps, few, times, lengths, {4}), nn::untyped::ctc(steps, few, times, lengths, {4}));
    t.same("predicted_class", nn::predicted_class(x), nn::untyped::predicted_class(x));
    t.same("accuracy", nn::accuracy(x, labels), nn::untyped::accuracy(x, labels));
}
