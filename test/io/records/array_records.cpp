#include <string_view>

#include <tenon/io/numpy/npy.hpp>
#include <io/sources.hpp>

#include "tests.hpp"

using namespace std::string_literals;
using tn::record_kind;
using strings = std::vector<std::string>;

namespace {

const tn::record_format npy{.kind = record_kind::npy};

// A file of a version, with this header; Python's way to write it.
std::string npy_of(const std::string& header, const std::string& elements, char version = 1) {
    const auto size = static_cast<char>(header.size());
    return "\x93NUMPY"s + version + '\0' + size + '\0' + (version > 1 ? "\0\0"s : ""s) + header + elements;
}
std::string header_of(const std::string& type, const std::string& shape, const std::string& fortran = "False") {
    return "{'descr': '" + type + "', 'fortran_order': " + fortran + ", 'shape': (" + shape + "), }";
}

// The records of a file of two, abcdef and ABCDEF; whatever is read at once, from the beginning and from a place.
void check_two_records(const std::string& file, const tn::record_format& f) {
    for (const std::size_t buffer : {1U, 13U, 1000U}) {
        CHECK(all_of(file, f, buffer) == strings{"abcdef", "ABCDEF"});
        const auto source = source_of(file, f, buffer);
        std::string_view r;
        source->go_to({file.size() - 6, 1, 0});
        CHECK(source->next(r));
        CHECK(r == "ABCDEF");
        CHECK(source->number() == 2);
        CHECK_FALSE(source->next(r));
        source->go_to({});
        CHECK(source->next(r));
        CHECK(r == "abcdef");
    }
}

} // namespace

TEST_CASE("SEMANTICS 35: an IDX file's records are its elements along dimension 0, as they are stored") {
    const tn::record_format idx{.kind = record_kind::idx};
    const std::string head = "\0\0\x0B\x02\0\0\0\x02\0\0\0\x03"s;
    check_two_records(head + "abcdefABCDEF", idx);
    CHECK(contains(all_of(head + "abcdefABCDE", idx).at(1),
                   "!data_loss read: 'it': the file ends within a record: 5 bytes "
                   "are left of 6, and the header promises 2 records (record 2"));
    CHECK(contains(all_of(head + "abcdefABCDEFx", idx).at(2), "more bytes follow"));
    CHECK(contains(all_of("PK\3\4abcd", idx).at(0), "!invalid_argument read: 'it': not an IDX file"));
    CHECK(all_of("PK\3\4abcd", idx).size() == 1);
    CHECK(contains(all_of("\0\0\x0B"s, idx).at(0), "!data_loss"));
    CHECK(contains(all_of("\0\0\x08\0a"s, idx).at(0), "a scalar"));
    CHECK(
        contains(all_of("\0\0\x0E\x03\0\0\0\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s, idx).at(0), "!resource_exhausted"));
    CHECK(contains(all_of("\0\0\x08\x01"s, idx).at(0), "within its header"));
}

TEST_CASE("SEMANTICS 35: an .npy file's records are its elements along dimension 0, as they are stored") {
    for (const char version : {'\1', '\2', '\3'})
        check_two_records(npy_of(header_of(">i2", "2, 3"), "abcdefABCDEF", version), npy);
    CHECK(all_of(npy_of(header_of("|u1", "3,"), "abc"), npy) == strings{"a", "b", "c"});
    CHECK(all_of(npy_of(header_of("|u1", "0, 4"), ""), npy).empty());
    CHECK(all_of(npy_of(header_of("|u1", "2, 0"), ""), npy) == strings{"", ""});
}

TEST_CASE("SEMANTICS 35: .npy files that write_npy made, packed or not, give the rows that are in memory") {
    const temporary_folder folder;
    for (unsigned seed = 1; seed <= 20; ++seed) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        tn::extents sizes;
        const int rank = 1 + static_cast<int>(random() % 4);
        for (int d = 0; d < rank; ++d) sizes.push_back(static_cast<std::int64_t>(1 + random() % 6));
        tn::any_array a(tn::element_type::int32, sizes);
        for (std::int64_t i = 0; i < a.elements(); ++i) a.data<std::int32_t>()[i] = static_cast<std::int32_t>(random());
        const std::string path = folder / (random() % 2 ? "a.npy.gz" : "a.npy");
        tn::write_npy(path, a);
        strings rows;
        const std::size_t bytes = a.bytes() / static_cast<std::size_t>(sizes[0].size);
        for (std::size_t i = 0; i < a.bytes(); i += bytes)
            rows.emplace_back(static_cast<const char*>(a.data()) + i, bytes);
        CHECK(all_of(*tn::open_records("read", path, npy)) == rows);
    }
}

TEST_CASE("SEMANTICS 35: an .npy file by columns is refused, with what to do; of one dimension it is as one by rows") {
    const strings said = all_of(npy_of(header_of("<i2", "2, 3", "True"), "abcdefABCDEF"), npy);
    REQUIRE(said.size() == 1);
    CHECK(contains(said[0], "!unimplemented read: 'it': the elements, int16[2, 3], are stored by columns"));
    CHECK(contains(said[0], "write them by rows"));
    CHECK(all_of(npy_of(header_of("<i2", "2,", "True"), "abcd"), npy) == strings{"ab", "cd"});
}

TEST_CASE("SEMANTICS 35: an .npy file that is cut off, too long, or lies, is refused; what came before is given") {
    const std::string whole = npy_of(header_of("<i2", "2, 3"), "abcdefABCDEF");
    for (std::size_t size = 0; size < whole.size(); ++size) {
        CAPTURE(size);
        const strings got = all_of(whole.substr(0, size), npy, 7);
        REQUIRE(got.size() == (size < whole.size() - 6 ? 1 : 2));
        CHECK(contains(got.back(), "!data_loss read: 'it': the file ends within "));
        if (got.size() == 2) CHECK(got[0] == "abcdef");
    }
    CHECK(contains(all_of(whole.substr(0, whole.size() - 1), npy).at(1),
                   "within a record: 5 bytes are left of 6, and the header promises 2 records (record 2"));
    CHECK(contains(all_of(whole + "x", npy).at(2), "more bytes follow"));
    const auto only = [](const std::string& bytes) {
        const strings all = all_of(bytes, npy);
        REQUIRE(all.size() == 1);
        return all[0];
    };
    CHECK(contains(only("PK\3\4abcd"), "!invalid_argument read: 'it': no .npy file"));
    CHECK(contains(only(npy_of(header_of("<i2", "2,"), "abcd", 4)), "!unimplemented read: 'it': version 4"));
    CHECK(contains(only(npy_of(header_of("|u1", ""), "a")), "a scalar"));
    CHECK(contains(only(npy_of(header_of("<U2", "2,"), "abcdabcd")), "!unimplemented"));
    CHECK(contains(only(npy_of(header_of("<i2", "x"), "")), "damaged at its character"));
    CHECK(contains(only(npy_of(header_of("<f8", "1, 4000000000000000000"), "")), "!resource_exhausted"));
    CHECK(contains(only(npy_of(header_of("<f8", "4000000000000000000, 3"), "")), "!data_loss"));
    CHECK(contains(only("\x93NUMPY\2\0\xFF\xFF\xFF\xFF"s), "too long"));
}
