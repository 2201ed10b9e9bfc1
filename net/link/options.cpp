#include <net/link/options.hpp>

#include <cstdio>

#include <tenon/core/error.hpp>

namespace tenon::net {

std::string name_of(const std::string& job, std::int32_t task) {
    return job.empty() ? "a client" : "/job:" + job + "/task:" + std::to_string(task);
}

std::string in_words(duration d) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
    char text[32];
    if (ms < 1000) std::snprintf(text, sizeof text, "%lld ms", static_cast<long long>(ms));
    else std::snprintf(text, sizeof text, "%.3g s", static_cast<double>(ms) / 1000);
    return text;
}

} // namespace tenon::net
