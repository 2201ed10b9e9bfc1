#include "messages.hpp"
#include "own_graph.hpp"

#include <cmath>
#include <type_traits>
#include <vector>

#include <tenon/ops/control/control.hpp>
#include <tenon/ops/rows/categorical.hpp>
#include <tenon/runtime/session/session.hpp>

using namespace tenon;

namespace {
inline constexpr struct batch : dim<"batch"> {} batch;

} // namespace

TEST_CASE_FIXTURE(in_graph, "random_categorical: each class as often as softmax says") {
    const auto logits = placeholder<double, shape<batch, 4>>("logits");
    const auto drawn = random_categorical(logits, 3);
    static_assert(std::is_same_v<decltype(drawn), const tensor<std::int64_t, shape<batch>>>);
    constexpr int n = 40000;
    const double p[] = {0.1, 0.6, 0, 0.3};
    array<double, shape<batch, 4>> fed(n);
    for (int i = 0; i < n; ++i)
        for (int c = 0; c < 4; ++c) fed(i, c) = std::log(p[c]) + 5; // the third is -infinity
    session s;
    const auto step = s.callable(feeds(logits), fetches(drawn));
    const auto [first] = step(fed);
    const auto [second] = step(fed);
    std::vector<int> counts(4);
    for (int i = 0; i < n; ++i) ++counts[static_cast<std::size_t>(first(i))];
    CHECK(counts[2] == 0);
    for (std::size_t c = 0; c < 4; ++c) // within five deviations
        CHECK(std::abs(counts[c] - n * p[c]) <= 5 * std::sqrt(n * p[c] * (1 - p[c])));
    CHECK(first.untyped() != second.untyped());
    session again;
    const auto [same] = again.callable(feeds(logits), fetches(drawn))(fed);
    CHECK(same.untyped() == first.untyped());
}

TEST_CASE_FIXTURE(in_graph, "random_categorical: one class, no rows, half, and what does not fit") {
    const auto one = placeholder<half, shape<batch, 1>>("one");
    session s;
    const auto [zeros] = s.callable(feeds(one), fetches(random_categorical(one)))(array<half, shape<batch, 1>>(5));
    for (int i = 0; i < 5; ++i) CHECK(zeros(i) == 0);
    const auto [none] = s.callable(feeds(one), fetches(random_categorical(one)))(array<half, shape<batch, 1>>(0));
    CHECK(none.size() == 0);
    const auto row = random_categorical(placeholder<float, shape<3>>());
    static_assert(std::is_same_v<decltype(row), const tensor<std::int64_t, shape<>>>);
    CHECK_ERROR(invalid_argument_error, "random_categorical: rank is too low",
                untyped::random_categorical(untyped::placeholder(element_type::float32, {})));
}
