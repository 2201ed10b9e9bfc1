#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <net/http/request_loop.hpp>
#include <net/http/respond.hpp>
#include <net/http/shown_token.hpp>
#include <net/serve/open_inference.hpp>
#include <tenon/serve/served_model.hpp>

/// What is answered where, of the Open Inference Protocol: docs/serving.md has the paths.

namespace tenon::net {

/// The models that there are. Thread-safe.
class model_table {
public:
    void add(const any_served_model& m);
    void remove(const std::string& name);
    /// An empty handle where there is none.
    any_served_model find(const std::string& name) const;
    std::vector<any_served_model> all() const;
    /// "there are 'a', 'b'"
    std::string named() const;

private:
    mutable std::mutex guard_;
    std::map<std::string, any_served_model> models_;
};

struct inference_site_options {
    std::string token = {}; ///< empty: nothing has to be shown
    double request_timeout = 60;
};

/// Used by one thread, but for `came`.
class inference_site {
public:
    /// `came` is called by any thread, also after this has ended, when a request that had no answer has one.
    inference_site(const model_table& models, const inference_site_options& o, std::function<void()> came);

    /// The response to a request; nothing where it is being computed, unless it is the last time.
    std::optional<std::string> answer(received_request& r, bool is_last);

private:
    struct inference;
    http_reply reply_to(const http_request& r);
    http_reply of_server(const http_request& r, const std::vector<std::string>& path);
    http_reply of_model(const http_request& r, const std::vector<std::string>& path);
    http_reply infer(const http_request& r, const any_served_model& m);
    http_reply begin(const http_request& r, const any_served_model& m);

    const model_table& models_;
    const token_check token_;
    const double request_timeout_;
    const std::function<void()> came_;
    const std::unique_ptr<responder> responder_;
    received_request* request_ = nullptr; // that is being answered
    bool is_last_ = false, waits_ = false;
};

} // namespace tenon::net
