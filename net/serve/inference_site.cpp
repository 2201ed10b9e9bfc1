#include <net/serve/inference_site.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

#include <net/http/place.hpp>
#include <net/http/status/serving_metrics.hpp>
#include <net/http/status/status_json.hpp>
#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

// JSON becomes some tens of bytes for each of its own, for which binary tensors have none.
constexpr std::size_t most_json_bytes = std::size_t{8} << 20;

http_reply json(std::string text, int status = 200) { return {status, "application/json", std::move(text)}; }
http_reply refused(int status, const std::string& why) { return json(error_json(why), status); }

int status_of(error_code c) {
    switch (c) {
    case error_code::invalid_argument:
    case error_code::out_of_range: return 400;
    case error_code::not_found: return 404;
    case error_code::deadline_exceeded: return 504;
    case error_code::resource_exhausted:
    case error_code::unavailable:
    case error_code::failed_precondition: // it is closed, or has no weights yet
    case error_code::aborted:
    case error_code::cancelled: return 503;
    case error_code::unimplemented: return 501;
    default: return 500;
    }
}

http_reply refused(const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const error& e) {
        http_reply r = refused(status_of(e.code()), e.what());
        if (e.code() == error_code::resource_exhausted) r.headers.emplace_back("Retry-After", "1");
        return r;
    } catch (const std::exception& e) {
        return refused(500, e.what());
    }
}

std::vector<std::string> parts_of(const std::string& path) {
    std::vector<std::string> all;
    for (std::size_t at = 0; at < path.size();) {
        const std::size_t end = std::min(path.find('/', at + 1), path.size());
        all.push_back(path.substr(at + 1, end - at - 1));
        at = end;
    }
    return all;
}

} // namespace

void check_path_name(const any_served_model& m) {
    const std::string& name = m.signature().name;
    const auto refuse = [&](const std::string& why) {
        throw invalid_argument_error("a model that is called '" + as_utf8(name) + "' cannot be asked by HTTP: " + why +
                                     "; give it another name (model_server_options::name)");
    };
    if (as_utf8(name) != name) refuse("its name is not UTF-8");
    if (name == "stats") refuse("/v2/models/stats is of all models");
    if (name == "." || name == "..") refuse("in a path that is a folder");
}

inference_site::inference_site(const model_table& models, const inference_site_options& o,
                               std::function<void(std::uint64_t)> came) :
    models_(models),
    token_(o.token),
    request_timeout_(o.request_timeout),
    came_(std::move(came)),
    responder_(responder::make([this](const http_request& r) { return reply_to(r); })) {}

std::optional<std::string> inference_site::answer(received_request& r, bool is_last) {
    request_ = &r;
    is_last_ = is_last;
    waits_ = false;
    bool goes_on = false;
    std::string response = responder_->respond(r.head, &goes_on);
    r.is_last = !goes_on;
    if (waits_) return {};
    return response;
}

http_reply inference_site::reply_to(const http_request& r) {
    const std::vector<std::string> path = parts_of(r.path);
    const bool is_health = path.size() == 3 && path[0] == "v2" && path[1] == "health";
    if (!is_health) {
        if (token_.is_wanted() && !token_.is_token(bearer_of(r.authorization))) {
            http_reply to =
                refused(401, "this server has a token: show it with the header \"Authorization: Bearer TOKEN\"");
            to.headers.emplace_back("WWW-Authenticate", "Bearer");
            return to;
        }
        if (!token_.is_wanted() && !is_own_name(r.host))
            return refused(421, "ask by an address or localhost; by another name only where there is a token");
    }
    try {
        if (request_->begun) return answer_of(*std::static_pointer_cast<inference>(request_->begun));
        if (path.size() >= 3 && path[0] == "v2" && path[1] == "models" && path[2] != "stats") return of_model(r, path);
        return of_server(r, path);
    } catch (...) {
        return refused(std::current_exception());
    }
}

