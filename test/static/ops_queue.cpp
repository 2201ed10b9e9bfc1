// The types of what goes into queues and comes out.

#include <string>
#include <tuple>
#include <type_traits>

#include <tenon/ops/queue/queue.hpp>

using namespace tenon;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;
inline constexpr struct time_steps : dim<"time"> {} steps;

using one = queue<component<float, shape<3, 2>>>;
using names = fifo_queue<std::string>;
using samples = random_shuffle_queue<std::int32_t, component<float, shape<steps, dyn, 2>>, tensor<half, shape<0>>>;

template <class X, class Y> inline constexpr bool is = std::is_same_v<X, Y>;
template <class Q> using dequeued = decltype(std::declval<const Q&>().dequeue());
template <class Q, auto N> using many = decltype(std::declval<const Q&>().template dequeue_many<N>());
template <class Q, auto Size> using many_of = decltype(std::declval<const Q&>().template dequeue_many<Size>(5));
template <class Q, auto Size> using up_to = decltype(std::declval<const Q&>().template dequeue_up_to<Size>(5));

// One component is a tensor, several are a tuple; sizes are those of the component.
static_assert(is<dequeued<one>, tensor<float, shape<3, 2>>>);
static_assert(is<dequeued<names>, tensor<std::string, shape<>>>);
static_assert(
    is<dequeued<samples>,
       std::tuple<tensor<std::int32_t, shape<>>, tensor<float, shape<steps, dyn, 2>>, tensor<half, shape<0>>>>);

// Many are stacked along a dimension 0, whose size is a number, a name, or known in the step.
static_assert(is<many<one, 32>, tensor<float, shape<32, 3, 2>>>);
static_assert(is<many<one, 32L>, tensor<float, shape<32, 3, 2>>>);
static_assert(is<many<one, 0>, tensor<float, shape<0, 3, 2>>>);
static_assert(is<many_of<one, dyn>, tensor<float, shape<dyn, 3, 2>>>);
static_assert(is<many_of<one, batch>, tensor<float, shape<batch, 3, 2>>>);
static_assert(is<up_to<names, dyn>, tensor<std::string, shape<dyn>>>);
static_assert(is<up_to<names, batch>, tensor<std::string, shape<batch>>>);
static_assert(is<decltype(std::declval<const names&>().dequeue_up_to(5)), tensor<std::string, shape<dyn>>>);
static_assert(is<decltype(std::declval<const names&>().dequeue_some(1, 5)), tensor<std::string, shape<dyn>>>);
static_assert(is<decltype(std::declval<const names&>().dequeue_some<batch>(1, 5)), tensor<std::string, shape<batch>>>);
static_assert(
    is<up_to<samples, batch>, std::tuple<tensor<std::int32_t, shape<batch>>, tensor<float, shape<batch, steps, dyn, 2>>,
                                         tensor<half, shape<batch, 0>>>>);

// A priority queue has a component more.
static_assert(
    is<dequeued<priority_queue<std::string>>, std::tuple<tensor<std::int64_t, shape<>>, tensor<std::string, shape<>>>>);
static_assert(is<dequeued<priority_queue<>>, tensor<std::int64_t, shape<>>>);
static_assert(is<dequeued<padding_fifo_queue<tensor<float, shape<dyn>>>>, tensor<float, shape<dyn>>>);

static_assert(is<decltype(std::declval<const one&>().size()), tensor<std::int64_t, shape<>>>);
static_assert(is<decltype(std::declval<const one&>().is_closed()), tensor<bool, shape<>>>);
static_assert(is<decltype(std::declval<const one&>().close()), operation>);

// What may be enqueued as a component: what is known more exactly, or less, which the step looks at.
constexpr bool fits(const extents& component, const extents& value, bool many = false) {
    return detail::misfit_of_component({element_type::float32, component}, {element_type::float32, value}, many) ==
           fault::none;
}
constexpr extent b = extent::named("b"), t = extent::named("t");
static_assert(fits({3, 2}, {3, 2}) && fits({3, dynamic_extent}, {dynamic_extent, 2}) && fits({b, 2}, {b, 2}));
static_assert(fits({dynamic_extent}, {b}) && fits({dynamic_extent}, {0}) && fits({b}, {dynamic_extent}));
static_assert(!fits({3, 2}, {2, 3}) && !fits({3}, {}) && !fits({b}, {3}) && !fits({b}, {t}) && !fits({3}, {b}));
static_assert(fits({3}, {5, 3}, true) && fits({}, {b}, true) && !fits({3}, {3}, true) && !fits({}, {}, true));
static_assert(!fits({1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1}, true));

// What a mistaken call returned is taken in silence.
static_assert(is<decltype(std::declval<const names&>().enqueue(ill_shaped{})), operation>);

} // namespace
