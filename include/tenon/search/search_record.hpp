#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tenon/search/grid_file.hpp>
#include <tenon/search/trial.hpp>

/// What has ended of a search, in memory and in its file. Included by .ipp files and tests only.

namespace tenon::detail {

struct search_record_options {
    std::string name, file;
    std::uint64_t seed = 1;
    bool smaller_is_better = false, retry_failed = false;
    int keep = 3;
};

/// Used by one thread at a time.
class search_record {
public:
    /// Reads the file, where there is one. Errors as of grid_search.
    search_record(std::vector<std::string> points, std::string axes, search_record_options o);

    /// Its settings, as text.
    const std::string& text(int point) const { return points_[static_cast<std::size_t>(point)]; }
    int points() const noexcept { return static_cast<int>(points_.size()); }
    /// A point's: of its settings, whatever its number.
    std::uint64_t seed(int point) const;
    /// What containers of its trainings are called by. With a file, those of a program that was killed are called so, too.
    const std::string& id() const noexcept { return id_; }
    bool has_file() const noexcept { return !options_.file.empty(); }

    /// What is entered from now on goes to the file, which is read again: others may have written to it before.
    void begin();
    /// Others may write to the file.
    void finish() noexcept { file_.reset(); }
    /// What was found wrong and is to be told, each once.
    std::vector<std::string> remarks() { return std::exchange(remarks_, {}); }

    const std::map<int, trial_outcome>& ended() const noexcept { return ended_; }
    std::vector<int> left() const;
    /// Those that have a score, the best first; of equal ones the first.
    std::vector<trial_outcome> ranked() const;
    /// Whether the weights of a point with this outcome are to be kept, as things are.
    bool is_among_best(const trial_outcome& o) const;
    /// Keeps weights, where they are to be: in the file's company, or in memory. May be called beside other functions but the next.
    trial_weights kept(int point, const std::shared_ptr<const safetensors_file>& weights) const;
    /// A point has ended, between begin() and finish(): in the file first. Weights that are no longer of the best are dropped.
    void enter(trial_outcome o);

private:
    bool is_better(const trial_outcome& a, const trial_outcome& b) const;
    void take(const grid_file_content& c);
    std::string trouble_with(const std::string& path, int point) const;
    void drop_weights(); // of those that are not among the best
    void tidy_folder() const;
    std::vector<std::string> points_;
    search_record_options options_;
    grid_identity identity_;
    std::unique_ptr<grid_file> file_;
    std::string id_;
    std::vector<std::string> remarks_;
    std::set<std::string> remarked_;
    std::map<int, trial_outcome> ended_; // by point
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/search/search_record.ipp>
#endif
