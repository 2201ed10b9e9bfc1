#pragma once

#include <algorithm>
#include <vector>

#include <tenon/kernel/dense/convolution_implementation.hpp>
#include <tenon/kernel/dense/product.hpp>
#include <tenon/kernel/dense/scratch.hpp>
#include <tenon/kernel/thread_pool.hpp>

// Forward and backward data, both the same thing: each pixel of the target is a sum over taps of a source
// pixel's channels times that tap's matrix. It is computed as a product whose left matrix, the windows, is
// never written out: tables say where each window begins and which of its parts lie inside the image. Pixels
// whose windows lie inside to the same extent form a class, so that nothing is padded and no zero is
// multiplied.

namespace tenon::dense::detail {

/// One axis: the coordinates of the target that are met by the same taps at the same distances.
struct axis_class {
    struct member {
        std::int64_t target;
        std::int64_t source; // the coordinate that distances are counted from
    };
    std::vector<std::int64_t> taps;
    std::vector<std::int64_t> distances;
    std::vector<member> members;
};

inline void add_member(std::vector<axis_class>& classes, axis_class one) {
    for (auto& known : classes) {
        if (known.taps == one.taps && known.distances == one.distances) {
            known.members.push_back(one.members.front());
            return;
        }
    }
    classes.push_back(std::move(one));
}

struct axis {
    std::int64_t size;
    std::int64_t kernel;
    std::int64_t stride;
    std::int64_t dilation;
    std::int64_t pad;
    std::int64_t out;

    /// Target: the output. Tap p of output i meets input i * stride - pad + p * dilation.
    std::vector<axis_class> forward() const {
        std::vector<axis_class> classes;
        for (std::int64_t i = 0; i < out; ++i) {
            const std::int64_t first = i * stride - pad;
            axis_class one{{}, {}, {{i, first}}};
            for (std::int64_t p = 0; p < kernel; ++p) {
                const std::int64_t at = first + p * dilation;
                if (at < 0 || at >= size) continue;
                one.taps.push_back(p);
                one.distances.push_back(p * dilation);
            }
            add_member(classes, std::move(one));
        }
        return classes;
    }

