#pragma once

#include "tests.hpp"

// A model whose variables lie on several tasks.

namespace saver_test {

using names = std::vector<std::string>;
using vector4 = tn::shape<4>;

// So many tasks of job ps, and variables v1 .. v5 dealt out to them.
struct model {
    explicit model(int ps) : tasks(make_tasks(ps)), scope(graph) {
        const auto dealt = tn::on(tn::replica_device_setter(ps));
        for (int i = 1; i <= 5; ++i)
            v.push_back(tn::variable<float, vector4>("v" + std::to_string(i),
                                                     tn::uniform(-1, 1, static_cast<std::uint64_t>(i))));
        step.push_back(tn::variable("count", std::int64_t{0}));
        initialize = tn::initialize_variables();
        sess = std::make_unique<tn::session>(tasks, graph);
    }
    static std::vector<tn::task> make_tasks(int ps) {
        std::vector<tn::task> all{tn::task({.job = "worker"})};
        for (int i = 0; i < ps; ++i) all.push_back(tn::task({.job = "ps", .index = i}));
        return all;
    }
    std::vector<tn::array<float, vector4>> values() {
        std::vector<tn::array<float, vector4>> all;
        for (const auto& x : v) all.push_back(sess->run(x));
        return all;
    }

    std::vector<tn::task> tasks;
    tn::graph graph;
    tn::graph_scope scope;
    std::vector<tn::variable_tensor<float, vector4>> v;
    std::vector<tn::variable_tensor<std::int64_t, tn::shape<>>> step;
    tn::operation initialize;
    std::unique_ptr<tn::session> sess;
};

} // namespace saver_test
