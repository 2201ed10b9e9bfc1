#include <net/link/options.hpp>

#include <openssl/rand.h>

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

std::uint64_t random_incarnation() {
    std::uint64_t found = 0;
    while (found == 0)
        if (RAND_bytes(reinterpret_cast<unsigned char*>(&found), sizeof found) != 1)
            throw internal_error("random_incarnation: the system gives no random bytes");
    return found;
}

} // namespace tenon::net
