#pragma once

#include <string>

/// tenon certificates: what TLS between the tasks of a cluster needs, as files.

namespace tenon::command {

struct certificates_options {
    std::string hosts; ///< "a,b,10.0.0.3": names and IP addresses by which tasks and clients reach each other
    std::string folder = "tenon-certificates"; ///< made where it is not there, for this user alone
    int days = 365;                            ///< for which they are valid
    bool force = false;                        ///< replaces files that are there
};

/// Writes authorities.pem, certificate.pem and key.pem, which this user alone can read, and returns the lines that set the variables which
/// name them. They are the same for all hosts, and for localhost. The key of the authority is not kept: more hosts need new files. Throws
/// invalid_argument_error, already_exists_error or unavailable_error that names the flag or the file.
std::string make_certificates(const certificates_options& options);

} // namespace tenon::command
