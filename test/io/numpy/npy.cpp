#include <span>

#include <tenon/io/numpy/npy.hpp>
#include <tenon/io/numpy/npz.hpp>

#include "tests.hpp"

using namespace std::string_literals;
using tn::any_array, tn::array, tn::extents;

namespace {

template <class T> std::string little(T v) { return std::string(reinterpret_cast<const char*>(&v), sizeof v); }

// A file to the byte as NumPy 2.4.6 has written it: elements begin at a multiple of 64 bytes.
std::string written(char version, const std::string& type, const std::string& shape, const std::string& elements,
                    const std::string& by_columns = "False") {
    std::string header = "{'descr': '" + type + "', 'fortran_order': " + by_columns + ", 'shape': " + shape + ", }";
    const std::size_t before = version == 1 ? 10 : 12;
    header.append(63 - (before + header.size()) % 64, ' ') += '\n';
    const auto size = static_cast<std::uint32_t>(header.size());
    return "\x93NUMPY"s + version + '\0' + little(size).substr(0, before - 8) + header + elements;
}
template <class T> std::string elements_of(std::initializer_list<T> all) {
    std::string bytes;
    for (const T v : all) bytes += little(v);
    return bytes;
}

const std::string ints = written(1, "<i4", "(2, 3)", elements_of<std::int32_t>({0, 1, 2, 3, 4, 5}));
// arange(24) / 8 in Fortran order.
const std::string by_columns = [] {
    std::string elements;
    for (int k = 0; k < 4; ++k)
        for (int j = 0; j < 3; ++j)
            for (int i = 0; i < 2; ++i) elements += little((12 * i + 4 * j + k) / 8.0);
    return written(1, "<f8", "(2, 3, 4)", elements, "True");
}();
const std::string halfs = written(2, "<f2", "(2,)", "\x00\x3e\x00\xc0"s); // 1.5, -2
const std::string bools = written(3, "|b1", "()", "\x01");
const std::string texts = written(1, "<U2", "(2,)", elements_of({U'a', U'\0', U'b', U'c'})); // 'a', 'bc'
// savez(a=[1, 2, 3] as '<u2', b=2.5); savez_compressed(a=300 zeros as '<f4', b=arange(3) as '|i1').
const std::string stored(
    "\x50\x4b\x03\x04\x2d\x00\x00\x00\x00\x00\x00\x00\x21\x00\x57\xca\x31\xab\xff\xff\xff\xff\xff\xff\xff\xff\x05\x00"
    "\x14\x00\x61\x2e\x6e\x70\x79\x01\x00\x10\x00\x86\x00\x00\x00\x00\x00\x00\x00\x86\x00\x00\x00\x00\x00\x00\x00\x93"
    "\x4e\x55\x4d\x50\x59\x01\x00\x76\x00\x7b\x27\x64\x65\x73\x63\x72\x27\x3a\x20\x27\x3c\x75\x32\x27\x2c\x20\x27\x66"
    "\x6f\x72\x74\x72\x61\x6e\x5f\x6f\x72\x64\x65\x72\x27\x3a\x20\x46\x61\x6c\x73\x65\x2c\x20\x27\x73\x68\x61\x70\x65"
    "\x27\x3a\x20\x28\x33\x2c\x29\x2c\x20\x7d\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20"
    "\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20"
    "\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x0a\x01\x00\x02\x00\x03\x00\x50\x4b\x03\x04\x2d\x00\x00"
    "\x00\x00\x00\x00\x00\x21\x00\x35\xb4\x3a\x93\xff\xff\xff\xff\xff\xff\xff\xff\x05\x00\x14\x00\x62\x2e\x6e\x70\x79"
    "\x01\x00\x10\x00\x88\x00\x00\x00\x00\x00\x00\x00\x88\x00\x00\x00\x00\x00\x00\x00\x93\x4e\x55\x4d\x50\x59\x01\x00"
    "\x76\x00\x7b\x27\x64\x65\x73\x63\x72\x27\x3a\x20\x27\x3c\x66\x38\x27\x2c\x20\x27\x66\x6f\x72\x74\x72\x61\x6e\x5f"
    "\x6f\x72\x64\x65\x72\x27\x3a\x20\x46\x61\x6c\x73\x65\x2c\x20\x27\x73\x68\x61\x70\x65\x27\x3a\x20\x28\x29\x2c\x20"
    "\x7d\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20"
    "\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20\x20"
    "\x20\x20\x20\x20\x20\x20\x20\x0a\x00\x00\x00\x00\x00\x00\x04\x40\x50\x4b\x01\x02\x2d\x03\x2d\x00\x00\x00\x00\x00"
    "\x00\x00\x21\x00\x57\xca\x31\xab\x86\x00\x00\x00\x86\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    "\x80\x01\x00\x00\x00\x00\x61\x2e\x6e\x70\x79\x50\x4b\x01\x02\x2d\x03\x2d\x00\x00\x00\x00\x00\x00\x00\x21\x00\x35"
    "\xb4\x3a\x93\x88\x00\x00\x00\x88\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x01\xbd\x00\x00"
    "\x00\x62\x2e\x6e\x70\x79\x50\x4b\x05\x06\x00\x00\x00\x00\x02\x00\x02\x00\x66\x00\x00\x00\x7c\x01\x00\x00\x00\x00",
    504);
const std::string deflated(
    "\x50\x4b\x03\x04\x2d\x00\x00\x00\x08\x00\x00\x00\x21\x00\xe9\x3a\xb4\x34\xff\xff\xff\xff\xff\xff\xff\xff\x05\x00"
    "\x14\x00\x61\x2e\x6e\x70\x79\x01\x00\x10\x00\x30\x05\x00\x00\x00\x00\x00\x00\x50\x00\x00\x00\x00\x00\x00\x00\x9b"
    "\xec\x17\xea\x1b\x10\xc9\xc8\x50\xc6\x50\xad\x9e\x92\x5a\x9c\x5c\xa4\x6e\xa5\xa0\x6e\x93\x66\xa2\xae\xa3\xa0\x9e"
    "\x96\x5f\x54\x52\x94\x98\x17\x9f\x5f\x94\x92\x0a\x12\x77\x4b\xcc\x29\x4e\x05\x8a\x17\x67\x24\x16\xa4\x02\xf9\x1a"
    "\xc6\x06\x06\x3a\x9a\x3a\x0a\xb5\x0a\x64\x03\x2e\x86\x51\x30\x0a\x46\xc1\x28\x18\x22\x00\x00\x50\x4b\x03\x04\x2d"
    "\x00\x00\x00\x08\x00\x00\x00\x21\x00\xac\x98\xff\x33\xff\xff\xff\xff\xff\xff\xff\xff\x05\x00\x14\x00\x62\x2e\x6e"
    "\x70\x79\x01\x00\x10\x00\x83\x00\x00\x00\x00\x00\x00\x00\x47\x00\x00\x00\x00\x00\x00\x00\x9b\xec\x17\xea\x1b\x10"
    "\xc9\xc8\x50\xc6\x50\xad\x9e\x92\x5a\x9c\x5c\xa4\x6e\xa5\xa0\x5e\x93\x69\xa8\xae\xa3\xa0\x9e\x96\x5f\x54\x52\x94"
    "\x98\x17\x9f\x5f\x94\x92\x0a\x12\x77\x4b\xcc\x29\x4e\x05\x8a\x17\x67\x24\x16\xa4\x02\xf9\x1a\xc6\x3a\x9a\x3a\x0a"
    "\xb5\x0a\x14\x00\x2e\x06\x46\x26\x00\x50\x4b\x01\x02\x2d\x03\x2d\x00\x00\x00\x08\x00\x00\x00\x21\x00\xe9\x3a\xb4"
    "\x34\x50\x00\x00\x00\x30\x05\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x01\x00\x00\x00\x00\x61"
    "\x2e\x6e\x70\x79\x50\x4b\x01\x02\x2d\x03\x2d\x00\x00\x00\x08\x00\x00\x00\x21\x00\xac\x98\xff\x33\x47\x00\x00\x00"
    "\x83\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80\x01\x87\x00\x00\x00\x62\x2e\x6e\x70\x79\x50"
    "\x4b\x05\x06\x00\x00\x00\x00\x02\x00\x02\x00\x66\x00\x00\x00\x05\x01\x00\x00\x00\x00",
    385);

any_array parse(const std::string& bytes) { return tn::parse_npy(std::as_bytes(std::span(bytes)), "bytes"); }
auto parse_archive(const std::string& bytes) { return tn::parse_npz(std::as_bytes(std::span(bytes)), "archive"); }

// Version 1 with a header as it is given.
std::string npy(const std::string& header, const std::string& elements) {
    return "\x93NUMPY\1\0"s + static_cast<char>(header.size() & 255) + static_cast<char>(header.size() >> 8) + header +
           elements;
}
template <class Error> std::string said(const std::string& bytes) {
    return message_of<Error>([&] { parse(bytes); });
}

template <class T> void check_round_trip(const array<T>& a) {
    const temporary_folder folder;
    tn::write_npy(folder / "a.npy", a);
    CHECK(tn::read_npy<T>(folder / "a.npy") == a);
#if TENON_WITH_ZLIB
    tn::write_npy(folder / "a.npy.gz", a);
    CHECK(tn::read_npy<T>(folder / "a.npy.gz") == a);
#endif
}

} // namespace

