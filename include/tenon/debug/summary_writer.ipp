#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <mutex>

#include <tenon/core/array/print.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/debug/event_file.hpp>
#include <tenon/debug/event_messages.hpp>
#include <tenon/debug/summary_writer.hpp>
#include <tenon/io/files/file_system.hpp>
#include <tenon/io/files/image_library.hpp>
#if TENON_HEADER_ONLY // nothing is linked, and they are there
#include <tenon/io/image/image.hpp>
#endif

namespace tenon {

namespace detail {

inline double seconds_since_1970() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// As PNG files have them. `pixels` are floating.
inline any_array in_bytes(const any_array& pixels) {
    any_array bytes(element_type::uint8, pixels.extents());
    with_element(pixels.element(), [&]<class T>(const T&) {
        if constexpr (is_floating(element_type_of<T>)) {
            const T* const from = static_cast<const T*>(pixels.data());
            for (std::int64_t i = 0; i < pixels.elements(); ++i) {
                const auto v = static_cast<double>(from[i]);
                bytes.data<std::uint8_t>()[i] =
                    static_cast<std::uint8_t>(std::lround(v > 0 ? 255 * std::min(v, 1.0) : 0.0)); // no number is black
            }
        }
    });
    return bytes;
}

} // namespace detail

struct summary_writer::state {
    state(const std::string& folder, const summary_writer_options& o) :
        options(o), file(folder, static_cast<std::int64_t>(detail::seconds_since_1970())) {}

    // What an event says, in this field.
    void add(std::int64_t step, std::uint32_t field, std::string_view what) {
        const double now = detail::seconds_since_1970();
        const std::lock_guard lock(guard);
        file.add(detail::event_at(now, step).bytes(field, what).str());
        constexpr std::size_t enough = std::size_t{1} << 20;
        if (now - flushed_at < options.flush_seconds && now >= flushed_at && file.waiting_bytes() < enough) return;
        flushed_at = now;
        file.flush();
    }
    void add_summary(std::int64_t step, const detail::wire_message& m) { add(step, 5, m.str()); }

    const summary_writer_options options;
    std::mutex guard; // of what follows
    detail::event_file file;
    double flushed_at = detail::seconds_since_1970();
};

TENON_INLINE summary_writer::summary_writer(const std::string& folder, const summary_writer_options& o) {
    if (!(o.flush_seconds >= 0))
        throw invalid_argument_error("summary_writer: flush_seconds is " + detail::text_of_number(o.flush_seconds) +
                                     "; give it 0 or more");
    if (has_scheme(folder))
        throw unimplemented_error("summary_writer: '" + folder +
                                  "': event files grow, which only files of this machine do; give it a folder here");
    state_ = std::make_unique<state>(folder, o);
    state_->file.add(detail::event_at(detail::seconds_since_1970(), 0).text(3, "brain.Event:2").str());
    state_->file.flush(); // so that it is known for what it is from its beginning
}

TENON_INLINE summary_writer::~summary_writer() {
    try {
        flush();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
    }
}

TENON_INLINE const std::string& summary_writer::path() const noexcept { return state_->file.path(); }

TENON_INLINE void summary_writer::scalar(std::string_view tag, double value, std::int64_t step) {
    state_->add_summary(step, detail::scalar_summary(tag, static_cast<float>(value)));
}

TENON_INLINE void summary_writer::histogram(std::string_view tag, const any_array& values, std::int64_t step) {
    if (values.element() == element_type::string || values.element() == element_type::none)
        throw invalid_argument_error("summary_writer: a histogram of " + std::string(tag) + ", which is " +
                                     to_string(values.type()) + "; give it numbers");
    state_->add_summary(step, detail::histogram_summary(tag, values));
}

TENON_INLINE void summary_writer::image(std::string_view tag, const any_array& pixels, std::int64_t step) {
    const bool several = pixels.rank() == 4;
    const tensor_type t = pixels.type();
    const std::int64_t channels = t.extents.rank() < 3 ? 0 : t.extents[t.extents.rank() - 1].size;
    if ((!several && t.extents.rank() != 3) || (channels != 1 && channels != 3 && channels != 4) ||
        !(t.element == element_type::uint8 || is_floating(t.element)))
        throw invalid_argument_error("summary_writer: an image of " + std::string(tag) + ", which is " + to_string(t) +
                                     "; give it [height, width, channels], or several of these, with 1, 3 or 4 " +
                                     "channels, of uint8 or floating numbers from 0 to 1");
    const any_array bytes = t.element == element_type::uint8 ? pixels.share() : detail::in_bytes(pixels);
    const std::int64_t number = several ? t.extents[0].size : 1, height = t.extents[several].size,
                       width = t.extents[several + 1].size;
    const std::int64_t size = height * width * channels;
    const detail::image_library& images = detail::require_image_library("summary_writer");
    for (std::int64_t i = 0; i < number; ++i) {
        any_array one(element_type::uint8, extents{height, width, channels});
        std::copy_n(bytes.data<std::uint8_t>() + i * size, size, one.data<std::uint8_t>());
        const std::string name = std::string(tag) + (several ? "/" + std::to_string(i) : "");
        const auto png = detail::said_by("summary_writer: the image " + name, [&] { return images.encode_png(one); });
        state_->add_summary(step, detail::image_summary(name, height, width, channels, png));
    }
}

TENON_INLINE void summary_writer::text(std::string_view tag, std::string_view value, std::int64_t step) {
    state_->add_summary(step, detail::text_summary(tag, value));
}

TENON_INLINE void summary_writer::graph(const tenon::graph& g) { state_->add(0, 4, detail::graph_message(g)); }

TENON_INLINE void summary_writer::restarted(std::int64_t step) {
    state_->add(step, 7, detail::wire_message().number(1, 1).str()); // SessionLog, of a start
}

TENON_INLINE void summary_writer::flush() {
    const std::lock_guard lock(state_->guard);
    state_->flushed_at = detail::seconds_since_1970();
    state_->file.flush();
}

} // namespace tenon
