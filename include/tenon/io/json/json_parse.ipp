#pragma once

#include <nlohmann/json.hpp>

#include <tenon/core/error.hpp>
#include <tenon/io/json/json_parse.hpp>

namespace tenon::detail {

// Hands what nlohmann's parser reads to a listener.
class json_adapter {
public:
    using number_integer_t = std::int64_t;
    using number_unsigned_t = std::uint64_t;
    using number_float_t = double;
    using string_t = std::string;
    using binary_t = nlohmann::json::binary_t;

    explicit json_adapter(json_listener& to) : to_(to) {}

    bool null() { return to_.scalar({}); }
    bool boolean(bool v) { return to_.scalar(v); }
    bool number_integer(std::int64_t v) { return to_.scalar(v); }
    bool number_unsigned(std::uint64_t v) {
        return v > static_cast<std::uint64_t>(INT64_MAX) ? to_.scalar(v) : to_.scalar(static_cast<std::int64_t>(v));
    }
    bool number_float(double v, const std::string&) { return to_.scalar(v); }
    bool string(std::string& v) { return to_.scalar(std::move(v)); }
    bool binary(binary_t&) { return false; } // not of texts
    bool start_object(std::size_t) { return to_.begin_object(); }
    bool start_array(std::size_t) { return to_.begin_list(); }
    bool key(std::string& name) { return to_.key(std::move(name)); }
    bool end_object() { return to_.end_object(); }
    bool end_array() { return to_.end_list(); }
    bool parse_error(std::size_t at, const std::string& token, const nlohmann::json::exception& e) {
        to_.defect(json_defect(at, token, e.id, e.what()));
        return false;
    }

private:
    json_listener& to_;
};

TENON_INLINE std::string json_defect(std::size_t at, const std::string& token, int id, const std::string& words) {
    constexpr int number_overflow = 406; // JSON has such numbers
    const std::string byte = "at byte " + std::to_string(at);
    if (id == number_overflow)
        return "the number " + token.substr(0, 32) + (token.size() > 32 ? ".. " : " ") + byte + " is out of range";
    const std::size_t begin = words.find("] ");
    return "it is no JSON " + byte + ": " + (begin == std::string::npos ? words : words.substr(begin + 2));
}

TENON_INLINE bool read_json(const char* text, std::size_t bytes, json_listener& listener) {
    json_adapter adapter(listener);
    return nlohmann::json::sax_parse(text, text + bytes, &adapter);
}

// Builds the value while the text is read. The nesting is counted before anything is made of it.
class json_builder final : public json_listener {
public:
    explicit json_builder(int deepest) : deepest_(deepest) {}

    bool scalar(json_value&& v) override {
        place(std::move(v));
        return true;
    }
    bool begin_object() override { return open(json_value::object{}); }
    bool begin_list() override { return open(json_value::list{}); }
    bool key(std::string&& name) override {
        std::get<json_value::object>(inside_.back()->held).push_back({std::move(name), {}});
        return true;
    }
    bool end_object() override {
        const auto& members = std::get<json_value::object>(inside_.back()->held);
        std::vector<const std::string*> names;
        for (const auto& m : members) names.push_back(&m.name);
        std::sort(names.begin(), names.end(), [](const std::string* a, const std::string* b) { return *a < *b; });
        for (std::size_t i = 1; i < names.size(); ++i)
            if (*names[i - 1] == *names[i]) {
                mistake = "an object has the member \"" + *names[i] + "\" twice";
                return false;
            }
        return end_list();
    }
    bool end_list() override {
        inside_.pop_back();
        return true;
    }
    void defect(const std::string& what) override { not_json = what; }

    json_value root;
    std::string not_json, mistake;

private:
    json_value* place(json_value&& v) {
        if (inside_.empty()) {
            root = std::move(v);
            return &root;
        }
        if (auto* members = std::get_if<json_value::object>(&inside_.back()->held)) {
            members->back().value = std::move(v);
            return &members->back().value;
        }
        auto& items = std::get<json_value::list>(inside_.back()->held);
        items.push_back(std::move(v));
        return &items.back();
    }
    bool open(json_value&& v) {
        if (static_cast<int>(inside_.size()) == deepest_) {
            mistake = "it is nested deeper than " + std::to_string(deepest_) + " lists and objects";
            return false;
        }
        // What is open is the last of what it is in: nothing is added before it, so its address stays.
        inside_.push_back(place(std::move(v)));
        return true;
    }

    int deepest_;
    std::vector<json_value*> inside_;
};

TENON_INLINE json_value parse_json(const std::string& text, const std::string& what, int deepest) {
    json_builder builder(deepest);
    if (!read_json(text.data(), text.size(), builder)) {
        if (!builder.mistake.empty()) throw invalid_argument_error(what + ": " + builder.mistake);
        throw data_loss_error(what + ": " + builder.not_json);
    }
    return std::move(builder.root);
}

} // namespace tenon::detail