TEST_CASE("npy: what NumPy wrote, in all versions, byte orders and orders of dimensions") {
    CHECK(parse(ints) == array<std::int32_t>{{0, 1, 2}, {3, 4, 5}});
    array<double> eighths(extents{2, 3, 4});
    for (std::int64_t i = 0; i < 24; ++i) eighths[i] = static_cast<double>(i) / 8;
    CHECK(parse(by_columns) == eighths);
    CHECK(parse(written(1, ">i2", "(2,)", "\1\2\xFF\xFE"s)) == array<std::int16_t>{258, -2});
    CHECK(parse(halfs) == array<tn::half>{1.5, -2});
    CHECK(parse(bools) == array<bool>(true));
}

TEST_CASE("npy: complex numbers are a last dimension of two parts, in every order") {
    CHECK(parse(written(1, "<c16", "(1,)", elements_of({0.0, 1.0}))) == array<double>{{0, 1}}); // 1j
    CHECK(parse(written(1, "<c8", "()", elements_of({2.0f, -1.0f}))) == array<float>{2, -1});
    // [[0, 1], [2, 3], [4, 5]] + 0.5j by columns.
    CHECK(parse(written(1, "<c8", "(3, 2)", elements_of({0.f, .5f, 2.f, .5f, 4.f, .5f, 1.f, .5f, 3.f, .5f, 5.f, .5f}),
                        "True")) == array<float>{{{0, .5f}, {1, .5f}}, {{2, .5f}, {3, .5f}}, {{4, .5f}, {5, .5f}}});
    CHECK(parse(written(1, ">c8", "(1,)", "\x3f\x80\0\0\xc0\0\0\0"s)) == array<float>{{1, -2}});
    CHECK_THROWS_AS(parse(written(1, "<c8", "(1, 1, 1, 1, 1, 1, 1, 1)", elements_of({0.f, 0.f}))),
                    tn::invalid_argument_error);
}

