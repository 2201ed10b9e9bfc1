#include "reference/compute.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <tenon/core/error.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/expr/fused.hpp>
#include <tenon/op/kernel.hpp>
#include <tenon/ops/shape/scatter.hpp>
#include <tenon/resources/resources.hpp>

#include "reference/bodies.hpp"
#include "reference/choose.hpp"
#include "reference/tape.hpp"

namespace tn = tenon;

namespace reference {

namespace {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

shared_array in_sizes(const shared_array& a, const tn::extents& sizes) {
    return std::make_shared<const tn::any_array>(a->share().reshape(sizes));
}

std::vector<shared_array> by_kernel(const work& w) {
    tn::resource_manager resources;
    if (w.runs) resources.counters("")->of(w.node.name)->runs = *w.runs;
    const tn::type_list in(w.inputs.data(), static_cast<int>(w.inputs.size()));
    const tn::type_list out(w.outputs.data(), static_cast<int>(w.outputs.size()));
    const body_evaluator bodies(w.shaken);
    const tn::kernel_pointer k = w.node.op->cpu({.node = w.node,
                                                 .attrs = w.attributes,
                                                 .inputs = in,
                                                 .outputs = out,
                                                 .threads = 1,
                                                 .resources = &resources,
                                                 .graph_seed = w.graph_seed,
                                                 .bodies = &bodies});
    std::vector<shared_array> results;
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const shared_array& v : w.values) from.push_back(v ? v->data() : nullptr);
    for (const tn::tensor_type& t : w.outputs) {
        auto made = std::make_shared<tn::any_array>(t.element, t.extents);
        to.push_back(made->data());
        results.push_back(std::move(made));
    }
    tn::any_array scratch(tn::element_type::uint8, tn::extents(static_cast<std::int64_t>(k->scratch_bytes())));
    k->run({from.data(), to.data(), static_cast<std::byte*>(scratch.data()), nullptr});
    if (w.runs) *w.runs = resources.counters("")->of(w.node.name)->runs;
    return results;
}

} // namespace

std::vector<shared_array> compute(const work& w) {
    const std::string_view op = w.node.op->name;
    if (op == "constant")
        return {std::make_shared<const tn::any_array>(
            w.attributes.get<std::shared_ptr<const tn::any_array>>("value")->share())};
    if (is_one_of(op, {"identity", "stop_gradient", "ensure_shape", "placeholder_with_default", "reshape", "squeeze",
                       "expand_dims", "reshape_like", "test_trip"}))
        return {in_sizes(w.values[0], w.outputs[0].extents)};
    if (op == "test_pause") return {w.values[0]}; // whose sizes its rule may leave open
    if (op == "no_op") return {};
    if (op == "fused") {
        std::vector<shared_array> results = by_loops(w);
        if (!results.empty()) return results;
    }
    if (std::vector<shared_array> results = chosen(w); !results.empty()) return results;
    if (!w.node.op->cpu) throw tn::internal_error(w.node.name + ": " + w.node.op->name + " has no kernel for CPUs");
    return by_kernel(w);
}

shared_array scattered(const work& w, const shared_array& variable) {
    using way = tn::scatter_op::way;
    const way how = tn::decode<tn::scatter_op::attributes>(w.attributes).how;
    auto made = std::make_shared<tn::any_array>(variable->copy());
    const tn::any_array &indices = *w.values[1], &updates = *w.values[2];
    const std::int64_t rows = made->extents()[0].size;
    std::int64_t row = 1;
    for (int d = 1; d < made->rank(); ++d) row *= made->extents()[d].size;
    const auto index = [&](std::int64_t i) {
        return indices.element() == tn::element_type::int32 ? indices.data<std::int32_t>()[i]
                                                            : indices.data<std::int64_t>()[i];
    };
    for (std::int64_t i = 0; i < indices.elements(); ++i)
        if (index(i) < 0 || index(i) >= rows)
            throw tn::invalid_argument_error(w.node.name + ": an index is out of range");
    tn::detail::with_element(made->element(), [&]<class T>(const T&) {
        T* to = made->data<T>();
        const T* from = updates.data<T>();
        for (std::int64_t i = 0; i < indices.elements(); ++i)
            for (std::int64_t k = 0; k < row; ++k) {
                T& x = to[index(i) * row + k];
                const T y = updates.rank() == 0 ? from[0] : from[i * row + k];
                if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) x = y;
                else switch (how) {
                    case way::update: x = y; break;
                    case way::add: x = one_instruction(tn::opcode::add, x, y); break;
                    case way::subtract: x = one_instruction(tn::opcode::subtract, x, y); break;
                    case way::multiply: x = one_instruction(tn::opcode::multiply, x, y); break;
                    case way::divide: x = one_instruction(tn::opcode::divide, x, y); break;
                    case way::minimum: x = one_instruction(tn::opcode::minimum, x, y); break;
                    default: x = one_instruction(tn::opcode::maximum, x, y); break;
                    }
            }
    });
    return made;
}

bool is_exact(const work& w, bool other_functions) {
    const std::string_view op = w.node.op->name;
    if (std::none_of(w.outputs.begin(), w.outputs.end(),
                     [](const tn::tensor_type& t) { return tn::is_floating(t.element); }))
        return true;
    if (op == "fused") { // exact but for what is summed
        const auto a = tn::decode<tn::fused_op::attributes>(w.attributes);
        for (int r = 0; other_functions && r < a.tape->length; ++r)
            if (tn::info_of(a.tape->code[r].op).group == tn::opcode_group::real) return false;
        tn::extents all;
        for (const tn::tensor_type& t : w.inputs) all = tn::broadcast(all, t.extents).extents;
        for (int o = 0; o < a.tape->output_count; ++o)
            if (const int like = a.tape->outputs[o].like;
                like >= 0 && w.inputs[static_cast<std::size_t>(like)].extents.elements() != all.elements())
                return false;
        return true;
    }
    return is_one_of(op, {"constant",
                          "identity",
                          "stop_gradient",
                          "ensure_shape",
                          "placeholder_with_default",
                          "reshape",
                          "squeeze",
                          "expand_dims",
                          "reshape_like",
                          "transpose",
                          "broadcast_to",
                          "broadcast_like",
                          "concat",
                          "split",
                          "split_like",
                          "stack",
                          "unstack",
                          "gather",
                          "slice",
                          "reverse",
                          "pad",
                          "tile",
                          "one_hot",
                          "fill_like",
                          "min",
                          "max",
                          "max_pool2d",
                          "random_uniform",
                          "random_normal",
                          "random_shuffle",
                          "assign",
                          "scatter",
                          "test_pause",
                          "test_trip",
                          "boolean_mask",
                          "boolean_mask_gradient",
                          "unique",
                          "route_rows",
                          "join_rows"});
}

bool has_denormals(const tn::any_array& a) {
    bool found = false;
    tn::detail::with_element(a.element(), [&]<class T>(const T&) {
        if constexpr (std::is_floating_point_v<T>)
            for (std::int64_t i = 0; i < a.elements(); ++i)
                found = found || std::fpclassify(a.data<T>()[i]) == FP_SUBNORMAL;
    });
    return found;
}

bool is_finite(const tn::any_array& a) {
    bool finite = true;
    tn::detail::with_element(a.element(), [&]<class T>(const T&) {
        if constexpr (!std::is_same_v<T, std::string>)
            if (tn::is_floating(tn::element_type_of<T>))
                for (std::int64_t i = 0; i < a.elements(); ++i)
                    finite = finite && std::isfinite(static_cast<double>(a.data<T>()[i]));
    });
    return finite;
}

} // namespace reference
