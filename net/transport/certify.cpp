#include <net/transport/certify.hpp>

#include <algorithm>

#include <arpa/inet.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

template <auto F> struct ends_by {
    template <class T> void operator()(T* x) const { F(x); }
};
using owned_key = std::unique_ptr<EVP_PKEY, ends_by<EVP_PKEY_free>>;
using owned_certificate = std::unique_ptr<X509, ends_by<X509_free>>;
using owned_memory = std::unique_ptr<BIO, ends_by<BIO_free_all>>;

void require(bool done, const char* what) {
    if (done) return;
    const char* const reason = ERR_reason_error_string(ERR_peek_error());
    const std::string why = reason ? std::string(": ") + reason : "";
    ERR_clear_error();
    throw internal_error(std::string("certificates: OpenSSL cannot make ") + what + why);
}

template <class Write> std::string written(Write write) {
    const owned_memory to(BIO_new(BIO_s_mem()));
    require(to && write(to.get()) == 1, "a text");
    char* data = nullptr;
    const long size = BIO_get_mem_data(to.get(), &data);
    return {data, static_cast<std::size_t>(size)};
}
std::string pem_of(X509* c) {
    return written([&](BIO* to) { return PEM_write_bio_X509(to, c); });
}
std::string pem_of(EVP_PKEY* k) {
    return written([&](BIO* to) { return PEM_write_bio_PrivateKey(to, k, nullptr, nullptr, 0, nullptr, nullptr); });
}

void add_extension(X509* to, X509* issuer, int which, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, ends_by<X509_EXTENSION_free>> e(
        X509V3_EXT_conf_nid(nullptr, &context, which, value.c_str()));
    require(e && X509_add_ext(to, e.get(), -1) == 1, value.c_str());
}

owned_certificate begun(const std::string& name, EVP_PKEY* key, int from_day, int until_day) {
    owned_certificate c(X509_new());
    std::uint64_t number = 0;
    require(key && c && RAND_bytes(reinterpret_cast<unsigned char*>(&number), sizeof number) == 1, "a key");
    X509_set_version(c.get(), X509_VERSION_3);
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(c.get()), number >> 1U | 1U);
    X509_time_adj_ex(X509_getm_notBefore(c.get()), from_day, 0, nullptr);
    X509_time_adj_ex(X509_getm_notAfter(c.get()), until_day, 0, nullptr);
    X509_set_pubkey(c.get(), key);
    require(X509_NAME_add_entry_by_txt(X509_get_subject_name(c.get()), "CN", MBSTRING_UTF8,
                                       reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0) == 1,
            "a name");
    return c;
}

// "IP:10.0.0.3", "DNS:a": what is neither could be more than one name to OpenSSL, or another kind.
std::string alternative_name(const std::string& host) {
    in6_addr number;
    if (::inet_pton(AF_INET, host.c_str(), &number) == 1 || ::inet_pton(AF_INET6, host.c_str(), &number) == 1)
        return "IP:" + host;
    const bool is_name = !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
               c == '_';
    });
    if (!is_name)
        throw invalid_argument_error("\"" + host +
                                     "\" is no host; give names as DNS has them, or IP addresses without brackets");
    return "DNS:" + host;
}

} // namespace

struct certificate_authority::own {
    owned_key key;
    owned_certificate certificate;
};

certificate_authority::certificate_authority(const std::string& name, int from_day, int until_day) :
    own_(std::make_unique<own>()) {
    own_->key.reset(EVP_EC_gen("P-256"));
    own_->certificate = begun(name, own_->key.get(), from_day, until_day);
    X509* const c = own_->certificate.get();
    X509_set_issuer_name(c, X509_get_subject_name(c));
    add_extension(c, c, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
    add_extension(c, c, NID_key_usage, "critical,keyCertSign,cRLSign");
    add_extension(c, c, NID_subject_key_identifier, "hash");
    require(X509_sign(c, own_->key.get(), EVP_sha256()) > 0, "a signature");
    text_ = pem_of(c);
}

certificate_authority::~certificate_authority() = default;

certified_key certificate_authority::certify(const std::string& name, const std::vector<std::string>& hosts,
                                             int from_day, int until_day, bool rsa) const {
    std::string names;
    for (const std::string& host : hosts) names += (names.empty() ? "" : ",") + alternative_name(host);
    const owned_key key(rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256"));
    const owned_certificate c = begun(name, key.get(), from_day, until_day);
    X509* const by = own_->certificate.get();
    X509_set_issuer_name(c.get(), X509_get_subject_name(by));
    add_extension(c.get(), by, NID_basic_constraints, "critical,CA:FALSE");
    add_extension(c.get(), by, NID_key_usage,
                  rsa ? "critical,digitalSignature,keyEncipherment" : "critical,digitalSignature");
    add_extension(c.get(), by, NID_ext_key_usage, "serverAuth,clientAuth");
    add_extension(c.get(), by, NID_subject_key_identifier, "hash");
    add_extension(c.get(), by, NID_authority_key_identifier, "keyid");
    if (!names.empty()) add_extension(c.get(), by, NID_subject_alt_name, names);
    require(X509_sign(c.get(), own_->key.get(), EVP_sha256()) > 0, "a signature");
    return {pem_of(c.get()), pem_of(key.get())};
}

cluster_certificates make_cluster_certificates(const std::vector<std::string>& hosts, int days) {
    if (days < 1) throw invalid_argument_error("certificates must be valid for one day at least");
    std::vector<std::string> names;
    const auto add = [&](const std::string& name) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (const std::string& host : hosts) add(host);
    for (const char* own : {"localhost", "127.0.0.1", "::1"}) add(own);
    const certificate_authority authority("Tenon cluster", -1, days);
    certified_key k = authority.certify("Tenon task", names, -1, days);
    return {authority.certificate(), std::move(k.certificate), std::move(k.key)};
}

} // namespace tenon::net