TEST_CASE_FIXTURE(in_folder, "npy: an array is written as NumPy writes it") {
    tn::write_npy(folder / "a", array<std::int32_t>{{0, 1, 2}, {3, 4, 5}});
    CHECK(read_bytes(folder / "a") == ints);
    CHECK_THROWS_AS(tn::write_npy(folder / "b", array<std::string>{"a"}), tn::unimplemented_error);
    CHECK_THROWS_AS(tn::write_npy(folder / "b", array<tn::bfloat16>{1}), tn::unimplemented_error);
    CHECK_THROWS_AS(tn::write_npy(folder / "no/such", array<float>{1}), tn::not_found_error);
    CHECK(folder.file_count() == 1);
}

TEST_CASE("npy: every element type comes back as it was written") {
    check_round_trip(array<std::uint8_t>{{1, 2, 255}, {0, 5, 6}});
    check_round_trip(array<std::int8_t>{-128, 127});
    check_round_trip(array<std::uint16_t>{65535});
    check_round_trip(array<std::int16_t>{{{-32768}, {32767}}});
    check_round_trip(array<std::uint32_t>{4294967295});
    check_round_trip(array<std::int32_t>{1 << 30, -7});
    check_round_trip(array<std::uint64_t>{1});
    check_round_trip(array<std::int64_t>{-1});
    check_round_trip(array<tn::half>{0.5});
    check_round_trip(array<float>{1.5F, -3.25e20F});
    check_round_trip(array<double>(2.5));
    check_round_trip(array<bool>{true, false});
    check_round_trip(array<float>(extents{0, 3}));
}

