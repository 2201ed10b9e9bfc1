#pragma once

#include <algorithm>
#include <map>

#include <tenon/cluster/cluster.hpp>
#include <tenon/core/device_name.hpp>
#include <tenon/core/error.hpp>
#include <tenon/io/json/json_parse.hpp>

namespace tenon {

namespace detail {

template <class List> std::vector<task_addresses::by_index> numbered(const List& list) {
    std::vector<task_addresses::by_index> tasks;
    for (const std::string& address : list) tasks.emplace_back(static_cast<int>(tasks.size()), address);
    return tasks;
}

inline std::string task_text(const std::string& job, int task) {
    return "/job:" + job + "/task:" + std::to_string(task);
}

// What is wrong with an address; nullptr: it is "host:port" or "[IPv6 address]:port".
inline const char* address_fault(std::string_view address) {
    const std::size_t colon = address.rfind(':');
    if (colon == std::string_view::npos || address.ends_with(']')) return "has no port";
    const std::string_view host = address.substr(0, colon), port = address.substr(colon + 1);
    int number = 0;
    for (const char c : port) {
        if (!is_digit(c) || port.size() > 5) return "has a port that is no number from 1 to 65535";
        number = number * 10 + (c - '0');
    }
    if (number < 1 || number > 65535) return "has a port that is no number from 1 to 65535";
    if (host.empty()) return "has no host before its port";
    const bool bracketed = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
    for (const char c : bracketed ? host.substr(1, host.size() - 2) : host)
        if (!is_letter(c) && !is_digit(c) && c != '.' && c != '-' && c != '_' && !(bracketed && (c == ':' || c == '%')))
            return "has a host that is neither a name nor an IP address (one of version 6 stands in brackets)";
    return nullptr;
}

inline int index_of_json(const std::string& text, const std::string& job) {
    const bool decimal = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    if (!decimal || text.size() > 9 || (text.size() > 1 && text[0] == '0'))
        throw invalid_argument_error("cluster JSON: job \"" + job + "\": a task's index is \"" + text +
                                     "\"; it must be a decimal number from 0 to 999999999");
    return std::stoi(text);
}

inline const std::string& address_of_json(const json_value& v, const std::string& job) {
    if (const auto* text = v.get<std::string>()) return *text;
    throw invalid_argument_error("cluster JSON: job \"" + job + "\": an address must be a text \"host:port\", not " +
                                 v.described());
}

} // namespace detail

TENON_INLINE task_addresses::task_addresses(std::initializer_list<std::string> list) : tasks_(detail::numbered(list)) {}
TENON_INLINE task_addresses::task_addresses(std::initializer_list<by_index> sparse) : tasks_(sparse) {}
TENON_INLINE task_addresses::task_addresses(const std::vector<std::string>& list) : tasks_(detail::numbered(list)) {}

TENON_INLINE cluster::cluster(std::initializer_list<named_tasks> jobs) : cluster(std::vector<named_tasks>(jobs)) {}

TENON_INLINE cluster::cluster(const std::vector<named_tasks>& jobs) {
    for (const auto& [name, addresses] : jobs) add(name, addresses.tasks());
    finish();
}

TENON_INLINE void cluster::add(const std::string& name, std::vector<task_addresses::by_index> tasks) {
    const std::string job = "cluster: job \"" + name + "\"";
    if (!detail::is_word(name) || name.size() > decltype(device_name::job)::most)
        throw invalid_argument_error(
            job + ": a job's name is a letter, then letters, digits and underscores, of at most 47 characters");
    if (tasks.empty()) throw invalid_argument_error(job + " has no tasks");
    std::sort(tasks.begin(), tasks.end());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const auto& [index, address] = tasks[i];
        if (index < 0 || index > 999999999)
            throw invalid_argument_error(job + ": a task's index is " + std::to_string(index) +
                                         "; it must be from 0 to 999999999");
        const std::string task = job + ": task " + std::to_string(index);
        if (i > 0 && tasks[i - 1].first == index)
            throw invalid_argument_error(task + " is given twice, at " + tasks[i - 1].second + " and " + address);
        if (address.empty())
            throw invalid_argument_error(task + " has an empty address; where some tasks are left out, give the others "
                                                "by index: {{0, \"host:port\"}, {3, \"host:port\"}}");
        if (const char* fault = detail::address_fault(address))
            throw invalid_argument_error(task + ": its address \"" + address + "\" " + fault + "; give \"host:port\"");
    }
    jobs_.push_back({name, std::move(tasks)});
}

