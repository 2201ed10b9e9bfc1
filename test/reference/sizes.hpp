#pragma once

#include "reference/order.hpp"

/// The sizes of a step: each op's rule, run with numbers.

namespace reference {

/// The types of all tensors that a step needs, in numbers, and each node's attributes with the step's sizes in them.
/// Throws invalid_argument_error where sizes do not agree, a name has two values, or a placeholder is not fed.
class sizes {
public:
    sizes(const request& r, const order& o);

    const tenon::tensor_type& of(const tenon::node_output& o) const { return types_.at(place_of(o)); }
    /// What the rule answers for an output, fed or not.
    const tenon::tensor_type& made(const tenon::node& n, int output) const { return made_.at({&n, output}); }
    const tenon::attributes& attributes_of(const tenon::node& n) const { return attributes_.at(&n); }

private:
    void bind(const tenon::extents& declared, const tenon::extents& actual, const std::string& whose);
    tenon::extents known(tenon::extents e) const;

    std::map<std::string, std::int64_t> names_;
    std::map<place, tenon::tensor_type> types_, made_;
    std::map<const tenon::node*, tenon::attributes> attributes_;
};

} // namespace reference
