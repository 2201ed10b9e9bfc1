#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/ops/elementwise/constant.hpp>

/// Serialized examples (io/example/example.hpp) as tensors: which features, of which types, is said by specifications.
///
///     const auto words = tn::padded_feature<std::int64_t>("words");
///     auto [image, label, text, length] = tn::parse_example(serialized,               // string[batch]
///         tn::fixed_feature<float, tn::shape<28, 28>>("image"),                       // float[batch, 28, 28]
///         tn::fixed_feature<std::int64_t>("label", -1),                               // int64[batch], -1 where it is missing
///         words, tn::length_of(words));                                               // int64[batch, ?], int64[batch]

namespace tenon {

/// How a feature becomes a tensor.
enum class feature_layout {
    fixed,    ///< as many values as the sizes say, in each example
    padded,   ///< any number of rows; as many as the longest of the batch has, behind which is padding
    sequence, ///< the same of a SequenceExample's feature list: a row for each of its features
};

namespace untyped {
/// What is asked of one feature.
struct feature_spec {
    std::string name = {};
    /// Elements are float, int64 or string. Sizes are numbers, but for the first of what is padded: there dyn or a name
    /// stands for the number of rows, and a number is how many there are room for.
    tensor_type type = {};
    feature_layout layout = feature_layout::fixed;
    bool required = true; ///< false: it may be missing, and is then the filler, or of no rows
    bool length = false;  ///< of what is padded the number of rows, int64, and not the values
    /// fixed, not required: the value, of the type's sizes; padded or sequence: the padding, one element; else none.
    std::shared_ptr<const any_array> filler = nullptr;
};
} // namespace untyped

/// in: serialized examples, string [] or [batch]; then the fillers of those features that have one, in their order. Output i:
/// feature i, behind the batch.
struct parse_example_op {
    static constexpr const char* name = "parse_example";
    static constexpr op_flags flags = op_flags::waits; // how many rows there are is in the examples
    static constexpr element_types gpu_types = no_elements;
    struct attributes {
        std::shared_ptr<const any_array> names; ///< string [n]
        std::vector<tensor_type> types;         ///< [n]
        std::shared_ptr<const any_array>
            how; ///< int64 [n]: layout, + 4 where it is required, + 8 where its length is asked for
    };
    static constexpr std::int64_t required = 4, length = 8;
    static int outputs(const attributes& a, int) { return static_cast<int>(a.types.size()); }
    static inferred infer(const attributes& a, type_list in, int output);
    static kernel_pointer prepare(const kernel_setup& s);

