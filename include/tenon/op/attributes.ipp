#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/core/hash.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/op/attribute.hpp>
#include <tenon/op/attributes.hpp>
#include <tenon/tape/shared_tape.hpp>

namespace tenon {

namespace detail {
TENON_INLINE void list_too_long(const char* name, std::size_t count) {
    throw invalid_argument_error("attribute \"" + std::string(name) + "\": " + std::to_string(count) +
                                 " numbers given, at most " + std::to_string(max_rank) + " fit");
}

TENON_INLINE attribute attribute_of(const number& v) {
    const double d = v.as_double();
    if (v.is_real() || (number(d).fits(element_type::int64) && v.fits(element_type::int64) &&
                        number(d).to<std::int64_t>() == v.to<std::int64_t>()))
        return d;
    if (v.fits(element_type::int64)) return v.to<std::int64_t>();
    return std::to_string(v.to<std::uint64_t>());
}
TENON_INLINE void set_number(attributes& to, const char* name, const number& value) {
    to.set(name, attribute_of(value));
}

TENON_INLINE number number_attribute(const attributes& from, const char* name) {
    const attribute* a = from.find(name);
    if (const auto* i = a ? std::get_if<std::int64_t>(a) : nullptr) return *i;
    const auto* digits = a ? std::get_if<std::string>(a) : nullptr;
    if (!digits) return from.get<double>(name);
    std::uint64_t n = 0;
    bool good = !digits->empty() && digits->size() <= 20;
    for (const char c : *digits) {
        const auto digit = static_cast<std::uint64_t>(c - '0');
        good = good && c >= '0' && c <= '9' && n <= (~std::uint64_t{0} - digit) / 10;
        if (good) n = n * 10 + digit;
    }
    if (!good)
        throw invalid_argument_error("attribute \"" + std::string(name) + "\": \"" + *digits + "\" is no number");
    return n;
}

TENON_INLINE void number_out_of_range(const char* name, std::int64_t value) {
    throw invalid_argument_error("attribute \"" + std::string(name) + "\": " + std::to_string(value) +
                                 " is out of range");
}

TENON_INLINE std::size_t hash_extents(const extents& e) {
    std::size_t h = static_cast<std::size_t>(e.rank());
    for (const extent& d : e) {
        h = mix(h, static_cast<std::size_t>(d.size));
        if (d.is_named()) h = mix(h, std::hash<std::string_view>{}(d.name));
    }
    return h;
}

} // namespace detail

TENON_INLINE bool same_attribute(const attribute& a, const attribute& b) {
    if (a.index() != b.index()) return false;
    if (const auto* x = std::get_if<std::shared_ptr<const any_array>>(&a)) {
        const any_array &u = **x, &v = *std::get<std::shared_ptr<const any_array>>(b);
        if (&u == &v) return true;
        if (!(u.type() == v.type())) return false;
        if (u.element() == element_type::string) {
            const auto* s = static_cast<const std::string*>(u.data());
            const auto* t = static_cast<const std::string*>(v.data());
            for (std::int64_t i = 0; i < u.elements(); ++i)
                if (s[i] != t[i]) return false;
            return true;
        }
        return u.elements() == 0 || std::memcmp(u.data(), v.data(), u.bytes()) == 0;
    }
    if (const auto* x = std::get_if<std::shared_ptr<const tape>>(&a))
        return *x == std::get<std::shared_ptr<const tape>>(b) || **x == *std::get<std::shared_ptr<const tape>>(b);
    // Numbers by their bits: a NaN is itself, and -0 is not 0.
    if (const auto* x = std::get_if<double>(&a)) {
        const double y = std::get<double>(b);
        return std::memcmp(x, &y, sizeof y) == 0;
    }
    // Of the other types' values, which compare as they are.
    return std::visit([&](const auto& x) { return x == std::get<std::remove_cvref_t<decltype(x)>>(b); }, a);
}

TENON_INLINE std::size_t hash_attribute(const attribute& a) {
    using detail::hash_extents, detail::mix;
    std::size_t h = a.index();
    if (const auto* i = std::get_if<std::int64_t>(&a)) return mix(h, std::hash<std::int64_t>{}(*i));
    if (const auto* d = std::get_if<double>(&a)) return mix(h, std::hash<double>{}(*d));
    if (const auto* s = std::get_if<std::string>(&a)) return mix(h, std::hash<std::string>{}(*s));
    if (const auto* e = std::get_if<element_type>(&a)) return mix(h, static_cast<std::size_t>(*e));
    if (const auto* l = std::get_if<std::vector<std::int64_t>>(&a)) {
        for (const std::int64_t i : *l) h = mix(h, static_cast<std::size_t>(i));
        return h;
    }
    if (const auto* e = std::get_if<extents>(&a)) return mix(h, hash_extents(*e));
    if (const auto* l = std::get_if<std::vector<tensor_type>>(&a)) {
        for (const tensor_type& t : *l) h = mix(mix(h, static_cast<std::size_t>(t.element)), hash_extents(t.extents));
        return h;
    }
    if (const auto* x = std::get_if<std::shared_ptr<const any_array>>(&a)) {
        const any_array& u = **x;
        h = mix(h, std::hash<std::string>{}(to_string(u.type())));
        return u.element() == element_type::string
                   ? h
                   : mix(h, detail::fnv1a({static_cast<const char*>(u.data()), u.bytes()}));
    }
    if (const auto* x = std::get_if<std::shared_ptr<const tape>>(&a)) return mix(h, hash_tape(**x));
    return h;
}

TENON_INLINE std::string to_string(const attribute& a) {
    if (const auto* i = std::get_if<std::int64_t>(&a)) return std::to_string(*i);
    if (const auto* d = std::get_if<double>(&a)) return detail::text_of_number(*d);
    if (const auto* s = std::get_if<std::string>(&a)) return '"' + *s + '"';
    if (const auto* e = std::get_if<element_type>(&a)) return name_of(*e);
    if (const auto* e = std::get_if<extents>(&a)) return to_string(*e);
    if (const auto* l = std::get_if<std::vector<std::int64_t>>(&a)) {
        std::string text = "{";
        for (std::size_t k = 0; k < l->size(); ++k) text += (k ? ", " : "") + std::to_string((*l)[k]);
        return text + "}";
    }
    if (const auto* l = std::get_if<std::vector<tensor_type>>(&a)) return to_string(*l);
    if (const auto* x = std::get_if<std::shared_ptr<const any_array>>(&a)) return to_string((*x)->type());
    return "a tape of " + std::to_string(std::get<std::shared_ptr<const tape>>(a)->length) + " instructions";
}

struct attributes::list {
    std::vector<named_attribute> values;
    mutable std::atomic<std::size_t> hash{0}; // 0: not computed yet

