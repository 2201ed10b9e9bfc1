#pragma once

#include <tenon/search/grid_search.hpp>

#include "tests.hpp"

// Grids whose trainings are soon done, and lines of a log.

namespace grid_search_test {

inline constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
inline constexpr struct batch : tn::dim<"batch"> {} batch;

struct settings {
    float rate = 0.1f;
    int steps = 5;
};
inline tn::grid<settings> rates() {
    return tn::grid(tn::axis("rate", &settings::rate, {0.3f, 0.1f, 0.03f, 0.01f}),
                    tn::axis("steps", &settings::steps, {3, 6}));
}
// A grid of numbers that are their own scores.
struct number {
    double v = 0;
};
inline tn::grid<number> numbers(const std::vector<double>& all) { return tn::grid(tn::axis("v", &number::v, all)); }

// Lines, of whatever thread.
struct lines {
    void operator()(const std::string& line) const {
        const std::lock_guard lock(*guard);
        all->push_back(line);
    }
    bool has(const std::string& part) const {
        const std::lock_guard lock(*guard);
        return std::any_of(all->begin(), all->end(),
                           [&](const std::string& l) { return l.find(part) != std::string::npos; });
    }
    std::shared_ptr<std::mutex> guard = std::make_shared<std::mutex>();
    std::shared_ptr<std::vector<std::string>> all = std::make_shared<std::vector<std::string>>();
};
inline tn::grid_search_options quiet(tn::grid_search_options o = {}) {
    if (!o.log) o.log = lines();
    return o;
}

// Noise in the data, so that a random number that is another would be seen. The score is the loss.
inline void train_dense(const settings& s, tn::trial& t) {
    const auto x = tn::placeholder<float, tn::shape<batch, 2>>("x");
    const auto noise = tn::random_normal_like(x, 0, 0.1);
    const auto model = tn::nn::dense<1>();
    const auto loss = tn::nn::mean_squared_error(model(x + noise), tn::matmul(x, tn::ones<float, tn::shape<2, 1>>()));
    const auto train = tn::gradient_descent(s.rate).minimize(loss);
    tn::session& sess = t.session();
    sess.run(tn::initialize_variables());
    tn::array<float> xs(tn::extents(32, 2));
    for (int i = 0; i < 32; ++i) {
        xs(i, 0) = static_cast<float>(i % 8) / 8;
        xs(i, 1) = static_cast<float>(i / 8) / 4;
    }
    const auto step = sess.callable(tn::feeds(x), tn::fetches(train, loss));
    for (int i = 1; i <= s.steps; ++i) {
        const auto [l] = step(xs);
        if (!t.report(i, static_cast<double>(l.item()))) return;
    }
}

// Its weights are the number, which is its score.
inline void train_constant(const number& n, tn::trial& t) {
    (void)tn::variable<float, tn::shape<3>>("w", tn::constant_value(n.v));
    t.session().run(tn::initialize_variables());
    (void)t.report(1, n.v);
}
inline double value_of(const tn::trial_outcome& o) {
    return static_cast<double>(o.weights.open()->load<float>("w")(0));
}

template <class S>
inline void same_results(const std::vector<tn::trial_result<S>>& a, const std::vector<tn::trial_result<S>>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        CHECK(a[i].point == b[i].point);
        CHECK(a[i].text == b[i].text);
        CHECK(a[i].seed == b[i].seed);
        CHECK(a[i].history == b[i].history);
        CHECK(a[i].score == b[i].score);
        CHECK(a[i].best_step == b[i].best_step);
    }
}

} // namespace grid_search_test
