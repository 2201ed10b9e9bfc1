#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

/// Requests and responses of HTTP as bytes, by cpp-httplib: nothing else includes it.

namespace tenon::net {

/// What of a request matters here. What it does not have is empty.
struct http_request {
    std::string method, path;
    std::string host, authorization, cookies; ///< headers
    std::string token;                        ///< the query's
    bool has_token = false;                   ///< the query has one
    std::string content_type = {}, content_encoding = {},
                inference_header = {}; ///< headers: the last one Inference-Header-Content-Length
};

struct http_reply {
    int status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers = {};
};

class responder {
public:
    using handler = std::function<http_reply(const http_request&)>;

    /// Throws unimplemented_error where this build has no cpp-httplib.
    static std::unique_ptr<responder> make(handler h);
    virtual ~responder() = default;

    /// `head`: a request up to its empty line. What is no request is answered so; a body is not looked at, of HEAD none is sent. The
    /// connection ends after each response, unless it may go on, which what is no request may not, and `goes_on` is then true. By one thread at a time.
    virtual std::string respond(const std::string& head, bool* goes_on = nullptr) = 0;

protected:
    responder() = default;
};

/// By who knows how, before main().
void register_responder(std::unique_ptr<responder> (*make)(responder::handler)) noexcept;

} // namespace tenon::net
