#pragma once

#include <cstdint>
#include <tuple>
#include <type_traits>
#include <vector>

#include <tenon/core/array/array.hpp>
#include <tenon/core/check.hpp>
#include <tenon/core/options.hpp>
#include <tenon/data/steps/rows.hpp>

/// Shuffled minibatches of arrays that share dimension 0.
///
///     minibatches train({.size = 50, .seed = 1}, scaled<float>(images, 1 / 255.0f), labels);
///     for (int epoch = 0; epoch < 10; ++epoch)
///         for (auto [x, y] : train) step(x, y);

namespace tenon {

struct minibatch_options {
    std::int64_t size = 1;       ///< rows in a batch
    std::uint64_t seed = 0;      ///< seed and number of an epoch give its order, the same everywhere
    bool shuffle = true;         ///< otherwise the rows come in their order, and plain arrays are not copied
    bool drop_remainder = false; ///< leaves out a last batch that is not full
};

namespace detail {

/// Fills `order` with 0 .. rows-1 in an order that depends on seed and epoch alone.
void shuffle_rows(std::vector<std::int64_t>& order, std::int64_t rows, std::uint64_t seed, std::uint64_t epoch);
/// Throws invalid_argument_error unless the arrays can be cut into batches; returns how many there are.
std::int64_t count_batches(const minibatch_options& options, const tensor_type* types, int count);

/// Memory for a batch, taken anew only when somebody still holds the last one.
class batch_buffer {
public:
    any_array& of(element_type element, const extents& sizes) {
        if (!memory_.is_unique() || memory_.element() != element || !(memory_.extents() == sizes))
            memory_ = any_array(element, sizes);
        return memory_;
    }
    /// The first `rows` rows.
    any_array first(std::int64_t rows) { return memory_.slice(0, rows); }

private:
    any_array memory_;
};

inline extents with_rows(const extents& sizes, std::int64_t rows) {
    extents e = sizes;
    e[0] = rows;
    return e;
}

// Rows as they are: batches of a const_array are const too, since they may be its memory.
template <class Array> class plain_rows;
template <template <Element, class> class Array, Element T, class S> class plain_rows<Array<T, S>> {
public:
    using argument = Array<T, S>;
    using batch = Array<T, typename rows_of<S>::slice>;
    explicit plain_rows(const argument& a) : from_(a.share()) {}

    const tensor_type& type() const { return from_.type(); }
    /// Rows order[0] .. order[count-1]; without an order, the rows from `first` on.
    batch take(const std::int64_t* order, std::int64_t first, std::int64_t count, std::int64_t capacity) {
        const any_array& from = from_.untyped();
        if (!order) return batch(from.share().slice(first, first + count));
        gather_rows(from, order, count, buffer_.of(from.element(), with_rows(from.extents(), capacity)));
        return batch(buffer_.first(count));
    }

private:
    argument from_;
    batch_buffer buffer_;
};

/// to[i] = from[i] * scale + offset, computed in To.
template <class To, class From>
[[gnu::noinline]] void scale_elements(const From* __restrict from, To* __restrict to, std::int64_t n, To scale,
                                      To offset) {
    // Blocks of a fixed length become vector code at plain -O2: four times faster in g++ 12.
    constexpr int block = 16;
    std::int64_t i = 0;
    for (; i + block <= n; i += block)
        for (int j = 0; j < block; ++j) to[i + j] = static_cast<To>(from[i + j]) * scale + offset;
    for (; i < n; ++i) to[i] = static_cast<To>(from[i]) * scale + offset;
}

} // namespace detail

/// Rows of From that become To * scale + offset as they are gathered, once for each use.
template <class To, class Array> class scaled_rows;
template <class To, Element From, class S> class scaled_rows<To, const_array<From, S>> {
public:
    using argument = scaled_rows;
    using batch = array<To, typename detail::rows_of<S>::slice>;
    scaled_rows(const const_array<From, S>& from, To scale, To offset) :
        from_(from.share()), scale_(scale), offset_(offset) {}
    scaled_rows(const scaled_rows& other) : scaled_rows(other.from_, other.scale_, other.offset_) {}
    scaled_rows& operator=(const scaled_rows&) = delete;
    ~scaled_rows() = default;

    const tensor_type& type() const { return from_.type(); }
    batch take(const std::int64_t* order, std::int64_t first, std::int64_t count, std::int64_t capacity) {
        any_array& buffer = buffer_.of(element_type_of<To>, detail::with_rows(from_.extents(), capacity));
        To* to = static_cast<To*>(buffer.data());
        const std::int64_t row = from_.size() / from_.extents()[0].size;
        for (std::int64_t i = 0; i < count; ++i)
            detail::scale_elements(from_.data() + (order ? order[i] : first + i) * row, to + i * row, row, scale_,
                                   offset_);
        return batch(buffer_.first(count));
    }

private:
    const_array<From, S> from_;
    To scale_, offset_;
    detail::batch_buffer buffer_;
};

/// For minibatches: the rows of `from` as To, times `scale` plus `offset`: scaled<float>(pixels, 1 / 255.0f).
template <class To, Element From, class S>
    requires std::is_floating_point_v<To> scaled_rows<To, const_array<From, S>> scaled(const const_array<From, S>& from,
                                                                                       To scale, To offset = 0) {
        return {from, scale, offset};
    }

namespace detail {
struct no_rows {
    using batch = ill_shaped;
    using argument = any_argument;
};
template <class A> struct rows_for { using type = no_rows; }; // which is said there
template <Element T, class S> struct rows_for<array<T, S>> { using type = plain_rows<array<T, S>>; };
template <Element T, class S> struct rows_for<const_array<T, S>> { using type = plain_rows<const_array<T, S>>; };
template <class To, class A> struct rows_for<scaled_rows<To, A>> { using type = scaled_rows<To, A>; };
} // namespace detail

/// The batches of an epoch after another, as tuples of arrays with the rows of each source. A batch stays
/// what it is for as long as it is held; where it is let go before the next is taken, as in a loop, its
/// memory is used again.
///
/// Shares the memory of its sources (views must outlive it). One epoch at a time. Throws
/// invalid_argument_error when the sources differ in dimension 0, have none, or make no batch.
template <class... Rows> class minibatches {
    static_assert(sizeof...(Rows) > 0, "tenon::minibatches: at least one array is needed");

public:
    using value_type = std::tuple<typename Rows::batch...>;

    template <class O = minibatch_options>
    explicit minibatches(const O& options, const typename Rows::argument&... sources) :
        options_(detail::options_in<minibatch_options>(options)), sources_(sources...) {
        const tensor_type types[] = {sources.type()...};
        batches_ = detail::count_batches(options_, types, static_cast<int>(sizeof...(Rows)));
        rows_ = types[0].extents[0].size;
    }
    minibatches& operator=(minibatches&&) = delete; // nor copied: so compilers list one constructor
    ~minibatches() = default;

    /// Rows of each source, and batches in an epoch.
    std::int64_t rows() const noexcept { return rows_; }
    std::int64_t size() const noexcept { return batches_; }
    /// How many epochs were begun.
    std::uint64_t epochs() const noexcept { return epoch_; }

    struct sentinel {};
    class iterator {
    public:
        iterator(minibatches& of, std::int64_t at) : of_(&of), batch_(at) {}
        value_type operator*() const { return of_->batch(batch_); }
        iterator& operator++() noexcept {
            ++batch_;
            return *this;
        }
        bool operator==(sentinel) const noexcept { return batch_ == of_->batches_; }

    private:
        minibatches* of_;
        std::int64_t batch_;
    };
    class range {
    public:
        explicit range(minibatches& of) : of_(&of) {}
        iterator begin() const { return iterator(*of_, 0); }
        sentinel end() const { return {}; }

    private:
        minibatches* of_;
    };

    /// Begins the next epoch, in a new order where the rows are shuffled. It ends the one before.
    range epoch() { return epoch(epoch_); }
    /// Begins the epoch of that number, counted from 0: to go on where a run had stopped.
    range epoch(std::uint64_t number) {
        if (options_.shuffle) detail::shuffle_rows(order_, rows_, options_.seed, number);
        epoch_ = number + 1;
        return range(*this);
    }
    /// A loop over the batches themselves is the next epoch.
    iterator begin() { return epoch().begin(); }
    sentinel end() { return {}; }

private:
    value_type batch(std::int64_t i) {
        const std::int64_t first = i * options_.size;
        const std::int64_t count = first + options_.size < rows_ ? options_.size : rows_ - first;
        const std::int64_t capacity = options_.size < rows_ ? options_.size : rows_;
        const std::int64_t* order = options_.shuffle ? order_.data() + first : nullptr;
        return std::apply([&](Rows&... rows) { return value_type(rows.take(order, first, count, capacity)...); },
                          sources_);
    }

    minibatch_options options_;
    std::tuple<Rows...> sources_;
    std::vector<std::int64_t> order_;
    std::int64_t rows_ = 0, batches_ = 0;
    std::uint64_t epoch_ = 0;
};

// A mistake: what has no rows.
template <class... Rows>
    requires(std::is_same_v<Rows, detail::no_rows> || ...)
class minibatches<Rows...> {
public:
    template <class O = minibatch_options> minibatches(const O&, const typename Rows::argument&...) {
        static_assert(detail::is_mistake<O>,
                      "tenon::minibatches: first options, then arrays: minibatches({.size = 32}, xs, ys)");
    }
    const ill_shaped* begin() const;
    const ill_shaped* end() const;
};

template <class O = detail::other_braces_than<minibatch_options>, class... A>
minibatches(const O&, const A&...) -> minibatches<typename detail::rows_for<A>::type...>;

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/data/minibatches.ipp>
#endif
