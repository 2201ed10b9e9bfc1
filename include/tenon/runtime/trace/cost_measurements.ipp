#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/graph/add_node.hpp>
#include <tenon/io/files/file.hpp>
#include <tenon/io/json/json_parse.hpp>
#include <tenon/io/json/json_reader.hpp>
#include <tenon/op/attribute.hpp>
#include <tenon/runtime/device/device_attributes.hpp>
#include <tenon/runtime/trace/cost_measurements.hpp>
#include <tenon/tape/opcode.hpp>
#include <tenon/tape/tape.hpp>

namespace tenon {

namespace detail {

inline void append_timed(std::string& text, const tape& t) {
    for (int r = 0; r < t.length; ++r) {
        const instruction& i = t.code[r];
        text += r ? ", " : "";
        text += info_of(i.op).name;
        text += ' ';
        text += name_of(i.type);
        if (i.op == opcode::literal) {
            text += ' ' + tenon::detail::text_of_number(i.literal().as_double(), 9);
        } else if (info_of(i.op).group == opcode_group::source) text += ' ' + std::to_string(i.a);
        else
            for (int k = 0; k < register_operands(i); ++k) text += ' ' + std::to_string(operand_of(i, k));
    }
    text += " ->";
    for (int o = 0; o < t.output_count; ++o) text += ' ' + std::to_string(t.outputs[o].reg);
}

// Text that is sure to be UTF-8.
inline void append_plain(std::string& text, std::string_view from) {
    for (const char c : from) text += c >= ' ' && c <= '~' ? c : '?';
}

inline void append_timed(std::string& text, type_list types) {
    for (int i = 0; i < types.size(); ++i) text += (i ? ", " : " ") + to_string(types[i]);
}

} // namespace detail

TENON_INLINE std::string timed_as(const op_definition& op, const attributes& a, type_list inputs, type_list outputs) {
    std::string text;
    detail::append_plain(text, op.name);
    bool first = true;
    for (const auto& [name, value] : a) {
        text += first ? "(" : ", ";
        first = false;
        detail::append_plain(text, name);
        text += '=';
        if (const auto* t = std::get_if<std::shared_ptr<const tape>>(&value)) detail::append_timed(text, **t);
        else detail::append_plain(text, to_string(value));
    }
    if (!first) text += ')';
    detail::append_timed(text, inputs);
    text += " ->";
    detail::append_timed(text, outputs);
    return text;
}

TENON_INLINE std::string timed_as(const node& n) {
    std::vector<tensor_type> inputs;
    for (int i = 0; i < static_cast<int>(n.inputs.size()); ++i) inputs.push_back(n.input_type(i));
    return timed_as(*n.op, n.attributes, type_list(inputs.data(), static_cast<int>(inputs.size())),
                    type_list(n.outputs.data(), static_cast<int>(n.outputs.size())));
}

TENON_INLINE std::string timed_on(const device_attributes& d) {
    std::string text = d.name.type.str() + ": ";
    detail::append_plain(text, d.description);
    return text;
}

namespace detail {

// The last times of one thing.
struct timings {
    static constexpr std::size_t most = 9;
    static constexpr std::int64_t longest = 1'000'000'000'000'000; // ns

    std::int64_t count = 0;
    std::vector<std::int64_t> last; // the newest at the end

