#include <tenon/data/tar.hpp>

#include "tests.hpp"

namespace {

std::string octal(std::uint64_t v, int digits) {
    std::string s(static_cast<std::size_t>(digits), '0');
    for (int i = digits; i-- > 0; v >>= 3) s[static_cast<std::size_t>(i)] = static_cast<char>('0' + (v & 7));
    return s;
}
// A header and what follows it (POSIX.1-1988, ustar).
std::string entry(const std::string& name, const std::string& bytes, char kind = '0') {
    std::string h(512, '\0');
    h.replace(0, name.size(), name);
    h.replace(124, 11, octal(bytes.size(), 11));
    h.replace(148, 8, "        ");
    h[156] = kind;
    h.replace(257, 8, std::string("ustar\0", 6) + "00");
    unsigned sum = 0;
    for (const char c : h) sum += static_cast<unsigned char>(c);
    h.replace(148, 7, octal(sum, 6) + '\0');
    return h + bytes + std::string((512 - bytes.size() % 512) % 512, '\0');
}
// A pax record, whose length counts itself.
std::string pax(const std::string& text) {
    std::size_t length = text.size() + 2;
    while (std::to_string(length).size() + text.size() + 2 != length)
        length = std::to_string(length).size() + text.size() + 2;
    return std::to_string(length) + " " + text + "\n";
}
const std::string end(1024, '\0');

using sample = std::tuple<std::string, std::string, std::string>;
std::vector<sample> all(const auto& set) {
    std::vector<sample> list;
    for (const auto& [key, a, b] : set) list.push_back({key, a, b});
    return list;
}

} // namespace

TEST_CASE_FIXTURE(in_folder, "consecutive files of one name are a sample, archive after archive") {
    write_bytes(folder / "a.tar", entry("x/", "", '5') + entry("x/1.jpg", "one") + entry("x/1.cls", "1") +
                                      entry("x/1.txt", "more") + entry("x/2.cls", "2") +
                                      entry("x/2.jpg", std::string(700, 'z')) + end);
    const std::string long_name = "deep/" + std::string(150, 'n');
    write_bytes(folder / "b.tar", entry("././@LongLink", long_name + ".jpg" + '\0', 'L') + entry("cut off", "three") +
                                      entry("pax", pax("path=" + long_name + ".cls"), 'x') + entry("other", "3") + end);
    const auto set = tn::data::tar<"jpg", "cls">({folder / "a.tar", folder / "b.tar"});
    const std::vector<sample> read = all(set);
    REQUIRE(read.size() == 3);
    CHECK(read[0] == sample{"x/1", "one", "1"});
    CHECK(read[1] == sample{"x/2", std::string(700, 'z'), "2"});
    CHECK(read[2] == sample{long_name, "three", "3"});
    CHECK(all(set) == read); // it is gone through again
    CHECK(all(set.skip(1).take(1)) == std::vector<sample>{read[1]});
}

TEST_CASE_FIXTURE(in_folder, "a sample that lacks a file is an error that names both, or is left out") {
    write_bytes(folder / "a.tar", entry("1.jpg", "a") + entry("2.jpg", "b") + entry("2.cls", "c") + end);
    CHECK_ERROR(tn::not_found_error, "sample \"1\" has no file .cls",
                all(tn::data::tar<"jpg", "cls">({folder / "a.tar"})));
    CHECK(all(tn::data::tar<"jpg", "cls">(folder / "a.tar", {.skip_incomplete = true})) ==
          std::vector<sample>{{"2", "b", "c"}});
}

TEST_CASE_FIXTURE(in_folder,
                  "as in WebDataset, what has no key and extension is of no sample, and case is none of an extension") {
    write_bytes(folder / "a.tar", entry("README", "x") + entry("a/", "", '\0') + entry("a/._1.jpg", "mac") +
                                      entry("a/1.JPG", "one") + entry("a/LICENSE", "x") + entry("a/1.cls", "1") +
                                      entry("a/2.jpg", "two") + entry("a/2.CLS", "2") + entry("__meta__", "{}") + end);
    const auto set = tn::data::tar<"jpg", "cls">(folder / "a.tar");
    CHECK(all(set) == std::vector<sample>{{"a/1", "one", "1"}, {"a/2", "two", "2"}});
    // Who names both cases has both.
    write_bytes(folder / "b.tar", entry("1.JPG", "large") + entry("1.jpg", "small") + end);
    CHECK(all(tn::data::tar<"jpg", "JPG">(folder / "b.tar")) == std::vector<sample>{{"1", "small", "large"}});
}

