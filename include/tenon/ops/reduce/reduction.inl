#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include <tenon/ops/reduce/arg_reduce_kernel.hpp>
#include <tenon/ops/reduce/reduce_kernel.hpp>

/// The CPU kernels of ops/reduce/reduction.hpp.

namespace tenon {

namespace reducing {

/// What is done to a combined value before it is stored.
enum class finishing { nothing, division, root, at_least_zero };

template <class Out, class W> Out stored(W value) {
    if constexpr (std::is_same_v<Out, bool>) return value != W{};
    else if constexpr (std::is_same_v<W, double> && sizeof(Out) == 2) return Out(static_cast<float>(value));
    else return static_cast<Out>(value);
}

/// How combined values become results.
struct result_form {
    finishing how = finishing::nothing;
    bool flipped = false;   ///< read by reading::ordered
    std::int64_t count = 0; ///< of the elements that are combined to one
};
template <class Out, class W> void store_results(void* out, std::int64_t n, const W* found, const result_form& f) {
    Out* to = static_cast<Out*>(out);
    if constexpr (std::is_integral_v<W>) {
        const auto flip = [&](W a) { return static_cast<W>(static_cast<std::uint64_t>(a) ^ (std::uint64_t{1} << 63)); };
        if (f.flipped)
            for (std::int64_t i = 0; i < n; ++i) to[i] = stored<Out>(flip(found[i]));
        else
            for (std::int64_t i = 0; i < n; ++i) to[i] = stored<Out>(found[i]);
    } else if (f.how == finishing::division) {
        for (std::int64_t i = 0; i < n; ++i) to[i] = stored<Out>(found[i] / static_cast<double>(f.count));
    } else if (f.how == finishing::root) {
        for (std::int64_t i = 0; i < n; ++i) to[i] = stored<Out>(std::sqrt(found[i]));
    } else if (f.how == finishing::at_least_zero) {
        for (std::int64_t i = 0; i < n; ++i) to[i] = stored<Out>(found[i] < 0 ? 0 : found[i]);
    } else {
        for (std::int64_t i = 0; i < n; ++i) to[i] = stored<Out>(found[i]);
    }
}
template <class W> struct result_store {
    void (*function)(void* out, std::int64_t n, const W* found, const result_form&);
    std::int64_t bytes; ///< of an element
    bool plain = false; ///< what is combined is stored as it is
};
template <class Out, class W> inline constexpr result_store<W> store_as{&store_results<Out, W>, sizeof(Out)};

/// One pass; where the outermost dimension is reduced and the innermost too, one for each.
template <class C> class reduce_kernel final : public kernel {
public:
    using W = wide_t<C>;
    reduce_kernel(const reduction_layout& l, combination how, const reduction_source<C>& source, result_form form,
                  result_store<W> store) :
        pass_(l.is_sandwich() ? l.without_inner() : l, how, source),
        rest_(l.inner(), how, reduction_source<C>()),
        two_(l.is_sandwich()),
        form_(form),
        store_(store),
        outputs_(l.outputs()) {
        form_.count = l.reduced_count();
    }
    void run(const kernel_run& r) override {
        std::byte* out = r.output<std::byte>(0);
        if (!out) return;
        const auto finish = [&](std::int64_t first, std::int64_t n, const W* found, const C*) {
            store_.function(out + first * store_.bytes, n, found, form_);
        };
        if (two_) {
            C* between = reinterpret_cast<C*>(r.scratch + pass_bytes());
            pass_.run(r.in[0], nullptr, r.scratch, r.pool,
                      [&](std::int64_t first, std::int64_t n, const W* found, const C*) {
                          for (std::int64_t i = 0; i < n; ++i) between[first + i] = static_cast<C>(found[i]);
                      });
            rest_.run(between, nullptr, r.scratch, r.pool, finish);
        } else if (!store_.plain || !pass_.run_directly(r.in[0], reinterpret_cast<C*>(out), r.pool)) {
            pass_.run(r.in[0], nullptr, r.scratch, r.pool, finish);
        }
    }
    std::size_t scratch_bytes() const override {
        return pass_bytes() + (two_ ? static_cast<std::size_t>(pass_.layout().outputs()) * sizeof(C) : 0);
    }
    double cost() const override { return 50 + 0.1 * static_cast<double>(outputs_ * (1 + form_.count)); }

private:
    std::size_t pass_bytes() const {
        const std::size_t a = pass_.scratch_bytes(), b = two_ ? rest_.scratch_bytes() : 0;
        return ((a > b ? a : b) + 63) / 64 * 64;
    }

    reduction_pass<C> pass_, rest_;
    bool two_;
    result_form form_;
    result_store<W> store_;
    std::int64_t outputs_;
};

template <class C, class Out>
kernel_pointer make(const reduction_layout& l, element_type e, combination how, mapping m = mapping::none,
                    finishing f = finishing::nothing, reading r = reading::numbers) {
    const result_form form{f, e == element_type::uint64 && r == reading::ordered};
    result_store<wide_t<C>> store = store_as<Out, wide_t<C>>;
    store.plain = std::is_same_v<C, Out> && f == finishing::nothing && !form.flipped;
    return std::make_unique<reduce_kernel<C>>(l, how, reduction_source<C>(e, m, r), form, store);
}

inline kernel_pointer make_for_floats(element_type e, const reduction_layout& l, combination how,
                                      mapping m = mapping::none, finishing f = finishing::nothing) {
    switch (e) {
    case element_type::float32: return make<float, float>(l, e, how, m, f);
    case element_type::float64: return make<double, double>(l, e, how, m, f);
    case element_type::float16: return make<float, half>(l, e, how, m, f);
    default: return make<float, bfloat16>(l, e, how, m, f);
    }
}

inline kernel_pointer make_for_numbers(element_type e, const reduction_layout& l, combination how) {
    const bool chooses = how == combination::least || how == combination::largest;
    switch (e) {
    case element_type::int8: return make<std::int32_t, std::int8_t>(l, e, how);
    case element_type::int16: return make<std::int32_t, std::int16_t>(l, e, how);
    case element_type::int32: return make<std::int32_t, std::int32_t>(l, e, how);
    case element_type::int64: return make<std::int64_t, std::int64_t>(l, e, how);
    case element_type::uint8: return make<std::int32_t, std::uint8_t>(l, e, how);
    case element_type::uint16: return make<std::int32_t, std::uint16_t>(l, e, how);
    case element_type::uint32: return make<std::int64_t, std::uint32_t>(l, e, how);
    case element_type::uint64:
        return make<std::int64_t, std::uint64_t>(l, e, how, mapping::none, finishing::nothing,
                                                 chooses ? reading::ordered : reading::numbers);
    default: return make_for_floats(e, l, how);
    }
}

inline reduction_layout layout_of(const kernel_setup& s, const index_list& axes) {
    const extents& x = s.inputs[0].extents;
    return reduction_layout(x, tenon::detail::axes_or_all(axes, x.rank()));
}
inline reduction_layout layout_of(const kernel_setup& s) {
    return layout_of(s, decode<reduction_attributes>(s.attrs).axes);
}

/// Two passes: the first finds a parameter for each output, the second uses it. Where an output's elements
/// fit in cache, its second pass comes right after its first.
///   log_sum_exp:  parameter = largest element; log of the sum of exponentials of the distances, + parameter
///   variance, deviation: parameter = mean; sum of squared distances / divisor, or its root
template <class T> class two_pass_kernel final : public kernel {
    using C = simd::compute_t<T>;

public:
    enum class kind { log_sum_exp, variance, deviation };

    two_pass_kernel(const reduction_layout& l, kind k, double divisor) :
        first_(l, k == kind::log_sum_exp ? combination::largest : combination::sum,
               reduction_source<C>(element_type_of<T>, mapping::none, reading::numbers)),
        second_(l, combination::sum,
                reduction_source<C>(element_type_of<T>,
                                    k == kind::log_sum_exp ? mapping::shifted_exp : mapping::squared_deviation,
                                    reading::numbers)),
        kind_(k),
        divisor_(divisor),
        count_(static_cast<double>(l.reduced_count())) {}

    void run(const kernel_run& r) override {
        T* out = r.output<T>(0);
        if (!out) return;
        C* parameters = reinterpret_cast<C*>(r.scratch + pass_bytes());
        const auto keep = [&](std::int64_t first, std::int64_t n, const double* found, const C*) {
            for (std::int64_t i = 0; i < n; ++i)
                // Infinities are not subtracted from each other: exp gives what they should.
                parameters[first + i] = static_cast<C>(kind_ != kind::log_sum_exp ? found[i] / count_
                                                       : std::isfinite(found[i])  ? found[i]
                                                                                  : 0);
        };
        const auto finish = [&](std::int64_t first, std::int64_t n, const double* sums, const C* p) {
            for (std::int64_t i = 0; i < n; ++i) {
                const double v =
                    kind_ == kind::log_sum_exp ? static_cast<double>(p[i]) + std::log(sums[i]) : sums[i] / divisor_;
                out[first + i] = stored<T>(kind_ == kind::deviation ? std::sqrt(v) : v);
            }
        };
        const reduction_layout& l = first_.layout();
        if constexpr (std::is_same_v<T, C>)
            if (kind_ == kind::log_sum_exp && has_long_rows()) return sum_exponentials(r, parameters, finish);
        if (!first_.is_local() || !second_.is_local()) {
            first_.run(r.in[0], nullptr, r.scratch, r.pool, keep);
            second_.run(r.in[0], parameters, r.scratch, r.pool, finish);
            return;
        }
        const std::int64_t elements = l.outputs() * l.reduced_count();
        if (l.outer_kept_count == 0) return;
        const std::int64_t unit_bytes = elements * static_cast<std::int64_t>(sizeof(T)) / l.outer_kept_count;
        // Those that come next are fetched into the first-level cache beside these.
        const std::int64_t together = std::clamp<std::int64_t>(unit_bytes == 0 ? 512 : 16384 / unit_bytes, 1, 512);
        for_pieces(r.pool, l.outer_kept_count, elements, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; i += together) {
                const std::int64_t stop = i + together < end ? i + together : end;
                first_.outputs(r.in[0], i, stop, nullptr, keep);
                second_.outputs(r.in[0], i, stop, parameters, finish);
            }
        });
    }
    std::size_t scratch_bytes() const override {
        return pass_bytes() + static_cast<std::size_t>(first_.layout().outputs()) * sizeof(C);
    }
    double cost() const override {
        return 80 + 0.5 * static_cast<double>(first_.layout().outputs() * (1 + first_.layout().reduced_count()));
    }

private:
    std::size_t pass_bytes() const {
        const std::size_t a = first_.scratch_bytes(), b = second_.scratch_bytes();
        return ((a > b ? a : b) + 63) / 64 * 64;
    }
    // Each is folded by itself; a few of millions of elements are shared by threads, in two passes.
    bool has_long_rows() const {
        const reduction_layout& l = first_.layout();
        return !l.inner_is_kept && l.outer_reduced_count == 1 && l.n >= 64 && first_.is_local();
    }
    template <class F> void sum_exponentials(const kernel_run& r, C* shifts, const F& finish) const {
        const reduction_layout& l = first_.layout();
        const auto loop = TENON_SIMD_BEST(exponential_loop_of<C>());
        for_pieces(r.pool, l.outputs(), l.outputs() * l.n, [&](std::int64_t begin, std::int64_t end) {
            constexpr std::int64_t most = 64;
            C found[most];
            double sums[most];
            for (std::int64_t i = begin; i < end; i += most) {
                const std::int64_t count = std::min(most, end - i);
                loop(r.input<C>(0) + i * l.n, count, l.n, shifts + i, found);
                std::copy_n(found, count, sums);
                finish(i, count, static_cast<const double*>(sums), static_cast<const C*>(shifts + i));
            }
        });
    }

