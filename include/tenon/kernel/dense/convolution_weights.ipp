#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include <tenon/kernel/dense/convolution_implementation.hpp>
#include <tenon/kernel/dense/product.hpp>
#include <tenon/kernel/dense/scratch.hpp>
#include <tenon/kernel/thread_pool.hpp>

// Backward weights: dw = [taps * in channels, pixels] * [pixels, out channels], summed over the images. Each
// tap's rows take only the pixels whose source lies inside the image. Where an image has few channels that
// would leave tiles almost empty: then all taps' rows are one class, over a copy of the image with a border
// of zeros.
//
// Images are taken in sets that stay in the cache. Where dw has many rows they are divided among threads;
// otherwise the images are, each share with a sum of its own.

namespace tenon::dense::detail {

template <class T> class builtin_weights final : public convolution_plan::implementation {
public:
    explicit builtin_weights(const convolution_description& d) :
        convolution_plan::implementation(backend::builtin),
        d_(d),
        in_(d.in_channels / d.groups),
        out_(d.out_channels / d.groups),
        weights_(d.kernel_h * d.kernel_w * in_ * d.out_channels),
        pixels_(d.out_height() * d.out_width()) {
        const bool pads = d.pad_top + d.pad_bottom + d.pad_left + d.pad_right > 0;
        border_ = in_ < 8;
        copies_ = border_ && pads;
        top_ = border_ ? d.pad_top : 0;
        left_ = border_ ? d.pad_left : 0;
        height_ = d.height + (border_ ? d.pad_top + d.pad_bottom : 0);
        width_ = d.width + (border_ ? d.pad_left + d.pad_right : 0);

        const int threads = std::max(1, d.threads);
        const bool many_rows = d.kernel_h * d.kernel_w * in_ >= 64 * threads;
        shares_ = many_rows ? 1 : std::max<std::int64_t>(1, std::min<std::int64_t>(threads, d.batch));
        const std::int64_t bytes = (height_ * width_ * d.in_channels + pixels_ * d.out_channels) *
                                   static_cast<std::int64_t>(sizeof(T));
        const std::int64_t fits = 256 * 1024 / bytes;
        const std::int64_t long_enough = 1024 / pixels_; // dw is read and written once a set
        const std::int64_t most = std::clamp<std::int64_t>(std::max(fits, long_enough), 1,
                                                           std::max<std::int64_t>(1, d.batch / shares_));
        set_ = most; // images that are left over are taken singly: better none
        for (std::int64_t s = most; s > most / 2; --s) {
            if (d.batch / shares_ % s < d.batch / shares_ % set_) set_ = s;
        }
        fill(whole_, set_);
        fill(single_, 1);

        const std::int64_t copied = copies_ ? set_ * height_ * width_ * d.in_channels : 0;
        packed_ =
            std::max(packed_elements(whole_, part_of(whole_)), packed_elements(single_, part_of(single_)));
        packed_ = (packed_ + 15) / 16 * 16;
        images_.resize(static_cast<std::size_t>(copied + packed_) * sizeof(T), shares_);
        sums_.resize(
            static_cast<std::size_t>((shares_ - 1) * weights_ + threads * d.out_channels) * sizeof(T), 1);
    }

    void run(const void* first, const void* second, void* third, void* result,
             thread_pool* pool) const override {
        const auto* x = static_cast<const T*>(first);
        const auto* dy = static_cast<const T*>(second);
        auto* dw = static_cast<T*>(result);
        if (pool != nullptr && (pool->size() == 1 || d_.threads == 1)) pool = nullptr;
        const auto lease = sums_.borrow();
        T* sums = static_cast<T*>(lease.memory());

        const auto share = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t s = begin; s < end; ++s) {
                T* to = s == 0 ? dw : sums + (s - 1) * weights_;
                some_images(x, dy, to, d_.batch * s / shares_, d_.batch * (s + 1) / shares_,
                            shares_ == 1 ? pool : nullptr);
            }
        };
        if (pool == nullptr || shares_ == 1) {
            share(0, shares_);
        } else {
            pool->parallel_for(shares_, 1, share);
        }
        for (std::int64_t s = 1; s < shares_; ++s) {
            const T* sum = sums + (s - 1) * weights_;
            for (std::int64_t i = 0; i < weights_; ++i) dw[i] += sum[i];
        }
        if (third != nullptr) sum_bias(dy, static_cast<T*>(third), sums + (shares_ - 1) * weights_, pool);
    }

    std::size_t scratch_bytes() const noexcept override { return images_.bytes() + sums_.bytes(); }

