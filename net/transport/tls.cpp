#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include <arpa/inet.h>
#include <sys/socket.h>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <net/transport/tls.hpp>
#include <net/transport/tls_words.hpp>
#include <net/wire/openssl_use.hpp>
#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

// OpenSSL's own way to a socket takes a signal (SIGPIPE) where the other side has gone.
class socket_method {
public:
    socket_method() : method_(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket")) {
        if (!method_) throw resource_exhausted_error("TLS: no memory");
        BIO_meth_set_write_ex(method_, [](BIO* b, const char* from, std::size_t size, std::size_t* done) {
            return moved(b, ::send(socket_of(b), from, size, MSG_NOSIGNAL | MSG_DONTWAIT), done, BIO_FLAGS_WRITE);
        });
        BIO_meth_set_read_ex(method_, [](BIO* b, char* to, std::size_t size, std::size_t* done) {
            return moved(b, ::recv(socket_of(b), to, size, MSG_DONTWAIT), done, BIO_FLAGS_READ);
        });
        BIO_meth_set_ctrl(method_, [](BIO* b, int command, long, void*) -> long {
            return command == BIO_CTRL_FLUSH || (command == BIO_CTRL_EOF && BIO_test_flags(b, BIO_FLAGS_IN_EOF));
        });
    }
    socket_method(socket_method&&) = delete;

    BIO* make(int socket) const {
        BIO* const b = BIO_new(method_);
        if (!b) throw resource_exhausted_error("TLS: no memory");
        BIO_set_data(b, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
        BIO_set_init(b, 1);
        return b;
    }

private:
    static int socket_of(BIO* b) { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(b))); }
    static int moved(BIO* b, ssize_t count, std::size_t* done, int direction) {
        BIO_clear_flags(b, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
        if (count > 0) {
            *done = static_cast<std::size_t>(count);
            return 1;
        }
        *done = 0;
        if (count == 0) BIO_set_flags(b, BIO_FLAGS_IN_EOF);
        else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
            BIO_set_flags(b, direction | BIO_FLAGS_SHOULD_RETRY);
        return 0;
    }

    BIO_METHOD* method_;
};

using owned_ssl = std::unique_ptr<SSL, decltype(&SSL_free)>;

class tls_stream final : public byte_stream {
public:
    tls_stream(int socket, owned_ssl ssl, std::string host, std::string peer, std::string own, bool is_server) :
        byte_stream(socket),
        ssl_(std::move(ssl)),
        host_(std::move(host)),
        peer_(std::move(peer)),
        own_(std::move(own)),
        is_server_(is_server) {
        SSL_set_app_data(ssl_.get(), this);
    }
    ~tls_stream() override {
        const openssl_use use;
        if (is_sound_ && is_open_) {
            ERR_clear_error();
            SSL_shutdown(ssl_.get());
            ERR_clear_error();
        }
        ssl_.reset();
    }

    result handshake() override {
        const openssl_use use;
        const std::lock_guard lock(guard_);
        ERR_clear_error();
        const int done = is_server_ ? SSL_accept(ssl_.get()) : SSL_connect(ssl_.get());
        if (done != 1) return not_done(done);
        is_open_ = true;
        return {};
    }

    result read(std::span<std::byte> first, std::span<std::byte>) override {
        const openssl_use use;
        const std::lock_guard lock(guard_);
        read_waits_for_write_ = false;
        ERR_clear_error();
        std::size_t count = 0;
        const int done = SSL_read_ex(ssl_.get(), first.data(), first.size(), &count);
        if (done == 1) return {outcome::done, count};
        const result r = not_done(done);
        read_waits_for_write_ = r.what == outcome::blocked && SSL_want_write(ssl_.get());
        return r;
    }