http_reply inference_site::of_server(const http_request& r, const std::vector<std::string>& path) {
    const auto is = [&](std::initializer_list<const char*> parts) {
        return std::equal(path.begin(), path.end(), parts.begin(), parts.end());
    };
    if (is({"v2", "repository", "index"})) {
        std::vector<indexed_model> all;
        for (const any_served_model& m : models_.all())
            all.push_back({m.signature().name, m.metrics().version, m.why_not_ready()});
        return json(repository_index_json(all));
    }
    if (r.method != "GET" && r.method != "HEAD") {
        http_reply to = refused(405, r.path + " is only read; a model is asked by POST /v2/models/NAME/infer");
        to.headers.emplace_back("Allow", "GET, HEAD");
        return to;
    }
    if (is({"v2"})) return json(server_metadata_json({"binary_tensor_data", "statistics", "model_configuration"}));
    if (is({"v2", "health", "live"})) return json("{\"live\":true}");
    if (is({"v2", "health", "ready"})) {
        for (const any_served_model& m : models_.all())
            if (!m.why_not_ready().empty()) return json("{\"ready\":false}", 503);
        return json("{\"ready\":true}");
    }
    if (is({"v2", "models", "stats"})) {
        std::vector<std::pair<model_signature, serving_metrics>> all;
        for (const any_served_model& m : models_.all()) all.emplace_back(m.signature(), m.metrics());
        return json(model_statistics_json(all));
    }
    if (is({"metrics"})) {
        std::vector<std::pair<std::string, serving_metrics>> all;
        for (const any_served_model& m : models_.all()) all.emplace_back(m.signature().name, m.metrics());
        return {200, "text/plain; version=0.0.4; charset=utf-8", serving_metrics_text(all)};
    }
    return refused(404, "there is no " + r.path +
                            " here: there are /v2, /v2/health/live, /v2/health/ready, "
                            "/v2/models/NAME[/versions/VERSION][/infer|/ready|/config|/stats] and /metrics");
}

http_reply inference_site::of_model(const http_request& r, const std::vector<std::string>& path) {
    const any_served_model m = models_.find(path[2]);
    if (!m) return refused(404, "there is no model '" + path[2] + "'; " + models_.named());
    std::size_t at = 3;
    if (path.size() >= 5 && path[3] == "versions") {
        const std::int64_t version = m.metrics().version;
        if (path[4] != std::to_string(version))
            return refused(404, "model '" + path[2] + "' is of version " + std::to_string(version) + ", not " +
                                    path[4] + "; ask without a version for the one that there is");
        at = 5;
    }
    const std::string what = path.size() == at ? "" : path.size() == at + 1 ? path[at] : "?";
    if (what == "infer") {
        if (r.method == "POST") return begin(r, m);
        http_reply to = refused(405, "a model is asked by POST");
        to.headers.emplace_back("Allow", "POST");
        return to;
    }
    if (r.method != "GET" && r.method != "HEAD") {
        http_reply to = refused(405, r.path + " is only read; a model is asked by POST /v2/models/NAME/infer");
        to.headers.emplace_back("Allow", "GET, HEAD");
        return to;
    }
    if (what.empty()) return json(model_metadata_json(m.signature(), m.metrics().version));
    if (what == "ready") {
        const std::string why = m.why_not_ready();
        return why.empty() ? json("{\"ready\":true}") : refused(503, why);
    }
    if (what == "config") return json(model_config_json(m.signature()));
    if (what == "stats") return json(model_statistics_json({{m.signature(), m.metrics()}}));
    return refused(404, "there is no " + r.path + " here: of a model there are /infer, /ready, /config and /stats");
}

http_reply inference_site::answer_of(inference& i) {
    std::optional<inference_response> made = i.response();
    if (!made && is_last_) return refused(504, "model '" + i.model().signature().name + "': the request took too long");
    waits_ = !made;
    if (waits_) return {};
    http_reply to{200, made->has_binary ? "application/octet-stream" : "application/json", std::move(made->body)};
    if (made->has_binary) to.headers.emplace_back("Inference-Header-Content-Length", std::to_string(made->json_bytes));
    return to;
}

http_reply inference_site::begin(const http_request& r, const any_served_model& m) {
    if (!r.content_encoding.empty() && r.content_encoding != "identity")
        return refused(415, "a request's body is not to be compressed, and this one is " + as_utf8(r.content_encoding));
    std::size_t json_bytes = request_->body.size();
    if (!r.inference_header.empty()) {
        const char* const end = r.inference_header.data() + r.inference_header.size();
        const auto [at, wrong] = std::from_chars(r.inference_header.data(), end, json_bytes);
        if (wrong != std::errc() || at != end)
            return refused(400, "Inference-Header-Content-Length is no number of bytes");
    }
    if (json_bytes > most_json_bytes)
        return refused(413, "the request has " + std::to_string(json_bytes) + " bytes of JSON, and may have " +
                                std::to_string(most_json_bytes) + "; send large tensors binary");
    const auto i =
        std::make_shared<inference>(inference::question{m, std::move(request_->body), json_bytes, request_timeout_},
                                    long_ones_, [came = came_, number = request_->number] { came(number); });
    i->start();
    request_->begun = i;
    return answer_of(*i);
}

} // namespace tenon::net
