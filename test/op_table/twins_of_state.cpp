#include "twins.hpp"

// A typed function and the untyped one of its name give the same bits, and types that agree; test/twins holds that each has
// its line.

using namespace op_table;

TEST_CASE("typed and untyped: control, constants and random numbers") {
    twins t;
    const auto x = t.operand<float, matrix>();
    const auto training = t.given<bool, shape<>>({1});
    t.same("zeros_like", zeros_like(x), untyped::zeros_like(x));
    t.same("ones_like", ones_like(x), untyped::ones_like(x));
    t.same("identity", identity(x), untyped::identity(x));
    t.same("stop_gradient", stop_gradient(x), untyped::stop_gradient(x));
    t.same_operation("print", print(x, ""), untyped::print(x, ""));
    t.same("placeholder_with_default", placeholder_with_default(x), untyped::placeholder_with_default(x));
    t.same("placeholder_with_default", placeholder_with_default<shape<dyn, 4>>(x),
           untyped::placeholder_with_default(x, {extent{}, 4}));
    t.same_operation("placeholder", placeholder<float, matrix>(),
                     untyped::placeholder(element_type::float32, {extent::named("batch"), 4}));
    t.same_operation("assert_true", assert_true(training, "why", x), untyped::assert_true(training, "why", {x}));
    t.same_operation("group", group(x, training), untyped::group({x, training}));
    t.same_operation("boolean_mask", boolean_mask(x, x > 0.0f),
                     untyped::boolean_mask(x, tenon::detail::as_tensor(x > 0.0f)));
    t.same_operation("nonzero", nonzero<batch>(x), untyped::nonzero(x, extents{extent::named("batch")}));
    const auto count = t.given<std::int32_t, shape<>>({3});
    t.same_operation("arange_to", arange_to<batch>(count), untyped::arange_to(count, extents{extent::named("batch")}));
    const auto list = t.operand<float, shape<batch_size{}>>();
    const auto different = unique<std::int64_t>(list);
    const std::vector<any_tensor> different_too = untyped::unique(list, element_type::int64);
    t.same_operation("unique", std::get<0>(different), different_too[0]);
    t.same_operation("unique", std::get<1>(different), different_too[1]);
    any_array one(element_type::float32, {});
    set_number(one, 0, 1.5);
    t.same("constant", constant(1.5f), untyped::constant(std::move(one)));
    constexpr auto f = element_type::float32;
    t.same("full", full<shape<2, 3>>(0.5f), untyped::full(f, {2, 3}, 0.5));
    t.same("zeros", zeros<std::int8_t, shape<4>>(), untyped::zeros(element_type::int8, 4));
    t.same("ones", ones<bool>(), untyped::ones(element_type::boolean));
    t.same("eye", eye<float, 3>(), untyped::eye(f, 3));
    t.same("eye", eye<half, 2, 3>(), untyped::eye(element_type::float16, 2, 3));
    t.same("arange", arange<std::int64_t, 4>(9007199254740993, -2),
           untyped::arange(element_type::int64, 4, 9007199254740993, -2));
    t.same("arange", arange<bfloat16, 4>(0, 0.5), untyped::arange(element_type::bfloat16, 4, 0, 0.5));
    t.same("linspace", linspace<double, 7>(-1, 2), untyped::linspace(element_type::float64, 7, -1, 2));
    t.same("random_uniform", random_uniform<float, shape<3>>(-1, 1, 7), untyped::random_uniform(f, 3, -1, 1, 7));
    t.same("random_uniform_like", random_uniform_like(x, -1, 1, 7), untyped::random_uniform_like(x, -1, 1, 7));
    t.same("random_normal", random_normal<float, shape<3>>(0, 2, 7), untyped::random_normal(f, 3, 0, 2, 7));
    t.same("random_normal_like", random_normal_like(x, 0, 2, 7), untyped::random_normal_like(x, 0, 2, 7));
    t.same("truncated_normal", truncated_normal<float, shape<3>>(0, 2, 7), untyped::truncated_normal(f, 3, 0, 2, 7));
    t.same("truncated_normal_like", truncated_normal_like(x, 0, 2, 7), untyped::truncated_normal_like(x, 0, 2, 7));
    t.same("random_integers", random_integers<std::int32_t, shape<3>>(1, 7, 7),
           untyped::random_integers(element_type::int32, 3, 1, 7, 7));
    t.same("random_integers_like", random_integers_like<std::int64_t>(x, 1, 7, 7),
           untyped::random_integers_like(x, 1, 7, 7, element_type::int64));
    t.same("random_permutation_like", random_permutation_like(x, 7), untyped::random_permutation_like(x, 7));
    t.same("random_permutation", random_permutation<std::int32_t, shape<5>>(7),
           untyped::random_permutation(element_type::int32, 5, 7));
    t.same("random_shuffle", random_shuffle(x, 7), untyped::random_shuffle(x, 7));
    t.same("random_bernoulli", random_bernoulli<shape<9>>(0.5, 7), untyped::random_bernoulli(9, 0.5, 7));
    t.same("random_bernoulli_like", random_bernoulli_like(x, 0.5, 7), untyped::random_bernoulli_like(x, 0.5, 7));
    t.same("dropout", dropout(x, 0.5, 7), untyped::dropout(x, 0.5, 7));
    t.same("dropout", dropout(x, 0.5, training, 7), untyped::dropout(x, 0.5, training, 7));
    t.same("random_categorical", random_categorical(x, 7), untyped::random_categorical(x, 7));
}

TEST_CASE("typed and untyped: variables and gradients") {
    twins t;
    const auto w = variable<float, shape<3, 2>>("w", ones());
    const auto x = t.operand<float, shape<3, 2>>();
    const auto i = t.given<std::int32_t, shape<2>>({2, 0});
    const auto rows = t.operand<float, shape<2, 2>>();
    const any_tensor uw = w;
    t.same_operation("variable", w, untyped::variable("u", {element_type::float32, {3, 2}}, ones()));
    t.same_operation("variable", variable("w", x), untyped::variable("u", x));
    t.same_operation("initialize_variables", initialize_variables(w), untyped::initialize_variables({uw}));
    t.same_operation("initialized_value", w.initialized_value(), untyped::initialized_value(uw));
    t.same_operation("assign", w.assign(x), untyped::assign(uw, x));
    t.same_operation("assign_add", w.assign_add(x), untyped::assign_add(uw, x));
    t.same_operation("assign_sub", w.assign_sub(x), untyped::assign_sub(uw, x));
    t.same_operation("scatter_update", w.scatter_update(i, rows), untyped::scatter_update(uw, i, rows));
    t.same_operation("scatter_add", w.scatter_add(i, rows), untyped::scatter_add(uw, i, rows));
    t.same_operation("scatter_sub", w.scatter_sub(i, rows), untyped::scatter_sub(uw, i, rows));
    t.same_operation("scatter_mul", w.scatter_mul(i, rows), untyped::scatter_mul(uw, i, rows));
    t.same_operation("scatter_div", w.scatter_div(i, rows), untyped::scatter_div(uw, i, rows));
    t.same_operation("scatter_min", w.scatter_min(i, rows), untyped::scatter_min(uw, i, rows));
    t.same_operation("scatter_max", w.scatter_max(i, rows), untyped::scatter_max(uw, i, rows));
    const auto h = tanh(x);
    const auto loss = mean(h);
    t.same_parts("gradients", gradients(loss, x, h), untyped::gradients(loss, {x, tenon::detail::as_tensor(h)}));
}
