#pragma once

#include <mutex>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/expr/fused.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/ops/collective/all_reduce.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/reshape.hpp>
#include <tenon/train/replicated/all_reduce.hpp>

namespace tenon {

TENON_INLINE std::vector<any_tensor> all_reduce_method::sum(const std::vector<any_tensor>& tensors,
                                                            const std::vector<device_name>& devices) const {
    if (tensors.empty()) throw invalid_argument_error("all_reduce: there are no tensors to sum");
    if (tensors.size() != devices.size())
        throw invalid_argument_error("all_reduce: " + std::to_string(tensors.size()) + " tensors on " +
                                     std::to_string(devices.size()) + " devices; there must be one on each");
    const any_tensor& first = tensors.front();
    for (const any_tensor& t : tensors) {
        detail::require_node(t.node(), "all_reduce: a tensor");
        if (!is_numeric(t.element()))
            throw invalid_argument_error("all_reduce: " + t.name() + " is " + to_string(t.type()) +
                                         "; only numbers have a sum");
        if (t.element() != first.element() || equal_shapes(t.extents(), first.extents()).what != fault::none)
            throw invalid_argument_error("all_reduce: " + first.name() + " is " + to_string(first.type()) + " and " +
                                         t.name() + " is " + to_string(t.type()) + "; all must have the same type");
    }
    if (tensors.size() == 1) return tensors;
    const detail::home_scope scope{graph(first.node()->graph)};
    const name_scope names("all_reduce");
    return add_sums(tensors, devices);
}

namespace detail {
TENON_INLINE any_tensor as_list(const any_tensor& x) {
    return x.rank() == 1 ? x : untyped::reshape(x, extents(extent{}));
}
} // namespace detail

TENON_INLINE std::vector<any_tensor> chunked_all_reduce::add_sums(const std::vector<any_tensor>& tensors,
                                                                  const std::vector<device_name>& devices) const {
    const std::size_t n = tensors.size();
    std::vector<std::vector<any_tensor>> chunks; // by tensor, then by chunk
    for (std::size_t i = 0; i < n; ++i)
        chunks.push_back(
            on(devices[i], [&] { return untyped::split_evenly(detail::as_list(tensors[i]), static_cast<int>(n)); }));
    std::vector<any_tensor> sums;
    for (std::size_t j = 0; j < n; ++j) {
        if (chunks[0][j].extents()[0] == extent(0)) break; // fewer elements than devices
        sums.push_back(on(devices[j], [&] {
            any_tensor sum = chunks[0][j];
            for (std::size_t i = 1; i < n; ++i) sum = detail::add_instruction(opcode::add, {sum, chunks[i][j]});
            return sum;
        }));
    }
    if (sums.empty()) return tensors; // nothing to add
    std::vector<any_tensor> results;
    for (std::size_t i = 0; i < n; ++i)
        results.push_back(on(devices[i], [&] {
            const any_tensor joined = sums.size() == 1 ? sums[0] : untyped::concat(sums, 0);
            return untyped::reshape_like(joined, tensors[i]);
        }));
    return results;
}

TENON_INLINE std::vector<any_tensor> collective_all_reduce::add_sums(const std::vector<any_tensor>& tensors,
                                                                     const std::vector<device_name>& devices) const {
    const std::int64_t meeting = graph(tensors.front().node()->graph).size(); // no two have the same
    const auto after = [](const std::vector<any_tensor>& all) {
        std::vector<node*> nodes;
        for (const any_tensor& t : all) nodes.push_back(t.node());
        return control_dependencies(nodes);
    };
    std::vector<any_tensor> entered, sums;
    {
        const auto together = after(tensors);
        for (std::size_t i = 0; i < tensors.size(); ++i)
            entered.push_back(on(devices[i], [&] {
                return add<all_reduce_op>(
                    {meeting, static_cast<std::int64_t>(i), static_cast<std::int64_t>(tensors.size())}, {tensors[i]});
            }));
    }
    const auto together = after(entered);
    for (std::size_t i = 0; i < tensors.size(); ++i)
        sums.push_back(on(devices[i], [&] { return add<all_reduced_op>({meeting}, {entered[i]}); }));
    return sums;
}

namespace detail {
struct registered_all_reduce {
    std::mutex guard;
    std::shared_ptr<const all_reduce_method> method = std::make_shared<const chunked_all_reduce>();
    static registered_all_reduce& get() {
        static auto& r = *new registered_all_reduce;
        return r;
    }
};
} // namespace detail

TENON_INLINE std::shared_ptr<const all_reduce_method> default_all_reduce() {
    auto& r = detail::registered_all_reduce::get();
    const std::lock_guard lock(r.guard);
    return r.method;
}
TENON_INLINE void register_all_reduce(std::shared_ptr<const all_reduce_method> m) {
    auto& r = detail::registered_all_reduce::get();
    const std::lock_guard lock(r.guard);
    r.method = std::move(m);
}

} // namespace tenon
