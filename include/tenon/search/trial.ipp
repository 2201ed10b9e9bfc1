#pragma once

#include <tenon/core/error.hpp>
#include <tenon/search/trial.hpp>

namespace tenon {

TENON_INLINE std::shared_ptr<const safetensors_file> trial_weights::open() const {
    if (file_) return file_;
    if (path_.empty())
        throw failed_precondition_error("trial_weights: they were not kept, since others were better, or the training "
                                        "opened no session; grid_search_options::keep says of how many they are");
    return std::make_shared<const safetensors_file>(read_safetensors(path_));
}
TENON_INLINE load_report trial_weights::load(tenon::session& s, const load_options& o) const {
    return load_variables(s, *open(), o);
}

} // namespace tenon
