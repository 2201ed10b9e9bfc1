#include <memory>

#include <openssl/evp.h>

#include <net/wire/openssl_use.hpp>
#include <net/wire/program_codec.hpp>

namespace tenon::net {

program_hash hash_of(const packed& p) {
    const openssl_use use;
    const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    bool good = context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
    const auto add = [&](const void* from, std::size_t count) {
        good = good && EVP_DigestUpdate(context.get(), from, count) == 1;
    };
    // Lengths and types before what they are of, so that nothing can be parted in two ways.
    const std::uint64_t size = p.body.size();
    add(&size, sizeof size);
    add(p.body.data(), p.body.size());
    for (const any_array& a : p.arrays) {
        value_writer type;
        put(type, a.type());
        const bytes head = type.take();
        add(head.data(), head.size());
        add(a.data(), a.bytes());
    }
    program_hash found{};
    static_assert(sizeof found == 32);
    good = good && EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(found.data()), nullptr) == 1;
    if (!good) throw internal_error("OpenSSL makes no SHA-256");
    return found;
}

} // namespace tenon::net
