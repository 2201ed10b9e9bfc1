#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <sys/ioctl.h>
#include <unistd.h>

#include <tenon/core/text/columns.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/data/progress.hpp>

namespace tenon {

namespace detail {

inline std::string printed(const char* format, double value) {
    char text[64];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

inline std::string rate_text(double rate) {
    if (!std::isfinite(rate)) return "?";
    if (rate >= 1e6) return printed("%.3gM", rate / 1e6);
    if (rate >= 1e4) return printed("%.3gk", rate / 1e3);
    return rate >= 100 ? printed("%.0f", rate) : printed("%.3g", rate);
}

inline std::string duration_text(double seconds) {
    if (!(seconds < 1e9)) return "?"; // thirty years, or not a number
    if (seconds < 10) return printed("%.1f s", std::max(seconds, 0.0));
    const auto s = static_cast<long>(seconds + 0.5);
    char text[64];
    if (s < 3600) std::snprintf(text, sizeof text, "%ld:%02ld", s / 60, s % 60);
    else std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    return text;
}

inline std::string first_columns(const std::string& text, std::size_t columns) {
    std::size_t end = 0;
    for (std::size_t seen = 0; end < text.size(); ++end)
        if ((text[end] & 0xC0) != 0x80 && seen++ == columns) break;
    return text.substr(0, end);
}

} // namespace detail

TENON_INLINE file_console::file_console(std::FILE* file) : file_(file), is_terminal_(::isatty(::fileno(file)) == 1) {
    const char* term = std::getenv("TERM");
    if (term && std::strcmp(term, "dumb") == 0) is_terminal_ = false;
}

TENON_INLINE void file_console::write(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), file_);
    std::fflush(file_);
}

TENON_INLINE int file_console::width() const {
    winsize size{};
    if (::ioctl(::fileno(file_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    const char* columns = std::getenv("COLUMNS");
    const int n = columns ? std::atoi(columns) : 0;
    return n > 0 ? n : 80;
}

TENON_INLINE double file_console::seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

TENON_INLINE progress_bar::progress_bar(std::int64_t total, std::string label, const progress_options& options) :
    standard_error_(stderr),
    console_(options.console ? options.console : &standard_error_),
    label_(detail::without_controls(std::move(label))),
    total_(std::max<std::int64_t>(total, 0)),
    samples_per_step_(options.samples_per_step),
    start_(console_->seconds()),
    last_(start_),
    next_line_((total_ + 9) / 10),
    is_terminal_(console_->is_terminal()) {
    if (is_terminal_) draw(start_);
}

TENON_INLINE progress_bar::~progress_bar() {
    try {
        finish();
    } catch (...) { // progress that cannot be shown is no reason to end the program
    }
}

TENON_INLINE void progress_bar::advance(std::int64_t steps, values shown) {
    done_ += steps;
    for (const auto& given : shown) {
        const auto known =
            std::find_if(values_.begin(), values_.end(), [&](const auto& v) { return v.first == given.first; });
        if (known != values_.end()) known->second = given.second;
        else values_.emplace_back(given.first, given.second);
    }
    if (is_finished_) return;
    if (is_terminal_) {
        if (const double now = console_->seconds(); now - last_ >= 0.1) draw(now);
    } else if (total_ > 0) {
        if (done_ < next_line_ || done_ >= total_) return;
        write_line(console_->seconds(), last_, last_done_);
        next_line_ = (total_ * (done_ * 10 / total_ + 1) + 9) / 10;
    } else if (const double now = console_->seconds(); now - last_ >= 30) {
        write_line(now, last_, last_done_);
    }
}

TENON_INLINE void progress_bar::finish() {
    if (std::exchange(is_finished_, true)) return;
    if (is_terminal_) console_->write("\r\x1b[K");
    write_line(console_->seconds(), start_, 0);
}

TENON_INLINE double progress_bar::part() const {
    return total_ > 0 ? std::clamp(static_cast<double>(done_) / static_cast<double>(total_), 0.0, 1.0) : 0;
}

TENON_INLINE std::string progress_bar::count() const {
    return std::to_string(done_) + (total_ > 0 ? '/' + std::to_string(total_) : " steps");
}

TENON_INLINE std::vector<std::string> progress_bar::facts(double rate, double now) const {
    std::vector<std::string> all{detail::rate_text(rate) + " steps/s"};
    if (samples_per_step_ > 0)
        all.push_back(detail::rate_text(rate * static_cast<double>(samples_per_step_)) + " samples/s");
    for (const auto& [name, value] : values_)
        all.push_back(detail::without_controls(name) + ' ' + detail::text_of_number(value, 4));
    std::string time = detail::duration_text(now - start_);
    if (total_ > done_ && !is_finished_ && rate > 0)
        time += ", " + detail::duration_text(static_cast<double>(total_ - done_) / rate) + " left";
    all.push_back(time);
    return all;
}

TENON_INLINE void progress_bar::write_line(double now, double since, std::int64_t steps_before) {
    const double rate = now > since ? static_cast<double>(done_ - steps_before) / (now - since) : 0;
    std::string text = label_.empty() ? "" : label_ + ": ";
    text += count();
    if (total_ > 0) text += detail::printed(" (%.0f%%)", std::floor(100 * part()));
    for (const std::string& fact : facts(rate, now)) text += ", " + fact;
    console_->write(text + '\n');
    last_ = now;
    last_done_ = done_;
}

TENON_INLINE void progress_bar::draw(double now) {
    if (now > last_) {
        // The rate of the last few seconds: each draw counts for as much as its time is of three seconds.
        const double latest = static_cast<double>(done_ - last_done_) / (now - last_);
        const double weight = last_done_ == 0 ? 1 : 1 - std::exp((last_ - now) / 3);
        rate_ += weight * (latest - rate_);
    }
    last_ = now;
    last_done_ = done_;

    // The last column stays free: some terminals go to the next line when it is filled.
    const auto width = static_cast<std::size_t>(std::max(console_->width() - 1, 1));
    std::string left = label_;
    if (total_ > 0) left += detail::printed(label_.empty() ? "%.0f%%" : " %3.0f%%", std::floor(100 * part()));
    std::string right = (left.empty() ? "" : "  ") + count();
    // Where not all fits, the rate of samples goes first, then the last values, then the time.
    std::vector<std::string> all = facts(rate_, now);
    std::size_t used = detail::columns_of(left + right);
    for (const std::string& fact : all) used += detail::columns_of(fact) + 2;
    while (used > width && !all.empty()) {
        const std::size_t n = all.size();
        const bool has_samples = samples_per_step_ > 0 && n == 3 + values_.size();
        const auto leave = all.begin() + static_cast<std::ptrdiff_t>(has_samples ? 1 : n > 2 ? n - 2 : n - 1);
        used -= detail::columns_of(*leave) + 2;
        all.erase(leave);
    }
    for (const std::string& fact : all) right += "  " + fact;
    if (total_ > 0 && used + 13 <= width) {
        const std::size_t bar = std::min<std::size_t>(width - used - 3, 30);
        const auto full = static_cast<std::size_t>(part() * static_cast<double>(bar));
        left += " [" + std::string(full, '#') + std::string(bar - full, '.') + ']';
    }
    console_->write('\r' + detail::first_columns(left + right, width) + "\x1b[K");
}

} // namespace tenon
