#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <net/http/request_loop.hpp>
#include <net/http/respond.hpp>
#include <net/http/shown_token.hpp>
#include <net/serve/model_table.hpp>
#include <net/serve/inference.hpp>
#include <tenon/serve/served_model.hpp>

/// What is answered where, of the Open Inference Protocol: docs/serving.md has the paths.

namespace tenon::net {

/// invalid_argument_error where a path cannot have the model's name, or has another meaning with it.
void check_path_name(const any_served_model& m);

struct inference_site_options {
    std::string token = {}; ///< empty: nothing has to be shown
    double request_timeout = 60;
};

/// Used by one thread, but for `came`.
class inference_site {
public:
    /// `came` is called by any thread, also after this has ended, with a request's number, when it had no answer and has one.
    inference_site(const model_table& models, const inference_site_options& o, std::function<void(std::uint64_t)> came);

    /// The response to a request; nothing where it is being computed, unless it is the last time.
    std::optional<std::string> answer(received_request& r, bool is_last);

private:
    http_reply reply_to(const http_request& r);
    http_reply of_server(const http_request& r, const std::vector<std::string>& path);
    http_reply of_model(const http_request& r, const std::vector<std::string>& path);
    http_reply begin(const http_request& r, const any_served_model& m);
    http_reply answer_of(inference& i);

    const model_table& models_;
    const token_check token_;
    const double request_timeout_;
    const std::function<void(std::uint64_t)> came_;
    const std::unique_ptr<responder> responder_;
    received_request* request_ = nullptr; // that is being answered
    bool is_last_ = false, waits_ = false;
    work_queue long_ones_;
};

} // namespace tenon::net
