#include <io/sources.hpp>

#include "tests.hpp"

using namespace std::string_literals;
using strings = std::vector<std::string>;
using tn::record_kind;

namespace {

tn::record_format fixed(std::int64_t header, std::int64_t record, std::int64_t footer, bool ignore = false) {
    return {.kind = record_kind::fixed_length,
            .header_bytes = header,
            .record_bytes = record,
            .footer_bytes = footer,
            .ignore_errors = ignore};
}

} // namespace

TEST_CASE("SEMANTICS 35: records of fixed length stand between a header and a footer") {
    CHECK(all_of("abcdef", fixed(0, 2, 0)) == strings{"ab", "cd", "ef"});
    CHECK(all_of("HHabcdF", fixed(2, 2, 1)) == strings{"ab", "cd"});
    CHECK(all_of("HHF", fixed(2, 2, 1)).empty());
    CHECK(all_of("", fixed(0, 3, 0)).empty());
}

TEST_CASE("a file of fixed-length records that is cut off says within what, after its whole records") {
    const auto last = [](const std::string& bytes, const tn::record_format& f) { return all_of(bytes, f).back(); };
    CHECK(last("HHabcdeF", fixed(2, 2, 1)) ==
          "!data_loss read: 'it': the file ends within a record: 1 bytes are left of 2 "
          "(record 3, which begins at byte 6)");
    CHECK(contains(last("H", fixed(2, 2, 1)), "within its header of 2 bytes"));
    CHECK(contains(last("HHF", fixed(2, 4, 2)), "within its footer of 2 bytes"));
    const auto ignoring = source_of("abcde", fixed(0, 2, 0, true));
    CHECK(all_of(*ignoring) == strings{"ab", "cd"});
    CHECK(ignoring->ignored() == 1);
    // A footer that no file has takes no memory.
    CHECK(contains(last("abcd", fixed(0, 2, std::int64_t{1} << 47)), "within its footer"));
}

TEST_CASE("fixed length: random files, buffers and places") {
    for (unsigned seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        const std::size_t header = random() % 20, record = 1 + random() % 20, footer = random() % 20,
                          count = random() % 30;
        std::string bytes(header + count * record + footer, '\0');
        for (char& c : bytes) c = static_cast<char>(random());
        auto file = std::make_unique<test_file>(bytes);
        file->at_once = 1 + random() % 30;
        const auto source = source_of(std::move(file),
                                      fixed(static_cast<std::int64_t>(header), static_cast<std::int64_t>(record),
                                            static_cast<std::int64_t>(footer)),
                                      1 + random() % 40);
        std::vector<tn::record_position> places{source->position()};
        std::string_view r;
        for (std::size_t i = 0; i < count; ++i) {
            REQUIRE(source->next(r));
            CHECK(r == bytes.substr(header + i * record, record));
            CHECK(source->number() == i + 1);
            places.push_back(source->position());
        }
        CHECK_FALSE(source->next(r));
        for (int i = 0; i < 10; ++i) {
            const std::size_t at = random() % places.size();
            source->go_to(places[at]);
            CHECK(source->next(r) == (at < count));
            if (at < count) CHECK(r == bytes.substr(header + at * record, record));
        }
    }
}

TEST_CASE("a whole file is one record, an empty one too") {
    const tn::record_format f{.kind = record_kind::whole_file, .largest_record = 1000};
    const std::string text = std::string(500, 'x') + "\n\0"s + std::string(498, 'y');
    for (const std::size_t buffer : {1U, 999U, 1000U, 5000U}) CHECK(all_of(text, f, buffer) == strings{text});
    CHECK(all_of("", f) == strings{""});
    CHECK(contains(all_of(text + "z", f).at(0),
                   "!resource_exhausted read: 'it': the file has more than largest_record, "
                   "which is 1000 bytes"));
    CHECK(all_of(text + "z", f).size() == 1);
    const auto source = source_of("", f);
    std::string_view r;
    CHECK(source->next(r));
    const tn::record_position behind = source->position();
    CHECK_FALSE(source->next(r));
    source->go_to({});
    CHECK(source->next(r));
    source->go_to(behind);
    CHECK_FALSE(source->next(r));
}
