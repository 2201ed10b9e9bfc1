#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <tenon/ops/queue/queue.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/train/session/queue_runner.hpp>

/// Queues that are filled from what a program knows already, epoch after epoch: file names, numbers, tensors in memory.
///
///     auto names = tn::string_input_producer({"a.csv", "b.csv"}, {.num_epochs = 10, .seed = 7}); // queue<std::string>
///     auto [key, line] = lines.read(names);
///     auto [image, label] = tn::slice_input_producer(std::tuple{images, labels});   // of [60000, 784] and [60000]
///     auto rows = tn::range_input_producer(60000, {.shuffle = false});              // queue<std::int64_t>
///     tn::start_queue_runners(sess, coord);
///
/// Each adds its queue's runner, of one thread, to the graph, where start_queue_runners finds it. After num_epochs the runner
/// closes the queue, so that who takes elements comes to an end_of_data_error. Shuffled, the order is another in each epoch,
/// and the same for the same seeds (SEMANTICS 21). How many epochs have been is counted in the session: it is no variable.

namespace tenon {

struct producer_options {
    std::int64_t num_epochs = 0; ///< 0: without an end
    bool shuffle = true;         ///< each epoch anew
    std::uint64_t seed = 0;      ///< as of random ops (SEMANTICS 21): 0 is "not set"
    std::int64_t capacity = 32;  ///< of the queue, in elements
    std::string shared_name = {};
    /// Of the queue's node. Empty: what it is. Names of what fills it begin with it.
    std::string name = {};
};

namespace untyped {

/// A queue of the elements of a tensor along dimension 0. invalid_argument_error for one without dimensions, or of size 0.
queue input_producer(const any_tensor& x, const producer_options& o = {});
/// The same of file names, or other texts: a tensor string [n], or a list.
queue string_input_producer(const any_tensor& texts, const producer_options& o = {});
queue string_input_producer(const std::vector<std::string>& texts, const producer_options& o = {});
/// A queue of the numbers 0 .. limit-1, int64.
queue range_input_producer(std::int64_t limit, const producer_options& o = {});
/// A slice of each of the tensors, along dimension 0, of which all have the same size: a queue of numbers, and what they name
/// in the tensors, which stay where they are.
std::vector<any_tensor> slice_input_producer(const std::vector<any_tensor>& tensors, const producer_options& o = {},
                                             called_from here = caller());

} // namespace untyped

namespace detail {

template <class S> struct row_shape {
    static constexpr bool has_rows = false;
    using type = shape<>; // so that there is one error
};
template <auto N, auto... D> struct row_shape<shape<N, D...>> {
    static constexpr bool has_rows = true;
    using type = shape<D...>;
};
template <class X> using produced_rows = row_shape<typename operand_of_t<X>::shape>;
template <class X> using row_component = component<typename operand_of_t<X>::element, typename produced_rows<X>::type>;
template <class X> using row_tensor = tensor<typename operand_of_t<X>::element, typename produced_rows<X>::type>;

template <class X> inline constexpr bool is_list_of_texts = false;
template <Typed X>
inline constexpr bool
    is_list_of_texts<X> = std::is_same_v<typename X::element_type, std::string>&& X::shape_type::extents.rank() == 1;

template <class... X> constexpr void require_rows() {
    static_assert((Operand<X> && ...), "tenon: what is produced from is a tensor, or a std::tuple of tensors");
    if constexpr ((Operand<X> && ...))
        static_assert((produced_rows<X>::has_rows && ...),
                      "tenon: elements are taken along dimension 0, and a scalar has none");
}
// What the rule of the indices says of sizes that must be the same.
struct equally_long_rule {
    static constexpr const char* name = "slice_input_producer";
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        return equal_sizes(in[0].extents[0], in[1].extents[0]).what;
    }
};

} // namespace detail

/// Of a tensor [n, ...].
template <detail::Typed X> queue<detail::row_component<X>> input_producer(const X& x, const producer_options& o = {}) {
    detail::require_rows<X>();
    return queue<detail::row_component<X>>(untyped::input_producer(as_tensor(x), o));
}
/// Of texts: a tensor of std::string [n], or a list: {"a.csv", "b.csv"}.
template <class X = std::vector<std::string>>
auto string_input_producer(const X& texts, const producer_options& o = {}) {
    using produced = queue<std::string>;
    if constexpr (std::is_same_v<X, ill_shaped>) return ill_shaped{};
    else if constexpr (std::is_same_v<X, std::vector<std::string>>)
        return produced(untyped::string_input_producer(texts, o));
    else {
        static_assert(detail::is_list_of_texts<X>,
                      "tenon::string_input_producer: texts are a list, string_input_producer({\"a.csv\"}), or a tensor "
                      "of std::string with one dimension");
        if constexpr (!detail::is_list_of_texts<X>) return ill_shaped{};
        else return produced(untyped::string_input_producer(as_tensor(texts), o));
    }
}
inline queue<std::int64_t> range_input_producer(std::int64_t limit, const producer_options& o = {}) {
    return queue<std::int64_t>(untyped::range_input_producer(limit, o));
}
/// Of tensors [n, ...] each: a slice of each, which belong together.
template <class... X>
    requires(!detail::any_ill_shaped<X...>)
std::tuple<detail::row_tensor<X>...> slice_input_producer(const std::tuple<X...>& tensors,
                                                          const producer_options& o = {}) {
    static_assert(sizeof...(X) > 0, "tenon::slice_input_producer: give one tensor at least");
    detail::require_rows<X...>();
    using first = detail::operand_of_t<std::tuple_element_t<0, std::tuple<X...>>>;
    static_assert((detail::verdict_of<detail::equally_long_rule, detail::without_attributes, first,
                                      detail::operand_of_t<X>>::agree &&
                   ...),
                  "tenon: shapes do not agree");
    const std::vector<any_tensor> slices = std::apply(
        [&](const X&... x) { return untyped::slice_input_producer({any_tensor(as_tensor(x))...}, o); }, tensors);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple<detail::row_tensor<X>...>(detail::row_tensor<X>::unchecked(slices[I])...);
    }
    (std::index_sequence_for<X...>{});
}
/// Of one.
template <detail::Typed X> detail::row_tensor<X> slice_input_producer(const X& x, const producer_options& o = {}) {
    detail::require_rows<X>();
    return detail::row_tensor<X>::unchecked(untyped::slice_input_producer({any_tensor(as_tensor(x))}, o)[0]);
}

// What a mistaken call returned stays that.
template <class X>
    requires std::is_same_v<X, ill_shaped> ill_shaped input_producer(const X&, const producer_options& = {}) {
        return {};
    }
template <class X>
    requires std::is_same_v<X, ill_shaped> ill_shaped slice_input_producer(const X&, const producer_options& = {}) {
        return {};
    }
template <class... X>
    requires detail::any_ill_shaped<X...>
auto slice_input_producer(const std::tuple<X...>&, const producer_options& = {}) {
    return std::tuple(((void)sizeof(X), ill_shaped{})...);
}

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/input/producers.ipp>
#endif
