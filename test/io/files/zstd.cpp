#include <tenon/io/numpy/npy.hpp>
#include <tenon/io/records/record_writer.hpp>
#include <tenon/io/records/tar.hpp>
#include <io/files/packing.hpp>
#include <io/sources.hpp>

#include "tests.hpp"

using namespace std::string_literals;
using strings = std::vector<std::string>;
using tn::compression;

namespace {

// "hello zstd\n" by the program zstd 1.5.4; frames by hand (RFC 8878): one that is to be skipped, one of "abc", not packed,
// behind a window of 2^log bytes.
const std::string hello = "\x28\xb5\x2f\xfd\x24\x0b\x59\x00\x00hello zstd\n\x6c\x57\xf9\x51"s;
const std::string skipped = "\x57\x2a\x4d\x18\x05\x00\x00\x00other"s;
// By the programs tar and zstd: a file a.txt of "hi".
const std::string
    archive("(\265/\375\004hE\002\000\262\302\011\021\260\251\003\000]I@.I|\357%e\275\006\202\024\233r\236\203\332"
            "\021\311\244\276`\304a\326\273\350w\330se \001\014 P/2\016\372\005~HH\001xg\030\0150\374o\246=\034\200"
            "\003\006\005\260\235\024\034\356\320!A",
            85);
[[maybe_unused]] std::string frame_of_abc(int log) {
    return "\x28\xb5\x2f\xfd\x00"s + static_cast<char>((log - 10) << 3) + "\x19\x00\x00"s + "abc";
}

} // namespace

TEST_CASE("a byte packed by zstd becomes at most 32 KiB, by deflate 1,032 bytes; of a pipe nobody knows") {
    CHECK(tn::detail::most_unpacked(-1, compression::zstd) == -1);
    CHECK(tn::detail::most_unpacked(9, compression::zstd) == 10 * 32768);
    CHECK(tn::detail::most_unpacked(9, compression::gzip) == 10 * 1032);
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    CHECK(tn::detail::most_unpacked(most / 2, compression::zstd) == most);
}

