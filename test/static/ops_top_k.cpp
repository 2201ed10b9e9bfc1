// The types of the largest elements and their places, and of rows from a cache.

#include <tuple>
#include <type_traits>
#include <utility>

#include <tenon/ops/reduce/top_k.hpp>
#include <tenon/ops/state/row_cache.hpp>

using namespace tenon;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;

inline const tensor<float, shape<batch, 28>> x;
inline const tensor<half, shape<3, dyn>> y;
inline const tensor<std::int64_t, shape<batch>> ids;

template <class X, class Y> inline constexpr bool is = std::is_same_v<X, Y>;

static_assert(
    is<decltype(top_k<5>(x)), std::tuple<tensor<float, shape<batch, 5>>, tensor<std::int32_t, shape<batch, 5>>>>);
static_assert(is<decltype(top_k<1>(y)), std::tuple<tensor<half, shape<3, 1>>, tensor<std::int32_t, shape<3, 1>>>>);
static_assert(is<decltype(std::declval<const row_cache<float, shape<1000, 16>>&>().gather(ids)),
                 tensor<float, shape<batch, 16>>>);

} // namespace
