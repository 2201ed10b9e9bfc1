#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include <tenon/core/array/text_array.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/core/text/process_name.hpp>
#include <tenon/core/xxh64.hpp>
#include <tenon/ops/input/files.hpp>
#include <tenon/ops/input/iterator.hpp>
#include <tenon/ops/shape/partition.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/state/state.hpp>
#include <tenon/train/checkpoint/lease_renewal.hpp>
#include <tenon/train/checkpoint/saver.hpp>

namespace tenon {

namespace detail {

// A part of a session's graph that uses the files of one task.
struct file_nodes {
    any_tensor path, text, paths, lease, holder, seconds;
    any_tensor read, listed, claim, renew;
    operation write, remove;
};

// The variables of one task, and what saves and restores them.
struct variable_shard {
    std::string task;
    std::vector<any_tensor> variables;
    any_tensor path, saved;                          // save_shard
    any_tensor files, tensors, pieces;               // restore_shard
    std::vector<std::vector<operation>> assignments; // by variable: its own, then those of its copies
};

// An iterator, and what tells and sets where it is.
struct iterator_nodes {
    std::string name;
    any_tensor saved, state; // a text each; state is fed
    operation restore;
};

// All that a saver adds to a graph for variables on these tasks.
struct saver_nodes {
    std::vector<variable_shard> shards; // by task
    file_nodes files;                   // of the first
    std::vector<iterator_nodes> iterators;
};

inline std::string task_of(device_name d) {
    d.type = {};
    d.index = -1;
    return to_string(d);
}

// A name for what is saved that no other save has.
inline std::string new_checkpoint_id() {
    static std::mutex guard;
    static auto& random = *new std::random_device;
    const std::lock_guard lock(guard);
    return text_of_xxh64(random()).substr(14); // the digits of 32 bits
}

// "saver 5f02c3aa of process 12 on host7"
inline std::string saver_name(const std::string& id) { return "saver " + id + " of " + process_name(); }

} // namespace detail

struct saver::state {
    state(std::string p, saver_options o) : prefix(std::move(p)), options(std::move(o)) {
        const std::size_t slash = prefix.rfind('/');
        folder = slash == std::string::npos ? "" : prefix.substr(0, slash + 1);
        name = prefix.substr(slash + 1); // all, where there is no slash
        if (name.empty() || name == "." || name == "..")
            throw invalid_argument_error("saver: '" + prefix +
                                         "' names no checkpoints; give a folder and a name, such as \"run/model\"");
        if (options.keep < 0)
            throw invalid_argument_error("saver_options::keep is " + std::to_string(options.keep) +
                                         "; give how many checkpoints stay, or 0 for all");
        if (!(options.timeout >= 0))
            throw invalid_argument_error("saver_options::timeout is " + detail::text_of_number(options.timeout) +
                                         "; give seconds, or 0 for the session's limit");
        if (!(options.lease > 0 && options.lease <= 1e6))
            throw invalid_argument_error("saver_options::lease is " + detail::text_of_number(options.lease) +
                                         "; give seconds, up to 1e6");
    }

    class writing;

    std::string prefix, folder, name;
    saver_options options;
    const std::string own_id = detail::new_checkpoint_id(), own_name = detail::saver_name(own_id);
    std::mutex saving; // held by who saves with this one
    std::mutex guard;  // of what follows
    std::map<std::string, std::shared_ptr<detail::saver_nodes>> made;

    std::string list_path() const { return prefix + ".checkpoints.json"; }
    std::string lease_path() const { return prefix + ".lease"; }

