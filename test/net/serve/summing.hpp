#pragma once

#include <optional>

#include <tenon/net/serving.hpp>

#include "../../serve/gated.hpp"

namespace serve_test {

/// A model, "sums": sums of rows, when the gate lets a batch through.
struct summing {
    explicit summing(tn::model_server_options o = {}, bool is_gated = false) :
        scope(g), x(tn::placeholder<float, rows4>("x")) {
        o.name = "sums";
        if (is_gated) held.emplace();
        server.emplace(
            sess.emplace(g), tn::feeds(x),
            [&](auto v) {
                const auto s = tn::sum<1>(v);
                return held ? held->after(s).materialize() : (s + 0.0f).materialize();
            },
            o);
    }
    tn::graph g;
    tn::graph_scope scope;
    tn::tensor<float, rows4> x;
    std::optional<gate> held;
    std::optional<tn::session> sess;
    std::optional<
        tn::model_server<tn::feed_list<tn::tensor<float, rows4>>, tn::fetch_list<tn::tensor<float, tn::shape<batch>>>>>
        server;
};

} // namespace serve_test
