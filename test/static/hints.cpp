// Functions that catch mistakes leave alone what is right: a user's functions of the same names, functions that are passed on, options.
#include <cmath>
#include <span>
#include <type_traits>
#include <valarray>
#include <vector>

#include <tenon/input.hpp>
#include <tenon/tenon.hpp>

namespace tn = tenon;
namespace nn = tenon::nn;

// Not within another: names that using-directives bring would be hidden by it.
namespace mine {
struct matrix {};
struct number {
    number(double) {} // NOLINT: it is converted to
};
struct model {};
inline matrix exp(const matrix&) { return {}; }
inline matrix relu(number) { return {}; }
inline matrix sum(std::span<const float>) { return {}; }
inline matrix fit(tn::session&, const model&, std::span<const float>) { return {}; }
template <class... X> matrix predicted_class(const X&...) { return {}; }
} // namespace mine

namespace alike {
using namespace std;
using namespace tenon;
using namespace tenon::nn;
using namespace mine;
static_assert(is_same_v<decltype(exp(1)), double> && is_same_v<decltype(sqrt(2.0f)), float>);
static_assert(is_same_v<decltype(abs(-1)), int> && is_same_v<decltype(log(3L)), double>);
static_assert(is_same_v<decltype(exp(declval<matrix>())), matrix>);
static_assert(!is_same_v<decltype(exp(declval<valarray<double>&>())), ill_shaped>);
static_assert(is_same_v<decltype(mine::relu(1.0)), matrix>);
static_assert(is_same_v<decltype(predicted_class(1)), matrix> && is_same_v<decltype(mine::predicted_class()), matrix>);
// By its arguments, and with a conversion.
static_assert(is_same_v<decltype(fit(declval<session&>(), model(), declval<vector<float>&>())), matrix>);
} // namespace alike

namespace {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

// One of a set by its template argument.
static_assert(!std::is_same_v<decltype(tn::exp<const images&>(std::declval<const images&>())), tn::ill_shaped>);
[[maybe_unused]] constexpr auto passed_on = &tn::relu<const images&>;

// What is asked whether it can be called.
static_assert(std::is_invocable_v<const nn::relu_activation&, const images&>);
static_assert(!std::is_invocable_v<const nn::dense_layer<10>&, const images&, nn::phase>);
static_assert(std::is_aggregate_v<nn::leaky_relu_activation> && std::is_aggregate_v<nn::max_pool<2>>);
static_assert(!std::is_constructible_v<tn::adam, images, images> && std::is_constructible_v<tn::adam, double>);

[[maybe_unused]] void calls(tn::session& s, const images& x, tn::variable_tensor<float, tn::shape<3>>& w,
                            const tn::array<float, tn::shape<batch, 784>>& a) {
    (void)nn::leaky_relu_activation{.slope = 0.2}(x);
    const tn::adam opt(0.1, {.beta1 = 0.9}), by_default, of_tensor(tn::constant(0.1f)), copied(opt);
    (void)opt.minimize(mean(x), {.variables = {w}});
    (void)opt.minimize(mean(x), {{w}});
    (void)opt.minimize(mean(x), {{w, w}});
    (void)opt.minimize(mean(x), {});
    (void)opt.apply_gradients({});
    const auto model = nn::sequential(nn::dense<10>(nn::relu), nn::batch_norm({.momentum = 0.9}),
                                      [](const auto& h) { return h * 2.0f; });
    const nn::sequential same(model);
    const nn::sequential one{model, nn::relu};
    const nn::sequential none;
    static_assert(std::is_same_v<decltype(same), decltype(model)> && same.size() == 3 && one.size() == 2);
    static_assert(none.size() == 0);
    (void)model(x, nn::training);
    (void)nn::summary(model, x, nn::training);
    const tn::array<float> two({2, 3}), rows{{1, 2}, {3, 4}}, scalar(3.0f), elements{1, 2, 3};
    const std::vector<float> values(6);
    const tn::array<float> of_values(values, tn::extents{2, 3}), flat(values);
    const tn::minibatch_options options;
    tn::minibatches batches(options, a);
    const auto step = s.callable(tn::feeds(x), tn::fetches(mean(x)));
    (void)tn::fit(s, {}, step, batches, step, batches);
    const tn::fifo_queue<float> queue(10, {.shared_name = "jobs"}), another(queue);
    const tn::text_line_reader lines({.skip_header_lines = 1}), more(lines);
}

} // namespace
