#pragma once

#include <mutex>
#include <string>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/expr/fused.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/ops/collective/all_reduce.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/reshape.hpp>
#include <tenon/train/replicated/all_reduce.hpp>

namespace tenon {

namespace detail {
inline void check_summands(const std::vector<any_tensor>& tensors, const std::vector<device_name>& devices) {
    if (tensors.empty()) throw invalid_argument_error("all_reduce: there are no tensors to sum");
    if (tensors.size() != devices.size())
        throw invalid_argument_error("all_reduce: " + std::to_string(tensors.size()) + " tensors on " +
                                     std::to_string(devices.size()) + " devices; there must be one on each");
    const any_tensor& first = tensors.front();
    for (const any_tensor& t : tensors) {
        require_node(t.node(), "all_reduce: a tensor");
        if (!is_numeric(t.element()))
            throw invalid_argument_error("all_reduce: " + t.name() + " is " + to_string(t.type()) +
                                         "; only numbers have a sum");
        if (t.element() != first.element() || equal_shapes(t.extents(), first.extents()).what != fault::none)
            throw invalid_argument_error("all_reduce: " + first.name() + " is " + to_string(first.type()) + " and " +
                                         t.name() + " is " + to_string(t.type()) + "; all must have the same type");
    }
}
} // namespace detail

TENON_INLINE std::vector<any_tensor> all_reduce_method::sum(const std::vector<any_tensor>& tensors,
                                                            const std::vector<device_name>& devices) const {
    detail::check_summands(tensors, devices);
    if (tensors.size() == 1) return tensors;
    const detail::home_scope scope{graph(tensors.front().node()->graph)};
    const name_scope names("all_reduce");
    return add_sums(tensors, devices);
}

TENON_INLINE std::vector<std::vector<any_tensor>>
all_reduce_method::sum_all(const std::vector<std::vector<any_tensor>>& tensors,
                           const std::vector<device_name>& devices) const {
    for (const std::vector<any_tensor>& t : tensors) detail::check_summands(t, devices);
    if (tensors.empty() || devices.size() == 1) return tensors;
    const detail::home_scope scope{graph(tensors.front().front().node()->graph)};
    const name_scope names("all_reduce");
    std::vector<std::vector<any_tensor>> sums, bucket;
    std::int64_t bytes = 0;
    const auto finish = [&] {
        if (bucket.size() == 1) sums.push_back(add_sums(bucket[0], devices));
        else if (!bucket.empty())
            for (std::vector<any_tensor>& s : add_bucket(bucket, devices)) sums.push_back(std::move(s));
        bucket.clear();
        bytes = 0;
    };
    for (const std::vector<any_tensor>& t : tensors) {
        const std::int64_t size = bytes_of(t[0].type());
        if (bytes + size > bucket_bytes(t, devices) || (!bucket.empty() && bucket[0][0].element() != t[0].element()))
            finish();
        bucket.push_back(t);
        bytes += size;
    }
    finish();
    return sums;
}

TENON_INLINE std::vector<std::vector<any_tensor>>
all_reduce_method::add_bucket(const std::vector<std::vector<any_tensor>>& tensors,
                              const std::vector<device_name>& devices) const {
    std::vector<std::vector<any_tensor>> lists(devices.size());
    std::vector<any_tensor> joined;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const device_scope inside(devices[i]);
        for (const std::vector<any_tensor>& t : tensors) lists[i].push_back(detail::as_list(t[i]));
        joined.push_back(untyped::concat(lists[i], 0));
    }
    joined = add_sums(joined, devices);
    std::vector<std::vector<any_tensor>> sums(tensors.size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const device_scope inside(devices[i]);
        const std::vector<any_tensor> parts = untyped::split_like(joined[i], lists[i], 0);
        for (std::size_t k = 0; k < parts.size(); ++k)
            sums[k].push_back(untyped::reshape_like(parts[k], tensors[k][i]));
    }
    return sums;
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
    return add_bucket({tensors}, devices)[0];
}

TENON_INLINE std::vector<std::vector<any_tensor>>
collective_all_reduce::add_bucket(const std::vector<std::vector<any_tensor>>& tensors,
                                  const std::vector<device_name>& devices) const {
    const std::int64_t meeting = graph(tensors[0][0].node()->graph).size(); // no two have the same
    const auto all = static_cast<std::int64_t>(devices.size());
    std::vector<node*> made, entered;
    for (const std::vector<any_tensor>& t : tensors)
        for (const any_tensor& x : t) made.push_back(x.node());
    {
        const control_dependencies together(made);
        for (std::size_t i = 0; i < devices.size(); ++i) {
            const device_scope inside(devices[i]);
            std::vector<any_tensor> own;
            for (const std::vector<any_tensor>& t : tensors) own.push_back(t[i]);
            const all_reduce_op::attributes how{meeting, static_cast<std::int64_t>(i), all};
            entered.push_back(add_node(definition_of<all_reduce_op>(), std::move(own), encode(how)));
        }
    }
    std::vector<std::vector<any_tensor>> own; // by device
    std::vector<node*> summed;
    {
        const control_dependencies together(entered);
        for (std::size_t i = 0; i < devices.size(); ++i) {
            const device_scope inside(devices[i]);
            summed.push_back(add_node(definition_of<all_reduced_op>(), detail::outputs_of(entered[i]),
                                      encode(all_reduced_op::attributes{meeting})));
            own.push_back(detail::outputs_of(summed.back()));
        }
    }
    // Where one device's sums are asked for all end: what others have entered lies there until then, although nobody reads their sums.
    const control_dependencies all_summed(summed);
    std::vector<std::vector<any_tensor>> sums(tensors.size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
        const device_scope inside(devices[i]);
        for (std::size_t k = 0; k < tensors.size(); ++k) sums[k].push_back(untyped::identity(own[i][k]));
    }
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
