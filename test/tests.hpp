#pragma once

/// What most tests begin with: doctest, the library, and what tests share.

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/tenon.hpp>

#include "array_of.hpp"
#include "each_isa.hpp"
#include "initialized_session.hpp"
#include "messages.hpp"
#include "own_graph.hpp"
#include "temporary_folder.hpp"

namespace tn = tenon;

struct in_graph_and_folder : in_graph, in_folder {};
/// With a session of the graph, to which it may be added.
struct in_session : in_graph {
    tn::session s;
};