TENON_INLINE void cluster::finish() {
    std::sort(jobs_.begin(), jobs_.end(), [](const job_tasks& a, const job_tasks& b) { return a.name < b.name; });
    std::map<std::string, std::string> taken; // by address
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if (i > 0 && jobs_[i - 1].name == jobs_[i].name)
            throw invalid_argument_error("cluster: job \"" + jobs_[i].name + "\" is given twice");
        for (const auto& [index, address] : jobs_[i].tasks) {
            const std::string task = detail::task_text(jobs_[i].name, index);
            const auto [at, first] = taken.emplace(address, task);
            if (!first)
                throw invalid_argument_error("cluster: " + at->second + " and " + task + " have the same address, " +
                                             address);
        }
    }
}

TENON_INLINE cluster cluster::from_json(const std::string& text) {
    using detail::json_value;
    const json_value root = detail::parse_json(text, "cluster JSON", 4);
    const auto members = [](const json_value& v) -> const json_value::object& {
        const auto* object = v.get<json_value::object>();
        if (!object)
            throw invalid_argument_error("cluster JSON: a cluster must be an object of jobs, not " + v.described());
        if (object->empty()) throw invalid_argument_error("cluster JSON: there are no jobs");
        return *object;
    };
    const json_value::object* jobs = &members(root);
    // {"cluster": {...}}, unless that is a job of this name, whose tasks are texts.
    if (jobs->size() == 1 && jobs->front().name == "cluster")
        if (const auto* inside = jobs->front().value.get<json_value::object>();
            inside && (inside->empty() || !inside->front().value.get<std::string>()))
            jobs = &members(jobs->front().value);
    cluster read;
    for (const auto& [name, value] : *jobs) {
        std::vector<task_addresses::by_index> tasks;
        if (const auto* list = value.get<json_value::list>()) {
            for (const json_value& v : *list)
                tasks.emplace_back(static_cast<int>(tasks.size()), detail::address_of_json(v, name));
        } else if (const auto* sparse = value.get<json_value::object>()) {
            for (const auto& [index, v] : *sparse)
                tasks.emplace_back(detail::index_of_json(index, name), detail::address_of_json(v, name));
        } else
            throw invalid_argument_error("cluster JSON: job \"" + name +
                                         "\": its tasks must be a list or an object of addresses, not " +
                                         value.described());
        read.add(name, std::move(tasks));
    }
    read.finish();
    return read;
}

TENON_INLINE std::string cluster::to_json() const {
    // No name and no address has a character that JSON would escape.
    std::string text = "{";
    for (const job_tasks& j : jobs_) {
        const bool dense = j.tasks.back().first == static_cast<int>(j.tasks.size()) - 1;
        text += (text.size() > 1 ? ", \"" : "\"") + j.name + "\": " + (dense ? "[" : "{");
        for (const auto& [index, address] : j.tasks) {
            if (index != j.tasks.front().first) text += ", ";
            if (!dense) text += "\"" + std::to_string(index) + "\": ";
            text += "\"" + address + "\"";
        }
        text += dense ? "]" : "}";
    }
    return text + "}";
}

TENON_INLINE std::vector<std::string> cluster::jobs() const {
    std::vector<std::string> names;
    for (const job_tasks& j : jobs_) names.push_back(j.name);
    return names;
}

TENON_INLINE std::vector<int> cluster::tasks(const std::string& job) const {
    std::vector<int> indices;
    for (const auto& [index, address] : known(job).tasks) indices.push_back(index);
    return indices;
}

TENON_INLINE const std::string& cluster::address(const std::string& job, int task) const {
    const job_tasks& j = known(job);
    std::string indices;
    for (const auto& [index, address] : j.tasks) {
        if (index == task) return address;
        indices += (indices.empty() ? "" : ", ") + std::to_string(index);
    }
    throw not_found_error("the cluster's job \"" + job + "\" has no task " + std::to_string(task) + "; it has " +
                          indices);
}

TENON_INLINE bool cluster::has(const std::string& job, int task) const noexcept {
    const job_tasks* j = find(job);
    return j && std::any_of(j->tasks.begin(), j->tasks.end(), [&](const auto& t) { return t.first == task; });
}

TENON_INLINE const cluster::job_tasks* cluster::find(const std::string& job) const noexcept {
    for (const job_tasks& j : jobs_)
        if (j.name == job) return &j;
    return nullptr;
}

TENON_INLINE const cluster::job_tasks& cluster::known(const std::string& job) const {
    if (const job_tasks* j = find(job)) return *j;
    std::string names;
    for (const job_tasks& j : jobs_) names += (names.empty() ? " it has " : ", ") + j.name;
    throw not_found_error(
        "the cluster has no job \"" + job + "\";" +
        (names.empty() ? " it has none: set TENON_CLUSTER, or start the program by tenon launch" : names));
}

} // namespace tenon
