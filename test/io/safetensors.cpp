#include "tests.hpp"

using namespace std::string_literals;
using tn::any_array, tn::array, tn::extents;

namespace {

std::string file_of(const std::string& header, const std::string& data) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> 8 * i);
    return bytes + header + data;
}

tn::safetensors_file open_bytes(const std::string& bytes) {
    array<std::uint8_t> copy(extents{static_cast<std::int64_t>(bytes.size())});
    for (std::size_t i = 0; i < bytes.size(); ++i)
        copy[static_cast<std::int64_t>(i)] = static_cast<std::uint8_t>(bytes[i]);
    return {std::move(copy), "bytes"};
}

template <class Error> std::string message_for(const std::string& header, const std::string& data) {
    return message_of<Error>([&] { open_bytes(file_of(header, data)); });
}

template <class T> void check_round_trip(const array<T>& a) {
    const temporary_folder folder;
    tn::write_safetensors(folder / "a", {{"x", a}});
    CHECK(tn::read_safetensors(folder / "a").load<T>("x") == a);
}

} // namespace

TEST_CASE("every element type comes back as it was written") {
    check_round_trip(array<float>{{1, 2}, {3, -4.5}});
    check_round_trip(array<double>(1e300));
    check_round_trip(array<tn::half>{1, 65504});
    check_round_trip(array<tn::bfloat16>{1, 3e38F});
    check_round_trip(array<std::int8_t>{-128, 127});
    check_round_trip(array<std::int16_t>{-300});
    check_round_trip(array<std::int32_t>{1 << 30});
    check_round_trip(array<std::int64_t>{std::int64_t{1} << 60});
    check_round_trip(array<std::uint8_t>{255});
    check_round_trip(array<std::uint16_t>{65535});
    check_round_trip(array<std::uint32_t>{4'000'000'000U});
    check_round_trip(array<std::uint64_t>{18'000'000'000'000'000'000U});
    check_round_trip(array<bool>{true, false, true});
    check_round_trip(array<float>(extents{3, 0}));
}

TEST_CASE_FIXTURE(in_folder, "the bytes of a file are those of the format") {
    tn::write_safetensors(folder / "a", {{"b", array<std::uint8_t>{7}}, {"w", array<float>{{1}, {2}}}},
                          {{"step", "3"}});
    const std::string header =
        R"({"__metadata__":{"step":"3"},"w":{"dtype":"F32","shape":[2, 1],"data_offsets":[0,8]},)"
        R"("b":{"dtype":"U8","shape":[1],"data_offsets":[8,9]}})";
    const std::string bytes = read_bytes(folder / "a");
    const std::size_t padded = (header.size() + 8 + 63) / 64 * 64 - 8;
    CHECK(bytes == file_of(header + std::string(padded - header.size(), ' '), "\0\0\x80\x3F\0\0\0\x40\x07"s));
    CHECK(folder.file_count() == 1);
}

TEST_CASE_FIXTURE(in_folder, "names, types and metadata are known without reading elements") {
    const array<float> w(extents{2, 3});
    tn::write_safetensors(folder / "a", {{"layer \"1\"/w\n", w}, {"b", array<std::int64_t>(5)}},
                          {{"k", "v\u00e9"}, {"", ""}});
    const tn::safetensors_file file = tn::read_safetensors(folder / "a");
    REQUIRE(file.tensors().size() == 2);
    CHECK(file.tensors()[0].name == "b");
    CHECK(to_string(file.tensors()[1].type) == "float[2, 3]");
    CHECK(file.find("layer \"1\"/w\n") == &file.tensors()[1]);
    CHECK(file.find("c") == nullptr);
    CHECK(file.metadata() == tn::safetensors_metadata{{"k", "v\u00e9"}, {"", ""}});
    CHECK_ERROR(tn::not_found_error, "has no tensor 'c'; it has 2: 'b', 'layer", file.load("c"));
    CHECK_ERROR(tn::invalid_argument_error, ": 'b' is ", file.load<float>("b"));
    CHECK_ERROR(tn::invalid_argument_error, "asked for as float", file.load<float>("b"));
}

TEST_CASE_FIXTURE(in_folder, "a loaded array keeps the mapped file alive, and writing to it leaves the file alone") {
    tn::write_safetensors(folder / "a", {{"x", array<float>{1, 2}}});
    array<float> x = tn::read_safetensors(folder / "a").load<float>("x");
    std::filesystem::remove(folder / "a");
    CHECK(x == array<float>{1, 2});

    tn::write_safetensors(folder / "a", {{"x", array<float>{3, 4}}});
    x = tn::read_safetensors(folder / "a").load<float>("x");
    x[0] = 9;
    CHECK(tn::read_safetensors(folder / "a").load<float>("x") == array<float>{3, 4});
    tn::write_safetensors(folder / "a", {{"x", array<float>{5, 6}}}); // replaced, not overwritten
    CHECK(x == array<float>{9, 4});
}

TEST_CASE("elements that lie unaligned in a file are copied to where they are aligned") {
    const auto file = open_bytes(file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                         R"("b":{"dtype":"F32","shape":[],"data_offsets":[1,5]}})",
                                         "\x07\0\0\x80\x3F"s));
    CHECK(file.load<float>("b").item() == 1.0F);
}

TEST_CASE("a file without tensors is a file") {
    CHECK(open_bytes(file_of("{}", "")).tensors().empty());
    CHECK(open_bytes(file_of("{}      ", "")).tensors().empty());
    const temporary_folder folder;
    tn::write_safetensors(folder / "a", {});
    CHECK(tn::read_safetensors(folder / "a").tensors().empty());
}

TEST_CASE("a truncated file is data_loss_error, wherever it ends") {
    const std::string good = file_of(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "01234567");
    CHECK(open_bytes(good).tensors().size() == 1);
    for (std::size_t n = 0; n < good.size(); ++n) CHECK_THROWS_AS(open_bytes(good.substr(0, n)), tn::data_loss_error);
    CHECK_THROWS_AS(open_bytes(good + "8"), tn::data_loss_error);
    CHECK_ERROR(tn::data_loss_error, "promises 8 bytes of elements, but there are 7",
                open_bytes(good.substr(0, good.size() - 1)));
    const temporary_folder folder;
    write_bytes(folder / "empty", "");
    CHECK_THROWS_AS(tn::read_safetensors(folder / "empty"), tn::data_loss_error);
}

TEST_CASE("what is no safetensors file is invalid_argument_error") {
    CHECK_THROWS_AS(open_bytes("PK\x03\x04 a zip archive, say, with more in it"), tn::invalid_argument_error);
    CHECK_THROWS_AS(open_bytes(file_of("[1, 2]", "")), tn::invalid_argument_error);
    CHECK_THROWS_AS(open_bytes(std::string(7, '\0') + "\x01{}"), tn::invalid_argument_error);
}

TEST_CASE("places that overlap, leave holes or have the wrong length are refused") {
    const auto two = [](const char* a, const char* b) {
        return R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)"s + a +
               R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" + b + "}}";
    };
    CHECK(open_bytes(file_of(two("[2,4]", "[0,2]"), "abcd")).load<std::uint8_t>("a") == array<std::uint8_t>{'c', 'd'});
    CHECK(contains(message_for<tn::data_loss_error>(two("[0,2]", "[1,3]"), "abc"),
                   "'b', uint8[2] at bytes 1 to 3 overlaps"));
    CHECK(contains(message_for<tn::data_loss_error>(two("[0,2]", "[3,5]"), "abcde"), "leaves a hole"));
    CHECK(contains(message_for<tn::data_loss_error>(two("[1,3]", "[3,5]"), "abcde"), "leaves a hole"));
    CHECK(contains(message_for<tn::data_loss_error>(two("[0,2]", "[2,5]"), "abcde"), "should take 2 bytes"));
    CHECK(contains(message_for<tn::data_loss_error>(two("[2,0]", "[2,4]"), "abcd"), "should take 2 bytes"));
    CHECK(contains(message_for<tn::data_loss_error>(two("[0]", "[2,4]"), "abcd"), "1 data_offsets instead of 2"));
    CHECK(contains(message_for<tn::data_loss_error>(two("[0,2,4]", "[2,4]"), "abcd"), "3 data_offsets"));
    const std::string huge = R"({"a":{"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,0]}})";
    CHECK(contains(message_for<tn::data_loss_error>(huge, ""), "2^62"));
}

