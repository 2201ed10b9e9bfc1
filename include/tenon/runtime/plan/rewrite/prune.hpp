#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include <tenon/runtime/plan/program.hpp>

namespace tenon::runtime {

/// The nodes that the request needs, with all sizes but those that ops which wait will tell. Errors: a placeholder that is
/// not fed, sizes that do not agree, a named size with two values.
program prune(const request& r);

/// Makes `to` the attributes that an item has in this step, where named sizes are known and its inputs are of these types; the sizes of
/// `it` itself may be open still.
void set_sizes(attributes& to, const program_item& it, type_list in, const size_bindings& sizes);

/// The nodes that run in a step which is asked for this; types of feeds are not looked at.
std::vector<const node*> nodes_that_run(const request& r);

/// What is known of a program's open sizes since some were told. The program stays as it is: others may be told other sizes.
struct late_types {
    size_bindings sizes;
    std::unordered_map<int, tensor_type> types;            ///< by value
    std::unordered_map<int, tenon::attributes> attributes; ///< by item
    const tensor_type& type_of(const program& p, int value) const {
        const auto at = types.find(value);
        return at == types.end() ? p.value(value).type : at->second;
    }
};
/// What follows for these items, which are in order, from the sizes of values that were told. Errors as above.
late_types infer_late(const program& p, const std::vector<int>& items,
                      const std::vector<std::pair<int, extents>>& told);

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/plan/rewrite/prune.ipp>
#endif
