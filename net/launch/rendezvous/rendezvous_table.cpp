#include <net/launch/rendezvous/rendezvous_table.hpp>

#include <algorithm>

#include <net/wire/fields.hpp>
#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

constexpr std::uint32_t version = 2;

} // namespace

bytes encode(const joining& who) {
    value_writer w;
    w.number(version);
    put_value(w, who);
    return w.take();
}

joining decode_joining(std::span<const std::byte> body) {
    value_reader r(body, {}, "rendezvous");
    if (const auto v = r.number<std::uint32_t>(); v != version)
        r.fail("a process speaks version " + std::to_string(v) + " of it, this one version " + std::to_string(version));
    joining who;
    take_value(r, who);
    r.end();
    return who;
}

bytes encode(const placed& place) {
    byte_writer w;
    w.text(place.tasks.to_json());
    w.text(place.job);
    w.number(static_cast<std::int32_t>(place.task));
    w.text(place.run);
    w.text(place.token);
    return w.take();
}

placed decode_placed(std::span<const std::byte> body) {
    byte_reader r(body, "rendezvous");
    placed place;
    place.tasks = cluster::from_json(r.text());
    place.job = r.text();
    place.task = r.number<std::int32_t>();
    place.run = r.text();
    place.token = r.text();
    r.end();
    if (!place.tasks.has(place.job, place.task)) r.fail("a place that is not in the cluster");
    return place;
}

rendezvous_table::rendezvous_table(std::string run, int size) : run_(std::move(run)), size_(size) {}

std::string rendezvous_table::mistake_of(const joining& who) const {
    if (who.run != run_) return "it is of another run";
    if (who.size != size_)
        return "it is told of " + std::to_string(who.size) + " processes, and rank 0 of " + std::to_string(size_);
    if (who.rank < 0 || who.rank >= size_)
        return "rank " + std::to_string(who.rank) + " is none of 0 to " + std::to_string(size_ - 1);
    return "";
}

std::string rendezvous_table::come_again(const joining& who) {
    if (const std::string why = mistake_of(who); !why.empty()) return why;
    joining& before = here_.at(who.rank);
    const auto host_of = [](const std::string& address) { return address.substr(0, address.rfind(':')); };
    if (who.job != before.job || host_of(who.address) != host_of(before.address))
        return "rank " + std::to_string(who.rank) + " was of job " + before.job + " on " + host_of(before.address) +
               ", and comes again as of job " + who.job + " on " + host_of(who.address) + "; it must be where it was";
    before.incarnation = who.incarnation;
    return "";
}

std::string rendezvous_table::join(const joining& who) {
    if (const std::string why = mistake_of(who); !why.empty()) return why;
    const std::string name = "rank " + std::to_string(who.rank);
    if (const auto found = here_.find(who.rank); found != here_.end()) {
        if (found->second.incarnation == who.incarnation) return "";
        return name + " is here already, and serves on " + found->second.address + "; each needs a rank of its own";
    }
    if (who.task < -1) return name + " asks for task " + std::to_string(who.task) + ", which is no task's index";
    try {
        const cluster alone({{who.job, std::vector<task_addresses::by_index>{{std::max(who.task, 0), who.address}}}});
    } catch (const error& e) {
        return name + " says what cannot be: " + e.what();
    }
    if (const auto [at, first] = addresses_.emplace(who.address, who.rank); !first)
        return name + " and rank " + std::to_string(at->second) + " will both serve on " + who.address +
               "; give each a port of its own";
    if (who.task >= 0 && !asked_.emplace(who.job, who.task).second) {
        addresses_.erase(who.address);
        return name + " asks for /job:" + who.job + "/task:" + std::to_string(who.task) + ", as another rank did";
    }
    here_.emplace(who.rank, who);
    return "";
}

void rendezvous_table::leave(int rank, std::uint64_t incarnation) {
    const auto found = here_.find(rank);
    if (complete() || found == here_.end() || found->second.incarnation != incarnation) return;
    addresses_.erase(found->second.address);
    if (found->second.task >= 0) asked_.erase({found->second.job, found->second.task});
    here_.erase(found);
}

std::vector<joining> rendezvous_table::all() const {
    std::vector<joining> who;
    for (const auto& [rank, one] : here_) who.push_back(one);
    return who;
}

std::string rendezvous_table::missing() const {
    std::string text;
    const int count = size_ - static_cast<int>(here_.size());
    int named = 0;
    for (int rank = 0; rank < size_ && named < std::min(count, 16); ++rank) {
        if (here_.contains(rank)) continue;
        text += (named++ > 0 ? ", " : "") + std::to_string(rank);
    }
    return count > named ? text + " and " + std::to_string(count - named) + " more" : text;
}

void rendezvous_table::make_cluster() {
    std::map<std::string, int> next; // by job: where to look for a free index
    std::map<std::string, std::vector<task_addresses::by_index>> jobs;
    for (const auto& [rank, who] : here_) {
        int task = who.task;
        if (task < 0) {
            int& free = next[who.job];
            while (asked_.contains({who.job, free})) ++free;
            task = free++;
        }
        places_[rank] = {who.job, task};
        jobs[who.job].emplace_back(task, who.address);
    }
    std::vector<cluster::named_tasks> named;
    for (auto& [job, tasks] : jobs) named.emplace_back(job, std::move(tasks));
    made_ = cluster(named);
}

placed rendezvous_table::place_of(int rank) {
    if (!made_) make_cluster();
    const auto& [job, task] = places_.at(rank);
    return {*made_, job, task, run_, {}};
}

} // namespace tenon::net
