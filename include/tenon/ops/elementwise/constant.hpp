#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <tenon/expr/tree.hpp>
#include <tenon/graph/tensor.hpp>

/// Constants: values that are written in the graph.
///
///     auto half = tn::constant(0.5f);
///     auto rows = tn::constant({{1.f, 2.f}, {3.f, 4.f}});   // tensor<float, shape<2, 2>>
///     auto mean = tn::constant(pixels.copy());              // a host tensor

namespace tenon {

/// A tensor whose value is written in the graph.
struct constant_op {
    static constexpr const char* name = "constant";
    static constexpr op_flags flags = op_flags::constant;
    struct attributes {
        std::shared_ptr<const any_array> value;
    };
    static inferred infer(const attributes& a, type_list, int) { return inferred(a.value->type()); }
    static kernel_pointer prepare(const kernel_setup& s);
};
TENON_OP(constant, constant);

/// A number in the graph.
template <Element T> tensor<T, shape<>> constant(const T& value) {
    any_array a(element_type_of<T>, {});
    *static_cast<T*>(a.data()) = value;
    return tensor<T, shape<>>::unchecked(
        tenon::add<constant_op>({std::make_shared<const any_array>(std::move(a))}, {}));
}
template <class T>
    requires std::is_same_v<T, const char*> // no list of one
        tensor<std::string, shape<>> constant(T text) {
        return constant(std::string(text));
    }
inline ill_shaped constant(ill_shaped) { return {}; }

/// A host tensor in the graph.
template <Element T, Shape S> tensor<T, canonical_t<S>> constant(array<T, S> value) {
    return tensor<T, canonical_t<S>>::unchecked(
        tenon::add<constant_op>({std::make_shared<const any_array>(std::move(value).untyped())}, {}));
}

namespace detail {
// What a list in braces is of: a literal is a text.
template <class T> using listed_t = std::conditional_t<std::is_same_v<T, const char*>, std::string, T>;
} // namespace detail

/// A list in the graph: constant({1.f, 2.f}) is a tensor<float, shape<2>>, constant({"a", "b"}) one of texts.
template <class T, std::size_t N>
    requires Element<detail::listed_t<T>> tensor < detail::listed_t<T>, shape < static_cast<int>(N)
>> constant(const T (&values)[N]) {
    using E = detail::listed_t<T>;
    any_array a(element_type_of<E>, extents{static_cast<std::int64_t>(N)});
    std::copy(values, values + N, a.data<E>());
    return constant(array<E, shape<static_cast<int>(N)>>(std::move(a)));
}
/// A matrix in the graph: constant({{1.f, 2.f}, {3.f, 4.f}}) is a tensor<float, shape<2, 2>>.
template <class T, std::size_t N, std::size_t M>
    requires Element<detail::listed_t<T>> tensor < detail::listed_t<T>, shape < static_cast<int>(N)
, static_cast<int>(M) >> constant(const T (&rows)[N][M]) {
    using E = detail::listed_t<T>;
    any_array a(element_type_of<E>, extents{static_cast<std::int64_t>(N), static_cast<std::int64_t>(M)});
    E* to = a.data<E>();
    for (const auto& row : rows) to = std::copy(row, row + M, to);
    return constant(array<E, shape<static_cast<int>(N), static_cast<int>(M)>>(std::move(a)));
}
/// A host tensor whose sizes are known at run time, as the shape S it must have.
template <Shape S, Element T> tensor<T, canonical_t<S>> constant(array<T> value) {
    return constant(array<T, canonical_t<S>>(std::move(value).untyped()));
}

namespace untyped {
any_tensor constant(any_array value, called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_constant)

#include <tenon/core/array/copy_elements.hpp>

namespace tenon {

namespace detail {

// A constant lies where the graph keeps it; one that was made to run after something is a copy that does.
struct constant_kernel final : kernel {
    explicit constant_kernel(std::shared_ptr<const any_array> v) : value(std::move(v)) {}
    void run(const kernel_run& r) override {
        if (r.out[0] != value->data())
            copy_elements(value->element(), r.out[0], 0, value->data(), 0, value->elements());
    }
    double cost() const override { return 1 + static_cast<double>(value->bytes()) * 0.05; }
    std::shared_ptr<const any_array> value;
};

} // namespace detail

namespace untyped {
TENON_INLINE any_tensor constant(any_array value, called_from here) {
    return tenon::add<constant_op>({std::make_shared<const any_array>(std::move(value))}, {}, here);
}
} // namespace untyped

TENON_INLINE kernel_pointer constant_op::prepare(const kernel_setup& s) {
    return std::make_unique<detail::constant_kernel>(s.attrs.get<std::shared_ptr<const any_array>>("value"));
}

} // namespace tenon

#endif