    reduction_pass<C> first_, second_;
    kind kind_;
    double divisor_, count_;
};

template <class Make> kernel_pointer for_float_type(element_type e, const Make& make_one) {
    switch (e) {
    case element_type::float32: return make_one(float{});
    case element_type::float64: return make_one(double{});
    case element_type::float16: return make_one(half{});
    default: return make_one(bfloat16{});
    }
}

struct count_kernel final : kernel {
    count_kernel(std::int64_t n, element_type e) : count(n), element(e) {}
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        switch (element) {
        case element_type::float32: *r.output<float>(0) = static_cast<float>(count); break;
        case element_type::float64: *r.output<double>(0) = static_cast<double>(count); break;
        case element_type::float16: *r.output<half>(0) = half(count); break;
        case element_type::bfloat16: *r.output<bfloat16>(0) = bfloat16(count); break;
        case element_type::int8:
        case element_type::uint8: *r.output<std::uint8_t>(0) = static_cast<std::uint8_t>(count); break;
        case element_type::int16:
        case element_type::uint16: *r.output<std::uint16_t>(0) = static_cast<std::uint16_t>(count); break;
        case element_type::int32:
        case element_type::uint32: *r.output<std::uint32_t>(0) = static_cast<std::uint32_t>(count); break;
        default: *r.output<std::int64_t>(0) = count;
        }
    }
    double cost() const override { return 10; }
    std::int64_t count;
    element_type element;
};

