#include <net/python/weights.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <net/python/values.hpp>
#include <tenon/core/array/copy_elements.hpp>
#include <tenon/core/xxh64.hpp>
#include <tenon/io/files/file.hpp>
#include <tenon/io/safetensors/safetensors.hpp>
#include <tenon/train/checkpoint/manifest.hpp>

namespace tenon::python {

namespace nb = nanobind;

namespace {

// The folder that a path is in, with its slash.
std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

safetensors_file open_shard(const std::string& path, const checkpoint_manifest::shard& s) {
    const detail::mapped_file bytes("read_weights", path);
    const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (static_cast<std::int64_t>(bytes.size()) != s.bytes || detail::xxh64(all) != s.hash)
        throw data_loss_error(path + ": it is not as it was written: its checkpoint says " + std::to_string(s.bytes) +
                              " bytes and another hash; take another checkpoint");
    return read_safetensors(path);
}

// Arrays in files, read when they are asked for.
class weights {
public:
    explicit weights(std::string path) : path_(std::move(path)) {
        if (path_.ends_with(".safetensors")) {
            files_.push_back(read_safetensors(path_));
            metadata_ = files_.back().metadata();
            for (const safetensors_file::tensor& t : files_.back().tensors())
                all_[t.name] = {t.type, {{t.name, 0, 0, 0}}};
        } else read_manifest(path_.ends_with(".json") ? path_ : latest(path_));
    }

    weights(weights&&) noexcept = default;

    const std::string& path() const noexcept { return path_; }
    std::int64_t step() const noexcept { return step_; }
    const safetensors_metadata& metadata() const noexcept { return metadata_; }
    std::size_t size() const noexcept { return all_.size(); }
    bool has(const std::string& name) const { return all_.contains(name); }
    std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (const auto& [name, t] : all_) names.push_back(name);
        return names;
    }
    any_array load(const std::string& name) const {
        const auto at = all_.find(name);
        if (at == all_.end()) {
            std::string known;
            for (const auto& [other, t] : all_) known += " " + other;
            throw not_found_error(path_ + " has no \"" + name + "\"; it has" + (known.empty() ? " nothing" : known));
        }
        const auto& [type, slices] = at->second;
        if (slices.size() == 1) {
            any_array whole = file(slices[0]).load(slices[0].tensor);
            require_same(name, whole.type(), type);
            return whole;
        }
        any_array joined(type.element, type.extents);
        const std::int64_t row = joined.elements() / std::max<std::int64_t>(type.extents[0].size, 1);
        for (const checkpoint_manifest::slice& s : slices) {
            const any_array part = file(s).load(s.tensor);
            tensor_type wanted = type;
            wanted.extents[0] = s.rows;
            require_same(s.tensor, part.type(), wanted);
            detail::copy_elements(type.element, joined.data(), s.first * row, part.data(), 0, part.elements());
        }
        return joined;
    }
    std::string shown() const {
        std::string text = "tenon.Weights of " + path_ + (step_ >= 0 ? ", step " + std::to_string(step_) : "");
        for (const auto& [name, t] : all_) text += "\n  " + name + ": " + to_string(t.first);
        return text;
    }

private:
    const safetensors_file& file(const checkpoint_manifest::slice& s) const {
        return files_.at(static_cast<std::size_t>(s.shard));
    }
    void require_same(const std::string& name, const tensor_type& is, const tensor_type& said) const {
        if (is == said) return;
        throw data_loss_error(path_ + ": " + name + " is " + to_string(is) + " in its file, and " + to_string(said) +
                              " by the checkpoint");
    }
    static std::string latest(const std::string& prefix) {
        const std::string list = prefix + ".checkpoints.json";
        const auto kept = detail::kept_of_json(detail::text_of_file("read_weights", list), list);
        if (kept.empty()) throw not_found_error(list + " names no checkpoint");
        return folder_of(prefix) + kept.back().file;
    }
    void read_manifest(const std::string& path) {
        path_ = path;
        const auto m = checkpoint_manifest::from_json(detail::text_of_file("read_weights", path), path);
        step_ = m.step;
        for (const checkpoint_manifest::shard& s : m.shards) files_.push_back(open_shard(folder_of(path) + s.file, s));
        for (const checkpoint_manifest::tensor& t : m.tensors)
            all_[t.name] = {t.type, t.slices.empty() ? std::vector<checkpoint_manifest::slice>{{t.name, 0, 0, t.shard}}
                                                     : t.slices};
    }

    std::string path_;
    std::int64_t step_ = -1;
    safetensors_metadata metadata_;
    std::vector<safetensors_file> files_;
    std::map<std::string, std::pair<tensor_type, std::vector<checkpoint_manifest::slice>>> all_;
};

nb::list items(const weights& w) {
    nb::list all;
    for (const std::string& name : w.names()) all.append(nb::make_tuple(name, to_python(w.load(name))));
    return all;
}

void write(const std::filesystem::path& path, nb::dict arrays, const safetensors_metadata& metadata) {
    std::vector<std::pair<std::string, any_array>> all;
    for (const auto [name, value] : arrays) {
        auto n = nb::cast<std::string>(name);
        any_array a = array_of(value, element_type::none, n);
        all.emplace_back(std::move(n), std::move(a));
    }
    std::vector<named_array> named;
    for (const auto& [name, a] : all) named.push_back({name, a});
    const nb::gil_scoped_release others_go_on;
    write_safetensors(path.string(), named, metadata);
}

} // namespace

void add_weights(nb::module_& m) {
    nb::class_<weights>(m, "Weights",
                        "The arrays of a file, by name: a mapping. An Array that it gives is the file's own memory, "
                        "mapped; writing to it "
                        "does not change the file.")
        .def_prop_ro("path", &weights::path)
        .def_prop_ro(
            "step", [](const weights& w) { return w.step() < 0 ? nb::none() : nb::object(nb::int_(w.step())); },
            "Of a checkpoint: after how many steps it was saved.")
        .def_prop_ro("metadata", &weights::metadata, "Texts that go with the arrays of a safetensors file.")
        .def("keys", &weights::names)
        .def("items", items)
        .def("__getitem__", [](const weights& w, const std::string& name) { return held_array{w.load(name)}; })
        .def("__contains__", &weights::has)
        .def("__iter__", [](const weights& w) { return nb::iter(nb::cast(w.names())); })
        .def("__len__", &weights::size)
        .def("__repr__", &weights::shown);
    m.def(
        "read_weights",
        [](const std::filesystem::path& path) {
            const nb::gil_scoped_release others_go_on;
            return weights(path.string());
        },
        nb::arg("path"),
        "What is in a .safetensors file, in a checkpoint (the path of its .json), or in the last checkpoint with a "
        "prefix. The files of a "
        "checkpoint are held against the hashes that it says.");
    m.def("write_safetensors", write, nb::arg("path"), nb::arg("arrays"), nb::arg("metadata") = safetensors_metadata(),
          "Writes a dict of Arrays, or of what becomes one, and of texts to a file, whole or not at all. "
          "tn::load_variables reads it.");
}

} // namespace tenon::python
