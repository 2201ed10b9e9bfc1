#include <net/serve/model_table.hpp>

#include <tenon/core/error.hpp>

namespace tenon::net {

void model_table::add(const any_served_model& m) {
    if (!m) throw invalid_argument_error("a model that is to be served is an empty handle");
    const std::lock_guard lock(guard_);
    if (!models_.emplace(m.signature().name, m).second)
        throw already_exists_error("there is a model '" + m.signature().name +
                                   "' already; give each a name of its own (model_server_options::name)");
}

void model_table::remove(const std::string& name) {
    const std::lock_guard lock(guard_);
    if (models_.erase(name) == 0) throw not_found_error("there is no model '" + name + "' to remove");
}

any_served_model model_table::find(const std::string& name) const {
    const std::lock_guard lock(guard_);
    const auto at = models_.find(name);
    return at == models_.end() ? any_served_model() : at->second;
}

std::vector<any_served_model> model_table::all() const {
    std::vector<any_served_model> all;
    const std::lock_guard lock(guard_);
    for (const auto& [name, m] : models_) all.push_back(m);
    return all;
}

std::string model_table::named() const {
    std::string names;
    const std::lock_guard lock(guard_);
    for (const auto& [name, m] : models_) names += (names.empty() ? "there is '" : ", '") + name + "'";
    return names.empty() ? "there are none" : names;
}

} // namespace tenon::net
