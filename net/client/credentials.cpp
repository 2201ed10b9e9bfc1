#include <net/client/credentials.hpp>

#include <cstdlib>

#include <net/client/settings.hpp>

namespace tenon::net {

credentials completed(credentials given) {
    environment variables; // of those alone: this is asked for each time somebody dials
    for (const char* name : {"TENON_TOKEN", "TENON_CERTIFICATE", "TENON_KEY", "TENON_AUTHORITIES", "TENON_INSECURE"})
        if (const char* value = std::getenv(name)) variables.set(name, value);
    const cluster_flags none;
    const settings said(none, variables);
    const auto value_of = [&](const char* name) {
        const auto v = said.variable(name);
        return v ? v->value : std::string();
    };
    if (given.token.empty()) given.token = value_of("TENON_TOKEN");
    if (given.tls.empty() && given.tls.private_key.empty()) {
        given.tls = {value_of("TENON_CERTIFICATE"), value_of("TENON_KEY"), value_of("TENON_AUTHORITIES")};
        if (const auto key = said.variable("TENON_KEY"); key && given.tls.certificate_chain.empty())
            key->refuse("there is no certificate that it belongs to; set TENON_CERTIFICATE, too");
        if (const auto chain = said.variable("TENON_CERTIFICATE"); chain && given.tls.private_key.empty())
            chain->refuse("its private key is not given; set TENON_KEY");
    }
    if (!given.insecure) given.insecure = said.switched_on("TENON_INSECURE");
    return given;
}

} // namespace tenon::net
