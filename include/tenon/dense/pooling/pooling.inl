// Read once per instruction set (see simd/for_each_isa.hpp): pooling of some rows of windows, channels side
// by side in a register.

namespace tenon::simd::TENON_SIMD_NS {

/// What a window sees along a dimension, which its last pixel is not before: `count` pixels from `first` on, `step` apart.
struct pooling_side {
    std::int64_t first, step, count;

    TENON_SIMD_INLINE pooling_side(std::int64_t at, std::int64_t window, std::int64_t dilation, std::int64_t size) :
        first(at), step(dilation), count(window) {
        if (at < 0) {
            const std::int64_t outside = (dilation - 1 - at) / dilation;
            first += outside * dilation;
            count -= outside;
        }
        if (at + (window - 1) * dilation >= size) count = first < size ? (size - 1 - first) / dilation + 1 : 0;
    }
    TENON_SIMD_INLINE std::int64_t at(std::int64_t k) const { return first + k * step; }
};

/// One window of a pooling, cut to the image.
struct pooling_window {
    pooling_side rows, columns;

    TENON_SIMD_INLINE pooling_window(const dense::pooling_description& d, std::int64_t i, std::int64_t j) :
        rows(i * d.stride_h - d.pad_top, d.window_h, d.dilation_h, d.height),
        columns(j * d.stride_w - d.pad_left, d.window_w, d.dilation_w, d.width) {}
    template <class T> TENON_SIMD_INLINE T share() const { return T(1) / static_cast<T>(rows.count * columns.count); }
};

template <class T> TENON_SIMD_INLINE pack<T> load_channels(const T* from, int count) {
    return count == lanes ? load(from) : load_partial(from, count);
}
template <class T> TENON_SIMD_INLINE void store_channels(T* to, pack<T> a, int count) {
    if (count == lanes) store(to, a);
    else store_partial(to, a, count);
}

/// Output rows begin .. end, counted through all images.
template <class T, bool Maximum>
void pool_rows(const dense::pooling_description& d, const T* x, T* y, std::int64_t begin, std::int64_t end) {
    const std::int64_t row = d.width * d.channels, next = d.dilation_w * d.channels;
    const std::int64_t out_height = d.out_height();
    const std::int64_t out_width = d.out_width();
    for (std::int64_t r = begin; r < end; ++r) {
        const T* image = x + r / out_height * d.height * row;
        for (std::int64_t j = 0; j < out_width; ++j) {
            const pooling_window w(d, r % out_height, j);
            T* to = y + (r * out_width + j) * d.channels;
            for (std::int64_t c = 0; c < d.channels; c += lanes) {
                const int count = d.channels - c < lanes ? static_cast<int>(d.channels - c) : lanes;
                pack<T> result = broadcast<T>(Maximum ? -std::numeric_limits<T>::infinity() : T(0));
                for (std::int64_t u = 0; u < w.rows.count; ++u) {
                    const T* from = image + w.rows.at(u) * row + w.columns.first * d.channels + c;
                    for (std::int64_t v = 0; v < w.columns.count; ++v, from += next) {
                        const pack<T> value = load_channels(from, count);
                        if constexpr (Maximum) result = select((value > result) | is_nan(value), value, result);
                        else result = result + value;
                    }
                }
                if constexpr (!Maximum) result = result * broadcast<T>(w.share<T>());
                store_channels(to + c, result, count);
            }
        }
    }
}

/// For output rows begin .. end, h where the first element of the window that equals y (or is NaN) lies.
template <class T>
void pick_rows(const dense::pooling_description& d, const T* x, const T* y, const T* h, T* out, std::int64_t begin,
               std::int64_t end) {
    const std::int64_t row = d.width * d.channels;
    const std::int64_t out_height = d.out_height();
    const std::int64_t out_width = d.out_width();
    for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t image = r / out_height * d.height * row;
        for (std::int64_t j = 0; j < out_width; ++j) {
            const pooling_window w(d, r % out_height, j);
            const std::int64_t to = (r * out_width + j) * d.channels;
            for (std::int64_t c = 0; c < d.channels; c += lanes) {
                const int count = d.channels - c < lanes ? static_cast<int>(d.channels - c) : lanes;
                const pack<T> largest = load_channels(y + to + c, count);
                pack<T> result = broadcast<T>(T(0));
                // From the last to the first: of several the first one stays.
                for (std::int64_t u = w.rows.count; u-- > 0;)
                    for (std::int64_t v = w.columns.count; v-- > 0;) {
                        const std::int64_t at = image + w.rows.at(u) * row + w.columns.at(v) * d.channels + c;
                        const pack<T> element = load_channels(x + at, count);
                        const pack<bool> hit = (element == largest) | is_nan(element);
                        result = select(hit, load_channels(h + at, count), result);
                    }
                store_channels(out + to + c, result, count);
            }
        }
    }
}

/// What output rows begin .. end add to dx. `Add` where windows overlap: then dx holds zeros or earlier rows'
/// shares. Otherwise the rows of dx from one window's top to the next one's are written.
template <class T, bool Maximum, bool Add>
void unpool_rows(const dense::pooling_description& d, const T* x, const T* y, const T* dy, T* dx, std::int64_t begin,
                 std::int64_t end) {
    const std::int64_t row = d.width * d.channels, next = d.dilation_w * d.channels;
    const std::int64_t out_height = d.out_height();
    const std::int64_t out_width = d.out_width();
    const bool gaps = d.dilation_h != 1 || d.dilation_w != 1 || d.stride_h != d.window_h || d.stride_w != d.window_w ||
                      d.pad_left != 0 || d.pad_top != 0 || d.height != out_height * d.window_h ||
                      d.width != out_width * d.window_w;
    for (std::int64_t r = begin; r < end; ++r) {
        const std::int64_t i = r % out_height;
        const std::int64_t image = r / out_height * d.height * row;
        if constexpr (!Add) {
            if (gaps) {
                const std::int64_t from = i == 0 ? 0 : i * d.stride_h - d.pad_top;
                const std::int64_t to = i + 1 == out_height ? d.height : (i + 1) * d.stride_h - d.pad_top;
                for (std::int64_t q = from * row; q < to * row; ++q) dx[image + q] = T(0);
            }
        }
        for (std::int64_t j = 0; j < out_width; ++j) {
            const pooling_window w(d, i, j);
            const std::int64_t out = (r * out_width + j) * d.channels;
            for (std::int64_t c = 0; c < d.channels; c += lanes) {
                const int count = d.channels - c < lanes ? static_cast<int>(d.channels - c) : lanes;
                const pack<T> zero = broadcast<T>(T(0));
                pack<T> share = load_channels(dy + out + c, count);
                pack<T> largest = zero;
                if constexpr (Maximum) largest = load_channels(y + out + c, count);
                else share = share * broadcast<T>(w.share<T>());
                for (std::int64_t u = 0; u < w.rows.count; ++u) {
                    std::int64_t at = image + w.rows.at(u) * row + w.columns.first * d.channels + c;
                    for (std::int64_t v = 0; v < w.columns.count; ++v, at += next) {
                        pack<T> value = share;
                        if constexpr (Maximum) {
                            const pack<T> element = load_channels(x + at, count);
                            const pack<bool> hit = (element == largest) | is_nan(element);
                            value = select(hit, share, zero);
                            share = select(hit, zero, share); // given away: the first one has it
                        }
                        if constexpr (Add) value = value + load_channels(static_cast<const T*>(dx + at), count);
                        store_channels(dx + at, value, count);
                    }
                }
            }
        }
    }
}

} // namespace tenon::simd::TENON_SIMD_NS
