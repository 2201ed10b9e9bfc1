#pragma once

#include <initializer_list>
#include <vector>

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>

/// The sum of a list of tensors of equal sizes, in one pass over memory.
///
///     auto s = tn::add_n(a, b, c);                 // three of [batch, 10] -> [batch, 10]
///     std::vector<tn::tensor<float, tn::shape<2, 2>>> products;
///     auto t = tn::add_n(products);                // a list whose length is known at run time

namespace tenon {

/// in: x0, x1, ... of equal sizes. x0 + x1 + ..., element by element, in this order; half and bfloat16 are added up in
/// float and rounded once. The gradient of each is that of the sum.
struct add_n_op {
    static constexpr const char* name = "add_n";
    static constexpr op_flags flags = op_flags::alike;
    using attributes = no_attributes;
    static constexpr inferred infer(const attributes&, type_list in, int) {
        if (in.size() < 1) return fault::expects_more_operands;
        if (!is_numeric(in[0].element)) return fault::element_type_must_be_numeric;
        return equal_types(in);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(add_n, add_n);

namespace untyped {
/// One tensor is its own sum; of none there is no sum: invalid_argument_error.
any_tensor add_n(const std::vector<any_tensor>& xs, called_from here = caller());
} // namespace untyped

namespace detail {
template <class List>
concept ListOfTensors = requires(const List& list) {
    list.begin();
    list.end();
    requires is_tensor<typename List::value_type>;
};
template <class T, class List> T sum_of_list(const List& list) {
    return T::unchecked(untyped::add_n(std::vector<any_tensor>(list.begin(), list.end())));
}
} // namespace detail

/// The sum of xs, which have one element type and equal sizes.
template <OperandOrIllShaped... Xs>
    requires(!(detail::ListOfTensors<Xs> || ...))
auto add_n(const Xs&... xs) {
    static_assert(sizeof...(Xs) > 0, "tenon::add_n: at least one tensor is needed");
    return apply_op<add_n_op, no_attributes{}>(xs...);
}
template <OperandOrIllShaped A, detail::OperandIfGiven B = detail::not_given,
          detail::OperandIfGiven C = detail::not_given, detail::OperandIfGiven D = detail::not_given>
    requires(!detail::ListOfTensors<A>)
auto add_n(const A& a, const B& b = {}, const C& c = {}, const D& d = {}, called_from here = caller()) {
    const making made(here);
    if constexpr (!detail::is_given<B>) return apply_op<add_n_op, no_attributes{}>(a);
    else if constexpr (!detail::is_given<C>) return apply_op<add_n_op, no_attributes{}>(a, b);
    else if constexpr (!detail::is_given<D>) return apply_op<add_n_op, no_attributes{}>(a, b, c);
    else return apply_op<add_n_op, no_attributes{}>(a, b, c, d);
}
/// The sum of the tensors of a std::vector, std::array, std::span or the like; one is its own sum. Throws
/// invalid_argument_error where there are none, or where the graph knows that their sizes differ.
template <detail::ListOfTensors List> typename List::value_type add_n(const List& xs) {
    return detail::sum_of_list<typename List::value_type>(xs);
}
template <class T, class S> tensor<T, S> add_n(std::initializer_list<tensor<T, S>> xs) {
    return detail::sum_of_list<tensor<T, S>>(xs);
}

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_add_n)

#include <memory>

#include <tenon/concurrency/thread_pool.hpp>
#include <tenon/core/error.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor add_n(const std::vector<any_tensor>& xs, called_from here) {
    const making made(here);
    if (xs.empty()) throw invalid_argument_error("add_n: there are no tensors to add up; give at least one");
    if (xs.size() == 1) return xs[0];
    return tenon::add<add_n_op>({}, xs);
}
} // namespace untyped

TENON_INLINE void add_n_op::gradient(gradient_context& g) {
    for (int i = 0; i < g.inputs(); ++i) g.set(i, g.output_gradient());
}

namespace detail {

// C: what elements of type T are added up in.
template <class T, class C> class add_n_kernel final : public kernel {
public:
    explicit add_n_kernel(const kernel_setup& s) :
        inputs_(static_cast<std::size_t>(s.inputs.size())), elements_(s.outputs[0].extents.elements()) {}
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        const auto blocks = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t b = begin; b < end; ++b) {
                const std::int64_t at = b * block;
                if (at + block <= elements_) sum<true>(r, at, block);
                else sum<false>(r, at, elements_ - at);
            }
        };
        const std::int64_t count = (elements_ + block - 1) / block;
        constexpr std::int64_t worth_a_thread = 32; // blocks
        if (r.pool && count > worth_a_thread) r.pool->parallel_for(count, worth_a_thread, blocks);
        else blocks(0, count);
    }
    double cost() const override { return 30 + 0.1 * static_cast<double>(elements_) * static_cast<double>(inputs_); }
    // A block is written when all inputs' are read.
    bool may_share(int, int) const override { return true; }

private:
    static constexpr std::int64_t block = 512;

    // A whole block has a count that the compiler knows: the loops are vectorised also by plain -O2.
    template <bool Whole> void sum(const kernel_run& r, std::int64_t at, std::int64_t count) const {
        C sums[block];
        const std::int64_t n = Whole ? block : count;
        const T* x = r.input<T>(0) + at;
        for (std::int64_t j = 0; j < n; ++j) sums[j] = static_cast<C>(x[j]);
        for (std::size_t i = 1; i < inputs_; ++i) {
            x = r.input<T>(static_cast<int>(i)) + at;
            for (std::int64_t j = 0; j < n; ++j) sums[j] = static_cast<C>(sums[j] + static_cast<C>(x[j]));
        }
        T* out = r.output<T>(0) + at;
        for (std::int64_t j = 0; j < n; ++j) out[j] = static_cast<T>(sums[j]);
    }

    std::size_t inputs_;
    std::int64_t elements_;
};

} // namespace detail

TENON_INLINE kernel_pointer add_n_op::prepare(const kernel_setup& s) {
    using detail::add_n_kernel;
    switch (s.outputs[0].element) {
    case element_type::float32: return std::make_unique<add_n_kernel<float, float>>(s);
    case element_type::float64: return std::make_unique<add_n_kernel<double, double>>(s);
    case element_type::float16: return std::make_unique<add_n_kernel<half, float>>(s);
    case element_type::bfloat16: return std::make_unique<add_n_kernel<bfloat16, float>>(s);
    // Integers wrap around: signed and unsigned ones have the same bits.
    case element_type::int8:
    case element_type::uint8: return std::make_unique<add_n_kernel<std::uint8_t, std::uint8_t>>(s);
    case element_type::int16:
    case element_type::uint16: return std::make_unique<add_n_kernel<std::uint16_t, std::uint16_t>>(s);
    case element_type::int32:
    case element_type::uint32: return std::make_unique<add_n_kernel<std::uint32_t, std::uint32_t>>(s);
    default: return std::make_unique<add_n_kernel<std::uint64_t, std::uint64_t>>(s);
    }
}

} // namespace tenon

#endif
