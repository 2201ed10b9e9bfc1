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

void try_input(const fuzz::input& in) {
    const std::string text = in.text();
    fuzz::require(is_within(bearer_of(text), text), "a token is no part of the header");
    fuzz::require(is_within(cookie_of(text, "tenon_http"), text), "a cookie is no part of the header");
    fuzz::require(cookie_of("tenon_http=abc;" + text, "tenon_http") == "abc",
                  "a cookie that is the first is not found");
    fuzz::require(cookie_of("other=abc; tenon_http=12", "tenon_http") == "12", "a cookie is not found");
    const token_check t("secret");
    fuzz::require(t.is_token(text) == (text == "secret"), "a token is taken for another one");
    fuzz::require(t.is_cookie(text) == (text == t.cookie()), "a cookie is taken for another one");
    const std::string task = awaited_task(text);
    fuzz::require(task.empty() || task.starts_with("/job:"), "what a step waits for is no task");
    if (const auto fill = tenon::queue_fill::of(text))
        fuzz::require(text.find(" of " + std::to_string(fill->capacity) + " elements of ") != std::string::npos ||
                          text.find("0" + std::to_string(fill->capacity)) != std::string::npos,
                      "a queue holds what it does not say");
}
