// The types of what readers give, producers make and batches hold.

#include <string>
#include <tuple>
#include <type_traits>

#include <tenon/ops/input/reader.hpp>
#include <tenon/train/input/batch.hpp>
#include <tenon/train/input/producers.hpp>

using namespace tenon;

namespace {

inline constexpr struct some_size : dim<"some"> {} some;
template <class X, class Y> inline constexpr bool is = std::is_same_v<X, Y>;

using names = fifo_queue<std::string>;
using text = tensor<std::string, shape<>>;
using image = tensor<float, shape<60000, 28, dyn>>;
using label = tensor<std::int32_t, shape<60000>>;

static_assert(is<decltype(std::declval<const reader&>().read(std::declval<const names&>())), std::tuple<text, text>>);
static_assert(is<decltype(std::declval<const reader&>().read_up_to(std::declval<const names&>(), 5)),
                 std::tuple<tensor<std::string, shape<dyn>>, tensor<std::string, shape<dyn>>>>);
static_assert(is<decltype(std::declval<const reader&>().read_up_to<some>(std::declval<const names&>(), 5)),
                 std::tuple<tensor<std::string, shape<some>>, tensor<std::string, shape<some>>>>);
static_assert(is<decltype(std::declval<const reader&>().num_records_produced()), tensor<std::int64_t, shape<>>>);

static_assert(is<decltype(input_producer(std::declval<image>())), queue<component<float, shape<28, dyn>>>>);
static_assert(is<decltype(range_input_producer(5)), queue<std::int64_t>>);
static_assert(is<decltype(slice_input_producer(std::declval<std::tuple<image, label>>())),
                 std::tuple<tensor<float, shape<28, dyn>>, tensor<std::int32_t, shape<>>>>);

using sample = std::tuple<tensor<float, shape<784>>, tensor<std::int32_t, shape<>>>;
static_assert(is<decltype(input::batch<32>(std::declval<sample>())),
                 std::tuple<tensor<float, shape<32, 784>>, tensor<std::int32_t, shape<32>>>>);
static_assert(is<decltype(input::batch(std::declval<text>(), 32)), tensor<std::string, shape<dyn>>>);
static_assert(is<decltype(input::batch<some>(std::declval<text>(), 32)), tensor<std::string, shape<some>>>);
static_assert(is<decltype(input::batch<4, enqueue_as::many>(std::declval<std::tuple<image, label>>())),
                 std::tuple<tensor<float, shape<4, 28, dyn>>, tensor<std::int32_t, shape<4>>>>);
static_assert(is<decltype(input::shuffle_batch_join<some>(std::declval<std::vector<sample>>(), 32, 100, 50)),
                 std::tuple<tensor<float, shape<some, 784>>, tensor<std::int32_t, shape<some>>>>);

} // namespace
