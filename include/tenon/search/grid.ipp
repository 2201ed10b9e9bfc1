#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/core/text/number_text.hpp>
#include <tenon/search/grid.hpp>

namespace tenon {

TENON_INLINE setting_value::setting_value(float v) {
    const std::string digits = detail::text_of_number(v); // as it was written, not what its 24 bits are in 53
    held_ =
        std::isfinite(v) ? detail::read_double(digits.data(), digits.data() + digits.size()) : static_cast<double>(v);
}

TENON_INLINE std::string setting_value::text() const {
    if (const bool* b = get<bool>()) return *b ? "true" : "false";
    if (const std::int64_t* i = get<std::int64_t>()) return std::to_string(*i);
    if (const double* d = get<double>()) return detail::text_of_number(*d);
    return *get<std::string>();
}

TENON_INLINE const setting_value& named_settings::find(const std::string& name) const {
    for (const named_setting& s : all_)
        if (s.name == name) return s.value;
    throw invalid_argument_error("named_settings: there is no \"" + name + "\"; there are " +
                                 detail::text_of_settings(all_));
}
template <class T> const T& named_settings::as(const std::string& name, const char* what) const {
    if (const T* is = find(name).get<T>()) return *is;
    throw invalid_argument_error("named_settings: " + name + "=" + find(name).text() + " is no " + what);
}
TENON_INLINE double named_settings::number(const std::string& name) const {
    if (const std::int64_t* i = find(name).get<std::int64_t>()) return static_cast<double>(*i);
    return as<double>(name, "number");
}
TENON_INLINE std::int64_t named_settings::integer(const std::string& name) const {
    return as<std::int64_t>(name, "integer");
}
TENON_INLINE const std::string& named_settings::text(const std::string& name) const {
    return as<std::string>(name, "text");
}
TENON_INLINE bool named_settings::flag(const std::string& name) const { return as<bool>(name, "truth"); }
TENON_INLINE void named_settings::set(const std::string& name, setting_value value) {
    for (named_setting& s : all_)
        if (s.name == name) {
            s.value = std::move(value);
            return;
        }
    all_.push_back({name, std::move(value)});
}

namespace detail {

TENON_INLINE std::string text_of_settings(const std::vector<named_setting>& all) {
    std::string text;
    for (const named_setting& s : all) text += (text.empty() ? "" : ", ") + s.name + "=" + s.value.text();
    return text;
}

TENON_INLINE double drawn_setting(const setting_range& r, double random, bool whole) {
    // Each integer has as much of the range as any other; the logarithms of what is rounded are those of its middle.
    const double low = whole && !r.logarithmic ? r.low - 0.5 : r.low;
    const double high = whole && !r.logarithmic ? r.high + 0.5 : r.high;
    double v = r.logarithmic ? std::exp(std::log(low) + random * (std::log(high) - std::log(low)))
                             : low + random * (high - low);
    if (whole) v = std::round(v);
    return std::clamp(v, r.low, r.high);
}

// The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014), over each of the numbers in turn.
TENON_INLINE double random_setting(std::uint64_t seed, std::uint64_t point, std::uint64_t axis) noexcept {
    std::uint64_t x = seed;
    for (const std::uint64_t next : {point, axis}) {
        x += 0x9e3779b97f4a7c15u * (next + 1);
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
        x ^= x >> 31;
    }
    return static_cast<double>(x >> 11) / 9007199254740992.0; // 53 bits
}

TENON_INLINE void check_axis(const std::string& name, std::size_t values) {
    if (name.empty()) throw invalid_argument_error("axis: it has no name; results are shown by it");
    if (values == 0) throw invalid_argument_error("axis \"" + name + "\" has no values; give at least one");
}
TENON_INLINE void check_range(const std::string& name, const setting_range& r) {
    check_axis(name, 1);
    const bool good = std::isfinite(r.low) && std::isfinite(r.high) && r.low <= r.high;
    if (!good || (r.logarithmic && !(r.low > 0)))
        throw invalid_argument_error("axis \"" + name + "\": there is nothing between " + text_of_number(r.low) +
                                     " and " + text_of_number(r.high) +
                                     (good ? " by logarithms; both must be greater than 0" : "; give the lower first"));
}
TENON_INLINE void not_listed(const std::string& axis) {
    throw invalid_argument_error("grid: axis \"" + axis +
                                 "\" is a range, which has no list of values; sample(points, seed) draws from it");
}
TENON_INLINE void check_names(const std::vector<std::string>& names) {
    if (names.empty()) throw invalid_argument_error("grid: it has no axis; give at least one");
    for (std::size_t i = 0; i < names.size(); ++i)
        if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
            names.begin() + static_cast<std::ptrdiff_t>(i))
            throw invalid_argument_error("grid: axis \"" + names[i] + "\" is given twice");
}
TENON_INLINE void check_draws(std::int64_t points) {
    if (points < 1 || points > std::numeric_limits<int>::max())
        throw invalid_argument_error("grid::sample: " + std::to_string(points) + " points; give 1 or more");
}
TENON_INLINE void no_points(const char* why) {
    throw invalid_argument_error(std::string("grid: there are no points: ") + why);
}

} // namespace detail
} // namespace tenon