    std::vector<any_array> run(session& s, const std::vector<std::pair<any_tensor, any_array>>& fed,
                               const std::vector<any_tensor>& fetches, const std::vector<operation>& targets) const {
        std::vector<any_tensor> feeds;
        std::vector<any_array> values;
        for (const auto& [t, v] : fed) {
            feeds.push_back(t);
            values.push_back(v.share());
        }
        return s.callable_untyped(feeds, fetches, targets).run_for(options.timeout, values);
    }
    std::string read(session& s, const detail::file_nodes& n, const std::string& path) const {
        std::vector<std::pair<any_tensor, any_array>> fed;
        fed.emplace_back(n.path, detail::text_array(path));
        const std::vector<any_array> all = run(s, fed, {n.read}, {});
        return *all[0].data<std::string>();
    }
    void write(session& s, const detail::file_nodes& n, const std::string& path, const std::string& text) const {
        std::vector<std::pair<any_tensor, any_array>> fed;
        fed.emplace_back(n.path, detail::text_array(path));
        fed.emplace_back(n.text, detail::text_array(text));
        add_claim(n, fed);
        (void)run(s, fed, {}, {n.write});
    }
    void remove(session& s, const detail::file_nodes& n, const std::vector<std::string>& paths) const {
        if (paths.empty()) return;
        std::vector<std::pair<any_tensor, any_array>> fed;
        fed.emplace_back(n.paths, detail::text_array(paths));
        add_claim(n, fed);
        (void)run(s, fed, {}, {n.remove});
    }
    void add_claim(const detail::file_nodes& n, std::vector<std::pair<any_tensor, any_array>>& fed) const {
        fed.emplace_back(n.lease, detail::text_array(lease_path()));
        fed.emplace_back(n.holder, detail::text_array(own_name));
    }
    // Who has the name then; of the nodes `claim` or `renew`.
    std::string claim(session& s, const detail::file_nodes& n, const any_tensor& how, double seconds) const {
        std::vector<std::pair<any_tensor, any_array>> fed;
        add_claim(n, fed);
        any_array length(element_type::float64, {});
        *length.data<double>() = seconds;
        fed.emplace_back(n.seconds, std::move(length));
        const std::vector<any_array> all = run(s, fed, {how}, {});
        return *all[0].data<std::string>();
    }
    std::vector<std::string> list(session& s, const detail::file_nodes& n) const {
        std::vector<std::pair<any_tensor, any_array>> fed;
        fed.emplace_back(n.path, detail::text_array(folder.empty() ? "." : folder));
        const std::vector<any_array> all = run(s, fed, {n.listed}, {});
        const std::string* const names = all[0].data<std::string>();
        return {names, names + all[0].elements()};
    }

    std::shared_ptr<detail::saver_nodes> nodes_for(session& s, const std::vector<any_tensor>& variables);
    static void add_nodes(detail::saver_nodes& n, const graph& g);
    std::vector<detail::kept_checkpoint> kept(session& s, const detail::file_nodes& n,
                                              std::vector<std::string>* damaged = nullptr) const;
    std::string sweep(session& s, const detail::file_nodes& n, const std::vector<detail::kept_checkpoint>& keep) const;
};

// The time for which a saver has its name: claimed when it is made, and again while it lives.
class saver::state::writing {
public:
    writing(const state& of, session& s, const detail::file_nodes& n) : of_(of), session_(s), nodes_(n) {
        using clock = std::chrono::steady_clock;
        const double lease = of.options.lease;
        const clock::time_point until =
            clock::now() + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(lease));
        auto pause = std::chrono::milliseconds(2);
        for (;;) {
            const bool last = clock::now() >= until; // what another has left behind has run out
            const std::string holder = claimed(lease);
            if (holder == of.own_name) break;
            if (last)
                throw aborted_error("saver::save: " + holder + " saves under the name '" + of.prefix +
                                    "', and has for " + std::to_string(static_cast<int>(lease)) +
                                    " s; a name has one writer at a time: give this saver another name");
            std::this_thread::sleep_for(pause);
            pause = std::min(2 * pause, std::chrono::milliseconds(100));
        }
        try {
            renews_.emplace(lease, [this] { (void)of_.claim(session_, nodes_, nodes_.renew, of_.options.lease); });
        } catch (...) { // no memory, or no thread: the name is another's at once
            give_back();
            throw;
        }
    }
    writing(const writing&) = delete;
    ~writing() {
        renews_.reset();
        give_back();
    }

private:
    // Where want of memory hides what came of it, the name may have been given to this one: then it is another's at once.
    std::string claimed(double lease) {
        try {
            return of_.claim(session_, nodes_, nodes_.claim, lease);
        } catch (const resource_exhausted_error&) {
            give_back();
            throw;
        } catch (const std::bad_alloc&) {
            give_back();
            throw;
        }
    }
    void give_back() noexcept {
        for (int tries = 0; tries < 2; ++tries)
            try { // what there was no memory for may be done at once: others wait for the name
                (void)of_.claim(session_, nodes_, nodes_.claim, -1);
                return;
            } catch (...) { // it runs out by itself
            }
    }
    const state& of_;
    session& session_;
    const detail::file_nodes& nodes_;
    std::optional<detail::lease_renewal> renews_;
};

