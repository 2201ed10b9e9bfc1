#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tenon/data/results.hpp>
#include <tenon/data/schema.hpp>
#include <tenon/data/untyped_data_set.hpp>

/// Data sets (SEMANTICS 38): elements of known types, one after another, from files, arrays or functions by way of steps to a
/// training step. Nothing is read or computed until somebody goes through one, on the host or in a graph (iterator.hpp).
///
///     auto train = tn::data::slices(images, labels)                     // uint8[28, 28] and int32
///                      .shuffle(60'000, {.seed = 1})
///                      .batch<batch>(50)                                // uint8[batch, 28, 28] and int32[batch]
///                      .map([](auto x, auto y) { return std::tuple(tn::cast<float>(x) / 255.0f, y); })
///                      .prefetch();
///     for (auto [x, y] : train) step(x, y);
///
/// A data set is a value; a step makes another one. Of the same seeds the same elements come in the same order, whatever the
/// threads. What a step throws comes where the element would have come, and who goes on gets the elements behind it.
///
/// Elements have components: a scalar is its element type on the host (float, std::string), others are arrays; several are a
/// tuple. Elements can be structs that say what their members are called (schema.hpp); after steps that change sizes they are
/// tuples. Functions of the host take components (or the struct), functions of a graph take tensors. What a loop or a function
/// of the host is given is its own, to be written too.

