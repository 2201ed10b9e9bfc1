#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/graph/node.hpp>
#include <tenon/memory/paid_memory.hpp>
#include <tenon/op/kernel.hpp>
#include <tenon/ops/image/images_kernel.hpp>

/// The CPU kernels of ops/image/image_geometry.hpp. They move bytes.

namespace tenon::detail {

inline void copy_bytes(std::byte* to, const std::byte* from, std::int64_t n) {
    if (n > 0) std::memcpy(to, from, static_cast<std::size_t>(n));
}

struct flip_images_kernel final : kernel {
    explicit flip_images_kernel(const kernel_setup& s) :
        sizes(s.inputs[0].extents),
        pixel(sizes.channels * static_cast<std::int64_t>(size_of(s.inputs[0].element))),
        upside_down(decode<flip_images_op::attributes>(s.attrs).upside_down) {}
    void run(const kernel_run& r) override {
        if (!r.out[0] || sizes.elements() == 0) return;
        const bool* which = r.input<bool>(1);
        const std::int64_t row = sizes.width * pixel, image = sizes.height * row;
        for_images(r.pool, sizes.batch, ns_each(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t b = begin; b < end; ++b) {
                const std::byte* from = r.input<std::byte>(0) + b * image;
                std::byte* to = r.output<std::byte>(0) + b * image;
                if (!which[b]) copy_bytes(to, from, image);
                else if (upside_down)
                    for (std::int64_t y = 0; y < sizes.height; ++y)
                        copy_bytes(to + y * row, from + (sizes.height - 1 - y) * row, row);
                else with_size(pixel, [&](auto bytes) { mirror(to, from, bytes); });
            }
        });
    }
    double cost() const override { return 30 + ns_each() * static_cast<double>(sizes.batch); }

private:
    double ns_each() const { return 0.3 * static_cast<double>(sizes.height * sizes.width * pixel); }
    template <class Bytes> void mirror(std::byte* to, const std::byte* from, Bytes bytes) const {
        for (std::int64_t y = 0; y < sizes.height; ++y) {
            const std::byte* last = from + ((y + 1) * sizes.width - 1) * bytes;
            for (std::int64_t x = 0; x < sizes.width; ++x, to += bytes, last -= bytes)
                std::memcpy(to, last, static_cast<std::size_t>(bytes));
        }
    }
    image_sizes sizes;
    std::int64_t pixel;
    bool upside_down;
};

// Where each image is cut.
class crop_kernel : public kernel {
public:
    double cost() const override { return 30 + ns_each() * static_cast<double>(large.batch); }

protected:
    crop_kernel(const kernel_setup& s, const extents& from, const extents& to, const tensor_type& places) :
        large(from),
        small(to),
        bytes(static_cast<std::int64_t>(size_of(s.outputs[0].element))),
        fractions(places.element == element_type::float32),
        node(s.node.name) {}
    double ns_each() const { return 0.05 * static_cast<double>(bytes * small.image()) + 20; }
    /// The byte of image b at which what is cut out begins.
    std::int64_t begin(const void* places, std::int64_t b) const {
        const std::int64_t y = along(places, 2 * b, large.height - small.height);
        const std::int64_t x = along(places, 2 * b + 1, large.width - small.width);
        return (y * large.row() + x * large.channels) * bytes;
    }
    image_sizes large, small;
    std::int64_t bytes;

private:
    std::int64_t along(const void* places, std::int64_t i, std::int64_t most) const {
        if (fractions) {
            const float part = static_cast<const float*>(places)[i];
            if (part >= 0 && part < 1) return static_cast<std::int64_t>(part * static_cast<double>(most + 1));
            outside(i, detail::text_of_number(part), "a part of the places in [0, 1)");
        }
        const std::int64_t place = static_cast<const std::int32_t*>(places)[i];
        if (place < 0 || place > most) outside(i, std::to_string(place), "0 .. " + std::to_string(most));
        return place;
    }
    [[noreturn]] void outside(std::int64_t i, const std::string& place, const std::string& allowed) const {
        throw invalid_argument_error("crop_at (" + node + "): image " + std::to_string(i / 2) + " is cut from " +
                                     (i % 2 == 0 ? "row " : "column ") + place + " on, which must be " + allowed);
    }
    bool fractions;
    std::string node;
};

