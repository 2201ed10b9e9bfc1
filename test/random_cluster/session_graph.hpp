#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include <random_cluster/ledger.hpp>
#include <random_cluster/world.hpp>
#include <tenon/tenon.hpp>

/// The graph of a client's session.

namespace random_cluster {

using whole = std::int64_t;
using counts = tn::canonical_t<tn::shape<ledger::elements>>;
using one = tn::canonical_t<tn::shape<1>>;

/// The ways in which a step changes a variable, or looks at it.
enum class way { read, assign, add, add_by_worker, add_by_other, scatter, add_of_bad, count };

/// Nodes are made when a step first needs them.
class session_graph {
public:
    session_graph(const world& w, ledger& books);

    /// Who claims the lease of the chief: a name, for how long, and the last term that is known; and what comes of it.
    const std::vector<tn::any_tensor>& candidate() const { return candidate_; }
    const std::vector<tn::any_tensor>& standing() const { return standing_; }

    tn::any_tensor fed(int v) const { return fed_[static_cast<std::size_t>(v)]; }
    tn::any_tensor index(int v) const { return index_[static_cast<std::size_t>(v)]; }
    tn::any_tensor token() const { return *token_; }

    /// The variable after it; `with` is a worker, or another variable.
    tn::any_tensor node(way how, int variable, int with);
    tn::operation put();
    tn::any_tensor taken();
    /// What never comes: of a queue that nobody fills.
    tn::any_tensor never() const { return never_; }
    /// So many nodes more, which nobody needs.
    void swell(std::size_t nodes);

    tn::graph graph;

private:
    const world& world_;
    ledger& books_;
    std::vector<tn::variable_tensor<whole, counts>> variables_;
    std::vector<tn::tensor<whole, counts>> fed_;
    std::vector<tn::tensor<whole, one>> index_;
    std::optional<tn::fifo_queue<tn::tensor<whole, tn::shape<>>>> tokens_;
    std::optional<tn::tensor<whole, tn::shape<>>> token_;
    std::vector<tn::any_tensor> candidate_, standing_;
    std::map<std::tuple<way, int, int>, tn::any_tensor> nodes_;
    tn::operation put_;
    tn::any_tensor taken_, never_;
};

} // namespace random_cluster
