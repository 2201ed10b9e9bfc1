#pragma once

#include <string>
#include <vector>

#include <net/transport/certify.hpp>

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
    const std::string& authority() const { return file_; }
    /// As certificate_authority::certify has it.
    certificate_files make(const std::vector<std::string>& hosts, int from_day = -1, int until_day = 30,
                           bool rsa = false);
    std::string folder() const { return folder_.path().string(); }

private:
    temporary_folder folder_;
    tenon::net::certificate_authority authority_;
    std::string file_;
    int count_ = 0;
};

} // namespace net_test
