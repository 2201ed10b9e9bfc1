#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <tenon/net/server.hpp>
#include <tenon/serve/served_model.hpp>

/// Models that are served to other processes: by the Open Inference Protocol over HTTP, which existing clients speak, and over Tenon's own
/// protocol.
///
///     tn::net::inference_server http({.where = "8000"});
///     http.add(fashion);                                     // a tn::model_server: POST /v2/models/fashion/infer
///
///     tn::server here = tn::server::create_local_server();
///     tn::net::serve_model(here, fashion);
///     auto there = tn::net::remote_model(here.target(), "fashion")
///         .as<tn::model_inputs<tn::component<float, tn::shape<batch, 784>>>,
///             tn::model_outputs<tn::component<float, tn::shape<batch, 10>>>>();     // in another process
///     auto [scores] = there(images);

namespace tenon::net {

struct inference_options {
    /// "port", of this machine alone, or "host:port"; 0 is any that is free. Beyond this machine it wants a token, and TLS or `insecure`.
    std::string where = "0";
    std::string token = {}; ///< whoever asks must show it: Authorization: Bearer TOKEN; health needs none
    tls_files tls = {};     ///< a certificate and a key: HTTPS, for which clients need no certificate
    bool insecure = false;
    std::size_t connections = 1024;                    ///< one more closes the oldest that waits for no answer
    std::size_t body_bytes = std::size_t{64} << 20;    ///< of a request
    std::size_t all_body_bytes = std::size_t{1} << 30; ///< of all requests at a time
    double request_timeout = 60;                       ///< seconds that a request may take, if it does not say less
};

/// Serves models over HTTP from when it is made until its end. Thread-safe.
class inference_server {
public:
    /// invalid_argument_error where an option makes no sense, permission_denied_error where others would reach it unasked,
    /// unavailable_error where the address cannot be had, unimplemented_error where the build is without cpp-httplib.
    explicit inference_server(const inference_options& o = {});
    ~inference_server();
    inference_server(inference_server&&) noexcept;
    inference_server& operator=(inference_server&&) noexcept;

    /// already_exists_error where there is one of this name, invalid_argument_error where a path cannot have it: it is UTF-8, and not
    /// "stats", "." or "..".
    void add(const any_served_model& m);
    /// What it has been asked is answered. not_found_error where there is none.
    void remove(const std::string& model);
    /// "http://127.0.0.1:8000", or https.
    std::string url() const;
    /// "127.0.0.1:8000"
    const std::string& address() const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

/// Clients of this server may ask the model by its name from now on, remote_model(), until it is withdrawn or the server ends.
/// already_exists_error where there is one of this name.
void serve_model(server& s, const any_served_model& m);
/// not_found_error where there is none.
void withdraw_model(server& s, const std::string& model);

/// A model that a server serves, "tenon://host:port". unavailable_error where none answers, not_found_error where it has no such model,
/// naming those that it has. Requests go over one link; a task that is lost fails them with unavailable_error, and may be asked again. Of
/// its metrics() the version is known, of the last answer.
any_served_model remote_model(const std::string& target, const std::string& model);

} // namespace tenon::net
