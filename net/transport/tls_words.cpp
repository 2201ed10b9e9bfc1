#include <memory>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <net/transport/tls_words.hpp>

namespace tenon::net {

namespace {

template <class Print> std::string printed(Print print) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> to(BIO_new(BIO_s_mem()), BIO_free);
    if (!to) return {};
    print(to.get());
    char* text = nullptr;
    const long size = BIO_get_mem_data(to.get(), &text);
    return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

std::string text_of(const X509_NAME* name) {
    return printed(
        [&](BIO* to) { X509_NAME_print_ex(to, name, 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB & ~XN_FLAG_SPC_EQ); });
}

std::string text_of(const ASN1_TIME* time) {
    return printed([&](BIO* to) { ASN1_TIME_print(to, time); });
}

// "DNS:one, IP Address:127.0.0.1"
std::string names_of(const X509* certificate) {
    const int at = X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1);
    if (at < 0) return "no name";
    return printed([&](BIO* to) { X509V3_EXT_print(to, X509_get_ext(certificate, at), 0, 0); });
}

// What the other side said of what this one showed; nullptr: nothing of the kind.
const char* refusal(int reason) {
    switch (reason) {
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA: return "does not know its authority";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED: return "says that it has expired";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED: return "says that it was revoked";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN: return "does not accept it";
    default: return nullptr;
    }
}

} // namespace

std::string subject_of(const X509* certificate) { return text_of(X509_get_subject_name(certificate)); }

std::string disbelief(const X509* certificate, int reason, const std::string& host) {
    if (!certificate) return X509_verify_cert_error_string(reason);
    const std::string which = "its certificate '" + subject_of(certificate) + "' ";
    switch (reason) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return which + "expired on " + text_of(X509_get0_notAfter(certificate)) + "; it needs a new one";
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return which + "is not valid before " + text_of(X509_get0_notBefore(certificate)) + "; are both clocks right?";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return which + "is for " + names_of(certificate) + ", not for '" + host +
               "'; dial it by a name that it has, or give it a certificate for this one";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        return which + "is from an authority that is not known here, '" + text_of(X509_get_issuer_name(certificate)) +
               "'; add that one's certificate to the authorities";
    default: return which + "is not accepted: " + X509_verify_cert_error_string(reason);
    }
}

std::string tls_failure(const std::string& own) {
    const unsigned long error = ERR_peek_last_error();
    ERR_clear_error();
    if (error == 0) return "the other side closed the connection";
    if (ERR_GET_LIB(error) == ERR_LIB_SSL) {
        const int reason = ERR_GET_REASON(error);
        if (const char* const said = refusal(reason))
            return "the other side " + std::string(said) + ": this side's certificate '" + own + "'";
        switch (reason) {
        case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
            if (!own.empty()) break;
            return "the other side asks for a certificate, and this side has none to show: give it a chain and a key";
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
            return "the other side showed no certificate, and one is asked for here";
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_HTTP_REQUEST:
        case SSL_R_PACKET_LENGTH_TOO_LONG:
        case SSL_R_BAD_RECORD_TYPE: return "the other side does not speak TLS; both must use it, or neither";
        case SSL_R_UNSUPPORTED_PROTOCOL:
        case SSL_R_NO_PROTOCOLS_AVAILABLE:
        case SSL_R_VERSION_TOO_LOW:
        case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION: return "the other side speaks no version of TLS from 1.2 on";
        default: break;
        }
    }
    const char* const words = ERR_reason_error_string(error);
    return words ? std::string("TLS: ") + words : "TLS: error " + std::to_string(error);
}

} // namespace tenon::net
