#include <net/serve/open_inference.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include <net/http/status/status_json.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/io/json/json_parse.hpp>

namespace tenon::net {

namespace {

using value = tenon::detail::json_value;
using list = value::list;
using object = value::object;

constexpr std::pair<element_type, const char*> types[] = {
    {element_type::boolean, "BOOL"},  {element_type::int8, "INT8"},     {element_type::int16, "INT16"},
    {element_type::int32, "INT32"},   {element_type::int64, "INT64"},   {element_type::uint8, "UINT8"},
    {element_type::uint16, "UINT16"}, {element_type::uint32, "UINT32"}, {element_type::uint64, "UINT64"},
    {element_type::float16, "FP16"},  {element_type::bfloat16, "BF16"}, {element_type::float32, "FP32"},
    {element_type::float64, "FP64"},  {element_type::string, "BYTES"}};

[[noreturn]] void refuse(const std::string& what) { throw invalid_argument_error(what); }

const value& member(const value& of, const char* name, const std::string& where) {
    if (const value* const v = of.find(name)) return *v;
    refuse(where + " has no \"" + name + "\"");
}
const std::string& text_of(const value& v, const std::string& where) {
    if (const std::string* const t = v.get<std::string>()) return *t;
    refuse(where + " is " + v.described() + ", and must be a text");
}
std::int64_t size_of_dimension(const value& v, const std::string& where) {
    const std::int64_t* const n = v.get<std::int64_t>();
    const std::uint64_t* const u = v.get<std::uint64_t>();
    if (n && *n >= 0) return *n;
    if (u && *u <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        return static_cast<std::int64_t>(*u);
    refuse(where + " is " + v.described() + ", and must be a size");
}
bool flag_of(const value& of, const char* name, bool otherwise) {
    const value* const parameters = of.find("parameters");
    const value* const v = parameters ? parameters->find(name) : nullptr;
    const bool* const b = v ? v->get<bool>() : nullptr;
    return b ? *b : otherwise;
}
const value* parameter(const value& of, const char* name) {
    const value* const parameters = of.find("parameters");
    return parameters ? parameters->find(name) : nullptr;
}

std::optional<double> number_in(const value& v) {
    if (const double* const d = v.get<double>()) return *d;
    if (const std::int64_t* const i = v.get<std::int64_t>()) return static_cast<double>(*i);
    if (const std::uint64_t* const u = v.get<std::uint64_t>()) return static_cast<double>(*u);
    return {};
}

template <class T> bool put_element(const value& v, T& to) {
    if constexpr (std::is_same_v<T, std::string>) {
        const std::string* const t = v.get<std::string>();
        if (t) to = *t;
        return t != nullptr;
    } else if constexpr (std::is_same_v<T, bool>) {
        const bool* const b = v.get<bool>();
        if (b) to = *b;
        return b != nullptr;
    } else if constexpr (std::is_integral_v<T>) {
        const std::int64_t* const i = v.get<std::int64_t>();
        const std::uint64_t* const u = v.get<std::uint64_t>();
        const bool fits = (i && std::in_range<T>(*i)) || (u && std::in_range<T>(*u));
        if (fits) to = i ? static_cast<T>(*i) : static_cast<T>(*u);
        return fits;
    } else {
        const std::optional<double> d = number_in(v);
        if (d) to = static_cast<T>(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(*d));
        return d && std::isfinite(static_cast<double>(to)); // JSON has no others, and none becomes one here
    }
}

// Flat, or nested as the shape says: the elements are in the same order.
template <class T> class elements_reader {
public:
    elements_reader(any_array& to, const std::string& where) :
        sizes_(to.extents()), next_(static_cast<T*>(to.data())), end_(next_ + to.elements()), where_(where) {}
    void read(const list& all) {
        if (!all.empty() && all.front().get<list>()) return read_nested(all, 0);
        for (const value& v : all) put(v);
    }
    void end() const {
        if (next_ != end_) refuse(where_ + " has " + std::to_string(end_ - next_) + " elements fewer than its shape");
    }

private:
    void read_nested(const list& all, int depth) {
        if (depth >= sizes_.rank() || static_cast<std::int64_t>(all.size()) != sizes_[depth].size)
            refuse(where_ + " has a list of " + std::to_string(all.size()) + " at depth " + std::to_string(depth) +
                   ", which is not as its shape " + to_string(sizes_) + " says");
        for (const value& v : all) {
            if (depth + 1 == sizes_.rank()) put(v);
            else if (const list* const items = v.get<list>()) read_nested(*items, depth + 1);
            else
                refuse(where_ + " has " + v.described() + " at depth " + std::to_string(depth + 1) +
                       ", where its shape " + to_string(sizes_) + " has lists");
        }
    }
    void put(const value& v) {
        if (next_ == end_) refuse(where_ + " has more elements than its shape");
        if (!put_element(v, *next_))
            refuse(where_ + " has the element " + v.described() + ", which is no " +
                   inference_type_of(element_type_of<T>));
        ++next_;
    }

    const extents& sizes_;
    T* next_;
    T* const end_;
    const std::string& where_;
};

// Texts: four bytes of length, little-endian, then so many bytes, each.
void read_texts(std::string_view bytes, any_array& to, const std::string& where) {
    std::string* const out = to.data<std::string>();
    for (std::int64_t i = 0; i < to.elements(); ++i) {
        if (bytes.size() < 4) refuse(where + ": its bytes end within a length");
        std::uint32_t size = 0;
        std::memcpy(&size, bytes.data(), 4);
        tenon::detail::swap_little_endian(&size, 4, 4);
        bytes.remove_prefix(4);
        if (size > bytes.size()) refuse(where + ": its bytes end within an element");
        out[i] = bytes.substr(0, size);
        bytes.remove_prefix(size);
    }
    if (!bytes.empty()) refuse(where + ": there are bytes behind its last element");
}

// Bytes that one element takes: of texts at least.
std::size_t bytes_of_element(element_type e) {
    return e == element_type::string ? 4 : e == element_type::boolean ? 1 : size_of(e);
}

any_array read_binary(std::string_view bytes, element_type element, const extents& sizes, const std::string& where) {
    any_array a(element, sizes);
    if (element == element_type::string) {
        read_texts(bytes, a, where);
        return a;
    }
    if (bytes.size() != static_cast<std::size_t>(a.elements()) * bytes_of_element(element))
        refuse(where + ": its shape takes " +
               std::to_string(static_cast<std::size_t>(a.elements()) * bytes_of_element(element)) +
               " bytes, and there are " + std::to_string(bytes.size()));
    if (element == element_type::boolean) { // any byte but 0 is true
        std::transform(bytes.begin(), bytes.end(), a.data<bool>(), [](char c) { return c != 0; });
        return a;
    }
    if (!bytes.empty()) std::memcpy(a.data(), bytes.data(), bytes.size());
    tenon::detail::swap_little_endian(a.data(), a.bytes(), size_of(element));
    return a;
}

// More elements than `most` are not there, whatever the shape says: nothing is made of it then.
extents read_shape(const value& v, std::size_t most, const std::string& where) {
    const list* const sizes = v.get<list>();
    if (!sizes) refuse(where + ": its shape is " + v.described() + ", and must be a list of sizes");
    if (sizes->size() > static_cast<std::size_t>(max_rank))
        refuse(where + ": its shape has " + std::to_string(sizes->size()) + " dimensions, and there may be " +
               std::to_string(max_rank));
    extents all;
    std::size_t elements = 1;
    for (const value& s : *sizes) {
        const std::int64_t size = size_of_dimension(s, where + ": a size");
        all.push_back(extent(size));
        if (size > 0 && elements > most / static_cast<std::size_t>(size)) elements = most + 1;
        else if (elements <= most || size == 0) elements *= static_cast<std::size_t>(size);
    }
    if (elements > most)
        refuse(where + ": its shape " + to_string(all) + " has more elements than the request has bytes for");
    return all;
}

// Of the model's inputs or outputs the one of this name.
std::size_t place_of(const std::string& name, const std::vector<model_tensor>& all, const model_signature& model,
                     const std::string& what) {
    const auto at = std::find_if(all.begin(), all.end(), [&](const model_tensor& t) { return t.name == name; });
    if (at == all.end()) {
        std::string known;
        for (const model_tensor& t : all) known += (known.empty() ? "'" : ", '") + t.name + "'";
        refuse("model '" + model.name + "' has no " + what + " '" + as_utf8(name) + "'; it has " + known);
    }
    return static_cast<std::size_t>(at - all.begin());
}

} // namespace

const char* inference_type_of(element_type e) noexcept {
    for (const auto& [element, name] : types)
        if (element == e) return name;
    return "none";
}

inference_request read_inference_request(const std::string& body, std::size_t json_bytes,
                                         const model_signature& model) {
    if (json_bytes > body.size())
        refuse("Inference-Header-Content-Length is " + std::to_string(json_bytes) + ", and the body has " +
               std::to_string(body.size()) + " bytes");
    value root;
    try {
        root = tenon::detail::parse_json(json_bytes == body.size() ? body : body.substr(0, json_bytes), "the request");
    } catch (const data_loss_error& e) {
        refuse(e.what());
    }
    std::string_view binary = std::string_view(body).substr(json_bytes);
    inference_request r;
    if (const value* const id = root.find("id")) r.id = text_of(*id, "\"id\"");
    if (const value* const t = parameter(root, "timeout")) {
        const std::optional<double> microseconds = number_in(*t);
        if (!microseconds || !(*microseconds >= 0)) refuse("the parameter \"timeout\" is " + t->described());
        r.seconds = *microseconds * 1e-6;
    }
    const list* const inputs = member(root, "inputs", "the request").get<list>();
    if (!inputs) refuse("\"inputs\" is no list");
    r.inputs.resize(model.inputs.size());
    for (const value& one : *inputs) {
        const std::string& name = text_of(member(one, "name", "an input"), "an input's name");
        const std::size_t at = place_of(name, model.inputs, model, "input");
        const std::string where = "input '" + name + "'";
        any_array& put = r.inputs[at];
        const element_type element = model.inputs[at].type.element;
        if (put) refuse(where + " is there twice");
        const std::string& type = text_of(member(one, "datatype", where), where + ": its datatype");
        if (type != inference_type_of(element))
            refuse(where + " is " + std::string(inference_type_of(element)) + ", and the request gives " +
                   as_utf8(type));
        const value& shape = member(one, "shape", where);
        if (const value* const size = parameter(one, "binary_data_size")) {
            const auto taken = static_cast<std::size_t>(size_of_dimension(*size, where + ": binary_data_size"));
            if (taken > binary.size())
                refuse(where + " takes " + std::to_string(taken) + " bytes behind the JSON, and there are " +
                       std::to_string(binary.size()));
            const extents sizes = read_shape(shape, taken / bytes_of_element(element), where);
            put = read_binary(binary.substr(0, taken), element, sizes, where);
            binary.remove_prefix(taken);
        } else {
            put = any_array(element, read_shape(shape, json_bytes, where));
            const value& data = member(one, "data", where);
            const list* const elements = data.get<list>();
            if (!elements) refuse(where + ": its data is " + data.described() + ", and must be a list");
            tenon::detail::with_element(element, [&]<class T>(const T&) {
                elements_reader<T> reader(put, where);
                reader.read(*elements);
                reader.end();
            });
        }
    }
    if (!binary.empty()) refuse("there are " + std::to_string(binary.size()) + " bytes behind the last binary tensor");
    for (std::size_t i = 0; i < r.inputs.size(); ++i)
        if (!r.inputs[i])
            refuse("the request lacks input '" + model.inputs[i].name + "' of model '" + model.name + "'");

    const bool all_binary = flag_of(root, "binary_data_output", false);
    const value* const wanted = root.find("outputs");
    const list* const outputs = wanted ? wanted->get<list>() : nullptr;
    if (wanted && !outputs) refuse("\"outputs\" is no list");
    if (!outputs || outputs->empty())
        for (std::size_t o = 0; o < model.outputs.size(); ++o) r.outputs.push_back({o, all_binary});
    else
        for (const value& one : *outputs) {
            const std::string& name = text_of(member(one, "name", "an output"), "an output's name");
            const std::size_t index = place_of(name, model.outputs, model, "output");
            for (const inference_request::output& o : r.outputs)
                if (o.index == index) refuse("output '" + name + "' is wanted twice");
            r.outputs.push_back({index, flag_of(one, "binary_data", all_binary)});
        }
    return r;
}

namespace {

std::string bytes_of(const any_array& a) {
    std::string all;
    if (a.element() == element_type::string) {
        for (std::int64_t i = 0; i < a.elements(); ++i) {
            const std::string& text = a.data<std::string>()[i];
            if (text.size() > std::numeric_limits<std::uint32_t>::max())
                throw invalid_argument_error("an output has a text of more than 4 GiB");
            auto size = static_cast<std::uint32_t>(text.size());
            tenon::detail::swap_little_endian(&size, 4, 4);
            all.append(reinterpret_cast<const char*>(&size), 4);
            all += text;
        }
        return all;
    }
    all.assign(static_cast<const char*>(a.data()), a.bytes());
    tenon::detail::swap_little_endian(all.data(), all.size(), size_of(a.element()));
    return all;
}

// JSON has no numbers that are not finite: they are null.
list elements_of(const any_array& a) {
    list all;
    all.reserve(static_cast<std::size_t>(a.elements()));
    tenon::detail::with_element(a.element(), [&]<class T>(const T&) {
        const T* const from = static_cast<const T*>(a.data());
        for (std::int64_t i = 0; i < a.elements(); ++i) {
            if constexpr (std::is_same_v<T, std::string>) all.push_back(as_utf8(from[i]));
            else if constexpr (std::is_integral_v<T>) all.push_back(value(from[i]));
            else if constexpr (std::is_same_v<T, double>) all.push_back(value(from[i]));
            else all.push_back(value(static_cast<double>(static_cast<float>(from[i]))));
        }
    });
    return all;
}

list shape_of(const extents& sizes) {
    list all;
    for (const extent& e : sizes) all.push_back(value(e.is_number() ? e.size : std::int64_t{-1}));
    return all;
}

object tensor_of(const model_tensor& t) {
    return {{"name", t.name}, {"datatype", inference_type_of(t.type.element)}, {"shape", shape_of(t.type.extents)}};
}

std::string text_of_json(object o) { return tenon::detail::json_text(value(std::move(o))); }

} // namespace

inference_response inference_response_of(const inference_request& r, const model_signature& model, std::int64_t version,
                                         const std::vector<any_array>& outputs) {
    if (outputs.size() != model.outputs.size()) // it is elsewhere, and another one since
        throw unavailable_error("model '" + model.name + "' gave " + std::to_string(outputs.size()) +
                                " outputs, and has " + std::to_string(model.outputs.size()));
    object root{{"model_name", model.name}, {"model_version", std::to_string(version)}};
    if (!r.id.empty()) root.push_back({"id", r.id});
    inference_response made;
    std::string binary;
    list all;
    for (const inference_request::output& o : r.outputs) {
        const any_array& a = outputs[o.index];
        object one{{"name", model.outputs[o.index].name},
                   {"datatype", inference_type_of(a.element())},
                   {"shape", shape_of(a.extents())}};
        if (o.is_binary) {
            const std::string packed_bytes = bytes_of(a);
            one.push_back(
                {"parameters", object{{"binary_data_size", static_cast<std::uint64_t>(packed_bytes.size())}}});
            binary += packed_bytes;
            made.has_binary = true;
        } else one.push_back({"data", elements_of(a)});
        all.push_back(std::move(one));
    }
    root.push_back({"outputs", std::move(all)});
    made.body = text_of_json(std::move(root));
    made.json_bytes = made.body.size();
    made.body += binary;
    return made;
}

std::string server_metadata_json(const std::vector<std::string>& extensions) {
    list all;
    for (const std::string& e : extensions) all.push_back(e);
    return text_of_json({{"name", "tenon"}, {"version", TENON_VERSION}, {"extensions", std::move(all)}});
}

std::string model_metadata_json(const model_signature& model, std::int64_t version) {
    list inputs, outputs;
    for (const model_tensor& t : model.inputs) inputs.push_back(tensor_of(t));
    for (const model_tensor& t : model.outputs) outputs.push_back(tensor_of(t));
    return text_of_json({{"name", model.name},
                         {"versions", list{std::to_string(version)}},
                         {"platform", "tenon"},
                         {"inputs", std::move(inputs)},
                         {"outputs", std::move(outputs)}});
}

std::string model_config_json(const model_signature& model) {
    const auto tensors = [](const std::vector<model_tensor>& of) {
        list all;
        for (const model_tensor& t : of) {
            list dims = shape_of(t.type.extents);
            dims.erase(dims.begin()); // the rows are max_batch_size
            const std::string type = inference_type_of(t.type.element);
            all.push_back(object{{"name", t.name},
                                 {"data_type", type == "BYTES" ? "TYPE_STRING" : "TYPE_" + type},
                                 {"dims", std::move(dims)}});
        }
        return all;
    };
    return text_of_json({{"name", model.name},
                         {"platform", "tenon"},
                         {"backend", "tenon"},
                         {"max_batch_size", model.largest_batch},
                         {"input", tensors(model.inputs)},
                         {"output", tensors(model.outputs)},
                         {"dynamic_batching", object{}}});
}

std::string model_statistics_json(const std::vector<std::pair<model_signature, serving_metrics>>& models) {
    list all;
    for (const auto& [model, m] : models) {
        const auto told = [](std::uint64_t count, double seconds) {
            return object{{"count", count}, {"ns", static_cast<std::uint64_t>(seconds * 1e9)}};
        };
        all.push_back(
            object{{"name", model.name},
                   {"version", std::to_string(m.version)},
                   {"inference_count", m.rows},
                   {"execution_count", m.batches},
                   {"inference_stats", object{{"success", told(m.answered, m.latency.sum())},
                                              {"fail", told(m.failed + m.late + m.cancelled + m.refused, 0)}}}});
    }
    return text_of_json({{"model_stats", std::move(all)}});
}

std::string repository_index_json(const std::vector<indexed_model>& models) {
    list all;
    for (const indexed_model& m : models)
        all.push_back(object{{"name", m.name},
                             {"version", std::to_string(m.version)},
                             {"state", m.why_not_ready.empty() ? "READY" : "UNAVAILABLE"},
                             {"reason", as_utf8(m.why_not_ready)}});
    return tenon::detail::json_text(value(std::move(all)));
}

std::string error_json(const std::string& why) { return text_of_json({{"error", as_utf8(why)}}); }

} // namespace tenon::net
