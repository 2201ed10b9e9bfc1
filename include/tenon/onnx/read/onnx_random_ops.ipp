#pragma once

#include <bit>

#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/random/random.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Operators of ONNX that draw numbers. Which ones ONNX does not say; they are drawn as tn::random_uniform and tn::random_normal draw them.

namespace tenon::detail::onnx {

inline std::uint64_t seed_of(const call& c) {
    const attribute_message* a = c.attribute("seed");
    return a ? std::bit_cast<std::uint32_t>(a->f) | (std::uint64_t{1} << 32) : 0;
}
inline element_type drawn_type(const call& c, element_type otherwise) {
    const element_type e = c.attribute("dtype") ? element_of(c.integer("dtype", 0)) : otherwise;
    if (!is_floating(e)) c.refuse("random numbers that are not floating");
    return e;
}
inline extents drawn_sizes(const call& c) {
    extents sizes;
    const std::vector<std::int64_t> said = c.integers("shape");
    if (said.size() > max_rank) c.refuse("a result of more than 8 dimensions");
    for (const std::int64_t n : said) sizes.push_back(within(c, n, 0, std::int64_t{1} << 40, "a size"));
    return sizes;
}
inline void random_uniform(const call& c) {
    c.give(untyped::random_uniform(drawn_type(c, element_type::float32), drawn_sizes(c), c.real("low", 0),
                                   c.real("high", 1), seed_of(c)));
}
inline void random_normal(const call& c) {
    c.give(untyped::random_normal(drawn_type(c, element_type::float32), drawn_sizes(c), c.real("mean", 0),
                                  c.real("scale", 1), seed_of(c)));
}
// As many as x has, of floating elements.
inline any_tensor drawn_like(const call& c, element_type e) {
    return c.x().element() == e ? c.x() : untyped::cast(c.x(), e);
}
inline void random_uniform_like(const call& c) {
    const any_tensor like = drawn_like(c, drawn_type(c, c.x().element()));
    c.give(untyped::random_uniform_like(like, c.real("low", 0), c.real("high", 1), seed_of(c)));
}
inline void random_normal_like(const call& c) {
    const any_tensor like = drawn_like(c, drawn_type(c, c.x().element()));
    c.give(untyped::random_normal_like(like, c.real("mean", 0), c.real("scale", 1), seed_of(c)));
}
inline void bernoulli(const call& c) {
    const any_tensor x = c.x();
    const element_type e = c.attribute("dtype") ? element_of(c.integer("dtype", 0)) : x.element();
    if (e == element_type::none || e == element_type::string) c.refuse("elements of that data type");
    c.give(untyped::cast(untyped::less(untyped::random_uniform_like(x, 0, 1, seed_of(c)), x), e));
}
// The largest of logits to each of which a number of Gumbel's distribution is added. [batch, classes] -> [batch, samples]
inline void multinomial(const call& c) {
    const any_tensor x = c.x();
    if (x.rank() != 2) c.wrong("its input has " + std::to_string(x.rank()) + " dimensions; 2 are needed");
    const std::int64_t n = within(c, c.integer("sample_size", 1), 0, max_folded, "sample_size");
    const element_type e = c.attribute("dtype") ? element_of(c.integer("dtype", 6)) : element_type::int32;
    if (!is_integer(e)) c.wrong("its data type is no integer");
    const any_tensor each = untyped::repeat(untyped::expand_dims(x, {1}), static_cast<int>(n), 1);
    const any_tensor u = untyped::random_uniform_like(each, 1e-7, 1, seed_of(c));
    const any_tensor noise = untyped::negative(untyped::log(untyped::negative(untyped::log(u))));
    c.give(untyped::cast(untyped::argmax(untyped::add(each, noise), {2}), e));
}

TENON_INLINE std::vector<entry> random_operators() {
    return {{"Bernoulli", bernoulli},
            {"Multinomial", multinomial},
            {"RandomNormal", onnx::random_normal},
            {"RandomNormalLike", onnx::random_normal_like},
            {"RandomUniform", onnx::random_uniform},
            {"RandomUniformLike", onnx::random_uniform_like}};
}

} // namespace tenon::detail::onnx
