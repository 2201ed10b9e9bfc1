#pragma once

#include <algorithm>
#include <set>
#include <utility>

#include <tenon/core/xxh64.hpp>
#include <tenon/core/error.hpp>
#include <tenon/io/json/json_parse.hpp>
#include <tenon/train/checkpoint/manifest.hpp>

namespace tenon {

namespace detail {

// Takes a text apart, and says what is wrong with it, and where it came from.
class manifest_reader {
public:
    manifest_reader(const std::string& text, const std::string& source, const char* format, std::int64_t latest) :
        source_(source) {
        try {
            all_ = parse_json(text, "'" + source + "'");
        } catch (const error& e) {
            throw data_loss_error(e.what());
        }
        if (!all_.get<json_value::object>() || text_in(all_, "format") != format)
            damaged(std::string("it is no \"") + format + "\"");
        const std::int64_t v = number_in(all_, "version");
        if (v < 1) damaged("there is no version 0");
        if (v > latest)
            throw unimplemented_error("'" + source_ + "' is of version " + std::to_string(v) +
                                      ", which a later Tenon wrote; this one reads version " + std::to_string(latest));
    }
    const json_value& all() const noexcept { return all_; }

    [[noreturn]] void damaged(const std::string& what) const {
        throw data_loss_error("'" + source_ + "' is damaged: " + what);
    }
    const json_value& in(const json_value& v, const char* name) const {
        const json_value* const found = v.find(name);
        if (!found) damaged(std::string("\"") + name + "\" is missing");
        return *found;
    }
    template <class T> const T& get(const json_value& v, const char* name, const char* wanted) const {
        const json_value& found = in(v, name);
        if (const T* const is = found.get<T>()) return *is;
        damaged(std::string("\"") + name + "\" must be " + wanted + ", not " + found.described());
    }
    const std::string& text_in(const json_value& v, const char* name) const {
        return get<std::string>(v, name, "a text");
    }
    // One that is not negative.
    std::int64_t number_in(const json_value& v, const char* name) const {
        const std::int64_t is = get<std::int64_t>(v, name, "an integer");
        if (is < 0) damaged(std::string("\"") + name + "\" is negative");
        return is;
    }
    const json_value::list& list_in(const json_value& v, const char* name) const {
        return get<json_value::list>(v, name, "a list");
    }
    // A name in the manifest's folder.
    const std::string& file_in(const json_value& v) const {
        const std::string& file = text_in(v, "file");
        if (file.empty() || file == "." || file == ".." ||
            file.find_first_of(std::string("/\0", 2)) != std::string::npos)
            damaged("\"" + file + "\" is no name of a file beside it");
        return file;
    }
    const std::string& id_in(const json_value& v) const {
        const std::string& id = text_in(v, "id");
        if (id.size() != 8 || id.find_first_not_of("0123456789abcdef") != std::string::npos)
            damaged("\"id\" must be 8 digits of base 16");
        return id;
    }

private:
    const std::string& source_;
    json_value all_;
};

inline element_type element_called(const std::string& name) {
    for (int e = 0; e < static_cast<int>(element_type::string); ++e)
        if (name == name_of(static_cast<element_type>(e))) return static_cast<element_type>(e);
    return element_type::none;
}

// The number that text has at `at`, and where it ends; -1 where there is none.
inline std::int64_t number_at(const std::string& text, std::size_t& at) {
    const std::size_t begin = at;
    std::int64_t number = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && at - begin < 18; ++at)
        number = number * 10 + (text[at] - '0');
    return at > begin ? number : -1;
}

TENON_INLINE checkpoint_file checkpoint_file_of(const std::string& file, const std::string& name) {
    checkpoint_file none, f;
    if (!file.starts_with(name + "-")) {
        // What was left of the list itself.
        f.step = 0;
        f.is_partial = true;
        return file.starts_with(name + ".checkpoints.json.partial-") ? f : none;
    }
    std::size_t at = name.size() + 1;
    f.step = number_at(file, at);
    if (f.step < 0) return none;
    const auto take = [&](const std::string& text) {
        if (file.compare(at, text.size(), text) != 0) return false;
        at += text.size();
        return true;
    };
    if (!take(".json")) {
        if (!take(".") || file.size() < at + 8) return none;
        f.id = file.substr(at, 8);
        at += 8;
        if (f.id.find_first_not_of("0123456789abcdef") != std::string::npos || !take("-") || number_at(file, at) < 1 ||
            !take("-of-") || number_at(file, at) < 1 || !(take(".safetensors") || take(".iterator")))
            return none;
    }
    f.is_partial = take(".partial-");
    return f.is_partial || at == file.size() ? f : none;
}

TENON_INLINE std::vector<kept_checkpoint> staying(std::vector<kept_checkpoint> kept, std::size_t most,
                                                  const std::string& also) {
    if (most == 0 || kept.size() <= most) return kept;
    const std::string self = kept.back().by;
    std::vector<bool> is_last(kept.size(), false); // of another that saves meanwhile
    std::set<std::string> seen{self, {}};
    for (std::size_t i = kept.size() - 1; i-- > 0 && kept[i].by != self;) is_last[i] = seen.insert(kept[i].by).second;
    std::vector<kept_checkpoint> stay;
    for (std::size_t i = 0; i < kept.size(); ++i)
        if (is_last[i] || i + most >= kept.size() || kept[i].file == also) stay.push_back(std::move(kept[i]));
    return stay;
}

TENON_INLINE std::string json_of_kept(const std::vector<kept_checkpoint>& kept) {
    json_value::list list;
    for (const kept_checkpoint& k : kept) {
        json_value::object is{{"file", k.file}, {"step", k.step}, {"id", k.id}};
        if (!k.by.empty()) is.push_back({"by", k.by});
        list.push_back(std::move(is));
    }
    return json_text(json_value::object{{"format", "tenon checkpoints"}, {"version", 1}, {"kept", std::move(list)}},
                     1) +
           "\n";
}

TENON_INLINE std::vector<kept_checkpoint> kept_of_json(const std::string& text, const std::string& source) {
    const manifest_reader r(text, source, "tenon checkpoints", 1);
    std::vector<kept_checkpoint> kept;
    for (const json_value& v : r.list_in(r.all(), "kept"))
        kept.push_back({r.file_in(v), r.number_in(v, "step"), r.id_in(v), v.find("by") ? r.text_in(v, "by") : ""});
    return kept;
}

} // namespace detail

