#pragma once

#include <string>

#include <openssl/ssl.h>

/// What went wrong with TLS, for people: which certificate, why, and what to do.

namespace tenon::net {

/// "CN=localhost"
std::string subject_of(const X509* certificate);

/// Why a certificate is not believed, by OpenSSL's number (X509_V_ERR_...). `host` is what was dialed.
std::string disbelief(const X509* certificate, int reason, const std::string& host);

/// OpenSSL's last errors, of this thread, which are forgotten by that. `own` is the subject of what this side shows, empty where it shows
/// nothing.
std::string tls_failure(const std::string& own);

} // namespace tenon::net