/// Products of all elements but one, those before it times those after it, so that no zero is divided by: of numbers
/// x + h1 t1 + .. + hn tn where no power of a t counts, held as `parts` coefficients, one for each set of ts. What is
/// wanted is the coefficient of t1 .. tn.
template <class T> struct prod_gradient_kernel final : kernel {
    using C = std::conditional_t<sizeof(T) == 2, float, T>;
    explicit prod_gradient_kernel(const kernel_setup& s) : directions(s.inputs.size() - 2) {
        constexpr int most = 20; // their number is a power of 2
        if (directions > most)
            throw unimplemented_error("prod (" + s.node.name + ") is differentiated " + std::to_string(directions + 1) +
                                      " times; at most " + std::to_string(most + 1) + " are possible");
        parts = std::int64_t{1} << directions;
        const extents& x = s.inputs[1].extents;
        const tenon::detail::axis_set axes =
            tenon::detail::axes_or_all(decode<reduction_attributes>(s.attrs).axes, x.rank());
        std::int64_t step = 1;
        for (int i = x.rank(); i-- > 0; step *= x[i].size) {
            const reduction_layout::dimension d{x[i].size, step};
            if (axes.has(i)) group[group_rank++] = d;
            else outer[outer_rank++] = d;
            (axes.has(i) ? group_count : outer_count) *= d.size;
        }
    }
    static std::int64_t offset(std::int64_t index, const reduction_layout::dimension* dims, int rank) {
        std::int64_t at = 0;
        for (int i = 0; i < rank; ++i) {
            at += index % dims[i].size * dims[i].stride;
            index /= dims[i].size;
        }
        return at;
    }
    void run(const kernel_run& r) override {
        const T* g = r.input<T>(0);
        T* out = r.output<T>(0);
        const std::int64_t elements = outer_count * group_count;
        if (!out || elements == 0) return;
        C* before = reinterpret_cast<C*>(r.scratch);
        C* const products = before + (in_place() ? 0 : elements * parts);
        if constexpr (std::is_same_v<C, T>)
            if (in_place()) before = out;
        for_pieces(r.pool, outer_count, elements * parts, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t o = begin; o < end; ++o) {
                const std::int64_t base = offset(o, outer, outer_rank);
                C* product = products + o * parts;
                std::fill_n(product, parts, C{0});
                product[0] = static_cast<C>(g[o]);
                for (std::int64_t k = 0; k < group_count; ++k) {
                    const std::int64_t at = base + offset(k, group, group_rank);
                    std::copy_n(product, parts, before + at * parts);
                    multiply(product, r, at);
                }
                std::fill_n(product, parts, C{0});
                product[0] = 1;
                for (std::int64_t k = group_count; k-- > 0;) {
                    const std::int64_t at = base + offset(k, group, group_rank);
                    C sum{0};
                    for (std::int64_t p = 0; p < parts; ++p) sum += before[at * parts + p] * product[parts - 1 - p];
                    out[at] = static_cast<T>(sum);
                    multiply(product, r, at);
                }
            }
        });
    }
    // product *= x[at] + h1[at] t1 + ..: larger sets first, for what they take from smaller ones is the old product's.
    void multiply(C* product, const kernel_run& r, std::int64_t at) const {
        const C x = static_cast<C>(r.input<T>(1)[at]);
        for (std::int64_t p = parts; p-- > 0;) {
            C sum = product[p] * x;
            for (int d = 0; d < directions; ++d)
                if ((p >> d & 1) != 0)
                    sum += product[p - (std::int64_t{1} << d)] * static_cast<C>(r.input<T>(2 + d)[at]);
            product[p] = sum;
        }
    }
    // What lies before an element is kept where the result will be, if that holds it.
    bool in_place() const { return directions == 0 && std::is_same_v<C, T>; }
    std::size_t scratch_bytes() const override {
        return static_cast<std::size_t>((in_place() ? 1 : 1 + group_count) * outer_count * parts) * sizeof(C);
    }
    double cost() const override { return 50 + 4.0 * static_cast<double>(outer_count * group_count * parts); }
    reduction_layout::dimension group[max_rank]{}, outer[max_rank]{};
    int group_rank = 0, outer_rank = 0, directions = 0;
    std::int64_t group_count = 1, outer_count = 1, parts = 1;
};

} // namespace reducing

