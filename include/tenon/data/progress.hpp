#pragma once

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/config.hpp>

/// How far a loop is: on a terminal one line that is redrawn, elsewhere (a file, a log) a plain line now and
/// then.
///
///     progress_bar progress(steps, "training", {.samples_per_step = 128});
///     for (...) progress.advance(1, {{"loss", loss}});
///
///     training  43% [#####.......]  430/1000  1234 steps/s  158k samples/s  loss 0.3121  0:12, 0:16 left

namespace tenon {

/// Where progress is shown, and the time.
class progress_console {
public:
    virtual ~progress_console() = default;
    virtual void write(const std::string& text) = 0;
    /// True where a line can be drawn again, with carriage return and the ANSI sequence that clears to its
    /// end.
    virtual bool is_terminal() const = 0;
    /// Columns in a line of a terminal.
    virtual int width() const = 0;
    /// Seconds since any fixed moment.
    virtual double seconds() const = 0;
};

/// A console over a C file: a terminal where isatty says so and TERM is not "dumb". Its width is the
/// terminal's, else that in the environment variable COLUMNS, else 80.
class file_console : public progress_console {
public:
    explicit file_console(std::FILE* file);
    void write(const std::string& text) override;
    bool is_terminal() const override { return is_terminal_; }
    int width() const override;
    double seconds() const override;

private:
    std::FILE* file_;
    bool is_terminal_;
};

struct progress_options {
    std::int64_t samples_per_step = 0;   ///< when positive, samples per second are shown too
    progress_console* console = nullptr; ///< null: standard error; else it outlives the bar
};

/// Shows steps done, steps (and samples) per second, named values, time gone and time left. On a terminal it
/// draws at most ten times a second, elsewhere it writes a line at each tenth of the total (without a total,
/// at most each 30 seconds); at the end, in both, a line with the average rate. For one thread at a time.
class progress_bar {
public:
    using values = std::initializer_list<std::pair<const char*, double>>;

    /// `total` steps; 0 where that is not known.
    explicit progress_bar(std::int64_t total, std::string label = "", const progress_options& options = {});
    progress_bar(progress_bar&&) = delete;
    /// As finish().
    ~progress_bar();

    /// `steps` more are done. Values stay until they are given again.
    void advance(std::int64_t steps = 1, values shown = {});
    /// Writes the last line; nothing is shown after it.
    void finish();

    std::int64_t done() const noexcept { return done_; }

private:
    void draw(double now);
    void write_line(double now, double since, std::int64_t steps_before);
    std::vector<std::string> facts(double rate, double now) const;
    std::string count() const;
    double part() const; // of the total, 0 .. 1

    file_console standard_error_;
    progress_console* console_;
    std::string label_;
    std::int64_t total_, samples_per_step_;
    std::int64_t done_ = 0;
    std::vector<std::pair<std::string, double>> values_;
    double start_;
    double last_;                // when something was shown
    std::int64_t last_done_ = 0; // how many steps were done then
    double rate_ = 0;            // recent steps per second
    std::int64_t next_line_ = 0; // steps at which a plain line is due
    bool is_terminal_;
    bool is_finished_ = false;
};

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/data/progress.ipp>
#endif