namespace tenon {
namespace detail {

void check_components(const std::vector<tensor_type>& given, const std::vector<tensor_type>& asked);

/// Named where a function is given that is one of several of a name.
struct a_lambda_that_calls_it {};
} // namespace detail

/// One going through a data set, from its beginning. For one thread at a time.
template <class... C> class data_iterator {
public:
    using value_type = typename detail::schema<C...>::host;

    explicit data_iterator(const untyped::data_set& of, std::uint64_t epoch = 0) : run_(of, epoch) {}
    /// The next element; nothing at the end.
    std::optional<value_type> next() {
        if (!run_.next(element_)) return std::nullopt;
        return detail::schema<C...>::to_host(element_);
    }
    /// What restore() needs so that the elements which have not been taken come again.
    std::string save() { return run_.save(); }
    /// Of an iterator of the same data set, of which nothing was taken. data_loss_error for what is no state of it.
    void restore(const std::string& state) { run_.restore(state); }
    /// What each step takes, how full its buffer is, and which holds the rest back.
    data_report report() const { return run_.report(); }

private:
    data_run run_;
    std::vector<any_array> element_;
};

/// Elements with components C...: component<T, S>, T for a scalar; or one struct with fields().
template <class... C> class data_set {
    using schema = detail::schema<C...>;

public:
    /// The element types and sizes of its components, as ops see them.
    using operands = typename schema::operands;

private:
    template <auto N> using stacked_t = typename detail::stacked_list<N, operands>::type;
    template <auto N> using padded_t = typename detail::padded_list<N, operands>::type;

public:
    using value_type = typename schema::host;

    /// One whose types were known at run time only. invalid_argument_error, naming both, where its components are others.
    explicit data_set(const untyped::data_set& s) : set_(s) {
        detail::check_components(s.components(), detail::types_of(operands{}));
    }

    /// Without the first n.
    data_set skip(std::int64_t n) const { return same(set_.skip(n)); }
    /// The first n.
    data_set take(std::int64_t n) const { return same(set_.take(n)); }
    /// Those whose number, from 0, is `index` modulo `count`: for one of `count` workers. Their shards are disjoint, and all elements.
    data_set shard(std::int64_t count, std::int64_t index) const { return same(set_.shard(count, index)); }
    /// `times` over; not given: without end.
    data_set repeat(std::int64_t times = -1) const { return same(set_.repeat(times)); }
    /// Each element is drawn from the next `buffer` ones: with as many as there are, all orders are equally likely. Before
    /// batch(), and of rows in memory, it moves no elements.
    data_set shuffle(std::int64_t buffer, const shuffle_options& o = {}) const { return same(set_.shuffle(buffer, o)); }
    /// Elements at(place) for each place in order, such as those of a split (classes.hpp). What at() throws where it cannot be asked;
    /// out_of_range_error for a place that none has.
    data_set select(std::vector<std::int64_t> places) const { return same(set_.select(std::move(places))); }
    /// Those of this one, then those of the other.
    data_set concatenate(const data_set& next) const { return same(set_.concatenate(next.set_)); }
    /// In front of each element its number, from `first` on.
    auto enumerate(std::int64_t first = 0) const {
        using result = typename detail::list_after<detail::operand_type<std::int64_t, shape<>>, operands>::type;
        return result(set_.enumerate(first));
    }

    /// Elements along a new dimension 0: batch<32>(), of size 32, where what is left in the end is left out; or n, of which the types say what
    /// Size says, dyn or a named size, where the last may be fewer. Elements of different sizes are an invalid_argument_error.
    // One function, so that a compiler that refuses a call has little to say.
    template <auto Size = dyn, class N = detail::not_given>
    auto batch(const N& n = {}, const batching_options& o = {}) const {
        constexpr bool once = detail::is_count<Size> != detail::is_given<N>;
        constexpr bool good = once && (detail::is_count<Size> || std::is_integral_v<N>);
        static_assert(good, "tenon::data_set::batch: say how many once, batch<32>() or batch(32); a named size is a "
                            "template argument beside "
                            "the number, batch<rows>(32)");
        if constexpr (!good) return same(set_);
        else if constexpr (detail::is_count<Size>)
            return stacked_t<Size>(set_.batch(Size, {.drop_remainder = true}, extent(Size)));
        else return stacked_t<Size>(set_.batch(static_cast<std::int64_t>(n), o, detail::extent_of<Size>()));
    }
    /// The same, but each component is filled up at its ends to the largest sizes in the batch (SEMANTICS 34): with zeros, false
    /// and empty strings, or with what is given, a value for each component. Sizes that are no numbers are dyn then.
    template <auto Size = dyn, class... Fill>
    auto padded_batch(std::int64_t n, const batching_options& o = {}, const Fill&... fill) const {
        static_assert(!detail::is_count<Size>,
                      "tenon::data_set::padded_batch: how many a batch holds is a number of the "
                      "call: padded_batch(32)");
        return padded_t<Size>(set_.padded_batch(n, o, detail::extent_of<Size>(), filled(operands{}, fill...)));
    }
    /// Batches of elements of about one length, padded: of those whose length is below boundaries[0] batch_sizes[0] together, of
    /// those below boundaries[1] batch_sizes[1], ..; batch_sizes has one more, for the longest. length(components...) is called
    /// on the host.
    template <auto Size = dyn, class F, class... Fill>
    auto bucket_by_length(F length, std::vector<std::int64_t> boundaries, std::vector<std::int64_t> batch_sizes,
                          const batching_options& o = {}, const Fill&... fill) const {
        static_assert(schema::template can_call<F>,
                      "tenon::data_set::bucket_by_length: the function takes the element's components");
        const auto of = [length](const std::vector<any_array>& x) mutable {
            return static_cast<std::int64_t>(schema::call(length, x));
        };
        return padded_t<Size>(set_.bucket_by_length(of, std::move(boundaries), std::move(batch_sizes), o,
                                                    detail::extent_of<Size>(), filled(operands{}, fill...)));
    }
    /// The elements along dimension 0, which is as long in all components.
    auto unbatch() const {
        using rows = detail::row_list<operands>;
        static_assert(rows::good, "tenon::data_set::unbatch: a component is a scalar and has no rows");
        if constexpr (!rows::good) return same(set_);
        else return typename rows::template of<rows::good>::type(set_.unbatch());
    }
    /// n elements along a new dimension 0 that follow one another, as `o` says how.
    template <auto Size = dyn> auto window(std::int64_t n, const window_options& o = {}) const {
        static_assert(!detail::is_count<Size>, "tenon::data_set::window: write the number once: window<5>()");
        if constexpr (detail::is_count<Size>) return same(set_);
        else return stacked_t<Size>(set_.window(n, o, detail::extent_of<Size>()));
    }
    /// The same of a number that the type says; a window that would be shorter is left out.
    template <auto N> auto window(window_options o = {}) const requires(detail::is_count<N>) {
        o.drop_remainder = true;
        return stacked_t<N>(set_.window(N, o, extent(N)));
    }

    /// What f gives for each element: f takes a tensor for each component, and returns a tensor, an expression or a tuple of
    /// them. It is called once, and computes of nothing else; random ops are drawn anew for each element, of one seed the same.
    template <class F = detail::a_lambda_that_calls_it> auto map(F f, const map_options& o = {}) const {
        using call = detail::tensor_call<operands>;
        static_assert(call::template can<F>,
                      "tenon::data_set::map: the function takes a tensor for each component of an "
                      "element; one that takes arrays and numbers goes to map_host");
        if constexpr (!call::template can<F>) return same(set_);
        else {
            using given = typename call::template result<F>::type;
            static_assert(detail::tensors_of_result<given>::good || detail::tensors_of_result<given>::ill,
                          "tenon::data_set::map: the function gives a tensor, an expression, or a std::tuple of them");
            if constexpr (!detail::tensors_of_result<given>::good) return same(set_);
            else {
                using result = typename detail::data_set_of_tensors<given>::type;
                return result(set_.map(
                    [&f](const std::vector<any_tensor>& in) {
                        std::vector<any_tensor> out;
                        detail::add_tensors(out, call::call(f, in));
                        return out;
                    },
                    o));
            }
        }
    }
    /// Those elements of which f, as of map(), gives true.
    template <class F> data_set filter(F f, const map_options& o = {}) const {
        using call = detail::tensor_call<operands>;
        static_assert(call::template can<F>,
                      "tenon::data_set::filter: the function takes a tensor for each component of an "
                      "element; one that takes arrays and numbers goes to filter_host");
        if constexpr (!call::template can<F>) return *this;
        else {
            using given = detail::operand_of_t<typename call::template result<F>::type>;
            constexpr bool good = std::is_same_v<given, detail::operand_type<bool, shape<>>>;
            static_assert(good || std::is_same_v<given, ill_shaped>,
                          "tenon::data_set::filter: the function gives a bool tensor without dimensions");
            if constexpr (!good) return *this;
            else
                return same(set_.filter(
                    [&f](const std::vector<any_tensor>& in) {
                        return any_tensor(detail::as_tensor(call::call(f, in)));
                    },
                    o));
        }
    }
    /// What f, a function of the host, gives for each element: a number, a text, an array<T, shape<..>>, a tuple of them, or a
    /// struct with fields(). With a parallelism several threads call it.
    template <class F> auto map_host(F f, const map_options& o = {}) const {
        static_assert(schema::template can_call<F>,
                      "tenon::data_set::map_host: the function takes the element's components: a number or text for a "
                      "scalar, else array<T, shape<..>>");
        if constexpr (!schema::template can_call<F>) return same(set_);
        else {
            using given = std::remove_cvref_t<typename schema::template called<F>::type>;
            using result = detail::data_set_of_result<given>;
            static_assert(result::good,
                          "tenon::data_set::map_host: the function gives a number, a text, an array whose "
                          "shape its type says, a std::tuple of them, or a struct with fields()");
            if constexpr (!result::good) return same(set_);
            else return typename result::type(set_.map_host(result::type::types(), host_function<given>(f), o));
        }
    }
    /// Those elements for which f, a function of the host, gives true.
    template <class F> data_set filter_host(F f, const map_options& o = {}) const {
        static_assert(
            schema::template can_call<F>,
            "tenon::data_set::filter_host: the function takes the element's components: a number or text for a "
            "scalar, else array<T, shape<..>>");
        if constexpr (!schema::template can_call<F>) return *this;
        else
            return same(set_.filter_host(
                [f](const std::vector<any_array>& x) mutable { return static_cast<bool>(schema::call(f, x)); }, o));
    }
    /// The elements of the data set that f, a function of the host, makes of each element, one after another.
    template <class F> auto flat_map(F f) const { return nested(f, interleave_options{}, true); }
    /// The same of several at a time, some elements of each in turn.
    template <class F> auto interleave(F f, const interleave_options& o = {}) const { return nested(f, o, false); }

    /// A running state: f, of tensors as map()'s, takes the state and an element's components, and gives a std::pair or std::tuple of the
    /// next state and of what stands for the element. State: a number, a text, an array whose shape its type says, or a std::tuple of
    /// them, of which f takes and gives a std::tuple of tensors; its element types and sizes do not change.
    ///
    ///     auto sums = numbers.scan(0.0f, [](auto sum, auto x) { return std::pair(sum + x, sum + x); });
    template <class State, class F> auto scan(const State& initial, F f) const {
        using call = detail::tensor_scan<State, operands, F>;
        static_assert(call::has_state, "tenon::data_set::scan: the state is a number, a text, an array whose shape its "
                                       "type says, or a std::tuple of them");
        static_assert(!call::has_state || call::can,
                      "tenon::data_set::scan: the function takes a tensor for the state and one for each "
                      "component of an element; one that takes arrays and numbers goes to scan_host");
        static_assert(!call::can || call::good || call::ill,
                      "tenon::data_set::scan: the function gives a std::pair of the next "
                      "state, of the state's element type and shape, and of a tensor, an "
                      "expression, or a std::tuple of them");
        if constexpr (!call::good) return same(set_);
        else
            return typename call::result(set_.scan(
                detail::state_of(initial), [&f](const std::vector<any_tensor>& in) { return call::call(f, in); }));
    }
    /// The same of a function of the host: f(state, components...), of which the state, which may be a struct with fields() too, is
    /// const and the components are its own.
    template <class State, class F> auto scan_host(const State& initial, F f) const {
        using call = detail::host_scan<State, schema, F>;
        static_assert(call::has_state,
                      "tenon::data_set::scan_host: the state is a number, a text, an array whose shape "
                      "its type says, a std::tuple of them, or a struct with fields()");
        static_assert(!call::has_state || call::can,
                      "tenon::data_set::scan_host: the function takes the state and the element's components: a number "
                      "or text for a scalar, else array<T, shape<..>>");
        static_assert(!call::can || call::good,
                      "tenon::data_set::scan_host: the function gives a std::pair of the next state, of the state's "
                      "type, and of a number, a text, an array, a std::tuple of them, or a struct with fields()");
        if constexpr (!call::good) return same(set_);
        else
            return typename call::result(set_.scan_host(detail::state_of(initial), call::result::types(),
                                                        [f](std::vector<any_array>& x) mutable { call::call(f, x); }));
    }
    /// The elements of the data sets that reduce(key, window) makes of each window, one after another: a data set of `size` elements (or,
    /// a function, size(key)) for which key(components...), a function of the host too, gave the same whole number. A window is
    /// gone through when it is full; what is left in the end comes by key. Elements are in memory as long as their window is not full.
    template <class Key, class Size, class F> auto group_by_window(Key key, Size size, F reduce) const {
        static_assert(
            schema::template can_call<Key>,
            "tenon::data_set::group_by_window: the key's function takes the element's components: a number or "
            "text for a scalar, else array<T, shape<..>>");
        static_assert(std::is_integral_v<Size> || std::is_invocable_r_v<std::int64_t, Size&, std::int64_t>,
                      "tenon::data_set::group_by_window: the size of a window is a number, or a function of the key");
        constexpr bool reduces = std::is_invocable_v<F&, std::int64_t, const data_set&>;
        static_assert(reduces,
                      "tenon::data_set::group_by_window: the function takes a key, std::int64_t, and a data set");
        constexpr bool sized = std::is_integral_v<Size> || std::is_invocable_r_v<std::int64_t, Size&, std::int64_t>;
        if constexpr (!schema::template can_call<Key> || !sized || !reduces) return same(set_);
        else {
            using given = std::remove_cvref_t<std::invoke_result_t<F&, std::int64_t, const data_set&>>;
            using keyed = std::remove_cvref_t<typename schema::template called<Key>::type>;
            static_assert(std::is_integral_v<keyed> || std::is_enum_v<keyed>,
                          "tenon::data_set::group_by_window: a key is a whole number");
            static_assert(detail::is_data_set<given>,
                          "tenon::data_set::group_by_window: the function gives a data set, such as window.batch(32)");
            if constexpr (!detail::is_data_set<given> || !(std::is_integral_v<keyed> || std::is_enum_v<keyed>))
                return same(set_);
            else
                return given(set_.group_by_window(
                    given::types(),
                    [key](const std::vector<any_array>& x) mutable {
                        return static_cast<std::int64_t>(schema::call(key, x));
                    },
                    [size](std::int64_t k) mutable {
                        if constexpr (std::is_integral_v<Size>) return (void)k, static_cast<std::int64_t>(size);
                        else return static_cast<std::int64_t>(size(k));
                    },
                    [reduce](std::int64_t k, const untyped::data_set& window) mutable {
                        return reduce(k, data_set(window)).untyped();
                    }));
        }
    }
    /// The elements before the first for which f, a function of the host as of filter_host, gives false; none behind it is made.
    template <class F> data_set take_while(F f) const {
        static_assert(
            schema::template can_call<F>,
            "tenon::data_set::take_while: the function takes the element's components: a number or text for a "
            "scalar, else array<T, shape<..>>");
        if constexpr (!schema::template can_call<F>) return *this;
        else
            return same(set_.take_while(
                [f](const std::vector<any_array>& x) mutable { return static_cast<bool>(schema::call(f, x)); }));
    }

    /// Without the elements that could not be made, such as rows of a table that are none: they are counted in the report.
    data_set ignore_errors() const { return same(set_.ignore_errors()); }
    /// What was gone through once to its end is kept for the next time: in memory, or in a file, for later programs too.
    data_set cache(const std::string& path = {}) const { return same(set_.cache(path)); }
    /// A thread takes up to n elements ahead; not given: as many as it takes, within data_options::memory.
    data_set prefetch(std::int64_t n = autotune) const { return same(set_.prefetch(n)); }
    /// How it is gone through.
    data_set with_options(const data_options& o) const { return same(set_.with_options(o)); }

    /// How many elements there are; -1 where that is not known before, or where there is no end.
    std::int64_t size() const { return set_.size(); }
    /// Element i, from 0, of those that come when it is gone through for the first time: of arrays, ranges, IDX and NumPy files and random
    /// numbers, and of those behind skip, take, shard, select, repeat, shuffle, concatenate, zip, enumerate, batch, padded_batch, unbatch,
    /// window, map, map_host, prefetch and cache() in memory (which goes through all the first time). out_of_range_error where there is
    /// none; unimplemented_error, naming the step that does not know, of others. A shuffle keeps its order of the round that was asked for
    /// last, 8 bytes an element. Any thread may ask, where any may call the functions of its steps.
    value_type at(std::int64_t i) const {
        std::vector<any_array> element = set_.at(i);
        return schema::to_host(element);
    }
    /// Whether at() can be asked.
    bool has_random_access() const { return set_.why_not_at().empty(); }
    static std::vector<tensor_type> types() { return detail::types_of(operands{}); }
    /// An element as arrays, one for each component.
    static std::vector<any_array> arrays(value_type&& element) { return schema::to_arrays(std::move(element)); }
    const untyped::data_set& untyped() const noexcept { return set_; }

    /// To go through it by hand; `epoch` as below.
    data_iterator<C...> iterate(std::uint64_t epoch = 0) const { return data_iterator<C...>(set_, epoch); }

    struct sentinel {};
    /// An element of a loop over the data set, which is taken once.
    class iterator {
    public:
        explicit iterator(const untyped::data_set& of, std::uint64_t epoch = 0) :
            run_(std::make_unique<data_iterator<C...>>(of, epoch)) {
            ++*this;
        }
        value_type operator*() { return std::move(*now_); }
        iterator& operator++() {
            now_.reset(); // its memory is used again
            now_ = run_->next();
            return *this;
        }
        bool operator==(sentinel) const noexcept { return !now_; }

    private:
        std::unique_ptr<data_iterator<C...>> run_;
        std::optional<value_type> now_;
    };
    /// Each loop goes through it from its beginning.
    iterator begin() const { return iterator(set_); }
    sentinel end() const { return {}; }

    /// For a loop over the elements of one epoch.
    class range {
    public:
        range(const untyped::data_set& of, std::uint64_t number) : of_(of), number_(number) {}
        iterator begin() const { return iterator(of_, number_); }
        sentinel end() const { return {}; }

    private:
        untyped::data_set of_;
        std::uint64_t number_;
    };
    /// The epoch of that number, from 0, which is what begin() goes through: in an order of its own where elements are shuffled, with random numbers of
    /// its own, of the same seeds the same; what repeat() gives in its round of that number. What cache() keeps is of the first.
    range epoch(std::uint64_t number) const { return {set_, number}; }

private:
    data_set same(untyped::data_set s) const { return data_set(std::move(s), trusted{}); }
    struct trusted {};
    data_set(untyped::data_set&& s, trusted) : set_(std::move(s)) {}

    // g++ 12 makes a copy of a function for each lambda that holds it: one place for all.
    template <class Given, class F> static auto host_function(F f) {
        return [f](std::vector<any_array>& x) mutable {
            x = detail::data_set_of_result<Given>::type::arrays(schema::consume(f, x));
        };
    }
    template <class F> auto nested(F f, const interleave_options& o, bool flat) const {
        static_assert(
            schema::template can_call<F>,
            "tenon::data_set: the function takes the element's components: a number or text for a scalar, else "
            "array<T, shape<..>>");
        if constexpr (!schema::template can_call<F>) return same(set_);
        else {
            using given = std::remove_cvref_t<typename schema::template called<F>::type>;
            static_assert(detail::is_data_set<given>,
                          "tenon::data_set: the function of flat_map and interleave gives a data set");
            if constexpr (!detail::is_data_set<given>) return same(set_);
            else {
                const auto made = [f](const std::vector<any_array>& x) mutable { return schema::call(f, x).untyped(); };
                return given(flat ? set_.flat_map(given::types(), made) : set_.interleave(given::types(), made, o));
            }
        }
    }
    template <class... Operand, class... Fill>
    static std::vector<any_array> filled(detail::operand_list<Operand...>, const Fill&... fill) {
        static_assert(sizeof...(Fill) == 0 || sizeof...(Fill) == sizeof...(Operand),
                      "tenon::data_set: give what components are filled up with for all of them, or for none");
        std::vector<any_array> values;
        if constexpr (sizeof...(Fill) == sizeof...(Operand))
            (values.push_back(detail::array_from<typename Operand::element>(
                 detail::nested<typename Operand::element>(fill).value())),
             ...);
        return values;
    }
    template <class...> friend class data_set;

    untyped::data_set set_;
};

namespace detail {
template <class... C> inline constexpr bool is_on_the_host<data_set<C...>> = true;
}

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/data/data_set.ipp>
#endif
