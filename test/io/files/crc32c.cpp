#include <string_view>

#include <tenon/io/files/crc32c.hpp>

#include "tests.hpp"

using tenon::crc32c;
namespace detail = tenon::detail;

namespace {

std::vector<std::byte> of(std::string_view text) {
    std::vector<std::byte> b(text.size());
    std::memcpy(b.data(), text.data(), text.size());
    return b;
}

} // namespace

TEST_CASE("crc32c: the values that are published (RFC 3720, B.4)") {
    std::vector<std::byte> up(32), down(32);
    for (std::size_t i = 0; i < 32; ++i) {
        up[i] = static_cast<std::byte>(i);
        down[i] = static_cast<std::byte>(31 - i);
    }
    const std::vector<std::byte> zeros(32), ones(32, std::byte{0xFF});
    for (const auto sum : {crc32c, detail::crc32c_by_table}) {
        CHECK(sum(zeros, 0) == 0x8A9136AA);
        CHECK(sum(ones, 0) == 0x62A8AB43);
        CHECK(sum(up, 0) == 0x46DD794E);
        CHECK(sum(down, 0) == 0x113FDB5C);
        CHECK(sum(of("123456789"), 0) == 0xE3069283);
        CHECK(sum({}, 0) == 0);
    }
}

TEST_CASE("crc32c: of pieces one after another it is that of the whole, by instruction and by table") {
    std::vector<std::byte> all(7000);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i * i * 31 + i / 7);
    const std::span<const std::byte> whole = all;
    const std::uint32_t wanted = detail::crc32c_by_table(whole, 0);
    for (std::size_t cut = 0; cut < 70; ++cut) {
        CHECK(crc32c(whole.subspan(cut), crc32c(whole.first(cut))) == wanted);
        CHECK(crc32c(whole.subspan(cut)) == detail::crc32c_by_table(whole.subspan(cut), 0));
    }
}

TEST_CASE("crc32c: by instruction it is that by table, for lengths about every way to cut a piece") {
    std::vector<std::byte> all(13000);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::byte>(i * 2654435761 >> 13);
    const std::span<const std::byte> whole = all;
    const auto check = [&](std::size_t size) {
        const auto part = whole.subspan(size % 5, size);
        REQUIRE(crc32c(part, 0x12345678) == detail::crc32c_by_table(part, 0x12345678));
    };
    for (std::size_t size = 0; size < 1000; ++size) check(size);
    for (std::size_t piece = 3072; piece < 12500; piece += 3072)
        for (std::size_t size = piece - 130; size < piece + 130; ++size) check(size);
}
