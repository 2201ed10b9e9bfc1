#pragma once

#include <set>

// A part of serve/local_model.ipp: where the weights come from, and the end.

namespace tenon::detail {

// The variables that each device's outputs are computed of, and those among them that checkpoints give values to.
TENON_INLINE void local_model::find_weights() {
    for (const auto& d : devices_) {
        if (!options_.copy_variables && devices_.front()->uses) {
            d->uses = devices_.front()->uses;
            continue;
        }
        d->uses = std::make_shared<weights>();
        std::set<const node*> seen;
        std::vector<node*> next;
        for (const any_tensor& o : d->outputs) next.push_back(o.node());
        while (!next.empty()) {
            node* const n = next.back();
            next.pop_back();
            if (!seen.insert(n).second) continue;
            if (n->op->is(op_flags::variable)) d->uses->all.emplace_back(node_output{n, 0});
            for (const node_output& i : n->inputs) next.push_back(i.node);
            next.insert(next.end(), n->controls.begin(), n->controls.end());
        }
        if (d == devices_.front())
            for (const any_tensor& v : graph_.collection(global_variables))
                if (seen.contains(v.node())) own_.push_back(v);
        for (const any_tensor& v : own_) {
            const std::vector<any_tensor> copies = graph_.collection(copies_of(v.node()->name));
            const auto its = std::find_if(copies.begin(), copies.end(),
                                          [&](const any_tensor& c) { return seen.contains(c.node()); });
            d->uses->loaded.push_back(its == copies.end() ? v : *its);
        }
    }
}

TENON_INLINE void local_model::check_has_variables() const {
    if (own_.empty())
        throw failed_precondition_error("model '" + signature_.name +
                                        "' has no variables in the collection of global variables, which a checkpoint "
                                        "could give values to");
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

// What a source has for each of own_; an error lists what it lacks or has of another type.
TENON_INLINE std::vector<any_array>
local_model::values_for(const std::string& source, const std::vector<std::string>& names,
                        function_ref<const tensor_type*(const std::string&)> type_of,
                        function_ref<any_array(const std::string&)> value_of) const {
    const std::vector<whole_variable> wholes = whole_variables(own_);
    std::vector<any_tensor> wanted;
    for (const whole_variable& w : wholes) wanted.push_back(w.variable);
    load_report passed_over;
    (void)match_variables("model_server::replace", source, wanted, type_of, names, false, passed_over);
    std::map<const node*, any_array> values;
    for (const whole_variable& w : wholes) {
        any_array value = value_of(w.variable.node()->name);
        for (std::size_t p = 0; p < w.parts.size(); ++p)
            values.emplace(w.parts[p].node(), w.parts.size() == 1
                                                  ? value.share()
                                                  : value.slice(w.first[p], w.first[p] + w.parts[p].extents()[0].size));
    }
    std::vector<any_array> all;
    for (const any_tensor& v : own_) all.push_back(std::move(values.at(v.node())));
    return all;
}

// They are read by the device's task, whose paths they are, and brought here.
TENON_INLINE std::vector<any_array> local_model::values_in_manifest(session& s, const device& reader,
                                                                    const std::string& path, std::int64_t& step) {
    const std::vector<whole_variable> wholes = whole_variables(own_);
    device_name task(reader.counts.device);
    task.type = {};
    task.index = -1;
    manifest_reader& r = readers_[to_string(task)];
    if (r.values.empty()) {
        const graph_scope there(graph_);
        const device_scope host(device_name(to_string(task) + "/device:CPU:0"));
        const auto list = [](const char* called) {
            return untyped::placeholder(element_type::string, extents(dynamic_extent), called);
        };
        r.path = untyped::placeholder(element_type::string, extents(), "path");
        r.text = add<read_file_op>({}, {r.path}, "read");
        r.files = list("files");
        r.tensors = list("tensors");
        r.pieces =
            untyped::placeholder(element_type::int64, extents{dynamic_extent, restore_shard_op::columns}, "pieces");
        std::vector<tensor_type> types;
        for (const whole_variable& w : wholes) types.push_back(w.variable.type());
        node* const restored = add<restore_shard_op>({types}, {r.files, r.tensors, r.pieces}, "restore").node();
        for (std::size_t i = 0; i < wholes.size(); ++i)
            r.values.emplace_back(node_output{restored, static_cast<int>(i)});
    }
    std::vector<fed_value> fed;
    fed.push_back({r.path, text_array(path)});
    const std::vector<any_array> text = s.run_untyped(std::move(fed), {r.text});
    const checkpoint_manifest m = checkpoint_manifest::from_json(*text[0].data<std::string>(), path);
    step = m.step;
    std::vector<std::string> names;
    for (const checkpoint_manifest::tensor& t : m.tensors) names.push_back(t.name);
    const auto type_of = [&](const std::string& name) {
        const checkpoint_manifest::tensor* const t = m.find(name);
        return t ? &t->type : nullptr;
    };
    const auto read = [&] { // of all, which are there
        const std::string beside = path.substr(0, path.rfind('/') + 1);
        std::vector<std::string> files, tensors;
        std::vector<std::int64_t> pieces;
        std::vector<fed_value> tables;
        for (std::size_t i = 0; i < wholes.size(); ++i) {
            const checkpoint_manifest::tensor& t = *m.find(wholes[i].variable.node()->name);
            const std::int64_t rows = t.type.extents.rank() > 0 ? t.type.extents[0].size : 1;
            for (const checkpoint_manifest::slice& part :
                 t.slices.empty() ? std::vector<checkpoint_manifest::slice>{{t.name, 0, rows, t.shard}} : t.slices) {
                if (part.rows == 0) continue;
                const checkpoint_manifest::shard& from = m.shards[static_cast<std::size_t>(part.shard)];
                files.push_back(beside + from.file);
                tensors.push_back(part.tensor);
                pieces.insert(pieces.end(), {static_cast<std::int64_t>(i), from.bytes,
                                             static_cast<std::int64_t>(from.hash), 0, part.rows, part.first});
            }
        }
        any_array table(element_type::int64, {static_cast<std::int64_t>(files.size()), restore_shard_op::columns});
        std::copy(pieces.begin(), pieces.end(), table.data<std::int64_t>());
        tables.push_back({r.files, text_array(files)});
        tables.push_back({r.tensors, text_array(tensors)});
        tables.push_back({r.pieces, std::move(table)});
        try {
            return s.run_untyped(std::move(tables), r.values);
        } catch (const not_found_error& e) {
            throw data_loss_error(std::string(e.what()) + "; the checkpoint '" + path +
                                  "' is not whole: give another one");
        }
    };
    std::vector<any_array> values;
    return values_for(path, names, type_of, [&](const std::string& name) {
        if (values.empty()) values = read();
        std::size_t i = 0;
        while (wholes[i].variable.node()->name != name) ++i;
        return values[i].share();
    });
}

// A checkpoint that was read, and fits. Of a manifest the tasks that hold variables which all devices share read their parts
// themselves, between two batches.
TENON_INLINE local_model::loader local_model::prepared(session& s, const device& reader, const std::string& checkpoint,
                                                       std::int64_t& step) {
    const bool is_manifest = checkpoint.ends_with(".json");
    if (is_manifest && !options_.copy_variables) {
        if (!saver_) saver_.emplace("model", saver_options{.variables = own_});
        (void)saver_->manifest(s, checkpoint);
        return [this, checkpoint, &step](session& on, weights&) {
            step = saver_->restore(on, {.checkpoint = checkpoint}).step;
        };
    }
    const auto values = std::make_shared<std::vector<any_array>>();
    if (is_manifest) *values = values_in_manifest(s, reader, checkpoint, step);
    else {
        const safetensors_file file = read_safetensors(checkpoint);
        std::vector<std::string> names;
        for (const safetensors_file::tensor& t : file.tensors()) names.push_back(t.name);
        const auto type_of = [&](const std::string& name) {
            const safetensors_file::tensor* const t = file.find(name);
            return t ? &t->type : nullptr;
        };
        *values = values_for(checkpoint, names, type_of, [&](const std::string& name) { return file.load(name); });
    }
    return [this, values](session& on, weights& w) { assign(on, w, *values); };
}

TENON_INLINE void local_model::assign(session& s, weights& w, const std::vector<any_array>& values) {
    if (w.assigned.empty()) {
        const graph_scope there(graph_);
        for (const any_tensor& v : w.loaded) {
            w.fed.push_back(colocate_with(
                v, [&] { return untyped::placeholder(v.element(), v.extents(), v.node()->name + "/value"); }));
            w.assigned.push_back(untyped::assign(v, w.fed.back()).operation());
        }
    }
    std::vector<fed_value> fed;
    for (std::size_t i = 0; i < values.size(); ++i) fed.push_back({w.fed[i], values[i].share()});
    (void)s.run_untyped(std::move(fed), {}, w.assigned);
}

TENON_INLINE std::vector<std::string> local_model::without_value(session& s, weights& w) const {
    if (w.has_value.empty()) {
        const graph_scope there(graph_);
        for (const any_tensor& v : w.all) {
            const owned_scope with(v);
            w.has_value.push_back(add<is_initialized_op>({}, {v}, v.node()->name + "/has_value"));
        }
    }
    std::vector<std::string> names;
    if (w.all.empty()) return names;
    const std::vector<any_array> has = s.run_untyped({}, w.has_value);
    for (std::size_t i = 0; i < has.size(); ++i)
        if (!*has[i].data<bool>()) names.push_back(w.all[i].node()->name);
    return names;
}

// A device of each set of weights, those that serve first; and whether it is lost.
TENON_INLINE std::vector<std::pair<local_model::device*, bool>> local_model::holders() const {
    const std::lock_guard lock(guard_);
    std::vector<std::pair<device*, bool>> all;
    for (const bool is_lost : {false, true})
        for (const auto& d : devices_)
            if (d->counts.lost == is_lost &&
                std::none_of(all.begin(), all.end(), [&](const auto& h) { return h.first->uses == d->uses; }))
                all.emplace_back(d.get(), is_lost);
    return all;
}

// A session in which its variables are reached: its own, or where a task of that is lost, and nobody knows yet, a new one.
TENON_INLINE std::shared_ptr<session> local_model::reaching(device& d) const {
    std::shared_ptr<session> on;
    bool is_lost = false;
    {
        const std::lock_guard lock(guard_);
        on = d.on;
        is_lost = d.counts.lost;
    }
    if (!is_lost || !target_) try {
            (void)without_value(*on, *d.uses);
            return on;
        } catch (const error& e) {
            if (!target_ || !is_of_lost_task(e)) throw;
        }
    on = reopened(d);
    (void)without_value(*on, *d.uses);
    return on;
}

// The next version: that of all sets which could be given it. The devices of others are lost until they have it too.
TENON_INLINE void local_model::set_all(const std::vector<std::pair<device*, std::shared_ptr<session>>>& to,
                                       const loader& load, std::vector<std::pair<device*, std::string>> without,
                                       replacement& r) {
    bool is_set = false;
    std::vector<std::pair<device*, std::string>> torn;
    std::exception_ptr failure;
    for (const auto& [d, on] : to) {
        std::string why;
        bool is_torn = is_set; // the others have other values by now
        try {
            load(*on, *d->uses);
            d->uses->is_torn = false;
            is_set = true;
            continue;
        } catch (const error& e) {
            why = e.what();
            is_torn = is_torn || is_of_lost_task(e) || e.code() == error_code::deadline_exceeded ||
                      e.code() == error_code::cancelled;
            failure = std::current_exception();
        } catch (const std::exception& e) {
            why = e.what();
            failure = std::current_exception();
        }
        if (!is_torn) break; // as this one is all are
        d->uses->is_torn = true;
        torn.emplace_back(d, why);
    }
    if (is_set) torn.insert(torn.end(), without.begin(), without.end());
    std::unique_lock lock(guard_);
    if (is_set) {
        r.version = ++counts_.version;
        counts_.checkpoint = r.checkpoint;
        counts_.trouble.clear();
    }
    for (const auto& [holder, why] : torn)
        for (const auto& d : devices_)
            if (d->uses == holder->uses && !d->counts.lost) lose(*d, {}, why, lock);
    changed_.notify_all(); // whoever is lost
    if (!is_set) std::rethrow_exception(failure);
}

TENON_INLINE replacement local_model::replace(const std::string& checkpoint) {
    const std::lock_guard alone(replacing_);
    replacement r{.checkpoint = checkpoint};
    try {
        {
            const std::lock_guard lock(guard_);
            if (closing_) throw failed_precondition_error("model '" + signature_.name + "' is closed");
        }
        check_has_variables();
        std::vector<std::pair<device*, std::shared_ptr<session>>> to;
        std::vector<std::pair<device*, std::string>> without;
        for (const auto& [d, is_lost] : holders()) try {
                if (is_lost && !to.empty()) break; // those have the new values when they are back
                to.emplace_back(d, reaching(*d));
            } catch (const error& e) {
                if (!is_of_lost_task(e)) throw;
                without.emplace_back(d, e.what());
            }
        if (to.empty()) {
            std::string all;
            for (const auto& [d, why] : without) all += (all.empty() ? " " : "; ") + d->counts.device + ": " + why;
            throw unavailable_error("model '" + signature_.name + "': no device can be given other weights:" + all);
        }
        const loader load = prepared(*to.front().second, *to.front().first, checkpoint, r.step);
        between_batches([&] { set_all(to, load, without, r); }, r.pause_seconds);
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

// Has a device that was lost compute with the version that is served, or throws.
TENON_INLINE void local_model::bring_up_to_date(session& s, device& d) {
    weights& w = *d.uses;
    std::shared_ptr<session> from;
    const weights* served = nullptr;
    std::string checkpoint;
    {
        const std::lock_guard lock(guard_);
        checkpoint = counts_.checkpoint;
        for (const auto& other : devices_)
            if (other.get() != &d && !other->counts.lost) {
                served = other->uses.get();
                from = other->on;
            }
    }
    if (own_.empty()) w.is_torn = false;
    else if (served && served != &w) {
        assign(s, w, from->run_untyped({}, served->loaded));
        w.is_torn = false;
    } else if (w.is_torn || (!served && options_.copy_variables) || !without_value(s, w).empty()) {
        if (!checkpoint.empty()) {
            std::int64_t step = -1;
            double pause = 0;
            const loader load = prepared(s, d, checkpoint, step);
            between_batches([&] { load(s, w); }, pause);
            w.is_torn = false;
        } else if (w.is_torn)
            throw failed_precondition_error(
                "it was lost while its weights were replaced, and there is no checkpoint of "
                "version " +
                std::to_string(version()) + ": replace() them");
    }
    if (const std::vector<std::string> none = without_value(s, w); !none.empty())
        throw failed_precondition_error("it has forgotten " + joined(none, ", ") +
                                        ", and no checkpoint was taken that has them: replace() the weights, or give "
                                        "the variables values");
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
    check_has_variables();
    saver from(prefix, {.variables = own_}); // throws where that is no name
    const std::lock_guard lock(guard_);
    if (closing_) throw failed_precondition_error("model '" + signature_.name + "' is closed");
    watcher_ = std::thread([self = shared_from_this(), prefix, seconds, generation, from = std::move(from)]() mutable {
        self->watch_loop(from, prefix, seconds, generation);
    });
}

TENON_INLINE void local_model::watch_loop(saver& from, const std::string& prefix, double seconds,
                                          std::uint64_t generation) {
    std::string last, told; // what was tried; what was said of that
    std::unique_lock lock(guard_);
    while (watching_ == generation && !closing_) {
        lock.unlock();
        std::string newest, id;
        try {
            {
                const std::lock_guard alone(replacing_);
                const std::shared_ptr<session> on = reaching(*holders().front().first);
                const std::vector<std::string> all = from.checkpoints(*on);
                if (!all.empty()) newest = all.back();
                if (!newest.empty()) try {
                        id = from.manifest(*on, newest).id; // a step that is saved again has the same path
                    } catch (const error&) {                // replace() says what is wrong with it
                    }
            }
            if (!newest.empty() && newest + " " + id != last) {
                last = newest + " " + id;
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
        end_.notify_all();
    }
    for (const auto& d : devices_)
        if (d->thread.joinable()) d->thread.join();
    if (watcher_.joinable()) watcher_.join();
    return whole;
}

} // namespace tenon::detail
