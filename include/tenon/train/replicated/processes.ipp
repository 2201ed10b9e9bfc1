#pragma once

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/train/replicated/processes.hpp>

namespace tenon {

namespace detail {

struct registered_ways {
    std::mutex guard;
    std::vector<processes_way> all; // by place
    std::map<std::string, std::weak_ptr<collective_group>> living;
    static registered_ways& get() {
        static auto& r = *new registered_ways;
        return r;
    }
};

// Of one process: what it has is the result.
class lone_group final : public collective_group {
public:
    lone_group() : collective_group("alone", 0, 1) {}
    std::string member(int) const override { return "this process"; }

private:
    void issue(std::uint64_t sequence, const collective_signature&, double, any_array value) override {
        finish(sequence, std::move(value));
    }
    void end(error_code, const std::string&, error_reason, bool) noexcept override {}
    std::string missing(std::uint64_t) const override { return {}; }
};

// What says that this process is one of several; "": nothing does.
inline std::string sign_of_others() {
    const auto value_of = [](const char* name) { return std::string(std::getenv(name) ? std::getenv(name) : ""); };
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "WORLD_SIZE"})
        if (const std::string v = value_of(name); std::atoi(v.c_str()) > 1) return std::string(name) + "=" + v;
    for (const char* name : {"TENON_CLUSTER", "TENON_RANK", "TF_CONFIG"})
        if (!value_of(name).empty()) return name;
    return {};
}

} // namespace detail

TENON_INLINE void register_processes_way(processes_way w) {
    auto& r = detail::registered_ways::get();
    const std::lock_guard lock(r.guard);
    const auto at = std::upper_bound(r.all.begin(), r.all.end(), w,
                                     [](const processes_way& a, const processes_way& b) { return a.place < b.place; });
    r.all.insert(at, std::move(w));
}

TENON_INLINE std::shared_ptr<collective_group> processes(const processes_options& o) {
    auto& r = detail::registered_ways::get();
    std::vector<processes_way> all;
    {
        const std::lock_guard lock(r.guard);
        all = r.all;
    }
    std::string known, reasons;
    // Links know what the environment means.
    const bool asks_links = std::any_of(all.begin(), all.end(), [](const auto& w) { return w.name == "links"; });
    all.push_back({"alone", 0,
                   [&](std::string& why) {
                       if (!o.method.empty()) {
                           why = "it was asked for";
                           return true;
                       }
                       const std::string others = asks_links ? std::string() : detail::sign_of_others();
                       if (!others.empty())
                           throw failed_precondition_error(
                               "processes: " + others +
                               " says that this process is one of several, and this program has no way to the others" +
                               (reasons.empty() ? "" : " (" + reasons + ")") +
                               "; link tenon::mpi or tenon::net, or ask for the method \"alone\"");
                       why = reasons.empty() ? "no way to others is linked" : reasons;
                       return true;
                   },
                   [](const processes_options&, const std::string& why) -> std::shared_ptr<collective_group> {
                       auto g = std::make_shared<detail::lone_group>();
                       g->explain("alone: " + why);
                       collective_group::enter(g);
                       return g;
                   }});
    for (const processes_way& w : all) {
        known += (known.empty() ? "\"" : ", \"") + w.name + "\"";
        if (!o.method.empty() && o.method != w.name) continue;
        {
            const std::lock_guard lock(r.guard);
            if (auto living = r.living[w.name].lock()) return living;
        }
        std::string why;
        if (!w.fits(why)) {
            if (!o.method.empty())
                throw failed_precondition_error("processes: the method \"" + o.method + "\" does not fit here: " + why);
            reasons += (reasons.empty() ? "" : "; ") + why;
            continue;
        }
        auto made = w.join(o, why);
        const std::lock_guard lock(r.guard);
        r.living[w.name] = made;
        return made;
    }
    throw failed_precondition_error(
        "processes: this program has no method \"" + o.method + "\"; it has " + known +
        (o.method == "mpi" || o.method == "links"
             ? "; link tenon::" + std::string(o.method == "mpi" ? "mpi" : "net") + " to have it"
             : std::string()));
}

} // namespace tenon
