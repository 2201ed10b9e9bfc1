#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>
#include <type_traits>
#include <vector>

#include <tenon/core/array/print.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/core/with_element.hpp>

namespace tenon {

namespace detail {

inline std::string quoted(const std::string& text) {
    constexpr std::size_t longest = 200;
    constexpr char digits[] = "0123456789abcdef";
    std::string out = "\"";
    for (const char c : text.substr(0, longest)) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') (out += '\\') += c;
        else if (c == '\n') out += "\\n";
        else if (c == '\t') out += "\\t";
        else if (byte < 0x20 || byte == 0x7F) ((out += "\\x") += digits[byte >> 4]) += digits[byte & 15];
        else out += c;
    }
    if (text.size() > longest) out += "...";
    return out += '"';
}

template <class T> std::string element_text(const T& value) {
    char buffer[64];
    char* const end = buffer + sizeof buffer;
    if constexpr (std::is_same_v<T, std::string>) return quoted(value);
    else if constexpr (std::is_same_v<T, bool>) return value ? "true" : "false";
    else if constexpr (std::is_integral_v<T>) return std::to_string(+value);
    else if constexpr (is_small_float<T>) {
        const float wide = value;
        float shown = wide;
        // Five digits always tell two of these apart.
        for (int digits = 1; digits <= 5 && wide != std::trunc(wide); ++digits) {
            const auto r = std::to_chars(buffer, end, wide, std::chars_format::scientific, digits - 1);
            shown = read_float(buffer, r.ptr);
            if (T(shown) == value) break;
        }
        return element_text(shown);
    } else {
        if (std::isnan(value)) return "nan"; // its sign says nothing
        const auto shortest = std::to_chars(buffer, end, value);
        const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
        char* exponent = std::find(buffer, shortest.ptr, 'e');
        if (std::count_if(buffer, exponent, is_digit) <= 8) return std::string(buffer, shortest.ptr);
        const auto rounded = std::to_chars(buffer, end, value, std::chars_format::general, 8);
        return std::string(buffer, rounded.ptr);
    }
}

// Writes the elements of one array; what is shown is walked twice, first for the widths.
class array_printer {
public:
    explicit array_printer(const any_array& a, std::string heading) :
        a_(a), shortened_(a.elements() > 1000), out_(std::move(heading)) {
        std::int64_t stride = 1;
        for (int axis = a.rank() - 1; axis >= 0; --axis) {
            strides_[axis] = stride;
            stride *= a.extents()[axis].size;
        }
        with_element(a.element(), [&]<class T>(const T&) {
            const T* values = a.data<T>();
            walk(0, 0, [&](std::int64_t i) { texts_.push_back(element_text(values[i])); });
        });
        align();
    }

    std::string text() {
        if (a_.rank() == 0) out_ += texts_.front();
        else if (a_.elements() == 0) out_ += "[]";
        else write(0);
        return std::move(out_);
    }

private:
    static constexpr std::int64_t edge = 3;
    static constexpr std::size_t line = 100;

    bool skips(int axis) const { return shortened_ && a_.extents()[axis].size > 2 * edge; }

    template <class F> void walk(int axis, std::int64_t offset, const F& f) const {
        if (axis == a_.rank()) return f(offset);
        const std::int64_t n = a_.extents()[axis].size;
        for (std::int64_t i = 0; i < n; ++i) {
            if (skips(axis) && i == edge) i = n - edge;
            walk(axis + 1, offset + i * strides_[axis], f);
        }
    }

    // Numbers are aligned at the point; where some have exponents, and for words, at the right.
    void align() {
        if (a_.element() == element_type::string) return;
        const auto point = [](const std::string& s) { return std::min(s.find('.'), s.size()); };
        const bool at_point =
            is_floating(a_.element()) &&
            std::none_of(texts_.begin(), texts_.end(), [](const auto& s) { return s.find('e') != std::string::npos; });
        std::size_t before = 0, after = 0;
        for (const std::string& s : texts_) {
            before = std::max(before, at_point ? point(s) : s.size());
            after = std::max(after, at_point ? s.size() - point(s) : 0);
        }
        for (std::string& s : texts_) {
            s.insert(0, before - (at_point ? point(s) : s.size()), ' ');
            s.resize(before + after, ' ');
        }
    }

    void write(int axis) {
        out_ += '[';
        const std::int64_t n = a_.extents()[axis].size;
        const bool innermost = axis + 1 == a_.rank();
        const auto indent = static_cast<std::size_t>(axis) + 1;
        const auto closing = static_cast<std::size_t>(a_.rank());
        const auto separate = [&](std::size_t next_width) {
            if (!innermost) {
                out_ += ',';
                out_.append(static_cast<std::size_t>(a_.rank() - axis - 1), '\n').append(indent, ' ');
            } else if (out_.size() - (out_.rfind('\n') + 1) + next_width + 2 + closing > line) {
                (out_ += ",\n").append(indent, ' ');
            } else {
                out_ += ", ";
            }
        };
        for (std::int64_t i = 0; i < n; ++i) {
            if (i > 0) separate(innermost ? texts_[next_].size() : 0);
            if (skips(axis) && i == edge) {
                out_ += "...";
                i = n - edge - 1;
            } else if (innermost) {
                out_ += texts_[next_++];
            } else {
                write(axis + 1);
            }
        }
        out_ += ']';
    }

    const any_array& a_;
    bool shortened_;
    std::int64_t strides_[max_rank]{};
    std::vector<std::string> texts_;
    std::size_t next_ = 0;
    std::string out_;
};

} // namespace detail

TENON_INLINE std::string to_string(const any_array& a, const extents& declared) {
    if (!a) return "none";
    std::string text = name_of(a.element());
    text += '[';
    for (int i = 0; i < a.rank(); ++i) {
        if (i) text += ", ";
        if (i < declared.rank() && declared[i].is_named()) (text += declared[i].name) += '=';
        text += to_string(a.extents()[i]);
    }
    text += a.rank() < 2 ? "] " : "]\n";
    return detail::array_printer(a, std::move(text)).text();
}

TENON_INLINE std::string to_string(const any_array& a) { return to_string(a, a.extents()); }

TENON_INLINE void detail::print(std::ostream& out, const any_array& a, const extents& declared) {
    out << to_string(a, declared);
}

TENON_INLINE std::ostream& operator<<(std::ostream& out, const any_array& a) { return out << to_string(a); }
TENON_INLINE std::ostream& operator<<(std::ostream& out, element_type type) { return out << name_of(type); }
TENON_INLINE std::ostream& operator<<(std::ostream& out, const extents& sizes) { return out << to_string(sizes); }
TENON_INLINE std::ostream& operator<<(std::ostream& out, const tensor_type& type) { return out << to_string(type); }

} // namespace tenon
