#pragma once

#include <string>

#include <tenon/graph/gradient_context.hpp>
#include <tenon/graph/tensor.hpp>

/// Connectionist temporal classification: the loss of sequences whose labels are not aligned with time (A. Graves et al., Connectionist
/// temporal classification, ICML 2006).
///
///     loss[s] = -ln(sum over paths of product over t of p[s, t, path[t]]),   p = softmax(logits) over the classes
///
/// A path has one class for each of the first times[s] steps; the sum is over those that are the first lengths[s] labels of sequence s once
/// classes that follow themselves are taken together and then blanks are left out.
///
///     auto loss = tn::mean(tn::ctc_loss(logits, labels, times, lengths));
///     // float[batch, time, classes], int32[batch, most_labels], int32[batch], int32[batch] -> float[batch]
///
/// All is computed in double, in logarithms. What lies beyond times and lengths takes no part, whatever it is. A sequence with no such path,
/// as its labels need more steps than there are, has the loss +infinity and the gradient 0. Gradients of higher order go through a scan over
/// the steps, of the same numbers.

namespace tenon {

/// in: logits [batch, time, classes]; labels [batch, n], times [batch] and lengths [batch], int32 or int64. out: the loss [batch], and its
/// gradient in the logits [batch, time, classes].
struct ctc_loss_op {
    static constexpr const char* name = "ctc_loss";
    struct attributes {
        std::int64_t blank = 0; ///< the class that is no label
    };
    static constexpr char operands_are[] =
        "logits are [batch, time, classes], labels [batch, most], times and lengths [batch]";
    static constexpr char blank_is_no_class[] = "the blank is not one of the classes";
    static constexpr int outputs(const attributes&, int) { return 2; }
    static constexpr inferred infer(const attributes& a, type_list in, int output) {
        if (in.size() != 4) return fault::expects_more_operands;
        if (!is_floating(in[0].element)) return fault::element_type_must_be_floating;
        constexpr int ranks[] = {3, 2, 1, 1};
        extent batch = in[0].extents.rank() > 0 ? in[0].extents[0] : extent();
        for (int i = 0; i < 4; ++i) {
            if (i > 0 && in[i].element != element_type::int32 && in[i].element != element_type::int64)
                return fault::element_type_must_be_integer;
            if (in[i].extents.rank() != ranks[i]) return operands_are;
            const merged_extent m = equal_sizes(batch, in[i].extents[0]);
            if (m.what != fault::none) return fault::batch_sizes_differ;
            batch = m.size;
        }
        const extent classes = in[0].extents[2];
        if (a.blank < 0 || (classes.is_number() && a.blank >= classes.size)) return blank_is_no_class;
        extents sizes;
        sizes.push_back(batch);
        if (output == 1) {
            sizes.push_back(in[0].extents[1]);
            sizes.push_back(classes);
        }
        return inferred(in[0].element, sizes);
    }
    static void gradient(gradient_context& g);
    static kernel_pointer prepare(const kernel_setup& s);
    /// The losses, made of functions that have gradients of any order.
    static any_tensor of_functions(const any_tensor& logits, const any_tensor& labels, const any_tensor& times,
                                   const any_tensor& lengths, std::int64_t blank);

    /// What may be wrong with a sequence, in the order in which it is looked for; `label`: that number of its labels.
    enum class wrong : std::int64_t { nothing, times, length, label };
    static std::string refusal(const std::string& node, std::int64_t sequence, wrong what, std::int64_t value,
                               std::int64_t label, std::int64_t most, std::int64_t blank);
    static std::string refused_blank(const std::string& node, std::int64_t blank, std::int64_t classes);
};
TENON_OP(ctc, ctc_loss);

/// The loss of each sequence. A label that is no class, or is the blank, a time beyond the logits' and a length beyond the labels' fail the
/// step with invalid_argument_error, which names it.
template <OperandOrIllShaped X, OperandOrIllShaped L, OperandOrIllShaped T, OperandOrIllShaped N>
auto ctc_loss(const X& logits, const L& labels, const T& times, const N& lengths, const ctc_loss_op::attributes& a = {},
              called_from here = caller()) {
    const making made(here);
    return apply_op<ctc_loss_op, detail::default_attributes<ctc_loss_op>>(a, logits, labels, times, lengths);
}

namespace untyped {
any_tensor ctc_loss(const any_tensor& logits, const any_tensor& labels, const any_tensor& times,
                    const any_tensor& lengths, const ctc_loss_op::attributes& a = {}, called_from here = caller());
} // namespace untyped

} // namespace tenon