    static feature_layout layout_of(std::int64_t how) { return static_cast<feature_layout>(how & 3); }
    /// Whether an input says what stands where there is no value.
    static bool has_filler(std::int64_t how) {
        return (how & length) == 0 && (layout_of(how) != feature_layout::fixed || (how & required) == 0);
    }
};
TENON_OP(parse_example, parse_example);

namespace untyped {
/// The features of serialized examples [batch] (tf.Example), a tensor for each specification. Throws invalid_argument_error for
/// specifications that cannot be.
std::vector<any_tensor> parse_example(const any_tensor& serialized, const std::vector<feature_spec>& features,
                                      called_from here = caller());
/// The same of one example, a scalar.
std::vector<any_tensor> parse_single_example(const any_tensor& serialized, const std::vector<feature_spec>& features,
                                             called_from here = caller());
/// The same of tf.SequenceExample: feature_layout::sequence are its feature lists, the others its context.
std::vector<any_tensor> parse_sequence_example(const any_tensor& serialized, const std::vector<feature_spec>& features,
                                               called_from here = caller());
std::vector<any_tensor> parse_single_sequence_example(const any_tensor& serialized,
                                                      const std::vector<feature_spec>& features,
                                                      called_from here = caller());
} // namespace untyped

namespace detail {
template <class T>
inline constexpr bool is_feature_element =
    std::is_same_v<T, float> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::string>;
} // namespace detail

/// What features hold: float, std::int64_t or std::string.
template <class T>
concept FeatureElement = detail::is_feature_element<T>;

namespace detail {

// Of a shape whose first size may be open.
template <class S> constexpr bool has_rows() {
    if (S::rank < 1) return false;
    for (int d = 1; d < S::rank; ++d)
        if (!S::extents[d].is_number()) return false;
    return true;
}

any_array filled_with(any_array element, const extents& sizes);
template <Element T> std::shared_ptr<const any_array> filler_of(const T& value, const extents& sizes = {}) {
    any_array element(element_type_of<T>, {});
    *static_cast<T*>(element.data()) = value;
    return std::make_shared<const any_array>(filled_with(std::move(element), sizes));
}

// What specifications have in common.
template <FeatureElement T, Shape S> class feature_base {
public:
    using element_type = T;
    using shape_type = canonical_t<S>;
    const untyped::feature_spec& spec() const noexcept { return spec_; }

protected:
    feature_base(std::string name, feature_layout layout) {
        spec_.name = std::move(name);
        spec_.type = {element_type_of<T>, shape_type::extents};
        spec_.layout = layout;
    }
    untyped::feature_spec spec_;
};

} // namespace detail

/// Sizes that are numbers: what has any number of rows is a padded_feature.
template <class S>
concept FixedShape = Shape<S> && S::extents.is_static();
/// Sizes of which the first, the number of rows, may be dyn or a name: shape<dyn>, shape<dyn, 3>, shape<length, 28, 28>.
template <class S>
concept ShapeOfRows = Shape<S> && detail::has_rows<S>();

/// A feature of as many values as S has elements, in row-major order. Without a default each example must have it.
template <FeatureElement T, FixedShape S = shape<>> class fixed_feature : public detail::feature_base<T, S> {
public:
    explicit fixed_feature(std::string name) : detail::feature_base<T, S>(std::move(name), feature_layout::fixed) {}
    /// `otherwise`: each element where the feature is missing.
    fixed_feature(std::string name, const T& otherwise) : fixed_feature(std::move(name)) {
        fall_back_to(detail::filler_of(otherwise, S::extents));
    }
    fixed_feature(std::string name, array<T, S> otherwise) : fixed_feature(std::move(name)) {
        fall_back_to(std::make_shared<const any_array>(std::move(otherwise).untyped()));
    }

private:
    void fall_back_to(std::shared_ptr<const any_array> value) {
        this->spec_.filler = std::move(value);
        this->spec_.required = false;
    }
};

/// A feature of any number of rows, each of S without its first size: shape<dyn> is a list. Where S begins with a number, so
/// many rows are always given, and an example with more is an error. What is missing has no rows.
template <FeatureElement T, ShapeOfRows S = shape<dyn>> class padded_feature : public detail::feature_base<T, S> {
public:
    explicit padded_feature(std::string name, const T& padding = T()) :
        detail::feature_base<T, S>(std::move(name), feature_layout::padded) {
        this->spec_.required = false;
        this->spec_.filler = detail::filler_of(padding);
    }
};

/// A feature list of a SequenceExample: a row for each step, of S without its first size.
template <FeatureElement T, ShapeOfRows S = shape<dyn>> class sequence_feature : public detail::feature_base<T, S> {
public:
    explicit sequence_feature(std::string name, const T& padding = T()) :
        detail::feature_base<T, S>(std::move(name), feature_layout::sequence) {
        this->spec_.filler = detail::filler_of(padding);
    }
    /// An example without the list is one of no steps, and no error.
    sequence_feature allow_missing() && {
        this->spec_.required = false;
        return std::move(*this);
    }
    sequence_feature allow_missing() const& { return sequence_feature(*this).allow_missing(); }
};

/// How many rows of a padded_feature or a sequence_feature an example has.
template <class F> class feature_length {
public:
    using element_type = std::int64_t;
    using shape_type = shape<>;
    explicit feature_length(const F& of) : spec_(of.spec()) {
        spec_.length = true;
        spec_.filler = nullptr;
    }
    const untyped::feature_spec& spec() const noexcept { return spec_; }

private:
    untyped::feature_spec spec_;
};
/// Beside such a feature: how many elements, or steps, each example has of it, int64[batch].
template <class T, class S> auto length_of(const padded_feature<T, S>& f) {
    return feature_length<padded_feature<T, S>>(f);
}
template <class T, class S> auto length_of(const sequence_feature<T, S>& f) {
    return feature_length<sequence_feature<T, S>>(f);
}

namespace detail {

template <class F> inline constexpr bool is_feature_spec = false;
template <class T, class S> inline constexpr bool is_feature_spec<fixed_feature<T, S>> = true;
template <class T, class S> inline constexpr bool is_feature_spec<padded_feature<T, S>> = true;
template <class T, class S> inline constexpr bool is_feature_spec<sequence_feature<T, S>> = true;
template <class F> inline constexpr bool is_feature_spec<feature_length<F>> = true;
template <class F> inline constexpr bool is_of_sequence = false;
template <class T, class S> inline constexpr bool is_of_sequence<sequence_feature<T, S>> = true;
template <class F> inline constexpr bool is_of_sequence<feature_length<F>> = is_of_sequence<F>;

// What is parsed: texts, a list of them or one.
template <int Rank> struct serialized_rule {
    static constexpr const char* name = Rank == 1 ? "parse_example" : "parse_single_example";
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (in[0].element != element_type::string) return fault::element_type_not_supported;
        if (in[0].extents.rank() < Rank) return fault::rank_too_low;
        if (in[0].extents.rank() > Rank) return fault::rank_too_high;
        return inferred(in[0]);
    }
};

template <class Batch, class F> struct parsed_feature;
template <auto... B, class F> struct parsed_feature<shape<B...>, F> {
    template <auto... D> static auto behind(shape<D...>) -> tensor<typename F::element_type, shape<B..., D...>>;
    using type = decltype(behind(typename F::shape_type()));
};
template <class> using ill_shaped_for = ill_shaped;

template <class Batch, class... F, std::size_t... I>
auto typed_features(const std::vector<any_tensor>& parsed, std::index_sequence<I...>) {
    return std::tuple(parsed_feature<Batch, F>::type::unchecked(parsed[I])...);
}

} // namespace detail

