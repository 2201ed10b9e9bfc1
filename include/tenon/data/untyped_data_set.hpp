#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/shared_function.hpp>
#include <tenon/data/steps/pipeline.hpp>
#include <tenon/graph/tensor.hpp>

/// Data sets whose element types are known at run time only, and what those with types are handles on.

namespace tenon::data {

/// A name, of a file or a column, or several, in braces or as a vector.
class name_list {
public:
    template <std::convertible_to<std::string> Name> name_list(const Name& name) : all_{std::string(name)} {} // NOLINT
    name_list(std::initializer_list<std::string> names) : all_(names) {}
    name_list(std::vector<std::string> names) : all_(std::move(names)) {} // NOLINT
    const std::vector<std::string>& all() const noexcept { return all_; }

private:
    std::vector<std::string> all_;
};

} // namespace tenon::data

namespace tenon {

struct shuffle_options {
    /// The same seed gives the same orders; 0: one is drawn from the system.
    std::uint64_t seed = 0;
    /// In each round of repeat(), and in each epoch that has a number, as those of fit, the order is another one.
    bool reshuffle_each_epoch = true;
};
struct batching_options {
    bool drop_remainder = false; ///< leaves out a last batch that is not full
};
struct map_options {
    /// Elements that are computed at the same time, by threads of the data set's own or by who asks for them; autotune: as many as
    /// it takes.
    int parallelism = 1;
    /// False: each as soon as it is ready, whatever the order.
    bool ordered = true;
};
struct interleave_options {
    std::int64_t cycle_length = 4; ///< data sets that are gone through at a time
    std::int64_t block_length = 1; ///< elements of each in turn
    /// So many threads, who asks among them, go through those that are open, ahead where that pays; the order is the same. autotune: as
    /// many as there are cores.
    int parallelism = 1;
};
struct window_options {
    std::int64_t shift = 0;  ///< elements from one window to the next; 0: the window's size
    std::int64_t stride = 1; ///< elements from one in the window to the next
    bool drop_remainder = false;
};

namespace untyped {

/// What is handed on from element to element: arrays, and what is known of all that take their place.
struct carried_state {
    std::vector<any_array> initial;
    std::vector<tensor_type> types;
};

/// The functions say what those of tenon::data_set say; what does not fit is an invalid_argument_error.
class data_set {
public:
    using element = std::vector<any_array>;

    explicit data_set(detail::data_node::pointer last, const data_options& o = {}) :
        last_(std::move(last)), options_(o) {}

    const std::vector<tensor_type>& components() const { return last_->components(); }
    std::int64_t size() const { return std::max<std::int64_t>(last_->size(), -1); }
    element at(std::int64_t i) const;
    std::string why_not_at() const;

    data_set skip(std::int64_t n) const;
    data_set take(std::int64_t n) const;
    data_set shard(std::int64_t count, std::int64_t index) const;
    data_set repeat(std::int64_t times = -1) const;
    data_set shuffle(std::int64_t buffer, const shuffle_options& o = {}) const;
    data_set select(std::vector<std::int64_t> places) const;
    data_set concatenate(const data_set& next) const;
    data_set enumerate(std::int64_t first = 0) const;
    /// `size`: what the types say of n.
    data_set batch(std::int64_t n, const batching_options& o = {}, const extent& size = {}) const;
    data_set padded_batch(std::int64_t n, const batching_options& o = {}, const extent& size = {},
                          std::vector<any_array> fill = {}) const;
    data_set bucket_by_length(shared_function<std::int64_t(const element&)> length,
                              std::vector<std::int64_t> boundaries, std::vector<std::int64_t> batch_sizes,
                              const batching_options& o = {}, const extent& size = {},
                              std::vector<any_array> fill = {}) const;
    data_set unbatch() const;
    data_set window(std::int64_t n, const window_options& o = {}, const extent& size = {}) const;
    data_set prefetch(std::int64_t n = autotune) const;
    data_set cache(const std::string& path = {}) const;
    data_set ignore_errors() const;
    /// f gives tensors of those that it is given, in a graph of its own.
    data_set map(const shared_function<std::vector<any_tensor>(const std::vector<any_tensor>&)>& f,
                 const map_options& o = {}) const;
    data_set filter(const shared_function<any_tensor(const std::vector<any_tensor>&)>& f,
                    const map_options& o = {}) const;
    /// f replaces the element; what it makes of it has these types. For several threads, where that is asked for.
    data_set map_host(std::vector<tensor_type> types, const shared_function<void(element&)>& f,
                      const map_options& o = {}) const;
    data_set filter_host(const shared_function<bool(const element&)>& f, const map_options& o = {}) const;
    /// f gives, of the state's tensors and an element's behind them, those of the next state, of the same types, and behind them others.
    data_set scan(carried_state state,
                  const shared_function<std::vector<any_tensor>(const std::vector<any_tensor>&)>& f) const;
    /// f replaces the state's arrays and an element's behind them by such, of these types.
    data_set scan_host(carried_state state, const std::vector<tensor_type>& types,
                       const shared_function<void(element&)>& f) const;
    /// What f gives for a key and a window of elements.
    data_set group_by_window(std::vector<tensor_type> types, const shared_function<std::int64_t(const element&)>& key,
                             const shared_function<std::int64_t(std::int64_t)>& size,
                             const shared_function<data_set(std::int64_t, const data_set&)>& f) const;
    data_set take_while(const shared_function<bool(const element&)>& f) const;
    data_set interleave(std::vector<tensor_type> types, const shared_function<data_set(const element&)>& f,
                        const interleave_options& o = {}) const;
    data_set flat_map(std::vector<tensor_type> types, const shared_function<data_set(const element&)>& f) const;
    data_set with_options(const data_options& o) const { return data_set(last_, o); }

    /// For iterators of graphs.
    std::shared_ptr<const element_source> source() const;

    const detail::data_node::pointer& last() const noexcept { return last_; }
    const data_options& options() const noexcept { return options_; }

private:
    data_set then(detail::data_node::pointer step) const { return data_set(std::move(step), options_); }

    detail::data_node::pointer last_;
    data_options options_;
};

data_set zip(const std::vector<data_set>& all);
data_set sample(const std::vector<data_set>& all, std::vector<double> weights = {}, std::uint64_t seed = 0);

} // namespace untyped

/// One going through a data set, of which untyped elements are taken. For one thread at a time.
class data_run {
public:
    explicit data_run(const untyped::data_set& of, std::uint64_t epoch = 0) :
        stream_(of.last()->open_epoch(of.options(), &pipeline_, epoch)) {}

    bool next(std::vector<any_array>& element) { return stream_->next(element); }
    std::string save();
    void restore(const std::string& state);
    data_report report() const { return pipeline_->report(); }

private:
    std::shared_ptr<detail::pipeline> pipeline_;
    std::unique_ptr<element_stream> stream_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/data/untyped_data_set.ipp>
#endif
