// Looks for a token in headers of HTTP, and for a queue's fill and a task in what status rows say: what is found is a part of the text,
// and what was put there is found.
// covers: net/http/shown_token net/http/status/stalls

#include <net/http/shown_token.hpp>
#include <net/http/status/stalls.hpp>
#include <tenon/resources/queue.hpp>

#include "fuzz/fuzzing.hpp"

using namespace tenon::net;

namespace {

bool is_within(std::string_view part, std::string_view all) {
    return part.empty() || (part.data() >= all.data() && part.data() + part.size() <= all.data() + all.size());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    require(is_within(bearer_of(text), text), "a token is no part of the header");
    require(is_within(cookie_of(text, "tenon_http"), text), "a cookie is no part of the header");
    require(cookie_of("tenon_http=abc;" + text, "tenon_http") == "abc", "a cookie that is the first is not found");
    require(cookie_of("other=abc; tenon_http=12", "tenon_http") == "12", "a cookie is not found");
    const token_check t("secret");
    require(t.is_token(text) == (text == "secret"), "a token is taken for another one");
    require(t.is_cookie(text) == (text == t.cookie()), "a cookie is taken for another one");
    const std::string task = awaited_task(text);
    require(task.empty() || task.starts_with("/job:"), "what a step waits for is no task");
    if (const auto fill = tenon::queue_fill::of(text))
        require(text.find(" of " + std::to_string(fill->capacity) + " elements of ") != std::string::npos ||
                    text.find("0" + std::to_string(fill->capacity)) != std::string::npos,
                "a queue holds what it does not say");
    return 0;
}