private:
    /// The tables for sets of `count` images.
    void fill(product<T>& p, std::int64_t count) const {
        for (std::int64_t u = 0; u < d_.kernel_h; ++u) {
            for (std::int64_t v = 0; v < d_.kernel_w; ++v) {
                const auto begin = p.rows();
                for (std::int64_t c = 0; c < in_; ++c) {
                    p.a_rows.push_back(
                        (u * d_.dilation_h - (border_ ? 0 : d_.pad_top)) * width_ * d_.in_channels +
                        (v * d_.dilation_w - (border_ ? 0 : d_.pad_left)) * d_.in_channels + c);
                    p.c_rows.push_back(((u * d_.kernel_w + v) * in_ + c) * d_.out_channels);
                }
                if (border_) continue;
                const auto down =
                    inside(d_.out_height(), d_.stride_h, u * d_.dilation_h - d_.pad_top, d_.height);
                const auto across =
                    inside(d_.out_width(), d_.stride_w, v * d_.dilation_w - d_.pad_left, d_.width);
                add_class(p, begin, count, down, across);
            }
        }
        if (border_) {
            add_class(p, 0, count, {0, d_.out_height()}, {0, d_.out_width()});
        }
        p.n = out_;
        p.k = count * pixels_;
        p.b_row = d_.out_channels;
        plan(p);
    }

    struct range {
        std::int64_t begin;
        std::int64_t end;
    };
    /// The i in [0, out) with 0 <= i * stride + shift < size.
    static range inside(std::int64_t out, std::int64_t stride, std::int64_t shift, std::int64_t size) {
        range r{0, out};
        while (r.begin < r.end && r.begin * stride + shift < 0) ++r.begin;
        while (r.begin < r.end && (r.end - 1) * stride + shift >= size) --r.end;
        return r;
    }

    /// The terms of a tap's rows: the output pixels `down` x `across` of `count` images. A table of one
    /// pass's terms does for all: a pass is some images, or some rows of one.
    void add_class(product<T>& p, std::int64_t row_begin, std::int64_t count, range down,
                   range across) const {
        row_class rows{row_begin, p.rows(), {}, {}};
        const std::int64_t height = down.end - down.begin;
        const std::int64_t width = across.end - across.begin;
        const std::int64_t image = height_ * width_ * d_.in_channels;
        const std::int64_t a_row = d_.stride_h * width_ * d_.in_channels;
        const auto place = [&](std::int64_t b, std::int64_t i) {
            return product_pass{b * image + (down.begin + i) * a_row +
                                    across.begin * d_.stride_w * d_.in_channels,
                                b * pixels_ + (down.begin + i) * d_.out_width() + across.begin, 0, 0};
        };
        const auto terms_of = [&](std::int64_t images, std::int64_t lines) {
            const auto origin = place(0, 0);
            for (std::int64_t b = 0; b < images; ++b) {
                for (std::int64_t i = 0; i < lines; ++i) {
                    const auto line = place(b, i);
                    for (std::int64_t j = 0; j < width; ++j) {
                        const std::int64_t a = line.a - origin.a + j * d_.stride_w * d_.in_channels;
                        rows.terms.push_back(
                            {static_cast<std::int32_t>(a), static_cast<std::int32_t>(line.b - origin.b + j)});
                    }
                }
            }
        };
        const std::int64_t pixels = height * width;
        if (pixels == 0) {
            rows.passes.push_back({});
        } else if (pixels <= pass_terms<T>) {
            const std::int64_t images = even_part(count, pass_terms<T> / pixels);
            terms_of(images, height);
            for (std::int64_t b = 0; b < count; b += images) {
                rows.passes.push_back(place(b, 0));
                rows.passes.back().count = std::min(images, count - b) * pixels;
            }
        } else {
            const std::int64_t lines = even_part(height, std::max<std::int64_t>(1, pass_terms<T> / width));
            terms_of(1, lines);
            for (std::int64_t b = 0; b < count; ++b) {
                for (std::int64_t i = 0; i < height; i += lines) {
                    rows.passes.push_back(place(b, i));
                    rows.passes.back().count = std::min(lines, height - i) * width;
                }
            }
        }
        p.classes.push_back(std::move(rows));
    }

    /// The size of the parts, at most `most`, when n is cut as evenly as can be.
    static std::int64_t even_part(std::int64_t n, std::int64_t most) {
        const std::int64_t parts = (n + most - 1) / most;
        return (n + parts - 1) / parts;
    }

    static packed_part part_of(const product<T>& p) { return {0, p.k, 0, p.panel_count()}; }

    /// Borders were zero from the start and stay so.
    void copy(const T* from, T* to, std::int64_t count) const {
        const std::int64_t row = d_.width * d_.in_channels;
        for (std::int64_t b = 0; b < count; ++b) {
            for (std::int64_t i = 0; i < d_.height; ++i) {
                std::memcpy(to + ((b * height_ + top_ + i) * width_ + left_) * d_.in_channels,
                            from + (b * d_.height + i) * row, static_cast<std::size_t>(row) * sizeof(T));
            }
        }
    }

    void some_images(const T* x, const T* dy, T* dw, std::int64_t begin, std::int64_t end,
                     thread_pool* pool) const {
        if (begin == end) {
            std::fill(dw, dw + weights_, T(0));
            return;
        }
        const auto lease = images_.borrow();
        T* packed = static_cast<T*>(lease.memory());
        for (std::int64_t b = begin; b < end;) {
            const std::int64_t count = b + set_ <= end ? set_ : 1;
            const product<T>& p = count == set_ ? whole_ : single_;
            const T* images = x + b * d_.height * d_.width * d_.in_channels;
            if (copies_) {
                copy(images, packed + packed_, count);
                images = packed + packed_;
            }
            for (std::int64_t g = 0; g < d_.groups; ++g) {
                const T* from = dy + b * pixels_ * d_.out_channels + g * out_;
                pack(p, part_of(p), from, packed, 0, p.panel_count());
                const operands<T> o{images + g * in_, from,          packed,    part_of(p),
                                    nullptr,          dw + g * out_, b != begin};
                const auto body = [&](std::int64_t first, std::int64_t last) {
                    some_rows(p, o, first * 8, std::min(p.rows(), last * 8));
                };
                if (pool == nullptr) {
                    body(0, (p.rows() + 7) / 8);
                } else {
                    pool->parallel_for((p.rows() + 7) / 8, 1, body);
                }
            }
            b += count;
        }
    }

    static void some_rows(const product<T>& p, const operands<T>& o, std::int64_t begin, std::int64_t end) {
        for (const auto& rows : p.classes) {
            const row_range r{&rows, std::max(begin, rows.row_begin), std::min(end, rows.row_end), 0,
                              rows.pass_count()};
            if (r.begin < r.end) multiply(p, o, r, 0, p.panel_count());
        }
    }

    void sum_bias(const T* dy, T* dbias, T* sums, thread_pool* pool) const {
        const std::int64_t rows = d_.batch * pixels_;
        const std::int64_t shares = std::max(1, d_.threads);
        const auto share = [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t s = begin; s < end; ++s) {
                const std::int64_t from = rows * s / shares;
                add_rows(whole_.isa, dy + from * d_.out_channels, rows * (s + 1) / shares - from,
                         d_.out_channels, sums + s * d_.out_channels);
            }
        };
        if (pool == nullptr) {
            share(0, shares);
        } else {
            pool->parallel_for(shares, 1, share);
        }
        add_rows(whole_.isa, sums, shares, d_.out_channels, dbias);
    }

    convolution_description d_;
    std::int64_t in_; // channels of a group
    std::int64_t out_;
    std::int64_t weights_; // elements of dw
    std::int64_t pixels_;  // of one output image
    bool border_ = false;
    bool copies_ = false;
    std::int64_t top_ = 0;
    std::int64_t left_ = 0;
    std::int64_t height_ = 0; // of an image, with its border if it has one
    std::int64_t width_ = 0;
    std::int64_t shares_ = 1;
    std::int64_t set_ = 1;
    product<T> whole_;
    product<T> single_;
    std::int64_t packed_ = 0;
    mutable scratch_memory images_;
    mutable scratch_memory sums_;
};

TENON_INLINE std::unique_ptr<convolution_plan::implementation>
make_builtin_weights(const convolution_description& d) {
    if (d.element == element_type::float32) return std::make_unique<builtin_weights<float>>(d);
    return std::make_unique<builtin_weights<double>>(d);
}

} // namespace tenon::dense::detail
