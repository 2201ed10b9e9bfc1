#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <system_error>

#include <unistd.h>

#include <tenon/core/xxh64.hpp>
#include <tenon/core/error.hpp>
#include <tenon/io/safetensors/safetensors.hpp>
#include <tenon/search/search_record.hpp>

namespace tenon::detail {

// Entries of the metadata of weights, which say whose they are.
inline constexpr const char* weights_record = "record";
inline constexpr const char* weights_settings = "settings";

// What output_file calls a file that is not all written.
inline bool is_partial_of(const std::string& name, const std::string& whole) {
    const std::string begins = whole + ".partial-";
    return name.starts_with(begins) && name.size() > begins.size() &&
           name.find_first_not_of("0123456789", begins.size()) == std::string::npos;
}

TENON_INLINE search_record::search_record(std::vector<std::string> points, std::string axes, search_record_options o) :
    points_(std::move(points)), options_(std::move(o)) {
    if (points_.empty()) throw invalid_argument_error("grid_search: the grid has no points");
    if (options_.keep < 0)
        throw invalid_argument_error("grid_search: keep is " + std::to_string(options_.keep) + "; give 0 or more");
    xxh64_hasher h;
    for (const std::string& text : points_) h.add(text.c_str(), text.size() + 1);
    identity_ = {options_.name, std::move(axes), static_cast<std::int64_t>(points_.size()),
                 h.value(),     options_.seed,   options_.smaller_is_better};
    std::random_device random;
    id_ = std::to_string(random()) + "." + std::to_string(random());
    if (has_file()) take(read_grid_file(options_.file, identity_));
}

TENON_INLINE void search_record::begin() {
    if (!has_file()) return;
    file_.reset();
    auto file = std::make_unique<grid_file>(options_.file, identity_);
    take(file->content());
    file_ = std::move(file);
    drop_weights();
    tidy_folder();
}

// Removes what programs that were killed have left: weights of points that had not ended, or were not yet dropped, or not all written.
// All else of the folder is somebody's.
TENON_INLINE void search_record::tidy_folder() const {
    const std::filesystem::path record(options_.file);
    const std::string begins = record.filename().string() + ".point-";
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(
             record.has_parent_path() ? record.parent_path() : std::filesystem::path("."), none)) {
        const std::string name = entry.path().filename().string(), path = entry.path().string();
        if (!name.starts_with(begins) || !entry.is_regular_file(none)) continue;
        const long point = std::strtol(name.c_str() + begins.size(), nullptr, 10);
        if (point < 0 || point >= points()) continue;
        const int p = static_cast<int>(point);
        const std::string whole = weights_beside(record.filename().string(), p);
        const auto ended = ended_.find(p);
        const bool kept = ended != ended_.end() && ended->second.weights;
        if (name == whole ? !kept && trouble_with(path, p).empty() : is_partial_of(name, whole))
            std::filesystem::remove(entry.path(), none);
    }
}

// Why what lies there is not what this record has of the point; empty: it is.
TENON_INLINE std::string search_record::trouble_with(const std::string& path, int point) const {
    try {
        const safetensors_file file = read_safetensors(path);
        const auto is = [&](const char* name, const std::string& wanted) {
            const auto at = file.metadata().find(name);
            return at != file.metadata().end() && at->second == wanted;
        };
        if (!is(weights_record, id_)) return "'" + path + "' was written with another file of results";
        if (!is(weights_settings, text(point))) return "'" + path + "' is of other settings";
        return {};
    } catch (const error& e) {
        return e.what();
    }
}

TENON_INLINE void search_record::take(const grid_file_content& c) {
    if (!c.id.empty()) id_ = c.id;
    std::map<int, trial_outcome> ended;
    for (const trial_outcome& was : c.outcomes) {
        trial_outcome o = was;
        if (o.text != text(o.point))
            throw data_loss_error("grid_search: '" + options_.file + "' is damaged: point " + std::to_string(o.point) +
                                  " is " + o.text + " there, and not " + text(o.point));
        o.seed = seed(o.point);
        const std::string path = weights_beside(options_.file, o.point);
        std::error_code none;
        const bool there = o.weights && std::filesystem::is_regular_file(path, none);
        const std::string trouble = there ? trouble_with(path, o.point) : std::string();
        o.weights = there && trouble.empty() ? trial_weights(path) : trial_weights();
        if (!trouble.empty() && std::filesystem::exists(path, none) && // another program may have dropped them just now
            remarked_.insert(trouble).second)
            remarks_.push_back("the weights of point " + std::to_string(o.point) + " (" + o.text +
                               ") are not taken: " + trouble);
        if (o.end == trial_end::failed && options_.retry_failed) ended.erase(o.point);
        else ended.insert_or_assign(o.point, std::move(o));
    }
    ended_ = std::move(ended);
}

TENON_INLINE std::uint64_t search_record::seed(int point) const {
    xxh64_hasher h;
    h.add(text(point).data(), text(point).size());
    const std::string mine = std::to_string(options_.seed);
    h.add(mine.c_str(), mine.size() + 1);
    return h.value() | 1; // 0 is "not set"
}

TENON_INLINE std::vector<int> search_record::left() const {
    std::vector<int> all;
    for (int i = 0; i < points(); ++i)
        if (!ended_.contains(i)) all.push_back(i);
    return all;
}

TENON_INLINE bool search_record::is_better(const trial_outcome& a, const trial_outcome& b) const {
    if (a.score != b.score) return options_.smaller_is_better ? a.score < b.score : a.score > b.score;
    return a.point < b.point;
}

TENON_INLINE std::vector<trial_outcome> search_record::ranked() const {
    std::vector<trial_outcome> all;
    for (const auto& [point, o] : ended_)
        if (o.end != trial_end::failed && !std::isnan(o.score)) all.push_back(o);
    std::sort(all.begin(), all.end(), [&](const trial_outcome& a, const trial_outcome& b) { return is_better(a, b); });
    return all;
}

TENON_INLINE bool search_record::is_among_best(const trial_outcome& o) const {
    if (o.end == trial_end::failed || std::isnan(o.score)) return false;
    const std::vector<trial_outcome> all = ranked();
    return std::count_if(all.begin(), all.end(), [&](const trial_outcome& other) { return is_better(other, o); }) <
           options_.keep;
}

TENON_INLINE trial_weights search_record::kept(int point,
                                               const std::shared_ptr<const safetensors_file>& weights) const {
    if (!weights) return {};
    if (!has_file()) return trial_weights(weights);
    std::vector<any_array> values;
    for (const safetensors_file::tensor& t : weights->tensors()) values.push_back(weights->load(t.name));
    std::vector<named_array> named;
    for (std::size_t i = 0; i < values.size(); ++i) named.push_back({weights->tensors()[i].name, values[i]});
    const std::string path = weights_beside(options_.file, point);
    safetensors_metadata whose = weights->metadata();
    whose[weights_record] = id_;
    whose[weights_settings] = text(point);
    write_safetensors(path, named, whose);
    return trial_weights(path);
}

TENON_INLINE void search_record::enter(trial_outcome o) {
    if (file_) file_->append(o);
    ended_.insert_or_assign(o.point, std::move(o));
    drop_weights();
}

TENON_INLINE void search_record::drop_weights() {
    const std::vector<trial_outcome> all = ranked();
    for (auto i = static_cast<std::size_t>(options_.keep); i < all.size(); ++i) {
        trial_weights& dropped = ended_.at(all[i].point).weights;
        if (has_file() && dropped) ::unlink(dropped.path().c_str());
        dropped = {};
    }
}

} // namespace tenon::detail