TEST_CASE("npy: arrays by columns, of random sizes, beside an index computed for each element") {
    for (unsigned seed = 1; seed <= 50; ++seed) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        extents sizes;
        std::string shape;
        for (auto d = random() % 5; d > 0; --d) {
            sizes.push_back(static_cast<std::int64_t>(random() % 5));
            shape += std::to_string(sizes[sizes.rank() - 1].size) + ",";
        }
        const auto n = static_cast<std::size_t>(sizes.elements());
        std::string elements;
        for (std::size_t i = 0; i < n; ++i) elements += static_cast<char>(i);
        const any_array a = parse(npy("{'descr':'|u1','fortran_order':True,'shape':(" + shape + ")}", elements));
        REQUIRE(a.extents() == sizes);
        for (std::size_t i = 0; i < n; ++i) {
            std::size_t rest = i, wanted = 0;
            for (int d = sizes.rank() - 1; d >= 0; --d) { // the place by columns of the element i by rows
                const auto size = static_cast<std::size_t>(sizes[d].size);
                std::size_t before = 1;
                for (int e = 0; e < d; ++e) before *= static_cast<std::size_t>(sizes[e].size);
                wanted += rest % size * before;
                rest /= size;
            }
            REQUIRE(a.data<std::uint8_t>()[i] == static_cast<std::uint8_t>(wanted));
        }
    }
}

TEST_CASE("npy: a bool is any byte but 0") {
    CHECK(parse(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", "\0\1\x80"s)) ==
          array<bool>{false, true, true});
}

TEST_CASE("npy: texts are UTF-8, bytes stay, and zeros at their ends are none") {
    CHECK(parse(texts) == array<std::string>{"a", "bc"});
    const std::string wide = written(1, ">U3", "(2, 1)", "\0\0\0a\0\0\0\xe4\0\0\x20\xac\0\1\xf6\0\0\0\0z\0\0\0\0"s);
    CHECK(parse(wide) ==
          tn::any_array(array<std::string>{"a\xc3\xa4\xe2\x82\xac", "\xf0\x9f\x98\x80z"}.untyped()).reshape({2, 1}));
    CHECK(parse(written(1, "|S2", "(3,)", "ab\0c\xff\0"s)) == array<std::string>{"ab", "\0c"s, "\xff"});
    CHECK(parse(written(1, "<U1", "()", "x\0\0\0"s)).extents() == extents{});
    CHECK(parse(written(1, "<U1", "(0,)", "")).extents() == extents{0});
    CHECK(contains(said<tn::data_loss_error>(written(1, "<U1", "(2,)", "x\0\0\0\0\xd8\0\0"s)),
                   "text 1 has character number 55296, which Unicode has not"));
    CHECK(contains(said<tn::unimplemented_error>(written(1, "<U0", "(1000000,)", "")), "'<U0'"));
    CHECK(contains(said<tn::unimplemented_error>(written(1, "|S1", "(1, 2)", "ab", "True")), "lie by columns"));
}

TEST_CASE("npy: elements that are no numbers and no texts are refused by name") {
    CHECK(contains(said<tn::unimplemented_error>(written(1, "<c32", "(1,)", std::string(32, ' '))), "'<c32'"));
    CHECK(contains(said<tn::unimplemented_error>(written(1, "<M8[D]", "(1,)", std::string(8, ' '))), "'<M8[D]'"));
    CHECK(contains(
        said<tn::unimplemented_error>(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "")),
        "record"));
}

TEST_CASE("npy: a file that is cut off or too long says so, wherever") {
    for (std::size_t size = 0; size < ints.size(); ++size)
        CHECK_THROWS_AS(parse(ints.substr(0, size)), tn::data_loss_error);
    CHECK(contains(said<tn::data_loss_error>(ints.substr(0, ints.size() - 1)),
                   "read_npy: 'bytes': the header promises int32[2, 3], 24 bytes of elements, but there are 23"));
    CHECK(contains(said<tn::data_loss_error>(ints + "x"), "there are 25"));
    CHECK(contains(said<tn::invalid_argument_error>("PK\3\4"), "no .npy file"));
    CHECK(contains(said<tn::unimplemented_error>("\x93NUMPY\4\0\0\0"s), "version 4"));
    CHECK(contains(said<tn::invalid_argument_error>("\x93NUMPY\2\0\xFF\xFF\xFF\x7F"s), "too long"));
}

