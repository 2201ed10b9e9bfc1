#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include <tenon/core/config.hpp>
#include <tenon/core/sizes/shape.hpp>

/// Names of devices: "/job:ps/replica:0/task:1/device:GPU:0", or some of these parts in any order. "/cpu:0" and "/gpu:1"
/// stand for "/device:CPU:0" and "/device:GPU:1"; "*" for a name or number leaves its part unset.

namespace tenon {

namespace detail {

/// Text of at most `Most` characters, held inline.
template <std::size_t Most> struct short_text {
    char text[Most + 1]{};

    static constexpr std::size_t most = Most;
    constexpr bool empty() const noexcept { return text[0] == '\0'; }
    constexpr operator std::string_view() const noexcept { return text; } // NOLINT: it is text
    constexpr const char* c_str() const noexcept { return text; }
    std::string str() const { return text; }

    friend constexpr auto operator<=>(const short_text&, const short_text&) = default;
    friend constexpr bool operator==(const short_text&, const short_text&) = default;
    friend constexpr bool operator==(const short_text& a, std::string_view b) noexcept {
        return std::string_view(a.text) == b;
    }
};

/// What can be wrong with a device's name.
enum class device_name_fault {
    none,
    part_without_a_slash,
    unknown_part,
    part_without_a_value,
    part_with_too_many_values,
    job_that_is_no_word,
    type_that_is_no_word,
    job_or_type_that_is_too_long,
    number_that_is_not_decimal,
    number_of_more_than_9_digits,
    part_given_twice,
    index_without_a_type,
};

constexpr const char* words(device_name_fault what) noexcept {
    switch (what) {
    case device_name_fault::none: break;
    case device_name_fault::part_without_a_slash: return "a part does not begin with a slash";
    case device_name_fault::unknown_part:
        return "a part is none of /job:NAME, /replica:N, /task:N, /device:TYPE:N, /cpu:N and /gpu:N";
    case device_name_fault::part_without_a_value: return "a part has no value after its colon";
    case device_name_fault::part_with_too_many_values: return "a part has too many values";
    case device_name_fault::job_that_is_no_word:
        return "a job's name is not a letter, then letters, digits and underscores";
    case device_name_fault::type_that_is_no_word:
        return "a device type is not a letter, then letters, digits and underscores";
    case device_name_fault::job_or_type_that_is_too_long:
        return "a job's name has more than 47 characters, or a device type more than 15";
    case device_name_fault::number_that_is_not_decimal: return "a number is not made of the digits 0 to 9";
    case device_name_fault::number_of_more_than_9_digits: return "a number has more than 9 digits";
    case device_name_fault::part_given_twice: return "a part is given twice";
    case device_name_fault::index_without_a_type: return "a device index is given, but no type of device";
    }
    return "it is well formed";
}

// What g++ complains of in a malformed literal: a call that is no constant expression.
template <device_name_fault Fault> void malformed_device_name();
// The same, by a type that is not complete.
template <device_name_fault Fault> struct malformed;
template <> struct malformed<device_name_fault::none> {};

struct parsed_device_name;
[[noreturn]] void throw_malformed(const parsed_device_name& parsed, std::string_view whole);

} // namespace detail

/// What a node asks for of a device's name, or all of it: a value; what is unset is empty, or -1.
struct device_name {
    detail::short_text<47> job;
    int replica = -1;
    int task = -1;
    detail::short_text<15> type; ///< upper case: "CPU", "GPU"
    int index = -1;              ///< never without a type

    constexpr device_name() = default;
    /// A literal is read by the compiler; one that is malformed does not compile.
#if defined(__clang__) // which says of a consteval function only that it is not constant
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wgcc-compat"
#define TENON_REFUSE_LITERAL(FAULT, WORDS) \
    __attribute__((diagnose_if(fault_of(literal) == detail::device_name_fault::FAULT, "device name: " WORDS, "error")))
    // clang-format off
    template <std::size_t N>
    consteval device_name(const char (&literal)[N]) // NOLINT: text is a name
        TENON_REFUSE_LITERAL(part_without_a_slash, "a part does not begin with a slash")
        TENON_REFUSE_LITERAL(unknown_part, "a part is none of /job:NAME, /replica:N, /task:N, /device:TYPE:N, /cpu:N and /gpu:N")
        TENON_REFUSE_LITERAL(part_without_a_value, "a part has no value after its colon")
        TENON_REFUSE_LITERAL(part_with_too_many_values, "a part has too many values")
        TENON_REFUSE_LITERAL(job_that_is_no_word, "a job's name is not a letter, then letters, digits and underscores")
        TENON_REFUSE_LITERAL(type_that_is_no_word, "a device type is not a letter, then letters, digits and underscores")
        TENON_REFUSE_LITERAL(job_or_type_that_is_too_long, "a job's name has more than 47 characters, or a device type more than 15")
        TENON_REFUSE_LITERAL(number_that_is_not_decimal, "a number is not made of the digits 0 to 9")
        TENON_REFUSE_LITERAL(number_of_more_than_9_digits, "a number has more than 9 digits")
        TENON_REFUSE_LITERAL(part_given_twice, "a part is given twice")
        TENON_REFUSE_LITERAL(index_without_a_type, "a device index is given, but no type of device");
    // clang-format on
#undef TENON_REFUSE_LITERAL
#pragma clang diagnostic pop
#else
    template <std::size_t N> consteval device_name(const char (&literal)[N]); // NOLINT: text is a name
#endif
    /// Other text is read at run time; throws invalid_argument_error naming the bad part and the whole text.
    template <class Text>
        requires(std::is_convertible_v<const Text&, std::string_view> && !std::is_array_v<Text>)
    constexpr device_name(const Text& text) : device_name(parse(text)) {} // NOLINT

