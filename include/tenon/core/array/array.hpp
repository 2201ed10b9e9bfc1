#pragma once

#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>

#include <tenon/core/array/any_array.hpp>
#include <tenon/core/sizes/shape.hpp>

/// Host tensors that know their element type, and as much of their shape as the program says.

namespace tenon {

/// In place of a shape: rank and sizes are known at run time only.
struct unranked {};

/// Asks a constructor for memory that is not initialised.
struct uninitialized_t {};
inline constexpr uninitialized_t uninitialized{};

template <Element T, class S = unranked> class array;
template <Element T, class S = unranked> class const_array;

namespace detail {

[[noreturn]] void throw_bad_index(const any_array& a, const std::int64_t* index, int count);
[[noreturn]] void throw_bad_flat_index(const any_array& a, std::int64_t index);
std::string how_ragged(const extents& sizes, int depth, std::int64_t found);
[[noreturn]] void throw_ragged(const extents& sizes, int depth, std::int64_t found);
[[noreturn]] void throw_value_out_of_range(element_type element, const std::string& value);
[[noreturn]] void throw_not_one_element(const any_array& a);
/// Throws invalid_argument_error where `given` is not what `declared` asks for.
void require_fit(const tensor_type& given, const tensor_type& declared);
void require_count(element_type element, const extents& sizes, std::int64_t given);
/// `declared` with its named and dynamic sizes replaced, in order of first appearance, by `values`.
extents with_sizes(const extents& declared, const std::int64_t* values);

/// How many values with_sizes takes.
constexpr int run_time_sizes(const extents& declared) {
    int n = 0;
    for (int i = 0; i < declared.rank(); ++i) {
        bool is_new = !declared[i].is_number();
        for (int j = 0; j < i && declared[i].is_named(); ++j) is_new = is_new && !(declared[i] == declared[j]);
        n += is_new;
    }
    return n;
}

template <class T> inline constexpr bool is_small_float = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

// What may stand for a T in a nested list: nothing that loses a fraction or turns a pointer into a bool.
template <class U, class T>
concept Literal = std::is_same_v<U, T> ||(is_small_float<T> && (std::is_arithmetic_v<U> || is_small_float<U>)) ||
                  (std::is_floating_point_v<T> && std::is_arithmetic_v<U>) ||
                  (std::is_integral_v<T> && !std::is_same_v<T, bool> && std::is_integral_v<U>) ||
                  (std::is_same_v<T, std::string> && std::is_convertible_v<const U&, std::string>);

// A tensor or an expression, as far as is known here.
template <class X>
concept InGraph = requires(const X& x) {
    typename X::element_type;
    x.rank();
}
&&!requires { typename X::value_type; };

/// A value, or a list of such: what braces give a constructor.
template <Element T> class nested {
public:
    template <Literal<T> U> nested(const U& value) { // NOLINT: a value is a nested list of depth 0
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, U>) {
            if (!std::in_range<T>(+value)) throw_value_out_of_range(element_type_of<T>, std::to_string(+value));
        }
        if constexpr (std::is_same_v<T, std::string>) value_ = value;
        else value_ = static_cast<T>(value);
    }
    nested(std::initializer_list<nested> list) : list_(list), is_list_(true) {}
    const T& value() const noexcept { return value_; }

