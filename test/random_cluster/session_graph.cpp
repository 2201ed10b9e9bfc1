#include "random_cluster/session_graph.hpp"

#include <string>

namespace random_cluster {

session_graph::session_graph(const world& w, ledger& books) : world_(w), books_(books) {
    const tn::graph_scope scope(graph);
    for (int v = 0; v < books_.variables(); ++v) {
        const tn::device_scope there("/job:ps/task:" + std::to_string(books_.task_of(v)));
        const tn::container_scope in(books_.container_of(v));
        variables_.push_back(tn::variable<whole, counts>("v" + std::to_string(v), tn::zeros()));
        fed_.push_back(tn::placeholder<whole, counts>("fed" + std::to_string(v)));
        index_.push_back(tn::placeholder<whole, one>("index" + std::to_string(v)));
    }
    const tn::device_scope there("/job:ps/task:0");
    tokens_.emplace(16, tn::queue_options{.shared_name = "tokens", .name = "tokens"});
    token_ = tn::placeholder<whole, tn::shape<>>("token");
    const tn::container_scope in("leads");
    const tn::any_tensor lease = tn::add<tn::lease_op>({"chief"}, {});
    candidate_ = {tn::untyped::placeholder(tn::element_type::string, {}),
                  tn::untyped::placeholder(tn::element_type::float64, {}),
                  tn::untyped::placeholder(tn::element_type::int64, {})};
    const tn::any_tensor claimed =
        tn::add<tn::claim_lease_op>({}, {lease, candidate_[0], candidate_[1], candidate_[2]});
    for (int i = 0; i < 3; ++i) standing_.push_back(tn::any_tensor(tn::node_output{claimed.node(), i}));
    const tn::device_scope last("/job:ps/task:" + std::to_string(books_.task_of(books_.variables() - 1)));
    never_ = std::get<0>(std::tuple(tn::fifo_queue<tn::tensor<whole, tn::shape<>>>(4, {.name = "empty"}).dequeue()));
}

tn::any_tensor session_graph::node(way how, int variable, int with) {
    tn::any_tensor& made = nodes_[{how, variable, with}];
    if (made.node()) return made;
    const tn::graph_scope scope(graph);
    const auto& v = variables_[static_cast<std::size_t>(variable)];
    const auto& x = fed_[static_cast<std::size_t>(variable)];
    const auto& i = index_[static_cast<std::size_t>(variable)];
    const auto on_worker = [&](int worker) { return tn::device_scope("/job:worker/task:" + std::to_string(worker)); };
    switch (how) {
    case way::read: return made = v;
    case way::assign: return made = v.assign(x);
    case way::add: return made = v.assign_add(x);
    case way::add_by_worker: {
        std::optional<tn::tensor<whole, counts>> moved;
        {
            const auto there = on_worker(with);
            moved = tn::tensor<whole, counts>(-x);
        }
        return made = v.assign_sub(*moved);
    }
    case way::add_by_other: {
        std::optional<tn::tensor<whole, counts>> moved;
        {
            const auto there = on_worker(variable % world_.workers());
            const auto& other = variables_[static_cast<std::size_t>(with)];
            moved = tn::tensor<whole, counts>(x + (other - x) - other + x);
        }
        return made = v.assign_add(*moved);
    }
    case way::scatter: return made = v.scatter_add(i, whole{1});
    case way::add_of_bad: {
        std::optional<tn::tensor<whole, counts>> moved;
        {
            const auto there = on_worker(with);
            const auto table = tn::constant(tn::array<whole, tn::shape<3>>{1, 2, 3});
            const auto row = tn::gather<0>(table, i);
            moved = tn::tensor<whole, counts>(x + row);
        }
        return made = v.assign_add(*moved);
    }
    case way::count: break;
    }
    return {};
}

tn::operation session_graph::put() {
    if (!put_.node()) {
        const tn::graph_scope scope(graph);
        put_ = tokens_->enqueue(*token_);
    }
    return put_;
}

tn::any_tensor session_graph::taken() {
    if (!taken_.node()) {
        const tn::graph_scope scope(graph);
        taken_ = std::get<0>(std::tuple(tokens_->dequeue()));
    }
    return taken_;
}

void session_graph::swell(std::size_t nodes) {
    const tn::graph_scope scope(graph);
    for (std::size_t n = 0; n < nodes; ++n) (void)tn::constant(static_cast<whole>(n));
}

} // namespace random_cluster