    // What OpenSSL was once asked to write must be asked for again as it was: it lies in staged_ until it has gone. A record's
    // worth of it gathers small pieces too.
    result write(std::span<const iovec> from) override {
        const openssl_use use;
        const std::lock_guard lock(guard_);
        std::size_t taken = 0;
        for (std::size_t offset = 0;;) {
            if (staged_begin_ == staged_end_) {
                if (!staged_) staged_ = std::make_unique<record>();
                staged_begin_ = staged_end_ = 0;
                while (!from.empty() && staged_end_ < staged_->size()) {
                    const std::size_t n = std::min(from[0].iov_len - offset, staged_->size() - staged_end_);
                    if (n > 0)
                        std::memcpy(staged_->data() + staged_end_,
                                    static_cast<const std::byte*>(from[0].iov_base) + offset, n);
                    staged_end_ += n;
                    taken += n;
                    offset += n;
                    if (offset < from[0].iov_len) break;
                    from = from.subspan(1);
                    offset = 0;
                }
                if (staged_end_ == 0) {
                    staged_.reset(); // idle connections are many
                    is_unflushed_ = false;
                    return {outcome::done, taken};
                }
            }
            ERR_clear_error();
            std::size_t count = 0;
            const int done =
                SSL_write_ex(ssl_.get(), staged_->data() + staged_begin_, staged_end_ - staged_begin_, &count);
            if (done == 1) {
                staged_begin_ += count;
                continue;
            }
            result r = not_done(done);
            is_unflushed_ = r.what == outcome::blocked;
            r.bytes = taken;
            return r;
        }
    }

    bool unflushed() const noexcept override { return is_unflushed_.load(); }
    bool read_waits_for_write() const noexcept override { return read_waits_for_write_.load(); }
    std::string error() const override {
        const std::lock_guard lock(guard_);
        return error_;
    }

    // Called by OpenSSL in handshake() for each certificate of the other side.
    static int look_at(int is_believed, X509_STORE_CTX* store) {
        if (is_believed) return 1;
        const auto* const ssl =
            static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
        auto* const self = static_cast<tls_stream*>(SSL_get_app_data(ssl));
        self->disbelief_ =
            disbelief(X509_STORE_CTX_get_current_cert(store), X509_STORE_CTX_get_error(store), self->host_);
        return 0;
    }

private:
    using record = std::array<std::byte, 16384>; // the most that one holds

    result not_done(int done) {
        const int system_error = errno;
        switch (SSL_get_error(ssl_.get(), done)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE: return {outcome::blocked};
        case SSL_ERROR_ZERO_RETURN: return {outcome::ended};
        case SSL_ERROR_SYSCALL:
            is_sound_ = false;
            if (BIO_eof(SSL_get_rbio(ssl_.get()))) return over();
            error_ = std::strerror(system_error);
            return {outcome::failed};
        default: break;
        }
        is_sound_ = false;
        if (ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING) return over();
        if (!disbelief_.empty()) {
            ERR_clear_error();
            error_ =
                std::string(is_server_ ? "the client " : "the server ") + peer_ + " is not believed: " + disbelief_;
        } else error_ = tls_failure(own_);
        return {outcome::failed};
    }
    // It does not matter that this was not announced: what is cut off is seen by the frames.
    result over() {
        ERR_clear_error();
        if (is_open_) return {outcome::ended};
        error_ = "the other side closed the connection while hands were shaken; does it speak TLS?";
        return {outcome::failed};
    }

    mutable std::mutex guard_; // of all that is not const: OpenSSL does not read and write at once
    owned_ssl ssl_;
    const std::string host_, peer_, own_;
    const bool is_server_;
    bool is_open_ = false, is_sound_ = true;
    std::string disbelief_, error_;
    std::unique_ptr<record> staged_;
    std::size_t staged_begin_ = 0, staged_end_ = 0;
    std::atomic<bool> is_unflushed_{false}, read_waits_for_write_{false};
};

