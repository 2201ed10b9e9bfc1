#pragma once

// A part of serve/local_model.ipp: where the weights come from, and the end.

namespace tenon::detail {

// Those of the graph's variables that the outputs are computed of, on the first device.
TENON_INLINE std::vector<any_tensor> local_model::own_variables() const {
    std::set<const node*> seen;
    std::vector<const node*> next;
    for (const any_tensor& o : devices_.front()->outputs) next.push_back(o.node());
    while (!next.empty()) {
        const node* const n = next.back();
        next.pop_back();
        if (!seen.insert(n).second) continue;
        for (const node_output& i : n->inputs) next.push_back(i.node);
        for (const node* c : n->controls) next.push_back(c);
    }
    std::vector<any_tensor> own;
    for (const any_tensor& v : graph_.collection(global_variables))
        if (seen.contains(v.node())) own.push_back(v);
    if (own.empty())
        throw failed_precondition_error("model '" + signature_.name +
                                        "' has no variables in the collection of global variables, which a checkpoint "
                                        "could give values to");
    return own;
}

template <class F> void local_model::between_batches(F&& f, double& pause) {
    struct swap {
        explicit swap(local_model& m) : of(m) {
            std::unique_lock lock(of.guard_);
            of.swapping_ = true;
            of.idle_.wait(lock, [&] { return of.computing_ == 0; });
        }
        ~swap() {
            {
                const std::lock_guard lock(of.guard_);
                of.swapping_ = false;
            }
            of.changed_.notify_all();
        }
        local_model& of;
    };
    const clock::time_point began = clock::now();
    {
        const swap swapped(*this);
        f();
    }
    pause = std::chrono::duration<double>(clock::now() - began).count();
}

// The caller holds `replacing_`.
TENON_INLINE void local_model::load(session& s, const std::string& checkpoint, replacement& r) {
    const std::vector<any_tensor> own = own_variables();
    const std::string_view name = checkpoint;
    const auto now_it_has = [&] {
        const std::lock_guard lock(guard_);
        if (&s == session_.get()) {
            r.version = ++counts_.version;
            counts_.checkpoint = checkpoint;
            counts_.trouble.clear();
        }
    };
    if (!name.ends_with(".json")) {
        prepared_load all = prepare_load(s, read_safetensors(checkpoint), {.variables = own});
        between_batches(
            [&] {
                (void)s.run_untyped(std::move(all.feeds), {}, all.assignments);
                now_it_has();
            },
            r.pause_seconds);
        return;
    }
    // A manifest is called PREFIX-STEP.json.
    const std::string prefix = checkpoint.substr(0, checkpoint.rfind('-'));
    std::unique_ptr<saver>& from = savers_[prefix];
    if (!from) from = std::make_unique<saver>(prefix, saver_options{.variables = own});
    between_batches(
        [&] {
            r.step = from->restore(s, {.checkpoint = checkpoint}).step;
            now_it_has();
        },
        r.pause_seconds);
}

TENON_INLINE replacement local_model::replace(const std::string& checkpoint) {
    const std::lock_guard alone(replacing_);
    replacement r;
    r.checkpoint = checkpoint;
    try {
        load(*session_, checkpoint, r);
    } catch (const std::exception& e) {
        {
            const std::lock_guard lock(guard_);
            counts_.trouble = e.what();
        }
        say("the weights stay: " + std::string(e.what()));
        throw;
    }
    say("version " + std::to_string(r.version) + ", from " + checkpoint);
    return r;
}

TENON_INLINE void local_model::watch(const std::string& prefix, double seconds) {
    if (!(seconds > 0))
        throw invalid_argument_error("model_server::watch: it looks every " + text_of_number(seconds) +
                                     " s; give a positive number");
    const std::lock_guard alone(closes_);
    std::uint64_t generation = 0;
    {
        const std::lock_guard lock(guard_);
        generation = ++watching_;
    }
    watched_.notify_all();
    if (watcher_.joinable()) watcher_.join();
    if (prefix.empty()) return;
    const saver checked(prefix); // throws where that is no name
    const std::lock_guard lock(guard_);
    if (closing_) throw failed_precondition_error("model '" + signature_.name + "' is closed");
    watcher_ = std::thread(
        [self = shared_from_this(), prefix, seconds, generation] { self->watch_loop(prefix, seconds, generation); });
}

TENON_INLINE void local_model::watch_loop(std::string prefix, double seconds, std::uint64_t generation) {
    std::string last, told; // what was tried; what was said of that
    std::unique_lock lock(guard_);
    while (watching_ == generation && !closing_) {
        lock.unlock();
        std::string newest;
        try {
            {
                const std::lock_guard alone(replacing_);
                std::unique_ptr<saver>& from = savers_[prefix];
                if (!from) from = std::make_unique<saver>(prefix, saver_options{.variables = own_variables()});
                const std::vector<std::string> all = from->checkpoints(*session_);
                if (!all.empty()) newest = all.back();
            }
            if (!newest.empty() && newest != last) {
                last = newest;
                (void)replace(newest);
            }
        } catch (const std::exception& e) {
            // A file that was removed meanwhile, or a task that is not there, may be there the next time.
            const error* const known = dynamic_cast<const error*>(&e);
            if (!known || known->code() != error_code::invalid_argument) last.clear();
            if (told != e.what() && newest.empty()) say("'" + prefix + "' cannot be looked at: " + e.what());
            told = e.what();
        }
        lock.lock();
        watched_.wait_for(lock, std::chrono::duration<double>(std::min(seconds, 1e9)),
                          [&] { return watching_ != generation || closing_; });
    }
}

TENON_INLINE bool local_model::close(double seconds) {
    if (!(seconds >= 0))
        throw invalid_argument_error("model_server::close: it is given " + text_of_number(seconds) + " s");
    const std::lock_guard alone(closes_);
    bool whole = true;
    {
        std::unique_lock lock(guard_);
        closing_ = true;
        changed_.notify_all();
        room_.notify_all();
        watched_.notify_all();
        idle_.wait_for(lock, std::chrono::duration<double>(std::min(seconds, 1e9)),
                       [&] { return queue_.empty() && computing_ == 0; });
        whole = queue_.empty();
        fail_waiting(lock);
        ended_ = true;
        changed_.notify_all();
    }
    for (const auto& d : devices_)
        if (d->thread.joinable()) d->thread.join();
    if (watcher_.joinable()) watcher_.join();
    return whole;
}

} // namespace tenon::detail
