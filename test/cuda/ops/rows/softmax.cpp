// Softmax and the losses of classifiers on a GPU beside the host, which computes in double.

#include "tests.hpp"
#include "../both_devices.hpp"
#include "../random/drawn_numbers.hpp"

using namespace tenon;
using namespace test;

namespace {

// Rounded in the type that is computed in some times, and then to its own.
double rounding(element_type e, double scale, double value) {
    const double computed = e == element_type::float64 ? 0x1p-52 : 0x1p-23;
    return 8 * computed * scale + 0.51 * spacing(e) * std::fabs(value) + (e == element_type::float16 ? 0x1p-25 : 1e-37);
}
// Where a differs from what is wanted, whose scale is said of each element.
std::string difference_of(const any_array& a, const std::vector<double>& wanted,
                          const std::function<double(std::size_t)>& scale) {
    return difference(a, wanted, [&](std::int64_t i) {
        const auto k = static_cast<std::size_t>(i);
        return rounding(a.element(), scale(k), wanted[k]);
    });
}

struct lines_case {
    extents sizes;
    int axis;
};
// Rows and columns that fit into registers, of one thread and many, and that do not; at addresses that are no multiples of 16.
const lines_case cases[] = {{extents(1), 0},         {extents(3, 1), 1},     {extents(5, 10), 1},
                            {extents(4, 64), 1},     {extents(7, 333), 1},   {extents(3, 1000), 1},
                            {extents(2, 4097), 1},   {extents(2, 20001), 1}, {extents(1000, 3), 1},
                            {extents(10, 5), 0},     {extents(300, 70), 0},  {extents(5000, 2), 0},
                            {extents(3, 40, 33), 1}, {extents(3, 1, 5), 1},  {extents(2, 600, 40), 1},
                            {extents(0, 4), 1},      {extents(4, 0), 1}};

test::build_function softmax_along(int axis, bool logarithm) {
    return [=](const auto& in) {
        return std::vector{logarithm ? untyped::log_softmax(in[0], axis) : untyped::softmax(in[0], axis)};
    };
}

} // namespace

TEST_CASE("GPU: softmax and log_softmax along any axis, and their gradients through the graph") {
    drawn_numbers draw;
    for (const element_type e : floating_types)
        for (const lines_case& c : cases)
            for (const bool logarithm : {false, true}) {
                INFO(std::string(name_of(e)), " ", to_string(c.sizes), ", axis ", c.axis,
                     logarithm ? ", logarithm" : "");
                any_array x =
                    array_of(e, c.sizes, [&](std::int64_t i) { return i % 53 == 7 ? -infinity : draw(-8, 8); });
                const auto build = softmax_along(c.axis, logarithm);
                const any_array y = std::move(run_on_gpu({&x}, build)[0]);
                const std::vector<double> wanted = on_host_in_double({&x}, build)[0];
                REQUIRE(difference_of(y, wanted, [&](std::size_t k) { return logarithm ? 20 : 4 * wanted[k]; }) == "");
                CHECK(same_bits(y, run_on_gpu({&x}, build)[0]));

                x = array_of(e, c.sizes, [&](std::int64_t) { return draw(-3, 3); });
                const any_array d = array_of(e, c.sizes, [&](std::int64_t) { return draw(-1, 1); });
                const auto out = run_on_gpu({&x, &d}, [&](const auto& in) {
                    const any_tensor made = build(in)[0];
                    return std::vector{made, detail::add_gradients({made}, {in[0]}, {in[1]})[0]};
                });
                // From the y that the GPU found, which is rounded to its type.
                const std::vector<double> slope = on_host_in_double({&out[0], &d}, [&](const auto& in) {
                    return std::vector{add<softmax_gradient_op>({c.axis, logarithm}, in)};
                })[0];
                const auto n = static_cast<double>(c.sizes[c.axis].size);
                REQUIRE(difference_of(out[1], slope, [&](std::size_t k) {
                            const double at = test::number_at(out[0], static_cast<std::int64_t>(k));
                            return logarithm ? (1 + n) * (1 + std::exp(at)) : 2 * at;
                        }) == "");
            }
}

TEST_CASE("GPU: a line that holds NaN or infinity, or nothing but -infinity, has NaN as its softmax") {
    for (const lines_case& c :
         {lines_case{extents(4, 100), 1}, {extents(4, 20000), 1}, {extents(100, 4), 0}, {extents(9000, 4), 0}}) {
        INFO(to_string(c.sizes));
        const std::int64_t n = c.sizes[c.axis].size;
        const any_array x = array_of(element_type::float32, c.sizes, [&](std::int64_t i) {
            const std::int64_t line = c.axis == 1 ? i / n : i % 4, k = c.axis == 1 ? i % n : i / 4;
            if (line == 0) return -infinity;
            if (line == 1) return k == n / 2 ? not_a_number : 0.5;
            if (line == 2) return k == n - 1 ? infinity : 0.5;
            return k == 3 ? 1e30 : -1e30;
        });
        for (const bool logarithm : {false, true}) {
            const auto build = softmax_along(c.axis, logarithm);
            const std::vector<double> wanted = on_host_in_double({&x}, build)[0];
            CHECK(std::count_if(wanted.begin(), wanted.end(), [](double w) { return std::isnan(w); }) == 3 * n);
            CHECK(difference(run_on_gpu({&x}, build)[0], wanted, [&](std::int64_t i) {
                      return 1e-6 * std::fabs(wanted[static_cast<std::size_t>(i)]);
                  }) == "");
        }
    }
}

