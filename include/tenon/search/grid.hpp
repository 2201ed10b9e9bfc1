#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/shared_function.hpp>
#include <tenon/core/variant.hpp>

/// Grids of hyperparameters: the points that a search (search/grid_search.hpp) trains a network for.
///
///     struct settings { float rate = 0.01f; int hidden = 100; };
///     const tn::grid grid(tn::axis("rate", &settings::rate, {0.1f, 0.03f, 0.01f}),
///                         tn::axis("hidden", &settings::hidden, {50, 100}));               // 6 points of settings
///     const tn::grid same({{"rate", {0.1, 0.03, 0.01}}, {"hidden", {50, 100}}});           // of tn::named_settings
///     const auto random = tn::grid(tn::axis("rate", &settings::rate, tn::between_logs(1e-4, 1e-1)),
///                                  tn::axis("hidden", &settings::hidden, tn::between(20, 200))).sample(30, 7);

namespace tenon {

/// A value of one setting: a truth, a number or a text, as it is shown and kept in files.
class setting_value {
public:
    template <std::integral I> setting_value(I v) { // NOLINT: it is the value; so it is of the others
        if constexpr (std::is_same_v<I, bool>) held_ = v;
        else held_ = static_cast<std::int64_t>(v);
    }
    setting_value(double v) : held_(v) {}                   // NOLINT
    setting_value(float v);                                 // NOLINT: 0.1f is 0.1
    setting_value(std::string v) : held_(std::move(v)) {}   // NOLINT
    setting_value(const char* v) : held_(std::string(v)) {} // NOLINT

