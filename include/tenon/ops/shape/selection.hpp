#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>

/// Elements that their values choose: how many there are is known in the step. Where their number shall have a name, it is
/// given; otherwise the types say dyn.
///
///     auto seen = tn::boolean_mask<kept>(samples, known);   // float[batch, 784], bool[batch] -> float[kept, 784]
///     auto where = tn::nonzero(x);                           // [3, 4] -> int64[?, 2]
///     auto [words, number] = tn::unique(text);               // string[n] -> string[?], int32[n]
///     auto places = tn::arange_to(count);                    // int64[] -> int64[?]: 0, 1, .. below count

namespace tenon {

namespace detail {

/// Of what chooses elements: what the types say of how many there are. None: nothing.
struct selection_attributes {
    extents count;
    constexpr extent result() const { return count.rank() == 1 ? count[0] : extent(); }
};

// They end as soon as they have started; what they wait for is their values.
struct selects {
    static constexpr element_types gpu_types = no_elements;
    static constexpr op_flags flags = op_flags::waits;
};

} // namespace detail

/// in: x, mask (bool, whose sizes are the first of x's). The parts of x, in their order, where the mask is true.
struct boolean_mask_op : detail::selects {
    static constexpr const char* name = "boolean_mask";
    using attributes = detail::selection_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 2) return fault::expects_more_operands;
        if (in[1].element != element_type::boolean) return fault::element_type_must_be_bool;
        const extents &x = in[0].extents, &mask = in[1].extents;
        if (mask.rank() < 1 || x.rank() < mask.rank() || a.count.rank() > 1) return fault::rank_too_low;
        extents sizes{a.result()};
        for (int d = 0; d < mask.rank(); ++d)
            if (const fault f = equal_sizes(x[d], mask[d]).what; f != fault::none) return f;
        for (int d = mask.rank(); d < x.rank(); ++d) sizes.push_back(x[d]);
        return inferred(in[0].element, sizes);
    }
    static constexpr extents at_most(const attributes& a, type_list in, int output) {
        extents sizes = infer(a, in, output).type.extents;
        sizes[0] = size_of_all(in[1].extents);
        return sizes;
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(selection, boolean_mask);

/// in: gradient of a boolean_mask, mask, x, whose value does not matter. Zeros of x's sizes, and where the mask is true the
/// gradient's parts.
struct boolean_mask_gradient_op {
    static constexpr const char* name = "boolean_mask_gradient";
    using attributes = no_attributes;
    static constexpr bool needs_value(const attributes&, int input) { return input != 2; }
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() != 3) return fault::expects_more_operands;
        if (!is_numeric(in[0].element)) return fault::element_type_must_be_numeric;
        if (in[0].element != in[2].element) return fault::element_types_differ;
        const tensor_type operands[] = {in[2], in[1]};
        if (in[0].extents.rank() < 1) return fault::rank_too_low;
        const inferred r = boolean_mask_op::infer({extents{in[0].extents[0]}}, type_list(operands, 2), 0);
        if (!r) return r;
        const merged_extents m = equal_shapes(r.type.extents, in[0].extents);
        return m.what == fault::none ? inferred(in[2]) : inferred(m.what);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(selection, boolean_mask_gradient);

/// in: x, of numbers or bools and of 1 dimension or more. The index of each element that is not 0 or false, in the order
/// in which they lie: a row for each, with a number a dimension of x. A NaN is not 0.
struct nonzero_op : detail::selects {
    static constexpr const char* name = "nonzero";
    using attributes = detail::selection_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (in[0].element == element_type::string) return fault::element_type_not_supported;
        if (in[0].extents.rank() < 1 || a.count.rank() > 1) return fault::rank_too_low;
        return inferred(element_type::int64, {a.result(), extent(in[0].extents.rank())});
    }
    static constexpr extents at_most(const attributes&, type_list in, int) {
        return {size_of_all(in[0].extents), extent(in[0].extents.rank())};
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(selection, nonzero);

/// in: x, of 1 dimension. Output 0: its different elements, in the order in which they first occur. Output 1: for each
/// element of x where it is in output 0. -0 is 0, and is given as what came first; a NaN equals nothing, so each is an
/// element of its own.
struct unique_op : detail::selects {
    static constexpr const char* name = "unique";
    struct attributes {
        element_type index = element_type::int32; ///< or int64
        extents count;
    };
    static constexpr int outputs(const attributes&, int) { return 2; }
    static constexpr inferred infer(const attributes& a, type_list in, int output) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (a.index != element_type::int32 && a.index != element_type::int64)
            return fault::element_type_must_be_integer;
        if (in[0].extents.rank() < 1) return fault::rank_too_low;
        if (in[0].extents.rank() > 1 || a.count.rank() > 1) return fault::rank_too_high;
        if (output == 1) return inferred(a.index, in[0].extents);
        return inferred(in[0].element, {detail::selection_attributes{a.count}.result()});
    }
    static constexpr extents at_most(const attributes&, type_list in, int) { return in[0].extents; }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(selection, unique);

/// in: n, int32 or int64, of no dimensions. 0, 1, .. n - 1. An n below 0 fails the step.
struct arange_to_op : detail::selects {
    static constexpr const char* name = "arange_to";
    using attributes = detail::selection_attributes;
    static constexpr inferred infer(const attributes& a, type_list in, int) {
        if (in.size() != 1) return fault::expects_more_operands;
        if (in[0].element != element_type::int32 && in[0].element != element_type::int64)
            return fault::element_type_must_be_integer;
        if (in[0].extents.rank() > 0 || a.count.rank() > 1) return fault::rank_too_high;
        return inferred(element_type::int64, {a.result()});
    }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(selection, arange_to);

namespace untyped {
/// `size`: what the types say of how many elements there are, extent::named("kept"), say, or a number, which the step
/// checks; not given: nothing.
any_tensor boolean_mask(const any_tensor& x, const any_tensor& mask, const extents& size = {},
                        called_from here = caller());
any_tensor nonzero(const any_tensor& x, const extents& size = {}, called_from here = caller());
/// The different elements, and for each element of x where it is among them: int32 or int64.
std::vector<any_tensor> unique(const any_tensor& x, element_type index = element_type::int32, const extents& size = {},
                               called_from here = caller());
any_tensor arange_to(const any_tensor& n, const extents& size = {}, called_from here = caller());
} // namespace untyped

namespace detail {

template <auto Size> constexpr extents selection_size() {
    constexpr extent said = extent_of<Size>();
    return said.is_dynamic() ? extents() : extents(said);
}
// The rule of Op, whatever is said of how many there are.
template <class Op> struct selection_rule {
    static constexpr const char* name = Op::name;
    static constexpr inferred infer(const no_attributes&, type_list in, int output) {
        return Op::infer({}, in, output);
    }
};

// Size and what S has behind its first `Dropped` sizes.
template <auto Size, int Dropped, class S> constexpr auto selected_shape() {
    return []<std::size_t... I>(std::index_sequence<I...>) {
        return shape<canonical_dim<Size>(), dim_table<S>::template at<Dropped + static_cast<int>(I)>()...>{};
    }
    (std::make_index_sequence<static_cast<std::size_t>(S::rank - Dropped)>{});
}

} // namespace detail

/// The parts of x where the mask, of bools, is true: the mask has the first of x's sizes, in whose place comes Size, how many
/// there are: dyn, a named size, or a number, which the step then checks.
template <auto Size = dyn, OperandOrIllShaped X, OperandOrIllShaped M>
auto boolean_mask(const X& x, const M& mask, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::selection_rule<boolean_mask_op>, X, M>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else {
        using S = decltype(detail::selected_shape<Size, M::shape_type::rank, typename X::shape_type>());
        return tensor<typename X::element_type, S>::unchecked(
            untyped::boolean_mask(detail::as_tensor(x), detail::as_tensor(mask), detail::selection_size<Size>()));
    }
}

/// The indices of the elements of x that are not 0 or false, a row for each, in the order in which they lie: int64, of sizes
/// Size by x's rank. A NaN is not 0.
template <auto Size = dyn, OperandOrIllShaped X> auto nonzero(const X& x, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::selection_rule<nonzero_op>, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return tensor<std::int64_t, shape<detail::canonical_dim<Size>(), X::shape_type::rank>>::unchecked(
            untyped::nonzero(detail::as_tensor(x), detail::selection_size<Size>()));
}

/// The different elements of x, of 1 dimension, in the order in which they first occur, and for each element of x where it is
/// among them, as std::tuple of a tensor of size Size and one of Index (int32 or int64) of x's size. -0 is 0, a NaN equals
/// nothing.
template <auto Size, Element Index = std::int32_t, OperandOrIllShaped X>
auto unique(const X& x, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::selection_rule<unique_op>, X>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    static_assert(std::is_same_v<Index, std::int32_t> || std::is_same_v<Index, std::int64_t>,
                  "tenon::unique: indices are int32 or int64");
    if constexpr (!verdict::fits) return std::tuple<ill_shaped, ill_shaped>{};
    else {
        const std::vector<any_tensor> both =
            untyped::unique(detail::as_tensor(x), element_type_of<Index>, detail::selection_size<Size>());
        return std::tuple(tensor<typename X::element_type, shape<detail::canonical_dim<Size>()>>::unchecked(both[0]),
                          tensor<Index, typename X::shape_type>::unchecked(both[1]));
    }
}
template <Element Index = std::int32_t, OperandOrIllShaped X> auto unique(const X& x, called_from here = caller()) {
    const making made(here);
    return unique<dyn, Index>(x);
}

/// 0, 1, .. n - 1, of size Size: as many numbers (int64) as n says, which is an int32 or int64 of no dimensions and not below 0.
template <auto Size = dyn, OperandOrIllShaped N> auto arange_to(const N& n, called_from here = caller()) {
    const making made(here);
    using verdict = detail::verdict_on_operands<detail::selection_rule<arange_to_op>, N>;
    static_assert(verdict::agree, "tenon: shapes do not agree");
    if constexpr (!verdict::fits) return ill_shaped{};
    else
        return tensor<std::int64_t, shape<detail::canonical_dim<Size>()>>::unchecked(
            untyped::arange_to(detail::as_tensor(n), detail::selection_size<Size>()));
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_selection)

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include <tenon/core/array/copy_elements.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/op/immediate_kernel.hpp>
#include <tenon/ops/shape/masked_rows_kernel.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor boolean_mask(const any_tensor& x, const any_tensor& mask, const extents& size,
                                     called_from here) {
    return tenon::add<boolean_mask_op>({size}, {x, mask}, here);
}
TENON_INLINE any_tensor nonzero(const any_tensor& x, const extents& size, called_from here) {
    return tenon::add<nonzero_op>({size}, {x}, here);
}
TENON_INLINE std::vector<any_tensor> unique(const any_tensor& x, element_type index, const extents& size,
                                            called_from here) {
    const making made(here);
    node* n = add_node(definition_of<unique_op>(), {x}, encode(unique_op::attributes{index, size}));
    return {any_tensor({n, 0}), any_tensor({n, 1})};
}
TENON_INLINE any_tensor arange_to(const any_tensor& n, const extents& size, called_from here) {
    return tenon::add<arange_to_op>({size}, {n}, here);
}
} // namespace untyped

TENON_INLINE void boolean_mask_op::gradient(gradient_context& g) {
    g.set(0, tenon::add<boolean_mask_gradient_op>({}, {g.output_gradient(), g.input(1), g.input(0)}));
}
TENON_INLINE void boolean_mask_gradient_op::gradient(gradient_context& g) {
    g.set(0, untyped::boolean_mask(g.output_gradient(), g.input(1), {g.input(0).extents()[0]}));
}

namespace detail {

// Calls f(first, count) for each run of trues: where it begins, and how many they are.
template <class F> void for_each_run(const bool* mask, std::int64_t n, F&& f) {
    for (const bool *at = mask, *end = mask + n; (at = std::find(at, end, true)) != end;) {
        const bool* const behind = std::find(at, end, false);
        f(at - mask, behind - at);
        at = behind;
    }
}

struct boolean_mask_select {
    explicit boolean_mask_select(const kernel_setup&) {}
    std::vector<any_array> operator()(const std::vector<any_array>& in) const {
        const any_array &x = in[0], &mask = in[1];
        const bool* chosen = mask.data<bool>();
        extents sizes{static_cast<std::int64_t>(std::count(chosen, chosen + mask.elements(), true))};
        std::int64_t part = 1;
        for (int d = mask.rank(); d < x.rank(); ++d) {
            sizes.push_back(x.extents()[d]);
            part *= x.extents()[d].size;
        }
        std::vector<any_array> out;
        any_array& made = out.emplace_back(x.element(), sizes);
        std::int64_t at = 0;
        for_each_run(chosen, mask.elements(), [&](std::int64_t first, std::int64_t n) {
            copy_elements(x.element(), made.data(), at, x.data(), first * part, n * part);
            at += n * part;
        });
        return out;
    }
};

struct nonzero_select {
    explicit nonzero_select(const kernel_setup&) {}
    std::vector<any_array> operator()(const std::vector<any_array>& in) const {
        return with_element(in[0].element(), [&]<class T>(const T&) {
            if constexpr (std::is_same_v<T, std::string>) return std::vector<any_array>(); // the rule refuses it
            else return indices_of(in[0], static_cast<const T*>(in[0].data()));
        });
    }

private:
    template <class T> static std::vector<any_array> indices_of(const any_array& x, const T* p) {
        const auto chosen = [](const T& v) { return v != T(); };
        const int rank = x.rank();
        std::vector<any_array> out;
        any_array& made = out.emplace_back(
            element_type::int64, extents{static_cast<std::int64_t>(std::count_if(p, p + x.elements(), chosen)), rank});
        auto* to = made.data<std::int64_t>();
        std::int64_t at[max_rank] = {};
        for (std::int64_t i = 0; i < x.elements(); ++i) {
            if (chosen(p[i])) to = std::copy_n(at, rank, to);
            for (int d = rank - 1; d >= 0 && ++at[d] == x.extents()[d].size; --d) at[d] = 0;
        }
        return out;
    }
};

struct unique_select {
    explicit unique_select(const kernel_setup& s) : index(s.attrs.get<element_type>("index")), name(s.node.name) {}
    std::vector<any_array> operator()(const std::vector<any_array>& in) const {
        if (index == element_type::int32 && in[0].elements() > std::numeric_limits<std::int32_t>::max())
            throw invalid_argument_error(name + ": int32 does not number " + std::to_string(in[0].elements()) +
                                         " elements; ask for int64");
        return with_element(in[0].element(), [&]<class T>(const T&) {
            const T* p = static_cast<const T*>(in[0].data());
            return index == element_type::int32 ? different<T, std::int32_t>(in[0], p)
                                                : different<T, std::int64_t>(in[0], p);
        });
    }

private:
    // What elements are found by.
    static std::string_view key_of(const std::string& v) { return v; }
    static float key_of(half v) { return static_cast<float>(v); }
    static float key_of(bfloat16 v) { return static_cast<float>(v); }
    template <class T> static T key_of(T v) { return v; }

    template <class T, class Index> static std::vector<any_array> different(const any_array& x, const T* p) {
        const std::int64_t n = x.elements();
        any_array indices(element_type_of<Index>, x.extents());
        auto* const to = indices.data<Index>();
        std::unordered_map<std::decay_t<decltype(key_of(*p))>, Index> found;
        std::vector<std::int64_t> first; // where each was found first
        for (std::int64_t i = 0; i < n; ++i) {
            const auto [at, is_new] = found.emplace(key_of(p[i]), static_cast<Index>(first.size()));
            if (is_new) first.push_back(i);
            to[i] = at->second;
        }
        any_array values(x.element(), extents{static_cast<std::int64_t>(first.size())});
        auto* const v = values.data<T>();
        for (std::size_t i = 0; i < first.size(); ++i) v[i] = p[first[i]];
        std::vector<any_array> out;
        out.push_back(std::move(values));
        out.push_back(std::move(indices));
        return out;
    }

    element_type index;
    std::string name;
};

struct arange_to_select {
    explicit arange_to_select(const kernel_setup& s) : name(s.node.name) {}
    std::vector<any_array> operator()(const std::vector<any_array>& in) const {
        const std::int64_t n =
            in[0].element() == element_type::int32 ? *in[0].data<std::int32_t>() : *in[0].data<std::int64_t>();
        if (n < 0) throw invalid_argument_error(name + ": there are no " + std::to_string(n) + " numbers");
        std::vector<any_array> out;
        any_array& made = out.emplace_back(element_type::int64, extents{n});
        std::iota(made.data<std::int64_t>(), made.data<std::int64_t>() + n, std::int64_t{0});
        return out;
    }

    std::string name;
};

struct boolean_mask_gradient_kernel final : kernel {
    explicit boolean_mask_gradient_kernel(const kernel_setup& s) : rows(s), element(s.outputs[0].element) {}
    void run(const kernel_run& r) override {
        const bool* mask = r.input<bool>(1);
        rows.check_chosen(std::count(mask, mask + rows.places, true));
        const std::int64_t part = rows.part;
        const std::size_t bytes = static_cast<std::size_t>(rows.places * part) * size_of(element);
        if (bytes > 0) std::memset(r.out[0], 0, bytes);
        std::int64_t at = 0;
        for_each_run(mask, rows.places, [&](std::int64_t first, std::int64_t count) {
            copy_elements(element, r.out[0], first * part, r.in[0], at, count * part);
            at += count * part;
        });
    }
    double cost() const override {
        return 50 + static_cast<double>(rows.places) * (1 + 0.1 * static_cast<double>(rows.part));
    }
    masked_rows rows;
    element_type element;
};

} // namespace detail

TENON_KERNEL(boolean_mask, detail::immediate_kernel<detail::boolean_mask_select>);
TENON_KERNEL(nonzero, detail::immediate_kernel<detail::nonzero_select>);
TENON_KERNEL(unique, detail::immediate_kernel<detail::unique_select>);
TENON_KERNEL(arange_to, detail::immediate_kernel<detail::arange_to_select>);
TENON_KERNEL(boolean_mask_gradient, detail::boolean_mask_gradient_kernel);

} // namespace tenon

#endif