TENON_INLINE const checkpoint_manifest::tensor* checkpoint_manifest::find(const std::string& name) const {
    const auto at = std::find_if(tensors.begin(), tensors.end(), [&](const tensor& t) { return t.name == name; });
    return at == tensors.end() ? nullptr : &*at;
}

TENON_INLINE std::string checkpoint_manifest::to_json() const {
    using detail::json_value;
    json_value::list files;
    for (const shard& s : shards)
        files.push_back(json_value::object{
            {"file", s.file}, {"bytes", s.bytes}, {"hash", detail::text_of_xxh64(s.hash)}, {"task", s.task}});
    json_value::object all;
    int version = 1;
    for (const tensor& t : tensors) {
        json_value::list sizes;
        for (const extent& e : t.type.extents) sizes.push_back(e.size);
        json_value::object is{{"dtype", name_of(t.type.element)}, {"shape", std::move(sizes)}};
        json_value::list slices;
        for (const slice& part : t.slices)
            slices.push_back(json_value::object{
                {"tensor", part.tensor}, {"first", part.first}, {"rows", part.rows}, {"shard", part.shard}});
        if (t.slices.empty()) is.push_back({"shard", t.shard});
        else {
            is.push_back({"slices", std::move(slices)});
            version = 2;
        }
        all.push_back({t.name, std::move(is)});
    }
    json_value::object whole{{"format", "tenon checkpoint"},
                             {"version", iterators.empty() ? version : 3},
                             {"step", step},
                             {"id", id},
                             {"shards", std::move(files)},
                             {"tensors", std::move(all)}};
    if (!iterators.empty()) {
        json_value::object places;
        for (const iterator& it : iterators)
            places.push_back(
                {it.name,
                 json_value::object{{"file", it.file}, {"bytes", it.bytes}, {"hash", detail::text_of_xxh64(it.hash)}}});
        whole.push_back({"iterators", std::move(places)});
    }
    if (!random_runs.empty()) {
        json_value::object runs;
        for (const run_count& c : random_runs) runs.push_back({c.node, static_cast<std::int64_t>(c.runs)});
        whole.push_back({"random_runs", std::move(runs)});
    }
    if (!metadata.empty()) {
        json_value::object texts;
        for (const auto& [name, text] : metadata) texts.push_back({name, text});
        whole.push_back({"metadata", std::move(texts)});
    }
    return detail::json_text(std::move(whole), 1) + "\n";
}

