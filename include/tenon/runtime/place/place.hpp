#pragma once

#include <vector>

#include <tenon/runtime/place/explanation.hpp>
#include <tenon/runtime/place/placer.hpp>
#include <tenon/runtime/plan/program.hpp>

/// Devices for a program's items.

namespace tenon::runtime {

/// Chooses devices for what the rules leave open.
class placement_strategy {
public:
    virtual ~placement_strategy() = default;
    /// Changes `device` and `rule` of groups that are not fixed, within their candidates.
    virtual void choose(const program& p, const plan_options& o, std::vector<placement_group>& groups) = 0;
    /// Tells what it thinks of a program that was placed, and of what the rules chose for it.
    virtual void explain(const program& p, const plan_options& o, const placer& by, placement_explanation& e) = 0;
};

/// Gives each item its device; nothing is allocated. Without a strategy the rules decide all. Throws what placer::place
/// throws.
void place(program& p, const plan_options& o, placer& by, placement_strategy* strategy);

/// Of a program that was placed: each node, and each tensor that one reads from another. `told`: what is known of sizes that only
/// a step tells.
placement_explanation explain(const program& p, const plan_options& o, const placer& by, placement_strategy* strategy,
                              const given_sizes& told = {});

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/place/place.ipp>
#endif