TEST_CASE("npy: a header that is damaged says where; what no memory holds is refused before it is taken") {
    const auto refused = [](const std::string& header) { return said<tn::invalid_argument_error>(npy(header, "")); };
    CHECK(contains(refused(""), "at its character 0: a '{' is needed"));
    CHECK(contains(refused("{}"), "needs descr, fortran_order and shape"));
    CHECK(contains(refused("{'descr': '<f4', 'shape': (1,)}"), "needs descr"));
    CHECK(contains(refused("{'descr': '<f4"), "a quote never ends"));
    CHECK(contains(refused("{'descr': '<f4', 'descr': '<f4'}"), "'descr'"));
    CHECK(contains(refused("{'fortran_order': Maybe}"), "True or False"));
    CHECK(contains(refused("{'shape': (1, -2)}"), "a size is needed"));
    CHECK(contains(refused("{'shape': (99999999999999999999,)}"), "more than 2^62"));
    CHECK(contains(refused("{'shape': (1,1,1,1,1,1,1,1,1)}"), "more than 8 dimensions"));
    CHECK(contains(refused("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x"), "something follows"));
    const std::string huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387903, 4)}";
    CHECK(contains(refused(huge), "2^62"));
    CHECK(contains(
        said<tn::data_loss_error>(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}", "x")),
        "but there are 1"));
    CHECK(parse(npy("{'shape': (2L,), \"descr\": 'i1', 'fortran_order': False}", "ab")) ==
          array<std::int8_t>{'a', 'b'});
}

TEST_CASE("npz: all arrays of an archive by their names") {
    const auto a = parse_archive(stored);
    CHECK(a.size() == 2);
    CHECK(a.at("a") == array<std::uint16_t>{1, 2, 3});
    CHECK(a.at("b") == array<double>(2.5));
    const temporary_folder folder;
    write_bytes(folder / "a.npz", stored);
    CHECK(tn::read_npz(folder / "a.npz").at("a") == array<std::uint16_t>{1, 2, 3});
    CHECK_THROWS_AS(tn::read_npz(folder / "b.npz"), tn::not_found_error);
#if TENON_WITH_ZLIB
    const auto b = parse_archive(deflated);
    CHECK(b.at("a") == array<float>(extents{300}));
    CHECK(b.at("b") == array<std::int8_t>{0, 1, 2});
#else
    CHECK_THROWS_AS(parse_archive(deflated), tn::unimplemented_error);
#endif
}

TEST_CASE("npz: an archive that is cut off or damaged is refused") {
    for (const std::string& good : {stored, deflated})
        for (std::size_t size = 0; size < good.size(); size += 5)
            CHECK_THROWS_AS(parse_archive(good.substr(0, size)), tn::data_loss_error);
    CHECK_THROWS_AS(parse_archive("no archive at all"), tn::invalid_argument_error);
#if TENON_WITH_ZLIB
    // Of a date or what else nobody needs; never with fewer arrays, others, or by other names.
    for (const std::string& good : {stored, deflated}) {
        const auto whole = parse_archive(good);
        for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
            CAPTURE(bit);
            std::string damaged = good;
            damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
            try {
                const auto arrays = parse_archive(damaged);
                REQUIRE(arrays.size() == whole.size());
                for (const auto& [name, a] : whole) REQUIRE(arrays.at(name) == a);
            } catch (const tn::error&) { // as it should be
            }
        }
    }
#endif
}