TEST_CASE_FIXTURE(in_folder, "a sample that has a file twice is an error, and none of its files is lost in silence") {
    write_bytes(folder / "a.tar", entry("1.jpg", "a") + entry("1.cls", "1") + entry("1.jpg", "b") +
                                      entry("2.jpg", "c") + entry("2.cls", "2") + end);
    auto it = tn::data::tar<"jpg", "cls">(folder / "a.tar").iterate();
    CHECK_ERROR(tn::invalid_argument_error, "sample \"1\" has two files .jpg", (void)it.next());
    CHECK(std::get<0>(it.next().value()) == "2");
    CHECK(!it.next());
}

TEST_CASE_FIXTURE(in_folder, "the records of a pax header may be large attributes") {
    write_bytes(folder / "a.tar",
                entry("p", pax("SCHILY.xattr.user.note=" + std::string(100'000, 'v')) + pax("path=1.jpg"), 'x') +
                    entry("x", "one") + entry("1.cls", "1") + end);
    CHECK(all(tn::data::tar<"jpg", "cls">(folder / "a.tar")) == std::vector<sample>{{"1", "one", "1"}});
}

TEST_CASE("what is wrong in an archive comes behind what is whole, and before what can be read behind it") {
    const temporary_folder folder;
    const auto seen = [&](const std::string& bytes, const tn::data::tar_options& o = {}) {
        write_bytes(folder / "a.tar", bytes);
        write_bytes(folder / "b.tar", entry("9.jpg", "z") + entry("9.cls", "9") + end);
        auto it = tn::data::tar<"jpg", "cls">({folder / "a.tar", folder / "b.tar"}, o).iterate();
        std::string all;
        for (;;) {
            try {
                const auto x = it.next();
                if (!x) return all;
                all += std::get<0>(*x) + std::get<1>(*x) + " ";
            } catch (const tn::data_loss_error&) {
                all += "damage ";
            } catch (const tn::resource_exhausted_error&) {
                all += "large ";
            } catch (const tn::unimplemented_error&) {
                all += "sparse ";
            } catch (const tn::not_found_error&) {
                all += "missing ";
            }
        }
    };
    const std::string one = entry("1.jpg", "a") + entry("1.cls", "1"), two = entry("2.jpg", "b") + entry("2.cls", "2");
    CHECK(seen(one + two + end) == "1a 2b 9z ");
    CHECK(seen(one + two) == "1a 2b damage 9z ");
    CHECK(seen(one + two.substr(0, 700)) == "1a damage 9z ");
    CHECK(seen("") == "damage 9z ");
    CHECK(seen(one + entry("x.bin", std::string(200'000, 'x')) + two + end, {.limits = {.largest_file = 1000}}) ==
          "1a large 2b 9z ");
    // Files without their holes: GNU's header, which may go on in further blocks, and the records of pax.
    std::string holes = entry("x.bin", "abc", 'S');
    CHECK(seen(one + holes + two + end) == "1a sparse 2b 9z ");
    CHECK(seen(one + entry("p", pax("GNU.sparse.major=1") + pax("GNU.sparse.name=x.bin"), 'x') +
               entry("GNUSparseFile.1/x.bin", "1\n") + two + end) == "1a sparse 2b 9z ");
}

TEST_CASE_FIXTURE(in_folder, "an archive that is cut off or damaged says where") {
    const std::string good = entry("1.jpg", std::string(600, 'a')) + end;
    const auto said = [&](const std::string& bytes, const tn::tar_limits& o = {}) {
        write_bytes(folder / "a.tar", bytes);
        return message_of<tn::error>([&] {
            tn::tar_reader r(folder / "a.tar", o);
            for (tn::tar_entry e; r.next(e);) {
            }
        });
    };
    CHECK(said(good) == "nothing was thrown");
    CHECK(contains(said(good.substr(0, 800)), "1.jpg has 600 bytes; 288 are there"));
    CHECK(contains(said("no archive"), "no tar archive"));
    std::string other = entry("0.jpg", "") + good;
    other[512] = '7';
    CHECK(contains(said(other), "the checksum of the header at byte 512 does not fit"));
    CHECK(contains(said(good, {.largest_file = 100}), "1.jpg has 600 bytes; 100 are allowed"));
}
