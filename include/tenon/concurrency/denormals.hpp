#pragma once

#include <cstdint>

#include <tenon/core/config.hpp>

/// Denormal numbers: those nearer to 0 than the least number with a full mantissa. On many processors an instruction that
/// meets one takes a hundred times as long.

namespace tenon {

#if defined(__x86_64__) || defined(__aarch64__)
inline constexpr bool can_flush_denormals = true;
#else
inline constexpr bool can_flush_denormals = false;
#endif

/// How this thread treats denormal numbers, in the bits that its processor has for that.
inline unsigned denormal_mode() noexcept;

#if defined(__x86_64__)
/// The mode in which operands and results that are denormal are 0.
inline constexpr unsigned flushed_denormals = 0x8040; // MXCSR: FTZ, DAZ
inline unsigned denormal_mode() noexcept { return __builtin_ia32_stmxcsr() & flushed_denormals; }
#elif defined(__aarch64__)
inline constexpr unsigned flushed_denormals = 1U << 24; // FPCR: FZ
inline unsigned denormal_mode() noexcept {
    std::uint64_t control;
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(control));
    return static_cast<unsigned>(control) & flushed_denormals;
}
#else
inline constexpr unsigned flushed_denormals = 1;
inline unsigned denormal_mode() noexcept { return 0; }
#endif

/// While one exists, its thread treats denormal numbers so; then again as before.
class denormal_scope {
public:
    explicit denormal_scope(unsigned mode) noexcept : mode_(mode), before_(denormal_mode()) {
        if (mode_ != before_) set(mode_);
    }
    ~denormal_scope() {
        if (mode_ != before_) set(before_);
    }
    denormal_scope(denormal_scope&&) = delete;

private:
    static void set([[maybe_unused]] unsigned mode) noexcept {
#if defined(__x86_64__)
        __builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & ~flushed_denormals) | mode);
#elif defined(__aarch64__)
        std::uint64_t control;
        __asm__ __volatile__("mrs %0, fpcr" : "=r"(control));
        control = (control & ~std::uint64_t{flushed_denormals}) | mode;
        __asm__ __volatile__("msr fpcr, %0" : : "r"(control));
#endif
    }

    unsigned mode_, before_;
};

} // namespace tenon
