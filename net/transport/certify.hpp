#pragma once

#include <memory>
#include <string>
#include <vector>

/// Certificates for TLS between tasks, made here. All texts are PEM.

namespace tenon::net {

/// A certificate and its private key, which has no password.
struct certified_key {
    std::string certificate, key;
};

/// An authority of one's own. Its key lives as long as it does, and is written nowhere.
class certificate_authority {
public:
    /// Valid from and until so many days from now, here and below. Throws internal_error where OpenSSL cannot do it, which says why.
    explicit certificate_authority(const std::string& name, int from_day, int until_day);
    ~certificate_authority();

    const std::string& certificate() const noexcept { return text_; }
    /// A certificate for servers and clients both. `hosts` are DNS names and IP addresses that it is valid for; `rsa`: its key is one of
    /// 2048 bits, else one of the curve P-256. Throws invalid_argument_error for a host that is neither.
    certified_key certify(const std::string& name, const std::vector<std::string>& hosts, int from_day, int until_day,
                          bool rsa = false) const;

private:
    struct own;
    std::unique_ptr<own> own_;
    std::string text_;
};

/// What all tasks of a cluster on these hosts need.
struct cluster_certificates {
    std::string authorities; ///< whom they believe
    std::string certificate; ///< of all of them, for each of the hosts, localhost, 127.0.0.1 and ::1
    std::string key;
};
/// By an authority that nobody has when this returns: it certifies nothing else. Valid for so many days, and, for clocks that differ,
/// since yesterday. Throws invalid_argument_error as above, and for less than one day.
cluster_certificates make_cluster_certificates(const std::vector<std::string>& hosts, int days);

} // namespace tenon::net
