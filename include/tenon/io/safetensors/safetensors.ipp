#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include <tenon/io/files/file.hpp>
#include <tenon/io/json/json_parse.hpp>
#include <tenon/io/safetensors/safetensors.hpp>

namespace tenon {

namespace detail {

struct safetensors_element {
    const char* text;
    element_type element;
};
inline constexpr safetensors_element safetensors_elements[] = {
    {"F64", element_type::float64},   {"F32", element_type::float32}, {"F16", element_type::float16},
    {"BF16", element_type::bfloat16}, {"I64", element_type::int64},   {"I32", element_type::int32},
    {"I16", element_type::int16},     {"I8", element_type::int8},     {"U64", element_type::uint64},
    {"U32", element_type::uint32},    {"U16", element_type::uint16},  {"U8", element_type::uint8},
    {"BOOL", element_type::boolean}};

inline constexpr std::uint64_t longest_safetensors_header = 100'000'000;
inline constexpr const char* metadata_key = "__metadata__";

// Takes the header as it is parsed: it has a fixed form of three levels, and what has another is refused on
// sight, so that neither depth nor repeated keys can do harm.
class safetensors_header final : public json_listener {
public:
    std::vector<safetensors_file::tensor> tensors;
    safetensors_metadata metadata;
    std::string wrong;           // what is not as it should be
    bool is_unsupported = false; // well formed, but beyond what arrays can be

    bool begin_object() override {
        if (where_ == place::start) return go(place::root);
        if (where_ != place::root) return refuse("an object where none belongs");
        if (key_ == metadata_key) return go(place::metadata);
        tensors.emplace_back().name = key_;
        has_element_ = has_sizes_ = has_offsets_ = false;
        return go(place::tensor);
    }
    bool key(std::string&& text) override {
        key_ = text;
        if (where_ == place::root) return names_.insert(text).second || refuse("the name '" + text + "' comes twice");
        if (where_ == place::metadata)
            return metadata.emplace(text, "").second || refuse("the metadata '" + text + "' comes twice");
        bool* had = text == "dtype"          ? &has_element_
                    : text == "shape"        ? &has_sizes_
                    : text == "data_offsets" ? &has_offsets_
                                             : nullptr;
        if (!had) return refuse("unknown key '" + text + "' in '" + tensors.back().name + "'");
        if (*had) return refuse("'" + text + "' comes twice in '" + tensors.back().name + "'");
        return *had = true;
    }
    bool end_object() override {
        if (where_ == place::root) return go(place::end);
        if (where_ == place::tensor) {
            if (!has_element_ || !has_sizes_ || !has_offsets_)
                return refuse("'" + tensors.back().name + "' lacks dtype, shape or data_offsets");
        }
        return go(place::root);
    }
    bool begin_list() override {
        if (where_ != place::tensor || key_ == "dtype") return refuse("a list where none belongs");
        offsets_ = 0;
        return go(key_ == "shape" ? place::sizes : place::offsets);
    }
    bool end_list() override {
        if (where_ == place::offsets && offsets_ != 2)
            return refuse("'" + tensors.back().name + "' has " + std::to_string(offsets_) +
                          " data_offsets instead of 2");
        return go(place::tensor);
    }
    bool scalar(json_value&& v) override {
        if (const auto* text = v.get<std::string>()) return take_text(*text);
        if (const auto* number = v.get<std::int64_t>(); number && *number >= 0) return take_number(*number);
        if (v.is_null()) return refuse("a null");
        if (v.get<bool>()) return refuse("a boolean");
        return refuse("the number " + json_text(v) + " where it does not belong");
    }
    void defect(const std::string& what) override { wrong = what; }

private:
    bool take_text(const std::string& text) {
        if (where_ == place::metadata) {
            metadata[key_] = text;
            return true;
        }
        if (where_ != place::tensor || key_ != "dtype") return refuse("a text where none belongs");
        for (const safetensors_element& e : safetensors_elements)
            if (text == e.text) {
                tensors.back().type.element = e.element;
                return true;
            }
        is_unsupported = true;
        return refuse("'" + tensors.back().name + "' has elements of type " + text + ", which Tenon does not have");
    }
    bool take_number(std::int64_t number) {
        if (where_ != place::sizes && where_ != place::offsets)
            return refuse("the number " + std::to_string(number) + " where it does not belong");
        safetensors_file::tensor& t = tensors.back();
        if (where_ == place::sizes) {
            t.type.extents.push_back(number);
            if (!t.type.extents.overfull()) return true;
            is_unsupported = true;
            return refuse("'" + t.name + "' has a rank of more than " + std::to_string(max_rank));
        }
        if (offsets_ < 2) (offsets_ == 0 ? t.begin : t.end) = number;
        ++offsets_;
        return true;
    }
    enum class place { start, root, tensor, sizes, offsets, metadata, end };