/// What parse_example and its relatives are told of a feature.
template <class F>
concept FeatureSpec = detail::is_feature_spec<F>;

/// The features of serialized tf.Examples, string [batch]: a std::tuple with a tensor for each specification, [batch, sizes...].
/// In the step: a feature that is missing, of another kind or of another number of values is an invalid_argument_error that
/// names it and the example; bytes that are no example are a data_loss_error.
template <OperandOrIllShaped X, FeatureSpec... F> auto parse_example(const X& serialized, const F&... features) {
    using verdict = detail::verdict_on_operands<detail::serialized_rule<1>, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    static_assert(!(detail::is_of_sequence<F> || ...),
                  "tenon::parse_example: a sequence_feature is read by parse_sequence_example");
    if constexpr (!verdict::fits) return std::tuple<detail::ill_shaped_for<F>...>{};
    else
        return detail::typed_features<typename X::shape_type, F...>(
            untyped::parse_example(detail::as_tensor(serialized), {features.spec()...}),
            std::index_sequence_for<F...>{});
}
/// The same of one example, string []: tensors of the sizes that the specifications say.
template <OperandOrIllShaped X, FeatureSpec... F> auto parse_single_example(const X& serialized, const F&... features) {
    using verdict = detail::verdict_on_operands<detail::serialized_rule<0>, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    static_assert(!(detail::is_of_sequence<F> || ...),
                  "tenon::parse_single_example: a sequence_feature is read by parse_single_sequence_example");
    if constexpr (!verdict::fits) return std::tuple<detail::ill_shaped_for<F>...>{};
    else
        return detail::typed_features<shape<>, F...>(
            untyped::parse_single_example(detail::as_tensor(serialized), {features.spec()...}),
            std::index_sequence_for<F...>{});
}
/// The same of tf.SequenceExamples, string [batch]: a sequence_feature is one of their feature lists, the others are in their
/// context.
template <OperandOrIllShaped X, FeatureSpec... F>
auto parse_sequence_example(const X& serialized, const F&... features) {
    using verdict = detail::verdict_on_operands<detail::serialized_rule<1>, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return std::tuple<detail::ill_shaped_for<F>...>{};
    else
        return detail::typed_features<typename X::shape_type, F...>(
            untyped::parse_sequence_example(detail::as_tensor(serialized), {features.spec()...}),
            std::index_sequence_for<F...>{});
}
/// The same of one tf.SequenceExample, string [].
template <OperandOrIllShaped X, FeatureSpec... F>
auto parse_single_sequence_example(const X& serialized, const F&... features) {
    using verdict = detail::verdict_on_operands<detail::serialized_rule<0>, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return std::tuple<detail::ill_shaped_for<F>...>{};
    else
        return detail::typed_features<shape<>, F...>(
            untyped::parse_single_sequence_example(detail::as_tensor(serialized), {features.spec()...}),
            std::index_sequence_for<F...>{});
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_parse_example)

#include <tenon/ops/input/parse_example.inl>

