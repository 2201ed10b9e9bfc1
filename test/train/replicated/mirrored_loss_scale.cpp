#include "tests.hpp"
#include "several_devices.hpp"

// A scaled loss of the mirrored strategy's replicas.

using namespace several_devices;

namespace {
inline constexpr struct batch_size : tn::dim<"batch"> {} batch;

} // namespace

TEST_CASE("a scaled loss of replicas: a power of 2 changes no bit, and what is not finite in one of them stops all") {
    const auto trained = [](bool scaled, int bad_row) {
        own_graph g;
        const auto x = tn::placeholder<float, tn::shape<batch, 3>>("x");
        const tn::mirrored_strategy mirrored(devices(2));
        const auto losses = mirrored.run(
            [](auto rows) {
                const auto w = tn::variable<float, tn::shape<3>>("w", tn::ones());
                return tn::mean(tn::square(rows * w));
            },
            mirrored.distribute(x));
        tn::minimize_options o;
        if (scaled) o.scale = tn::loss_scale({.initial = 1024, .good_steps = 2});
        const auto [step, loss] = mirrored.minimize(tn::adam(0.1), losses, o);
        initialized_session s(with_cpus(2));
        std::vector<float> all;
        for (int i = 0; i < 4; ++i) {
            tn::array<float> rows(tn::extents{4, 3});
            for (std::int64_t k = 0; k < 12; ++k) rows[k] = std::sin(static_cast<float>(12 * i + k));
            if (i == 2 && bad_row >= 0) rows(bad_row, 1) = 1e30f;
            s.run(tn::feed(x, rows), step);
        }
        for (const tn::any_tensor& v : g.collection(tn::global_variables)) {
            if (v.element() != tn::element_type::float32 || v.name().starts_with("loss_scale")) continue;
            for (const tn::any_tensor& copy : mirrored.copies(v)) {
                const tn::any_array is = std::move(s.run_untyped({}, {copy})[0]);
                all.insert(all.end(), is.data<float>(), is.data<float>() + is.elements());
            }
        }
        if (scaled) // grown after two good steps, halved by a bad one
            for (const tn::any_tensor& copy : mirrored.copies(o.scale->value()))
                CHECK(s.run_untyped({}, {copy})[0].data<float>()[0] == (bad_row >= 0 ? 1024 : 4096));
        CHECK(s.run(tn::global_step()).item() == (scaled && bad_row >= 0 ? 3 : 4));
        for (const float f : all) CHECK((std::isfinite(f) || !scaled));
        return all;
    };
    CHECK(trained(true, -1) == trained(false, -1));
    const std::vector<float> first = trained(true, 0), last = trained(true, 3);
    CHECK(first.size() == last.size());
    CHECK(first != trained(true, -1));
}

TEST_CASE_FIXTURE(in_graph, "a loss scale of replicas that is used twice, or beside gradients, is refused by name") {
    const tn::mirrored_strategy mirrored(devices(2));
    const auto losses = mirrored.run([] { return tn::square(tn::variable<float, tn::shape<>>("w", tn::ones())); });
    const tn::loss_scale scale;
    const auto how = tn::gradient_descent(0.1);
    mirrored.minimize(how, losses, {.scale = scale});
    CHECK_ERROR(tn::invalid_argument_error, "the loss_scale has scaled another loss",
                mirrored.minimize(how, losses, {.scale = scale}));
    CHECK_ERROR(tn::invalid_argument_error, "a loss_scale is given to minimize() of the strategy",
                mirrored.apply_gradients(how, mirrored.compute_gradients(losses), {.scale = scale}));
}