    void add(std::int64_t nanoseconds) {
        ++count;
        if (last.size() == most) last.erase(last.begin());
        last.push_back(nanoseconds);
    }
    double nanoseconds() const {
        std::vector<std::int64_t> sorted = last;
        const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
        std::nth_element(sorted.begin(), middle, sorted.end());
        return static_cast<double>(*middle);
    }
};

inline void require_timed(const char* what, std::initializer_list<const std::string*> names, std::int64_t nanoseconds) {
    for (const std::string* n : names)
        if (n->empty()) throw invalid_argument_error(std::string(what) + ": a name is empty");
    if (nanoseconds < 0 || nanoseconds > timings::longest)
        throw invalid_argument_error(std::string(what) + ": a time of " + std::to_string(nanoseconds) +
                                     " ns; give 0 to " + std::to_string(timings::longest));
}

// t = latency + bytes / bandwidth, with the least sum of squares of relative errors.
inline link_speed line_through(const std::map<std::size_t, timings>& by_bytes) {
    constexpr std::size_t small = 65536;
    double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
    for (const auto& [bytes, t] : by_bytes) {
        const double x = static_cast<double>(bytes), y = std::max(t.nanoseconds(), 1.0) * 1e-9, weight = 1 / (y * y);
        w += weight, wx += weight * x, wxx += weight * x * x, wy += weight * y, wxy += weight * x * y;
    }
    const bool single = by_bytes.size() == 1;
    const double width = w * wxx - wx * wx;
    double slope = single || width <= 0 ? 0 : (w * wxy - wx * wy) / width, latency = (wy - slope * wx) / w;
    if (single ? by_bytes.begin()->first > small : latency < 0) {
        slope = wxy / wxx;
        latency = 0;
    } else if (slope < 0) {
        slope = 0;
        latency = wy / w;
    }
    return {.latency = latency, .bandwidth = slope > 0 ? 1 / slope : 0};
}

} // namespace detail

struct cost_measurements::state {
    mutable std::mutex guard;                                                        // of what follows
    std::map<std::string, std::unordered_map<std::string, detail::timings>> kernels; // by device
    std::map<std::pair<std::string, std::string>, std::map<std::size_t, detail::timings>> links;
};

TENON_INLINE cost_measurements::state& cost_measurements::live() const {
    if (!state_) detail::moved_from("cost_measurements object");
    return *state_;
}
TENON_INLINE cost_measurements::cost_measurements() : state_(new state) {}
TENON_INLINE cost_measurements::~cost_measurements() = default;
TENON_INLINE cost_measurements::cost_measurements(cost_measurements&&) noexcept = default;
TENON_INLINE cost_measurements& cost_measurements::operator=(cost_measurements&&) noexcept = default;

TENON_INLINE void cost_measurements::add_kernel(const std::string& device, const std::string& node,
                                                std::int64_t nanoseconds) {
    detail::require_timed("add_kernel", {&device, &node}, nanoseconds);
    const std::lock_guard lock(live().guard);
    live().kernels[device][node].add(nanoseconds);
}

TENON_INLINE void cost_measurements::add_transfer(const std::string& from, const std::string& to, std::size_t bytes,
                                                  std::int64_t nanoseconds) {
    detail::require_timed("add_transfer", {&from, &to}, nanoseconds);
    const std::lock_guard lock(live().guard);
    live().links[{from, to}][bytes].add(nanoseconds);
}

TENON_INLINE std::optional<double> cost_measurements::kernel_seconds(const std::string& device,
                                                                     const std::string& node) const {
    const std::lock_guard lock(live().guard);
    const auto there = live().kernels.find(device);
    if (there == live().kernels.end()) return std::nullopt;
    const auto at = there->second.find(node);
    if (at == there->second.end()) return std::nullopt;
    return at->second.nanoseconds() * 1e-9;
}

TENON_INLINE std::optional<link_speed> cost_measurements::link(const std::string& from, const std::string& to) const {
    const std::lock_guard lock(live().guard);
    const auto at = live().links.find({from, to});
    if (at == live().links.end()) return std::nullopt;
    return detail::line_through(at->second);
}

TENON_INLINE std::size_t cost_measurements::kernels() const {
    const std::lock_guard lock(live().guard);
    std::size_t sum = 0;
    for (const auto& [device, nodes] : live().kernels) sum += nodes.size();
    return sum;
}

TENON_INLINE std::size_t cost_measurements::links() const {
    const std::lock_guard lock(live().guard);
    return live().links.size();
}

TENON_INLINE std::string cost_measurements::to_json() const {
    std::string text = "{\"format\": \"tenon cost measurements\", \"version\": 1,\n \"kernels\": [";
    const char* between = "\n  ";
    const auto add = [&](detail::json_value::object line, const detail::timings& t) {
        line.push_back({"count", t.count});
        line.push_back({"nanoseconds", detail::json_value::list(t.last.begin(), t.last.end())});
        try {
            text += between + detail::json_text(std::move(line));
        } catch (const invalid_argument_error&) {
            throw invalid_argument_error("cost_measurements: the name of a node or a device is not UTF-8 text");
        }
        between = ",\n  ";
    };
    const std::lock_guard lock(live().guard);
    for (const auto& [device, nodes] : live().kernels) {
        const std::map<std::string, detail::timings> in_order(nodes.begin(), nodes.end());
        for (const auto& [node, t] : in_order) add({{"device", device}, {"node", node}}, t);
    }
    text += "\n ],\n \"links\": [";
    between = "\n  ";
    for (const auto& [ends, sizes] : live().links)
        for (const auto& [bytes, t] : sizes) add({{"from", ends.first}, {"to", ends.second}, {"bytes", bytes}}, t);
    return text + "\n ]}\n";
}

namespace detail {

inline timings read_timings(json_reader& e) {
    timings t;
    for (const json_value& v : e.list("nanoseconds")) t.last.push_back(e.number(v, "nanoseconds", 0, timings::longest));
    if (t.last.empty() || t.last.size() > timings::most)
        e.wrong("\"nanoseconds\" must be 1 to " + std::to_string(timings::most) + " times, not " +
                std::to_string(t.last.size()));
    t.count = e.number(e.member("count"), "count", static_cast<std::int64_t>(t.last.size()), INT64_MAX / 2);
    return t;
}

} // namespace detail

TENON_INLINE cost_measurements cost_measurements::from_json(const std::string& text) {
    constexpr std::int64_t most_bytes = std::int64_t{1} << 62;
    constexpr const char* what = "cost measurements";
    const detail::json_value root = detail::parse_json(text, what);
    cost_measurements m;
    detail::json_reader all(root, what, "the whole");
    if (const std::string format = all.text("format"); format != "tenon cost measurements")
        all.wrong("\"format\" is \"" + format + "\", not \"tenon cost measurements\"");
    all.number(all.member("version"), "version", 1, 1);
    const auto each = [&](const char* kind, const char* one, const auto& read) {
        std::size_t number = 0;
        for (const detail::json_value& v : all.list(kind)) {
            detail::json_reader entry(v, what, std::string(one) + " " + std::to_string(++number));
            if (!read(entry)) entry.wrong("it is there twice");
            entry.end();
        }
    };
    each("kernels", "kernel", [&](detail::json_reader& e) {
        const std::string device = e.text("device"), node = e.text("node");
        return m.state_->kernels[device].try_emplace(node, detail::read_timings(e)).second;
    });
    each("links", "link", [&](detail::json_reader& e) {
        const std::string from = e.text("from"), to = e.text("to");
        const auto bytes = static_cast<std::size_t>(e.number(e.member("bytes"), "bytes", 0, most_bytes));
        return m.state_->links[{from, to}].try_emplace(bytes, detail::read_timings(e)).second;
    });
    all.end();
    return m;
}

TENON_INLINE void cost_measurements::save(const std::string& path) const {
    detail::text_to_file("cost_measurements::save", path, to_json());
}

TENON_INLINE cost_measurements cost_measurements::load(const std::string& path) {
    const std::string text = detail::text_of_file("cost_measurements::load", path);
    return detail::said_by(path, [&] { return from_json(text); });
}

} // namespace tenon
