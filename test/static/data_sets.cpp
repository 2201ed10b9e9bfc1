// The types of data sets, and of what iterators give.

#include <string>
#include <tuple>
#include <type_traits>

#include <tenon/data/csv.hpp>
#include <tenon/data/from.hpp>
#include <tenon/data/iterator.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>

using namespace tenon;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;
inline constexpr struct time_steps : dim<"time"> {} steps;

template <class X, class Y> inline constexpr bool is = std::is_same_v<X, Y>;

struct sample {
    array<float, shape<2>> image;
    std::int32_t label = 0;
    static constexpr auto fields() { return record_fields("image", &sample::image, "label", &sample::label); }
};
struct plain {
    float x = 0;
};
static_assert(Record<sample> && !Record<plain> && !Record<float>);

using ints = data_set<std::int64_t>;
using pairs = data_set<component<float, shape<steps, dyn>>, std::string>;
using samples = data_set<sample>;

// On the host a scalar is its element, several components are a tuple, a struct stays one.
static_assert(is<ints::value_type, std::int64_t>);
static_assert(is<pairs::value_type, std::tuple<array<float, shape<steps, dyn>>, std::string>>);
static_assert(is<samples::value_type, sample>);
static_assert(is<decltype(*std::declval<const samples&>().begin()), sample>);

// Steps that choose and order keep the type.
template <class S>
using chosen = decltype(std::declval<const S&>()
                            .skip(1)
                            .take(2)
                            .shard(2, 0)
                            .repeat()
                            .shuffle(5)
                            .concatenate(std::declval<const S&>())
                            .cache()
                            .prefetch());
static_assert(is<chosen<ints>, ints> && is<chosen<pairs>, pairs> && is<chosen<samples>, samples>);
static_assert(is<decltype(std::declval<const pairs&>().enumerate()),
                 data_set<std::int64_t, component<float, shape<steps, dyn>>, std::string>>);

// A batch is stacked along a dimension 0: of a number, a name, or whatever there is; what is padded has lost its names.
template <class S, auto N> using batches = decltype(std::declval<const S&>().template batch<N>());
template <class S, auto N> using batches_of = decltype(std::declval<const S&>().template batch<N>(8));
static_assert(is<batches<ints, 4>, data_set<component<std::int64_t, shape<4>>>>);
static_assert(is<batches_of<ints, dyn>, data_set<component<std::int64_t, shape<dyn>>>>);
static_assert(is<batches_of<pairs, batch>,
                 data_set<component<float, shape<batch, steps, dyn>>, component<std::string, shape<batch>>>>);
static_assert(
    is<batches_of<samples, batch>, data_set<component<float, shape<batch, 2>>, component<std::int32_t, shape<batch>>>>);
static_assert(is<decltype(std::declval<const pairs&>().padded_batch<batch>(8)),
                 data_set<component<float, shape<batch, dyn, dyn>>, component<std::string, shape<batch>>>>);
static_assert(is<decltype(std::declval<const ints&>().window(3)), data_set<component<std::int64_t, shape<dyn>>>>);
static_assert(is<decltype(std::declval<const ints&>().window<3>()), data_set<component<std::int64_t, shape<3>>>>);
static_assert(is<decltype(std::declval<const batches_of<pairs, batch>&>().unbatch()), pairs>);

// Functions of a graph take tensors, those of the host take components; either may give several.
constexpr auto doubled = [](auto x) { return x + x; };
constexpr auto both = [](auto x) { return std::tuple(x, cast<float>(x)); };
constexpr auto to_text = [](std::int64_t x) { return std::to_string(x); };
constexpr auto to_sample = [](std::int64_t) { return sample{}; };
template <class F> using mapped = decltype(std::declval<const ints&>().map(std::declval<F>()));
template <class F> using mapped_host = decltype(std::declval<const ints&>().map_host(std::declval<F>()));
static_assert(is<mapped<decltype(doubled)>, ints>);
static_assert(is<mapped<decltype(both)>, data_set<std::int64_t, float>>);
static_assert(is<mapped_host<decltype(to_text)>, data_set<std::string>>);
static_assert(is<mapped_host<decltype(to_sample)>, samples>);

// Sources.
static_assert(is<decltype(data::range(5)), ints>);
static_assert(is<decltype(data::tensors(1.0f, std::string())), data_set<float, std::string>>);
static_assert(
    is<decltype(data::slices(std::declval<array<float, shape<dyn, 3>>>(), std::declval<array<half, shape<7>>>())),
       data_set<component<float, shape<3>>, half>>);
static_assert(is<decltype(data::random<float, shape<2, 2>>()), data_set<component<float, shape<2, 2>>>>);
static_assert(is<decltype(data::csv<std::int32_t, component<float, shape<784>>>("a.csv")),
                 data_set<std::int32_t, component<float, shape<784>>>>);
static_assert(is<decltype(data::csv<sample>("a.csv")), samples>);
static_assert(is<decltype(data::zip(std::declval<ints>(), std::declval<pairs>())),
                 data_set<std::int64_t, component<float, shape<steps, dyn>>, std::string>>);

// In a graph an element is a tensor, several components a tuple of them.
template <class... C> using next = decltype(std::declval<const tenon::iterator<C...>&>().get_next());
static_assert(is<next<std::int64_t>, tensor<std::int64_t, shape<>>>);
static_assert(is<next<component<float, shape<steps, dyn>>, std::string>,
                 std::tuple<tensor<float, shape<steps, dyn>>, tensor<std::string, shape<>>>>);
static_assert(is<next<sample>, std::tuple<tensor<float, shape<2>>, tensor<std::int32_t, shape<>>>>);
static_assert(is<decltype(make_one_shot_iterator(std::declval<const samples&>())), tenon::iterator<sample>>);
static_assert(
    is<decltype(tensor_of<&sample::label>(std::declval<const next<sample>&>())), const tensor<std::int32_t, shape<>>&>);
static_assert(
    is<decltype(std::declval<const feedable_iterator<std::int64_t>&>().get_next()), tensor<std::int64_t, shape<>>>);

} // namespace