    /// "0.01", "true", "adam".
    std::string text() const;
    template <class T> const T* get() const noexcept { return std::get_if<T>(&held_); }
    friend bool operator==(const setting_value&, const setting_value&) = default;

private:
    detail::variant<bool, std::int64_t, double, std::string> held_;
};

struct named_setting {
    std::string name;
    setting_value value;
};
namespace detail {
/// "rate=0.1, hidden=50"
std::string text_of_settings(const std::vector<named_setting>& all);
} // namespace detail

/// Settings by name, where there is no struct of them. Asking for a name that is none of the axes', or as what it is not, is an
/// invalid_argument_error that lists them.
class named_settings {
public:
    double number(const std::string& name) const; ///< an integer, too
    std::int64_t integer(const std::string& name) const;
    const std::string& text(const std::string& name) const;
    bool flag(const std::string& name) const;
    const std::vector<named_setting>& all() const noexcept { return all_; }
    void set(const std::string& name, setting_value value);

private:
    template <class T> const T& as(const std::string& name, const char* what) const;
    const setting_value& find(const std::string& name) const;
    std::vector<named_setting> all_;
};

/// Where a random value lies, both ends included: evenly between them, or evenly between their logarithms.
class setting_range {
public:
    friend constexpr setting_range between(double low, double high);
    friend constexpr setting_range between_logs(double low, double high);
    friend constexpr setting_range between_integers(std::int64_t low, std::int64_t high);
    double low, high;
    bool logarithmic, whole;

private: // {0.1, 0.2} is a list of values
    constexpr setting_range(double from, double to, bool by_logarithms, bool in_integers) :
        low(from), high(to), logarithmic(by_logarithms), whole(in_integers) {}
};
constexpr setting_range between(double low, double high) { return {low, high, false, false}; }
constexpr setting_range between_logs(double low, double high) { return {low, high, true, false}; }
/// As every range of a member that is an integer.
constexpr setting_range between_integers(std::int64_t low, std::int64_t high) {
    return {static_cast<double>(low), static_cast<double>(high), false, true};
}

namespace detail {

template <class V>
inline constexpr bool is_setting = std::is_arithmetic_v<V> || std::is_enum_v<V> || std::is_same_v<V, std::string>;

template <class V> setting_value value_of_setting(const V& v) {
    if constexpr (std::is_enum_v<V>) return static_cast<std::int64_t>(v);
    else return v;
}
/// In a range, of a random number in 0 .. 1.
double drawn_setting(const setting_range& r, double random, bool whole);
/// In 0 .. 1, evenly; of a seed and two numbers alone.
double random_setting(std::uint64_t seed, std::uint64_t point, std::uint64_t axis) noexcept;
void check_axis(const std::string& name, std::size_t values);
void check_range(const std::string& name, const setting_range& r);
[[noreturn]] void not_listed(const std::string& axis);
void check_names(const std::vector<std::string>& names);
void check_draws(std::int64_t points);
[[noreturn]] void no_points(const char* why);

} // namespace detail

/// The values that one setting takes: a list, or a range to draw from.
template <class S> class axis {
public:
    /// Of a member of the struct of settings.
    template <class V>
    axis(std::string name, V S::*member, std::initializer_list<std::type_identity_t<V>> values) :
        axis(std::move(name), member, std::vector<V>(values)) {}
    template <class V>
    axis(std::string name, V S::*member, const std::vector<std::type_identity_t<V>>& values) : name_(std::move(name)) {
        static_assert(detail::is_setting<V>, "tenon::axis: a setting is a number, a truth, a text or an enumerator");
        detail::check_axis(name_, values.size());
        if constexpr (detail::is_setting<V>)
            for (const V& v : values)
                values_.push_back({detail::value_of_setting(v), [member, v](S& to) { to.*member = v; }});
    }
    template <class V> axis(std::string name, V S::*member, const setting_range& range) : name_(std::move(name)) {
        static_assert(std::integral<V> || std::floating_point<V>, "tenon::axis: a range is one of numbers");
        detail::check_range(name_, range);
        range_ = to_text(range);
        draw_ = [member, range](S& to, double random) -> setting_value {
            to.*member = static_cast<V>(detail::drawn_setting(range, random, range.whole || std::integral<V>));
            return to.*member;
        };
    }
    /// Of named_settings.
    axis(std::string name, std::initializer_list<setting_value> values) :
        axis(std::move(name), std::vector<setting_value>(values)) {}
    axis(std::string name, const std::vector<setting_value>& values) : name_(std::move(name)) {
        static_assert(std::is_same_v<S, named_settings>, "tenon::axis: say which member it sets: axis(\"rate\", "
                                                         "&settings::rate, {0.1f, 0.01f})");
        detail::check_axis(name_, values.size());
        for (const setting_value& v : values) values_.push_back({v, [name = name_, v](S& to) { to.set(name, v); }});
    }
    axis(std::string name, const setting_range& range) : name_(std::move(name)) {
        static_assert(std::is_same_v<S, named_settings>, "tenon::axis: say which member it sets: axis(\"rate\", "
                                                         "&settings::rate, between(0.01, 0.1))");
        detail::check_range(name_, range);
        range_ = to_text(range);
        draw_ = [name = name_, range](S& to, double random) {
            const double at = detail::drawn_setting(range, random, range.whole);
            const setting_value v = range.whole ? setting_value(static_cast<std::int64_t>(at)) : setting_value(at);
            to.set(name, v);
            return v;
        };
    }

    const std::string& name() const noexcept { return name_; }
    /// How many values; 0: it is a range.
    std::size_t size() const noexcept { return values_.size(); }
    /// Gives the settings value i; or one that is drawn, of a random number in 0 .. 1.
    setting_value choose(S& to, std::size_t i) const {
        values_[i].set(to);
        return values_[i].value;
    }
    setting_value draw(S& to, double random) const {
        if (size() == 0) return draw_(to, random);
        const auto i = static_cast<std::size_t>(random * static_cast<double>(size()));
        return choose(to, i < size() ? i : size() - 1);
    }
    /// "rate: 0.1, 0.03", "rate: 0.0001 to 0.1 by logarithms"
    std::string described() const {
        std::string text = name_ + ": " + range_;
        for (std::size_t i = 0; i < size(); ++i) text += (i ? ", " : "") + values_[i].value.text();
        return text;
    }

private:
    struct candidate {
        setting_value value;
        shared_function<void(S&)> set;
    };
    static std::string to_text(const setting_range& r) {
        return setting_value(r.low).text() + " to " + setting_value(r.high).text() +
               (r.logarithmic ? " by logarithms" : "");
    }
    std::string name_, range_;
    std::vector<candidate> values_;
    shared_function<setting_value(S&, double)> draw_;
};

axis(std::string, std::initializer_list<setting_value>)->axis<named_settings>;
axis(std::string, const std::vector<setting_value>&)->axis<named_settings>;
axis(std::string, const setting_range&)->axis<named_settings>;

template <class S> struct grid_point {
    S settings{};
    std::vector<named_setting> values{}; ///< what the axes have set
    std::string text() const { return detail::text_of_settings(values); }
};

/// Points, in an order of their own: of a product of axes the last one's values come first. A value.
template <class S> class grid {
public:
    using settings_type = S;

    /// All combinations of the axes' values. invalid_argument_error where an axis occurs twice or has no values.
    template <class... More> explicit grid(const axis<S>& first, const More&... more) : axes_{first} {
        static_assert((std::is_same_v<More, axis<S>> && ...),
                      "tenon::grid: all axes are of members of one struct of settings");
        if constexpr ((std::is_same_v<More, axis<S>> && ...)) (axes_.push_back(more), ...);
        begin_with(S{});
    }
    explicit grid(std::initializer_list<axis<S>> axes) : axes_(axes) { begin_with(S{}); }

    /// The same axes around other values of what no axis sets.
    grid with(const S& base) const {
        grid g = *this;
        g.begin_with(base);
        return g;
    }
    /// So many points, each with a random value of each axis: of a range one in it, of a list one of it. The first n of more are the
    /// same n.
    grid sample(std::int64_t n, std::uint64_t seed) const {
        detail::check_draws(n);
        grid g = *this;
        g.points_.clear();
        for (std::int64_t p = 0; p < n; ++p) {
            grid_point<S> point{base_};
            for (std::size_t a = 0; a < axes_.size(); ++a)
                point.values.push_back(
                    {axes_[a].name(),
                     axes_[a].draw(point.settings, detail::random_setting(seed, static_cast<std::uint64_t>(p), a))});
            g.points_.push_back(std::move(point));
        }
        g.made_ = true;
        return g;
    }
    /// Those of the points for which keep(settings) is true.
    template <class F> grid where(F&& keep) const {
        grid g = *this;
        g.points_.clear();
        for (const grid_point<S>& p : points())
            if (keep(p.settings)) g.points_.push_back(p);
        if (g.points_.empty()) detail::no_points("where() has kept none");
        return g;
    }

    /// invalid_argument_error where an axis is a range, which has no list of values: sample() draws from it.
    const std::vector<grid_point<S>>& points() const {
        if (!made_)
            for (const axis<S>& a : axes_)
                if (a.size() == 0) detail::not_listed(a.name());
        return points_;
    }
    int size() const { return static_cast<int>(points().size()); }
    const grid_point<S>& operator[](int i) const { return points()[static_cast<std::size_t>(i)]; }
    auto begin() const { return points().begin(); }
    auto end() const { return points().end(); }
    /// "rate: 0.1, 0.03; hidden: 50, 100"
    std::string described() const {
        std::string text;
        for (const axis<S>& a : axes_) text += (text.empty() ? "" : "; ") + a.described();
        return text;
    }

private:
    void begin_with(const S& base) {
        std::vector<std::string> names;
        for (const axis<S>& a : axes_) names.push_back(a.name());
        detail::check_names(names);
        base_ = base;
        points_ = {grid_point<S>{base}};
        for (const axis<S>& a : axes_) {
            std::vector<grid_point<S>> more;
            for (const grid_point<S>& p : points_)
                for (std::size_t i = 0; i < a.size(); ++i) {
                    more.push_back(p);
                    more.back().values.push_back({a.name(), a.choose(more.back().settings, i)});
                }
            points_ = std::move(more);
        }
        made_ = !points_.empty();
    }
    std::vector<axis<S>> axes_;
    S base_{};
    std::vector<grid_point<S>> points_;
    bool made_ = false; // false where an axis is a range
};

template <class S, class... More> grid(const axis<S>&, const More&...) -> grid<S>;
grid(std::initializer_list<axis<named_settings>>)->grid<named_settings>;

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/search/grid.ipp>
#endif
