#pragma once

#include "reference/order.hpp"

/// The sizes of a step: each op's rule, run with numbers.

namespace reference {

/// The types of all tensors that a step needs, and each node's attributes with the step's sizes in them. What waits may leave
/// sizes open until it has run: what comes after it is settled then.
class sizes {
public:
    /// Throws invalid_argument_error where sizes do not agree, a name has two values, or a placeholder is not fed.
    sizes(const request& r, const order& o);

    const tenon::tensor_type& of(const tenon::node_output& o) const { return types_.at(place_of(o)); }
    /// What the rule answers for an output, fed or not.
    const tenon::tensor_type& made(const tenon::node& n, int output) const { return made_.at({&n, output}); }

    /// Asks the rule of a node again, for inputs of these types: `a` becomes its attributes, the types of its outputs are
    /// answered. Throws invalid_argument_error as the constructor does.
    std::vector<tenon::tensor_type> outputs(const tenon::node& n, const std::vector<tenon::tensor_type>& in,
                                            tenon::attributes& a);
    /// The same with what is known now. False where a size of an input is not.
    bool settle(const tenon::node& n);
    /// An output of what waited has these sizes.
    void tell(const tenon::node_output& o, const tenon::tensor_type& t);
    /// Whether two that told a size late told two sizes of one name: which of them is at fault depends on who was first.
    bool late_names_disagree() const { return disagree_; }

private:
    void bind(const tenon::extents& declared, const tenon::extents& actual, const std::string& whose);
    tenon::extents known(tenon::extents e) const;

    std::map<std::string, std::int64_t> names_;
    std::map<place, tenon::tensor_type> types_, made_;
    bool late_ = false, disagree_ = false;
};

} // namespace reference
