#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/shared_function.hpp>
#include <tenon/data/steps/pipeline.hpp>
#include <tenon/graph/tensor.hpp>

/// The steps of data sets (README.md): each is made of the node before it. Those that choose, order, put together and take apart throw
/// invalid_argument_error for numbers that make no sense.

namespace tenon::detail {

// Steps that choose elements and order them, and put data sets beside or behind each other. Of rows of arrays in memory only
// places are moved, until a later step wants the elements.

data_node::pointer skipped(data_node::pointer from, std::int64_t n);
data_node::pointer taken(data_node::pointer from, std::int64_t n);
/// Those whose number, from 0, is `index` modulo `count`.
data_node::pointer sharded(data_node::pointer from, std::int64_t count, std::int64_t index);
/// `times` over; -1: without end. One that gives nothing ends at once.
data_node::pointer repeated(data_node::pointer from, std::int64_t times);
/// Each element is chosen at random among the next `buffer` ones. `seed` 0: another one each time that it is made.
data_node::pointer shuffled(data_node::pointer from, std::int64_t buffer, std::uint64_t seed, bool each_epoch_anew);
data_node::pointer concatenated(data_node::pointer first, data_node::pointer second);
/// Tuples of the elements of each; it ends with the shortest.
data_node::pointer zipped(std::vector<data_node::pointer> all);
/// In front of each element its number, int64.
data_node::pointer enumerated(data_node::pointer from, std::int64_t first);
/// Each from one of them, chosen at random by weights; of one that has ended no more, and it ends when all have.
data_node::pointer sampled(std::vector<data_node::pointer> all, std::vector<double> weights, std::uint64_t seed);

// Steps that put elements together and take them apart.

/// n of them along a new dimension 0; the last may be smaller, unless it is dropped. Without padding their sizes must be equal:
/// invalid_argument_error in next(), naming both. `sizes`: what the types say of n.
data_node::pointer batched(data_node::pointer from, std::int64_t n, bool drop_remainder, extent size);
/// Each component is filled up to the largest sizes, with zeros, or with its array of `fill`, which has one element.
data_node::pointer padded_batched(data_node::pointer from, std::int64_t n, bool drop_remainder, extent size,
                                  std::vector<any_array> fill);
/// Batches of elements whose lengths lie between the same two boundaries: of bucket i, batch_sizes[i] of them; there is one more
/// batch size than boundaries. Padded. What is left in the end comes by bucket.
data_node::pointer bucketed(data_node::pointer from, std::vector<std::int64_t> boundaries,
                            std::vector<std::int64_t> batch_sizes,
                            shared_function<std::int64_t(const data_element&)> length, bool drop_remainder, extent size,
                            std::vector<any_array> fill);
/// The elements along dimension 0, which is as long in all components.
data_node::pointer unbatched(data_node::pointer from);
/// n elements along a new dimension 0, `stride` apart; the next window begins `shift` further.
data_node::pointer windowed(data_node::pointer from, std::int64_t n, std::int64_t shift, std::int64_t stride,
                            bool drop_remainder, extent size);

// Steps that compute: map and filter.

/// What is computed of an element. Thread-safe.
class element_function {
public:
    virtual ~element_function() = default;
    /// Replaces the element; false: it is left out. `run`: a number that each element of each epoch has for itself, the same
    /// whoever computes it when.
    virtual bool apply(data_element& x, std::uint64_t run) const = 0;
    /// Whether it may wait, or is the user's.
    virtual bool may_wait() const { return false; }
    virtual bool may_leave_out() const { return false; }
    /// Whether what it makes of an element may depend on `run`.
    virtual bool draws() const { return false; }
};
/// apply() on an element of this number in this epoch; what it throws says which it was, of which step.
bool apply_to(const element_function& f, const std::string& step, data_element& x, std::uint64_t epoch,
              std::uint64_t number);

/// Of tensors: `outputs` computed of `inputs`, nodes of `g`, which holds nothing else. Random ops are drawn for each element
/// anew, whoever computes it. `keep`: what is computed says whether the element stays as it is, a bool.
std::shared_ptr<const element_function> graph_function(const graph& g, std::vector<any_tensor> inputs,
                                                       std::vector<any_tensor> outputs, bool keep);

struct transform_options {
    int parallelism = 1; ///< elements at the same time; autotune: settled by what is measured
    bool ordered = true; ///< false: each as soon as it is ready
};
/// What `f` makes of each element, of these types. What it throws is thrown by next(), of the same type, saying which element it was;
/// the next call goes on behind it.
data_node::pointer transformed(const char* step, data_node::pointer from, std::vector<tensor_type> types,
                               std::shared_ptr<const element_function> f, const transform_options& o);

// Data sets made of each element of another.

/// The data set that an element stands for: the same whenever it is asked.
using made_data_set = shared_function<data_node::pointer(const data_element&)>;

/// `cycle` of them at a time, `block` elements of each in turn; the next one takes the place of one that has ended, when it comes to
/// its turn. With cycle 1 they come one after another. `parallelism`: so many threads, who asks among them, go through those
/// that are open; the order is the same. autotune: as many as the pipeline may have.
data_node::pointer interleaved(const char* step, data_node::pointer from, std::vector<tensor_type> types,
                               made_data_set f, std::int64_t cycle, std::int64_t block, int parallelism);

// Steps that take elements ahead.

/// A thread of its own takes elements ahead of who asks for them, `n` at most; autotune: as many as it takes that they are there
/// in time, within the memory of data_options.
data_node::pointer prefetched(data_node::pointer from, std::int64_t n);

// Steps in which what comes depends on what came, or on a place.

/// f replaces the state's arrays and an element's behind them by the next state's and what stands for the element: arrays of `types`. The state
/// is `initial` at first, and always of the types `state`, which `types` begins with: invalid_argument_error where it does not. Where f
/// throws, which next() passes on, the state stays as it was.
data_node::pointer scanned(const char* step, data_node::pointer from, std::vector<any_array> initial,
                           std::vector<tensor_type> state, const std::vector<tensor_type>& types,
                           std::shared_ptr<const element_function> f);

/// The elements of the data sets that `f` makes of a key and a window: so many elements of this key that followed one another, as `size`
/// says when the first of them comes. A window is gone through when it is full, and what is left in the end by key, the smallest first.
data_node::pointer grouped(data_node::pointer from, std::vector<tensor_type> types,
                           shared_function<std::int64_t(const data_element&)> key,
                           shared_function<std::int64_t(std::int64_t)> size,
                           shared_function<data_node::pointer(std::int64_t, data_node::pointer)> f);

/// The elements before the first for which f gives false; none behind it is made.
data_node::pointer taken_while(data_node::pointer from, shared_function<bool(const data_element&)> f);

/// What was gone through once to its end is not computed again: in memory, or in the file `path`, which later programs read too.
data_node::pointer cached(data_node::pointer from, const std::string& path);

/// Those at these places of one that has places, in this order; one may come several times.
data_node::pointer selected(data_node::pointer from, std::vector<std::int64_t> places);

} // namespace tenon::detail
