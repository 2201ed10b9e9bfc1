#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

#include <tenon/core/config.hpp>

/// Where a program calls what makes nodes, so that an error of a step says which line of a model it is about.
///
///     template <OperandOrIllShaped X> auto twice(const X& x, called_from here = caller()) {
///         const making made(here);
///         return ..
///     }

namespace tenon {

/// A file, as the compiler was given it, and a line; of no line where the file is null. With which function of the library is called there.
struct source_place {
    const char* file = nullptr;
    unsigned line = 0;
    const char* function = nullptr;
};

/// The last parameter of a function that makes nodes, which nobody passes: where it is called. Braces do not make one. What the library's
/// own files call is called nowhere: both paths are of one translation unit, as a library's that was built elsewhere begin otherwise.
class called_from : public source_place {
    constexpr explicit called_from(source_place p) noexcept : source_place(p) {}
    friend constexpr called_from caller(const char* file, unsigned line, std::string_view this_header) noexcept;
};
constexpr called_from caller(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE(),
                             std::string_view this_header = __FILE__) noexcept {
    this_header.remove_suffix(std::string_view("graph/called_from.hpp").size());
    return called_from(std::string_view(file).starts_with(this_header) ? source_place() : source_place{file, line});
}

namespace detail {
/// This thread's, of the nodes that it makes (scope.ipp).
source_place& place_in_force() noexcept;
} // namespace detail

/// While it lives, the nodes that this thread makes are made there, unless a function around it has said where: the outermost call is the
/// program's own.
class making {
public:
    explicit making(source_place here, const char* function = __builtin_FUNCTION()) noexcept; // scope.ipp
    /// Nobody has said where: a function that the program gave is called.
    struct anew {};
    explicit making(anew) noexcept : before_(detail::place_in_force()) { detail::place_in_force() = {}; }
    making(making&&) = delete;
    ~making() { detail::place_in_force() = before_; }

private:
    source_place before_;
};

/// What a function is given before a pack of operands, behind which no default argument can stand: with where it is called.
template <class T> struct located {
    template <std::convertible_to<T> V>
    located(const V& v, called_from here = caller()) : value(v), at(here) {} // NOLINT
    located(called_from here) : value(), at(here) {}                         // NOLINT
    T value;
    source_place at;
};

namespace detail {
/// In place of an operand that is not given: a function of up to four operands knows where it is called, which one of a pack does not.
struct not_given {};
template <class X> inline constexpr bool is_given = !std::is_same_v<X, not_given>;
} // namespace detail

} // namespace tenon
