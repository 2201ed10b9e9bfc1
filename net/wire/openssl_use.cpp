#include <net/wire/openssl_use.hpp>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

tenon::detail::exit_gate& gate() noexcept {
    static tenon::detail::exit_gate g;
    static const int is_told = ::OPENSSL_init_crypto(0, nullptr) && ::OPENSSL_atexit([] { g.close(); });
    (void)is_told;
    return g;
}

} // namespace

openssl_use::openssl_use() : inside_(gate()) {}

void random_bytes(std::span<std::byte> to) {
    const openssl_use use;
    if (::RAND_bytes(reinterpret_cast<unsigned char*>(to.data()), static_cast<int>(to.size())) != 1)
        throw internal_error("OpenSSL gives no random bytes");
}

} // namespace tenon::net
