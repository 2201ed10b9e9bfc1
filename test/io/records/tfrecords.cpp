#include <io/sources.hpp>

#include "tests.hpp"

using namespace std::string_literals;
using strings = std::vector<std::string>;

namespace {

const tn::record_format tfrecord{.kind = tn::record_kind::tfrecord};
tn::record_format ignoring(std::int64_t largest = 1 << 28) {
    tn::record_format f = tfrecord;
    f.ignore_errors = true;
    f.largest_record = largest;
    return f;
}

// "first", nothing, and the bytes 0 to 39, written by Python: struct, a table of CRC32C of its own, gzip and zlib.
#if TENON_WITH_ZLIB
const std::string three_gzipped(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff\x63\x65\x80\x80\x57\x9b\x58\xec\xd2\x32\x8b\x8a\x4b\x42\xff\x2b\x3f\x85"
    "\x8a\x31\x68\x32\xcf\x60\xbf\xf1\xaa\x69\x91\x06\x94\xff\xbf\x40\xcc\x8b\x81\x91\x89\x99\x85\x95\x8d\x9d\x83\x93"
    "\x8b\x9b\x87\x97\x8f\x5f\x40\x50\x48\x58\x44\x54\x4c\x5c\x42\x52\x4a\x5a\x46\x56\x4e\x5e\x41\x51\x49\x59\x45\x55"
    "\x4d\xbd\x54\xb0\xb3\x19\x00\x3b\xb9\xab\xa5\x5d\x00\x00\x00",
    99);
const std::string three_zlib(
    "\x78\x9c\x63\x65\x80\x80\x57\x9b\x58\xec\xd2\x32\x8b\x8a\x4b\x42\xff\x2b\x3f\x85\x8a\x31\x68\x32\xcf\x60\xbf\xf1"
    "\xaa\x69\x91\x06\x94\xff\xbf\x40\xcc\x8b\x81\x91\x89\x99\x85\x95\x8d\x9d\x83\x93\x8b\x9b\x87\x97\x8f\x5f\x40\x50"
    "\x48\x58\x44\x54\x4c\x5c\x42\x52\x4a\x5a\x46\x56\x4e\x5e\x41\x51\x49\x59\x45\x55\x4d\xbd\x54\xb0\xb3\x19\x00\x6c"
    "\x3d\x10\xae",
    87);
#endif

// One byte after another, by a checksum of one bit after another.
std::uint32_t slow_mask(const std::string& of) {
    std::uint32_t crc = 0xFFFFFFFF;
    for (const char c : of) {
        crc ^= static_cast<unsigned char>(c);
        for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0x82F63B78 : crc >> 1;
    }
    crc = ~crc;
    return (crc >> 15 | crc << 17) + 0xA282EAD8;
}
std::string little(std::uint64_t value, int bytes) {
    std::string s;
    for (int i = 0; i < bytes; ++i) s += static_cast<char>(value >> (8 * i));
    return s;
}
std::string record_of(const std::string& data) {
    const std::string length = little(data.size(), 8);
    return length + little(slow_mask(length), 4) + data + little(slow_mask(data), 4);
}

strings wanted_three() {
    strings w{"first", "", ""};
    for (char c = 0; c < 40; ++c) w[2] += c;
    return w;
}
const std::string three = record_of("first") + record_of("") + record_of(wanted_three()[2]);

} // namespace

TEST_CASE("SEMANTICS 35: TFRecord files that another program wrote, plain and packed") {
    CHECK(all_of(three, tfrecord) == wanted_three());
    CHECK(record_of("first") == "\x05\0\0\0\0\0\0\0\xea\xb2\x04\x3e"
                                "first\x55\xff\x23\xe5"s);
#if TENON_WITH_ZLIB
    CHECK(all_of(three_gzipped, tfrecord) == wanted_three());
    CHECK(all_of(three_zlib, tfrecord) == wanted_three());
    CHECK(all_of(three_gzipped + three_gzipped, tfrecord).size() == 6);
    tn::record_format f = tfrecord;
    f.compressed = tn::compression::zlib;
    CHECK(all_of(three_zlib, f) == wanted_three());
#endif
    CHECK(all_of("", tfrecord).empty());
}

TEST_CASE("a TFRecord whose data are damaged is named; the next one follows") {
    std::string bytes = three;
    bytes[14] ^= 1; // in "first"
    const strings r = all_of(bytes, tfrecord);
    REQUIRE(r.size() == 3);
    CHECK(r[0] ==
          "!data_loss read: 'it': the checksum of its data does not fit: it is damaged (record 1, which begins at "
          "byte 0)");
    CHECK(r[2] == wanted_three()[2]);
    const auto source = source_of(bytes, ignoring());
    std::string_view record;
    CHECK(source->next(record));
    CHECK(source->number() == 2);
    CHECK(source->ignored() == 1);
}