    /// Target: the input. Tap p of input u meets output (u + pad - p * dilation) / stride, where that is
    /// whole; taps in descending order, so that sources ascend.
    std::vector<axis_class> backward() const {
        std::vector<axis_class> classes;
        for (std::int64_t u = 0; u < size; ++u) {
            const std::int64_t remainder = (u + pad) % stride;
            const std::int64_t first = (u + pad) / stride;
            axis_class one{{}, {}, {{u, first}}};
            for (std::int64_t p = kernel - 1; p >= 0; --p) {
                const std::int64_t beyond = p * dilation - remainder;
                if (beyond % stride != 0) continue;
                const std::int64_t at = first - beyond / stride;
                if (at < 0 || at >= out) continue;
                one.taps.push_back(p);
                one.distances.push_back(-beyond / stride);
            }
            add_member(classes, std::move(one));
        }
        return classes;
    }
};

template <class T> class builtin_windows final : public convolution_plan::implementation {
public:
    builtin_windows(convolution_product which, const convolution_description& d) :
        convolution_plan::implementation(backend::builtin),
        d_(d),
        backward_(which == convolution_product::backward_data) {
        const axis down{d.height, d.kernel_h, d.stride_h, d.dilation_h, d.pad_top, d.out_height()};
        const axis across{d.width, d.kernel_w, d.stride_w, d.dilation_w, d.pad_left, d.out_width()};
        const extent in{d.height, d.width, d.in_channels};
        const extent out{d.out_height(), d.out_width(), d.out_channels};
        from_ = backward_ ? out : in;
        to_ = backward_ ? in : out;
        source_ = from_.channels / d.groups;
        target_ = to_.channels / d.groups;

        // Images are taken in sets, so that small classes of pixels still fill tiles; a set is to stay in L2.
        const std::int64_t bytes = (from_.elements() + to_.elements()) * static_cast<std::int64_t>(sizeof(T));
        const std::int64_t share = std::max<std::int64_t>(1, d.batch / std::max(1, d.threads));
        set_ = std::clamp<std::int64_t>(512 * 1024 / bytes, 1, std::min<std::int64_t>(share, 16));
        sets_ = (d.batch + set_ - 1) / set_;

        const auto vertical = backward_ ? down.backward() : down.forward();
        const auto horizontal = backward_ ? across.backward() : across.forward();
        for (const auto& v : vertical) {
            for (const auto& h : horizontal) add_class(v, h);
        }
        p_.n = target_;
        p_.k = d.kernel_h * d.kernel_w * source_;
        p_.b_row = backward_ ? target_ : to_.channels;
        p_.clip = clips(d.after);
        plan(p_);

        constexpr std::int64_t unit = 64;
        for (const auto& rows : p_.classes) {
            for (std::int64_t i = rows.row_begin; i < rows.row_end; i += unit) {
                units_.push_back({&rows, i, std::min(rows.row_end, i + unit), 0, rows.pass_count()});
            }
        }
        part_ = {0, p_.k, 0, p_.panel_count()};
        packed_ = (packed_elements(p_, part_) + 15) / 16 * 16;
        turned_ = backward_ ? (p_.k * target_ + 15) / 16 * 16 : 0;
        scratch_.resize(static_cast<std::size_t>((packed_ + turned_) * d.groups) * sizeof(T), 1);
    }

    void run(const void* first, const void* second, void* third, void* result,
             thread_pool* pool) const override {
        if (pool != nullptr && (pool->size() == 1 || d_.threads == 1)) pool = nullptr;
        const auto lease = scratch_.borrow();
        T* scratch = static_cast<T*>(lease.memory());
        const T* w = static_cast<const T*>(second);
        prepare(w, scratch, pool);

        const auto count = static_cast<std::int64_t>(units_.size());
        const auto body = [&](std::int64_t begin, std::int64_t end) {
            while (begin < end) {
                const std::int64_t set = begin / count;
                const std::int64_t stop = std::min(end, (set + 1) * count);
                const std::int64_t images = std::min(set_, d_.batch - set * set_);
                const T* from = static_cast<const T*>(first) + set * set_ * from_.elements();
                T* to = static_cast<T*>(result) + set * set_ * to_.elements();
                for (std::int64_t g = 0; g < d_.groups; ++g) {
                    T* packed = scratch + g * (packed_ + turned_);
                    operands<T> o{from + g * source_,
                                  backward_ ? packed + packed_ : w + g * target_,
                                  packed,
                                  part_,
                                  adds_bias(d_.after) ? static_cast<const T*>(third) + g * target_ : nullptr,
                                  to + g * target_,
                                  false};
                    some_units(o, begin - set * count, stop - set * count, images);
                }
                begin = stop;
            }
        };
        if (pool == nullptr) {
            body(0, sets_ * count);
        } else {
            pool->parallel_for(sets_ * count, 1, body);
        }
    }

    std::size_t scratch_bytes() const noexcept override { return scratch_.bytes(); }

private:
    struct extent {
        std::int64_t height = 0;
        std::int64_t width = 0;
        std::int64_t channels = 0;

        std::int64_t row() const noexcept { return width * channels; }
        std::int64_t elements() const noexcept { return height * row(); }
    };

    void add_class(const axis_class& v, const axis_class& h) {
        row_class rows;
        rows.row_begin = p_.rows();
        for (std::int64_t b = 0; b < set_; ++b) {
            for (const auto& i : v.members) {
                for (const auto& j : h.members) {
                    p_.a_rows.push_back(b * from_.elements() + i.source * from_.row() +
                                        j.source * from_.channels);
                    p_.c_rows.push_back(b * to_.elements() + i.target * to_.row() + j.target * to_.channels);
                }
            }
        }
        rows.row_end = p_.rows();
        for (std::size_t p = 0; p < v.taps.size(); ++p) {
            for (std::size_t q = 0; q < h.taps.size(); ++q) {
                const std::int64_t a = v.distances[p] * from_.row() + h.distances[q] * from_.channels;
                const std::int64_t b = tap(v.taps[p], h.taps[q]) * source_;
                for (std::int64_t c = 0; c < source_; ++c) {
                    rows.terms.push_back(
                        {static_cast<std::int32_t>(a + c), static_cast<std::int32_t>(b + c)});
                }
            }
        }
        rows.passes = even_passes(static_cast<std::int64_t>(rows.terms.size()), pass_terms<T>);
        p_.classes.push_back(std::move(rows));
    }

    /// Which of the right matrix's taps: turned over for backward data, so that they come in the order of the
    /// sources.
    std::int64_t tap(std::int64_t p, std::int64_t q) const noexcept {
        return backward_ ? (d_.kernel_h - 1 - p) * d_.kernel_w + d_.kernel_w - 1 - q : p * d_.kernel_w + q;
    }

    void prepare(const T* w, T* scratch, thread_pool* pool) const {
        for (std::int64_t g = 0; g < d_.groups; ++g) {
            T* packed = scratch + g * (packed_ + turned_);
            const T* b = w + g * target_;
            if (backward_) {
                T* turned = packed + packed_;
                const T* group = w + g * source_;
                const auto taps = [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t t = begin; t < end; ++t) {
                        transpose(p_.isa, group + t * target_ * d_.out_channels, d_.out_channels,
                                  turned + tap(t / d_.kernel_w, t % d_.kernel_w) * source_ * target_, target_,
                                  source_, target_);
                    }
                };
                const std::int64_t count = d_.kernel_h * d_.kernel_w;
                if (pool == nullptr || count * source_ * target_ < 1 << 15) {
                    taps(0, count);
                } else {
                    pool->parallel_for(count, 1, taps);
                }
                b = turned;
            }
            pack(p_, part_, b, packed, 0, p_.panel_count());
        }
    }

    /// Units [begin, end) of one set, as far as it has images; units of one class that follow each other are
    /// one call.
    void some_units(const operands<T>& o, std::int64_t begin, std::int64_t end, std::int64_t images) const {
        while (begin < end) {
            row_range rows = units_[static_cast<std::size_t>(begin++)];
            while (begin < end && units_[static_cast<std::size_t>(begin)].of == rows.of) {
                rows.end = units_[static_cast<std::size_t>(begin++)].end;
            }
            const std::int64_t each = (rows.of->row_end - rows.of->row_begin) / set_;
            rows.end = std::min(rows.end, rows.of->row_begin + images * each);
            if (rows.begin < rows.end) multiply(p_, o, rows, 0, p_.panel_count());
        }
    }

    convolution_description d_;
    bool backward_;
    extent from_;
    extent to_;
    std::int64_t source_ = 0; // channels of a group
    std::int64_t target_ = 0;
    std::int64_t set_ = 1; // images taken together
    std::int64_t sets_ = 0;
    product<T> p_;
    std::vector<row_range> units_;
    packed_part part_;
    std::int64_t packed_ = 0;
    std::int64_t turned_ = 0;
    mutable scratch_memory scratch_;
};

TENON_INLINE std::unique_ptr<convolution_plan::implementation>
make_builtin_windows(convolution_product which, const convolution_description& d) {
    if (d.element == element_type::float32) return std::make_unique<builtin_windows<float>>(which, d);
    return std::make_unique<builtin_windows<double>>(which, d);
}

} // namespace tenon::dense::detail
