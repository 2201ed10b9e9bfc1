#pragma once

#include <optional>
#include <string>

#include <tenon/graph/scope.hpp>

namespace tenon::detail {

/// A prefix for what is made for replica i; none for the first, whose variables have the names they are given.
struct replica_names {
    explicit replica_names(int i) {
        if (i > 0) scope.emplace("replica_" + std::to_string(i));
    }
    std::optional<name_scope> scope;
};

} // namespace tenon::detail
