// The types of elements that their values choose.

#include <string>
#include <tuple>
#include <type_traits>

#include <tenon/ops/shape/selection.hpp>

using namespace tenon;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;
inline constexpr struct chosen_rows : dim<"chosen"> {} chosen;

inline const tensor<float, shape<batch, 28, 3>> x;
inline const tensor<bool, shape<batch>> rows;
inline const tensor<bool, shape<dyn, 28>> places;
inline const tensor<std::string, shape<7>> words;

template <class X, class Y> inline constexpr bool is = std::is_same_v<X, Y>;

static_assert(is<decltype(boolean_mask(x, rows)), tensor<float, shape<dyn, 28, 3>>>);
static_assert(is<decltype(boolean_mask<chosen>(x, rows)), tensor<float, shape<chosen, 28, 3>>>);
static_assert(is<decltype(boolean_mask<5>(x, rows)), tensor<float, shape<5, 28, 3>>>);
static_assert(is<decltype(boolean_mask(x, places)), tensor<float, shape<dyn, 3>>>);
static_assert(is<decltype(boolean_mask<batch>(rows, rows)), tensor<bool, shape<batch>>>);

static_assert(is<decltype(nonzero(x)), tensor<std::int64_t, shape<dyn, 3>>>);
static_assert(is<decltype(nonzero<chosen>(rows)), tensor<std::int64_t, shape<chosen, 1>>>);

static_assert(is<decltype(arange_to(tensor<std::int32_t, shape<>>())), tensor<std::int64_t, shape<dyn>>>);
static_assert(is<decltype(arange_to<chosen>(tensor<std::int64_t, shape<>>())), tensor<std::int64_t, shape<chosen>>>);

static_assert(is<decltype(unique(words)), std::tuple<tensor<std::string, shape<dyn>>, tensor<std::int32_t, shape<7>>>>);
static_assert(
    is<decltype(unique<std::int64_t>(rows)), std::tuple<tensor<bool, shape<dyn>>, tensor<std::int64_t, shape<batch>>>>);
static_assert(is<decltype(unique<chosen, std::int64_t>(words)),
                 std::tuple<tensor<std::string, shape<chosen>>, tensor<std::int64_t, shape<7>>>>);

static_assert(is<decltype(boolean_mask(ill_shaped{}, rows)), ill_shaped>);
static_assert(is<decltype(nonzero(ill_shaped{})), ill_shaped>);
static_assert(is<decltype(arange_to(ill_shaped{})), ill_shaped>);
static_assert(is<decltype(unique(ill_shaped{})), std::tuple<ill_shaped, ill_shaped>>);

} // namespace
