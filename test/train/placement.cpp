#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <tenon/graph/replica_device_setter.hpp>
#include <tenon/ops/elementwise.hpp>
#include <tenon/ops/reduction.hpp>
#include <tenon/train/optimizers.hpp>

// Where training's own nodes ask to be: SEMANTICS 4, 9, 40.

namespace tn = tenon;
using namespace tn::literals;

TEST_CASE("SEMANTICS 9: the global step and an optimiser's count are variables like others: on a parameter server") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto placed = tn::on(tn::replica_device_setter(3));
    const auto w = tn::variable("w", 1.0f);
    const auto train = tn::adam(0.1f).minimize(w * w);
    CHECK(w.node()->device == "/job:ps/task:0"_dev);
    CHECK(g.find("adam_step")->device == "/job:ps/task:1"_dev);
    CHECK(g.find("global_step")->device == "/job:ps/task:2"_dev);
    CHECK(train.node()->device == "/job:worker"_dev);
}

TEST_CASE("SEMANTICS 4: what an optimiser keeps beside a variable shares its device") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto w = tn::on("/gpu:1", [] { return tn::variable("w", 1.0f); });
    const auto cpu = tn::on("/cpu:0");
    tn::momentum(0.1f, 0.9).minimize(w * w);
    int slots = 0;
    for (std::int64_t n = 0; n < g.size(); ++n)
        if (const tn::node& v = *g.at(n); v.op == &tn::variable_definition && v.name.starts_with("w/")) {
            CHECK(v.device.empty());
            CHECK(v.colocated == std::vector<tn::node*>{w.node()});
            ++slots;
        }
    CHECK(slots == 1);
}

TEST_CASE("SEMANTICS 40: a tower's gradients are where the tower is") {
    const tn::graph g;
    const tn::graph_scope in(g);
    const auto w = tn::variable<float, tn::shape<4>>("w", tn::ones());
    for (const int i : {0, 1}) {
        const tn::device_name gpu = "/gpu:" + std::to_string(i);
        tn::on(gpu, [&] {
            const std::int64_t before = g.size();
            const auto loss = tn::sum(w * w * w);
            const auto gradients = tn::gradient_descent(0.1f).compute_gradients(loss);
            CHECK(gradients.size() == 1);
            CHECK(g.size() > before);
            for (std::int64_t n = before; n < g.size(); ++n) CHECK(g.at(n)->device == gpu);
        });
    }
}
