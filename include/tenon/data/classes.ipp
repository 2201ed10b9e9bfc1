#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/data/classes.hpp>
#include <tenon/data/steps/random_order.hpp>

namespace tenon::data {

TENON_INLINE std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>
stratified_split(std::span<const std::int32_t> labels, double share, std::uint64_t seed) {
    if (!(share >= 0 && share <= 1))
        throw invalid_argument_error("stratified_split: a share of " + tenon::detail::text_of_number(share) +
                                     "; it is from 0 to 1");
    std::map<std::int32_t, std::vector<std::int64_t>> members;
    for (std::size_t i = 0; i < labels.size(); ++i) members[labels[i]].push_back(static_cast<std::int64_t>(i));
    std::mt19937_64 random(seed);
    std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> split;
    for (auto& [label, places] : members) {
        // By hand, for what std::shuffle does is each library's own.
        for (std::size_t i = places.size(); i > 1; --i) std::swap(places[i - 1], places[random() % i]);
        const auto first = static_cast<std::ptrdiff_t>(std::llround(share * static_cast<double>(places.size())));
        split.first.insert(split.first.end(), places.begin(), places.begin() + first);
        split.second.insert(split.second.end(), places.begin() + first, places.end());
    }
    std::sort(split.first.begin(), split.first.end());
    std::sort(split.second.begin(), split.second.end());
    return split;
}

TENON_INLINE std::vector<double> class_weights(std::span<const std::int32_t> labels, std::int32_t classes) {
    if (classes < 1) throw invalid_argument_error("class_weights: " + std::to_string(classes) + " classes");
    std::vector<double> weights(static_cast<std::size_t>(classes));
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] < 0 || labels[i] >= classes)
            throw invalid_argument_error("class_weights: label " + std::to_string(i) + " is " +
                                         std::to_string(labels[i]) + ", none of " + std::to_string(classes) +
                                         " classes");
        ++weights[static_cast<std::size_t>(labels[i])];
    }
    for (double& w : weights)
        if (w > 0) w = static_cast<double>(labels.size()) / (static_cast<double>(classes) * w);
    return weights;
}
TENON_INLINE std::vector<double> balanced_weights(std::span<const std::int32_t> labels, std::int32_t classes) {
    const std::vector<double> of_class = class_weights(labels, classes);
    std::vector<double> weights;
    for (const std::int32_t l : labels) weights.push_back(of_class[static_cast<std::size_t>(l)]);
    return weights;
}

TENON_INLINE std::vector<std::int64_t> weighted_places(std::span<const double> weights, std::int64_t count,
                                                       std::uint64_t seed) {
    if (count < 0)
        throw invalid_argument_error("weighted_places: " + std::to_string(count) + " places; give 0 or more");
    std::vector<double> sums; // up to each place, it among them
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (!(weights[i] >= 0 && weights[i] <= std::numeric_limits<double>::max()))
            throw invalid_argument_error("weighted_places: weight " + std::to_string(i) + " is " +
                                         tenon::detail::text_of_number(weights[i]) + "; give 0 or more");
        sums.push_back(sum += weights[i]);
    }
    if (!(sum > 0 && sum <= std::numeric_limits<double>::max()))
        throw invalid_argument_error("weighted_places: " + std::to_string(weights.size()) + " weights, whose sum is " +
                                     tenon::detail::text_of_number(sum) + "; it must be more than 0, and finite");
    tenon::detail::order_generator random(seed, 0);
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto at = std::upper_bound(sums.begin(), sums.end(), random.fraction() * sum);
        // Rounding may reach the sum: the first place whose sum that is has the last weight that is not 0.
        places.push_back((at == sums.end() ? std::lower_bound(sums.begin(), sums.end(), sum) : at) - sums.begin());
    }
    return places;
}

TENON_INLINE any_array rows_at(const any_array& rows, std::span<const std::int64_t> places) {
    if (rows.rank() == 0)
        throw invalid_argument_error("rows_at: " + to_string(rows.type()) + " is a scalar and has no rows");
    const std::int64_t n = rows.extents()[0].size;
    for (const std::int64_t p : places)
        if (p < 0 || p >= n)
            throw out_of_range_error("rows_at: there is no row " + std::to_string(p) + "; there are " +
                                     std::to_string(n));
    extents sizes = rows.extents();
    sizes[0] = static_cast<std::int64_t>(places.size());
    any_array chosen(rows.element(), sizes);
    const std::int64_t each = n == 0 ? 0 : rows.elements() / n;
    for (std::size_t i = 0; i < places.size(); ++i) {
        const std::int64_t from = places[i] * each, to = static_cast<std::int64_t>(i) * each;
        if (rows.element() == element_type::string)
            std::copy_n(rows.data<std::string>() + from, each, chosen.data<std::string>() + to);
        else if (each > 0)
            std::memcpy(static_cast<std::byte*>(chosen.data()) + static_cast<std::size_t>(to) * size_of(rows.element()),
                        static_cast<const std::byte*>(rows.data()) +
                            static_cast<std::size_t>(from) * size_of(rows.element()),
                        static_cast<std::size_t>(each) * size_of(rows.element()));
    }
    return chosen;
}

} // namespace tenon::data