    static extents sizes_of(std::initializer_list<nested> list) {
        extents sizes{static_cast<std::int64_t>(list.size())};
        while (list.size() > 0 && list.begin()->is_list_) {
            list = list.begin()->list_;
            sizes.push_back(static_cast<std::int64_t>(list.size()));
        }
        return sizes;
    }
    /// Writes the values to `out` and returns where it stopped; throws where a list is not of the size it
    /// should be.
    static T* flatten(std::initializer_list<nested> list, const extents& sizes, int depth, T* out) {
        if (static_cast<std::int64_t>(list.size()) != sizes[depth].size)
            throw_ragged(sizes, depth, static_cast<std::int64_t>(list.size()));
        for (const nested& n : list) {
            if (n.is_list_ != (depth + 1 < sizes.rank()))
                throw_ragged(sizes, depth + 1, n.is_list_ ? static_cast<std::int64_t>(n.list_.size()) : -1);
            if (n.is_list_) out = flatten(n.list_, sizes, depth + 1, out);
            else *out++ = n.value_;
        }
        return out;
    }
    static any_array collect(std::initializer_list<nested> list) {
        const extents sizes = sizes_of(list);
        any_array a(element_type_of<T>, sizes);
        flatten(list, sizes, 0, static_cast<T*>(a.data()));
        return a;
    }

private:
    T value_{};
    std::initializer_list<nested> list_{};
    bool is_list_ = false;
};

template <Element T> any_array copied(std::span<const T> values, const extents& sizes) {
    require_count(element_type_of<T>, sizes, static_cast<std::int64_t>(values.size()));
    any_array a(element_type_of<T>, sizes);
    T* out = static_cast<T*>(a.data());
    for (const T& value : values) *out++ = value;
    return a;
}

template <Element T> any_array viewed(std::span<T> values, const extents& sizes) {
    require_count(element_type_of<T>, sizes, static_cast<std::int64_t>(values.size()));
    return any_array::view(values.data(), element_type_of<T>, sizes);
}

/// The advice where braces are not as deep as an array has dimensions.
struct write_sizes_in_parentheses_or_braces_for_each_dimension {};
struct write_braces_for_each_dimension {};

template <class S> struct rows_of {
    using row = unranked;
    using slice = unranked;
};
template <auto First, auto... Rest> struct rows_of<shape<First, Rest...>> {
    using row = shape<Rest...>;
    using slice = shape<dyn, Rest...>;
};

template <class S> struct shape_of_array { using shape_type = S; };
template <> struct shape_of_array<unranked> {};

} // namespace detail

/// What all arrays of T can be asked, whatever is known of their shape. Every access is checked; for loops that
/// must not pay for it there are data(), span() and begin()/end(). See any_array for memory and sharing.
template <Element T> class array_base {
public:
    using value_type = T;

    /// The same tensor with its types known at run time only.
    const any_array& untyped() const& noexcept { return a_; }
    any_array untyped() && noexcept { return std::move(a_); }
    operator const any_array&() const& noexcept { return a_; } // NOLINT: every array is an any_array

    const tensor_type& type() const noexcept { return a_.type(); }
    const tenon::extents& extents() const noexcept { return a_.extents(); }
    int rank() const noexcept { return a_.rank(); }
    std::int64_t size() const noexcept { return a_.elements(); }
    bool is_unique() const noexcept { return a_.is_unique(); }
    /// The size of one dimension; negative axes count from the last. Throws out_of_range_error.
    std::int64_t extent(int axis) const {
        const int i = axis < 0 ? axis + rank() : axis;
        if (i < 0 || i >= rank())
            throw out_of_range_error("array: no axis " + std::to_string(axis) + " in " + to_string(type()));
        return a_.extents()[i].size;
    }

    const T* data() const noexcept { return static_cast<const T*>(a_.data()); }
    std::span<const T> span() const noexcept { return {data(), static_cast<std::size_t>(size())}; }
    const T* begin() const noexcept { return data(); }
    const T* end() const noexcept { return data() + size(); }

    /// The element at a place in memory order. Throws out_of_range_error.
    const T& operator[](std::int64_t i) const { return data()[checked(i)]; }
    /// The only element. Throws invalid_argument_error where there is another number of them.
    const T& item() const {
        if (size() != 1) detail::throw_not_one_element(a_);
        return *data();
    }

protected:
    explicit array_base(any_array&& a) noexcept : a_(std::move(a)) {}
    array_base(array_base&&) noexcept = default;
    array_base& operator=(array_base&&) noexcept = default;
    ~array_base() = default;

    std::int64_t checked(std::int64_t i) const {
        if (i < 0 || i >= size()) detail::throw_bad_flat_index(a_, i);
        return i;
    }

    any_array a_;
};

