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

namespace tenon::data {

/// Two lists of places that together are all of 0 .. n - 1, each sorted: of every class `share` of its members, rounded to the nearest number, are
/// in the first, at random by the seed. invalid_argument_error for a share outside [0, 1].
std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> stratified_split(std::span<const std::int32_t> labels,
                                                                                 double share, std::uint64_t seed = 0);

/// n / (classes * members) for each class: weights by which all classes count alike, and whose mean over the members of all is 1. 0 for a
/// class without members. invalid_argument_error, naming it, for a label outside 0 .. classes - 1.
std::vector<double> class_weights(std::span<const std::int32_t> labels, std::int32_t classes);

/// The same for each member: what sample() and a weighted loss take.
std::vector<double> balanced_weights(std::span<const std::int32_t> labels, std::int32_t classes);

/// The rows of an array at these places, in their order, in memory of their own. out_of_range_error, naming the place.
any_array rows_at(const any_array& rows, std::span<const std::int64_t> places);

} // namespace tenon::data

#if TENON_HEADER_ONLY
#include <tenon/data/classes.ipp>
#endif
