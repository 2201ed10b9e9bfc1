#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <set>
#include <system_error>
#include <utility>

#include <unistd.h>

#include <tenon/core/content_hash.hpp>
#include <tenon/core/error.hpp>
#include <tenon/graph/safetensors.hpp>
#include <tenon/search/search_record.hpp>

namespace tenon::detail {

TENON_INLINE search_record::search_record(std::vector<std::string> points, std::string axes, search_record_options o) :
    points_(std::move(points)), options_(std::move(o)) {
    if (points_.empty()) throw invalid_argument_error("grid_search: the grid has no points");
    if (options_.keep < 0)
        throw invalid_argument_error("grid_search: keep is " + std::to_string(options_.keep) + "; give 0 or more");
    content_hasher h;
    for (const std::string& text : points_) h.add(text.c_str(), text.size() + 1);
    identity_ = {options_.name, std::move(axes), static_cast<std::int64_t>(points_.size()),
                 h.value(),     options_.seed,   options_.smaller_is_better};
    std::random_device random;
    id_ = std::to_string(random()) + "." + std::to_string(random());
    if (has_file()) take(read_grid_file(options_.file, identity_));
}

TENON_INLINE void search_record::begin() {
    if (!has_file()) return;
    file_.emplace(options_.file, identity_);
    take(file_->content());
    drop_weights();
    // What programs that were killed have left: weights of points that had not ended, or were not yet dropped, or not all written.
    std::set<std::string> kept;
    for (const auto& [point, o] : ended_)
        if (o.weights) kept.insert(std::filesystem::path(o.weights.path()).filename().string());
    const std::filesystem::path beside(weights_beside(options_.file, 0));
    const std::string begins = beside.filename().string().substr(0, beside.filename().string().rfind("0."));
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(
             beside.has_parent_path() ? beside.parent_path() : std::filesystem::path("."), none)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(begins) && name.find(".safetensors") != std::string::npos && !kept.contains(name))
            std::filesystem::remove(entry.path(), none);
    }
}

TENON_INLINE void search_record::take(const grid_file_content& c) {
    if (!c.id.empty()) id_ = c.id;
    ended_.clear();
    for (const trial_outcome& was : c.outcomes) {
        trial_outcome o = was;
        if (o.text != text(o.point))
            throw data_loss_error("grid_search: '" + options_.file + "' is damaged: point " + std::to_string(o.point) +
                                  " is " + o.text + " there, and not " + text(o.point));
        o.seed = seed(o.point);
        const std::string path = weights_beside(options_.file, o.point);
        o.weights = o.weights && ::access(path.c_str(), R_OK) == 0 ? trial_weights(path) : trial_weights();
        if (o.end == trial_end::failed && options_.retry_failed) ended_.erase(o.point);
        else ended_.insert_or_assign(o.point, std::move(o));
    }
}

TENON_INLINE std::uint64_t search_record::seed(int point) const {
    content_hasher h;
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
    write_safetensors(path, named, weights->metadata());
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