class context final : public tls_context {
public:
    explicit context(const tls_options& o) : context_(SSL_CTX_new(TLS_method()), SSL_CTX_free) {
        SSL_CTX* const c = context_.get();
        if (!c) throw resource_exhausted_error("TLS: no memory");
        SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
        // Of 1.2 those with forward secrecy: who comes by the certificate's key later cannot read what was recorded before. All of
        // 1.3 have it.
        if (SSL_CTX_set_cipher_list(c, "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL") != 1)
            throw internal_error("TLS: this OpenSSL has no cipher with forward secrecy");
        SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
        SSL_CTX_set_num_tickets(c, 0);
        SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
        SSL_CTX_set_default_passwd_cb(c, [](char*, int, int, void*) { return 0; }); // nobody is there to be asked

        if (o.certificate_chain.empty() != o.private_key.empty())
            throw invalid_argument_error(
                "TLS: a certificate chain needs a private key, and a key a chain; one of them is not given");
        if (!o.certificate_chain.empty()) {
            check(SSL_CTX_use_certificate_chain_file(c, o.certificate_chain.c_str()), "certificate chain",
                  o.certificate_chain);
            if (SSL_CTX_use_PrivateKey_file(c, o.private_key.c_str(), SSL_FILETYPE_PEM) != 1) {
                if (ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH) {
                    ERR_clear_error();
                    throw invalid_argument_error("TLS: the private key '" + o.private_key +
                                                 "' is not that of the certificate '" + o.certificate_chain + "'");
                }
                check(0, "private key", o.private_key);
            }
            own_ = subject_of(SSL_CTX_get0_certificate(c));
        }
        if (o.authorities.empty()) {
            SSL_CTX_set_default_verify_paths(c);
        } else {
            check(SSL_CTX_load_verify_locations(c, o.authorities.c_str(), nullptr), "authorities", o.authorities);
            SSL_CTX_set_client_CA_list(c, SSL_load_client_CA_file(o.authorities.c_str()));
            is_mutual_ = true;
        }
        ERR_clear_error();
    }

    std::unique_ptr<byte_stream> dialed(int socket, const std::string& host, const std::string& peer) override {
        const openssl_use use;
        owned_ssl ssl = make(socket);
        SSL_set_verify(ssl.get(), SSL_VERIFY_PEER, tls_stream::look_at);
        in6_addr number;
        X509_VERIFY_PARAM* const wanted = SSL_get0_param(ssl.get());
        if (::inet_pton(AF_INET, host.c_str(), &number) == 1 || ::inet_pton(AF_INET6, host.c_str(), &number) == 1) {
            X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str());
        } else {
            X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
            X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size());
            SSL_set_tlsext_host_name(ssl.get(), host.c_str());
        }
        return std::make_unique<tls_stream>(socket, std::move(ssl), host, peer, own_, false);
    }

    std::unique_ptr<byte_stream> accepted(int socket, const std::string& peer) override {
        const openssl_use use;
        owned_ssl ssl = make(socket);
        if (is_mutual_)
            SSL_set_verify(ssl.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, tls_stream::look_at);
        return std::make_unique<tls_stream>(socket, std::move(ssl), std::string(), peer, own_, true);
    }

    bool can_listen() const noexcept override { return !own_.empty(); }

private:
    static void check(int done, const char* what, const std::string& file) {
        if (done == 1) return;
        const char* const reason = ERR_reason_error_string(ERR_peek_error());
        const std::string why = reason ? reason : "it cannot be read";
        ERR_clear_error();
        throw invalid_argument_error(std::string("TLS: the ") + what + " '" + file + "' cannot be used (" + why +
                                     "); a file in PEM format is needed");
    }
    owned_ssl make(int socket) {
        static const auto& method = *new socket_method;
        owned_ssl ssl(SSL_new(context_.get()), SSL_free);
        if (!ssl) throw resource_exhausted_error("TLS: no memory");
        BIO* const b = method.make(socket);
        SSL_set_bio(ssl.get(), b, b);
        return ssl;
    }

    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
    std::string own_;
    bool is_mutual_ = false;
};

} // namespace

std::shared_ptr<tls_context> make_tls_context(const tls_options& options) { return std::make_shared<context>(options); }

} // namespace tenon::net