TEST_CASE("GPU: sparse_softmax_cross_entropy: loss and gradient") {
    drawn_numbers draw;
    for (const element_type e : floating_types)
        for (const extents& shape : {extents(1, 1), extents(5, 10), extents(300, 7), extents(3, 2, 1000),
                                     extents(2, 9001), extents(2, 9008), extents(0, 4), extents(6)})
            for (const element_type of_labels : {element_type::int32, element_type::int64}) {
                INFO(std::string(name_of(e)), " ", to_string(shape));
                const any_array x = array_of(e, shape, [&](std::int64_t) { return draw(-5, 5); });
                extents rows = shape;
                rows.erase(rows.rank() - 1);
                const any_array labels = array_of(of_labels, rows, [&](std::int64_t) {
                    return static_cast<double>(draw.below(shape[shape.rank() - 1].size));
                });
                const test::build_function loss_alone = [](const auto& in) {
                    return std::vector{untyped::sparse_softmax_cross_entropy(in[0], in[1])};
                };
                const test::build_function both = [&](const auto& in) {
                    const any_tensor loss = loss_alone(in)[0];
                    return std::vector{loss, any_tensor({loss.node(), 1})};
                };
                const auto out = run_on_gpu({&x, &labels}, both);
                CHECK(same_bits(run_on_gpu({&x, &labels}, loss_alone)[0], out[0]));
                const auto wanted = on_host_in_double({&x, &labels}, both);
                CHECK(difference_of(out[0], wanted[0], [](std::size_t) { return 15; }) == "");
                CHECK(difference_of(out[1], wanted[1], [](std::size_t) { return 1; }) == "");
            }
}

TEST_CASE("GPU: a label that is no class fails the step with the CPU's words, which name the first") {
    // Few labels are looked at while losses are computed, many before that.
    for (const std::int64_t rows : {4, 3000, 9000}) {
        CAPTURE(rows);
        const any_array x = array_of(element_type::float32, extents(rows, 3),
                                     [](std::int64_t i) { return static_cast<double>(i % 3); });
        const std::int64_t first = rows / 3;
        const any_array labels = array_of(element_type::int32, extents(rows), [&](std::int64_t i) {
            return i == first ? 3.0 : i > first && i % 2 == 0 ? -1.0 : static_cast<double>(i % 3);
        });
        CHECK_ERROR(invalid_argument_error,
                    "label 3 of row " + std::to_string(first) + " is not one of the 3 classes; labels run from 0 to 2",
                    run_on_gpu({&x, &labels}, [](const auto& in) {
                        return std::vector{untyped::sparse_softmax_cross_entropy(in[0], in[1])};
                    }));
    }
}

TEST_CASE("GPU: softmax_cross_entropy: loss and gradient; a weight of 0 counts nothing") {
    drawn_numbers draw;
    for (const element_type e : floating_types)
        for (const extents& shape : {extents(1, 1), extents(5, 10), extents(300, 7), extents(3, 2, 1000),
                                     extents(2, 9001), extents(3, 0), extents(6)}) {
            INFO(std::string(name_of(e)), " ", to_string(shape));
            const any_array x =
                array_of(e, shape, [&](std::int64_t i) { return i % 9 == 4 ? -infinity : draw(-5, 5); });
            const any_array p = array_of(e, shape, [&](std::int64_t i) { return i % 9 == 4 ? 0 : draw(0, 1); });
            const test::build_function build = [](const auto& in) {
                const any_tensor loss = untyped::softmax_cross_entropy(in[0], in[1]);
                return std::vector{loss, any_tensor({loss.node(), 1})};
            };
            const auto out = run_on_gpu({&x, &p}, build);
            const auto wanted = on_host_in_double({&x, &p}, build);
            const auto classes = static_cast<std::size_t>(shape[shape.rank() - 1].size);
            CHECK(difference_of(out[0], wanted[0],
                                [&](std::size_t k) { return 2 * wanted[0][k] + static_cast<double>(classes); }) == "");
            CHECK(difference_of(out[1], wanted[1], [&](std::size_t k) {
                      return std::fabs(wanted[1][k]) + 2 * test::number_at(p, static_cast<std::int64_t>(k));
                  }) == "");
        }
}