/// A host tensor of T of shape S whose elements cannot be written through it: what rows, slices and reshapes of a
/// const array are. An array is one too, and moves into one.
///
///     const array<float> a{{1, 2}, {3, 4}};
///     const_array<float> row = a.row(1);
///     array<float> mine = row.copy();
///
/// What only reads takes a const const_array&. Who wants to write what is shared says so: a.share().row(1).
template <Element T, class S> class const_array : public array_base<T>, public detail::shape_of_array<S> {
public:
    /// Takes over a tensor; invalid_argument_error when it does not fit.
    explicit const_array(any_array&& a) : const_array(array<T, S>(std::move(a))) {}
    /// What is known of the shape is forgotten.
    template <Shape From>
    const_array(const_array<T, From>&& a) requires(std::is_same_v<S, unranked>) :
        array_base<T>(std::move(a).untyped()) {} // NOLINT
    const_array(const_array&&) noexcept = default;
    const_array& operator=(const_array&&) noexcept = default;
    const_array(const const_array&,
                detail::write_copy_or_std_move = {}) = delete; // a.copy(), a.share() or std::move(a)
    const_array& operator=(const const_array&) = delete;       // a.copy(), a.share() or std::move(a)

    /// A view of memory that outlives it.
    static const_array view(std::span<const T> values, const tenon::extents& sizes) {
        return const_array(array<T, S>::view({const_cast<T*>(values.data()), values.size()}, sizes));
    }

    /// The element at an index for each dimension. Throws out_of_range_error.
    template <class... I>
        requires(std::is_integral_v<I>&&...)
    const T& operator()(I... index) const { return this->data()[flat(index...)]; }
    array<T, S> copy() const { return array<T, S>(this->a_.copy()); }
    const_array share() const { return const_array(this->a_.share(), trusted{}); }
    /// Element i of dimension 0, one rank lower; shares the memory. Throws out_of_range_error.
    template <class R = S> const_array<T, typename detail::rows_of<R>::row> row(std::int64_t i) const {
        return const_array<T, typename detail::rows_of<R>::row>(this->a_.share().row(i));
    }
    template <class R = S> const_array<T, typename detail::rows_of<R>::row> at(std::int64_t i) const {
        return row<R>(i);
    }
    /// Elements begin .. end-1 of dimension 0; shares the memory. Throws out_of_range_error.
    template <class R = S>
    const_array<T, typename detail::rows_of<R>::slice> slice(std::int64_t begin, std::int64_t end) const {
        return const_array<T, typename detail::rows_of<R>::slice>(this->a_.share().slice(begin, end));
    }
    /// The same elements in other sizes, of which one may be dynamic: it is deduced. Shares the memory.
    const_array<T> reshape(const tenon::extents& sizes) const& {
        return const_array<T>(this->a_.share().reshape(sizes));
    }
    /// The same tensor with more, or less, known of its shape; invalid_argument_error where it does not fit.
    template <Shape To> const_array<T, To> as() const& { return const_array<T, To>(this->a_.share()); }

protected:
    struct trusted {};
    explicit const_array(any_array&& a, trusted) noexcept : array_base<T>(std::move(a)) {}
    template <class... I> std::int64_t flat(I... index) const {
        const std::int64_t indices[] = {static_cast<std::int64_t>(index)..., 0};
        constexpr int count = static_cast<int>(sizeof...(I));
        if constexpr (requires { S::rank; })
            static_assert(S::rank == count, "tenon::array: it has another number of dimensions than there are indices");
        std::int64_t offset = 0;
        bool good = this->rank() == count && this->size() > 0;
        for (int d = 0; d < count && good; ++d) {
            const std::int64_t n = this->a_.extents()[d].size;
            good = indices[d] >= 0 && indices[d] < n;
            offset = offset * n + indices[d];
        }
        if (!good) detail::throw_bad_index(this->a_, indices, count);
        return offset;
    }
};

namespace detail {

/// What all arrays of T can do that are not const.
template <Element T, class S> class written_array : public const_array<T, S> {
    using base = const_array<T, S>;

public:
    using base::as, base::at, base::reshape, base::row, base::slice;
    using base::begin, base::data, base::end, base::span, base::operator(), base::operator[];

    T* data() noexcept { return static_cast<T*>(this->a_.data()); }
    std::span<T> span() noexcept { return {data(), static_cast<std::size_t>(this->size())}; }
    T* begin() noexcept { return data(); }
    T* end() noexcept { return data() + this->size(); }
    template <class... I>
        requires(std::is_integral_v<I>&&...)
    T& operator()(I... index) { return data()[this->flat(index...)]; }
    T& operator[](std::int64_t i) { return data()[this->checked(i)]; }
    void fill(const T& value) {
        for (T& element : *this) element = value;
    }

    /// For structured bindings: an array is the one element of itself.
    template <std::size_t I> friend array<T, S>&& get(array<T, S>&& a) noexcept { return std::move(a); }
    template <std::size_t I> friend const array<T, S>& get(const array<T, S>& a) noexcept { return a; }

    array<T, S> copy() const { return array<T, S>(this->a_.copy()); }
    /// Another owner, who may write too.
    array<T, S> share() const { return array<T, S>(this->a_.share()); }
    template <class R = S> array<T, typename rows_of<R>::row> row(std::int64_t i) {
        return array<T, typename rows_of<R>::row>(this->a_.row(i));
    }
    template <class R = S> array<T, typename rows_of<R>::row> at(std::int64_t i) { return row<R>(i); }
    template <class R = S> array<T, typename rows_of<R>::slice> slice(std::int64_t begin, std::int64_t end) {
        return array<T, typename rows_of<R>::slice>(this->a_.slice(begin, end));
    }
    array<T> reshape(const tenon::extents& sizes) & { return array<T>(this->a_.reshape(sizes)); }
    array<T> reshape(const tenon::extents& sizes) && { return array<T>(std::move(this->a_).reshape(sizes)); }
    template <Shape To> array<T, To> as() & { return array<T, To>(this->a_.share()); }
    template <Shape To> array<T, To> as() && { return array<T, To>(std::move(this->a_)); }

protected:
    explicit written_array(any_array&& a) noexcept : base(std::move(a), typename base::trusted{}) {}
    written_array(written_array&&) noexcept = default;
    written_array& operator=(written_array&&) noexcept = default;
    ~written_array() = default;
};

} // namespace detail

