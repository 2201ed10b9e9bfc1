#pragma once

#include "tests.hpp"
#include "each_thread.hpp"

// A model that synchronous replicas train.

namespace sync_test {

inline constexpr struct batch : tn::dim<"batch"> {} batch;
using rows_in = tn::shape<batch, 4>;
using rows_out = tn::shape<batch>;

// x w + b to y, on rows; with half the rows' squares to make the second derivatives differ.
struct model {
    tn::tensor<double, rows_in> x = tn::placeholder<double, rows_in>("x");
    tn::tensor<double, rows_out> y = tn::placeholder<double, rows_out>("y");
    tn::variable_tensor<double, tn::shape<4, 1>> w = tn::variable<double, tn::shape<4, 1>>("w", tn::uniform(-1, 1, 3));
    tn::variable_tensor<double, tn::shape<1>> b = tn::variable<double, tn::shape<1>>("b", tn::constant_value(0.25));
    tn::tensor<double, tn::shape<>> loss = mean(tn::square(tn::tanh(tn::squeeze<1>(matmul(x, w) + b)) - y));
};

struct data {
    explicit data(int rows, unsigned seed) : x(rows), y(rows) {
        std::mt19937 random(seed);
        std::normal_distribution<double> normal;
        for (int i = 0; i < rows; ++i) {
            for (int c = 0; c < 4; ++c) x(i, c) = normal(random);
            y(i) = normal(random);
        }
    }
    tn::array<double, rows_in> x;
    tn::array<double, rows_out> y;
    // The rows of replica r.
    data part(int r, int each) const {
        data d(each, 0);
        for (int i = 0; i < each; ++i) {
            for (int c = 0; c < 4; ++c) d.x(i, c) = x(r * each + i, c);
            d.y(i) = y(r * each + i);
        }
        return d;
    }
};

using values = std::vector<double>;
inline values values_of(tn::session& s, const std::vector<tn::any_tensor>& variables) {
    values all;
    for (const tn::any_array& a : s.run_untyped({}, variables))
        all.insert(all.end(), a.data<double>(), a.data<double>() + a.elements());
    return all;
}
inline void check_close(const values& a, const values& b, double tolerance = 1e-12) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        CHECK(std::abs(a[i] - b[i]) <= tolerance * std::max(1.0, std::abs(b[i])));
}

// Runs f(r) for each replica on a thread of its own, in a graph of its own, none of which throws.
inline void each_replica(int replicas, const std::function<void(int)>& f) {
    for (const std::string& said : each_thread(replicas, [&](int r) {
             const own_graph g;
             f(r);
         }))
        CHECK(said == "");
}

inline tn::monitored_session_options as_replica(const tn::task& task, int r, const tn::sync_replicas& sync) {
    tn::monitored_session_options o;
    o.tasks = {task};
    o.is_chief = r == 0;
    o.session.operation_timeout = 60;
    o.hooks = {sync.hook()};
    return o;
}

} // namespace sync_test