    bool go(place next) {
        where_ = next;
        return true;
    }
    bool refuse(const std::string& what) {
        wrong = what;
        return false;
    }

    place where_ = place::start;
    std::string key_;
    std::set<std::string> names_;
    int offsets_ = 0;
    bool has_element_ = false, has_sizes_ = false, has_offsets_ = false;
};

inline std::uint64_t read_little_endian(const std::uint8_t* bytes) {
    std::uint64_t value = 0;
    for (int i = 7; i >= 0; --i) value = value << 8 | bytes[i];
    return value;
}

// Little-endian elements as the host's, or back.
inline void swap_on_big_endian(any_array& a) {
    if constexpr (std::endian::native == std::endian::little) return;
    auto* bytes = static_cast<std::byte*>(a.data());
    const std::size_t size = size_of(a.element());
    for (std::size_t i = 0; i < a.bytes(); i += size) std::reverse(bytes + i, bytes + i + size);
}

// Throws data_loss_error unless the tensors lie one after another and fill the `there` bytes after the
// header.
inline void check_places(std::vector<safetensors_file::tensor> tensors, std::int64_t there, const std::string& file) {
    const auto say = [&](const std::string& what) { return "read_safetensors: '" + file + "': " + what; };
    std::sort(tensors.begin(), tensors.end(),
              [](const auto& a, const auto& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    std::int64_t at = 0;
    for (const auto& t : tensors) {
        const std::string text = "'" + t.name + "', " + to_string(t.type) + " at bytes " + std::to_string(t.begin) +
                                 " to " + std::to_string(t.end);
        std::int64_t bytes = 0;
        try {
            bytes =
                checked_elements(t.type.element, t.type.extents) * static_cast<std::int64_t>(size_of(t.type.element));
        } catch (const invalid_argument_error& e) {
            throw data_loss_error(say("'" + t.name + "': " + e.what()));
        }
        if (t.end < t.begin || t.end - t.begin != bytes)
            throw data_loss_error(say(text + " should take " + std::to_string(bytes) + " bytes"));
        if (t.begin != at)
            throw data_loss_error(say(text + (t.begin < at ? " overlaps the one before" : " leaves a hole") +
                                      ", which ends at byte " + std::to_string(at)));
        at = t.end;
    }
    if (at != there)
        throw data_loss_error(say("the header promises " + std::to_string(at) + " bytes of elements, but there are " +
                                  std::to_string(there)));
}

} // namespace detail

TENON_INLINE safetensors_file::safetensors_file(array<std::uint8_t> bytes, std::string name) :
    bytes_(std::move(bytes)), name_(std::move(name)) {
    const auto say = [&](const std::string& what) { return "read_safetensors: '" + name_ + "': " + what; };
    const std::int64_t size = bytes_.size();
    const std::uint8_t* data = std::as_const(bytes_).data();
    if (size < 8)
        throw data_loss_error(say("the file ends after " + std::to_string(size) + " bytes, within its first 8"));
    const std::uint64_t length = detail::read_little_endian(data);
    if (length > detail::longest_safetensors_header)
        throw invalid_argument_error(say("not a safetensors file: a header of " + std::to_string(length) +
                                         " bytes, where at most 100,000,000 are allowed"));
    if (size > 8 && data[8] != '{')
        throw invalid_argument_error(say("not a safetensors file: the header is no JSON object"));
    data_begin_ = 8 + static_cast<std::int64_t>(length);
    if (size < data_begin_)
        throw data_loss_error(say("the header should take " + std::to_string(length) +
                                  " bytes, but the file ends after " + std::to_string(size - 8)));
    detail::safetensors_header header;
    if (!detail::read_json(reinterpret_cast<const char*>(data) + 8, static_cast<std::size_t>(length), header)) {
        const std::string text = say("in the header, " + header.wrong);
        if (header.is_unsupported) throw unimplemented_error(text);
        throw data_loss_error(text);
    }
    tensors_ = std::move(header.tensors);
    metadata_ = std::move(header.metadata);
    detail::check_places(tensors_, size - data_begin_, name_);
    std::sort(tensors_.begin(), tensors_.end(), [](const tensor& a, const tensor& b) { return a.name < b.name; });
}

TENON_INLINE const safetensors_file::tensor* safetensors_file::find(const std::string& name) const {
    const auto found = std::lower_bound(tensors_.begin(), tensors_.end(), name,
                                        [](const tensor& t, const std::string& wanted) { return t.name < wanted; });
    return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

TENON_INLINE any_array safetensors_file::load(const std::string& name) const {
    const tensor* t = find(name);
    if (!t) {
        std::string there;
        for (std::size_t i = 0; i < tensors_.size() && i < 10; ++i) there += (i ? ", '" : "'") + tensors_[i].name + "'";
        if (tensors_.size() > 10) there += ", ...";
        throw not_found_error("read_safetensors: '" + name_ + "' has no tensor '" + name + "'; it has " +
                              std::to_string(tensors_.size()) + (there.empty() ? "" : ": ") + there);
    }
    any_array bytes = bytes_.untyped().share().slice(data_begin_ + t->begin, data_begin_ + t->end);
    if (t->type.element == element_type::boolean) {
        const auto* b = static_cast<const std::uint8_t*>(std::as_const(bytes).data());
        if (std::any_of(b, b + bytes.elements(), [](std::uint8_t v) { return v > 1; }))
            throw data_loss_error("read_safetensors: '" + name_ + "': '" + name +
                                  "' holds bools that are neither 0 nor 1");
    }
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % size_of(t->type.element) == 0;
    if (bytes.elements() > 0 && is_aligned && !bytes.is_view() && std::endian::native == std::endian::little) {
        auto owner = std::make_unique<any_array>(std::move(bytes));
        const auto let_go = [](void* context, void*) { delete static_cast<any_array*>(context); };
        any_array a = any_array::adopt(owner->data(), t->type.element, t->type.extents, let_go, owner.get());
        (void)owner.release();
        return a;
    }
    any_array a(t->type.element, t->type.extents);
    if (a.bytes() > 0) std::memcpy(a.data(), bytes.data(), a.bytes());
    detail::swap_on_big_endian(a);
    return a;
}

TENON_INLINE any_array safetensors_file::load_as(const std::string& name, element_type element) const {
    any_array a = load(name);
    if (a.element() != element)
        throw invalid_argument_error("read_safetensors: '" + name_ + "': '" + name + "' is " + to_string(a.type()) +
                                     ", but its elements are asked for as " + name_of(element));
    return a;
}

TENON_INLINE safetensors_file read_safetensors(const std::string& path) {
    auto map = std::make_unique<detail::mapped_file>("read_safetensors", path);
    if (map->size() == 0) return safetensors_file(array<std::uint8_t>(), path);
    const extents sizes{static_cast<std::int64_t>(map->size())};
    const auto unmap = [](void* context, void*) { delete static_cast<detail::mapped_file*>(context); };
    any_array bytes =
        any_array::adopt(const_cast<std::byte*>(map->data()), element_type::uint8, sizes, unmap, map.get());
    (void)map.release();
    return safetensors_file(array<std::uint8_t>(std::move(bytes)), path);
}

namespace detail {

TENON_INLINE void write_safetensors_to(function_ref<void(const void* from, std::size_t bytes)> out,
                                       const std::string& path, std::span<const named_array> arrays,
                                       const safetensors_metadata& metadata) {
    const auto say = [&](const std::string& what) { return "write_safetensors: '" + path + "': " + what; };
    std::vector<const named_array*> ordered;
    std::set<std::string> names;
    for (const named_array& a : arrays) {
        if (a.name == metadata_key) throw invalid_argument_error(say("the name '" + a.name + "' is the format's own"));
        if (!names.insert(a.name).second) throw invalid_argument_error(say("the name '" + a.name + "' is given twice"));
        ordered.push_back(&a);
    }
    std::stable_sort(ordered.begin(), ordered.end(), [](const named_array* a, const named_array* b) {
        return size_of(a->value.element()) > size_of(b->value.element());
    });

    const auto quoted = [&](const std::string& text) {
        try {
            return json_text(text);
        } catch (const invalid_argument_error&) {
            throw invalid_argument_error(say("a name or text is not UTF-8: '" + text + "'"));
        }
    };
    std::string header = "{";
    const auto add = [&](const std::string& key) -> std::string& {
        return header.append(header.size() > 1 ? "," : "").append(quoted(key)).append(":{");
    };
    if (!metadata.empty()) {
        add(metadata_key);
        for (const auto& [key, value] : metadata) {
            if (header.back() != '{') header += ',';
            header.append(quoted(key)).append(":").append(quoted(value));
        }
        header += '}';
    }
    std::size_t at = 0;
    for (const named_array* a : ordered) {
        const char* element = nullptr;
        for (const auto& e : safetensors_elements)
            if (e.element == a->value.element()) element = e.text;
        if (!element)
            throw invalid_argument_error(say("'" + a->name + "' has elements of type " + name_of(a->value.element()) +
                                             ", which the format does not have"));
        // to_string writes extents as JSON does a list.
        add(a->name)
            .append("\"dtype\":\"")
            .append(element)
            .append("\",\"shape\":")
            .append(to_string(a->value.extents()));
        const std::size_t end = at + a->value.bytes();
        header.append(",\"data_offsets\":[")
            .append(std::to_string(at))
            .append(",")
            .append(std::to_string(end))
            .append("]}");
        at = end;
    }
    header += '}';
    // The elements begin at a multiple of 64 bytes, as arrays do.
    header.resize((8 + header.size() + 63) / 64 * 64 - 8, ' ');
    if (header.size() > longest_safetensors_header)
        throw invalid_argument_error(say("names and metadata take " + std::to_string(header.size()) +
                                         " bytes, more than the 100,000,000 that the format allows"));

    std::uint8_t length[8];
    for (int i = 0; i < 8; ++i) length[i] = static_cast<std::uint8_t>(header.size() >> 8 * i);
    out(length, sizeof length);
    out(header.data(), header.size());
    for (const named_array* a : ordered) {
        if constexpr (std::endian::native == std::endian::little) {
            out(a->value.data(), a->value.bytes());
        } else {
            any_array swapped = a->value.copy();
            swap_on_big_endian(swapped);
            out(swapped.data(), swapped.bytes());
        }
    }
}

// All but giving the file its name, which is done to what this returns.
inline std::unique_ptr<output_file> written_safetensors(const std::string& path, std::span<const named_array> arrays,
                                                        const safetensors_metadata& metadata) {
    std::unique_ptr<output_file> file; // what cannot be written at all makes none
    const auto write = [&](const void* from, std::size_t bytes) {
        if (!file) file = std::make_unique<output_file>("write_safetensors", path);
        file->write(from, bytes);
    };
    write_safetensors_to(write, path, arrays, metadata);
    return file;
}

} // namespace detail

TENON_INLINE void write_safetensors(const std::string& path, std::span<const named_array> arrays,
                                    const safetensors_metadata& metadata) {
    detail::written_safetensors(path, arrays, metadata)->commit();
}

TENON_INLINE void rehearse_safetensors(const std::string& path, std::span<const named_array> arrays,
                                       const safetensors_metadata& metadata) {
    detail::written_safetensors(path, arrays, metadata)->rehearse();
}

} // namespace tenon
