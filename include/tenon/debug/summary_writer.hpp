#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <tenon/core/array/array.hpp>
#include <tenon/graph/graph.hpp>

/// What TensorBoard shows (tensorboard --logdir FOLDER), in files of a folder:
///
///     tn::summary_writer log("run/logs");
///     log.scalar("loss", loss.item(), step);
///     log.histogram("layer_1/w", weights, step);
///     log.image("input", pixels, step);
///     log.text("notes", "a **wide** layer", step);
///     log.graph(tn::graph::current());
///
/// Or by the steps of a monitored session: debug/summary_hook.hpp. Needs no TensorFlow.

namespace tenon {

struct summary_writer_options {
    /// What was given is in the file so many seconds later, when more is given; or by flush(), or at the end.
    double flush_seconds = 10;
};

/// Writes to a new file of the folder, which is made where it is not there: any number of writers, of any processes and machines, may
/// write to one folder. Each takes what others show for its own run's, so a run has a folder, and runs that are compared lie side by
/// side in one. Thread-safe. A value has a tag, "group/name", and a step; values of several tags may be given in any order, those of one
/// in the order of their steps. Errors are those of files (resource_exhausted_error where the disk is full), name the file, and leave it
/// readable; what was to be written is lost then, and the writer goes on.
class summary_writer {
public:
    explicit summary_writer(const std::string& folder, const summary_writer_options& o = {});
    summary_writer(summary_writer&&) = delete;
    /// Flushes; what goes wrong then is said on standard error.
    ~summary_writer();

    /// Its file, "run/logs/events.out.tfevents.1700000000.host7.12".
    const std::string& path() const noexcept;

    /// Kept as a float, as everything is that TensorBoard draws; infinite and no number, too.
    void scalar(std::string_view tag, double value, std::int64_t step);
    /// How the elements of an array of any sizes are distributed: numbers, or bools. What is not finite is left out.
    void histogram(std::string_view tag, const any_array& values, std::int64_t step);
    template <Element T, class S> void histogram(std::string_view tag, const array<T, S>& values, std::int64_t step) {
        histogram(tag, values.untyped(), step);
    }
    /// An image [height, width, channels] of 1, 3 or 4 channels, or several, [number, height, width, channels], with tags "tag/0",
    /// "tag/1", ..: uint8, or floating from 0 to 1. unimplemented_error in a build without libpng.
    void image(std::string_view tag, const any_array& pixels, std::int64_t step);
    template <Element T, class S> void image(std::string_view tag, const array<T, S>& pixels, std::int64_t step) {
        image(tag, pixels.untyped(), step);
    }
    /// Shown as Markdown.
    void text(std::string_view tag, std::string_view value, std::int64_t step);
    /// The nodes, as they are connected, with op, device and sizes, in boxes by the parts of their names.
    void graph(const tenon::graph& g);
    /// The steps from this one on are taken again, as after a restart from a checkpoint: what was given of them is not shown any more.
    void restarted(std::int64_t step);

    void flush();

private:
    struct state;
    std::unique_ptr<state> state_;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/debug/summary_writer.ipp>
#endif
