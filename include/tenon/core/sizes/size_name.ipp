#pragma once

#include <mutex>
#include <unordered_map>
#include <utility>

#include <tenon/core/sizes/size_name.hpp>

namespace tenon {

namespace detail {

struct size_name_table {
    std::mutex guard;
    std::unordered_map<std::string, std::weak_ptr<const char>> names; // the keys' texts are the names
};
inline size_name_table& table_of_size_names() {
    // Never destroyed: graphs in static objects may outlive it.
    static auto& table = *new size_name_table;
    return table;
}

// The last holder takes the name out of the table, unless somebody asked for it again meanwhile.
struct size_name_deleter {
    std::string text;
    void operator()(const char*) const noexcept {
        size_name_table& table = table_of_size_names();
        const std::lock_guard lock(table.guard);
        const auto at = table.names.find(text);
        if (at != table.names.end() && at->second.expired()) table.names.erase(at);
    }
};

TENON_INLINE std::shared_ptr<const char> holder_of_size_name(const char* name) {
    size_name_table& table = table_of_size_names();
    const std::lock_guard lock(table.guard);
    const auto at = table.names.find(name);
    return at != table.names.end() && at->first.c_str() == name ? at->second.lock() : nullptr;
}

TENON_INLINE std::size_t shared_size_names() {
    size_name_table& table = table_of_size_names();
    const std::lock_guard lock(table.guard);
    return table.names.size();
}

} // namespace detail

TENON_INLINE std::shared_ptr<const char> share_size_name(const std::string& given) {
    const std::string text = given.c_str(); // as whoever reads the name sees it
    detail::size_name_deleter deleter{text};
    detail::size_name_table& table = detail::table_of_size_names();
    std::shared_ptr<const char> held; // ends, where it is not handed out, after the lock does
    const std::lock_guard lock(table.guard);
    const auto at = table.names.try_emplace(text).first;
    held = at->second.lock();
    if (!held) {
        held = std::shared_ptr<const char>(at->first.c_str(), std::move(deleter));
        at->second = held;
    }
    return held;
}

} // namespace tenon
