#pragma once

#include <cstddef>
#include <string_view>

#include <tenon/core/config.hpp>

/// Where a program calls what makes nodes, so that an error of a step says which line of a model it is about.
///
///     template <OperandOrIllShaped X> auto twice(const X& x, called_from here = caller()) {
///         const making made(here);
///         return ..
///     }

namespace tenon {

/// A file, as the compiler was given it, and a line; of no line where the file is null.
struct source_place {
    const char* file = nullptr;
    unsigned line = 0;
};

/// The last parameter of a function that makes nodes, which nobody passes: where it is called. Braces do not make one.
class called_from : public source_place {
    constexpr explicit called_from(source_place p) noexcept : source_place(p) {}
    friend constexpr called_from caller(const char* file, unsigned line) noexcept;
};
constexpr called_from caller(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) noexcept {
    return called_from({file, line});
}

namespace detail {
/// This thread's, of the nodes that it makes (scope.ipp).
source_place& place_in_force() noexcept;
} // namespace detail

/// While it lives, the nodes that this thread makes are made there, unless a function around it has said where: the outermost call is the
/// program's own. What the library's headers call says nothing.
class making {
public:
    explicit making(source_place here) noexcept : making(here, __FILE__) {}
    /// Nobody has said where: a function that the program gave is called.
    struct anew {};
    explicit making(anew) noexcept : before_(detail::place_in_force()) { detail::place_in_force() = {}; }
    making(const making&) = delete;
    making& operator=(const making&) = delete;
    ~making() { detail::place_in_force() = before_; }

private:
    making(source_place here, std::string_view own) noexcept : before_(detail::place_in_force()) {
        constexpr std::string_view in_headers = "graph/called_from.hpp";
        own.remove_suffix(in_headers.size());
        if (!before_.file && here.file && !std::string_view(here.file).starts_with(own))
            detail::place_in_force() = here;
    }
    source_place before_;
};

} // namespace tenon
