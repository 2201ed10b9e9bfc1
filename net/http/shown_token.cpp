#include <net/http/shown_token.hpp>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <net/http/request_head.hpp>
#include <net/wire/openssl_use.hpp>
#include <tenon/core/text/letter_case.hpp>

namespace tenon::net {

namespace {

std::array<unsigned char, 32> digest_of(std::string_view what, std::string_view text) {
    std::string all(what);
    all += text;
    std::array<unsigned char, 32> d{};
    const openssl_use use;
    ::SHA256(reinterpret_cast<const unsigned char*>(all.data()), all.size(), d.data());
    return d;
}

std::string in_hexadecimal(const std::array<unsigned char, 32>& d) {
    std::string text;
    for (const unsigned char c : d) {
        text += "0123456789abcdef"[c >> 4];
        text += "0123456789abcdef"[c & 15];
    }
    return text;
}

} // namespace

std::string_view bearer_of(std::string_view authorization) noexcept {
    constexpr std::string_view scheme = "bearer ";
    authorization = without_blanks(authorization);
    if (!tenon::detail::is_same_but_for_case(authorization.substr(0, scheme.size()), scheme)) return {};
    return without_blanks(authorization.substr(scheme.size()));
}

std::string_view cookie_of(std::string_view cookies, std::string_view name) noexcept {
    while (!cookies.empty()) {
        const std::size_t end = cookies.find(';');
        const std::string_view one = without_blanks(cookies.substr(0, end));
        cookies = end == std::string_view::npos ? std::string_view() : cookies.substr(end + 1);
        const std::size_t equals = one.find('=');
        if (equals != std::string_view::npos && one.substr(0, equals) == name) return one.substr(equals + 1);
    }
    return {};
}

token_check::token_check(const std::string& token) :
    is_wanted_(!token.empty()),
    digest_(digest_of("token ", token)),
    cookie_(in_hexadecimal(digest_of("tenon http cookie ", token))) {}

// Digests are compared, so that neither where they differ nor how long they are is told by the time.
bool token_check::is_token(std::string_view shown) const {
    const digest d = digest_of("token ", shown);
    return ::CRYPTO_memcmp(d.data(), digest_.data(), d.size()) == 0;
}

bool token_check::is_cookie(std::string_view shown) const {
    return shown.size() == cookie_.size() && ::CRYPTO_memcmp(shown.data(), cookie_.data(), shown.size()) == 0;
}

} // namespace tenon::net