struct crop_images_kernel final : crop_kernel {
    explicit crop_images_kernel(const kernel_setup& s) :
        crop_kernel(s, s.inputs[0].extents, s.outputs[0].extents, s.inputs[1]) {}
    void run(const kernel_run& r) override {
        if (!r.out[0]) return;
        for_images(r.pool, large.batch, ns_each(), [&](std::int64_t first, std::int64_t end) {
            for (std::int64_t b = first; b < end; ++b) {
                const std::int64_t at = begin(r.in[1], b);
                const std::byte* from = r.input<std::byte>(0) + b * large.image() * bytes + at;
                std::byte* to = r.output<std::byte>(0) + b * small.image() * bytes;
                for (std::int64_t y = 0; y < small.height; ++y)
                    copy_bytes(to + y * small.row() * bytes, from + y * large.row() * bytes, small.row() * bytes);
            }
        });
    }
};

struct crop_images_gradient_kernel final : crop_kernel {
    explicit crop_images_gradient_kernel(const kernel_setup& s) :
        crop_kernel(s, s.outputs[0].extents, s.inputs[0].extents, s.inputs[2]) {}
    void run(const kernel_run& r) override {
        if (!r.out[0] || large.elements() == 0) return;
        for_images(r.pool, large.batch, ns_each(), [&](std::int64_t first, std::int64_t end) {
            for (std::int64_t b = first; b < end; ++b) {
                std::byte* to = r.output<std::byte>(0) + b * large.image() * bytes;
                std::memset(to, 0, static_cast<std::size_t>(large.image() * bytes));
                to += begin(r.in[2], b);
                const std::byte* from = r.input<std::byte>(0) + b * small.image() * bytes;
                for (std::int64_t y = 0; y < small.height; ++y)
                    copy_bytes(to + y * large.row() * bytes, from + y * small.row() * bytes, small.row() * bytes);
            }
        });
    }
};

struct fit_images_kernel final : kernel {
    fit_images_kernel(const kernel_setup& s, const number& value) :
        from(s.inputs[0].extents),
        to(s.outputs[0].extents),
        bytes(static_cast<std::int64_t>(size_of(s.outputs[0].element))),
        rows(from.height, to.height),
        columns(from.width, to.width),
        border(s.memory) {
        if (to.elements() == 0) return;
        with_element(s.outputs[0].element, [&]<class T>(const T&) {
            if constexpr (!std::is_same_v<T, std::string>) {
                const T v = value.to<T>();
                border.resize(static_cast<std::size_t>(to.row()) * sizeof(T));
                for (std::size_t i = 0; i < border.size(); i += sizeof(T)) std::memcpy(&border[i], &v, sizeof(T));
            }
        });
    }
    void run(const kernel_run& r) override {
        if (!r.out[0] || to.elements() == 0) return;
        const std::int64_t pixel = to.channels * bytes, row = to.row() * bytes;
        for_images(r.pool, to.batch, ns_each(), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t b = begin; b < end; ++b) {
                for (std::int64_t y = 0; y < to.height; ++y) {
                    std::byte* line = r.output<std::byte>(0) + (b * to.height + y) * row;
                    const std::int64_t inside = y - rows.before;
                    if (inside < 0 || inside >= rows.common) {
                        copy_bytes(line, border.data(), row);
                        continue;
                    }
                    const std::int64_t before = columns.before * pixel, middle = columns.common * pixel;
                    const std::byte* source =
                        r.input<std::byte>(0) +
                        (((b * from.height) + inside + rows.skipped) * from.width + columns.skipped) * pixel;
                    copy_bytes(line, border.data(), before);
                    copy_bytes(line + before, source, middle);
                    copy_bytes(line + before + middle, border.data(), row - before - middle);
                }
            }
        });
    }
    double cost() const override { return 30 + ns_each() * static_cast<double>(to.batch); }

private:
    // Along one dimension: elements put before, those of the input that are left out, those that are kept.
    struct overlap {
        overlap(std::int64_t from, std::int64_t to) :
            before(to > from ? (to - from) / 2 : 0),
            skipped(from > to ? (from - to) / 2 : 0),
            common(std::min(from, to)) {}
        std::int64_t before, skipped, common;
    };
    double ns_each() const { return 0.05 * static_cast<double>(bytes * to.image()) + 20; }
    image_sizes from, to;
    std::int64_t bytes;
    overlap rows, columns;
    paid_vector<std::byte> border; // a row of the value
};

} // namespace tenon::detail
