#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <tenon/serve/served_model.hpp>

namespace tenon::net {

/// The models that there are. Thread-safe.
class model_table {
public:
    void add(const any_served_model& m);
    void remove(const std::string& name);
    /// An empty handle where there is none.
    any_served_model find(const std::string& name) const;
    std::vector<any_served_model> all() const;
    /// "there are 'a', 'b'"
    std::string named() const;

private:
    mutable std::mutex guard_;
    std::map<std::string, any_served_model> models_;
};

} // namespace tenon::net