TENON_INLINE checkpoint_manifest checkpoint_manifest::from_json(const std::string& text, const std::string& source) {
    using detail::json_value;
    const detail::manifest_reader r(text, source, "tenon checkpoint", 3);
    checkpoint_manifest m;
    m.step = r.number_in(r.all(), "step");
    m.id = r.id_in(r.all());
    for (const json_value& v : r.list_in(r.all(), "shards")) {
        shard s{r.file_in(v), r.number_in(v, "bytes"), 0, r.text_in(v, "task")};
        if (!detail::xxh64_of_text(r.text_in(v, "hash"), s.hash)) r.damaged("the hash of " + s.file + " is none");
        m.shards.push_back(std::move(s));
    }
    for (const detail::json_member& v : r.get<json_value::object>(r.all(), "tensors", "an object")) {
        tensor t{v.name, {detail::element_called(r.text_in(v.value, "dtype")), {}}, 0};
        if (t.type.element == element_type::none) r.damaged("tensor '" + t.name + "' has a dtype that there is not");
        for (const json_value& size : r.list_in(v.value, "shape")) {
            const std::int64_t* const n = size.get<std::int64_t>();
            if (!n || *n < 0) r.damaged("tensor '" + t.name + "' has a size that is " + size.described());
            t.type.extents.push_back(*n);
            if (t.type.extents.overfull()) r.damaged("tensor '" + t.name + "' has too many dimensions");
        }
        if (!is_countable(t.type)) r.damaged("tensor '" + t.name + "' has more elements than fit into memory");
        const auto shard_in = [&](const json_value& of) {
            const std::int64_t shard = r.number_in(of, "shard");
            if (shard >= static_cast<std::int64_t>(m.shards.size()))
                r.damaged("tensor '" + t.name + "' is in shard " + std::to_string(shard) + " of " +
                          std::to_string(m.shards.size()));
            return static_cast<int>(shard);
        };
        if (v.value.find("slices")) {
            const std::int64_t rows = t.type.extents.rank() > 0 ? t.type.extents[0].size : -1;
            std::int64_t next = 0;
            for (const json_value& part : r.list_in(v.value, "slices")) {
                slice s{r.text_in(part, "tensor"), r.number_in(part, "first"), r.number_in(part, "rows"),
                        shard_in(part)};
                if (s.first != next || s.rows > rows - next)
                    r.damaged("the slices of tensor '" + t.name + "' are not all of its rows, one after the other");
                next += s.rows;
                t.slices.push_back(std::move(s));
            }
            if (t.slices.empty() || next != rows)
                r.damaged("the slices of tensor '" + t.name + "' are not all of its rows, one after the other");
        } else t.shard = shard_in(v.value);
        m.tensors.push_back(std::move(t));
    }
    if (r.all().find("iterators"))
        for (const detail::json_member& v : r.get<json_value::object>(r.all(), "iterators", "an object")) {
            iterator it{v.name, r.file_in(v.value), r.number_in(v.value, "bytes"), 0};
            if (!detail::xxh64_of_text(r.text_in(v.value, "hash"), it.hash))
                r.damaged("the hash of " + it.file + " is none");
            m.iterators.push_back(std::move(it));
        }
    if (r.all().find("random_runs")) {
        const json_value& runs = r.in(r.all(), "random_runs");
        for (const detail::json_member& v : r.get<json_value::object>(r.all(), "random_runs", "an object"))
            m.random_runs.push_back({v.name, static_cast<std::uint64_t>(r.number_in(runs, v.name.c_str()))});
    }
    if (r.all().find("metadata")) {
        const json_value& texts = r.in(r.all(), "metadata");
        for (const detail::json_member& v : r.get<json_value::object>(r.all(), "metadata", "an object"))
            m.metadata[v.name] = r.text_in(texts, v.name.c_str());
    }
    return m;
}

} // namespace tenon
