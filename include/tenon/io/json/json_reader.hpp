#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/io/json/json_value.hpp>

/// Reading the members of JSON objects that come from outside.

namespace tenon::detail {

/// An object of a text from outside, of which each member is asked for once, and what was not asked for should not be there. Throws
/// invalid_argument_error, which says which part of what text is wrong.
class json_reader {
public:
    /// `what` the text is, "cost measurements", and which part of it this is.
    json_reader(const json_value& v, std::string what, std::string where) :
        value_(v), what_(std::move(what)), where_(std::move(where)) {
        if (!v.get<json_value::object>()) wrong("must be an object, not " + v.described());
    }
    const json_value& member(const char* name) {
        names_.emplace_back(name);
        const json_value* found = value_.find(name);
        if (!found) wrong("has no \"" + std::string(name) + "\"");
        return *found;
    }
    /// nullptr where it is not there, or null.
    const json_value* optional(const char* name) {
        names_.emplace_back(name);
        const json_value* found = value_.find(name);
        return found && !found->is_null() ? found : nullptr;
    }
    bool truth(const char* name, bool otherwise) {
        const json_value* v = optional(name);
        if (!v) return otherwise;
        const bool* b = v->get<bool>();
        if (!b) wrong("\"" + std::string(name) + "\" must be true or false, not " + v->described());
        return *b;
    }
    std::string text(const char* name) {
        const json_value& v = member(name);
        const auto* s = v.get<std::string>();
        if (!s || s->empty()) wrong("\"" + std::string(name) + "\" must be a text, not " + v.described());
        return *s;
    }
    std::int64_t number(const json_value& v, const char* name, std::int64_t least, std::int64_t largest) const {
        const auto* i = v.get<std::int64_t>();
        if (!i || *i < least || *i > largest)
            wrong("\"" + std::string(name) + "\": a whole number from " + std::to_string(least) + " to " +
                  std::to_string(largest) + " is needed, not " + v.described());
        return *i;
    }
    /// A finite number that is not negative.
    double real(const json_value& v, const char* name) const {
        const auto* const d = v.get<double>();
        const auto* const i = v.get<std::int64_t>();
        const double is = d ? *d : i ? static_cast<double>(*i) : -1;
        if (!(is >= 0) || is > std::numeric_limits<double>::max())
            wrong("\"" + std::string(name) + "\": a number from 0 on is needed, not " + v.described());
        return is;
    }
    double real(const char* name) { return real(member(name), name); }
    const json_value::list& list(const char* name) {
        const json_value& v = member(name);
        const auto* l = v.get<json_value::list>();
        if (!l) wrong("\"" + std::string(name) + "\" must be a list, not " + v.described());
        return *l;
    }
    /// What is there beside what was asked for.
    std::vector<std::string> rest() const {
        std::vector<std::string> others;
        for (const json_member& m : *value_.get<json_value::object>())
            if (std::find(names_.begin(), names_.end(), m.name) == names_.end()) others.push_back(m.name);
        return others;
    }
    /// Throws where there is something.
    void end() const {
        if (const auto others = rest(); !others.empty()) wrong("\"" + others[0] + "\" is not known");
    }
    [[noreturn]] void wrong(const std::string& what) const {
        throw invalid_argument_error(what_ + ": " + where_ + ": " + what);
    }

private:
    const json_value& value_;
    std::string what_, where_;
    std::vector<std::string_view> names_;
};

} // namespace tenon::detail
