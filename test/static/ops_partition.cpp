// The types of variables in parts, and of what is read from them: those of variables in one piece.

#include <type_traits>

#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/partition.hpp>
#include <tenon/ops/state/state.hpp>

using namespace tenon;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;

template <class X, class Y> inline constexpr bool is = std::is_same_v<X, Y>;

using table = decltype(partitioned_variable<float, shape<1000, 64>, 3>("table", zeros()));
static_assert(is<table, variable_tensor<float, shape<1000, 64>>>);
static_assert(is<table, decltype(variable<float, shape<1000, 64>>("table", zeros(), {.partition = {.parts = 3}}))>);

inline const tensor<std::int32_t, shape<batch, 7>> ids;
static_assert(is<decltype(gather(std::declval<table>(), ids)), tensor<float, shape<batch, 7, 64>>>);
static_assert(is<decltype(gather<1>(std::declval<table>(), ids)), tensor<float, shape<1000, batch, 7>>>);
static_assert(is<decltype(std::declval<table>().scatter_add(ids, 1.0f)), tensor<float, shape<1000, 64>>>);

// Parts are as even as they divide.
constexpr detail::even_parts split{10, 3};
static_assert(split.size(0) == 4 && split.size(1) == 3 && split.size(2) == 3);
static_assert(split.begin(1) == 4 && split.begin(3) == 10);
static_assert(split.part_of(3) == 0 && split.part_of(4) == 1 && split.part_of(9) == 2);

} // namespace
