#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string_view>
#include <variant>

#include <tenon/core/error.hpp>
#include <tenon/core/text/edit_distance.hpp>
#include <tenon/core/text/type_text.hpp>
#include <tenon/op/attribute.hpp>
#include <tenon/op/op_definition.hpp>

namespace tenon {

TENON_INLINE void detail::refuse_operands(const char* name, const inferred& refused, type_list operands) {
    throw invalid_argument_error(fault_sentence(name, refused, operands));
}

// Whether a rule's own words speak of an attribute.
inline bool speaks_of(std::string_view words, std::string_view attribute) {
    const auto in_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    for (std::size_t at = 0; (at = words.find(attribute, at)) != words.npos; ++at) {
        const std::size_t end = at + attribute.size();
        if (!(at > 0 && in_word(words[at - 1])) && !(end < words.size() && in_word(words[end]))) return true;
    }
    return false;
}

TENON_INLINE std::string fault_sentence(const op_definition& op, const inferred& refused, type_list operands,
                                        const attributes& a) {
    const fault what = refused.what;
    std::string text = fault_sentence(op.name, refused, operands);
    bool first = operands.size() == 0;
    for (const auto& [name, value] : a) {
        // What is only said of the number of results ("count") is not what is wrong.
        if (const auto* sizes = std::get_if<extents>(&value); sizes && is_about_sizes(what) && name != "count") {
            text += (first ? ": " : " x ") + to_string(*sizes);
            first = false;
        } else if (const auto* types = std::get_if<std::vector<tensor_type>>(&value);
                   types && what != fault::in_own_words) {
            text += ", of a queue of " + to_string(*types);
        } else if (what == fault::number_does_not_fit && name == "value") {
            text += ", " + to_string(detail::number_attribute(a, "value"));
        } else if (is_about_axes(what) && name == "axis") {
            if (const auto* axis = std::get_if<std::int64_t>(&value)) text += ", axis " + std::to_string(*axis);
        } else if (is_about_axes(what) && name == "axes") {
            if (const auto* axes = std::get_if<std::vector<std::int64_t>>(&value))
                for (std::size_t i = 0; i < axes->size(); ++i)
                    text += (i ? ", " : axes->size() > 1 ? ", axes " : ", axis ") + std::to_string((*axes)[i]);
        } else if (const auto* bounds = std::get_if<std::vector<std::int64_t>>(&value);
                   bounds && (what == fault::slice_out_of_range || // "begins", "ends", "steps"
                              (what == fault::in_own_words && speaks_of(refused.own, name)))) {
            for (std::size_t i = 0; i < bounds->size(); ++i) {
                const std::int64_t b = (*bounds)[i];
                text += (i ? ", " : ", " + name + " ") +
                        (b == std::numeric_limits<std::int64_t>::min() ? "open" : std::to_string(b));
            }
        } else if (const auto* number = std::get_if<std::int64_t>(&value);
                   number && what == fault::in_own_words && speaks_of(refused.own, name)) {
            text += (first ? ": " : ", ") + name + " " + std::to_string(*number);
            first = false;
        }
    }
    return text;
}

namespace detail {
struct op_registry {
    struct entry {
        const op_definition* op;
        const std::type_info* of;
    };
    std::mutex guard;
    std::map<std::string, entry> ops;
};
inline op_registry& registry() {
    static auto& r = *new op_registry;
    return r;
}
} // namespace detail

TENON_INLINE const op_definition& detail::enter_op(const op_definition& d, const std::type_info* of) {
    if (of && !*d.name) throw invalid_argument_error("the op of " + type_text(*of) + " has an empty name");
    op_registry& r = registry();
    const std::lock_guard lock(r.guard);
    const op_registry::entry& known = r.ops.emplace(d.name, op_registry::entry{&d, of}).first->second;
    // Libraries of one program that have one header each bring its struct.
    if (of && known.of && *of != *known.of)
        throw invalid_argument_error("two ops are called \"" + std::string(d.name) + "\", of " + type_text(*known.of) +
                                     " and of " + type_text(*of) + "; give one of them another name");
    return *known.op;
}

TENON_INLINE inferred judged(const op_definition& op, const attributes& a, type_list inputs, int output) {
    const inferred r = detail::said_of_program([&] { return "the rule of " + std::string(op.name); },
                                               [&] { return op.infer(a, inputs, output); });
    if (r)
        for (const extent& e : r.type.extents)
            if (e.size < dynamic_extent.size) return "a size of the result is negative";
    return r;
}

TENON_INLINE const op_definition& register_op(const op_definition& d) {
    if (const op_definition* known = find_op(d.name)) return *known;
    return detail::enter_op(*new op_definition(d), nullptr); // for as long as the process runs
}

TENON_INLINE const op_definition* find_op(const std::string& name) {
    detail::op_registry& r = detail::registry();
    const std::lock_guard lock(r.guard);
    const auto at = r.ops.find(name);
    return at == r.ops.end() ? nullptr : at->second.op;
}

TENON_INLINE const op_definition& detail::require_op(const std::string& name) {
    if (const op_definition* op = find_op(name)) return *op;
    std::string similar;
    for (const op_definition* op : all_ops()) {
        const std::string other = op->name;
        if (name.size() < 64 &&
            (edit_distance(name, other) <= 2 ||
             (name.size() > 2 && (other.find(name) != std::string::npos || name.find(other) != std::string::npos))))
            similar += (similar.empty() ? "; similar ones: " : ", ") + other;
    }
    throw invalid_argument_error(
        "op \"" + name + "\" is not known to this program" + similar +
        "; include the header that defines it (Tenon's own: tenon/tenon.hpp) in one of the program's files");
}

TENON_INLINE std::vector<const op_definition*> all_ops() {
    detail::op_registry& r = detail::registry();
    const std::lock_guard lock(r.guard);
    std::vector<const op_definition*> result;
    for (const auto& [name, known] : r.ops) result.push_back(known.op);
    return result;
}

TENON_INLINE attributes detail::checked_attributes(const op_definition& op, const attributes& given) {
    if (!op.checked) return given;
    attributes checked = op.checked(given);
    for (const auto& [name, v] : given)
        if (!checked.find(name.c_str())) {
            std::string known;
            for (const auto& [k, x] : checked) known += (known.empty() ? " it has " : ", ") + k;
            throw invalid_argument_error("the op has no attribute \"" + name + "\";" +
                                         (known.empty() ? " it has none" : known));
        }
    return checked;
}

} // namespace tenon
