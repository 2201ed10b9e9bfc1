#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <tenon/core/array/any_array.hpp>

/// Classes that are not equally many: splits that keep their shares, and weights that make up for them.
///
///     const auto [train, test] = tn::data::stratified_split(labels, 0.8, 1);
///     const auto images_train = tn::data::rows_at(images, train), labels_train = tn::data::rows_at(labels, train);
///     const std::vector<double> weights = tn::data::class_weights(labels, 10);
///     // as many of each class, whatever there are: of any data set with random access
///     const auto balanced = set.select(tn::data::weighted_places(tn::data::balanced_weights(labels, 10), 60'000, 1));

namespace tenon::data {

/// Two lists of places that together are all of 0 .. n - 1, each sorted: of every class `share` of its members, rounded to the nearest number, are
/// in the first, at random by the seed. invalid_argument_error for a share outside [0, 1].
std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> stratified_split(std::span<const std::int32_t> labels,
                                                                                 double share, std::uint64_t seed = 0);

/// n / (classes * members) for each class: weights by which all classes count alike, and whose mean over all members is 1 where each class
/// has some. 0 for a class without members. invalid_argument_error, naming it, for a label outside 0 .. classes - 1.
std::vector<double> class_weights(std::span<const std::int32_t> labels, std::int32_t classes);

/// The same for each member: what weighted_places() and a weighted loss take.
std::vector<double> balanced_weights(std::span<const std::int32_t> labels, std::int32_t classes);

/// `count` places, each drawn by itself with a chance that is its share of the weights; of one seed the same. invalid_argument_error, naming the
/// place, for a weight that is negative or no number, and where none is more than 0.
std::vector<std::int64_t> weighted_places(std::span<const double> weights, std::int64_t count, std::uint64_t seed = 0);

/// The rows of an array at these places, in their order, in memory of their own. out_of_range_error, naming the place.
any_array rows_at(const any_array& rows, std::span<const std::int64_t> places);
/// The same of an array whose type is known: its element type, and its sizes but for the first.
template <class A>
    requires requires(const A& a) {
        a.untyped();
        a.slice(0, 0).copy();
    }
auto rows_at(const A& rows, std::span<const std::int64_t> places) {
    return decltype(rows.slice(0, 0).copy())(rows_at(rows.untyped(), places));
}

} // namespace tenon::data

#if TENON_HEADER_ONLY
#include <tenon/data/classes.ipp>
#endif
