#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <tenon/core/device_name.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/train/session/queue_runner.hpp>

/// Elements in the memory of a device before the step that uses them begins.
///
///     const auto it = tn::make_one_shot_iterator(train);          // of batches of static sizes
///     const auto [x, y] = tn::prefetch_to_device(it.get_next(), "/gpu:0");
///     ...
///     tn::start_queue_runners(sess, coord);                       // nothing else has to be run before
///     while (!coord.should_stop()) coord.stop_on_exception([&] { sess.run(step); });   // computed of x and y
///
/// A queue runner's thread, which start_queue_runners finds, takes elements and copies each into one of `slots` places on the
/// device, while steps run that use others; a step takes the next full place, of which it reads a copy, and gives the place back.
/// Elements come in order, each to one step, once; one that needs one tensor of a tuple takes them all. At the end of the data, after
/// the last element, a step is an end_of_data_error. A step that waits in vain (SEMANTICS 17) takes nothing. When a stop is asked for,
/// full places can still be taken; of elements that were on the way there, one at most, nobody hears again.
///
/// The places are variables [slots, ...] that are neither trained nor saved, and no initialiser of the user's: the runner gives them
/// a value. What a GPU variable cannot be (SEMANTICS 5: int32, bool, ...; labels as int64 can) stays in the host's memory and
/// crosses in the step. No gradient flows through.
///
/// A session fills and empties its places; sessions of one task that do so at the same time need a container each
/// (container_scope), or they share the variables. A step that another op fails after it took its place, and before it gave it back, which
/// is a short time, keeps it: after `slots` of such the others wait.

namespace tenon {

struct device_prefetch_options {
    std::int64_t slots = 2; ///< elements in the memory of the device; 1 or more. Two let a copy and a step overlap
    std::string name = {};  ///< before the names of its nodes. Empty: "prefetch_to_device"
};

namespace untyped {

/// The next element of a tuple of tensors, from the memory of the device: tensors of the same types. invalid_argument_error where
/// sizes are not numbers, for texts, and for what has as many dimensions as there can be.
std::vector<any_tensor> prefetch_to_device(const std::vector<any_tensor>& element, const device_name& device,
                                           const device_prefetch_options& o = {}, called_from here = caller());

} // namespace untyped

namespace detail {

template <class X> constexpr bool prefetched_is_operand() {
    static_assert(Operand<X>, "tenon::prefetch_to_device: an element is a tensor, or a std::tuple of tensors");
    return Operand<X>;
}
template <class X> constexpr bool can_be_prefetched() {
    if constexpr (!prefetched_is_operand<X>()) return false;
    else {
        using of = operand_of_t<X>;
        constexpr bool is_static = of::shape::extents.is_static(),
                       is_text = std::is_same_v<typename of::element, std::string>;
        static_assert(is_static,
                      "tenon::prefetch_to_device: the places on the device have sizes that are numbers; "
                      "make batches of one size (batch<32>, drop_remainder) or say it: as<T, shape<...>>(x)");
        static_assert(!is_text,
                      "tenon::prefetch_to_device: texts do not lie in the memory of a device; decode them before");
        static_assert(
            of::shape::rank < max_rank,
            "tenon::prefetch_to_device: the element has as many dimensions as there can be, and its places one more");
        return is_static && !is_text && of::shape::rank < max_rank;
    }
}
template <class X> using prefetched_t = tensor<typename operand_of_t<X>::element, typename operand_of_t<X>::shape>;

} // namespace detail

/// The next element, a tensor or a std::tuple of tensors, from the memory of the device.
template <class... X>
auto prefetch_to_device(const std::tuple<X...>& element, const device_name& device,
                        const device_prefetch_options& o = {}) {
    static_assert(sizeof...(X) > 0, "tenon::prefetch_to_device: give one tensor at least");
    if constexpr (!(detail::can_be_prefetched<X>() && ...)) return ill_shaped{};
    else {
        const std::vector<any_tensor> parts = untyped::prefetch_to_device(
            std::apply([](const X&... x) { return std::vector<any_tensor>{any_tensor(detail::as_tensor(x))...}; },
                       element),
            device, o);
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return std::tuple<detail::prefetched_t<X>...>(detail::prefetched_t<X>::unchecked(parts[I])...);
        }
        (std::index_sequence_for<X...>{});
    }
}
template <class X>
auto prefetch_to_device(const X& element, const device_name& device, const device_prefetch_options& o = {}) {
    if constexpr (!detail::can_be_prefetched<X>()) return ill_shaped{};
    else
        return detail::prefetched_t<X>::unchecked(
            untyped::prefetch_to_device({any_tensor(detail::as_tensor(element))}, device, o)[0]);
}

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/train/input/device_prefetch.ipp>
#endif
