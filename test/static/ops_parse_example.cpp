// The types of parsed features.

#include <string>
#include <tuple>
#include <type_traits>

#include <tenon/ops/input/parse_example.hpp>

using namespace tenon;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;
inline constexpr struct step_count : dim<"steps"> {} steps;

inline const tensor<std::string, shape<batch>> many;
inline const tensor<std::string, shape<32>> number;
inline const tensor<std::string, shape<>> single;

template <class X, class Y> inline constexpr bool is = std::is_same_v<X, Y>;

using image = fixed_feature<float, shape<28, 28>>;
using label = fixed_feature<std::int64_t>;
using words = padded_feature<std::string>;
using points = padded_feature<float, shape<16, 2>>;
using frames = sequence_feature<float, shape<steps, 3>>;
using length = decltype(length_of(frames("x")));

static_assert(
    is<decltype(parse_example(many, image("x"), label("x", 1), words("x"), points("x"), length_of(words("x")))),
       std::tuple<tensor<float, shape<batch, 28, 28>>, tensor<std::int64_t, shape<batch>>,
                  tensor<std::string, shape<batch, dyn>>, tensor<float, shape<batch, 16, 2>>,
                  tensor<std::int64_t, shape<batch>>>>);
static_assert(is<decltype(parse_example(number, image("x"))), std::tuple<tensor<float, shape<32, 28, 28>>>>);
static_assert(
    is<decltype(parse_single_example(single, image("x"), label("x"), words("x"))),
       std::tuple<tensor<float, shape<28, 28>>, tensor<std::int64_t, shape<>>, tensor<std::string, shape<dyn>>>>);
static_assert(
    is<decltype(parse_sequence_example(many, frames("x").allow_missing(), length_of(frames("x")), label("x"))),
       std::tuple<tensor<float, shape<batch, steps, 3>>, tensor<std::int64_t, shape<batch>>,
                  tensor<std::int64_t, shape<batch>>>>);
static_assert(is<decltype(parse_single_sequence_example(single, frames("x"), length_of(frames("x")))),
                 std::tuple<tensor<float, shape<steps, 3>>, tensor<std::int64_t, shape<>>>>);
static_assert(is<decltype(parse_example(ill_shaped{}, image("x"), label("x"))), std::tuple<ill_shaped, ill_shaped>>);

static_assert(FeatureSpec<image> && FeatureSpec<words> && FeatureSpec<frames> && FeatureSpec<length>);
static_assert(!FeatureSpec<float> && !FeatureSpec<std::string>);

} // namespace
