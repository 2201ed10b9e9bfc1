#pragma once

#include <algorithm>

#include <tenon/onnx/onnx_call.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/shape/gather.hpp>
#include <tenon/ops/shape/indexed.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

/// Operators of ONNX that prepare data: features of sequences and of rows, parts of images around their middle.

namespace tenon::detail::onnx {

// How often each n-gram of a pool stands in a row: its numbers are apart by 1 to max_skip_count + 1.
inline void count_ngrams(const call& c) { // TfIdfVectorizer
    const any_tensor x = c.x();
    if (!is_integer(x.element())) c.refuse("texts");
    if (x.rank() < 1 || x.rank() > 2) c.wrong("its input has " + std::to_string(x.rank()) + " dimensions");
    const std::vector<std::int64_t> pool = c.integers("pool_int64s"), starts = c.integers("ngram_counts"),
                                    outputs = c.integers("ngram_indexes");
    const std::int64_t least = c.integer("min_gram_length", 1), longest = c.integer("max_gram_length", 1),
                       skips = within(c, c.integer("max_skip_count", 0), 0, 1024, "max_skip_count");
    const int time = x.rank() - 1;
    const std::int64_t n = number_of(c, x.extents()[time], "the length of a row");
    std::int64_t width = 0;
    for (const std::int64_t o : outputs) width = std::max(width, within(c, o, 0, max_computed, "an index") + 1);
    any_tensor counts;
    std::size_t number = 0; // of the n-gram
    for (std::size_t size = 1; size <= starts.size(); ++size) {
        const auto all = static_cast<std::int64_t>(pool.size());
        const std::int64_t from = within(c, starts[size - 1], 0, all, "where n-grams begin"),
                           to = size < starts.size() ? within(c, starts[size], from, all, "where n-grams begin") : all;
        const auto length = static_cast<std::int64_t>(size), grams = (to - from) / length;
        if (number + static_cast<std::size_t>(grams) > outputs.size()) c.wrong("it has more n-grams than indices");
        const std::size_t first = number;
        number += static_cast<std::size_t>(grams);
        if (length < least || length > longest || grams == 0) continue;
        any_tensor sum;
        for (std::int64_t apart = 1; apart <= (length == 1 ? 1 : skips + 1); ++apart) {
            const std::int64_t places = n - (length - 1) * apart;
            if (places <= 0) break;
            any_tensor hit; // [.., places, grams]
            for (std::int64_t k = 0; k < length; ++k) {
                std::vector<std::int64_t> items;
                for (std::int64_t g = 0; g < grams; ++g)
                    items.push_back(pool[static_cast<std::size_t>(from + g * length + k)]);
                const any_tensor here = untyped::equal(
                    untyped::expand_dims(
                        part_along(untyped::cast(x, element_type::int64), time, k * apart, k * apart + places), {-1}),
                    integer_constant(items, {grams}));
                hit = hit.node() ? untyped::logical_and(hit, here) : here;
            }
            const any_tensor found = untyped::sum(untyped::cast(hit, element_type::float32), {time});
            sum = sum.node() ? untyped::add(sum, found) : found;
        }
        if (!sum.node()) continue;
        std::vector<double> places(static_cast<std::size_t>((checked_size(grams) * width).saturated() <= max_computed
                                                                ? grams * width
                                                                : 0)); // of each n-gram's count in the result
        if (places.empty()) c.refuse("as many n-grams as these");
        for (std::int64_t g = 0; g < grams; ++g)
            places[static_cast<std::size_t>(g * width + outputs[first + static_cast<std::size_t>(g)])] = 1;
        const any_tensor matrix = float_constant(places, {grams, width}, element_type::float32);
        const any_tensor part = x.rank() == 1
                                    ? untyped::squeeze(untyped::matmul(untyped::expand_dims(sum, {0}), matrix), {0})
                                    : untyped::matmul(sum, matrix);
        counts = counts.node() ? untyped::add(counts, part) : part;
    }
    if (!counts.node()) c.refuse("rows that are shorter than all n-grams");
    const std::string mode = c.text("mode", "TF");
    if (mode == "IDF") counts = untyped::cast(untyped::greater(counts, scalar_like(0, counts)), element_type::float32);
    else if (mode != "TF" && mode != "TFIDF") c.wrong("its mode is \"" + mode + '"');
    if (const attribute_message* a = c.attribute("weights"); a && mode != "TF") {
        if (static_cast<std::int64_t>(a->floats.size()) != width)
            c.wrong("it has " + std::to_string(a->floats.size()) + " weights");
        counts = untyped::multiply(
            counts, float_constant({a->floats.begin(), a->floats.end()}, {width}, element_type::float32));
    }
    c.give(counts);
}

inline void extract_features(const call& c) { // ArrayFeatureExtractor
    any_tensor x = c.x();
    if (x.rank() == 1) x = untyped::expand_dims(x, {0});
    c.give(untyped::gather(x, reshaped(c.x(1), {reshape_op::deduced}), x.rank() - 1));
}
inline void binarize(const call& c) {
    const any_tensor x = c.x();
    c.give(untyped::cast(untyped::greater(x, scalar_like(c.real("threshold", 0), x)), x.element()));
}

// Of each sequence the first steps, as many as it is long, the other way round.
inline void reverse_sequence(const call& c) {
    const any_tensor x = c.x();
    if (x.rank() < 2) c.wrong("its input has " + std::to_string(x.rank()) + " dimensions; 2 are needed");
    const int batch = axis_in(c, c.integer("batch_axis", 1), x.rank()),
              time = axis_in(c, c.integer("time_axis", 0), x.rank());
    if (batch == time) c.wrong("its axes are the same");
    const auto beside = [&](const any_tensor& t, int axis) {
        std::vector<std::int64_t> sizes(static_cast<std::size_t>(x.rank()), 1);
        sizes[static_cast<std::size_t>(axis)] = reshape_op::deduced;
        return reshaped(t, sizes);
    };
    const any_tensor step = beside(untyped::arange_like(x, element_type::int64, time), time),
                     length = beside(untyped::cast(c.x(1), element_type::int64), batch);
    const any_tensor from =
        untyped::select(untyped::less(step, length), untyped::subtract(untyped::subtract(length, 1), step), step);
    c.give(untyped::take_along_axis(x, untyped::broadcast_like(from, x), time));
}

inline void center_crop_or_pad(const call& c) {
    any_tensor x = c.x();
    const std::vector<std::int64_t> wanted = c.integers(1, "the new sizes");
    std::vector<std::int64_t> axes = c.integers("axes");
    if (axes.empty())
        for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
    if (axes.size() != wanted.size())
        c.wrong("it says " + std::to_string(wanted.size()) + " sizes for " + std::to_string(axes.size()) + " axes");
    std::vector<margin> around(static_cast<std::size_t>(x.rank()));
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const int axis = axis_in(c, axes[i], x.rank());
        const std::int64_t n = number_of(c, x.extents()[axis], "a size that is changed"),
                           to = within(c, wanted[i], 0, std::int64_t{1} << 40, "a size");
        if (to < n) x = part_along(x, axis, (n - to) / 2, (n - to) / 2 + to);
        else around[static_cast<std::size_t>(axis)] = {(to - n) / 2, to - n - (to - n) / 2};
    }
    c.give(untyped::pad(x, around));
}

// Of what may be there, where it is a tensor.
inline void is_there(const call& c) { c.give(untyped::scalar(c.has(0) ? 1 : 0, element_type::boolean)); }
inline void what_is_there(const call& c) {
    if (!c.has(0)) c.refuse("something that is not there");
    c.give(value(c.in(0)), 0);
}

TENON_INLINE std::vector<entry> feature_operators() {
    return {{"CenterCropPad", center_crop_or_pad},
            {"Optional", what_is_there},
            {"OptionalGetElement", what_is_there},
            {"OptionalHasElement", is_there},
            {"ReverseSequence", reverse_sequence},
            {"TfIdfVectorizer", count_ngrams},
            {"ai.onnx.ml.ArrayFeatureExtractor", extract_features},
            {"ai.onnx.ml.Binarizer", binarize}};
}

} // namespace tenon::detail::onnx
