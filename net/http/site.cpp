#include <net/http/site.hpp>

#include <utility>

#include <net/http/place.hpp>
#include <net/http/status/metrics.hpp>
#include <net/http/status/page.hpp>
#include <net/http/status/serving_metrics.hpp>
#include <net/http/status/status_json.hpp>

namespace tenon::net {

namespace {

http_reply words(int status, std::string text) { return {status, "text/plain; charset=utf-8", std::move(text) + "\n"}; }

} // namespace

site::site(http_facts& of, const site_options& o, std::function<void()> came) :
    of_(of),
    token_(o.token),
    is_secure_(o.is_secure),
    cluster_(of, std::move(came)),
    responder_(responder::make([this](const http_request& r) { return reply_to(r); })) {}

std::optional<std::string> site::answer(const std::string& head, bool is_last) {
    is_last_ = is_last;
    waits_ = false;
    std::string response = responder_->respond(head);
    if (waits_) return {};
    return response;
}

http_reply site::reply_to(const http_request& r) {
    http_reply to = page_for(r);
    for (const auto& [name, value] :
         std::initializer_list<std::pair<const char*, const char*>>{{"Cache-Control", "no-store"},
                                                                    {"X-Content-Type-Options", "nosniff"},
                                                                    {"Referrer-Policy", "no-referrer"},
                                                                    {"Cross-Origin-Resource-Policy", "same-origin"}})
        to.headers.emplace_back(name, value);
    if (r.path != "/" || to.status != 200)
        to.headers.emplace_back("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
    return to;
}

bool site::shows_token(const http_request& r) const {
    return token_.is_token(bearer_of(r.authorization)) ||
           token_.is_cookie(cookie_of(r.cookies, token_check::cookie_name));
}

http_reply site::page_for(const http_request& r) {
    if (r.method != "GET" && r.method != "HEAD") {
        http_reply to = words(405, "only GET and HEAD: nothing is changed here");
        to.headers.emplace_back("Allow", "GET, HEAD");
        return to;
    }
    const bool may_know = token_.is_wanted() ? shows_token(r) : is_own_name(r.host);
    // Those who ask whether it lives have no secrets; they are told that, and no more.
    if (r.path == "/healthz") return of_.is_stopping() ? words(503, "stopping") : words(200, "ok");
    if (r.path == "/readyz") {
        const std::string why = of_.why_not_ready();
        return why.empty() ? words(200, "ok") : words(503, may_know ? as_utf8(why) : "not ready");
    }
    if (token_.is_wanted() && r.has_token && token_.is_token(r.token)) {
        http_reply to = words(303, "the token is a cookie now");
        to.headers.emplace_back("Set-Cookie", std::string(token_check::cookie_name) + "=" + token_.cookie() +
                                                  "; Path=/; HttpOnly; SameSite=Lax" + (is_secure_ ? "; Secure" : ""));
        to.headers.emplace_back("Location", r.path == "/status.json" || r.path == "/metrics" ? r.path : "/");
        return to;
    }
    if (!may_know && !token_.is_wanted())
        return words(421, "ask by an address or localhost; by another name only where there is a token");
    if (!may_know) {
        http_reply to =
            words(401, "this server has a token: show it with the header \"Authorization: Bearer TOKEN\", or in a "
                       "browser once as /?token=TOKEN");
        to.headers.emplace_back("WWW-Authenticate", "Bearer");
        return to;
    }
    if (r.path == "/") {
        http_reply to{200, "text/html; charset=utf-8", http_page()};
        to.headers.emplace_back("Content-Security-Policy", http_page_policy());
        return to;
    }
    if (r.path == "/status.json") return status();
    if (r.path == "/metrics")
        return {200, "text/plain; version=0.0.4; charset=utf-8",
                metrics_text(of_.own(), of_.totals()) + serving_metrics_text(of_.served())};
    return words(404, "there are /, /status.json, /metrics, /healthz and /readyz");
}

http_reply site::status() {
    const auto seen = cluster_.look();
    if (!seen && !is_last_) {
        waits_ = true;
        return {};
    }
    const std::chrono::duration<double> age =
        seen ? cluster_view::clock::now() - seen->at : cluster_view::clock::duration{};
    return {200, "application/json", seen ? status_json(seen->rows, age.count()) : status_json({of_.own()})};
}

} // namespace tenon::net