namespace {

// An archive as its parts: what stands before each member and its data, and the directory's entries.
struct archive_parts {
    std::vector<std::string> members, entries;
    std::uint16_t said = 0; // how many there are
    explicit archive_parts(const std::string& whole) {
        const std::size_t directory = whole.find("PK\1\2"), end = whole.find("PK\5\6");
        for (std::size_t at = 0; at < directory; at = std::min(whole.find("PK\3\4", at + 1), directory))
            members.push_back(whole.substr(at, std::min(whole.find("PK\3\4", at + 1), directory) - at));
        for (std::size_t at = directory; at < end; at = std::min(whole.find("PK\1\2", at + 1), end))
            entries.push_back(whole.substr(at, std::min(whole.find("PK\1\2", at + 1), end) - at));
        said = static_cast<std::uint16_t>(entries.size());
    }
    std::string text() const {
        std::string bytes, directory;
        for (const std::string& m : members) bytes += m;
        for (const std::string& e : entries) directory += e;
        return bytes + directory + "PK\5\6" + little<std::uint32_t>(0) + little(said) + little(said) +
               little(static_cast<std::uint32_t>(directory.size())) + little(static_cast<std::uint32_t>(bytes.size())) +
               little<std::uint16_t>(0);
    }
};

} // namespace

TEST_CASE("npz: a directory that is whole in itself, but not the members', loses no array in silence") {
    const auto refused = [](const archive_parts& p) {
        return message_of<tn::data_loss_error>([&] { parse_archive(p.text()); });
    };
    const archive_parts good(stored);
    REQUIRE(good.entries.size() == 2);
    REQUIRE(parse_archive(good.text()).size() == 2);

    archive_parts missing = good; // as if it had been written with one entry
    missing.entries.pop_back();
    missing.said = 1;
    CHECK(contains(refused(missing), "archive:b.npy is not in its directory"));
    missing = good;
    missing.entries.erase(missing.entries.begin());
    missing.said = 1;
    CHECK(contains(refused(missing), "archive:a.npy is not in its directory"));
    missing.entries.clear();
    missing.said = 0;
    CHECK(contains(refused(missing), "archive:a.npy is not in its directory"));

    archive_parts miscounted = good;
    miscounted.said = 3;
    CHECK(contains(refused(miscounted), "its directory has 2 members, and its end says 3"));

    archive_parts short_of_one = good;
    short_of_one.entries[1].replace(32, 2, little<std::uint16_t>(1)); // of a comment
    CHECK(contains(refused(short_of_one), "its directory is cut off"));

    archive_parts twice = good;
    twice.entries[1] = twice.entries[0];
    CHECK(contains(refused(twice), "overlap"));
    archive_parts alike = good; // two members of one name
    alike.members[1].replace(30, 5, "a.npy");
    alike.entries[1].replace(46, 5, "a.npy");
    CHECK(contains(refused(alike), "its directory has archive:a.npy twice"));

    archive_parts renamed = good;
    renamed.entries[1].replace(46, 5, "b.npx");
    CHECK(contains(refused(renamed), "calls a member archive:b.npx, which calls itself archive:b.npy"));
    archive_parts cut = good;
    cut.entries[1].replace(24, 4, little<std::uint32_t>(5)); // its size
    CHECK(contains(refused(cut), "says other than what stands before archive:b.npy"));
}

#if TENON_WITH_ZLIB
TEST_CASE("npz: sizes that stand behind a member's data, as of who writes to a pipe") {
    const archive_parts good(stored);
    for (const bool marked : {true, false}) {
        archive_parts piped = good;
        std::uint32_t offset = 0;
        for (std::size_t i = 0; i < 2; ++i) {
            std::string& m = piped.members[i];
            std::string& e = piped.entries[i];
            m[6] = static_cast<char>(m[6] | 8);
            e.replace(42, 4, little(offset));
            m += (marked ? "PK\7\x8" : "") + e.substr(16, 12);
            m.replace(14, 12, 12, '\0');
            offset += static_cast<std::uint32_t>(m.size());
        }
        CHECK(parse_archive(piped.text()).at("b") == array<double>(2.5));
        piped.members[1].back() ^= 1;
        CHECK_THROWS_AS(parse_archive(piped.text()), tn::data_loss_error);
    }
}
#endif

TEST_CASE_FIXTURE(in_folder, "a list of named arrays outlives what it was made of") {
    tn::any_array gone = tn::array<float>{5, 6}.untyped();
    std::vector<tn::named_array> list{{"gone", gone}};
    gone.reset();
    for (float i = 0; i < 3; ++i) list.push_back({"n" + std::to_string(list.size()), tn::array<float>{i, 2 * i}});
    tn::write_npz(folder / "a.npz", list);
    const auto back = tn::read_npz(folder / "a.npz");
    CHECK(back.at("gone") == tn::array<float>{5, 6}.untyped());
    CHECK(back.at("n3") == tn::array<float>{2, 4}.untyped());
}

