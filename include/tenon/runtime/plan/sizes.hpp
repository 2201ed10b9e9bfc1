#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tenon/graph/add_node.hpp>

/// The sizes of tensors in one step.

namespace tenon::runtime {

/// The values that named sizes have in this step, and who said so.
class size_bindings {
public:
    /// Checks sizes against declared ones and learns what the named are; sizes that are not known yet fit all.
    /// invalid_argument_error naming the tensors.
    void bind(const extents& declared, const extents& actual, const node_output& tensor);
    /// The same extents with named sizes replaced by their values, where they are known.
    extents known(extents e) const;

    struct binding {
        const char* name;
        std::int64_t size;
        node_output tensor; ///< that said so
    };
    const std::vector<binding>& all() const noexcept { return known_; }

private:
    const binding* find(const char* name) const;
    std::vector<binding> known_;
};

/// "gather_3 (gather) on /device:CPU:0, made at model.cpp:42". Where nobody knows where, it may be that what it is a gradient of
/// was made somewhere; and where the program has not named it either, the nearest of what it is computed of are told that have a name or
/// a line: ", which is computed of x, made at model.cpp:12, and of w1". `device`: empty where that is not known.
std::string described(const node& n, const std::string& device = {});
/// " [node x (placeholder), made at model.cpp:12]", where the line is known; else nothing.
std::string where_made(const node& n);
/// An error's words of a step that another process ran, with the places of the nodes that they name: those are known here alone.
std::string with_places(const graph& g, std::string message);

/// What the rule of a node says of output k, where its attributes and inputs are as they are in this step. Throws
/// invalid_argument_error with the rule's words, and where nobody else does with the node's name.
tensor_type inferred_in_step(const node& n, const attributes& a, type_list in, int k, bool says_node);

/// The type of output k of a node by its rule, where its attributes and inputs are as they are in this step; what is bound
/// thereby is. What `may_stay_open` may have sizes that only a value will tell. Throws invalid_argument_error with the
/// rule's words, or where sizes are not known that must be; resource_exhausted_error where they are too large.
tensor_type type_in_step(node& n, const attributes& a, type_list in, int k, size_bindings& sizes, bool may_stay_open);

bool all_static(const std::vector<tensor_type>& types);

/// Sizes that only values tell, as they were in a step.
using given_sizes = std::vector<std::pair<node_output, extents>>;

} // namespace tenon::runtime

#if TENON_HEADER_ONLY
#include <tenon/runtime/plan/sizes.ipp>
#endif
