#include "messages.hpp"

#include <net/wire/bytes.hpp>

namespace tn = tenon;
using namespace tenon::net;

TEST_CASE("bytes: what is written is read") {
    byte_writer w;
    w.number(std::uint16_t{0x1234});
    w.number(-2.5);
    w.text("naïve");
    const bytes b = w.take();
    CHECK(b[0] == std::byte{0x34}); // little-endian
    byte_reader r(b, "test");
    CHECK(r.number<std::uint16_t>() == 0x1234);
    CHECK(r.number<double>() == -2.5);
    CHECK(r.text() == "naïve");
    CHECK_NOTHROW(r.end());
}

TEST_CASE("bytes: what is cut short, too long or no value of its kind is refused by name") {
    byte_writer w;
    w.number(std::uint32_t{0xffffffff});
    const bytes b = w.take();
    CHECK_ERROR(tn::data_loss_error, "greeting: 4294967295 bytes are asked for", byte_reader(b, "greeting").text());
    CHECK_THROWS_AS(byte_reader(b, "x").count(1), tn::data_loss_error);
    CHECK_THROWS_AS(byte_reader(b, "x").boolean(), tn::data_loss_error);
    CHECK_THROWS_AS(byte_reader(b, "x").number<std::uint64_t>(), tn::data_loss_error);
    CHECK_THROWS_WITH_AS(byte_reader(b, "x").end(), "x: 4 bytes follow its end", tn::data_loss_error);
}