#if TENON_HEADER_ONLY || defined(TENON_KERNELS_OF_ctc)

#include <algorithm>
#include <cmath>
#include <limits>

#include <tenon/core/error.hpp>
#include <tenon/op/widened.hpp>
#include <tenon/ops/control/sized.hpp>
#include <tenon/ops/elementwise/untyped_formulas.hpp>
#include <tenon/ops/flow/scan_slices.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/rows/rows.hpp>
#include <tenon/ops/rows/softmax.hpp>
#include <tenon/ops/shape/assembly.hpp>
#include <tenon/ops/shape/indexed.hpp>
#include <tenon/ops/shape/indexing.hpp>
#include <tenon/ops/shape/movement.hpp>
#include <tenon/ops/shape/reshape.hpp>

namespace tenon {

namespace untyped {
TENON_INLINE any_tensor ctc_loss(const any_tensor& logits, const any_tensor& labels, const any_tensor& times,
                                 const any_tensor& lengths, const ctc_loss_op::attributes& a, called_from here) {
    return tenon::add<ctc_loss_op>(a, {logits, labels, times, lengths}, here);
}
} // namespace untyped

TENON_INLINE std::string ctc_loss_op::refusal(const std::string& node, std::int64_t sequence, wrong what,
                                              std::int64_t value, std::int64_t label, std::int64_t most,
                                              std::int64_t blank) {
    std::string said = node + ": of sequence " + std::to_string(sequence) + ", ";
    if (what == wrong::times)
        return said + std::to_string(value) + " steps are asked for; the logits have " + std::to_string(most);
    if (what == wrong::length)
        return said + std::to_string(value) + " labels are asked for; there are " + std::to_string(most);
    return said + "label " + std::to_string(label) + " is " + std::to_string(value) +
           (value == blank ? ", the blank" : ", which is not one of the classes");
}
TENON_INLINE std::string ctc_loss_op::refused_blank(const std::string& node, std::int64_t blank, std::int64_t classes) {
    return node + ": the blank is " + std::to_string(blank) + ", which is not one of the " + std::to_string(classes) +
           " classes";
}

// In double, the kernel's recurrence as a scan. What no path reaches has the logarithm -1e30, not -infinity, so that no gradient is NaN; what
// takes no part is blank, or zero, whatever it was.
TENON_INLINE any_tensor ctc_loss_op::of_functions(const any_tensor& logits, const any_tensor& labels,
                                                  const any_tensor& times, const any_tensor& lengths,
                                                  std::int64_t blank) {
    using namespace untyped;
    constexpr auto whole = element_type::int64, real = element_type::float64;
    constexpr double none = -1e30;
    const any_tensor steps = arange_like(logits, whole, 1), length = cast(lengths, whole);
    const any_tensor runs = less(steps, expand_dims(cast(times, whole), {1})); // [batch, time]
    const any_tensor said =
        select(less(arange_like(labels, whole, 1), expand_dims(length, {1})), cast(labels, whole), blank);
    // The blank before, between and after the labels: label u / 2 in state u where that is odd. (No sizes are deduced, so that there may be none.)
    const any_tensor like = concat({said, said, expand_dims(length, {1})}, 1), state = arange_like(like, whole, 1);
    const any_tensor at_labels =
        take_along_axis(pad(said, {margin{}, margin{0, 1}}, blank), add(divide(state, 2), multiply(like, 0)), 1);
    const any_tensor states = select(equal(mod(state, 2), 1), at_labels, blank);
    const auto later = [](const any_tensor& x, std::int64_t by, const number& before) {
        return slice(pad(x, {margin{}, margin{by, 0}}, before), {range{}, range{unbounded, -by}});
    };
    const any_tensor skips = logical_and(not_equal(states, blank), not_equal(states, later(states, 2, blank)));

    const any_tensor p = log_softmax(cast(select(expand_dims(runs, {2}), logits, 0), real), -1);
    const any_tensor of_states = // [batch, time, states]
        take_along_axis(p, add(expand_dims(states, {1}), expand_dims(multiply(steps, 0), {0, 2})), 2);
    const any_tensor first = // in the blank before all labels
        broadcast_like(multiply(cast(greater(arange_like(states, whole, 1), 0), real), none), states);
    const any_tensor last = untyped::scan(
        [&](const std::vector<any_tensor>& c, const std::vector<any_tensor>& x) {
            const any_tensor from =
                logaddexp(logaddexp(c[0], later(c[0], 1, none)), select(skips, later(c[0], 2, none), none));
            return detail::carried_and_given{{select(x[1], add(from, x[0]), c[0])}, {}};
        },
        {first}, {transpose(of_states, {1, 0, 2}), expand_dims(transpose(runs), {2})})[0];
    const auto at = [&](const any_tensor& one) {
        return squeeze(take_along_axis(last, expand_dims(one, {1}), 1), {1});
    };
    const any_tensor end = multiply(length, 2), in_blank = at(end);
    const any_tensor all = select(greater(length, 0), logaddexp(in_blank, at(maximum(subtract(end, 1), 0))), in_blank);
    return negative(select(greater(all, none / 2), all, 0));
}

TENON_INLINE void ctc_loss_op::gradient(gradient_context& g) {
    using namespace untyped;
    std::vector<any_tensor> flowing;
    if (g.output_gradient(0).node())
        flowing.push_back(multiply(g.output(1), expand_dims(g.output_gradient(0), {-1, -2})));
    if (g.output_gradient(1).node()) {
        const any_tensor x = g.input(0), into = g.output_gradient(1);
        const any_tensor loss =
            sum(of_functions(x, g.input(1), g.input(2), g.input(3), g.attributes<attributes>().blank));
        const any_tensor along = sum(multiply(untyped::gradients(loss, {x})[0], into));
        // What flows in may be computed of the logits, too.
        flowing.push_back(detail::add_gradients({along}, {x}, {}, {into})[0]);
    }
    g.set(0, flowing.size() == 1 ? flowing[0] : add(flowing[0], flowing[1]));
}

namespace detail {

// ln(e^a + e^b).
inline double log_of_sum(double a, double b) {
    const double high = std::max(a, b);
    return std::isinf(high) ? high : high + std::log1p(std::exp(std::min(a, b) - high));
}

template <class T> class ctc_loss_kernel final : public kernel {
public:
    explicit ctc_loss_kernel(const kernel_setup& s) :
        name_(s.node.name),
        batch_(s.inputs[0].extents[0].size),
        time_(s.inputs[0].extents[1].size),
        classes_(s.inputs[0].extents[2].size),
        most_(s.inputs[1].extents[1].size),
        blank_(decode<ctc_loss_op::attributes>(s.attrs).blank),
        wide_{s.inputs[1].element == element_type::int64, s.inputs[2].element == element_type::int64,
              s.inputs[3].element == element_type::int64} {}

    std::size_t scratch_bytes() const override { return static_cast<std::size_t>(batch_ * doubles()) * sizeof(double); }
    double cost() const override { return 30 + static_cast<double>(batch_) * row_cost(); }

    void run(const kernel_run& r) override {
        const label_list labels{r.in[1], wide_[0]}, times{r.in[2], wide_[1]}, lengths{r.in[3], wide_[2]};
        check_labels(labels, times, lengths);
        parallel_for(r.pool, batch_, 1 + static_cast<std::int64_t>(20000 / (row_cost() + 1)),
                     [&](std::int64_t begin, std::int64_t end) {
                         for (std::int64_t s = begin; s < end; ++s)
                             sequence(r.input<T>(0) + s * time_ * classes_, labels, s * most_, times[s], lengths[s],
                                      r.out[0] ? r.output<T>(0) + s : nullptr,
                                      r.out[1] ? r.output<T>(1) + s * time_ * classes_ : nullptr,
                                      reinterpret_cast<double*>(r.scratch) + s * doubles());
                     });
    }

private:
    // A state of a path is a label or one of the blanks between, before and after them.
    std::int64_t states() const { return 2 * most_ + 1; }
    // The table of a sequence, the probabilities of its steps, and a row.
    std::int64_t doubles() const { return (time_ + 1) * (states() + classes_); }
    double row_cost() const { return static_cast<double>(time_) * static_cast<double>(40 * states() + 10 * classes_); }

    [[noreturn]] void refuse_sequence(std::int64_t sequence, ctc_loss_op::wrong what, std::int64_t value,
                                      std::int64_t label, std::int64_t most) const {
        throw invalid_argument_error(ctc_loss_op::refusal(name_, sequence, what, value, label, most, blank_));
    }
    void check_labels(const label_list& labels, const label_list& times, const label_list& lengths) const {
        if (blank_ >= classes_) throw invalid_argument_error(ctc_loss_op::refused_blank(name_, blank_, classes_));
        using wrong = ctc_loss_op::wrong;
        for (std::int64_t s = 0; s < batch_; ++s) {
            if (times[s] < 0 || times[s] > time_) refuse_sequence(s, wrong::times, times[s], 0, time_);
            if (lengths[s] < 0 || lengths[s] > most_) refuse_sequence(s, wrong::length, lengths[s], 0, most_);
            for (std::int64_t i = 0; i < lengths[s]; ++i)
                if (const std::int64_t l = labels[s * most_ + i]; l < 0 || l >= classes_ || l == blank_)
                    refuse_sequence(s, wrong::label, l, i, most_);
        }
    }

    // forward[t, u]: the logarithm of the sum over beginnings of paths that are in state u at t; `later`, the same of what follows t.
    void sequence(const T* x, const label_list& labels, std::int64_t first_label, std::int64_t times,
                  std::int64_t length, T* loss, T* dx, double* scratch) const {
        constexpr double none = -std::numeric_limits<double>::infinity();
        const std::int64_t n = 2 * length + 1;
        double *const forward = scratch, *const p = forward + time_ * states(), *const later = p + time_ * classes_,
                      *const through = later + states();
        const auto class_of = [&](std::int64_t u) { return u % 2 == 0 ? blank_ : labels[first_label + u / 2]; };
        const auto skips = [&](std::int64_t u) { return u % 2 == 1 && u > 1 && class_of(u) != class_of(u - 2); };
        for (std::int64_t t = 0; t < times; ++t) {
            const T* const row = x + t * classes_;
            const auto most = static_cast<double>(*std::max_element(row, row + classes_));
            double sum = 0;
            for (std::int64_t c = 0; c < classes_; ++c) sum += std::exp(static_cast<double>(row[c]) - most);
            const double by = most + std::log(sum);
            for (std::int64_t c = 0; c < classes_; ++c) p[t * classes_ + c] = static_cast<double>(row[c]) - by;
        }
        for (std::int64_t t = 0; t < times; ++t)
            for (std::int64_t u = 0; u < n; ++u) {
                double& now = forward[t * n + u];
                if (t == 0) now = u < 2 ? 0 : none;
                else {
                    const double* const before = forward + (t - 1) * n;
                    now = before[u];
                    if (u > 0) now = log_of_sum(now, before[u - 1]);
                    if (skips(u)) now = log_of_sum(now, before[u - 2]);
                }
                now += p[t * classes_ + class_of(u)];
            }
        double all = length == 0 ? 0 : none; // of no steps
        if (times > 0) {
            const double* const last = forward + (times - 1) * n;
            all = n > 1 ? log_of_sum(last[n - 1], last[n - 2]) : last[0];
        }
        if (loss) *loss = static_cast<T>(0 - all);
        if (!dx) return;
        const std::int64_t counted = all == none ? 0 : times; // of the others nothing depends on the logits
        std::fill(dx + counted * classes_, dx + time_ * classes_, T(0));
        if (counted == 0) return;

        for (std::int64_t u = 0; u < n; ++u) later[u] = u + 2 >= n ? 0 : none;
        for (std::int64_t t = times - 1; t >= 0; --t) {
            double* const now = p + t * classes_;
            T* const d = dx + t * classes_;
            // What of all paths is in a state, and so in a class, at t; `later` is of t until then.
            std::fill(through, through + classes_, 0);
            for (std::int64_t u = 0; u < n; ++u) through[class_of(u)] += std::exp(forward[t * n + u] + later[u] - all);
            for (std::int64_t u = 0; u < n; ++u) later[u] += now[class_of(u)];
            for (std::int64_t u = 0; u < n; ++u) { // in place: of those to come, which are not yet overwritten
                double to = later[u];
                if (u + 1 < n) to = log_of_sum(to, later[u + 1]);
                if (u + 2 < n && skips(u + 2)) to = log_of_sum(to, later[u + 2]);
                later[u] = to;
            }
            for (std::int64_t c = 0; c < classes_; ++c) d[c] = static_cast<T>(std::exp(now[c]) - through[c]);
        }
    }

    std::string name_;
    std::int64_t batch_, time_, classes_, most_, blank_;
    bool wide_[3];
};

} // namespace detail

TENON_INLINE kernel_pointer ctc_loss_op::prepare(const kernel_setup& s) {
    return detail::make_floating<detail::ctc_loss_kernel>(s);
}

} // namespace tenon

#endif