TEST_CASE("a header of another form is refused with what is wrong in it") {
    const auto entry = [](const std::string& inside) { return "{\"x\":{" + inside + "}}"; };
    const std::string rest = R"("shape":[1],"data_offsets":[0,1])", all = "\"dtype\":\"U8\"," + rest;
    using loss = tn::data_loss_error;
    CHECK(open_bytes(file_of(entry(all), "a")).tensors().size() == 1);
    CHECK(contains(message_for<loss>(entry(rest), "a"), "lacks dtype"));
    CHECK(contains(message_for<loss>(entry(all + ",\"dtype\":\"U8\""), "a"), "'dtype' comes twice in 'x'"));
    CHECK(contains(message_for<loss>(entry(all + ",\"more\":1"), "a"), "unknown key 'more'"));
    CHECK(contains(message_for<loss>("{\"x\":{" + all + "},\"x\":{" + all + "}}", "a"), "the name 'x' comes twice"));
    CHECK(contains(message_for<loss>(R"({"__metadata__":{"a":"1","a":"2"}})", ""), "the metadata 'a' comes twice"));
    CHECK(contains(message_for<loss>(R"({"__metadata__":{"a":1}})", ""), "the number 1"));
    CHECK(contains(message_for<loss>(R"({"x":3})", ""), "the number 3"));
    CHECK(
        contains(message_for<loss>(entry(R"("dtype":"U8","shape":[-1],"data_offsets":[0,1])"), "a"), "the number -1"));
    CHECK(contains(message_for<loss>(entry(R"("dtype":"U8","shape":[1.5],"data_offsets":[0,1])"), "a"),
                   "the number 1.5"));
    CHECK(contains(message_for<loss>(entry(R"("dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,1])"), "a"),
                   "9223372036854775808"));
    CHECK(contains(message_for<loss>(entry(R"("dtype":"U8","shape":[[1]],"data_offsets":[0,1])"), "a"),
                   "a list where none belongs"));
    CHECK(contains(message_for<loss>(entry(R"("dtype":null)"), "a"), "a null"));
    CHECK(contains(message_for<loss>("{\"x\":{", ""), "no JSON at byte"));
    CHECK(contains(message_for<loss>("{} {}", ""), "no JSON at byte"));
    CHECK(contains(message_for<loss>("{\"\xFF\":{}}", ""), "no JSON at byte"));
    CHECK(contains(message_for<loss>("{\"x\":1e999}", ""), "the number 1e999 at byte 10 is out of range"));
    CHECK(contains(message_for<loss>("{\"a\":" + std::string(1'000'000, '['), ""), "a list where none belongs"));
    std::string deep;
    for (int i = 0; i < 100'000; ++i) deep += "{\"a\":";
    CHECK(contains(message_for<loss>(deep, ""), "unknown key 'a'"));
}

TEST_CASE("element types and ranks that Tenon lacks are unimplemented_error") {
    CHECK(contains(
        message_for<tn::unimplemented_error>(R"({"x":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}})", "a"),
        "'x' has elements of type F8_E4M3"));
    CHECK_THROWS_AS(
        open_bytes(file_of(R"({"x":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})", "a")),
        tn::unimplemented_error);
}

TEST_CASE("a bool that is neither 0 nor 1 is data_loss_error when it is loaded") {
    const auto file = open_bytes(file_of(R"({"x":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", "\x01\x02"));
    CHECK_THROWS_AS(file.load("x"), tn::data_loss_error);
}

TEST_CASE_FIXTURE(in_folder, "what the format cannot hold is not written, and nothing stays behind") {
    const array<float> x{1};
    const auto try_with = [&](const char* name, const any_array& a, tn::safetensors_metadata metadata = {}) {
        return message_of<tn::invalid_argument_error>([&] {
            tn::write_safetensors(folder / "a", {{name, a}}, metadata);
        });
    };
    CHECK(contains(try_with("x", array<std::string>{"a"}), "'x' has elements of type string"));
    CHECK(contains(try_with("__metadata__", x), "the format's own"));
    CHECK(contains(try_with("\xFF", x), "not UTF-8"));
    CHECK(contains(try_with("x", x, {{"k", "\xC0"}}), "not UTF-8"));
    CHECK_ERROR(tn::invalid_argument_error, "given twice", tn::write_safetensors(folder / "a", {{"x", x}, {"x", x}}));
    CHECK_THROWS_AS(tn::write_safetensors(folder / "no/folder", {{"x", x}}), tn::not_found_error);
    CHECK(folder.file_count() == 0);
    CHECK_THROWS_AS(tn::read_safetensors(folder / "nowhere"), tn::not_found_error);
    CHECK_THROWS_AS(tn::read_safetensors(folder.path().string()), tn::invalid_argument_error);
}

TEST_CASE("the Python package safetensors reads what is written, and writes what is read") {
    if (std::system("python3 -c 'import numpy, safetensors.numpy' 2>/dev/null") != 0) {
        MESSAGE("skipped: python3 with numpy and safetensors is not installed");
        return;
    }
    const temporary_folder folder;
    const array<float> w{{1.5F, -2}, {3, 4}};
    const array<bool> flags{true, false, true};
    tn::write_safetensors(
        folder / "ours",
        {{"flags", flags}, {"w", w}, {"n", array<std::int64_t>(7)}, {"none", array<tn::half>(extents{2, 0})}},
        {{"step", "12"}});
    write_bytes(folder / "check.py", R"(
import sys, numpy, safetensors, safetensors.numpy as st
with safetensors.safe_open(sys.argv[1], "numpy") as f:
    assert f.metadata() == {"step": "12"}, f.metadata()
t = st.load_file(sys.argv[1])
assert sorted(t) == ["flags", "n", "none", "w"], t
assert t["w"].dtype == numpy.float32 and t["w"].tolist() == [[1.5, -2], [3, 4]]
assert t["flags"].tolist() == [True, False, True]
assert t["n"].shape == () and t["n"] == 7
assert t["none"].dtype == numpy.float16 and t["none"].shape == (2, 0)
a = numpy.arange(6, dtype=numpy.uint16).reshape(2, 3)
st.save_file({"a": a, "b": numpy.array(2.5)}, sys.argv[2], {"k": "v"})
)");
    REQUIRE(std::system(("python3 '" + folder / "check.py" + "' '" + folder / "ours" + "' '" + folder / "theirs" + "'")
                            .c_str()) == 0);
    const auto file = tn::read_safetensors(folder / "theirs");
    CHECK(file.load("a") == array<std::uint16_t>{{0, 1, 2}, {3, 4, 5}});
    CHECK(file.load("b") == array<double>(2.5));
    CHECK(file.metadata() == tn::safetensors_metadata{{"k", "v"}});
}