// By the task on which each variable is, which the session knows. The nodes are made once for each way in which they are spread.
TENON_INLINE std::shared_ptr<detail::saver_nodes> saver::state::nodes_for(session& s,
                                                                          const std::vector<any_tensor>& variables) {
    const placement_explanation where = s.explain_placement_untyped(variables);
    std::map<std::string, std::string> task_of_node;
    for (const placement_explanation::node& n : where.nodes) task_of_node[n.name] = detail::task_of(n.device);
    std::map<std::string, detail::variable_shard> by_task;
    for (const any_tensor& v : variables) {
        const auto at = task_of_node.find(v.node()->name);
        if (at == task_of_node.end()) throw internal_error("saver: it is not known where " + v.name() + " is");
        detail::variable_shard& shard = by_task[at->second];
        shard.task = at->second;
        shard.variables.push_back(v);
    }
    const graph& g = s.bound_graph();
    std::string key = std::to_string(reinterpret_cast<std::uintptr_t>(g.state()));
    for (const auto& [task, shard] : by_task) {
        key += "\n" + task;
        for (const any_tensor& v : shard.variables) key += " " + std::to_string(v.node()->number);
    }
    for (const any_tensor& it : g.collection(iterators)) key += "\n" + it.name();
    const std::lock_guard lock(guard);
    std::shared_ptr<detail::saver_nodes>& found = made[key];
    if (!found) {
        auto n = std::make_shared<detail::saver_nodes>();
        for (auto& [task, shard] : by_task) n->shards.push_back(std::move(shard));
        add_nodes(*n, g);
        found = std::move(n);
    }
    return found;
}

TENON_INLINE void saver::state::add_nodes(detail::saver_nodes& n, const graph& g) {
    const graph_scope there(g);
    const name_scope named("checkpoint");
    const auto text = [](const char* called) { return untyped::placeholder(element_type::string, extents(), called); };
    std::vector<node*> restored;
    for (detail::variable_shard& shard : n.shards) {
        const device_scope host(device_name(shard.task + "/device:CPU:0"));
        std::vector<std::string> names;
        std::vector<tensor_type> types;
        for (const any_tensor& v : shard.variables) {
            names.push_back(v.node()->name);
            types.push_back(v.type());
        }
        const auto shared_names = std::make_shared<const any_array>(detail::text_array(names));
        shard.path = text("shard");
        std::vector<any_tensor> in{shard.path};
        in.insert(in.end(), shard.variables.begin(), shard.variables.end());
        shard.saved = add<save_shard_op>({shared_names}, std::move(in), "save");
        shard.files = untyped::placeholder(element_type::string, extents(dynamic_extent), "files");
        shard.tensors = untyped::placeholder(element_type::string, extents(dynamic_extent), "tensors");
        shard.pieces =
            untyped::placeholder(element_type::int64, extents{dynamic_extent, restore_shard_op::columns}, "pieces");
        restored.push_back(
            add<restore_shard_op>({types}, {shard.files, shard.tensors, shard.pieces}, "restore").node());
    }
    {
        // No variable is assigned before all files were found good.
        const control_dependencies after(restored);
        for (std::size_t i = 0; i < n.shards.size(); ++i) {
            detail::variable_shard& shard = n.shards[i];
            for (std::size_t v = 0; v < shard.variables.size(); ++v) {
                const any_tensor value(node_output{restored[i], static_cast<int>(v)});
                std::vector<operation> all{untyped::assign(shard.variables[v], value).operation()};
                for (const any_tensor& copy : g.collection(detail::copies_of(shard.variables[v].node()->name)))
                    all.push_back(untyped::assign(copy, value).operation());
                shard.assignments.push_back(std::move(all));
            }
        }
    }
    const device_scope host(device_name(n.shards.front().task + "/device:CPU:0"));
    detail::file_nodes& f = n.files;
    f.path = text("path");
    f.text = text("text");
    f.paths = untyped::placeholder(element_type::string, extents(dynamic_extent), "paths");
    f.read = add<read_file_op>({}, {f.path}, "read");
    f.listed = add<list_files_op>({}, {f.path}, "list");
    f.lease = text("lease");
    f.holder = text("holder");
    f.seconds = untyped::placeholder(element_type::float64, extents(), "seconds");
    f.claim = add<claim_file_op>({}, {f.lease, f.holder, f.seconds}, "claim");
    f.renew = add<claim_file_op>({true}, {f.lease, f.holder, f.seconds}, "renew");
    f.write = add<write_file_op>({}, {f.path, f.text, f.lease, f.holder}, "write").operation();
    f.remove = add<remove_files_op>({}, {f.paths, f.lease, f.holder}, "remove").operation();
    for (const any_tensor& handle : g.collection(iterators)) {
        const untyped::iterator it(handle);
        detail::iterator_nodes& nodes = n.iterators.emplace_back();
        nodes.name = it.name();
        nodes.saved = it.save();
        nodes.state = text("state");
        nodes.restore = it.restore(nodes.state);
    }
}

