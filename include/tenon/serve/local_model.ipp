#pragma once

#include <algorithm>
#include <exception>

#include <tenon/core/array/text_array.hpp>
#include <tenon/core/device_name.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/ops/input/files.hpp>
#include <tenon/ops/shape/partition.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/serve/batch_rows.hpp>
#include <tenon/serve/local_model.hpp>

namespace tenon::detail {

TENON_INLINE local_request::local_request(std::shared_ptr<local_model> of, std::uint64_t client,
                                          std::vector<any_array> inputs, shared_function<void(model_answer&&)> then) :
    of_(std::move(of)), client_(client), inputs_(std::move(inputs)), then_(std::move(then)) {}
TENON_INLINE local_request::~local_request() {
    if (seconds_ > 0) of_->limits_.remove(*this);
}

TENON_INLINE void local_request::due() noexcept {
    if (const auto self = weak_from_this().lock()) of_->late(self);
}

TENON_INLINE void local_request::stop() noexcept {
    const auto self = weak_from_this().lock();
    if (!self) return;
    {
        const std::lock_guard lock(of_->guard_);
        if (at_ != state::waiting) return;
    }
    (void)of_->end_early(self,
                         std::make_exception_ptr(cancelled_error("model '" + of_->signature_.name +
                                                                 "': the request was stopped before it was computed")),
                         &serving_metrics::cancelled);
}

inline batching_policy policy_of(const model_server_options& o) {
    return {o.largest_batch,
            std::chrono::duration_cast<serving_clock::duration>(std::chrono::duration<double>(o.longest_wait)),
            o.capacity};
}

// As session_options::device_filters name it.
inline std::string task_of_device(const device_name& d) {
    return "/job:" + std::string(d.job.str()) + "/task:" + std::to_string(d.task);
}

inline const model_server_options& checked(const model_server_options& o) {
    const auto refuse = [](const char* name, const std::string& value, const char* what) {
        throw invalid_argument_error("model_server_options::" + std::string(name) + " is " + value + "; give " + what);
    };
    if (o.largest_batch < 1) refuse("largest_batch", std::to_string(o.largest_batch), "how many rows a batch may have");
    if (!(o.longest_wait >= 0 && o.longest_wait < 1e6))
        refuse("longest_wait", text_of_number(o.longest_wait), "seconds, 0 for none");
    if (o.capacity == 0) refuse("capacity", "0", "how many requests may wait");
    if (!(o.retry_lost > 0 && o.retry_lost < 1e6)) refuse("retry_lost", text_of_number(o.retry_lost), "seconds");
    if (!o.batch_sizes.empty() && (o.batch_sizes.front() < 1 || o.batch_sizes.back() != o.largest_batch ||
                                   !std::is_sorted(o.batch_sizes.begin(), o.batch_sizes.end())))
        refuse("batch_sizes", "not in order, or does not end with largest_batch",
               "the sizes that batches may have, the least first and the last largest_batch");
    return o;
}

TENON_INLINE local_model::local_model(std::shared_ptr<session> s, const std::string* target, model_parts parts,
                                      model_server_options o) :
    options_(checked(o)),
    graph_(parts.outputs.front().empty() ? graph::current() : graph(parts.outputs.front().front().node()->graph)),
    feeds_(std::move(parts.feeds)),
    queue_(policy_of(options_)) {
    signature_.name = options_.name;
    signature_.largest_batch = options_.largest_batch;
    for (const any_tensor& f : feeds_) signature_.inputs.push_back({f.name(), f.type()});
    const std::vector<any_tensor>& first = parts.outputs.front();
    if (!options_.outputs.empty() && options_.outputs.size() != first.size())
        throw invalid_argument_error("model_server_options::outputs has " + std::to_string(options_.outputs.size()) +
                                     " names, and the function returns " + std::to_string(first.size()) + " tensors");
    for (std::size_t i = 0; i < first.size(); ++i)
        signature_.outputs.push_back(
            {options_.outputs.empty() ? first[i].name() : options_.outputs[i], first[i].type()});
    check_signature(signature_);
    if (target) target_ = *target;
    const std::size_t count = first.size();
    for (std::size_t i = 0; i < parts.outputs.size(); ++i) {
        if (parts.outputs[i].size() != count)
            throw invalid_argument_error("model_server: the function returns " + std::to_string(count) +
                                         " tensors on the first device and " + std::to_string(parts.outputs[i].size()) +
                                         " on " + parts.devices[i]);
        devices_.push_back(std::make_unique<device>());
        devices_.back()->outputs = std::move(parts.outputs[i]);
        devices_.back()->counts.device = parts.devices[i];
    }
    find_weights();
    if (!s) s = std::make_shared<session>(*target_, graph_, options_.session);
    if (target_ && !target_->empty())
        for (const device_attributes& a : s->list_logical_devices())
            if (std::string t = task_of_device(a.name); std::find(tasks_.begin(), tasks_.end(), t) == tasks_.end())
                tasks_.push_back(std::move(t));
    for (const auto& d : devices_) d->on = s;
    counts_.version = 1;
}
TENON_INLINE local_model::~local_model() = default;

// A device's thread, and a replacement that has been made, go on whatever becomes of the line.
TENON_INLINE void local_model::say(const std::string& line) const noexcept {
    try {
        if (options_.log) options_.log("model '" + signature_.name + "': " + line);
    } catch (...) {
    }
}

// Taking requests.

TENON_INLINE std::shared_ptr<asked_request> local_model::ask(std::uint64_t client, std::vector<any_array> inputs,
                                                             double seconds, bool may_wait,
                                                             shared_function<void(model_answer&&)> then) {
    if (!(seconds >= 0))
        throw invalid_argument_error("model '" + signature_.name + "': a request's time limit is " +
                                     text_of_number(seconds) + " s; give 0 for none");
    std::int64_t rows = 0;
    try {
        rows = rows_of_request(signature_, inputs);
    } catch (...) {
        const std::lock_guard lock(guard_);
        ++counts_.invalid;
        throw;
    }
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        for (int d = 1; d < inputs[i].rank(); ++d)
            if (!signature_.inputs[i].type.extents[d].is_number()) sizes.push_back(inputs[i].extents()[d].size);
    const auto r = std::make_shared<local_request>(shared_from_this(), client, std::move(inputs), std::move(then));
    r->rows = rows;
    r->sizes = std::move(sizes);
    r->seconds_ = seconds;
    r->arrived = clock::now();
    if (seconds > 0)
        r->deadline = r->arrived + std::chrono::duration_cast<clock::duration>(
                                       std::chrono::duration<double>(std::min(seconds, 1e9)));
    const std::string model = "model '" + signature_.name + "'";
    {
        std::unique_lock lock(guard_);
        const auto check_open = [&] {
            if (closing_) throw failed_precondition_error(model + " is closed");
            if (!any_device()) throw unavailable_error(model + ": no device is left:" + lost_devices());
        };
        check_open();
        while (queue_.is_full()) {
            if (!may_wait || !options_.wait_when_full) {
                ++counts_.refused;
                throw resource_exhausted_error(model + ": " + std::to_string(queue_.size()) +
                                               " requests wait, which is as many as may; ask again later "
                                               "(model_server_options::capacity, wait_when_full)");
            }
            if (r->deadline == clock::time_point::max()) room_.wait(lock);
            else if (room_.wait_until(lock, r->deadline) == std::cv_status::timeout && queue_.is_full()) {
                ++counts_.late;
                throw deadline_exceeded_error(model + ": the request waited " + text_of_number(seconds) +
                                              " s for room among those that wait");
            }
            check_open();
        }
        r->is_listed_ = true;
        clients_[client].asked.push_back(r);
        queue_.push(r);
        ++counts_.accepted;
    }
    changed_.notify_one();
    if (seconds > 0) limits_.add(*r, r->deadline);
    return r;
}

TENON_INLINE bool local_model::any_device() const {
    return std::any_of(devices_.begin(), devices_.end(), [](const auto& d) { return !d->counts.lost; });
}

TENON_INLINE std::string local_model::lost_devices() const {
    std::string all;
    for (const auto& d : devices_)
        if (d->counts.lost) all += (all.empty() ? " " : "; ") + d->counts.device + ": " + d->counts.trouble;
    return all;
}

// The end of requests.

TENON_INLINE void local_model::tell(const request& r) {
    if (r->seconds_ > 0) r->of_->limits_.remove(*r);
    r->then_(std::move(r->answer_));
}

// They are over, and their answers are there. The caller holds the guard, before and after, not meanwhile.
TENON_INLINE void local_model::answered(const std::vector<request>& all, std::unique_lock<std::mutex>& lock) {
    std::uint64_t last = 0;
    for (const request& r : all)
        if (r->client_ != last) tell_in_order(last = r->client_, lock);
}

// One thread at a time tells a client, so that no answer overtakes another. The caller holds the guard, before and after.
TENON_INLINE void local_model::tell_in_order(std::uint64_t number, std::unique_lock<std::mutex>& lock) {
    const auto at = clients_.find(number);
    if (at == clients_.end() || at->second.is_telling) return;
    asker& c = at->second; // which stays while it is told
    std::vector<request> next;
    for (;;) {
        while (!c.asked.empty() && c.asked.front()->at_ == local_request::state::over) {
            next.push_back(std::move(c.asked.front()));
            c.asked.pop_front();
            next.back()->is_listed_ = false;
        }
        if (next.empty()) break;
        c.is_telling = true;
        lock.unlock();
        for (const request& r : next) {
            r->inputs_.clear(); // its batch has ended: they are the asker's alone again
            tell(r);
        }
        next.clear();
        lock.lock();
        c.is_telling = false;
    }
    if (c.asked.empty()) clients_.erase(number);
}

// It is over, and will be told so whatever its client has asked before. The caller holds the guard.
TENON_INLINE void local_model::take_out(const request& r, std::exception_ptr why) {
    r->at_ = local_request::state::over;
    r->answer_.failure = std::move(why);
    if (const auto at = clients_.find(r->client_); at != clients_.end() && std::exchange(r->is_listed_, false))
        std::erase(at->second.asked, r);
}

// One that is late, or not wanted, is told so at once, whatever its client has asked before.
TENON_INLINE bool local_model::end_early(const request& r, std::exception_ptr why,
                                         std::uint64_t serving_metrics::*counted) {
    {
        const std::lock_guard lock(guard_);
        if (r->at_ == local_request::state::over) return false;
        if (r->at_ == local_request::state::waiting && queue_.remove(r.get())) room_.notify_one();
        take_out(r, std::move(why));
        ++(counts_.*counted);
    }
    idle_.notify_all();
    tell(r);
    std::unique_lock lock(guard_);
    tell_in_order(r->client_, lock);
    return true;
}

TENON_INLINE void local_model::late(const request& r) {
    bool is_computing = false;
    {
        const std::lock_guard lock(guard_);
        is_computing = r->at_ == local_request::state::computing;
    }
    (void)end_early(r,
                    std::make_exception_ptr(deadline_exceeded_error(
                        "model '" + signature_.name + "': the request took longer than " + text_of_number(r->seconds_) +
                        " s; " + (is_computing ? "it was being computed" : "it waited for a device"))),
                    &serving_metrics::late);
}

TENON_INLINE void local_model::fail_waiting(std::unique_lock<std::mutex>& lock) {
    std::vector<request> all;
    for (const auto& q : queue_.remove_all()) all.push_back(std::static_pointer_cast<local_request>(q));
    const std::string why = closing_ ? "model '" + signature_.name + "' was closed before the request was computed"
                                     : "model '" + signature_.name + "': no device is left:" + lost_devices();
    const std::exception_ptr failure =
        closing_ ? std::make_exception_ptr(cancelled_error(why)) : std::make_exception_ptr(unavailable_error(why));
    for (const request& r : all) take_out(r, failure);
    (closing_ ? counts_.cancelled : counts_.failed) += all.size();
    room_.notify_all();
    lock.unlock();
    for (const request& r : all) tell(r);
    lock.lock();
    answered(all, lock);
    idle_.notify_all();
}

// What it says of itself.

TENON_INLINE serving_metrics local_model::metrics() const {
    const std::lock_guard lock(guard_);
    serving_metrics m = counts_;
    m.waiting = queue_.size();
    for (const auto& d : devices_) m.devices.push_back(d->counts);
    return m;
}

TENON_INLINE std::string local_model::why_not_ready() const {
    const std::lock_guard lock(guard_);
    if (closing_) return "model '" + signature_.name + "' is closed";
    return any_device() ? std::string() : "model '" + signature_.name + "': no device is left:" + lost_devices();
}

TENON_INLINE std::int64_t local_model::version() const {
    const std::lock_guard lock(guard_);
    return counts_.version;
}

} // namespace tenon::detail

#include <tenon/serve/local_devices.inl>
#include <tenon/serve/local_weights.inl>
