#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include <tenon/io/numpy/elements.hpp>
#include <tenon/io/text/utf8.hpp>

namespace tenon::detail {

TENON_INLINE any_array read_elements(readable_file& from, const tensor_type& type, const std::string& name,
                                     std::int64_t there, bool exact) {
    std::int64_t elements = 0;
    try {
        elements = checked_elements(type.element, type.extents);
    } catch (const invalid_argument_error& e) {
        throw invalid_argument_error("'" + name + "': " + e.what());
    }
    const auto size = static_cast<std::int64_t>(size_of(type.element));
    const std::int64_t promised = elements * size;
    const auto say = [&](const std::string& found) {
        return "'" + name + "': the header promises " + to_string(type) + ", " + std::to_string(promised) +
               " bytes of elements, but " + found;
    };
    if (there >= 0 && (there < promised || (exact && there != promised)))
        throw data_loss_error(say((exact ? "there are " : "there can be at most ") + std::to_string(there)));

    // Memory is taken as data arrives: a header is easily damaged, and must not take all there is.
    constexpr std::int64_t step = 1 << 24;
    std::int64_t capacity = exact ? elements : std::min(elements, step), filled = 0;
    any_array a(type.element, {capacity});
    for (;;) {
        const auto wanted = static_cast<std::size_t>((capacity - filled) * size);
        const std::size_t got = read_fully(from, static_cast<std::byte*>(a.data()) + filled * size, wanted);
        if (got < wanted)
            throw data_loss_error(
                say("the data ends after " + std::to_string(filled * size + static_cast<std::int64_t>(got))));
        filled = capacity;
        if (filled == elements) break;
        capacity = capacity > elements / 2 ? elements : 2 * capacity;
        any_array larger(type.element, {capacity});
        std::memcpy(larger.data(), a.data(), a.bytes());
        a = std::move(larger);
    }
    if (unsigned char more = 0; from.read(&more, 1) != 0) throw data_loss_error(say("more follow"));
    return a;
}

TENON_INLINE any_array texts_of_units(const any_array& units, std::int64_t each, const std::string& name) {
    any_array texts(element_type::string, {units.elements() / each});
    auto* text = texts.data<std::string>();
    const auto all = [&]<class T>(const T* unit) {
        for (std::int64_t i = 0; i < texts.elements(); ++i, unit += each, ++text) {
            std::int64_t n = each;
            while (n > 0 && unit[n - 1] == 0) --n;
            if constexpr (sizeof(T) == 1)
                text->assign(reinterpret_cast<const char*>(unit), static_cast<std::size_t>(n));
            else
                for (std::int64_t k = 0; k < n; ++k) {
                    if (unit[k] > 0x10FFFF || (unit[k] >= 0xD800 && unit[k] < 0xE000))
                        throw data_loss_error("'" + name + "': text " + std::to_string(i) + " has character number " +
                                              std::to_string(unit[k]) + ", which Unicode has not");
                    char character[4];
                    text->append(character, put_utf8(unit[k], character));
                }
        }
    };
    if (units.element() == element_type::uint8) all(units.data<std::uint8_t>());
    else all(units.data<std::uint32_t>());
    return texts;
}

TENON_INLINE void swap_bytes(any_array& a) {
    auto* bytes = static_cast<std::byte*>(a.data());
    const std::size_t size = size_of(a.element()), n = a.bytes();
    const auto reverse_each = [&]<std::size_t Size>(std::integral_constant<std::size_t, Size>) {
        for (std::size_t i = 0; i < n; i += Size)
            for (std::size_t j = 0; j < Size / 2; ++j) std::swap(bytes[i + j], bytes[i + Size - 1 - j]);
    };
    if (size == 2) reverse_each(std::integral_constant<std::size_t, 2>{});
    if (size == 4) reverse_each(std::integral_constant<std::size_t, 4>{});
    if (size == 8) reverse_each(std::integral_constant<std::size_t, 8>{});
}

} // namespace tenon::detail
