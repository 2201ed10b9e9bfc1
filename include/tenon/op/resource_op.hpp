#pragma once

#include <tenon/op/op_definition.hpp>

/// What ops have in common that use a resource (a queue, an iterator), which the node of their input 0 stands for.

namespace tenon::detail {

struct resource_use {
    static constexpr element_types gpu_types = no_elements;
    static constexpr op_flags flags = op_flags::stateful | op_flags::uses;
    /// Who it is is known without its value.
    static constexpr bool needs_value(const auto&, int input) { return input > 0; }
};
/// The same of an op that waits.
template <class Use> struct waiting : Use { static constexpr op_flags flags = Use::flags | op_flags::waits; };
/// in: the resource. So many scalars that it tells of itself.
template <class Use, element_type Told, int Outputs = 1> struct asking : Use {
    using attributes = no_attributes;
    static constexpr int outputs(const attributes&, int) { return Outputs; }
    static constexpr inferred infer(const attributes&, type_list in, int) {
        return in.size() == 1 ? inferred(Told, {}) : inferred(fault::expects_more_operands);
    }
};
/// in: the resource. It is told to do something.
template <class Use> struct telling : Use {
    static constexpr int outputs(const auto&, int) { return 0; }
    static constexpr inferred infer(const auto&, type_list in, int) {
        return in.size() == 1 ? fault::none : fault::expects_more_operands;
    }
};

} // namespace tenon::detail
