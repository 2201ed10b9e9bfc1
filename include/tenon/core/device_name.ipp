#pragma once

#include <tenon/core/device_name.hpp>
#include <tenon/core/error.hpp>

namespace tenon {

TENON_INLINE std::string to_string(const device_name& d) {
    std::string text;
    if (!d.job.empty()) text += "/job:" + d.job.str();
    if (d.replica >= 0) text += "/replica:" + std::to_string(d.replica);
    if (d.task >= 0) text += "/task:" + std::to_string(d.task);
    if (!d.type.empty()) text += "/device:" + d.type.str() + ":" + (d.index < 0 ? "*" : std::to_string(d.index));
    return text;
}

namespace detail {

TENON_INLINE void throw_malformed(const parsed_device_name& parsed, std::string_view whole) {
    const auto quoted = [](std::string_view text) {
        constexpr std::size_t shown = 200;
        return "\"" + std::string(text.substr(0, shown)) + (text.size() > shown ? "...\"" : "\"");
    };
    std::string message = "device name " + quoted(whole) + ": " + words(parsed.what);
    if (parsed.part != whole) message += ": " + quoted(parsed.part);
    throw invalid_argument_error(message + "; a name is like /job:ps/replica:0/task:1/device:GPU:0 or /gpu:0");
}

} // namespace detail
} // namespace tenon
