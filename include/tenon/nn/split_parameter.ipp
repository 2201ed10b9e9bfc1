#pragma once

#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/graph/body.hpp>
#include <tenon/nn/split_parameter.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/indexing.hpp>

namespace tenon::nn {

TENON_INLINE split_parameter::split_parameter(const split_parameter& o) : made_(o.made_) {
    copied_parameters* const copying = copied_parameters::now();
    if (!copying) return;
    if (copying->how_ == copied_parameters::copies::cloned)
        throw unimplemented_error(
            "clone: the model has a layer whose weights are split over devices, which is not cloned");
    copying->listed_.insert(copying->listed_.end(), made_->begin(), made_->end());
    if (made_->empty()) copying->listed_.emplace_back();
}

// Columns of the numbers that the whole begins with. They are drawn by rows, so many at a time that they take about as much
// memory as the part.
inline any_tensor initial_columns(const initializer& how, const any_tensor& part, const extents& whole,
                                  std::int64_t first_column, const std::string& name) {
    if (how.kind == initializer::distribution::constant) return detail::initial_value(how, part);
    const std::int64_t rows = whole[0].size, own = part.extents()[1].size;
    const std::int64_t blocks =
        std::clamp<std::int64_t>(whole[1].size / std::max<std::int64_t>(own, 1), 1, std::max<std::int64_t>(rows, 1));
    const detail::owned_scope of(part, detail::owned_scope::part::initializer);
    std::vector<any_tensor> columns;
    for (std::int64_t b = 0; b < blocks; ++b) {
        const std::int64_t begin = rows * b / blocks, end = rows * (b + 1) / blocks;
        const any_tensor drawn = detail::initial_rows(how, part, {end - begin, whole[1].size}, whole, begin, name);
        const range ranges[] = {range{}, range{first_column, first_column + own}};
        columns.push_back(tenon::add<slice_op>(slice_op::attributes_of(ranges, 2), {drawn}));
    }
    return columns.size() == 1 ? columns[0] : tenon::untyped::concat(columns, 0);
}

TENON_INLINE std::vector<any_tensor> split_parameter::make(const tensor_type& part, const std::string& name,
                                                           const initializer& how, int axis,
                                                           const std::vector<device_name>& devices) const {
    const auto parts = static_cast<std::int64_t>(devices.size());
    if (made_->empty()) {
        detail::check_initializer(name, how, part.element);
        extents whole = part.extents;
        whole[axis] = whole[axis].size * parts;
        std::vector<any_tensor> made;
        for (std::int64_t i = 0; i < parts; ++i) {
            const device_scope there(devices[static_cast<std::size_t>(i)]);
            const std::string ending = "/part_" + std::to_string(i);
            const any_tensor v = detail::add_variable(name + ending, part, {});
            // Numbers are drawn by the name that the whole would have.
            std::string called = v.node()->name;
            if (called.ends_with(ending)) called.resize(called.size() - ending.size());
            const std::int64_t first = i * part.extents[axis].size;
            detail::set_initial_value(v,
                                      axis == 0 ? detail::initial_part(how, v, whole, first, called)
                                                : initial_columns(how, v, whole, first, called),
                                      {});
            made.push_back(v);
        }
        *made_ = std::move(made);
        return *made_;
    }
    const any_tensor& first = made_->front();
    if (!(first.type() == part) || static_cast<std::int64_t>(made_->size()) != parts)
        throw invalid_argument_error("a layer whose " + first.name() + " is " + to_string(first.type()) +
                                     " is called with an input for which it would be " + to_string(part) +
                                     "; make another layer for it");
    if (!(graph(first.node()->graph) == detail::outermost_graph()))
        throw invalid_argument_error("a layer whose " + first.name() +
                                     " belongs to another graph is called; make another layer for this graph");
    std::vector<any_tensor> here;
    for (const any_tensor& v : *made_) here.push_back(detail::variable_here(v));
    return here;
}

TENON_INLINE void check_split_devices(const char* layer, const std::vector<device_name>& devices) {
    for (std::size_t i = 0; i < devices.size(); ++i)
        if (devices[i].empty())
            throw invalid_argument_error(std::string(layer) + ": the name of device " + std::to_string(i) + " of " +
                                         std::to_string(devices.size()) +
                                         " is empty; name each, as \"/gpu:" + std::to_string(i) + "\"");
}

} // namespace tenon::nn