// Where there is no list of them, those whose manifests are there, by their steps. With `damaged` a list, or a manifest, that is
// damaged is said there, and passed over.
TENON_INLINE std::vector<detail::kept_checkpoint> saver::state::kept(session& s, const detail::file_nodes& n,
                                                                     std::vector<std::string>* damaged) const {
    const auto pass_over = [&](const std::string& path, const data_loss_error& e) {
        if (!damaged)
            throw data_loss_error(std::string(e.what()) + "; restore the last checkpoint that is whole without it "
                                                          "(restore_options::fall_back), or delete it");
        damaged->push_back(path + ": " + e.what());
    };
    try {
        return detail::kept_of_json(read(s, n, list_path()), list_path());
    } catch (const not_found_error&) {
    } catch (const data_loss_error& e) {
        pass_over(list_path(), e);
    }
    std::vector<detail::kept_checkpoint> all;
    for (const std::string& file : list(s, n)) {
        const detail::checkpoint_file f = detail::checkpoint_file_of(file, name);
        if (f.step < 0 || f.is_partial || !f.id.empty()) continue;
        const std::string path = folder + file;
        try {
            const checkpoint_manifest m = checkpoint_manifest::from_json(read(s, n, path), path);
            all.push_back({file, m.step, m.id, {}});
        } catch (const data_loss_error& e) {
            pass_over(path, e);
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
    return all;
}

// Removes what belongs to no checkpoint that is kept: manifests first, so that none lacks its files.
TENON_INLINE std::string saver::state::sweep(session& s, const detail::file_nodes& n,
                                             const std::vector<detail::kept_checkpoint>& keep) const {
    try {
        std::vector<std::string> manifests, others;
        for (const std::string& file : list(s, n)) {
            const detail::checkpoint_file f = detail::checkpoint_file_of(file, name);
            if (f.step < 0) continue;
            const bool stays = !f.is_partial && std::any_of(keep.begin(), keep.end(), [&](const auto& k) {
                return f.id.empty() ? k.file == file : k.step == f.step && k.id == f.id;
            });
            if (!stays) (f.id.empty() ? manifests : others).push_back(folder + file);
        }
        manifests.insert(manifests.end(), others.begin(), others.end());
        remove(s, n, manifests);
        return {};
    } catch (const error& e) {
        return e.what();
    }
}

TENON_INLINE saver::saver(std::string prefix, saver_options o) :
    state_(std::make_unique<state>(std::move(prefix), std::move(o))) {}
TENON_INLINE saver::~saver() = default;
TENON_INLINE saver::saver(saver&&) noexcept = default;
TENON_INLINE saver& saver::operator=(saver&&) noexcept = default;

TENON_INLINE saved_checkpoint saver::save(session& s, std::int64_t step, const checkpoint_details& with) {
    if (!state_) detail::moved_from("saver");
    const state& self = *state_;
    const std::vector<any_tensor> variables =
        detail::checkpoint_variables(s.bound_graph(), self.options.variables, "saver");
    if (step < 0) {
        const std::vector<any_tensor> global = s.bound_graph().collection("global_step");
        if (global.empty())
            throw invalid_argument_error(
                "saver::save: the session's graph has no global_step(): say which step it is, save(session, 7)");
        step = s.run_untyped({}, global)[0].data<std::int64_t>()[0];
    }
    const auto nodes = state_->nodes_for(s, variables);
    const std::size_t count = nodes->shards.size();
    saved_checkpoint saved;
    checkpoint_manifest& m = saved.manifest;
    m.step = step;
    m.id = detail::new_checkpoint_id();
    m.metadata = with.metadata;
    const std::string file = self.name + "-" + std::to_string(step);
    saved.path = self.folder + file + ".json";
    std::vector<std::pair<any_tensor, any_array>> fed;
    std::vector<any_tensor> fetches;
    std::vector<std::string> paths;
    std::map<const node*, int> shard_of;
    for (std::size_t i = 0; i < count; ++i) {
        const detail::variable_shard& shard = nodes->shards[i];
        m.shards.push_back(
            {file + "." + m.id + "-" + std::to_string(i + 1) + "-of-" + std::to_string(count) + ".safetensors", 0, 0,
             shard.task});
        paths.push_back(self.folder + m.shards.back().file);
        fed.emplace_back(shard.path, detail::text_array(paths.back()));
        fetches.push_back(shard.saved);
        for (const any_tensor& v : shard.variables) shard_of[v.node()] = static_cast<int>(i);
    }
    for (const detail::iterator_nodes& it : nodes->iterators) fetches.push_back(it.saved);
    for (const detail::whole_variable& w : detail::whole_variables(variables)) {
        checkpoint_manifest::tensor t{w.variable.node()->name, w.variable.type(), 0, {}};
        if (w.parts.size() == 1) t.shard = shard_of.at(w.parts[0].node());
        else
            for (std::size_t p = 0; p < w.parts.size(); ++p)
                t.slices.push_back({w.parts[p].node()->name, w.first[p], w.parts[p].extents()[0].size,
                                    shard_of.at(w.parts[p].node())});
        m.tensors.push_back(std::move(t));
    }
    const std::lock_guard one(state_->saving);
    const state::writing own(self, s, nodes->files);
    std::vector<detail::kept_checkpoint> kept;
    try {
        const std::vector<any_array> written = self.run(s, fed, fetches, {});
        m.random_runs = s.random_runs();
        for (std::size_t i = 0; i < count; ++i) {
            m.shards[i].bytes = written[i].data<std::int64_t>()[0];
            m.shards[i].hash = static_cast<std::uint64_t>(written[i].data<std::int64_t>()[1]);
        }
        for (std::size_t i = 0; i < nodes->iterators.size(); ++i) {
            const std::string& place = *written[count + i].data<std::string>();
            if (place.empty()) continue; // it was not initialised
            m.iterators.push_back({nodes->iterators[i].name,
                                   file + "." + m.id + "-" + std::to_string(i + 1) + "-of-" +
                                       std::to_string(nodes->iterators.size()) + ".iterator",
                                   static_cast<std::int64_t>(place.size()), detail::xxh64(place)});
            paths.push_back(self.folder + m.iterators.back().file);
            self.write(s, nodes->files, paths.back(), place);
        }
        kept = self.kept(s, nodes->files, &saved.passed_over);
        self.write(s, nodes->files, saved.path, m.to_json());
    } catch (...) {
        try {
            self.remove(s, nodes->files, paths);
        } catch (const error&) { // the next save does
        }
        throw;
    }
    const std::string manifest_file = file + ".json";
    std::erase_if(kept, [&](const auto& k) { return k.file == manifest_file; });
    kept.push_back({manifest_file, step, m.id, self.own_id});
    // Of a list that was damaged it is not known whose last each is, nor what else it named: the next save removes.
    const bool is_known = saved.passed_over.empty();
    if (is_known)
        kept = detail::staying(std::move(kept), static_cast<std::size_t>(self.options.keep),
                               with.stays.substr(with.stays.rfind('/') + 1));
    self.write(s, nodes->files, self.list_path(), detail::json_of_kept(kept));
    if (is_known) saved.trouble = self.sweep(s, nodes->files, kept);
    return saved;
}

TENON_INLINE std::vector<std::string> saver::checkpoints(session& s, std::vector<std::string>* damaged) {
    if (!state_) detail::moved_from("saver");
    const auto nodes =
        state_->nodes_for(s, detail::checkpoint_variables(s.bound_graph(), state_->options.variables, "saver"));
    std::vector<std::string> paths;
    for (const detail::kept_checkpoint& k : state_->kept(s, nodes->files, damaged))
        paths.push_back(state_->folder + k.file);
    return paths;
}

TENON_INLINE checkpoint_manifest saver::manifest(session& s, const std::string& path) {
    if (!state_) detail::moved_from("saver");
    const auto nodes =
        state_->nodes_for(s, detail::checkpoint_variables(s.bound_graph(), state_->options.variables, "saver"));
    return checkpoint_manifest::from_json(state_->read(s, nodes->files, path), path);
}

} // namespace tenon

#include <tenon/train/checkpoint/saver_restore.inl>
