#pragma once

#include <algorithm>
#include <numeric>

#include <tenon/ops/control/control.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/reduce/scan.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

// What einsum makes of its operands (ops/linear/einsum.hpp).

namespace tenon {

namespace detail {

template <std::size_t... I>
const char* words_about_any_letter(einsum_reading::problem what, char letter, std::index_sequence<I...>) {
    const char* words = nullptr;
    ((words = letter == letter_of_number(I) ? words_about_letter<letter_of_number(I)>(what) : words), ...);
    return words;
}
inline inferred answer_of_any(const einsum_reading& r) {
    return answer_of(r, [](einsum_reading::problem what, char letter) {
        return words_about_any_letter(what, letter, std::make_index_sequence<einsum_reading::letters + 1>{});
    });
}

/// A tensor whose dimensions have letters.
struct lettered {
    any_tensor x;
    std::vector<int> letters;

    bool has(int letter) const { return std::find(letters.begin(), letters.end(), letter) != letters.end(); }
    int axis(int letter) const {
        return static_cast<int>(std::find(letters.begin(), letters.end(), letter) - letters.begin());
    }
};

using letter_list = std::vector<int>;
inline letter_list operator+(letter_list a, const letter_list& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}
inline bool has(const letter_list& list, int letter) {
    return std::find(list.begin(), list.end(), letter) != list.end();
}

class einsum_lowering {
public:
    einsum_lowering(const einsum_reading& r, const std::vector<any_tensor>& operands) :
        result_(r.result.begin(), r.result.end()), sizes_(std::begin(r.sizes), std::end(r.sizes)), element_(r.element) {
        for (int i = 0; i < r.count; ++i) terms_.push_back({operands[static_cast<std::size_t>(i)], {}});
        for (std::size_t i = 0; i < terms_.size(); ++i) {
            const index_list& term = r.terms[i];
            terms_[i].letters.assign(term.begin(), term.end());
            drop_ones(terms_[i]);
            take_diagonals(terms_[i]);
        }
    }

    any_tensor run() {
        for (std::size_t i = 0; i < terms_.size(); ++i) sum_unshared(i);
        while (terms_.size() > 1) {
            std::size_t first = 0, second = 1;
            double least = -1;
            for (std::size_t i = 0; i < terms_.size(); ++i)
                for (std::size_t j = i + 1; j < terms_.size(); ++j)
                    if (const double n = operations(terms_[i], terms_[j]); least < 0 || n < least) {
                        least = n;
                        first = i;
                        second = j;
                    }
            const lettered a = terms_[first], b = terms_[second];
            terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(second));
            terms_.erase(terms_.begin() + static_cast<std::ptrdiff_t>(first));
            terms_.push_back(product(a, b));
        }
        return ordered(terms_[0], result_).x;
    }

private:
    double size(int letter) const {
        const extent& e = sizes_[static_cast<std::size_t>(letter)];
        return e.is_number() ? static_cast<double>(e.size) : 64;
    }
    double elements(const letter_list& letters) const {
        return std::accumulate(letters.begin(), letters.end(), 1.0, [&](double n, int l) { return n * size(l); });
    }
    double operations(const lettered& a, const lettered& b) const {
        double n = elements(a.letters);
        for (const int l : b.letters)
            if (!a.has(l)) n *= size(l);
        return n;
    }
    // Whether a letter is still to be seen when terms_ are multiplied with what is left out of them.
    bool is_wanted(int letter) const {
        if (detail::has(result_, letter)) return true;
        return std::any_of(terms_.begin(), terms_.end(), [&](const lettered& t) { return t.has(letter); });
    }

    // Dimensions of an ellipsis that are 1 here and not elsewhere are repeated by leaving them out.
    void drop_ones(lettered& t) const {
        index_list axes;
        letter_list left;
        for (std::size_t i = 0; i < t.letters.size(); ++i) {
            const int l = t.letters[i];
            const bool is_one = t.x.extents()[static_cast<int>(i)] == extent(1);
            if (l >= einsum_reading::letters && is_one && !(sizes_[static_cast<std::size_t>(l)] == extent(1)))
                axes.push_back(static_cast<std::int64_t>(i));
            else left.push_back(l);
        }
        if (axes.count == 0) return;
        t = {untyped::squeeze(t.x, axes), left};
    }

