#include <net/http/status/metrics_writer.hpp>

#include <net/http/status/status_json.hpp>
#include <tenon/core/text/number_text.hpp>

namespace tenon::net {

namespace {

std::string escaped(const std::string& text) {
    std::string shown;
    for (const char c : as_utf8(text)) {
        const auto code = static_cast<unsigned char>(c);
        if (c == '\\' || c == '"') shown += '\\';
        if (c == '\n') shown += "\\n";
        else if (code < 0x20 || code == 0x7f) shown += ' ';
        else shown += c;
    }
    return shown;
}

std::string in_braces(const metric_labels& all) {
    std::string text;
    for (const auto& [name, value] : all)
        text += (text.empty() ? "" : ",") + std::string(name) + "=\"" + escaped(value) + "\"";
    return text.empty() ? text : "{" + text + "}";
}

} // namespace

void metrics_writer::begin(const char* name, const char* type, const char* help) {
    name_ = name;
    said_.clear();
    text_ += "# HELP " + name_ + " " + help + "\n# TYPE " + name_ + " " + type + "\n";
}

void metrics_writer::add(const metric_labels& of, double v, const char* suffix) {
    add_text(of, tenon::detail::text_of_number(v), suffix);
}
void metrics_writer::add(const metric_labels& of, std::uint64_t v, const char* suffix) {
    add_text(of, std::to_string(v), suffix);
}

void metrics_writer::add_text(const metric_labels& of, const std::string& number, const char* suffix) {
    const std::string series = name_ + suffix + in_braces(of);
    if (said_.size() >= most_) ++left_out_;
    else if (said_.insert(series).second) text_ += series + " " + number + "\n";
}

} // namespace tenon::net
