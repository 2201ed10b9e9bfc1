#pragma once

#include <cmath>
#include <limits>

#include <tenon/io/onnx/onnx_messages.hpp>
#include <tenon/onnx/onnx_writer.hpp>
#include <tenon/ops/linear/fourier.hpp>
#include <tenon/ops/linear/solve.hpp>
#include <tenon/ops/random/random.hpp>
#include <tenon/ops/rows/attention.hpp>

/// Attention, transforms, matrices and random numbers as nodes of an ONNX model.

namespace tenon::detail::onnx {

inline std::string joined_sizes(writer& w, const std::vector<std::string>& parts) {
    return w.with("axis", std::int64_t{0}).add("Concat", parts);
}
// 0, 1, .. as many as a list of one says, int64.
inline std::string places_to(writer& w, const std::string& count) {
    const std::string n = w.add("Squeeze", {count, w.integers({0})});
    return w.add("Range", {w.integers({0}, true), n, w.integers({1}, true)});
}
// The formula. Where several heads of queries read one of keys, those are a dimension of their own.
inline void write_attention(writer& w, const node& n) {
    const auto a = decode<attention_op::attributes>(n.attributes);
    const extents &q = n.input_type(0).extents, &k = n.input_type(1).extents;
    const element_type e = n.input_type(0).element;
    const int rank = q.rank();
    std::string queries = w.input(n, 0), keys = w.input(n, 1), values = w.input(n, 2);
    const std::string rows = size_of_axis(w, queries, q[rank - 2], rank - 2),
                      columns = size_of_axis(w, keys, k[rank - 2], rank - 2);
    const bool grouped = rank > 2 && !(q[rank - 3] == k[rank - 3]);
    std::vector<std::string> whole; // the queries' sizes before the last
    for (int d = 0; d + 1 < rank; ++d) whole.push_back(size_of_axis(w, w.input(n, 0), q[d], d));
    if (grouped) {
        if (!q[rank - 3].is_number() || !k[rank - 3].is_number())
            throw unimplemented_error("numbers of heads that are known in the step only");
        const std::int64_t groups = k[rank - 3].size;
        std::vector<std::string> parts(whole.begin(), whole.end() - 2);
        parts.push_back(w.integers({groups}));
        parts.push_back(w.integers({groups > 0 ? q[rank - 3].size / groups : 0}));
        parts.push_back(rows);
        parts.push_back(size_of_axis(w, w.input(n, 0), q[rank - 1], rank - 1));
        const std::string sizes = joined_sizes(w, parts);
        queries = w.with("allowzero", std::int64_t{1}).add("Reshape", {queries, sizes});
        const std::string one = w.integers({rank - 2});
        keys = w.add("Unsqueeze", {keys, one});
        values = w.add("Unsqueeze", {values, one});
    }
    const int now = grouped ? rank + 1 : rank;
    std::vector<std::int64_t> turned;
    for (int d = 0; d < now; ++d) turned.push_back(d < now - 2 ? d : 2 * now - 3 - d);
    std::string scores = w.add("MatMul", {queries, w.transposed(keys, turned)});
    std::string scale;
    if (a.scale != 0) scale = w.number(a.scale, e);
    else if (q[rank - 1].is_number()) scale = w.number(1 / std::sqrt(static_cast<double>(q[rank - 1].size)), e);
    else throw unimplemented_error("a width that is known in the step only, by which scores are scaled");
    scores = w.add("Mul", {scores, scale});
    const std::string infinite = w.number(-std::numeric_limits<double>::infinity(), e);
    const int last = static_cast<int>(n.inputs.size()) - 1;
    const bool masked = last > 2 && is_floating(n.input_type(last).element), has_lengths = last > (masked ? 3 : 2);
    if (masked) {
        const extents& sizes = n.input_type(last).extents;
        std::string mask = w.input(n, last);
        if (grouped) {
            const extent& heads = sizes[rank - 3];
            if (!heads.is_number()) throw unimplemented_error("numbers of heads that are known in the step only");
            const std::int64_t groups = heads.size == 1 ? 1 : k[rank - 3].size;
            std::vector<std::string> parts;
            for (int d = 0; d < rank; ++d)
                if (d != rank - 3) parts.push_back(size_of_axis(w, w.input(n, last), sizes[d], d));
                else parts.push_back(w.integers({groups, groups > 0 ? heads.size / groups : 0}));
            const std::string apart = joined_sizes(w, parts);
            mask = w.with("allowzero", std::int64_t{1}).add("Reshape", {mask, apart});
        }
        scores = w.add("Add", {scores, mask});
    }
    const std::string column = a.causal || has_lengths ? places_to(w, columns) : "";
    if (a.causal) {
        const std::string row = w.add("Unsqueeze", {places_to(w, rows), w.integers({1})});
        scores = w.add("Where", {w.add("LessOrEqual", {column, row}), scores, infinite});
    }
    std::string none; // who sees no key
    if (has_lengths) {
        std::vector<std::int64_t> behind;
        for (int d = n.input_type(3).extents.rank(); d < now; ++d) behind.push_back(d);
        const std::string lengths =
            w.add("Unsqueeze", {cast_to(w, w.input(n, 3), element_type::int64), w.integers(behind)});
        scores = w.add("Where", {w.add("Less", {column, lengths}), scores, infinite});
        none = w.add("Equal", {lengths, w.integers({0}, true)});
    }
    if (masked) {
        const std::string axis = w.integers({-1});
        none = w.with("keepdims", std::int64_t{1}).add("ReduceMax", {scores, axis});
        none = w.add("Equal", {none, infinite});
    }
    std::string y = w.add("MatMul", {w.with("axis", std::int64_t{-1}).add("Softmax", {scores}), values});
    if (!none.empty()) y = w.add("Where", {none, w.number(0, e), y});
    if (grouped) {
        const extents& v = n.input_type(2).extents;
        whole.push_back(size_of_axis(w, w.input(n, 2), v[rank - 1], rank - 1));
        const std::string sizes = joined_sizes(w, whole);
        y = w.with("allowzero", std::int64_t{1}).add("Reshape", {y, sizes});
    }
    w.give(n, y);
    // Its other output is for gradients.
}

// Operator set 20 says the axis as an input.
inline std::string transformed(writer& w, const std::string& x, const std::string& length, bool inverse,
                               bool one_sided) {
    w.needs_opset(20);
    const std::string axis = w.integers({-2}, true);
    w.with("inverse", std::int64_t{inverse}).with("onesided", std::int64_t{one_sided});
    return w.add("DFT", {x, length, axis});
}
inline void write_fft(writer& w, const node& n) {
    const auto a = decode<fft_op::attributes>(n.attributes);
    if (a.inverse != a.scaled) throw unimplemented_error("a transform for a gradient");
    w.give(n, transformed(w, w.input(n, 0), "", a.inverse, false));
}
inline void write_rfft(writer& w, const node& n) {
    const auto a = decode<rfft_op::attributes>(n.attributes);
    if (a.doubled || a.scaled) throw unimplemented_error("a transform for a gradient");
    const std::string x = w.add("Unsqueeze", {w.input(n, 0), w.integers({-1})});
    w.give(n, transformed(w, x, "", false, true));
}
inline void write_irfft(writer& w, const node& n) {
    const auto a = decode<irfft_op::attributes>(n.attributes);
    const extent& size = n.outputs[0].extents[n.outputs[0].extents.rank() - 1];
    if (a.halved || !a.scaled) throw unimplemented_error("a transform for a gradient");
    const std::string length = size.is_number() ? w.integers({size.size}, true) : "";
    w.give(n, w.add("Squeeze", {transformed(w, w.input(n, 0), length, true, true), w.integers({-1})}));
}
inline void write_determinant(writer& w, const node& n) { w.give(n, w.add("Det", {w.input(n, 0)})); }

// Numbers of a distribution, not the same ones: ONNX says none.
inline void draw(writer& w, const node& n, const char* op, std::int64_t seed) {
    const tensor_type& t = n.outputs[0];
    w.with("dtype", data_type_of(t.element));
    if (seed != 0) w.with("seed", static_cast<double>(static_cast<std::uint64_t>(seed) & 0xffffff));
    if (!n.inputs.empty() && n.input_type(0).extents == t.extents)
        return w.give(n, w.add_distinct((std::string(op) + "Like").c_str(), {w.input(n, 0)}));
    if (!t.extents.is_static()) throw unimplemented_error("random numbers, as many as a tensor of other sizes has");
    std::vector<std::int64_t> sizes;
    for (const extent& s : t.extents) sizes.push_back(s.size);
    w.give(n, w.with("shape", sizes).add_distinct(op, {}));
}
inline void write_random_uniform(writer& w, const node& n) {
    const auto a = decode<random_uniform_op::attributes>(n.attributes);
    w.with("low", a.low).with("high", a.high);
    draw(w, n, "RandomUniform", a.seed);
}
inline void write_random_normal(writer& w, const node& n) {
    const auto a = decode<random_normal_op::attributes>(n.attributes);
    if (a.truncated) throw unimplemented_error("a distribution that is cut off");
    w.with("mean", a.mean).with("scale", a.deviation);
    draw(w, n, "RandomNormal", a.seed);
}

// 0, 1, .. in the order of numbers that are drawn for them: in double, where hardly two are equal.
inline std::string shuffled_places(writer& w, const std::string& count, std::int64_t seed) {
    const std::string none = w.add("Expand", {w.number(0, element_type::float64), count});
    if (seed != 0) w.with("seed", static_cast<double>(static_cast<std::uint64_t>(seed) & 0xffffff));
    const std::string drawn = w.add_distinct("RandomUniformLike", {none});
    return w.with("axis", std::int64_t{0}).add("TopK", {drawn, count}, 2)[1];
}
inline void write_random_shuffle(writer& w, const node& n) {
    const std::string count = size_of_axis(w, w.input(n, 0), n.input_type(0).extents[0], 0);
    const std::string places = shuffled_places(w, count, decode<random_shuffle_op::attributes>(n.attributes).seed);
    w.give(n, w.add("Gather", {w.input(n, 0), places}));
}
inline void write_random_permutation(writer& w, const node& n) {
    const auto a = decode<random_permutation_op::attributes>(n.attributes);
    const extent& size = n.outputs[0].extents[0];
    const std::string count = size_of_axis(w, n.inputs.empty() ? "" : w.input(n, 0), size, 0);
    const std::string places = shuffled_places(w, count, a.seed);
    w.give(n, a.element == element_type::int64 ? places : cast_to(w, places, a.element));
}

TENON_INLINE std::vector<write_entry> written_signals() {
    return {{"attention", write_attention},
            {"determinant", write_determinant},
            {"fft", write_fft},
            {"irfft", write_irfft},
            {"random_normal", write_random_normal},
            {"random_permutation", write_random_permutation},
            {"random_shuffle", write_random_shuffle},
            {"random_uniform", write_random_uniform},
            {"rfft", write_rfft}};
}

} // namespace tenon::detail::onnx
