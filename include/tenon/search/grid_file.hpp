#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/search/trial.hpp>

/// The file of a search's results: a line of JSON that says of which grid it is, then one for each point that has ended. Included by
/// .ipp files and tests only.

namespace tenon::detail {

/// What makes a grid the same one.
struct grid_identity {
    std::string name, axes;
    std::int64_t points = 0;
    std::uint64_t points_hash = 0; ///< of their texts
    std::uint64_t seed = 0;
    bool smaller_is_better = false;
    friend bool operator==(const grid_identity&, const grid_identity&) = default;
    /// "grid "widths" of 6 points (rate: 0.1, 0.03; hidden: 50, 100)"
    std::string described() const;
};

/// What a file has; one that there is not has nothing.
struct grid_file_content {
    std::string
        id{}; ///< random, of this file: what the containers of its trials are called by; empty: the file has no line yet
    std::vector<trial_outcome> outcomes{};
    std::size_t whole =
        0; ///< bytes of lines that were written to their ends: of a program that was killed the last one may not be
};
/// May be called while another program writes. Errors as of grid_search.
grid_file_content read_grid_file(const std::string& path, const grid_identity& of);
/// Where a point's weights lie: "run/widths.jsonl.point-3.safetensors". The whole name, so that no other record has them there.
std::string weights_beside(const std::string& path, int point);

/// A file that this program writes, and no other meanwhile. Used by one thread at a time.
class grid_file {
public:
    /// Makes it where there is none, and cuts off a line that was not written to its end.
    grid_file(std::string path, const grid_identity& of);
    grid_file(grid_file&&) = delete;
    ~grid_file();

    /// What it had when it was opened.
    const grid_file_content& content() const noexcept { return content_; }
    /// A line more, which is on the disk when this returns.
    void append(const trial_outcome& o);

private:
    void begin(const grid_identity& of);
    void write(const std::string& line);
    std::string path_;
    int descriptor_ = -1;
    grid_file_content content_;
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/search/grid_file.ipp>
#endif