#if TENON_WITH_ZSTD
TEST_CASE("zstd is known by its first bytes, also where what is to be skipped stands first, and in a pipe") {
    CHECK(unpack(hello).bytes == "hello zstd\n");
    CHECK(unpack(frame_of_abc(20)).bytes == "abc");
    CHECK(unpack(skipped + frame_of_abc(20) + skipped).bytes == "abc");
    CHECK(unpack(skipped).error == "");
    for (const std::string& bytes : {""s, "a"s, mixed(600'000), std::string(3'000'000, 'a')}) {
        const std::string packed = pack(bytes, compression::zstd);
        CHECK(packed.starts_with("\x28\xb5\x2f\xfd"));
        CHECK(packed.size() < bytes.size() / 2 + 20);
        CHECK(unpack(packed, compression::zstd, 1 << 20).bytes == bytes);
        auto pipe = std::make_unique<test_file>(packed);
        pipe->pipe = true;
        pipe->at_once = 3;
        const auto file = tn::unpacked(std::move(pipe), "it");
        const outcome o = drain(*file, 1 << 16);
        CHECK(o.bytes == bytes);
        CHECK(o.error == "");
        CHECK(file->size() == -1);
    }
}

TEST_CASE("frames of zstd may follow one another, and nothing else after them") {
    const std::string ab = pack("a", compression::zstd) + pack("", compression::zstd) + pack("b", compression::zstd);
    CHECK(unpack(ab).bytes == "ab");
    CHECK(unpack(ab).error == "");
    CHECK(unpack(ab + "x").bytes == "ab");
    CHECK(contains(unpack(ab + "x").error, "the zstd data"));
    CHECK(contains(unpack(ab + "xyz and more").error, "'it': the zstd data is followed by other bytes, at byte"));
    CHECK(contains(unpack("no zstd at all", compression::zstd).error, "'it': the zstd data is damaged"));
}

TEST_CASE("wherever zstd data is cut off, what came before is given, then data_loss_error") {
    const std::string bytes = mixed(500'000), packed = pack(bytes, compression::zstd);
    for (std::size_t size = 0; size < packed.size(); size += 3001) {
        const outcome o = unpack(packed.substr(0, size), compression::zstd, 1000);
        CHECK(bytes.starts_with(o.bytes));
        CHECK(contains(o.error, size == 0 ? "is empty" : "ends too early, at byte " + std::to_string(size)));
        if (size > packed.size() / 2) CHECK(o.bytes.size() > 100'000); // blocks of 128 KiB
    }
}

TEST_CASE("whatever byte of zstd data is damaged, nothing wrong is given without an error") {
    const std::string bytes = mixed(500), packed = pack(bytes, compression::zstd);
    std::size_t noticed = 0;
    for (std::size_t at = 0; at < packed.size(); ++at) {
        std::string damaged = packed;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
        outcome o;
        try {
            o = unpack(damaged, compression::zstd);
        } catch (const tn::error& e) { // a window or a dictionary that nobody has
            o.error = e.what();
        }
        noticed += o.error != "";
        CHECK((o.error != "" || o.bytes == bytes));
    }
    CHECK(noticed > packed.size() * 9 / 10);
}

TEST_CASE("a frame that needs a window of more than 128 MiB is refused before there is memory for it") {
    CHECK(unpack(frame_of_abc(27)).bytes == "abc");
    const outcome o = unpack<tn::resource_exhausted_error>(frame_of_abc(28));
    CHECK(o.bytes == "");
    CHECK(contains(o.error,
                   "'it': the zstd data needs a window of more than 128 MiB in memory: pack the file again with "
                   "--long=27 or less"));
    const outcome behind = unpack<tn::resource_exhausted_error>(frame_of_abc(20) + frame_of_abc(31));
    CHECK(behind.bytes == "abc");
    CHECK(contains(behind.error, "128 MiB"));
}

TEST_CASE("a frame that needs a dictionary says so") {
    const std::string frame = "\x28\xb5\x2f\xfd\x01\x50\x07\x19\x00\x00"s + "abc";
    CHECK(
        contains(unpack<tn::unimplemented_error>(frame).error, "needs a dictionary: pack the file again without one"));
}

TEST_CASE("a file packed by zstd goes to any place by reading again") {
    const std::string bytes = mixed(200'000);
    const auto file = tn::unpacked(std::make_unique<test_file>(pack(bytes.substr(0, 70'000), compression::zstd) +
                                                               pack(bytes.substr(70'000), compression::zstd)),
                                   "it");
    check_goes_anywhere(*file, bytes);
}

TEST_CASE("levels are zstd's, 1 to 22") {
    const std::string bytes = mixed(100'000);
    CHECK(pack(bytes, compression::zstd, 19).size() < pack(bytes, compression::zstd, 1).size());
    CHECK(unpack(pack(bytes, compression::zstd, 22)).bytes == bytes);
    CHECK_ERROR(tn::invalid_argument_error, "'it': a compression level of zstd is 1 to 22, or -1, not 23",
                pack("", compression::zstd, 23));
    CHECK_THROWS_AS(pack("", compression::zstd, 0), tn::invalid_argument_error);
}

TEST_CASE("what writes and reads gzip does zstd, by the name alone: lines, TFRecords, arrays, tar archives") {
    const temporary_folder folder;
    {
        tn::text_writer lines(folder / "lines.zst");
        lines.write("one");
        lines.write("two");
        lines.commit();
        tn::tfrecord_writer records(folder / "records.zst");
        records.write("first");
        records.commit();
    }
    CHECK(all_of(read_bytes(folder / "lines.zst"), {}) == strings{"one", "two"});
    CHECK(all_of(read_bytes(folder / "records.zst"), {.kind = tn::record_kind::tfrecord}) == strings{"first"});

    write_bytes(folder / "a.tar", archive);
    tn::tar_reader files(folder / "a.tar");
    tn::tar_entry entry;
    REQUIRE(files.next(entry));
    CHECK(entry.name == "a.txt");
    CHECK(entry.bytes == "hi");
    CHECK_FALSE(files.next(entry));

    tn::array<float> a(tn::extents{100'000}); // of zeros a packed byte becomes more than deflate makes of one
    tn::write_npy(folder / "a.npy.zst", a);
    CHECK(read_bytes(folder / "a.npy.zst").size() < 200);
    CHECK(tn::read_npy<float>(folder / "a.npy.zst") == a);
}

TEST_CASE_FIXTURE(in_folder, "a .zst file appears whole or not at all") {
    const std::string path = folder / "a.zst";
    const auto file = tn::packed(tn::file_system_of(path).create(path), path);
    file->write("abc", 3);
    CHECK_FALSE(std::filesystem::exists(path));
    file->commit();
    CHECK(drain(*tn::unpacked(tn::file_system_of(path).open(path), path)).bytes == "abc");
}
#else
TEST_CASE("without libzstd what is packed by it is refused with what to do") {
    CHECK_ERROR(tn::unimplemented_error,
                "'it' is compressed by zstd and this build of Tenon has no libzstd; unpack the file (unzstd) or build",
                unpack(hello));
    CHECK_ERROR(tn::unimplemented_error, "write it without", tn::packed(nullptr, "a.zst"));
}
#endif
