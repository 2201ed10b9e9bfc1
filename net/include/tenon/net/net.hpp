#pragma once

/// Clusters: what is not in tenon/tenon.hpp.

#include <tenon/net/cluster_source.hpp>
#include <tenon/net/join.hpp>
#include <tenon/net/server.hpp>