    /// What is wrong with a literal.
    template <std::size_t N> static constexpr detail::device_name_fault fault_of(const char (&literal)[N]);

    /// Nothing is set.
    constexpr bool empty() const noexcept {
        return job.empty() && replica < 0 && task < 0 && type.empty() && index < 0;
    }
    /// Everything is set: it is the name of one device.
    constexpr bool complete() const noexcept {
        return !job.empty() && replica >= 0 && task >= 0 && !type.empty() && index >= 0;
    }
    /// This name, with what it leaves unset taken from `outer`. Type and index are one: where a type is set here, the
    /// other's index does not count (SEMANTICS 2).
    constexpr device_name filled_from(const device_name& outer) const noexcept {
        device_name filled = *this;
        if (job.empty()) filled.job = outer.job;
        if (replica < 0) filled.replica = outer.replica;
        if (task < 0) filled.task = outer.task;
        if (type.empty()) {
            filled.type = outer.type;
            filled.index = outer.index;
        }
        return filled;
    }
    /// Whether a device of this full name is one that is asked for: all that is set here is the same there.
    constexpr bool allows(const device_name& full) const noexcept {
        return (job.empty() || job == full.job) && (replica < 0 || replica == full.replica) &&
               (task < 0 || task == full.task) && (type.empty() || type == full.type) &&
               (index < 0 || index == full.index);
    }

