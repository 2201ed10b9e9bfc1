#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/train/trial.hpp>

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

/// Used by one thread at a time.
class grid_file {
public:
    /// Reads what is there, and makes the file where there is none. The last line of a program that was killed while it wrote counts as not
    /// written. Errors as of grid_search.
    grid_file(std::string path, const grid_identity& of);
    grid_file(const grid_file&) = delete;
    grid_file& operator=(const grid_file&) = delete;
    ~grid_file();

    /// Random, of this file: what the containers of its trials are called by.
    const std::string& id() const noexcept { return id_; }
    /// What it had when it was opened.
    const std::vector<trial_outcome>& outcomes() const noexcept { return outcomes_; }
    /// A line more, which is on the disk when this returns.
    void append(const trial_outcome& o);
    /// Where a point's weights lie: "run/widths.point-3.safetensors".
    std::string weights_path(int point) const;

private:
    void read(const grid_identity& of);
    void write(const std::string& line);
    std::string path_, id_;
    int descriptor_ = -1;
    std::vector<trial_outcome> outcomes_;
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/train/grid_file.ipp>
#endif
