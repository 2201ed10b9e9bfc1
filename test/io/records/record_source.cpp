#include <unistd.h>

#include <io/sources.hpp>

#include "tests.hpp"

using namespace std::string_literals;
using strings = std::vector<std::string>;
using tn::record_kind;

TEST_CASE("a local file is opened by its path; what is wrong with it is said with who asked for it") {
    const temporary_folder folder;
    write_bytes(folder / "a.txt", "x\ny\n");
    CHECK(all_of(*tn::open_records("text_lines", folder / "a.txt", {})) == strings{"x", "y"});
    CHECK(all_of(*tn::open_records("text_lines", "file://" + (folder / "a.txt"), {})) == strings{"x", "y"});
    const std::string missing = message_of<tn::not_found_error>([&] { tn::open_records("who", folder / "b", {}); });
    CHECK(missing.starts_with("who: '" + (folder / "b") + "': No such file or directory; check the path"));
    CHECK_ERROR(tn::invalid_argument_error, "a file is needed", tn::open_records("who", folder / "", {}));
    CHECK_THROWS_AS(tn::open_records("who", "nosuch://a", {}), tn::not_found_error);
    if (::geteuid() != 0) { // to whom all is permitted
        std::filesystem::permissions(folder / "a.txt", std::filesystem::perms::none);
        CHECK_THROWS_AS(tn::open_records("who", folder / "a.txt", {}), tn::permission_denied_error);
    }
}

TEST_CASE_FIXTURE(in_folder, "a file that loses its name while it is read is read to its end") {
    write_bytes(folder / "a.txt", std::string(1 << 20, '\n') + "end");
    const auto source = tn::open_records("who", folder / "a.txt", {});
    std::string_view r;
    CHECK(source->next(r));
    std::filesystem::remove(folder / "a.txt");
    const strings rest = all_of(*source);
    CHECK(rest.size() == 1 << 20);
    CHECK(rest.back() == "end");
}

TEST_CASE_FIXTURE(in_folder,
                  "a file that becomes shorter while it is read is damaged there: what is left of a record is none") {
    std::string lines;
    for (int i = 0; i < 200'000; ++i) lines += std::to_string(i) + '\n';
    write_bytes(folder / "a", lines);
    const auto records = tn::open_records("read", folder / "a", {});
    std::string_view r;
    REQUIRE(records->next(r));
    const std::size_t cut = lines.find("\n150000\n") + 4; // "150" is there
    std::filesystem::resize_file(folder / "a", cut);
    int next = 1;
    const auto rest = [&] {
        while (records->next(r)) next += r == std::to_string(next);
    };
    CHECK_ERROR(tn::data_loss_error,
                "became shorter while it was read: it had " + std::to_string(lines.size()) +
                    " bytes, and ends at byte " + std::to_string(cut),
                rest());
    CHECK(next == 150'000);
    CHECK(!records->next(r));
}

TEST_CASE("a format that makes no sense is refused, and what is wrong is named") {
    const auto said = [](tn::record_format f) {
        return message_of<tn::invalid_argument_error>([&] { tn::check_format("who", f); });
    };
    CHECK(said({.skip_header_lines = -1}) == "who: skip_header_lines is -1; it must be 0 or more");
    CHECK(contains(said({.kind = record_kind::fixed_length}), "record_bytes is 0"));
    CHECK(contains(said({.kind = record_kind::fixed_length, .header_bytes = -2, .record_bytes = 1}),
                   "header_bytes is -2"));
    CHECK(contains(said({.kind = record_kind::fixed_length, .record_bytes = 11, .largest_record = 10}),
                   "more than largest_record"));
    CHECK(contains(said({.kind = record_kind::tfrecord, .skip_header_lines = 1}), "of text only"));
    CHECK(contains(said({.record_bytes = 1}), "fixed length only"));
    CHECK(contains(said({.largest_record = 0}), "1 byte or more"));
    CHECK_NOTHROW(tn::check_format("who", {.kind = record_kind::fixed_length, .record_bytes = 1}));
}
