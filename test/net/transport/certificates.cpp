#include <cstdio>
#include <memory>
#include <stdexcept>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "certificates.hpp"

namespace net_test {

namespace {

template <auto F> struct ends_by {
    template <class T> void operator()(T* x) const { F(x); }
};
using owned_key = std::unique_ptr<EVP_PKEY, ends_by<EVP_PKEY_free>>;
using owned_certificate = std::unique_ptr<X509, ends_by<X509_free>>;
using owned_file = std::unique_ptr<std::FILE, ends_by<std::fclose>>;

void require(bool done, const char* what) {
    if (!done) throw std::runtime_error(std::string("certificates: ") + what);
}

void add_extension(X509* to, X509* issuer, int which, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, ends_by<X509_EXTENSION_free>> e(
        X509V3_EXT_conf_nid(nullptr, &context, which, value.c_str()));
    require(e && X509_add_ext(to, e.get(), -1) == 1, value.c_str());
}

owned_certificate unsigned_certificate(const std::string& name, const EVP_PKEY* key, int number, int from_day,
                                       int until_day) {
    owned_certificate c(X509_new());
    X509_set_version(c.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(c.get()), number);
    X509_gmtime_adj(X509_getm_notBefore(c.get()), 86400L * from_day);
    X509_gmtime_adj(X509_getm_notAfter(c.get()), 86400L * until_day);
    X509_set_pubkey(c.get(), const_cast<EVP_PKEY*>(key));
    require(X509_NAME_add_entry_by_txt(X509_get_subject_name(c.get()), "CN", MBSTRING_UTF8,
                                       reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0) == 1,
            "no name");
    return c;
}

certificate_files write(const std::string& path, X509* certificate, EVP_PKEY* key) {
    const certificate_files files{path + ".crt", path + ".key"};
    const owned_file c(std::fopen(files.certificate.c_str(), "w")), k(std::fopen(files.key.c_str(), "w"));
    require(c && k && PEM_write_X509(c.get(), certificate) == 1, "no certificate file");
    require(PEM_write_PrivateKey(k.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1, "no key file");
    return files;
}

template <class T, class Read> T read_pem(const std::string& path, Read read) {
    const owned_file f(std::fopen(path.c_str(), "r"));
    require(f != nullptr, "no file");
    return T(read(f.get(), nullptr, nullptr, nullptr));
}

} // namespace

certificate_maker::certificate_maker(const std::string& authority) {
    const owned_key key(EVP_EC_gen("P-256"));
    const owned_certificate c = unsigned_certificate(authority, key.get(), 1, -100, 1000);
    X509_set_issuer_name(c.get(), X509_get_subject_name(c.get()));
    add_extension(c.get(), c.get(), NID_basic_constraints, "critical,CA:TRUE");
    add_extension(c.get(), c.get(), NID_key_usage, "critical,keyCertSign");
    require(X509_sign(c.get(), key.get(), EVP_sha256()) > 0, "not signed");
    authority_ = write(folder_ / "authority", c.get(), key.get());
}

certificate_files certificate_maker::make(const std::string& names, int from_day, int until_day, bool rsa) {
    const auto authority = read_pem<owned_certificate>(authority_.certificate, PEM_read_X509);
    const auto authority_key = read_pem<owned_key>(authority_.key, PEM_read_PrivateKey);
    const owned_key key(rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256"));
    const std::string name = "task " + std::to_string(++count_);
    const owned_certificate c = unsigned_certificate(name, key.get(), 1 + count_, from_day, until_day);
    X509_set_issuer_name(c.get(), X509_get_subject_name(authority.get()));
    add_extension(c.get(), authority.get(), NID_subject_alt_name, names);
    require(X509_sign(c.get(), authority_key.get(), EVP_sha256()) > 0, "not signed");
    return write(folder_ / ("task" + std::to_string(count_)), c.get(), key.get());
}

} // namespace net_test
