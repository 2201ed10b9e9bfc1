#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <tenon/core/xxh64.hpp>

using tenon::detail::xxh64_hasher;

namespace {

std::string hash_of(const std::vector<unsigned char>& bytes) {
    xxh64_hasher h;
    h.add(bytes.data(), bytes.size());
    return tenon::detail::text_of_xxh64(h.value());
}

std::vector<unsigned char> some_bytes(std::size_t n) {
    std::vector<unsigned char> bytes(n);
    for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + 3);
    return bytes;
}

} // namespace

TEST_CASE("hashes are those of XXH64: what its own implementation gives") {
    const std::pair<std::size_t, const char*> known[] = {
        {0, "ef46db3751d8e999"},  {1, "1f25c8d0bc1f4bb6"},   {3, "31d2363f52e564c9"},
        {14, "c7f1d4d0acfa5a14"}, {31, "a2aa5f33cc4a6119"},  {32, "23c3c17ef790fd97"},
        {33, "50a7cfc7ba588784"}, {100, "a61f8d4c170fe531"}, {1000, "5f235fa033f1a3fb"}};
    for (const auto& [n, digits] : known) CHECK(hash_of(some_bytes(n)) == std::string("xxh64:") + digits);
    CHECK(hash_of({'a', 'b', 'c'}) == "xxh64:44bc2cf5ad770999");
}

TEST_CASE("a hash is of the bytes, in whatever pieces they come") {
    const auto bytes = some_bytes(1000);
    for (const std::size_t piece :
         {std::size_t{1}, std::size_t{7}, std::size_t{31}, std::size_t{32}, std::size_t{33}, std::size_t{500}}) {
        xxh64_hasher h;
        for (std::size_t at = 0; at < bytes.size(); at += piece)
            h.add(bytes.data() + at, std::min(piece, bytes.size() - at));
        CHECK(tenon::detail::text_of_xxh64(h.value()) == hash_of(bytes));
    }
}

TEST_CASE("a hash comes back from its text, and from no other") {
    std::uint64_t hash = 0;
    CHECK(tenon::detail::xxh64_of_text("xxh64:0123456789abcdef", hash));
    CHECK(hash == 0x0123456789abcdefu);
    for (const char* wrong : {"", "xxh64:", "xxh64:0123456789abcde", "xxh64:0123456789abcdef0",
                              "xxh64:0123456789ABCDEF", "sha256:123456789abcdef"})
        CHECK_FALSE(tenon::detail::xxh64_of_text(wrong, hash));
}
