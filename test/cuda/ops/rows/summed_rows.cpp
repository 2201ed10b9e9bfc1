// Sums and the normalisations of them on a GPU: one kernel makes both.

#include <doctest/doctest.h>

#include "../../machine.hpp"
#include "ops/rows/summed_rows.hpp"

using namespace tenon;
using test::summed_rows, test::summed_rows_step;

TEST_CASE_TEMPLATE(
    "GPU: a sum and its normalisation are one pass, and so are their gradients, to the bits of each by itself", T,
    float, double, half, bfloat16) {
    const test::machine m;
    const auto check = [&](const summed_rows& of) {
        INFO(of.shown());
        const summed_rows_step joined = test::run_summed_rows<T>(of, "/gpu:0", true, 11),
                               apart = test::run_summed_rows<T>(of, "/gpu:0", false, 11);
        CHECK(test::difference_of_steps(joined, apart) == "");
        CHECK(joined.runs("layer_norm_of_sum") == !of.is_circle);
        CHECK(joined.runs("layer_norm_gradient_plus") == of.has_gradient);
    };
    test::each_summed_rows({extents(5, 72), extents(2, 3, 33)}, check);
    // Rows that the registers do not hold are read again, where the sum is, or else where its parts are.
    for (const bool is_read : {false, true})
        for (const bool has_bias : {false, true}) {
            check({extents(3, 8200), has_bias, is_read, false, true});
            check({extents(2, 9001), has_bias, is_read});
        }
}
