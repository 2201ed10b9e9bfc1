#pragma once

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

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

template <class... C> class data_set;

namespace detail {

template <class List> struct data_set_of_operands;
template <class... Operand> struct data_set_of_operands<operand_list<Operand...>> {
    using type = data_set<typename component_of_operand<Operand>::type...>;
};

// What a function of the host gives: components, or a struct.
template <class R> struct data_set_of_result {
    static constexpr bool good = !std::is_void_v<typename named_component<R>::type>;
    using type = typename data_set_of_operands<
        operand_list<std::conditional_t<good, typename named_component<R>::type, operand_type<float, shape<>>>>>::type;
};
template <Record R> struct data_set_of_result<R> {
    static constexpr bool good = true;
    using type = data_set<R>;
};
template <class... R> struct data_set_of_result<std::tuple<R...>> {
    static constexpr bool good = sizeof...(R) > 0 && (!std::is_void_v<typename named_component<R>::type> && ...);
    template <bool> struct of { using type = data_set<float>; };
    using type =
        typename std::conditional_t<good, data_set_of_operands<operand_list<typename named_component<R>::type...>>,
                                    of<false>>::type;
};

// What a function of a graph gives.
template <class R> struct tensors_of_result {
    static constexpr bool good = Operand<R> && !std::is_same_v<R, ill_shaped>;
    static constexpr bool ill = std::is_same_v<R, ill_shaped>;
};
template <class... R> struct tensors_of_result<std::tuple<R...>> {
    static constexpr bool good = sizeof...(R) > 0 && ((Operand<R> && !std::is_same_v<R, ill_shaped>)&&...);
    static constexpr bool ill = (std::is_same_v<R, ill_shaped> || ...);
};
template <class R> struct data_set_of_tensors {
    using type = typename data_set_of_operands<operand_list<operand_of_t<R>>>::type;
};
template <class... R> struct data_set_of_tensors<std::tuple<R...>> {
    using type = typename data_set_of_operands<operand_list<operand_of_t<R>...>>::type;
};

template <class X> void add_tensors(std::vector<any_tensor>& to, const X& x) { to.push_back(as_tensor(x)); }
template <class... X> void add_tensors(std::vector<any_tensor>& to, const std::tuple<X...>& all) {
    std::apply([&](const X&... x) { (to.push_back(as_tensor(x)), ...); }, all);
}

template <class X> inline constexpr bool is_data_set = false;
template <class... C> inline constexpr bool is_data_set<data_set<C...>> = true;

template <class Operands> struct tensor_call;
template <class... Operand> struct tensor_call<operand_list<Operand...>> {
    template <class F>
    static constexpr bool can = std::is_invocable_v<F&, tensor<typename Operand::element, typename Operand::shape>...>;
    template <class F> static auto call(F& f, const std::vector<any_tensor>& in) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return f(tensor<typename Operand::element, typename Operand::shape>::unchecked(in[I])...);
        }
        (std::index_sequence_for<Operand...>{});
    }
    template <class F> struct result {
        using type =
            std::remove_cvref_t<decltype(call(std::declval<F&>(), std::declval<const std::vector<any_tensor>&>()))>;
    };
};

template <auto N, class Operands> struct stacked_list;
template <auto N, class... Operand> struct stacked_list<N, operand_list<Operand...>> {
    using type = typename data_set_of_operands<operand_list<typename stacked_operand<N, Operand>::type...>>::type;
};
template <auto N, class Operands> struct padded_list;
template <auto N, class... Operand> struct padded_list<N, operand_list<Operand...>> {
    using type = typename data_set_of_operands<
        operand_list<typename stacked_operand<N, typename padded_operand<Operand>::type>::type...>>::type;
};
template <class Operands> struct row_list;
template <class... Operand> struct row_list<operand_list<Operand...>> {
    static constexpr bool good = (!std::is_void_v<typename row_operand<Operand>::type> && ...);
    template <bool> struct of {
        using type = typename data_set_of_operands<operand_list<typename row_operand<Operand>::type...>>::type;
    };
};
template <class First, class Operands> struct list_after;
template <class First, class... Operand> struct list_after<First, operand_list<Operand...>> {
    using type = typename data_set_of_operands<operand_list<First, Operand...>>::type;
};
template <class... Lists> struct joined_lists;
template <class... A> struct joined_lists<operand_list<A...>> {
    using type = typename data_set_of_operands<operand_list<A...>>::type;
};
template <class... A, class... B, class... Rest> struct joined_lists<operand_list<A...>, operand_list<B...>, Rest...> {
    using type = typename joined_lists<operand_list<A..., B...>, Rest...>::type;
};

void check_components(const std::vector<tensor_type>& given, const std::vector<tensor_type>& asked);

} // namespace detail

/// One going through a data set, from its beginning. For one thread at a time.
template <class... C> class data_iterator {
public:
    using value_type = typename detail::schema<C...>::host;

    explicit data_iterator(const untyped::data_set& of) : run_(of) {}
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
    /// Those of this one, then those of the other.
    data_set concatenate(const data_set& next) const { return same(set_.concatenate(next.set_)); }
    /// In front of each element its number, from `first` on.
    auto enumerate(std::int64_t first = 0) const {
        using result = typename detail::list_after<detail::operand_type<std::int64_t, shape<>>, operands>::type;
        return result(set_.enumerate(first));
    }

    /// N elements along a new dimension 0, of size N: what is left in the end is left out. Elements of different sizes are an
    /// invalid_argument_error.
    template <auto N> auto batch() const {
        static_assert(detail::is_count<N>, "tenon::data_set::batch: a named size needs a number: batch<rows>(32)");
        if constexpr (!detail::is_count<N>) return same(set_);
        else return stacked_t<N>(set_.batch(N, {.drop_remainder = true}, extent(N)));
    }
    /// n of them, of which the types say what Size says: dyn, or a named size. The last may be smaller.
    template <auto Size = dyn> auto batch(std::int64_t n, const batching_options& o = {}) const {
        static_assert(!detail::is_count<Size>, "tenon::data_set::batch: write the number once: batch<32>()");
        if constexpr (detail::is_count<Size>) return same(set_);
        else return stacked_t<Size>(set_.batch(n, o, detail::extent_of<Size>()));
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
        return stacked_t<Size>(set_.window(n, o, detail::extent_of<Size>()));
    }
    template <auto N> auto window() const requires(detail::is_count<N>) {
        return stacked_t<N>(set_.window(N, {.drop_remainder = true}, extent(N)));
    }

    /// What f gives for each element: f takes a tensor for each component, and returns a tensor, an expression or a tuple of
    /// them. It is called once, and computes of nothing else; random ops are drawn anew for each element, of one seed the same.
    template <class F> auto map(F f, const map_options& o = {}) const {
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
    static std::vector<tensor_type> types() { return detail::types_of(operands{}); }
    /// An element as arrays, one for each component.
    static std::vector<any_array> arrays(value_type&& element) { return schema::to_arrays(std::move(element)); }
    const untyped::data_set& untyped() const noexcept { return set_; }

    /// To go through it by hand.
    data_iterator<C...> iterate() const { return data_iterator<C...>(set_); }

    struct sentinel {};
    /// An element of a loop over the data set, which is taken once.
    class iterator {
    public:
        explicit iterator(const untyped::data_set& of) : run_(std::make_unique<data_iterator<C...>>(of)) { ++*this; }
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

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/data/data_set.ipp>
#endif
