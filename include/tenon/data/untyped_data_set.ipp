#pragma once

#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/data/steps/kept_failure.hpp>
#include <tenon/data/steps/steps.hpp>
#include <tenon/data/untyped_data_set.hpp>
#include <tenon/graph/graph.hpp>
#include <tenon/ops/control/control.hpp>

namespace tenon {

namespace detail {

class host_function final : public element_function {
public:
    host_function(shared_function<void(data_element&)> f, std::vector<tensor_type> types) :
        map_(std::move(f)), types_(std::move(types)) {}
    explicit host_function(shared_function<bool(const data_element&)> f) : keep_(std::move(f)) {}
    bool apply(data_element& x, std::uint64_t) const override {
        if (keep_) return keep_(x);
        map_(x);
        if (x.size() != types_.size())
            throw invalid_argument_error("the function gives " + std::to_string(x.size()) + " components, not " +
                                         to_string(types_));
        for (std::size_t c = 0; c < x.size(); ++c)
            if (const std::string why = misfit(x[c].type(), types_[c]); !why.empty())
                throw invalid_argument_error("component " + std::to_string(c) + " of what the function gives: " + why);
        return true;
    }
    bool may_wait() const override { return true; }
    bool may_leave_out() const override { return static_cast<bool>(keep_); }

private:
    shared_function<void(data_element&)> map_;
    shared_function<bool(const data_element&)> keep_;
    std::vector<tensor_type> types_; // of what map_ gives
};

inline std::vector<tensor_type> types_of_tensors(const std::vector<any_tensor>& all) {
    std::vector<tensor_type> types;
    for (const any_tensor& t : all) types.push_back(t.type());
    return types;
}

// A graph that holds placeholders for an element, and what f makes of them.
struct traced_function {
    graph g;
    std::vector<any_tensor> inputs, outputs;

