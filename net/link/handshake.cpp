#include <net/link/handshake.hpp>

#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include <net/wire/fields.hpp>
#include <net/wire/openssl_use.hpp>

namespace tenon::net {

namespace {

constexpr std::size_t most_bytes_of_a_name = 256;
constexpr std::size_t most_why_bytes = 2048;
constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();

template <class Body> bytes written(const Body& b) {
    value_writer w;
    put_value(w, b);
    return w.take();
}
template <class Body> Body read_whole(value_reader& r) {
    Body b;
    take_value(r, b);
    r.end();
    return b;
}

void check_name(const value_reader& r, const std::string& name) {
    if (name.size() > most_bytes_of_a_name) r.fail("a name has " + std::to_string(name.size()) + " bytes");
    for (const char c : name)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) r.fail("a name has a character that is none of a text");
}

proof_bytes mac(const std::string& token, std::string_view side,
                std::initializer_list<std::span<const std::byte>> parts) {
    byte_writer all;
    all.text(side);
    for (const auto& part : parts) {
        all.number(static_cast<std::uint32_t>(part.size()));
        all.raw(part.data(), part.size());
    }
    const bytes said = all.take();
    proof_bytes found;
    unsigned size = 0;
    const openssl_use use;
    if (!HMAC(EVP_sha256(), token.data(), static_cast<int>(token.size()),
              reinterpret_cast<const unsigned char*>(said.data()), said.size(),
              reinterpret_cast<unsigned char*>(found.data()), &size) ||
        size != found.size())
        throw internal_error("handshake: no HMAC-SHA256 can be computed");
    return found;
}

} // namespace

std::uint8_t verb_of_failure(error_code code, error_reason reason) noexcept {
    static_assert(static_cast<int>(error_code::data_loss) < 15, "a code and 1 have four bits");
    return static_cast<std::uint8_t>(1 + static_cast<int>(code) + 16 * static_cast<int>(reason));
}
std::pair<error_code, error_reason> failure_of_verb(std::uint8_t verb) noexcept {
    const int code = verb % 16 - 1, reason = verb / 16;
    const bool is_known = code >= 0 && code <= static_cast<int>(error_code::data_loss);
    return {is_known ? static_cast<error_code>(code) : error_code::unknown,
            reason < error_reasons ? static_cast<error_reason>(reason) : error_reason::none};
}

bytes write(const hello& h) { return written(h); }
bytes write(const challenge& c) { return written(c); }
bytes write(const proof& p) { return written(p); }
bytes write(const ready& r) { return written(r); }

hello read_hello(std::span<const std::byte> from) {
    hello h;
    byte_reader versions(from, "hello");
    h.oldest = versions.number<std::uint16_t>();
    h.newest = versions.number<std::uint16_t>();
    // What follows is of a version that both know; of others nothing is known but these two numbers.
    if (h.newest < oldest_link_version || h.oldest > newest_link_version) return h;
    value_reader r(from, {}, "hello");
    h = read_whole<hello>(r);
    check_name(r, h.job);
    check_name(r, h.expected_job);
    if (h.limits.calls == 0) r.fail("it takes no calls");
    if (h.oldest > h.newest) r.fail("its oldest version is newer than its newest");
    if (h.incarnation == 0) r.fail("it has no incarnation");
    if (h.link == 0 || h.attempt == 0) r.fail("its link, or attempt, has no number");
    if (h.task < 0 || h.expected_task < 0) r.fail("a task has a negative number");
    return h;
}

challenge read_challenge(std::span<const std::byte> from) {
    value_reader r(from, {}, "challenge");
    challenge c = read_whole<challenge>(r);
    check_name(r, c.job);
    if (c.version < oldest_link_version || c.version > newest_link_version)
        r.fail("version " + std::to_string(c.version) + " was not offered");
    if (c.incarnation == 0) r.fail("it has no incarnation");
    if (c.task < 0) r.fail("a task has a negative number");
    return c;
}

proof read_proof(std::span<const std::byte> from) {
    value_reader r(from, {}, "proof");
    return read_whole<proof>(r);
}

ready read_ready(std::span<const std::byte> from) {
    value_reader r(from, {}, "ready");
    ready found = read_whole<ready>(r);
    if (found.limits.calls == 0) r.fail("it takes no calls");
    if (found.lease_ms <= 0 || found.lease_ms > std::int64_t{1} << 40)
        r.fail("its lease is " + std::to_string(found.lease_ms) + " ms");
    return found;
}

bytes write(const goodbye& g) {
    byte_writer w;
    w.number(static_cast<std::uint8_t>(g.code));
    w.text(std::string_view(g.why).substr(0, most_why_bytes));
    return w.take();
}

goodbye read_goodbye(std::span<const std::byte> from) {
    byte_reader r(from, "goodbye");
    goodbye g;
    const auto code = r.number<std::uint8_t>();
    if (code > static_cast<std::uint8_t>(error_code::data_loss)) r.fail("there is no error " + std::to_string(code));
    g.code = static_cast<error_code>(code);
    g.why = r.text();
    r.end();
    if (g.why.size() > most_why_bytes) r.fail("its reason has " + std::to_string(g.why.size()) + " bytes");
    for (char& c : g.why) // it is printed
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    return g;
}

nonce random_nonce() {
    nonce n;
    random_bytes(std::as_writable_bytes(std::span(n)));
    return n;
}

proof_bytes dialing_proof(const std::string& token, std::span<const std::byte> hello,
                          std::span<const std::byte> challenge) {
    return mac(token, "tenon link 1: who dials", {hello, challenge});
}

proof_bytes listening_proof(const std::string& token, std::span<const std::byte> hello,
                            std::span<const std::byte> challenge, const ready& r) {
    ready said = r;
    said.mac = {};
    const bytes last = write(said);
    return mac(token, "tenon link 1: who listens", {hello, challenge, last});
}

bool same(const proof_bytes& a, const proof_bytes& b) noexcept {
    return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void add_time_left(bytes& body, time_point deadline, time_point now) {
    const std::int64_t left =
        deadline == never ? no_end : std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - now).count();
    for (const std::int64_t number : {delays::nanoseconds(now), left}) {
        const auto* first = reinterpret_cast<const std::byte*>(&number);
        body.insert(body.end(), first, first + sizeof number);
    }
}

time_point take_time_left(bytes& body, time_point now, delays& late) {
    if (body.size() < time_left_bytes) throw data_loss_error("call: its deadline is missing");
    std::int64_t numbers[2]; // when it was sent, and what was left
    std::memcpy(numbers, body.data() + body.size() - sizeof numbers, sizeof numbers);
    body.resize(body.size() - time_left_bytes);
    const duration delay = late.of(numbers[0], now);
    // A century is as good as no end, and does not overflow.
    constexpr std::int64_t century = std::int64_t{100} * 365 * 24 * 3600 * 1'000'000'000;
    if (numbers[1] > century) return never;
    return now + std::chrono::nanoseconds(std::max(numbers[1], -century)) - delay;
}

} // namespace tenon::net