    void take_diagonals(lettered& t) const {
        for (std::size_t i = 0; i < t.letters.size();) {
            const int l = t.letters[i];
            if (std::find(t.letters.begin() + static_cast<std::ptrdiff_t>(i) + 1, t.letters.end(), l) ==
                t.letters.end()) {
                ++i;
                continue;
            }
            // The two dimensions go to the end and become one, and the letter that stays may be there a third time.
            index_list order;
            letter_list rest;
            std::vector<std::size_t> both;
            for (std::size_t k = 0; k < t.letters.size(); ++k) {
                if (t.letters[k] == l && both.size() < 2) both.push_back(k);
                else {
                    order.push_back(static_cast<std::int64_t>(k));
                    rest.push_back(t.letters[k]);
                }
            }
            for (const std::size_t k : both) order.push_back(static_cast<std::int64_t>(k));
            rest.push_back(l);
            t = {diagonal(in_order(t.x, order)), rest};
        }
    }
    // Of the last two dimensions, which are equal.
    static any_tensor diagonal(const any_tensor& x) {
        const int rank = x.rank();
        const extent n = x.extents()[rank - 1];
        if (n.is_number()) {
            const any_tensor line = merged(x, rank - 2, 2);
            std::vector<range> ranges(static_cast<std::size_t>(rank - 1));
            ranges.back().step = n.size + 1;
            return untyped::slice(line, ranges);
        }
        const any_tensor ones = untyped::cast(untyped::ones_like(x), element_type::int32);
        const any_tensor here = untyped::equal(untyped::cumsum(ones, rank - 2), untyped::cumsum(ones, rank - 1));
        return untyped::sum(untyped::select(here, x, untyped::scalar(0, x.element())), {rank - 1});
    }

    static any_tensor in_order(const any_tensor& x, const index_list& order) {
        for (int i = 0; i < order.count; ++i)
            if (order[i] != i) return untyped::transpose(x, order);
        return x;
    }
    static lettered ordered(const lettered& t, const letter_list& letters) {
        index_list order;
        for (const int l : letters) order.push_back(t.axis(l));
        return {in_order(t.x, order), letters};
    }

    // Letters that only term i has, and not the result, are summed over.
    void sum_unshared(std::size_t i) {
        lettered t = std::move(terms_[i]);
        terms_[i] = {};
        index_list axes;
        letter_list left;
        for (std::size_t k = 0; k < t.letters.size(); ++k) {
            if (is_wanted(t.letters[k])) left.push_back(t.letters[k]);
            else axes.push_back(static_cast<std::int64_t>(k));
        }
        terms_[i] = axes.count == 0 ? std::move(t) : lettered{untyped::sum(t.x, axes), left};
    }

    // `count` dimensions from `first` on as one.
    static any_tensor merged(const any_tensor& x, int first, int count) {
        if (count == 1) return x;
        if (count == 0) return untyped::expand_dims(x, {first});
        reshape_op::attributes a;
        extents together;
        for (int i = 0; i < count; ++i) together.push_back(x.extents()[first + i]);
        for (int i = 0; i < x.rank(); ++i) {
            if (i > first && i < first + count) continue;
            a.sizes.push_back(i != first             ? reshape_op::copied(i)
                              : together.is_static() ? together.elements()
                                                     : reshape_op::deduced);
            a.declared.push_back({});
        }
        return tenon::add<reshape_op>(a, {x});
    }
    // One dimension as those of `letters`; empty where more than one of their sizes is not a number.
    any_tensor divided(const any_tensor& x, int axis, const letter_list& letters) const {
        if (letters.size() == 1) return x;
        if (letters.empty()) return untyped::squeeze(x, {axis});
        reshape_op::attributes a;
        int open = 0;
        for (int i = 0; i < x.rank(); ++i) {
            if (i != axis) {
                a.sizes.push_back(reshape_op::copied(i));
                a.declared.push_back({});
                continue;
            }
            for (const int l : letters) {
                const extent& e = sizes_[static_cast<std::size_t>(l)];
                open += !e.is_number();
                a.sizes.push_back(e.is_number() ? e.size : reshape_op::deduced);
                a.declared.push_back(e);
            }
        }
        return open > 1 ? any_tensor() : tenon::add<reshape_op>(a, {x});
    }

