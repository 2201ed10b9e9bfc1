#pragma once

#include <cstdint>
#include <vector>

#include <tenon/runtime/plan/program.hpp>

namespace tenon::runtime {

/// What an item's output is of its input, where it need not run: the same tensor, or the same memory in other sizes.
enum class view_kind { none, same, reshaped };
view_kind view_kind_of(const program_item& i);

/// Results of constants that take more bytes are computed in each step.
inline constexpr std::int64_t most_folded_bytes = 1 << 20;

/// Folds constants, sees through identities and reshapes, fuses elementwise items and epilogues.
void rewrite(program& p, const plan_options& o);

/// An elementwise item, and another that makes an operand of it without being a part of it; why.
struct apart {
    int reader, maker;
    const char* why;
};
/// Of a program that was rewritten.
std::vector<apart> parts_of_passes(const program& p);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/plan/rewrite/rewrite.ipp>
#endif
