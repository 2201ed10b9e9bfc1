#pragma once

#include <initializer_list>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenon/nn/layer.hpp>
#include <tenon/nn/losses.hpp>
#include <tenon/ops/elementwise/add_n.hpp>
#include <tenon/ops/rows/softmax.hpp>

/// Networks that answer together, in one graph (SEMANTICS 45). Between processes: train/ensemble.hpp.
///
///     auto both = tn::nn::ensemble(a(x), b(x), c(x));                  // of logits [batch, 10] each
///     both.probabilities()                                             // the mean of theirs, [batch, 10]
///     both.predicted(), both.voted()                                   // its class, and the one of most members: [batch]
///     auto [all, each] = sess.run(.., both.accuracy(y), both.accuracies(y));   // of all, [], and of each, [members]
///
///     auto model = tn::nn::ensemble(a, b, c);                          // of networks: a layer
///     model(x)                                                         // the mean of probabilities
///     model.members(x)                                                 // all of the above

namespace tenon {

namespace detail {

// What the members of an ensemble must agree in.
struct ensemble_rule {
    static constexpr const char* name = "ensemble";
    static constexpr inferred infer(const no_attributes&, type_list in, int) {
        if (in.size() < 1) return fault::expects_more_operands;
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        if (in[0].extents.rank() < 1) return fault::rank_too_low;
        return equal_types(in);
    }
};

any_tensor mean_of_members(const std::vector<any_tensor>& probabilities);
any_tensor vote_of_members(const std::vector<any_tensor>& probabilities, const any_tensor& mean, element_type label);
any_tensor part_of_right(const any_tensor& predicted, const any_tensor& labels);
any_tensor parts_of_right(const std::vector<any_tensor>& probabilities, const any_tensor& labels);
std::vector<any_tensor> checked_members(const std::vector<any_tensor>& all, bool are_logits);

// A class for each row of P: [.., classes] -> [..].
template <class P, class Label> struct classes_of {
    using type = std::remove_cvref_t<decltype(nn::predicted_class<Label>(std::declval<const P&>()))>;
};
template <class Label> struct classes_of<any_tensor, Label> { using type = any_tensor; };
template <class P> struct accuracy_of { using type = tensor<float, shape<>>; };
template <> struct accuracy_of<any_tensor> { using type = any_tensor; };
template <class P, auto Members> struct accuracies_of { using type = tensor<float, shape<Members>>; };
template <auto Members> struct accuracies_of<any_tensor, Members> { using type = any_tensor; };

template <class T> T unchecked_as(const any_tensor& t) {
    if constexpr (std::is_same_v<T, any_tensor>) return t;
    else return T::unchecked(t);
}

} // namespace detail

namespace nn {

/// What members say of the same inputs: probabilities [.., classes] of each, of one type P, an any_tensor where that is known at run time
/// only. Members: how many, where the compiler knows. What is computed of them is made where it is asked for, in the scopes there.
template <class P, auto Members = dyn> class ensemble_outputs {
public:
    /// invalid_argument_error where there are none, or their types differ. `are_logits`: softmax(x) of each is its probabilities.
    ensemble_outputs(const std::vector<any_tensor>& members, bool are_logits) :
        probabilities_(detail::checked_members(members, are_logits)) {}

    int members() const noexcept { return static_cast<int>(probabilities_.size()); }
    /// Of member i.
    P member(int i) const { return detail::unchecked_as<P>(probabilities_.at(static_cast<std::size_t>(i))); }
    /// Their mean.
    P probabilities() const { return detail::unchecked_as<P>(detail::mean_of_members(probabilities_)); }
    /// The class of which that is largest: [..].
    template <Element Label = std::int32_t> auto predicted() const {
        return detail::unchecked_as<typename detail::classes_of<P, Label>::type>(predicted_as(element_type_of<Label>));
    }
    /// The class that most members take for the most probable; of several that of the larger mean of probabilities.
    template <Element Label = std::int32_t> auto voted() const {
        return detail::unchecked_as<typename detail::classes_of<P, Label>::type>(voted_as(element_type_of<Label>));
    }

    /// Integer labels [..]: the part of inputs that predicted() has right.
    template <class Y> auto accuracy(const Y& labels) const {
        return right<typename detail::accuracy_of<P>::type>(
            labels, [&](const any_tensor& y) { return detail::part_of_right(predicted_as(y.element()), y); });
    }
    /// That voted() has right.
    template <class Y> auto vote_accuracy(const Y& labels) const {
        return right<typename detail::accuracy_of<P>::type>(
            labels, [&](const any_tensor& y) { return detail::part_of_right(voted_as(y.element()), y); });
    }
    /// That each member has right: [members].
    template <class Y> auto accuracies(const Y& labels) const {
        return right<typename detail::accuracies_of<P, Members>::type>(
            labels, [&](const any_tensor& y) { return detail::parts_of_right(probabilities_, y); });
    }

private:
    any_tensor predicted_as(element_type label) const {
        return untyped::predicted_class(detail::mean_of_members(probabilities_), label);
    }
    any_tensor voted_as(element_type label) const {
        return detail::vote_of_members(probabilities_, detail::mean_of_members(probabilities_), label);
    }
    template <class Result, class Y, class F> static auto right(const Y& labels, F&& f) {
        if constexpr (std::is_same_v<Y, any_tensor> || std::is_same_v<P, any_tensor>) {
            const any_tensor y = labels;
            return detail::unchecked_as<Result>(f(y));
        } else {
            using verdict = detail::verdict_on_operands<detail::accuracy_rule, P, Y>;
            static_assert(verdict::agree, "tenon: shapes do not agree");
            if constexpr (!verdict::fits) return ill_shaped{};
            else return detail::unchecked_as<Result>(f(detail::as_tensor(labels)));
        }
    }
    std::vector<any_tensor> probabilities_;
};

/// Of a mistake that was told.
template <auto Members> struct ensemble_outputs<ill_shaped, Members> {
    int members() const { return 0; }
    ill_shaped member(int) const { return {}; }
    ill_shaped probabilities() const { return {}; }
    template <Element Label = std::int32_t> ill_shaped predicted() const { return {}; }
    template <Element Label = std::int32_t> ill_shaped voted() const { return {}; }
    template <class Y> ill_shaped accuracy(const Y&) const { return {}; }
    template <class Y> ill_shaped vote_accuracy(const Y&) const { return {}; }
    template <class Y> ill_shaped accuracies(const Y&) const { return {}; }
};

/// Networks as one, which says the mean of their probabilities: a layer.
template <class... Layers> class ensemble_layer {
public:
    explicit ensemble_layer(Layers... layers) : layers_(std::move(layers)...) {}

    /// The mean of softmax(layer(x)) of all: [.., classes].
    template <OperandOrIllShaped X>
    auto operator()(const X& x, phase p = inference, called_from here = caller()) const {
        const making made(here);
        return members(x, p).probabilities();
    }
    /// What each says of x.
    template <OperandOrIllShaped X> auto members(const X& x, phase p = inference) const;

private:
    std::tuple<Layers...> layers_;
};
/// The same of a list of layers of one type.
template <class Layer> class ensemble_layer<std::vector<Layer>> {
public:
    explicit ensemble_layer(std::vector<Layer> layers) : layers_(std::move(layers)) {}
    template <OperandOrIllShaped X>
    auto operator()(const X& x, phase p = inference, called_from here = caller()) const {
        const making made(here);
        return members(x, p).probabilities();
    }
    template <OperandOrIllShaped X> auto members(const X& x, phase p = inference) const {
        using P = decltype(call(layers_.front(), x, p));
        if constexpr (std::is_same_v<P, ill_shaped>) return ensemble_outputs<ill_shaped>{};
        else {
            std::vector<any_tensor> all;
            for (const Layer& l : layers_) all.push_back(call(l, x, p));
            return ensemble_outputs<P>(all, true);
        }
    }

private:
    std::vector<Layer> layers_;
};

} // namespace nn

namespace detail {

template <bool AreLogits, class First, class... More>
auto ensemble_of_tensors(const First& first, const More&... more) {
    using verdict = verdict_on_operands<ensemble_rule, First, More...>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return nn::ensemble_outputs<ill_shaped>{};
    else {
        using P = std::remove_cvref_t<decltype(as_tensor(first))>;
        using tensor_of = tensor<typename P::element_type, typename P::shape_type>;
        return nn::ensemble_outputs<tensor_of, static_cast<int>(1 + sizeof...(More))>(
            {as_tensor(first), as_tensor(more)...}, AreLogits);
    }
}
template <class List>
concept ListOfMembers = requires(const List& list) {
    list.begin();
    list.end();
    typename List::value_type;
};
template <class List> auto list_of_members(const List& list, bool are_logits) {
    using member = typename List::value_type;
    if constexpr (std::is_base_of_v<any_tensor, member>)
        return nn::ensemble_outputs<member>(std::vector<any_tensor>(list.begin(), list.end()), are_logits);
    else return nn::ensemble_layer<std::vector<member>>(std::vector<member>(list.begin(), list.end()));
}

} // namespace detail

namespace nn {

/// Of tensors, the logits [.., classes] of each member for the same inputs: what they say together. They have one element type and equal
/// sizes; else it does not compile. Of networks: a layer.
template <class First, class... More> auto ensemble(const First& first, const More&... more) {
    if constexpr (Operand<First> || (Operand<More> || ...)) return detail::ensemble_of_tensors<true>(first, more...);
    else if constexpr (sizeof...(More) == 0 && detail::ListOfMembers<First>)
        return detail::list_of_members(first, true);
    else if constexpr (std::is_same_v<First, any_tensor>)
        return ensemble_outputs<any_tensor>(std::vector<any_tensor>{first, more...}, true);
    else return ensemble_layer<First, More...>(first, more...);
}
/// A list of members of one type.
template <class Member> auto ensemble(std::initializer_list<Member> members) {
    return detail::list_of_members(std::vector<Member>(members), true);
}
/// The same of tensors that are probabilities already.
template <class First, class... More> auto ensemble_of_probabilities(const First& first, const More&... more) {
    if constexpr (detail::ListOfMembers<First>) return detail::list_of_members(first, false);
    else if constexpr (std::is_same_v<First, any_tensor>)
        return ensemble_outputs<any_tensor>(std::vector<any_tensor>{first, more...}, false);
    else return detail::ensemble_of_tensors<false>(first, more...);
}

template <class... Layers>
template <OperandOrIllShaped X>
auto ensemble_layer<Layers...>::members(const X& x, phase p) const {
    return std::apply([&](const Layers&... l) { return detail::ensemble_of_tensors<true>(call(l, x, p)...); }, layers_);
}

} // namespace nn
} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/nn/ensemble.ipp>
#endif
