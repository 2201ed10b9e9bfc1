#include <net/link/handshake.hpp>

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <limits>
#include <string_view>

namespace tenon::net {

namespace {

constexpr std::size_t most_name_bytes = 256;
constexpr std::size_t most_why_bytes = 2048;
constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();

std::string name(byte_reader& r) {
    std::string found = r.text();
    if (found.size() > most_name_bytes) r.fail("a name has " + std::to_string(found.size()) + " bytes");
    for (const char c : found)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) r.fail("a name has a character that is none of a text");
    return found;
}

template <class Array> Array fixed(byte_reader& r) {
    Array a;
    const auto from = r.raw(a.size());
    std::copy(from.begin(), from.end(), a.begin());
    return a;
}

void write(byte_writer& w, const link_limits& l) {
    w.number(l.body_bytes);
    w.number(l.payload_bytes);
    w.number(l.arrays);
    w.number(l.calls);
    w.number(l.bytes);
}

link_limits limits(byte_reader& r) {
    link_limits l;
    l.body_bytes = r.number<std::uint64_t>();
    l.payload_bytes = r.number<std::uint64_t>();
    l.arrays = r.number<std::uint64_t>();
    l.calls = r.number<std::uint64_t>();
    l.bytes = r.number<std::uint64_t>();
    if (l.calls == 0) r.fail("it takes no calls");
    return l;
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

bytes write(const hello& h) {
    byte_writer w;
    w.number(h.oldest);
    w.number(h.newest);
    w.number(h.cluster);
    w.text(h.job);
    w.number(h.task);
    w.number(h.incarnation);
    w.text(h.expected_job);
    w.number(h.expected_task);
    w.number(h.expected_incarnation);
    w.number(h.stream);
    w.number(h.link);
    w.number(h.attempt);
    w.number(h.established);
    w.number(h.received);
    w.number(h.has_token);
    write(w, h.limits);
    w.raw(h.random.data(), h.random.size());
    return w.take();
}

hello read_hello(std::span<const std::byte> from) {
    byte_reader r(from, "hello");
    hello h;
    h.oldest = r.number<std::uint16_t>();
    h.newest = r.number<std::uint16_t>();
    // What follows is of a version that both know; of others nothing is known but these two numbers.
    if (h.newest < oldest_link_version || h.oldest > newest_link_version) return h;
    h.cluster = r.number<std::uint64_t>();
    h.job = name(r);
    h.task = r.number<std::int32_t>();
    h.incarnation = r.number<std::uint64_t>();
    h.expected_job = name(r);
    h.expected_task = r.number<std::int32_t>();
    h.expected_incarnation = r.number<std::uint64_t>();
    h.stream = r.number<std::uint64_t>();
    h.link = r.number<std::uint64_t>();
    h.attempt = r.number<std::uint64_t>();
    h.established = r.boolean();
    h.received = r.number<std::uint64_t>();
    h.has_token = r.boolean();
    h.limits = limits(r);
    h.random = fixed<nonce>(r);
    r.end();
    if (h.oldest > h.newest) r.fail("its oldest version is newer than its newest");
    if (h.incarnation == 0) r.fail("it has no incarnation");
    if (h.link == 0 || h.attempt == 0) r.fail("its link, or attempt, has no number");
    if (h.task < 0 || h.expected_task < 0) r.fail("a task has a negative number");
    return h;
}

bytes write(const challenge& c) {
    byte_writer w;
    w.number(c.version);
    w.text(c.job);
    w.number(c.task);
    w.number(c.incarnation);
    w.number(c.has_token);
    w.raw(c.random.data(), c.random.size());
    return w.take();
}

challenge read_challenge(std::span<const std::byte> from) {
    byte_reader r(from, "challenge");
    challenge c;
    c.version = r.number<std::uint16_t>();
    c.job = name(r);
    c.task = r.number<std::int32_t>();
    c.incarnation = r.number<std::uint64_t>();
    c.has_token = r.boolean();
    c.random = fixed<nonce>(r);
    r.end();
    if (c.version < oldest_link_version || c.version > newest_link_version)
        r.fail("version " + std::to_string(c.version) + " was not offered");
    if (c.incarnation == 0) r.fail("it has no incarnation");
    if (c.task < 0) r.fail("a task has a negative number");
    return c;
}

bytes write(const proof& p) { return bytes(p.mac.begin(), p.mac.end()); }

proof read_proof(std::span<const std::byte> from) {
    byte_reader r(from, "proof");
    proof p{fixed<proof_bytes>(r)};
    r.end();
    return p;
}

bytes write(const ready& r) {
    byte_writer w;
    w.number(r.received);
    w.number(r.lease_ms);
    write(w, r.limits);
    w.raw(r.mac.data(), r.mac.size());
    return w.take();
}

ready read_ready(std::span<const std::byte> from) {
    byte_reader r(from, "ready");
    ready found;
    found.received = r.number<std::uint64_t>();
    found.lease_ms = r.number<std::int64_t>();
    found.limits = limits(r);
    found.mac = fixed<proof_bytes>(r);
    r.end();
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
    if (RAND_bytes(reinterpret_cast<unsigned char*>(n.data()), static_cast<int>(n.size())) != 1)
        throw internal_error("handshake: the system gives no random bytes");
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