TENON_INLINE kernel_pointer sum_op::prepare(const kernel_setup& s) {
    return reducing::make_for_numbers(s.inputs[0].element, reducing::layout_of(s), reducing::combination::sum);
}
TENON_INLINE kernel_pointer mean_op::prepare(const kernel_setup& s) {
    return reducing::make_for_floats(s.inputs[0].element, reducing::layout_of(s), reducing::combination::sum,
                                     reducing::mapping::none, reducing::finishing::division);
}
TENON_INLINE kernel_pointer prod_op::prepare(const kernel_setup& s) {
    return reducing::make_for_numbers(s.inputs[0].element, reducing::layout_of(s), reducing::combination::product);
}
TENON_INLINE kernel_pointer min_op::prepare(const kernel_setup& s) {
    return reducing::make_for_numbers(s.inputs[0].element, reducing::layout_of(s), reducing::combination::least);
}
TENON_INLINE kernel_pointer max_op::prepare(const kernel_setup& s) {
    return reducing::make_for_numbers(s.inputs[0].element, reducing::layout_of(s), reducing::combination::largest);
}
TENON_INLINE kernel_pointer argmin_op::prepare(const kernel_setup& s) {
    return reducing::make_arg_reduction(s.inputs[0].element, reducing::layout_of(s), reducing::combination::least);
}
TENON_INLINE kernel_pointer argmax_op::prepare(const kernel_setup& s) {
    return reducing::make_arg_reduction(s.inputs[0].element, reducing::layout_of(s), reducing::combination::largest);
}
TENON_INLINE kernel_pointer any_op::prepare(const kernel_setup& s) {
    return reducing::make<std::int32_t, bool>(reducing::layout_of(s), element_type::boolean,
                                              reducing::combination::sum);
}
TENON_INLINE kernel_pointer all_op::prepare(const kernel_setup& s) {
    return reducing::make<std::int32_t, bool>(reducing::layout_of(s), element_type::boolean,
                                              reducing::combination::least);
}
TENON_INLINE kernel_pointer count_nonzero_op::prepare(const kernel_setup& s) {
    return reducing::make<std::int32_t, std::int64_t>(reducing::layout_of(s), s.inputs[0].element,
                                                      reducing::combination::sum, reducing::mapping::none,
                                                      reducing::finishing::nothing, reducing::reading::nonzero);
}
TENON_INLINE kernel_pointer logsumexp_op::prepare(const kernel_setup& s) {
    return reducing::for_float_type(s.inputs[0].element, [&]<class T>(T) -> kernel_pointer {
        using k = reducing::two_pass_kernel<T>;
        return std::make_unique<k>(reducing::layout_of(s), k::kind::log_sum_exp, 1);
    });
}
TENON_INLINE kernel_pointer variance_op::prepare(const kernel_setup& s) {
    const attributes a = decode<attributes>(s.attrs);
    const reducing::reduction_layout l = reducing::layout_of(s, a.axes);
    const std::int64_t divisor = l.reduced_count() - a.ddof;
    return reducing::for_float_type(s.inputs[0].element, [&]<class T>(T) -> kernel_pointer {
        using k = reducing::two_pass_kernel<T>;
        return std::make_unique<k>(l, a.root ? k::kind::deviation : k::kind::variance,
                                   divisor > 0 ? static_cast<double>(divisor) : 0.0);
    });
}
TENON_INLINE kernel_pointer norm_op::prepare(const kernel_setup& s) {
    using namespace reducing;
    const attributes a = decode<attributes>(s.attrs);
    const reduction_layout l = layout_of(s, a.axes);
    const element_type e = s.inputs[0].element;
    if (a.order == 1) return make_for_floats(e, l, combination::sum, mapping::magnitude);
    if (a.order == 2) return make_for_floats(e, l, combination::sum, mapping::square, finishing::root);
    return make_for_floats(e, l, combination::largest, mapping::magnitude, finishing::at_least_zero);
}
TENON_INLINE kernel_pointer element_count_op::prepare(const kernel_setup& s) {
    const attributes a = decode<attributes>(s.attrs);
    return std::make_unique<reducing::count_kernel>(reducing::layout_of(s, a.axes).reduced_count(), a.element);
}
TENON_INLINE kernel_pointer sum_like_op::prepare(const kernel_setup& s) {
    const extents& x = s.inputs[0].extents;
    const extents sizes = aligned(decode<attributes>(s.attrs), x, s.inputs[1].extents);
    detail::axis_set axes;
    for (int i = 0; i < x.rank(); ++i)
        if (sizes[i].size != x[i].size) axes.bits |= 1U << i;
    return reducing::make_for_numbers(s.inputs[0].element, reducing::reduction_layout(x, axes),
                                      reducing::combination::sum);
}
TENON_INLINE kernel_pointer prod_gradient_op::prepare(const kernel_setup& s) {
    return reducing::for_float_type(s.inputs[0].element, [&]<class T>(T) -> kernel_pointer {
        return std::make_unique<reducing::prod_gradient_kernel<T>>(s);
    });
}

} // namespace tenon
