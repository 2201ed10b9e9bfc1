#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/reduce/top_k.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/reshape.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/train/optimize/compression.hpp>
#include <tenon/train/optimize/given_gradients.hpp>
#include <tenon/train/optimize/tape_writer.hpp>

namespace tenon {

namespace detail {

inline void require_option(bool good, const char* of, const std::string& wrong) {
    if (!good) throw invalid_argument_error(std::string(of) + ": " + wrong);
}
template <class How> void check_common(const How& how, const char* of) {
    require_option(how.least_elements >= 0, of,
                   "least_elements is " + std::to_string(how.least_elements) + "; give 0 or more");
    require_option(how.replica >= 0, of, "replica is " + std::to_string(how.replica) + "; give 0 or more");
}
TENON_INLINE void check(const top_k_gradients& how) {
    require_option(how.fraction > 0 && how.fraction <= 1, "top_k_gradients",
                   "fraction is " + text_of_number(how.fraction) + "; give more than 0, up to 1");
    check_common(how, "top_k_gradients");
}
TENON_INLINE void check(const quantized_gradients& how) {
    require_option(how.block >= 0, "quantized_gradients",
                   "block is " + std::to_string(how.block) + "; give a number of elements, or 0 for all");
    check_common(how, "quantized_gradients");
}

// Of rank 1, in the type that is computed with.
inline any_tensor computed_list(const any_tensor& x, std::int64_t elements) {
    const element_type type = compute_type(x.element());
    const any_tensor list = x.rank() == 1 ? x : untyped::reshape(x, extents{elements});
    return list.element() == type ? list : add_instruction(opcode::cast, {list}, type);
}

TENON_INLINE std::int64_t block_length(std::int64_t elements, std::int64_t about) noexcept {
    if (about <= 0 || about >= elements) return std::max<std::int64_t>(elements, 1);
    for (std::int64_t away = 0; away <= about; ++away) {
        if (elements % (about + away) == 0) return about + away;
        if (about - away >= (about + 1) / 2 && elements % (about - away) == 0) return about - away;
    }
    return about;
}

// The largest absolute value along `axes`, by 127.
inline any_tensor scales_along(const any_tensor& x, const index_list& axes) {
    constexpr double most = 127;
    const element_type type = compute_type(x.element());
    tape_writer size;
    size.write(size.apply(opcode::abs, size.read(x)), type);
    tape_writer s;
    s.write(s.read(untyped::max(size.finish().front(), axes, true)) / most, type);
    return s.finish().front();
}
// Where a scale is no number, or is infinite, nor are the values that come of it.
inline any_tensor integers_of(const any_tensor& x, const any_tensor& scales) {
    tape_writer t;
    const tape_value scale = t.read(scales), none = t.literal(0, scale.type);
    const tape_value q = t.apply(opcode::round, t.read(x) / scale);
    t.write(t.cast(t.apply(opcode::select, t.apply(opcode::greater, scale, none), q, none), element_type::int8),
            element_type::int8);
    return t.finish().front();
}
inline any_tensor as_blocks(const any_tensor& list, std::int64_t about) {
    const std::int64_t n = list.extents()[0].size, length = block_length(n, about), blocks = (n + length - 1) / length;
    const any_tensor padded = blocks * length == n ? list : untyped::pad(list, {margin{0, blocks * length - n}});
    return untyped::reshape(padded, extents{blocks, length});
}
inline any_tensor dequantize_blocks(const quantized_list& q, element_type as) {
    tape_writer t;
    const tape_value scale = t.read(q.scales);
    t.write(t.cast(t.read(q.values), scale.type) * scale, as);
    return t.finish().front();
}

TENON_INLINE any_tensor scales_of(const any_tensor& list, std::int64_t about) {
    return scales_along(as_blocks(list, about), {1});
}
TENON_INLINE quantized_list quantize(const any_tensor& list, std::int64_t about, const any_tensor& scales) {
    const any_tensor blocks = as_blocks(list, about);
    const any_tensor s = scales.node() ? scales : scales_along(blocks, {1});
    return {integers_of(blocks, s), s};
}
TENON_INLINE any_tensor dequantize(const quantized_list& q, std::int64_t elements) {
    const any_tensor blocks = dequantize_blocks(q, q.scales.element());
    const std::int64_t all = q.values.extents().elements();
    const any_tensor list = untyped::reshape(blocks, extents{all});
    return all == elements ? list : untyped::slice(list, {range{0, elements}});
}

TENON_INLINE any_tensor add_local_variable(const std::string& name, const tensor_type& type, const any_tensor& beside) {
    graph g(beside.node()->graph);
    const only_devices scope(g);
    const variable_policy_scope alone(nullptr);
    const auto with_it = colocate_with(beside);
    const any_tensor v = add_variable(name, type, {.trainable = false, .collected = false});
    set_initial_value(v, initial_value(zeros(), v), {.trainable = false});
    g.add_to_collection(local_variables, v);
    return v;
}

// A way to compress a list of n elements.
struct top_k_codec {
    explicit top_k_codec(const top_k_gradients& how) : how_(how) {}
    std::vector<any_tensor> encode(const any_tensor& list) const {
        const std::int64_t n = list.extents()[0].size;
        const auto k = static_cast<std::int64_t>(std::ceil(how_.fraction * static_cast<double>(n)));
        const any_tensor size = add_instruction(opcode::abs, {list});
        const any_tensor places = untyped::top_k(size, std::clamp<std::int64_t>(k, 1, n))[1];
        return {tenon::add<take_places_op>({}, {list, places}), places};
    }
    // `like` has the sizes of the list, and a value that does not matter.
    any_tensor decode(const std::vector<any_tensor>& sent, const any_tensor& like) const {
        return tenon::add<put_places_op>({}, {sent[0], sent[1], like});
    }

private:
    const top_k_gradients& how_;
};
// Scales travel as double, which no wire_type rounds: what comes of a scale that was rounded, to zero maybe, is not what was taken
// off the residual.
inline any_tensor scales_as(const any_tensor& scales, element_type type) {
    return scales.element() == type ? scales : add_instruction(opcode::cast, {scales}, type);
}
struct quantized_codec {
    explicit quantized_codec(const quantized_gradients& how) : how_(how) {}
    std::vector<any_tensor> encode(const any_tensor& list) const {
        const quantized_list q = quantize(list, how_.block);
        return {q.values, scales_as(q.scales, element_type::float64)};
    }
    any_tensor decode(const std::vector<any_tensor>& sent, const any_tensor& like) const {
        return dequantize({sent[0], scales_as(sent[1], compute_type(like.element()))}, like.extents()[0].size);
    }

private:
    const quantized_gradients& how_;
};

// What is sent, and what it leaves is added to what was left before. Two steps at once lose nothing: each adds its own.
template <class Codec, class How>
std::vector<any_tensor> encode_on_worker(const Codec& codec, const How& how, const gradient_and_variable& g,
                                         std::int64_t n) {
    const follow_scope there(g.gradient.node());
    const any_tensor list = computed_list(g.gradient, n);
    if (!how.error_feedback) return codec.encode(list);
    const any_tensor left = add_local_variable("replica_" + std::to_string(how.replica) + "/" +
                                                   original_variable(g.variable).node()->name + "/residual",
                                               list.type(), g.gradient);
    const any_tensor sum = add_instruction(opcode::add, {list, left});
    std::vector<any_tensor> sent = codec.encode(sum);
    tape_writer t;
    const tape_value rest = t.read(list) - t.read(codec.decode(sent, list));
    t.write(t.apply(opcode::select, t.apply(opcode::is_finite, rest), rest, t.literal(0, rest.type)), list.element());
    const operation kept = untyped::assign_add(left, t.finish().front()).operation();
    const control_dependencies after(kept);
    for (any_tensor& s : sent) s = untyped::identity(s);
    return sent;
}

template <class Codec, class How>
any_tensor compress_one(const Codec& codec, const How& how, const gradient_and_variable& g) {
    const std::int64_t n = g.variable.extents().elements();
    const std::vector<any_tensor> sent = encode_on_worker(codec, how, g, n);
    const owned_scope there(g.variable);
    const any_tensor like = g.variable.rank() == 1 ? g.variable : untyped::reshape(g.variable, extents{n});
    any_tensor list = codec.decode(sent, like);
    if (list.element() != g.variable.element()) list = add_instruction(opcode::cast, {list}, g.variable.element());
    return g.variable.rank() == 1 ? list : untyped::reshape(list, g.variable.extents());
}

// Each row a block.
inline any_tensor quantize_rows(const row_gradient& rows, const gradient_and_variable& g) {
    const quantized_list q = [&] {
        const follow_scope there(rows.values.node());
        index_list axes;
        for (int d = rows.indices.rank(); d < rows.values.rank(); ++d) axes.push_back(d);
        const any_tensor scales = scales_along(rows.values, axes);
        return quantized_list{integers_of(rows.values, scales), scales_as(scales, element_type::float64)};
    }();
    const owned_scope there(g.variable);
    const any_tensor scales = scales_as(q.scales, compute_type(rows.values.element()));
    return gradient_of_rows({rows.indices, dequantize_blocks({q.values, scales}, rows.values.element())}, g.variable);
}

template <class Codec, class How>
std::vector<gradient_and_variable> compress(const std::vector<gradient_and_variable>& gradients, const How& how) {
    check(how);
    if (gradients.empty()) throw invalid_argument_error("compressed: there are no gradients");
    for (const gradient_and_variable& g : gradients) check_gradient(g);
    const graph of(gradients.front().variable.node()->graph);
    const home_scope scope(of);
    const device_scope everywhere(
        (device_name())); // each half runs with the gradient or the variable, whatever scope is around
    const name_scope names("compressed");
    const Codec codec(how);
    row_gradients known;
    std::vector<gradient_and_variable> all = of_parts(gradients);
    for (gradient_and_variable& g : all) {
        if (!is_floating(g.gradient.element()) || !g.variable.extents().is_static()) continue;
        if (const std::optional<row_gradient> rows = known.of(g.gradient)) {
            constexpr std::int64_t least_row = 8; // shorter ones are not worth their scale
            const extents row(g.variable.extents());
            if constexpr (std::is_same_v<How, quantized_gradients>)
                if (row.elements() >= least_row * row[0].size && row[0].size > 0) g.gradient = quantize_rows(*rows, g);
        } else if (g.variable.extents().elements() >= std::max<std::int64_t>(how.least_elements, 1))
            g.gradient = compress_one(codec, how, g);
    }
    return all;
}

} // namespace detail

TENON_INLINE std::vector<gradient_and_variable> compressed(const std::vector<gradient_and_variable>& gradients,
                                                           const top_k_gradients& how) {
    return detail::compress<detail::top_k_codec>(gradients, how);
}
TENON_INLINE std::vector<gradient_and_variable> compressed(const std::vector<gradient_and_variable>& gradients,
                                                           const quantized_gradients& how) {
    return detail::compress<detail::quantized_codec>(gradients, how);
}

} // namespace tenon
