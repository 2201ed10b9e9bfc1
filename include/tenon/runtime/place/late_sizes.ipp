#pragma once

#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/runtime/place/late_sizes.hpp>
#include <tenon/runtime/plan/rewrite/prune.hpp>

namespace tenon::runtime {

namespace detail {

class size_estimate {
public:
    size_estimate(const program& p, const given_sizes& told) : p_(p), told_(told), bound_(p.sizes) {
        for (const program_value& v : p.values) all_.push_back({v.type.extents, bytes_known::exactly});
    }
    std::vector<late_sizes> all() && {
        for (const program_item& i : p_.items)
            if (std::any_of(i.outputs.begin(), i.outputs.end(), [&](int v) { return is_open(v); })) estimate(i);
        return std::move(all_);
    }

private:
    late_sizes& at(int v) { return all_[static_cast<std::size_t>(v)]; }
    bool is_open(int v) { return !at(v).sizes.is_static(); }

    void estimate(program_item it) { // a copy, whose attributes are those of these sizes
        std::vector<tensor_type> in;
        // What it has of names is as well known as whoever told them.
        bytes_known known = tells_;
        for (const int v : it.inputs) {
            in.push_back({p_.value(v).type.element, at(v).sizes});
            known = std::max(known, at(v).known);
        }
        const type_list list(in.data(), static_cast<int>(in.size()));
        const bool tells = it.op->is(op_flags::waits) && !it.removed;
        for (std::size_t k = 0; k < it.outputs.size(); ++k) {
            if (!is_open(it.outputs[k])) continue;
            const program_value& value = p_.value(it.outputs[k]);
            late_sizes& is = at(it.outputs[k]);
            const auto by_step = std::find_if(told_.begin(), told_.end(), [&](const auto& t) {
                return t.first == value.origin && t.second.rank() == is.sizes.rank();
            });
            const int output = static_cast<int>(k);
            try {
                if (tells && by_step != told_.end()) is = {by_step->second, bytes_known::last_step};
                else {
                    set_sizes(it.attributes, it, list, bound_);
                    is = {type_in_step(*value.origin.node, it.attributes, list, output, bound_, true).extents, known};
                    if (tells && is_open(it.outputs[k])) {
                        is.known = bytes_known::not_yet;
                        if (it.op->at_most) is = {it.op->at_most(it.attributes, list, output), bytes_known::at_most};
                    }
                }
                bound_.bind(value.origin.node->outputs[static_cast<std::size_t>(value.origin.index)].extents, is.sizes,
                            value.origin);
            } catch (const error&) { // such sizes do not go together
                is = {value.type.extents, bytes_known::not_yet};
            }
            if (tells && is.sizes.is_static()) tells_ = std::max(tells_, is.known);
            if (!is.sizes.is_static()) is.known = bytes_known::not_yet;
        }
    }

    const program& p_;
    const given_sizes& told_;
    size_bindings bound_;
    bytes_known tells_ = bytes_known::exactly; // the least of what names were told from
    std::vector<late_sizes> all_;
};

} // namespace detail

TENON_INLINE std::vector<late_sizes> sizes_of_step(const program& p, const given_sizes& told) {
    return detail::size_estimate(p, told).all();
}

} // namespace tenon::runtime
