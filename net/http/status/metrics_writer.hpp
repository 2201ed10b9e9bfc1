#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// Metrics as Prometheus reads them: text format 0.0.4.

namespace tenon::net {

using metric_labels = std::vector<std::pair<const char*, std::string>>;

/// All series of one name stand together, and each once: names that others chose may differ in what is not shown.
class metrics_writer {
public:
    /// Of one name no more series than this are written.
    explicit metrics_writer(std::size_t most) : most_(most) {}
    void begin(const char* name, const char* type, const char* help);
    void add(const metric_labels& of, double v, const char* suffix = "");
    void add(const metric_labels& of, std::uint64_t v, const char* suffix = "");
    /// How many were not written.
    std::uint64_t left_out() const noexcept { return left_out_; }
    std::string take() { return std::move(text_); }

private:
    void add_text(const metric_labels& of, const std::string& number, const char* suffix);
    const std::size_t most_;
    std::string text_, name_;
    std::set<std::string> said_;
    std::uint64_t left_out_ = 0;
};

} // namespace tenon::net