    lettered product(const lettered& a, const lettered& b) const {
        letter_list batch, inner, rows, columns;
        for (const int l : a.letters) (b.has(l) ? (is_wanted(l) ? batch : inner) : rows).push_back(l);
        for (const int l : b.letters)
            if (!a.has(l)) columns.push_back(l);
        const bool has_matmul = matmul_op::result_of(element_) == element_;
        if (inner.empty() || (rows.empty() && columns.empty()) || !has_matmul)
            return elementwise_product(a, b, batch + rows + columns, inner);
        return matrix_product(a, b, batch, rows, columns, inner);
    }

    lettered elementwise_product(const lettered& a, const lettered& b, const letter_list& kept,
                                 const letter_list& inner) const {
        // In the result's order where that has all of them, so that nothing is left to do.
        letter_list order;
        for (const int l : result_)
            if (detail::has(kept, l)) order.push_back(l);
        if (order.size() != kept.size()) order = kept;
        const letter_list all = order + inner;
        const auto expanded = [&](const lettered& t) {
            letter_list own;
            index_list missing;
            for (std::size_t i = 0; i < all.size(); ++i) {
                if (t.has(all[i])) own.push_back(all[i]);
                else missing.push_back(static_cast<std::int64_t>(i));
            }
            const any_tensor x = ordered(t, own).x;
            return missing.count == 0 ? x : untyped::expand_dims(x, missing);
        };
        any_tensor y = untyped::multiply(expanded(a), expanded(b));
        if (!inner.empty()) {
            index_list axes;
            for (std::size_t i = order.size(); i < all.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
            y = untyped::sum(y, axes);
        }
        return {y, order};
    }

    // An operand's matrices: [batch.., outer, inner], or the transposed ones, whichever needs no copy.
    struct matrices {
        lettered of;
        bool transposed = false;
        double copied = 0; // elements
    };
    matrices matrices_of(const lettered& t, const letter_list& batch, const letter_list& outer,
                         const letter_list& inner) const {
        const letter_list plain = batch + outer + inner, turned = batch + inner + outer;
        if (t.letters == plain || t.letters != turned)
            return {{t.x, plain}, false, t.letters == plain ? 0 : elements(t.letters)};
        return {{t.x, turned}, true, 0};
    }

    lettered matrix_product(const lettered& a, const lettered& b, letter_list batch, const letter_list& rows,
                            const letter_list& columns, letter_list inner) const {
        // The order of what both have is that of the operand whose copy costs more.
        const auto copies = [&](const letter_list& ba, const letter_list& in) {
            return matrices_of(a, ba, rows, in).copied + matrices_of(b, ba, columns, in).copied;
        };
        letter_list batch_of_b, inner_of_b;
        for (const int l : b.letters)
            if (a.has(l)) (detail::has(batch, l) ? batch_of_b : inner_of_b).push_back(l);
        if (copies(batch_of_b, inner_of_b) < copies(batch, inner)) {
            batch = batch_of_b;
            inner = inner_of_b;
        }
        // b's matrices on the left, where the result is wanted so, or has several columns that need not be divided then.
        const bool turn = batch + columns + rows == result_ ||
                          (batch.empty() && columns.size() > 1 && rows.size() < 2 && batch + rows + columns != result_);
        return turn ? matrix_product_of(b, a, batch, columns, rows, inner)
                    : matrix_product_of(a, b, batch, rows, columns, inner);
    }

    lettered matrix_product_of(const lettered& a, const lettered& b, const letter_list& batch, const letter_list& rows,
                               const letter_list& columns, const letter_list& inner) const {
        const int n = static_cast<int>(batch.size()), n_inner = static_cast<int>(inner.size()),
                  n_rows = static_cast<int>(rows.size()), n_columns = static_cast<int>(columns.size());
        matrices left = matrices_of(a, batch, rows, inner), right = matrices_of(b, batch, columns, inner);
        // Without a batch all but the last of several rows are the left operand's own batch.
        const bool keeps_rows = n == 0 && n_rows > 1 && !left.transposed;
        const auto matrix = [&](const lettered& t, const matrices& m, int outer, bool merges_outer) {
            any_tensor x = ordered(t, m.of.letters).x;
            const int first = m.transposed ? n_inner : outer, second = m.transposed ? outer : n_inner;
            const bool merges_first = m.transposed || merges_outer, merges_second = !m.transposed || merges_outer;
            if (merges_second) x = merged(x, n + first, second);
            return merges_first ? merged(x, n, first) : x;
        };
        const any_tensor l = matrix(a, left, n_rows, !keeps_rows), r = matrix(b, right, n_columns, true);
        const any_tensor y = untyped::matmul(l, r, left.transposed, !right.transposed);
        const int row_axis = keeps_rows ? n_rows - 1 : n;
        any_tensor divided_y = divided(y, row_axis + 1, columns);
        if (divided_y.node() && !keeps_rows) divided_y = divided(divided_y, row_axis, rows);
        if (!divided_y.node()) {
            // Sizes that only the step knows are those of a sum of both operands, which is not computed.
            const auto sizes_of = [&](const lettered& t, const letter_list& outer, bool before) {
                index_list missing;
                const int at = before ? n : n + n_rows, count = before ? n_rows : n_columns;
                for (int i = 0; i < count; ++i) missing.push_back(at + i);
                index_list summed;
                for (int i = 0; i < n_inner; ++i) summed.push_back(n + static_cast<int>(outer.size()) + i);
                const any_tensor s = untyped::sum(ordered(t, batch + outer + inner).x, summed);
                return missing.count == 0 ? s : untyped::expand_dims(s, missing);
            };
            divided_y = untyped::reshape_like(y, untyped::add(sizes_of(a, rows, false), sizes_of(b, columns, true)));
        }
        return {divided_y, batch + rows + columns};
    }

    std::vector<lettered> terms_;
    letter_list result_;
    std::vector<extent> sizes_;
    element_type element_;
};

// Whether all sizes of each letter that stands in several places are known to be equal before the step.
inline bool sizes_are_proven(const einsum_reading& r, const std::vector<any_tensor>& operands) {
    for (int i = 0; i < r.count; ++i)
        for (int k = 0; k < r.terms[i].count; ++k) {
            const std::int64_t l = r.terms[i][k];
            if (l >= einsum_reading::letters) continue;
            int times = 0;
            for (int j = 0; j < r.count; ++j)
                for (const std::int64_t other : r.terms[j]) times += other == l;
            const extent& e = operands[static_cast<std::size_t>(i)].extents()[k];
            if (times > 1 && (e.is_dynamic() || !(e == r.sizes[l]))) return false;
        }
    return true;
}

} // namespace detail

TENON_INLINE inferred einsum_operand_op::infer(const attributes& a, type_list in, int) {
    if (in.size() < 1) return fault::expects_more_operands;
    const detail::einsum_reading r = detail::read_einsum(a.letters.c_str(), in);
    if (r.what != detail::einsum_reading::problem::none) return detail::answer_of_any(r);
    extents sizes;
    for (int i = 0; i < in[0].extents.rank(); ++i) {
        const std::int64_t l = r.terms[0][i];
        sizes.push_back(l < detail::einsum_reading::letters ? r.sizes[l] : in[0].extents[i]);
    }
    return inferred(in[0].element, sizes);
}
TENON_INLINE void einsum_operand_op::gradient(gradient_context& g) { g.set(0, g.output_gradient()); }
TENON_INLINE kernel_pointer einsum_operand_op::prepare(const kernel_setup& s) { return identity_op::prepare(s); }

namespace untyped {
TENON_INLINE any_tensor einsum(const std::string& text, const std::vector<any_tensor>& operands, called_from here) {
    const making made(here);
    std::vector<tensor_type> types;
    for (const any_tensor& o : operands) types.push_back(o.type());
    const type_list in(types.data(), static_cast<int>(types.size()));
    const detail::einsum_reading r = detail::read_einsum(text.c_str(), in);
    if (r.what != detail::einsum_reading::problem::none)
        detail::refuse_operands(("einsum " + text).c_str(), detail::answer_of_any(r), in);
    std::vector<any_tensor> checked = operands;
    if (!detail::sizes_are_proven(r, operands)) {
        const std::string letters = text.substr(0, text.find('-'));
        const char* result = letters.find('.') == std::string::npos ? "->" : "->...";
        checked[0] = tenon::add<einsum_operand_op>({letters + result}, operands);
    }
    return detail::einsum_lowering(r, checked).run();
}
} // namespace untyped

} // namespace tenon
