#include <span>

#include "tests.hpp"

using namespace std::string_literals;
using tn::any_array, tn::array, tn::extents;

namespace {

#if TENON_WITH_ZLIB
// Made by zlib from "\0\0\x08\x01\0\0\0\x03abc"; from the same without and of "bc" alone; and from a
// header that promises 2^58 bytes, with six.
const std::string
    packed_abc("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x63\x60\xe0\x60\x64\x60\x60\x60\x4e\x4c\x4a\x06\x00"
               "\x54\x24\x25\xc4\x0b\x00\x00\x00",
               31);
const std::string
    packed_a("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x63\x60\xe0\x60\x64\x60\x60\x60\x4e\x04\x00\x61\x8b\x22"
             "\x0f\x09\x00\x00\x00",
             29);
const std::string packed_bc("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\x4a\x06\x00\x38\x2b\xa9\xc2\x02\x00\x00\x00",
                            22);
const std::string
    packed_promise("\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x63\x60\xe0\x60\x76\x60\x00\x02\x01\x10\xc1\xc0\x98"
                   "\x98\x94\x9c\x92\x9a\x06\x00\xb9\xa4\x15\xc4\x16\x00\x00\x00",
                   38);
constexpr bool has_zlib = true;
#else
constexpr bool has_zlib = false;
#endif

any_array parse(const std::string& bytes) { return tn::parse_idx(std::as_bytes(std::span(bytes)), "bytes"); }

template <class T> void check_round_trip(array<T> a) {
    const temporary_folder folder;
    for (const char* name : {"plain", "packed.gz"}) {
        const std::string path = folder / name;
        if (!has_zlib && path.ends_with(".gz")) continue;
        tn::write_idx(path, a);
        CHECK(tn::read_idx<T>(path) == a);
        CHECK(folder.file_count() == 1);
        std::filesystem::remove(path);
    }
}

} // namespace

TEST_CASE("IDX bytes are big-endian: the element type, the rank, the sizes, the elements") {
    const any_array a = parse("\0\0\x0B\x02\0\0\0\x02\0\0\0\x01\x01\x02\xFF\xFE"s);
    CHECK(a == array<std::int16_t>{{258}, {-2}});
    CHECK(parse("\0\0\x0D\x01\0\0\0\x01\x3F\x80\0\0"s) == array<float>{1});
    CHECK(parse("\0\0\x0E\0\x40\0\0\0\0\0\0\0"s) == array<double>(2));
    CHECK(parse("\0\0\x09\x01\0\0\0\x01\xFF"s) == array<std::int8_t>{-1});
    CHECK(parse("\0\0\x0C\x01\0\0\0\0"s).extents() == extents{0});
}

TEST_CASE("every IDX element type comes back as it was written, plain and gzipped") {
    check_round_trip(array<std::uint8_t>{{1, 2, 255}, {0, 5, 6}});
    check_round_trip(array<std::int8_t>{-128, 127});
    check_round_trip(array<std::int16_t>{{{-32768}, {32767}}});
    check_round_trip(array<std::int32_t>{1 << 30, -7});
    check_round_trip(array<float>{1.5F, -3.25e20F});
    check_round_trip(array<double>(2.5));
    check_round_trip(array<std::uint8_t>(extents{0, 28, 28}));
    array<std::int32_t> large(extents{6'000'000}); // more than one step of the growing buffer
    for (std::int64_t i = 0; i < large.size(); ++i) large[i] = static_cast<std::int32_t>(i * 2654435761 >> 8);
    check_round_trip(large.share());
}

#if TENON_WITH_ZLIB
TEST_CASE("gzipped data is known by its first bytes, and may come in several members") {
    CHECK(parse(packed_abc) == array<std::uint8_t>{'a', 'b', 'c'});
    CHECK(parse(packed_a + packed_bc) == array<std::uint8_t>{'a', 'b', 'c'});
    const temporary_folder folder;
    write_bytes(folder / "no-suffix", packed_abc);
    CHECK(tn::read_idx(folder / "no-suffix") == array<std::uint8_t>{'a', 'b', 'c'});
    CHECK_THROWS_AS(parse(packed_abc + packed_bc), tn::data_loss_error); // more bytes than promised
    CHECK_THROWS_AS(parse(packed_a), tn::data_loss_error);
}

TEST_CASE("a damaged or truncated gzipped file is data_loss_error") {
    for (std::size_t n = 2; n < packed_abc.size(); ++n)
        CHECK_THROWS_AS(parse(packed_abc.substr(0, n)), tn::data_loss_error);
    std::string flipped = packed_abc;
    flipped[24] = static_cast<char>(flipped[24] ^ 1); // in the checksum
    CHECK_ERROR(tn::data_loss_error, "damaged", parse(flipped));
}

