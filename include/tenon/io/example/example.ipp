#pragma once

#include <tenon/io/example/example.hpp>

#include <bit>

#include <tenon/core/with_element.hpp>
#include <tenon/io/example/example_wire.hpp>

namespace tenon {
namespace detail {

TENON_INLINE std::string feature_message(const feature& f) {
    std::string list, message;
    switch (f.kind()) {
    case feature_kind::none: return message;
    case feature_kind::bytes:
        for (const std::string& text : f.bytes()) write_field(list, 1, text);
        break;
    case feature_kind::floats: {
        std::string packed;
        for (const float value : f.floats()) {
            const auto bits = std::bit_cast<std::uint32_t>(value);
            for (int shift = 0; shift < 32; shift += 8) packed += static_cast<char>(bits >> shift);
        }
        if (!packed.empty()) write_field(list, 1, packed);
        break;
    }
    case feature_kind::int64s: {
        std::string packed;
        for (const std::int64_t value : f.int64s()) write_varint(packed, static_cast<std::uint64_t>(value));
        if (!packed.empty()) write_field(list, 1, packed);
        break;
    }
    }
    write_field(message, static_cast<std::uint32_t>(f.kind()), list);
    return message;
}
TENON_INLINE std::string feature_message(const std::vector<feature>& steps) {
    std::string message;
    for (const feature& f : steps) write_field(message, 1, feature_message(f));
    return message;
}
template <class Map> void write_features(std::string& to, std::uint32_t field, const Map& features) {
    std::string all;
    for (const auto& [name, value] : features) {
        std::string entry;
        write_field(entry, 1, name);
        write_field(entry, 2, feature_message(value));
        write_field(all, 1, entry);
    }
    write_field(to, field, all);
}

TENON_INLINE feature feature_of(const feature_bytes& from, const wire_context& in) {
    struct {
        std::vector<std::string> texts;
        std::vector<float> reals;
        std::vector<std::int64_t> integers;
        void bytes(std::string_view text) { texts.emplace_back(text); }
        void floats(const char* raw, std::size_t n) {
            for (; n > 0; --n, raw += 4) reals.push_back(stored_float(raw));
        }
        void int64(std::int64_t value) { integers.push_back(value); }
    } sink;
    std::size_t first = 0;
    const feature_kind kind = kind_of(from, in, first);
    read_values(from, kind, first, in, sink);
    switch (kind) {
    case feature_kind::bytes: return std::move(sink.texts);
    case feature_kind::floats: return std::move(sink.reals);
    case feature_kind::int64s: return std::move(sink.integers);
    case feature_kind::none: break;
    }
    return {};
}

} // namespace detail

TENON_INLINE feature::feature(const any_array& elements) {
    detail::with_element(elements.element(), [&]<class T>(const T&) {
        const T* from = static_cast<const T*>(elements.data());
        const T* const end = from + elements.elements();
        if constexpr (std::is_same_v<T, std::string>) *this = feature(std::vector<std::string>(from, end));
        else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::uint64_t>)
            throw invalid_argument_error("feature: " + to_string(elements.type()) +
                                         " cannot be held exactly; cast it to float or int64");
        else if constexpr (std::is_integral_v<T>) *this = feature(std::vector<std::int64_t>(from, end));
        else {
            std::vector<float> values;
            for (; from != end; ++from) values.push_back(static_cast<float>(*from));
            *this = feature(std::move(values));
        }
    });
}

TENON_INLINE void feature::of(feature_kind wanted) const {
    if (kind_ != wanted)
        throw invalid_argument_error(std::string("feature: ") + name_of(wanted) + " is asked for, and " +
                                     name_of(kind_) + " is what it holds");
}

TENON_INLINE std::string example::serialize() const {
    std::string bytes;
    detail::write_features(bytes, 1, features);
    return bytes;
}
TENON_INLINE example example::parse(std::string_view bytes, const std::string& who) {
    example e;
    detail::wire_context in{who};
    detail::for_each_feature(bytes, 1, in, [&](std::string_view name, const detail::feature_bytes& f) {
        e.features[std::string(name)] = detail::feature_of(f, in);
    });
    return e;
}

TENON_INLINE std::string sequence_example::serialize() const {
    std::string bytes;
    detail::write_features(bytes, 1, context);
    detail::write_features(bytes, 2, feature_lists);
    return bytes;
}
TENON_INLINE sequence_example sequence_example::parse(std::string_view bytes, const std::string& who) {
    sequence_example e;
    detail::wire_context in{who};
    detail::for_each_feature(bytes, 1, in, [&](std::string_view name, const detail::feature_bytes& f) {
        e.context[std::string(name)] = detail::feature_of(f, in);
    });
    detail::for_each_feature(bytes, 2, in, [&](std::string_view name, const detail::feature_bytes& list) {
        std::vector<feature>& steps = e.feature_lists[std::string(name)];
        steps.clear();
        detail::for_each_step(list, in,
                              [&](const detail::feature_bytes& f) { steps.push_back(detail::feature_of(f, in)); });
    });
    return e;
}

} // namespace tenon
