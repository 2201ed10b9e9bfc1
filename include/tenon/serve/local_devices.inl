#pragma once

// A part of serve/local_model.ipp: devices, and what they compute.

namespace tenon::detail {

inline bool is_of_lost_task(const error& e) {
    return e.reason() == error_reason::lost_task || e.code() == error_code::unavailable;
}

TENON_INLINE void local_model::start() {
    for (const auto& d : devices_) {
        try {
            d->thread = std::thread([self = shared_from_this(), p = d.get()] { self->serve(*p); });
        } catch (const std::system_error& none) {
            close(0);
            throw resource_exhausted_error("model_server: no thread can be had for " + d->counts.device + ": " +
                                           none.what());
        }
    }
}

TENON_INLINE void local_model::serve(device& d) {
    std::unique_lock lock(guard_);
    for (;;) {
        if (d.counts.lost) come_back(d, lock);
        if (ended_) return; // maybe since it asked
        if (swapping_) {
            changed_.wait(lock);
            continue;
        }
        const clock::time_point due = closing_ && !queue_.empty() ? clock::time_point::min() : queue_.due(step_);
        if (due > clock::now()) {
            if (due == clock::time_point::max()) changed_.wait(lock);
            else changed_.wait_until(lock, due);
            continue;
        }
        std::vector<request> batch;
        for (const auto& q : queue_.take(closing_ ? clock::time_point::max() : clock::now(), step_))
            batch.push_back(std::static_pointer_cast<local_request>(q));
        if (batch.empty()) continue;
        for (const request& r : batch) r->at_ = local_request::state::computing;
        ++computing_;
        counts_.computing += batch.size();
        if (!queue_.empty()) changed_.notify_one();
        room_.notify_all();
        run_batch(d, std::move(batch), counts_.version, lock);
    }
}

// The caller holds the guard, before and after, not meanwhile.
TENON_INLINE void local_model::run_batch(device& d, std::vector<request> batch, std::int64_t version,
                                         std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    const clock::time_point began = clock::now();
    std::vector<std::vector<any_array>> outputs;
    std::exception_ptr failure;
    std::string lost;
    bool is_each = false; // each was run alone
    try {
        outputs = compute(d, batch);
    } catch (const error& e) {
        if (is_of_lost_task(e)) lost = e.what();
        failure = std::current_exception();
    } catch (...) {
        failure = std::current_exception();
    }
    if (failure && lost.empty() && batch.size() > 1) {
        try {
            is_each = true;
            run_each(d, batch, version);
        } catch (const error& e) { // the device was lost meanwhile
            lost = e.what();
        }
    }
    const clock::time_point ended = clock::now();
    const clock::duration took = ended - began;
    lock.lock();
    if (lost.empty() && !is_each)
        for (std::size_t i = 0; i < batch.size(); ++i) {
            local_request& r = *batch[i];
            if (r.at_ == local_request::state::over) continue; // it was late
            r.at_ = local_request::state::over;
            r.answer_.failure = failure;
            ++(failure ? counts_.failed : counts_.answered);
            if (failure) continue;
            r.answer_.outputs = std::move(outputs[i]);
            r.answer_.version = version;
            counts_.latency.add(std::chrono::duration<double>(ended - r.arrived).count());
        }
    --computing_;
    counts_.computing -= batch.size();
    if (lost.empty()) {
        std::int64_t rows = 0;
        for (const request& r : batch) rows += r->rows;
        ++counts_.batches;
        counts_.rows += static_cast<std::uint64_t>(rows);
        counts_.padded_rows += static_cast<std::uint64_t>(padded(rows) - rows);
        ++d.counts.batches;
        d.counts.rows += static_cast<std::uint64_t>(rows);
        d.counts.busy_seconds += std::chrono::duration<double>(took).count();
        step_ = std::max(took, step_ - step_ / 8); // the longest of the last few
    } else lose(d, batch, lost, lock);
    idle_.notify_all();
    answered(batch, lock);
}

// Of a batch that failed each request alone: which of them is at fault is seen so. Throws where the device is lost.
TENON_INLINE void local_model::run_each(device& d, const std::vector<request>& batch, std::int64_t version) {
    for (const request& r : batch) {
        {
            const std::lock_guard lock(guard_);
            if (r->at_ == local_request::state::over) continue; // it was late
        }
        model_answer a;
        try {
            a.outputs = std::move(compute(d, {r})[0]);
            a.version = version;
        } catch (const error& e) {
            if (is_of_lost_task(e)) throw;
            a.failure = std::current_exception();
        } catch (...) {
            a.failure = std::current_exception();
        }
        const std::lock_guard lock(guard_);
        if (r->at_ == local_request::state::over) continue;
        r->at_ = local_request::state::over;
        ++(a.failure ? counts_.failed : counts_.answered);
        if (!a.failure) counts_.latency.add(std::chrono::duration<double>(clock::now() - r->arrived).count());
        r->answer_ = std::move(a);
    }
}

// Seconds after which nobody waits for a batch any more; 0: somebody has no limit. A little more than that, so that requests say
// themselves that they are late.
TENON_INLINE double local_model::limit_of(const std::vector<request>& batch) {
    constexpr double slack = 0.05;
    clock::time_point last = clock::time_point::min();
    for (const request& r : batch) last = std::max(last, r->deadline);
    if (last == clock::time_point::max()) return 0;
    return std::max(0.0, std::chrono::duration<double>(last - clock::now()).count()) + slack;
}

// The outputs of each request.
TENON_INLINE std::vector<std::vector<any_array>> local_model::compute(device& d, const std::vector<request>& batch) {
    std::int64_t rows = 0;
    for (const request& r : batch) rows += r->rows;
    const std::int64_t all_rows = padded(rows);
    std::vector<any_array> fed;
    for (std::size_t i = 0; i < feeds_.size(); ++i) {
        std::vector<const any_array*> parts;
        for (const request& r : batch) parts.push_back(&r->inputs_[i]);
        fed.push_back(joined_rows(parts, all_rows));
    }
    std::vector<any_array> made = step_of(d, all_rows).run_for(limit_of(batch), fed);
    for (std::size_t o = 0; o < made.size(); ++o)
        if (made[o].rank() == 0 || made[o].extents()[0].size != all_rows)
            throw failed_precondition_error("model '" + signature_.name + "': output '" + signature_.outputs[o].name +
                                            "' is " + to_string(made[o].type()) + " of a batch of " +
                                            std::to_string(all_rows) + " rows; it must have a row for each");
    std::vector<std::vector<any_array>> outputs(batch.size());
    std::int64_t begin = 0;
    for (std::size_t r = 0; r < batch.size(); begin += batch[r++]->rows)
        for (any_array& m : made)
            outputs[r].push_back(batch[r]->rows == all_rows ? std::move(m)
                                                            : copied_rows(m, begin, begin + batch[r]->rows));
    return outputs;
}

TENON_INLINE untyped_callable& local_model::step_of(device& d, std::int64_t rows) {
    if (const auto at = d.steps.find(rows); at != d.steps.end()) return at->second;
    return d.steps.emplace(rows, d.on->callable_untyped(feeds_, d.outputs)).first->second;
}

TENON_INLINE std::int64_t local_model::padded(std::int64_t rows) const {
    const auto at = std::lower_bound(options_.batch_sizes.begin(), options_.batch_sizes.end(), rows);
    return at == options_.batch_sizes.end() ? rows : *at;
}

// Its batch goes to the others, ahead of what waits.
TENON_INLINE void local_model::lose(device& d, std::vector<request> batch, const std::string& why,
                                    std::unique_lock<std::mutex>& lock) {
    d.counts.lost = true;
    d.counts.trouble = why;
    ++d.counts.losses;
    d.steps.clear();
    std::vector<batch_queue::request> again;
    for (const request& r : batch)
        if (r->at_ == local_request::state::computing) {
            r->at_ = local_request::state::waiting;
            again.push_back(r);
        }
    counts_.rerun += again.size();
    queue_.put_back(again);
    changed_.notify_all();
    const bool none_left = !any_device();
    if (none_left) fail_waiting(lock);
    lock.unlock();
    say(d.counts.device + " is lost, and its " + std::to_string(again.size()) + " requests " +
        (none_left ? "fail, since no device is left: " : "are run again: ") + why);
    lock.lock();
}

// A session that needs no task of which only other devices are, and those are lost.
TENON_INLINE std::shared_ptr<session> local_model::reopened(const device& d) const {
    std::vector<std::string> lost;
    {
        const std::lock_guard lock(guard_);
        for (const auto& other : devices_)
            if (other->counts.lost && other.get() != &d) lost.push_back(other->counts.device);
    }
    session_options o = options_.session;
    const auto is_on = [](const std::string& name, const std::string& task) {
        const device_name a(name), b(task);
        return a.job == b.job && a.task == b.task;
    };
    if (o.device_filters.empty() && !lost.empty())
        for (const std::string& t : tasks_)
            if (is_on(d.counts.device, t) ||
                std::none_of(lost.begin(), lost.end(), [&](const std::string& l) { return is_on(l, t); }))
                o.device_filters.push_back(t);
    return std::make_shared<session>(*target_, graph_, o);
}

// Asks a lost device again and again, until it serves or the server ends. The caller holds the guard, before and after.
TENON_INLINE void local_model::come_back(device& d, std::unique_lock<std::mutex>& lock) {
    while (d.counts.lost) {
        if (end_.wait_for(lock, std::chrono::duration<double>(options_.retry_lost), [&] { return ended_; })) return;
        lock.unlock();
        std::string line;
        try {
            ask_again(d);
            line = d.counts.device + " is back";
        } catch (const std::exception& e) {
            const error* const known = dynamic_cast<const error*>(&e);
            const std::lock_guard own(guard_);
            if (!(known && is_of_lost_task(*known)) && d.counts.trouble != e.what()) {
                d.counts.trouble = e.what();
                line = d.counts.device + " stays lost: " + e.what();
            }
        }
        if (!line.empty()) say(line);
        lock.lock();
    }
}

// With rows of zeros; when it answers, and has the weights of the version that is served, it serves. Throws where it does not.
TENON_INLINE void local_model::ask_again(device& d) {
    const std::shared_ptr<session> on = target_ ? reopened(d) : d.on;
    std::vector<any_array> fed;
    for (const any_tensor& f : feeds_) {
        tenon::extents sizes = f.extents();
        for (int i = 0; i < sizes.rank(); ++i)
            if (!sizes[i].is_number()) sizes[i] = extent(1);
        fed.push_back(any_array::zeros(f.element(), sizes));
    }
    try {
        (void)on->callable_untyped(feeds_, d.outputs)(fed);
    } catch (const error& e) {
        if (is_of_lost_task(e)) throw; // else zeros are no good, or variables have no values yet: it has answered
    }
    const std::lock_guard alone(replacing_); // until it serves no other version does
    bring_up_to_date(*on, d);
    const std::lock_guard lock(guard_);
    d.on = on;
    d.counts.lost = false;
}

} // namespace tenon::detail