TEST_CASE("a small gzipped file that promises much is refused before memory is taken") {
    CHECK_ERROR(tn::data_loss_error, "there can be at most", parse(packed_promise));
}
#else
TEST_CASE("without zlib, a gzipped file is refused with what to do") {
    CHECK_ERROR(tn::unimplemented_error, "has no zlib", parse("\x1f\x8b"s));
    CHECK_THROWS_AS(tn::write_idx("a.gz", array<float>{1}), tn::unimplemented_error);
}
#endif

TEST_CASE("a file that is too short or too long says what was promised and what is there") {
    const std::string good = "\0\0\x08\x02\0\0\0\x02\0\0\0\x03"s + "abcdef";
    CHECK(parse(good).extents() == extents{2, 3});
    for (std::size_t n = 0; n < good.size(); ++n) CHECK_THROWS_AS(parse(good.substr(0, n)), tn::data_loss_error);
    CHECK_ERROR(tn::data_loss_error, "'bytes': the header promises uint8[2, 3], 6 bytes of elements, but there are 4",
                parse(good.substr(0, 16)));
    CHECK_THROWS_AS(parse(good + "g"), tn::data_loss_error);
}

TEST_CASE("a small file that promises much is refused before memory is taken") {
    const std::string huge = "\0\0\x0E\x03\x40\0\0\0\0\x10\0\0\0\0\0\x01"s;
    CHECK_ERROR(tn::data_loss_error, "but there are 4", parse(huge + "abcd"));
    CHECK_THROWS_AS(parse("\0\0\x0E\x03\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s), tn::invalid_argument_error);
}

TEST_CASE("what is no IDX file is invalid_argument_error") {
    CHECK_THROWS_AS(parse("PK\x03\x04 something"s), tn::invalid_argument_error);
    CHECK_ERROR(tn::invalid_argument_error, "element type 7", parse("\0\0\x07\x01\0\0\0\0"s));
    CHECK_ERROR(tn::invalid_argument_error, "rank 9", parse("\0\0\x08\x09"s));
}

TEST_CASE_FIXTURE(in_folder, "a file that cannot be opened is named, with what to do") {
    CHECK_ERROR(tn::not_found_error, "nowhere'", tn::read_idx(folder / "nowhere"));
    CHECK_THROWS_AS(tn::read_idx(folder.path().string()), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::write_idx(folder / "no/such/folder", array<float>{1}), tn::not_found_error);
}

TEST_CASE_FIXTURE(in_folder, "element types are checked by readers and writers") {
    tn::write_idx(folder / "a", array<float>{1});
    CHECK_ERROR(tn::invalid_argument_error, "holds float[1], not elements of type uint8",
                tn::read_idx<std::uint8_t>(folder / "a"));
    CHECK_THROWS_AS(tn::write_idx(folder / "b", array<std::int64_t>{1}), tn::invalid_argument_error);
    CHECK(folder.file_count() == 1);
}

TEST_CASE_FIXTURE(in_folder, "a data set like MNIST is four files, found under their usual names") {
    const array<std::uint8_t> labels{1, 2, 3}, images(extents{3, 2, 2});
    tn::write_idx(folder / (has_zlib ? "train-images-idx3-ubyte.gz" : "train-images-idx3-ubyte"), images);
    tn::write_idx(folder / "train-labels.idx1-ubyte", labels);
    tn::write_idx(folder / "t10k-images-idx3-ubyte", images);
    const std::string text = message_of<tn::not_found_error>([&] { tn::load_mnist_like(folder.path().string()); });
    CHECK(contains(
        text, "t10k-labels-idx1-ubyte, t10k-labels-idx1-ubyte.gz, t10k-labels-idx1-ubyte.zst, t10k-labels.idx1-ubyte"));
    CHECK_FALSE(contains(text, "train"));

    tn::write_idx(folder / "t10k-labels-idx1-ubyte", labels);
    const tn::image_data data = tn::load_mnist_like(folder.path().string());
    CHECK(data.train_images == images);
    CHECK(data.test_labels == labels);

    tn::write_idx(folder / "t10k-labels-idx1-ubyte", array<std::uint8_t>{1, 2});
    CHECK_ERROR(tn::invalid_argument_error, "as many labels as images", tn::load_mnist_like(folder.path().string()));
    tn::write_idx(folder / "t10k-labels-idx1-ubyte", images);
    CHECK_ERROR(tn::invalid_argument_error, "rank 1 is needed", tn::load_mnist_like(folder.path().string()));
}