    friend constexpr auto operator<=>(const device_name&, const device_name&) = default;
    friend constexpr bool operator==(const device_name&, const device_name&) = default;

private:
    static constexpr device_name parse(std::string_view text);
};

/// What is set, in canonical order and spelling: "/job:ps/task:1/device:GPU:*". Parsed again, it is the same name.
std::string to_string(const device_name& d);

namespace detail {

struct parsed_device_name {
    device_name name;
    device_name_fault what = device_name_fault::none;
    std::string_view part; ///< where the fault is
};

constexpr bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr char upper_case(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

/// A letter, then letters, digits and underscores: what jobs and types of devices are called.
constexpr bool is_word(std::string_view text) noexcept {
    for (const char c : text)
        if (!is_letter(c) && !is_digit(c) && c != '_') return false;
    return !text.empty() && is_letter(text[0]);
}

constexpr bool same_in_upper_case(std::string_view text, std::string_view upper) noexcept {
    if (text.size() != upper.size()) return false;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (upper_case(text[i]) != upper[i]) return false;
    return true;
}

// One part of a name after another. "job:ps" is split into a key and what follows its first colon.
class device_name_parser {
public:
    constexpr parsed_device_name parse(std::string_view text) {
        while (!text.empty()) {
            std::size_t end = 1;
            while (end < text.size() && text[end] != '/') ++end;
            const std::string_view part = text.substr(0, end);
            const wrong what = part[0] == '/' ? read(part.substr(1)) : wrong::part_without_a_slash;
            if (what != wrong::none) return {device_name(), what, part};
            text = text.substr(end);
        }
        return {name_, device_name_fault::none, {}};
    }

private:
    using wrong = device_name_fault;

    constexpr wrong read(std::string_view part) {
        const std::size_t colon = part.find(':');
        const std::string_view key = part.substr(0, colon);
        const bool cpu = same_in_upper_case(key, "CPU"), gpu = same_in_upper_case(key, "GPU");
        const bool device = key == "device" || cpu || gpu;
        if (!device && key != "job" && key != "replica" && key != "task") return wrong::unknown_part;
        if (colon == std::string_view::npos || colon + 1 == part.size()) return wrong::part_without_a_value;
        const std::string_view value = part.substr(colon + 1);
        if (key == "job")
            return take(has_job_) ? read_word(value, name_.job.text, name_.job.most, wrong::job_that_is_no_word)
                                  : wrong::part_given_twice;
        if (key == "replica") return take(has_replica_) ? read_number(value, name_.replica) : wrong::part_given_twice;
        if (key == "task") return take(has_task_) ? read_number(value, name_.task) : wrong::part_given_twice;
        if (!take(has_device_)) return wrong::part_given_twice;
        if (key == "device") return read_device(value);
        for (std::size_t i = 0; i < key.size(); ++i) name_.type.text[i] = upper_case(key[i]);
        return read_number(value, name_.index);
    }

    constexpr wrong read_device(std::string_view value) {
        const std::size_t colon = value.find(':');
        const std::string_view type = value.substr(0, colon);
        if (const wrong what = read_word(type, name_.type.text, name_.type.most, wrong::type_that_is_no_word);
            what != wrong::none)
            return what;
        for (char& c : name_.type.text) c = upper_case(c);
        if (colon == std::string_view::npos) return wrong::none;
        if (colon + 1 == value.size()) return wrong::part_without_a_value;
        const wrong what = read_number(value.substr(colon + 1), name_.index);
        return what == wrong::none && name_.type.empty() && name_.index >= 0 ? wrong::index_without_a_type : what;
    }

    static constexpr bool take(bool& taken) {
        const bool first = !taken;
        taken = true;
        return first;
    }
    // Not a template: clang 14 would not have it in time for a literal.
    static constexpr wrong read_word(std::string_view value, char* to, std::size_t most, wrong otherwise) {
        if (value == "*") return wrong::none;
        if (value.find(':') != std::string_view::npos) return wrong::part_with_too_many_values;
        if (!is_word(value)) return otherwise;
        if (value.size() > most) return wrong::job_or_type_that_is_too_long;
        for (const char c : value) *to++ = c;
        return wrong::none;
    }
    static constexpr wrong read_number(std::string_view value, int& to) {
        if (value == "*") return wrong::none;
        if (value.find(':') != std::string_view::npos) return wrong::part_with_too_many_values;
        for (const char c : value)
            if (!is_digit(c)) return wrong::number_that_is_not_decimal;
        if (value.size() > 9) return wrong::number_of_more_than_9_digits;
        to = 0;
        for (const char c : value) to = to * 10 + (c - '0');
        return wrong::none;
    }

    device_name name_;
    bool has_job_ = false, has_replica_ = false, has_task_ = false, has_device_ = false;
};

constexpr parsed_device_name parse_device_name(std::string_view text) { return device_name_parser().parse(text); }
// By value: g++ with sanitizers does not compare addresses of template arguments in constant expressions.
template <std::size_t N> constexpr parsed_device_name parse_device_name(fixed_string<N> text) {
    const parsed_device_name parsed = parse_device_name(std::string_view(text.text, N - 1));
    return {parsed.name, parsed.what, {}};
}

} // namespace detail

template <std::size_t N> constexpr detail::device_name_fault device_name::fault_of(const char (&literal)[N]) {
    return detail::parse_device_name(std::string_view(literal, N - 1)).what;
}

template <std::size_t N> consteval device_name::device_name(const char (&literal)[N]) {
    const detail::parsed_device_name parsed = detail::parse_device_name({literal, N - 1});
#if !defined(__clang__)
    using wrong = detail::device_name_fault;
    switch (parsed.what) {
    case wrong::none: break;
    case wrong::part_without_a_slash: detail::malformed_device_name<wrong::part_without_a_slash>(); break;
    case wrong::unknown_part: detail::malformed_device_name<wrong::unknown_part>(); break;
    case wrong::part_without_a_value: detail::malformed_device_name<wrong::part_without_a_value>(); break;
    case wrong::part_with_too_many_values: detail::malformed_device_name<wrong::part_with_too_many_values>(); break;
    case wrong::job_that_is_no_word: detail::malformed_device_name<wrong::job_that_is_no_word>(); break;
    case wrong::type_that_is_no_word: detail::malformed_device_name<wrong::type_that_is_no_word>(); break;
    case wrong::job_or_type_that_is_too_long:
        detail::malformed_device_name<wrong::job_or_type_that_is_too_long>();
        break;
    case wrong::number_that_is_not_decimal: detail::malformed_device_name<wrong::number_that_is_not_decimal>(); break;
    case wrong::number_of_more_than_9_digits:
        detail::malformed_device_name<wrong::number_of_more_than_9_digits>();
        break;
    case wrong::part_given_twice: detail::malformed_device_name<wrong::part_given_twice>(); break;
    case wrong::index_without_a_type: detail::malformed_device_name<wrong::index_without_a_type>(); break;
    }
#endif
    *this = parsed.name;
}

constexpr device_name device_name::parse(std::string_view text) {
    const detail::parsed_device_name parsed = detail::parse_device_name(text);
    if (parsed.what != detail::device_name_fault::none) detail::throw_malformed(parsed, text);
    return parsed.name;
}

inline namespace literals {
/// "/gpu:0"_dev: read by the compiler.
template <fixed_string Literal> constexpr device_name operator""_dev() {
    constexpr detail::parsed_device_name parsed = detail::parse_device_name(Literal);
    static_assert(sizeof(detail::malformed<parsed.what>) > 0);
    return parsed.name;
}
} // namespace literals

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/core/device_name.ipp>
#endif