/// A host tensor of T whose rank and sizes are known at run time only.
///
///     array<float> a{{1, 2, 3}, {4, 5, 6}};      // [2, 3]
///     array<float> zeros(extents{2, 3});
///     array<float> scalar(3.0f);                 // []: braces would give [1]
template <Element T> class array<T, unranked> : public detail::written_array<T, unranked> {
    using base = detail::written_array<T, unranked>;

public:
    /// No elements, of sizes [0].
    array() : base(any_array::view(nullptr, element_type_of<T>, tenon::extents{0})) {}
    explicit array(const T& scalar) : base(any_array(element_type_of<T>, {})) { *this->data() = scalar; }
    /// From nested braces, which must not be ragged: invalid_argument_error.
    array(std::initializer_list<detail::nested<T>> values) : base(detail::nested<T>::collect(values)) {}
    /// Zeros (false, empty strings).
    explicit array(const tenon::extents& sizes) : base(any_array::zeros(element_type_of<T>, sizes)) {}
    array(uninitialized_t, const tenon::extents& sizes) : base(any_array(element_type_of<T>, sizes)) {}
    /// A copy of `values`, in row-major order; invalid_argument_error when they are not as many as `sizes`
    /// asks for.
    array(std::span<const T> values, const tenon::extents& sizes) : base(detail::copied<T>(values, sizes)) {}
    explicit array(std::span<const T> values) :
        array(values, tenon::extents{static_cast<std::int64_t>(values.size())}) {}
    /// Takes over a tensor of T; invalid_argument_error when its elements are of another type.
    explicit array(any_array&& a) : base(checked(std::move(a))) {}
    template <Shape S> array(array<T, S>&& a) noexcept : base(std::move(a).untyped()) {} // NOLINT
    array(array&&) noexcept = default;
    array& operator=(array&&) noexcept = default;
    array(const array&, detail::write_copy_or_std_move = {}) = delete; // a.copy(), a.share() or std::move(a)
    template <detail::InGraph X> array(const X&) = delete; // a tensor has its value in a step: session.run(x)
    // clang-format off
    template <std::integral N, std::integral... More>
        requires(sizeof...(More) > 0)
    array(N, More...) = delete; // sizes are extents: array<float>(extents{2, 3}); elements are in braces
    template <class T2, class S2>
        requires(!std::is_same_v<T, T2>)
    array(const array<T2, S2>&) = delete; // of another element type: a loop converts its elements, or cast<T>(x) in a graph
    // clang-format on
    array& operator=(const array&) = delete; // a.copy(), a.share() or std::move(a)

    /// A view of memory that outlives it.
    static array view(std::span<T> values, const tenon::extents& sizes) {
        return array(detail::viewed<T>(values, sizes));
    }
    static array full(const tenon::extents& sizes, const T& value) {
        array a(uninitialized, sizes);
        a.fill(value);
        return a;
    }

private:
    static any_array&& checked(any_array&& a) {
        if (a.element() != element_type_of<T>) detail::require_fit(a.type(), {element_type_of<T>, a.extents()});
        return std::move(a);
    }
};