namespace tenon {

TENON_INLINE inferred parse_example_op::infer(const attributes& a, type_list in, int output) {
    const auto n = static_cast<std::int64_t>(a.types.size());
    if (!a.names || a.names->type() != tensor_type{element_type::string, {n}} || !a.how ||
        a.how->type() != tensor_type{element_type::int64, {n}} || n == 0)
        return fault::names_differ;
    if (in.size() < 1) return fault::expects_more_operands;
    if (in[0].element != element_type::string) return fault::element_type_not_supported;
    if (in[0].extents.rank() > 1) return fault::rank_too_high;
    int next = 1;
    for (std::int64_t i = 0; i < n; ++i) {
        const tensor_type& t = a.types[static_cast<std::size_t>(i)];
        const std::int64_t how = a.how->data<std::int64_t>()[i];
        const bool rows = layout_of(how) != feature_layout::fixed;
        if (how < 0 || how >= 16 || (how & 3) > 2 || ((how & length) != 0 && !rows)) return fault::names_differ;
        if (t.element != element_type::float32 && t.element != element_type::int64 && t.element != element_type::string)
            return fault::element_type_not_supported;
        if (rows && t.extents.rank() < 1) return fault::rank_too_low;
        for (int d = rows; d < t.extents.rank(); ++d)
            if (!t.extents[d].is_number()) return fault::size_must_be_known;
        if (!has_filler(how)) continue;
        if (next == in.size()) return fault::expects_more_operands;
        const fault f = equal_shapes(in[next].extents, rows ? extents() : t.extents).what;
        if (in[next].element != t.element || f != fault::none) return fault::value_does_not_fit_component;
        ++next;
    }
    if (next != in.size()) return fault::names_differ;
    const bool length_only = (a.how->data<std::int64_t>()[output] & length) != 0;
    const tensor_type& t = a.types[static_cast<std::size_t>(output)];
    extents sizes = length_only ? extents() : t.extents;
    if (in[0].extents.rank() == 1) sizes.insert(0, in[0].extents[0]);
    return inferred(length_only ? element_type::int64 : t.element, sizes);
}

namespace detail {

TENON_INLINE std::vector<any_tensor> parse_features(const any_tensor& serialized,
                                                    const std::vector<untyped::feature_spec>& features) {
    const auto n = static_cast<std::int64_t>(features.size());
    any_array names(element_type::string, {n}), how(element_type::int64, {n});
    parse_example_op::attributes a;
    std::vector<any_tensor> in{serialized};
    for (std::int64_t i = 0; i < n; ++i) {
        const untyped::feature_spec& f = features[static_cast<std::size_t>(i)];
        const std::int64_t bits = static_cast<std::int64_t>(f.layout) | (f.required ? parse_example_op::required : 0) |
                                  (f.length ? parse_example_op::length : 0);
        names.data<std::string>()[i] = f.name;
        how.data<std::int64_t>()[i] = bits;
        a.types.push_back(f.type);
        if (parse_example_op::has_filler(bits) != (f.filler != nullptr))
            throw invalid_argument_error("parse_example: feature \"" + f.name + "\" " +
                                         (f.filler ? "has a filler that nothing asks for"
                                                   : "lacks a filler: its default, or what it is padded with"));
        if (f.filler) in.push_back(tenon::add<constant_op>({f.filler}, {}));
    }
    a.names = std::make_shared<const any_array>(std::move(names));
    a.how = std::make_shared<const any_array>(std::move(how));
    node* made = add_node(definition_of<parse_example_op>(), std::move(in), encode(a));
    std::vector<any_tensor> out;
    for (int i = 0; i < static_cast<int>(n); ++i) out.push_back(any_tensor({made, i}));
    return out;
}
TENON_INLINE void no_sequences(const char* who, const std::vector<untyped::feature_spec>& features) {
    for (const untyped::feature_spec& f : features)
        if (f.layout == feature_layout::sequence)
            throw invalid_argument_error(std::string(who) + ": feature \"" + f.name +
                                         "\" is a sequence, which parse_sequence_example reads");
}

} // namespace detail

namespace untyped {

TENON_INLINE std::vector<any_tensor> parse_example(const any_tensor& serialized,
                                                   const std::vector<feature_spec>& features, called_from here) {
    const making made(here);
    detail::no_sequences("parse_example", features);
    return parse_sequence_example(serialized, features);
}
TENON_INLINE std::vector<any_tensor> parse_single_example(const any_tensor& serialized,
                                                          const std::vector<feature_spec>& features, called_from here) {
    const making made(here);
    detail::no_sequences("parse_single_example", features);
    return parse_single_sequence_example(serialized, features);
}
TENON_INLINE std::vector<any_tensor>
parse_sequence_example(const any_tensor& serialized, const std::vector<feature_spec>& features, called_from here) {
    const making made(here);
    detail::check_operands<detail::serialized_rule<1>>({serialized});
    return detail::parse_features(serialized, features);
}
TENON_INLINE std::vector<any_tensor> parse_single_sequence_example(const any_tensor& serialized,
                                                                   const std::vector<feature_spec>& features,
                                                                   called_from here) {
    const making made(here);
    detail::check_operands<detail::serialized_rule<0>>({serialized});
    return detail::parse_features(serialized, features);
}

} // namespace untyped

TENON_KERNEL(parse_example, detail::immediate_kernel<detail::parse_example_select>);

} // namespace tenon

#endif