TEST_CASE("a TFRecord whose length is damaged ends the file, for nobody knows where the next begins") {
    std::string bytes = three;
    bytes[21] ^= 1;
    const strings r = all_of(bytes, tfrecord);
    REQUIRE(r.size() == 2);
    CHECK(r[0] == "first");
    CHECK(contains(r[1], "!data_loss read: 'it': the checksum of its length does not fit"));
    CHECK(contains(r[1], "(record 2, which begins at byte 21)"));
    const auto source = source_of(bytes, ignoring(), 8);
    CHECK(all_of(*source) == strings{"first"});
    CHECK(source->ignored() == 1);
    CHECK(source->position().bytes == bytes.size());
}

TEST_CASE("a TFRecord file that is cut off gives what is whole, then says where, wherever it is cut") {
    const std::size_t ends[] = {0, 21, 37, three.size()};
    for (std::size_t size = 0; size < three.size(); ++size) {
        CAPTURE(size);
        const auto whole = static_cast<std::size_t>(std::upper_bound(ends, ends + 4, size) - ends - 1);
        const strings r = all_of(three.substr(0, size), tfrecord, 16);
        const bool clean = size == ends[whole];
        REQUIRE(r.size() == whole + !clean);
        for (std::size_t i = 0; i < whole; ++i) CHECK(r[i] == wanted_three()[i]);
        if (!clean)
            CHECK(contains(r.back(), "the file is cut off: " + std::to_string(size - ends[whole]) + " bytes are left"));
        if (!clean) CHECK(contains(r.back(), "begins at byte " + std::to_string(ends[whole])));
    }
}

TEST_CASE("a TFRecord over the limit is refused before it is read, and the next one follows") {
    for (const std::size_t buffer : {4U, 1U << 18}) {
        tn::record_format f = tfrecord;
        f.largest_record = 10;
        const std::string bytes = record_of("a") + record_of(std::string(100'000, 'x')) + record_of("b");
        const strings r = all_of(bytes, f, buffer);
        REQUIRE(r.size() == 3);
        CHECK(contains(
            r[1], "!resource_exhausted read: 'it': 100000 bytes of data are more than largest_record, which is 10"));
        CHECK(r[2] == "b");
        const auto source = source_of(bytes, ignoring(10), buffer);
        CHECK(all_of(*source) == strings{"a", "b"});
        CHECK(source->ignored() == 1);
    }
    const std::string length = little(~std::uint64_t{0} - 3, 8); // plus what is around it, it is small
    CHECK(contains(all_of(length + little(slow_mask(length), 4) + "abcd", tfrecord).at(0), "!resource_exhausted"));
}

TEST_CASE("random TFRecords, damage and places, beside what was written") {
    for (unsigned seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        std::string bytes;
        strings wanted; // "!" where it is damaged
        for (std::size_t n = random() % 20; n > 0; --n) {
            std::string data(random() % 3 ? random() % 30 : random() % 3000, '\0');
            for (char& c : data) c = static_cast<char>(random());
            std::string record = record_of(data);
            if (random() % 5 == 0) {
                record.back() ^= 4;
                data = "!";
            }
            bytes += record;
            wanted.push_back(data);
        }
        auto file = std::make_unique<test_file>(bytes);
        file->at_once = 1 + random() % 2000;
        const auto source = source_of(std::move(file), tfrecord, 1 + random() % 500);
        std::vector<tn::record_position> places{source->position()};
        const auto check = [&](const std::string& data) {
            std::string_view r;
            if (data == "!") CHECK_THROWS_AS(source->next(r), tn::data_loss_error);
            else {
                REQUIRE(source->next(r));
                CHECK(r == data);
            }
        };
        for (const std::string& data : wanted) {
            check(data);
            CHECK(source->number() == places.size());
            places.push_back(source->position());
        }
        std::string_view r;
        CHECK_FALSE(source->next(r));
        CHECK(source->position().bytes == bytes.size());
        for (int i = 0; i < 10; ++i) {
            std::size_t at = random() % places.size();
            source->go_to(places[at]);
            for (std::size_t n = random() % 3; at < wanted.size() && n < 3; ++at, ++n) {
                check(wanted[at]);
                CHECK(source->position() == places[at + 1]);
                CHECK(source->number() == at + 1);
            }
        }
        strings good = wanted;
        std::erase(good, "!");
        const auto skipping = source_of(bytes, ignoring(), 1 + random() % 500);
        CHECK(all_of(*skipping) == good);
        CHECK(skipping->ignored() == wanted.size() - good.size());
    }
}