    traced_function(const char* step, const std::vector<tensor_type>& types,
                    const shared_function<std::vector<any_tensor>(const std::vector<any_tensor>&)>& f) {
        const graph_scope here(g);
        for (std::size_t c = 0; c < types.size(); ++c)
            inputs.push_back(
                untyped::placeholder(types[c].element, types[c].extents, "component_" + std::to_string(c)));
        try {
            outputs = f(inputs);
        } catch (...) {
            throw_at(step);
        }
        if (outputs.empty()) throw invalid_argument_error(std::string(step) + ": the function gives nothing");
        for (const any_tensor& t : outputs) {
            const node* const n = require_node(t.node(), "data set: what the function gives");
            if (n->graph != g.state())
                throw invalid_argument_error(std::string(step) + ": the function gives " + t.name() +
                                             ", which is not computed of the element: it is of another graph");
        }
    }
};

// A data set as graphs know it: how it is gone through belongs to it.
class data_set_source final : public element_source {
public:
    explicit data_set_source(const untyped::data_set& s) : set_(s) {}
    const std::vector<tensor_type>& components() const override { return set_.components(); }
    std::unique_ptr<element_stream> open() const override { return set_.last()->open(set_.options()); }
    bool may_wait() const override { return set_.last()->may_wait(); }

private:
    const untyped::data_set set_;
};

// Why at() cannot be asked; empty: it can.
inline std::string why_not_at(const data_node& last) {
    if (std::string why = last.no_access(); !why.empty()) return why;
    // What is gone through more than once in each going through gives others then, where it changes.
    std::vector<const data_node*> seen, left{&last};
    while (!left.empty()) {
        const data_node* const n = left.back();
        left.pop_back();
        if (std::find(seen.begin(), seen.end(), n) != seen.end()) {
            if (n->changes()) return n->step() + " is there twice, and gives others the second time";
            continue;
        }
        seen.push_back(n);
        for (const data_node::pointer& i : n->inputs()) left.push_back(i.get());
    }
    return {};
}

inline void require_place(const char* who, const data_node& last, std::int64_t i) {
    if (const std::string why = why_not_at(last); !why.empty())
        throw unimplemented_error(std::string("data_set::") + who + ": " + why +
                                  ", so none has a number by which it could be had; cache() behind it keeps all in "
                                  "memory, where at() finds them");
    const std::int64_t size = last.size();
    if (i < 0 || (size >= 0 && i >= size)) throw_no_element(i, size);
}

inline std::vector<data_node::pointer> last_steps(const char* step, const std::vector<untyped::data_set>& all) {
    if (all.empty()) throw invalid_argument_error(std::string(step) + ": of no data sets; give one at least");
    std::vector<data_node::pointer> steps;
    for (const untyped::data_set& single : all) steps.push_back(single.last());
    return steps;
}

} // namespace detail

TENON_INLINE std::string data_run::save() {
    state_writer to;
    stream_->save(to);
    return std::move(to).take();
}

TENON_INLINE void data_run::restore(const std::string& state) {
    state_reader from(state);
    stream_->restore(from);
    from.require_end();
}

namespace untyped {

TENON_INLINE data_set data_set::skip(std::int64_t n) const { return then(detail::skipped(last_, n)); }
TENON_INLINE data_set data_set::take(std::int64_t n) const { return then(detail::taken(last_, n)); }
TENON_INLINE data_set data_set::shard(std::int64_t count, std::int64_t index) const {
    return then(detail::sharded(last_, count, index));
}
TENON_INLINE data_set data_set::repeat(std::int64_t times) const { return then(detail::repeated(last_, times)); }
TENON_INLINE data_set data_set::shuffle(std::int64_t buffer, const shuffle_options& o) const {
    return then(detail::shuffled(last_, buffer, o.seed, o.reshuffle_each_epoch));
}
TENON_INLINE data_set data_set::concatenate(const data_set& next) const {
    return then(detail::concatenated(last_, next.last_));
}
TENON_INLINE data_set data_set::enumerate(std::int64_t first) const { return then(detail::enumerated(last_, first)); }
TENON_INLINE data_set data_set::batch(std::int64_t n, const batching_options& o, const extent& size) const {
    return then(detail::batched(last_, n, o.drop_remainder, size));
}
TENON_INLINE data_set data_set::padded_batch(std::int64_t n, const batching_options& o, const extent& size,
                                             std::vector<any_array> fill) const {
    return then(detail::padded_batched(last_, n, o.drop_remainder, size, std::move(fill)));
}
TENON_INLINE data_set data_set::bucket_by_length(shared_function<std::int64_t(const element&)> length,
                                                 std::vector<std::int64_t> boundaries,
                                                 std::vector<std::int64_t> batch_sizes, const batching_options& o,
                                                 const extent& size, std::vector<any_array> fill) const {
    return then(detail::bucketed(last_, std::move(boundaries), std::move(batch_sizes), std::move(length),
                                 o.drop_remainder, size, std::move(fill)));
}
TENON_INLINE data_set data_set::unbatch() const { return then(detail::unbatched(last_)); }
TENON_INLINE data_set data_set::window(std::int64_t n, const window_options& o, const extent& size) const {
    return then(detail::windowed(last_, n, o.shift == 0 ? n : o.shift, o.stride, o.drop_remainder, size));
}
TENON_INLINE data_set data_set::prefetch(std::int64_t n) const { return then(detail::prefetched(last_, n)); }
TENON_INLINE data_set data_set::ignore_errors() const { return then(detail::without_failures(last_)); }
TENON_INLINE data_set data_set::cache(const std::string& path) const { return then(detail::cached(last_, path)); }

TENON_INLINE data_set data_set::map(const shared_function<std::vector<any_tensor>(const std::vector<any_tensor>&)>& f,
                                    const map_options& o) const {
    const detail::traced_function traced("map", components(), f);
    return then(detail::transformed("map", last_, detail::types_of_tensors(traced.outputs),
                                    detail::graph_function(traced.g, traced.inputs, traced.outputs, false),
                                    {o.parallelism, o.ordered}));
}

TENON_INLINE data_set data_set::filter(const shared_function<any_tensor(const std::vector<any_tensor>&)>& f,
                                       const map_options& o) const {
    const detail::traced_function traced(
        "filter", components(), [&f](const std::vector<any_tensor>& in) { return std::vector<any_tensor>{f(in)}; });
    const tensor_type says = traced.outputs[0].type();
    if (!(says == tensor_type{element_type::boolean, {}}))
        throw invalid_argument_error("filter: the function gives " + to_string(says) +
                                     "; it must say of an element, as a bool without dimensions, whether it stays");
    return then(detail::transformed("filter", last_, components(),
                                    detail::graph_function(traced.g, traced.inputs, traced.outputs, true),
                                    {o.parallelism, o.ordered}));
}

TENON_INLINE data_set data_set::map_host(std::vector<tensor_type> types, const shared_function<void(element&)>& f,
                                         const map_options& o) const {
    const auto function = std::make_shared<const detail::host_function>(f, types);
    return then(detail::transformed("map_host", last_, std::move(types), function, {o.parallelism, o.ordered}));
}

TENON_INLINE data_set data_set::filter_host(const shared_function<bool(const element&)>& f,
                                            const map_options& o) const {
    return then(detail::transformed("filter_host", last_, components(),
                                    std::make_shared<const detail::host_function>(f), {o.parallelism, o.ordered}));
}

TENON_INLINE data_set data_set::interleave(std::vector<tensor_type> types,
                                           const shared_function<data_set(const element&)>& f,
                                           const interleave_options& o) const {
    return then(detail::interleaved(
        "interleave", last_, std::move(types), [f](const element& x) { return f(x).last(); }, o.cycle_length,
        o.block_length, o.parallelism));
}

TENON_INLINE data_set data_set::flat_map(std::vector<tensor_type> types,
                                         const shared_function<data_set(const element&)>& f) const {
    return then(detail::interleaved(
        "flat_map", last_, std::move(types), [f](const element& x) { return f(x).last(); }, 1, 1, 1));
}

TENON_INLINE data_set data_set::scan(
    carried_state state, const shared_function<std::vector<any_tensor>(const std::vector<any_tensor>&)>& f) const {
    std::vector<tensor_type> types = state.types;
    types.insert(types.end(), components().begin(), components().end());
    const detail::traced_function traced("scan", types, f);
    return then(detail::scanned("scan", last_, std::move(state.initial), state.types,
                                detail::types_of_tensors(traced.outputs),
                                detail::graph_function(traced.g, traced.inputs, traced.outputs, false)));
}

TENON_INLINE data_set data_set::scan_host(carried_state state, const std::vector<tensor_type>& types,
                                          const shared_function<void(element&)>& f) const {
    std::vector<tensor_type> all = state.types;
    all.insert(all.end(), types.begin(), types.end());
    return then(detail::scanned("scan_host", last_, std::move(state.initial), state.types, all,
                                std::make_shared<const detail::host_function>(f, all)));
}

TENON_INLINE data_set
data_set::group_by_window(std::vector<tensor_type> types, const shared_function<std::int64_t(const element&)>& key,
                          const shared_function<std::int64_t(std::int64_t)>& size,
                          const shared_function<data_set(std::int64_t, const data_set&)>& f) const {
    return then(
        detail::grouped(last_, std::move(types), key, size, [f](std::int64_t k, detail::data_node::pointer window) {
            return f(k, data_set(std::move(window))).last();
        }));
}

TENON_INLINE data_set data_set::take_while(const shared_function<bool(const element&)>& f) const {
    return then(detail::taken_while(last_, f));
}

TENON_INLINE std::string data_set::why_not_at() const { return detail::why_not_at(*last_); }

TENON_INLINE data_set::element data_set::at(std::int64_t i) const {
    detail::require_place("at", *last_, i);
    element x;
    last_->at(i, 0, x);
    return x;
}

TENON_INLINE data_set data_set::select(std::vector<std::int64_t> places) const {
    for (const std::int64_t i : places) detail::require_place("select", *last_, i);
    return then(detail::selected(last_, std::move(places)));
}

TENON_INLINE std::shared_ptr<const element_source> data_set::source() const {
    return std::make_shared<const detail::data_set_source>(*this);
}

TENON_INLINE data_set zip(const std::vector<data_set>& all) {
    return data_set(detail::zipped(detail::last_steps("zip", all)), all.front().options());
}

TENON_INLINE data_set sample(const std::vector<data_set>& all, std::vector<double> weights, std::uint64_t seed) {
    return data_set(detail::sampled(detail::last_steps("sample", all), std::move(weights), seed),
                    all.front().options());
}

} // namespace untyped
} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/data/steps/batching.ipp>
#include <tenon/data/steps/buffering.ipp>
#include <tenon/data/steps/carrying/cache.ipp>
#include <tenon/data/steps/carrying/group_by_window.ipp>
#include <tenon/data/steps/carrying/scan.ipp>
#include <tenon/data/steps/carrying/select.ipp>
#include <tenon/data/steps/carrying/take_while.ipp>
#include <tenon/data/steps/nested.ipp>
#include <tenon/data/steps/order.ipp>
#include <tenon/data/steps/transform.ipp>
#endif
