#pragma once

#include <set>

// A part of train/checkpoint/saver.ipp: restoring.

namespace tenon {

TENON_INLINE restored_checkpoint saver::restore(session& s, const restore_options& o) {
    if (!state_) detail::moved_from("saver");
    const state& self = *state_;
    const auto nodes =
        state_->nodes_for(s, detail::checkpoint_variables(s.bound_graph(), self.options.variables, "saver"));
    std::vector<std::string> passed_over, paths; // the first is to be restored
    if (!o.checkpoint.empty()) paths.push_back(o.checkpoint);
    if (o.checkpoint.empty() || o.fall_back) {
        std::vector<detail::kept_checkpoint> kept = self.kept(s, nodes->files, o.fall_back ? &passed_over : nullptr);
        if (!o.checkpoint.empty()) { // those before it, or all
            const auto at = std::find_if(kept.begin(), kept.end(),
                                         [&](const auto& k) { return self.folder + k.file == o.checkpoint; });
            kept.erase(at, kept.end());
        }
        for (auto k = kept.rbegin(); k != kept.rend(); ++k) paths.push_back(self.folder + k->file);
    }
    if (paths.empty() && passed_over.empty())
        throw not_found_error("saver::restore: there is no checkpoint '" + self.prefix +
                              "-STEP.json'; save one, or say where it is");
    for (const std::string& path : paths) {
        std::string manifest;
        try {
            manifest = self.read(s, nodes->files, path);
        } catch (const not_found_error& e) {
            if (!o.fall_back) throw;
            passed_over.push_back(path + ": " + e.what());
            continue;
        }
        try {
            restored_checkpoint r = restore_one(s, path, manifest, o.partial);
            r.passed_over = std::move(passed_over);
            return r;
        } catch (const data_loss_error& e) {
            if (!o.fall_back)
                throw data_loss_error(std::string(e.what()) + "; the checkpoint '" + path +
                                      "' is not whole: restore another one, or ask for the last that is "
                                      "(restore_options::fall_back)");
            passed_over.push_back(path + ": " + e.what());
        }
    }
    std::string all;
    for (const std::string& line : passed_over) all += "\n  " + line;
    throw data_loss_error("saver::restore: no checkpoint of '" + self.prefix + "' is whole:" + all);
}

TENON_INLINE restored_checkpoint saver::restore_one(session& s, const std::string& path, const std::string& manifest,
                                                    bool partial) {
    const state& self = *state_;
    const std::vector<any_tensor> variables =
        detail::checkpoint_variables(s.bound_graph(), self.options.variables, "saver");
    const auto nodes = state_->nodes_for(s, variables);
    restored_checkpoint restored;
    restored.path = path;
    // A file that is not there is one that was lost: what is said of it is what its checkpoint is.
    const auto with_all_files = [](auto&& f) {
        try {
            return f();
        } catch (const not_found_error& e) {
            throw data_loss_error(e.what());
        }
    };
    const checkpoint_manifest m = checkpoint_manifest::from_json(manifest, path);
    restored.step = m.step;
    std::map<std::string, const checkpoint_manifest::tensor*> by_name;
    std::vector<std::string> names;
    for (const checkpoint_manifest::tensor& t : m.tensors) {
        by_name[t.name] = &t;
        names.push_back(t.name);
    }
    const auto type_of = [&](const std::string& name) -> const tensor_type* {
        const auto at = by_name.find(name);
        return at == by_name.end() ? nullptr : &at->second->type;
    };
    std::vector<any_tensor> wholes;
    std::map<const node*, std::pair<const node*, std::int64_t>>
        place_of; // by variable: of what it is rows, and the first
    for (const detail::whole_variable& w : detail::whole_variables(variables)) {
        wholes.push_back(w.variable);
        for (std::size_t p = 0; p < w.parts.size(); ++p) place_of[w.parts[p].node()] = {w.variable.node(), w.first[p]};
    }
    const std::vector<any_tensor> found =
        detail::match_variables("saver::restore", restored.path, wholes, type_of, names, partial, restored);
    if (found.empty()) return restored;
    std::set<const node*> wanted;
    for (const any_tensor& v : found) wanted.insert(v.node());
    const std::size_t slash = restored.path.rfind('/');
    const std::string beside = slash == std::string::npos ? "" : restored.path.substr(0, slash + 1);
    std::vector<std::pair<any_tensor, any_array>> fed;
    // Iterators first: what does not fit them is found before a variable has changed.
    for (const detail::iterator_nodes& it : nodes->iterators)
        for (const checkpoint_manifest::iterator& place : m.iterators) {
            if (place.name != it.name) continue;
            const std::string text = with_all_files([&] { return self.read(s, nodes->files, beside + place.file); });
            if (static_cast<std::int64_t>(text.size()) != place.bytes || detail::xxh64(text) != place.hash)
                throw data_loss_error("saver::restore: '" + beside + place.file + "' is not as it was written");
            fed.emplace_back(it.state, detail::text_array(text));
            try {
                (void)self.run(s, std::exchange(fed, {}), {}, {it.restore});
            } catch (const error& e) {
                if (e.reason() != error_reason::other_shard) throw;
                restored.other_shards.push_back(it.name);
            }
        }
    std::vector<operation> targets;
    for (const detail::variable_shard& shard : nodes->shards) {
        std::vector<std::string> files, tensors;
        std::vector<std::int64_t> pieces;
        for (std::size_t v = 0; v < shard.variables.size(); ++v) {
            const any_tensor& variable = shard.variables[v];
            const auto [whole, first] = place_of.at(variable.node());
            if (!wanted.contains(whole)) continue;
            const checkpoint_manifest::tensor& t = *by_name.at(whole->name);
            const std::int64_t rows = variable.rank() > 0 ? variable.extents()[0].size : 1;
            const std::int64_t all = t.type.extents.rank() > 0 ? t.type.extents[0].size : 1;
            for (const checkpoint_manifest::slice& part :
                 t.slices.empty() ? std::vector<checkpoint_manifest::slice>{{t.name, 0, all, t.shard}} : t.slices) {
                const std::int64_t begin = std::max(first, part.first);
                const std::int64_t end = std::min(first + rows, part.first + part.rows);
                if (begin >= end) continue;
                const checkpoint_manifest::shard& from = m.shards[static_cast<std::size_t>(part.shard)];
                files.push_back(beside + from.file);
                tensors.push_back(part.tensor);
                pieces.insert(pieces.end(),
                              {static_cast<std::int64_t>(v), from.bytes, static_cast<std::int64_t>(from.hash),
                               begin - part.first, end - begin, begin - first});
            }
            targets.insert(targets.end(), shard.assignments[v].begin(), shard.assignments[v].end());
        }
        any_array table(element_type::int64, {static_cast<std::int64_t>(files.size()), restore_shard_op::columns});
        std::copy(pieces.begin(), pieces.end(), table.data<std::int64_t>());
        fed.emplace_back(shard.files, detail::text_array(files));
        fed.emplace_back(shard.tensors, detail::text_array(tensors));
        fed.emplace_back(shard.pieces, std::move(table));
    }
    with_all_files([&] { (void)self.run(s, fed, {}, targets); });
    s.set_random_runs(m.random_runs);
    return restored;
}

TENON_INLINE bool saver::go_on_with_random_numbers(session& s) {
    const std::vector<std::string> all = checkpoints(s);
    if (!all.empty()) s.set_random_runs(manifest(s, all.back()).random_runs);
    return !all.empty();
}

} // namespace tenon