    list() = default;
    explicit list(const std::vector<named_attribute>& v) : values(v) {}
};

TENON_INLINE const named_attribute* attributes::begin() const noexcept {
    return list_ ? list_->values.data() : nullptr;
}
TENON_INLINE const named_attribute* attributes::end() const noexcept {
    return list_ ? list_->values.data() + list_->values.size() : nullptr;
}

TENON_INLINE void attributes::set(const char* name, attribute value) {
    if (!list_) list_ = std::make_shared<list>();
    else if (list_.use_count() > 1) list_ = std::make_shared<list>(list_->values);
    list_->hash.store(0, std::memory_order_relaxed);
    for (auto& [n, v] : list_->values)
        if (n == name) {
            v = std::move(value);
            return;
        }
    list_->values.push_back({name, std::move(value)});
}
TENON_INLINE void attributes::set(const char* name, std::int64_t value) { set(name, attribute(value)); }
TENON_INLINE void attributes::set(const char* name, double value) { set(name, attribute(value)); }
TENON_INLINE void attributes::set(const char* name, std::string value) { set(name, attribute(std::move(value))); }
TENON_INLINE void attributes::set(const char* name, std::vector<std::int64_t> value) {
    set(name, attribute(std::move(value)));
}
TENON_INLINE void attributes::set(const char* name, element_type value) { set(name, attribute(value)); }
TENON_INLINE void attributes::set(const char* name, const extents& value) { set(name, attribute(value)); }
TENON_INLINE void attributes::set(const char* name, std::vector<tensor_type> value) {
    set(name, attribute(std::move(value)));
}
TENON_INLINE void attributes::set(const char* name, std::shared_ptr<const any_array> value) {
    set(name, attribute(std::move(value)));
}
TENON_INLINE void attributes::set(const char* name, std::shared_ptr<const tape> value) {
    set(name, attribute(std::move(value)));
}

TENON_INLINE const attribute* attributes::find(const char* name) const noexcept {
    // The planner asks often: most names differ in their length or first letter.
    const std::size_t length = std::strlen(name);
    for (const auto& [n, v] : *this)
        if (n.size() == length && n[0] == name[0] && std::memcmp(n.data(), name, length) == 0) return &v;
    return nullptr;
}

TENON_INLINE void attributes::missing(const char* name) const {
    std::string text = "attribute \"" + std::string(name) + "\" is missing or of another type; there are:";
    for (const auto& [n, v] : *this) text += " " + n + " = " + to_string(v) + ";";
    throw invalid_argument_error(text);
}

template <class A> const A& attributes::get(const char* name) const {
    const attribute* a = find(name);
    const A* value = a ? std::get_if<A>(a) : nullptr;
    if (!value) missing(name);
    return *value;
}
#if !TENON_HEADER_ONLY
template const std::int64_t& attributes::get(const char*) const;
template const double& attributes::get(const char*) const;
template const std::string& attributes::get(const char*) const;
template const std::vector<std::int64_t>& attributes::get(const char*) const;
template const element_type& attributes::get(const char*) const;
template const extents& attributes::get(const char*) const;
template const std::vector<tensor_type>& attributes::get(const char*) const;
template const std::shared_ptr<const any_array>& attributes::get(const char*) const;
template const std::shared_ptr<const tape>& attributes::get(const char*) const;
#endif

TENON_INLINE attributes renamed(const attributes& a, std::initializer_list<std::pair<const char*, const char*>> names) {
    attributes today;
    for (const auto& [name, value] : a) {
        const char* is = name.c_str();
        for (const auto& [was, now] : names)
            if (name == was) is = now;
        today.set(is, value);
    }
    return today;
}

TENON_INLINE bool operator==(const attributes& a, const attributes& b) {
    return a.begin() == b.begin() ||
           std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& u, const auto& v) {
               return u.name == v.name && same_attribute(u.value, v.value);
           });
}

TENON_INLINE std::size_t attributes::hash() const {
    if (!list_) return 0;
    std::size_t h = list_->hash.load(std::memory_order_relaxed);
    if (h) return h;
    h = static_cast<std::size_t>(end() - begin());
    for (const auto& [n, v] : *this) h = detail::mix(detail::mix(h, std::hash<std::string>{}(n)), hash_attribute(v));
    if (h == 0) h = 1;
    list_->hash.store(h, std::memory_order_relaxed);
    return h;
}

} // namespace tenon
