// The types of what records and texts hold.

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>

#include <tenon/ops/input/decode.hpp>
#include <tenon/ops/text/strings.hpp>

using namespace tenon;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;
inline constexpr struct word_count : dim<"words"> {} words;

inline const tensor<std::string, shape<>> record;
inline const tensor<std::string, shape<batch>> lines;
inline const tensor<std::string, shape<batch, 2>> pairs;

template <class X, class Y> inline constexpr bool is = std::is_same_v<X, Y>;
template <class S, class... T> using columns = std::tuple<tensor<T, S>...>;

static_assert(is<decltype(decode_csv(record, 5.f, 6., 7, true, "x")),
                 columns<shape<>, float, double, std::int32_t, bool, std::string>>);
static_assert(is<decltype(decode_csv(lines, required<std::int8_t>, std::string())),
                 columns<shape<batch>, std::int8_t, std::string>>);
static_assert(is<decltype(decode_csv<float, half, std::int64_t>(pairs, 5, 6.f, 7)),
                 columns<shape<batch, 2>, float, half, std::int64_t>>);
static_assert(is<decltype(decode_csv<component<float, shape<10>>, std::int32_t>(lines)),
                 std::tuple<tensor<float, shape<batch, 10>>, tensor<std::int32_t, shape<batch>>>>);
static_assert(is<decltype(decode_csv<float>(lines, csv_options())), columns<shape<batch>, float>>);

static_assert(is<decltype(decode_raw<std::uint8_t, shape<28, 28>>(lines)), tensor<std::uint8_t, shape<batch, 28, 28>>>);
static_assert(is<decltype(decode_raw<float>(record)), tensor<float, shape<>>>);
static_assert(is<decltype(decode_json(lines, member<float, shape<3>>("a", 0), member<bool>("b"))),
                 std::tuple<tensor<float, shape<batch, 3>>, tensor<bool, shape<batch>>>>);

static_assert(is<decltype(string_split(pairs, ",")), tensor<std::string, shape<batch, 2, dyn>>>);
static_assert(is<decltype(string_split<words>(record)), tensor<std::string, shape<words>>>);
static_assert(is<decltype(string_split<4>(lines)), tensor<std::string, shape<batch, 4>>>);
static_assert(is<decltype(string_join(" ", record, lines)), tensor<std::string, shape<batch>>>);
static_assert(is<decltype(string_equal(pairs, record)), tensor<bool, shape<batch, 2>>>);
static_assert(is<decltype(where(string_equal(lines, record), lines, record)), tensor<std::string, shape<batch>>>);
static_assert(is<decltype(where(string_equal(record, record), record, pairs)), tensor<std::string, shape<batch, 2>>>);
static_assert(is<decltype(stack<0>(record, record, record)), tensor<std::string, shape<3>>>);
static_assert(is<decltype(transpose(pairs)), tensor<std::string, shape<2, batch>>>);
static_assert(is<decltype(string_length(pairs)), tensor<std::int64_t, shape<batch, 2>>>);
static_assert(is<decltype(to_number<float>(lines)), tensor<float, shape<batch>>>);
static_assert(is<decltype(to_hash_bucket(record, 10)), tensor<std::int64_t, shape<>>>);
static_assert(
    is<decltype(substr(string_upper(string_strip(string_lower(lines))), 0, 1)), tensor<std::string, shape<batch>>>);
static_assert(is<decltype(regex_replace(lines, "a", "b")), tensor<std::string, shape<batch>>>);

} // namespace
