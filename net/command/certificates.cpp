#include <net/command/certificates.hpp>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <sys/stat.h>

#include <net/launch/private_file.hpp>
#include <net/transport/certify.hpp>
#include <tenon/core/error.hpp>

namespace tenon::command {

namespace {

namespace fs = std::filesystem;

net::cluster_certificates made_for(const certificates_options& options) {
    std::vector<std::string> hosts;
    for (std::size_t at = 0; at <= options.hosts.size();) {
        const std::size_t end = std::min(options.hosts.find(',', at), options.hosts.size());
        hosts.push_back(options.hosts.substr(at, end - at));
        at = end + 1;
    }
    try {
        return net::make_cluster_certificates(hosts, options.days);
    } catch (const invalid_argument_error& e) {
        throw invalid_argument_error("--hosts \"" + options.hosts + "\", --days " + std::to_string(options.days) +
                                     ": " + e.what());
    }
}

} // namespace

std::string make_certificates(const certificates_options& options) {
    const net::cluster_certificates made = made_for(options);
    struct {
        const char *name, *variable;
        const std::string& text;
    } const files[] = {{"certificate.pem", "TENON_CERTIFICATE", made.certificate},
                       {"key.pem", "TENON_KEY", made.key},
                       {"authorities.pem", "TENON_AUTHORITIES", made.authorities}};
    const fs::path folder = fs::absolute(options.folder).lexically_normal();
    std::error_code none;
    for (const auto& f : files)
        if (!options.force && fs::exists(fs::symlink_status(folder / f.name, none)))
            throw already_exists_error("--out " + options.folder + ": there is a file '" + (folder / f.name).string() +
                                       "' already; give another folder, or --force to replace what is there");
    if (::mkdir(folder.c_str(), S_IRWXU) != 0 && errno != EEXIST)
        throw unavailable_error("--out " + options.folder + ": the folder cannot be made: " + std::strerror(errno) +
                                "; give one whose parent is there and may be written to");
    std::string lines;
    for (const auto& f : files) {
        const std::string path = (folder / f.name).string();
        net::write_private_file(path, f.text);
        lines += std::string(f.variable) + "=" + path + "\n";
    }
    return lines;
}

} // namespace tenon::command