TEST_CASE_FIXTURE(in_folder, "several arrays are written as one .npz file, stored or compressed, and read again") {
    const tn::array<float> w{{1, 2, 3}, {4, 5, 6}};
    const tn::array<std::int64_t> ids{7, 8};
    const tn::any_array none = tn::any_array::zeros(tn::element_type::float64, {3, 0}),
                        one = tn::any_array::zeros(tn::element_type::boolean, {});
    const tn::any_array many = tn::any_array::zeros(tn::element_type::int32, {1000, 1000});
    for (const bool compressed : {false, true}) {
        tn::write_npz(folder / "a.npz",
                      {{"w", w.untyped()}, {"layer/ids", ids.untyped()}, {"none", none}, {"one", one}, {"many", many}},
                      {.compressed = compressed});
        const auto back = tn::read_npz(folder / "a.npz");
        CHECK(back.size() == 5);
        CHECK(back.at("w") == w.untyped());
        CHECK(back.at("layer/ids") == ids.untyped());
        CHECK(back.at("none").type() == none.type());
        CHECK(back.at("one") == one);
        CHECK(back.at("many") == many);
        CHECK((read_bytes(folder / "a.npz").size() < 100'000) == compressed);
    }
    CHECK(message_of<tn::invalid_argument_error>([&] {
              tn::write_npz(folder / "b.npz", {{"w", w.untyped()}, {"w", w.untyped()}});
          }) == "write_npz: '" + (folder / "b.npz") + "': the name \"w\" is given twice");
    CHECK_ERROR(tn::unimplemented_error, "\"s\": string[1] cannot be an .npy file",
                tn::write_npz(folder / "b.npz", {{"s", tn::any_array(tn::element_type::string, {1})}}));
    CHECK(folder.file_count() == 1);
}

TEST_CASE_FIXTURE(in_folder, "npz: more arrays than 16 bits count") {
    // As zipfile of Python writes it, too: their number stands in the larger end alone, whose sizes would fit into 32 bits.
    std::vector<tn::named_array> all;
    for (int i = 0; i < 65'537; ++i)
        all.push_back({std::to_string(i), tn::any_array::zeros(tn::element_type::int8, {})});
    tn::write_npz(folder / "many.npz", all);
    CHECK(tn::read_npz(folder / "many.npz").size() == 65'537);
}

TEST_CASE_FIXTURE(in_folder, "an .npy file is mapped: its elements lie in the file's own memory") {
    const tn::array<double> a{{1, 2, 3}, {4, 5, 6}};
    tn::write_npy(folder / "a.npy", a.untyped());
    tn::any_array m = tn::map_npy(folder / "a.npy");
    CHECK(m == a.untyped());
    m.data<double>()[0] = 9; // its own from now on
    CHECK(tn::read_npy(folder / "a.npy") == a.untyped());
    std::string bytes = read_bytes(folder / "a.npy");
    write_bytes(folder / "cut.npy", bytes.substr(0, bytes.size() - 1));
    CHECK(message_of<tn::data_loss_error>([&] { tn::map_npy(folder / "cut.npy"); }) ==
          "map_npy: '" + (folder / "cut.npy") + "': double[2, 3] needs 48 bytes; there are 47");
    bytes.replace(bytes.find("<f8"), 3, ">f8");
    write_bytes(folder / "swapped.npy", bytes);
    CHECK_ERROR(tn::unimplemented_error, "of the other byte order", tn::map_npy(folder / "swapped.npy"));
    CHECK_ERROR(tn::not_found_error, "nothing.npy", tn::map_npy(folder / "nothing.npy"));
    tn::write_npy(folder / "a.npy.gz", a.untyped());
    CHECK_ERROR(tn::unimplemented_error, "a.npy.gz': it is packed; read_npy reads it",
                tn::map_npy(folder / "a.npy.gz"));
    bytes.replace(bytes.find(">f8"), 3, "<f8");
    bytes.replace(bytes.find(", 'shape': (2, 3), }                    "), 40,
                  ", 'shape': (2, 999999999999999999), }    ");
    write_bytes(folder / "huge.npy", bytes);
    CHECK_ERROR(tn::invalid_argument_error, "huge.npy': array: ", tn::map_npy(folder / "huge.npy"));
}
