#include <io/files/packing.hpp>
#include <io/sources.hpp>

#include "tests.hpp"

using namespace std::string_literals;
using strings = std::vector<std::string>;
using tn::compression;

TEST_CASE("what is not packed is given as it is") {
    for (const std::string& bytes :
         {""s, "a"s, "x"s, "x\x9c"s, "x^2 + 1"s, "x^"s + std::string(500, 'y'), "(S"s, "P*M and more"s,
          "(\xb5/ is not"s, "\x28\xb5\x2f"s, "\x1f"s, "\x78\x01\0\0\0\0\0\0abcdefghijklmnop"s}) {
        if (bytes == "x\x9c"s || bytes == "\x1f"s) continue; // too short to tell
        CHECK(unpack(bytes).bytes == bytes);
        CHECK(unpack(bytes, compression::none).bytes == bytes);
    }
}

#if TENON_WITH_ZLIB
TEST_CASE("gzip and zlib are known by their first bytes, also in a pipe") {
    for (const std::string& bytes : {""s, "a"s, mixed(300'000)})
        for (const compression how : {compression::gzip, compression::zlib}) {
            const std::string packed = pack(bytes, how);
            CHECK(unpack(packed).bytes == bytes);
            CHECK(unpack(packed, how, 1 << 20).bytes == bytes);
            auto pipe = std::make_unique<test_file>(packed);
            pipe->pipe = true;
            pipe->at_once = 5;
            const auto file = tn::unpacked(std::move(pipe), "it");
            const outcome o = drain(*file, 1 << 16);
            CHECK(o.bytes == bytes);
            CHECK(o.error == "");
            CHECK(file->size() == -1);
        }
}

TEST_CASE("members of gzip may follow one another, and zeros after them") {
    const std::string ab = pack("a", compression::gzip) + pack("", compression::gzip) + pack("b", compression::gzip);
    CHECK(unpack(ab).bytes == "ab");
    CHECK(unpack(ab + std::string(600, '\0')).bytes == "ab");
    CHECK(unpack(ab + std::string(600, '\0')).error == "");
    CHECK(contains(unpack(ab + "x").error, "the gzipped data ends too early"));
    CHECK(contains(unpack(ab + "xyz").error, "the gzipped data is damaged"));
    CHECK(contains(unpack(pack("a", compression::zlib) + "x").error, "the zlib data is followed by other bytes"));
}

TEST_CASE("wherever packed data is cut off, what came before is given, then data_loss_error") {
    const std::string bytes = mixed(3000);
    for (const compression how : {compression::gzip, compression::zlib}) {
        const std::string packed = pack(bytes, how);
        for (std::size_t size = 0; size < packed.size(); size += 7) {
            const outcome o = unpack(packed.substr(0, size), how, 1000);
            CHECK(bytes.starts_with(o.bytes));
            CHECK(contains(o.error, size == 0 ? "is empty" : "ends too early, at byte " + std::to_string(size)));
            if (size > 1500) CHECK(o.bytes.size() > 100);
        }
    }
}

TEST_CASE("what zlib has unpacked is given to the last byte that it could be, in pieces of any size") {
    const std::string bytes(100'000, 'a'), packed = pack(bytes, compression::zlib);
    for (std::size_t size = packed.size() - 30; size < packed.size(); ++size) {
        const outcome all = unpack(packed.substr(0, size), compression::zlib, 1 << 20);
        CHECK(unpack(packed.substr(0, size), compression::zlib, 17).bytes.size() == all.bytes.size());
    }
    // Deflated data have nothing behind their last byte.
    const auto file = tn::detail::inflated(std::make_unique<test_file>(packed.substr(2, packed.size() - 6)), "it");
    const outcome o = drain(*file, 17);
    CHECK(o.bytes == bytes);
    CHECK(o.error == "");
}

TEST_CASE("whatever byte of gzipped data is damaged, nothing wrong is given without an error") {
    const std::string bytes = mixed(500), packed = pack(bytes, compression::gzip);
    std::size_t noticed = 0;
    for (std::size_t at = 0; at < packed.size(); ++at) {
        std::string damaged = packed;
        damaged[at] ^= 0x10;
        const outcome o = unpack(damaged, compression::gzip);
        noticed += o.error != "";
        CHECK((o.error != "" || o.bytes == bytes)); // a date may differ, or from where a run of one letter is copied
    }
    CHECK(noticed > packed.size() * 9 / 10);
}

TEST_CASE("an unpacked file goes to any place by reading again") {
    const std::string bytes = mixed(200'000);
    const auto file = tn::unpacked(std::make_unique<test_file>(pack(bytes, compression::gzip)), "it");
    check_goes_anywhere(*file, bytes);
}

TEST_CASE("records of a packed file: places are of what is unpacked, and damage comes after what is whole") {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += "line " + std::to_string(i) + "\n";
    const std::string packed = pack(text, compression::gzip);
    const auto source = source_of(packed, {}, 100);
    std::string_view r;
    for (int i = 0; i < 15'000; ++i) REQUIRE(source->next(r));
    const tn::record_position there = source->position();
    CHECK(source->next(r));
    CHECK(r == "line 15000");
    source->go_to({0, 0, 0});
    CHECK(source->next(r));
    CHECK(r == "line 0");
    source->go_to(there);
    CHECK(source->next(r));
    CHECK(r == "line 15000");
    CHECK_THROWS_AS(source->go_to({text.size() + 1, 1, 1}), tn::out_of_range_error);

    const strings cut = all_of(packed.substr(0, packed.size() / 2), {});
    REQUIRE(cut.size() > 1000);
    for (std::size_t i = 0; i + 1 < cut.size(); ++i) REQUIRE(cut[i] == "line " + std::to_string(i));
    CHECK(contains(cut.back(), "!data_loss read: 'it': the gzipped data ends too early, at byte " +
                                   std::to_string(packed.size() / 2) + " of the file (line " +
                                   std::to_string(cut.size())));
}

TEST_CASE_FIXTURE(in_folder, "a file is packed by the name that it gets, and appears whole or not at all") {
    for (const char* name : {"a.gz", "a.zlib", "a"}) {
        const std::string path = folder / name;
        const auto file = tn::packed(tn::file_system_of(path).create(path), path);
        file->write("abc", 3);
        CHECK_FALSE(std::filesystem::exists(path));
        file->commit();
        CHECK(drain(*tn::unpacked(tn::file_system_of(path).open(path), path)).bytes == "abc");
    }
    CHECK(read_bytes(folder / "a") == "abc");
    CHECK(read_bytes(folder / "a.gz").starts_with("\x1f\x8b"));
    CHECK(read_bytes(folder / "a.zlib").starts_with("x"));
    CHECK_THROWS_AS(tn::packed(nullptr, "a", compression::gzip, 10), tn::invalid_argument_error);
}
#else
TEST_CASE("without zlib what is packed is refused with what to do") {
    CHECK_ERROR(tn::unimplemented_error, "has no zlib", unpack("\x1f\x8b\x08 and more"s));
    CHECK_THROWS_AS(tn::packed(nullptr, "a.gz"), tn::unimplemented_error);
}
#endif
