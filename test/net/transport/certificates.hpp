#pragma once

#include <string>

#include "../../temporary_folder.hpp"

/// Certificates that a test makes for itself.

namespace net_test {

struct certificate_files {
    std::string certificate, key;
};

/// An authority of its own and what it signs, as files in a folder that ends with it.
class certificate_maker {
public:
    explicit certificate_maker(const std::string& authority);
    /// A file with the authority's certificate.
    const std::string& authority() const { return authority_.certificate; }
    /// For these names, "DNS:localhost,IP:127.0.0.1", valid from and until so many days from now. Its key is of an elliptic
    /// curve, or, where that is asked for, of RSA.
    certificate_files make(const std::string& names, int from_day = -1, int until_day = 30, bool rsa = false);
    std::string folder() const { return folder_.path().string(); }

private:
    temporary_folder folder_;
    certificate_files authority_;
    int count_ = 0;
};

} // namespace net_test