/// A host tensor of T of shape S: its sizes agree with S, always.
///
///     array<float, shape<2, 3>> zeros;
///     array<float, shape<batch, 784>> images(32);      // a value for each named or dynamic size
template <Element T, Shape S> class array<T, S> : public detail::written_array<T, S> {
    using base = detail::written_array<T, S>;
    static constexpr tensor_type declared{element_type_of<T>, S::extents};
    static constexpr int sizes_needed = detail::run_time_sizes(S::extents);

public:
    /// Zeros; named and dynamic sizes are 0.
    array() : base(any_array::zeros(element_type_of<T>, sizes_from())) {}
    explicit array(const T& scalar) requires(S::rank == 0) : base(any_array(element_type_of<T>, {})) {
        *this->data() = scalar;
    }
    /// Zeros, from a value for each named and each dynamic size in order of first appearance.
    template <class... I>
        requires(sizeof...(I) > 0 && sizeof...(I) == sizes_needed && (std::is_integral_v<I> && ...))
    explicit array(I... sizes) : base(any_array::zeros(element_type_of<T>, sizes_from(sizes...))) {}
    template <class... I>
        requires(sizeof...(I) == sizes_needed && (std::is_integral_v<I> && ...))
    explicit array(uninitialized_t, I... sizes) : base(any_array(element_type_of<T>, sizes_from(sizes...))) {}
    template <class... N>
        requires(S::rank > 0 && sizeof...(N) > 0 && (std::is_arithmetic_v<N> && ...) &&
                 !(sizeof...(N) == sizes_needed && (std::is_integral_v<N> && ...)))
    // clang-format off
    array(const N&...) = delete; // an integer for each size that the type leaves open; elements are in braces
    template <class T2, class S2>
        requires(!std::is_same_v<T, T2>)
    array(const array<T2, S2>&) = delete; // of another element type: a loop converts its elements, or cast<T>(x) in a graph
    // clang-format on
    /// From nested braces that fit S: invalid_argument_error. A list of numbers is elements, (64) a size.
    array(std::initializer_list<detail::nested<T>> values) requires(S::rank > 0) :
        base(checked(detail::nested<T>::collect(values))) {}
    // array<float, shape<batch, 4>> a(64), or a{{1, 2, 3, 4}}
    template <detail::Literal<T> U>
        requires(S::rank > 1)
    array(std::initializer_list<U>, detail::write_sizes_in_parentheses_or_braces_for_each_dimension = {})
    = delete;
    template <detail::Literal<T> U>
        requires(S::rank == 1 || S::rank > 2)
    array(std::initializer_list<std::initializer_list<U>>, detail::write_braces_for_each_dimension = {})
    = delete;
    /// A copy of `values`, in row-major order; invalid_argument_error when they are not as many as the sizes
    /// ask for.
    explicit array(std::span<const T> values) requires(sizes_needed == 0) :
        base(detail::copied<T>(values, S::extents)) {}
    array(std::span<const T> values, const tenon::extents& sizes) : base(checked(detail::copied<T>(values, sizes))) {}
    /// Takes over a tensor; invalid_argument_error when it does not fit.
    explicit array(any_array&& a) : base(checked(std::move(a))) {}
    array(array&&) noexcept = default;
    array& operator=(array&&) noexcept = default;
    array(const array&, detail::write_copy_or_std_move = {}) = delete; // a.copy(), a.share() or std::move(a)
    template <detail::InGraph X> array(const X&) = delete; // a tensor has its value in a step: session.run(x)
    array& operator=(const array&) = delete;               // a.copy(), a.share() or std::move(a)

    /// A view of memory that outlives it.
    static array view(std::span<T> values, const tenon::extents& sizes = S::extents) {
        return array(detail::viewed<T>(values, sizes));
    }
    template <class... I>
        requires(sizeof...(I) > 0 && sizeof...(I) == sizes_needed && (std::is_integral_v<I> && ...))
    static array view(std::span<T> values, I... sizes) { return view(values, sizes_from(sizes...)); }

private:
    template <class... I> static tenon::extents sizes_from(I... sizes) {
        const std::int64_t values[max_rank + 1] = {static_cast<std::int64_t>(sizes)...};
        return detail::with_sizes(S::extents, values);
    }
    static any_array&& checked(any_array&& a) {
        detail::require_fit(a.type(), declared);
        return std::move(a);
    }
};

} // namespace tenon

/// An array can be bound as what a step of one fetch gives: auto [l] = sess.run(loss).
template <tenon::Element T, class S>
struct std::tuple_size<tenon::array<T, S>> : std::integral_constant<std::size_t, 1> {};
template <tenon::Element T, class S> struct std::tuple_element<0, tenon::array<T, S>> {
    using type = tenon::array<T, S>;
};

#if TENON_HEADER_ONLY
#include <tenon/core/array/array.ipp>
#endif
