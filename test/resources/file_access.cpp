#include "tests.hpp"

namespace fs = std::filesystem;

TEST_CASE("where all files are allowed a path is what it is") {
    const tn::file_access all;
    CHECK(all.resolve("read_file", "some/file") == "some/file");
    CHECK(all.resolve("read_file", "/etc/passwd") == "/etc/passwd");
    CHECK_THROWS_AS((void)all.resolve("read_file", ""), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)all.resolve("read_file", "folder/"), tn::invalid_argument_error);
    CHECK_THROWS_AS((void)all.resolve("read_file", std::string("a\0b", 3)), tn::invalid_argument_error);
}

TEST_CASE("where none are allowed none is, and the error says what to do") {
    const tn::file_access none = tn::file_access::none();
    CHECK_ERROR(tn::permission_denied_error, "server_options::files", none.resolve("read_file", "x"));
    CHECK_THROWS_AS((void)none.resolve_folder("list_files", "."), tn::permission_denied_error);
}

TEST_CASE("below a folder: relative paths begin there, and none leads out of it") {
    const temporary_folder outer;
    fs::create_directories(outer / "allowed/inner");
    fs::create_directories(outer / "allowed-too");
    write_bytes(outer / "secret", "s");
    const tn::file_access below = tn::file_access::below(outer / "allowed");
    const std::string root = fs::canonical(outer / "allowed").string();
    CHECK(below.folder() == root);
    CHECK(below.resolve("read_file", "x") == root + "/x");
    CHECK(below.resolve("read_file", "inner/../x") == root + "/x");
    CHECK(below.resolve("read_file", root + "/inner/x") == root + "/inner/x");
    const std::string outside[] = {"../secret",   "inner/../../secret",    outer / "secret",
                                   "/etc/passwd", outer / "allowed-too/x", "/nowhere/x"};
    for (const std::string& out : outside) {
        INFO(out);
        CHECK_ERROR(tn::permission_denied_error, "alone", below.resolve("read_file", out));
        CHECK_THROWS_AS((void)below.resolve("write_file", out, true), tn::permission_denied_error);
    }
    CHECK_THROWS_AS((void)below.resolve_folder("list_files", ".."), tn::permission_denied_error);
    CHECK_THROWS_AS((void)below.resolve("read_file", "absent/x"), tn::not_found_error);
    CHECK_THROWS_AS((void)tn::file_access::below(outer / "absent"), tn::not_found_error);
    CHECK_THROWS_AS((void)tn::file_access::below(outer / "secret"), tn::invalid_argument_error);
}

TEST_CASE("symbolic links do not lead out, on the way or at the end") {
    const temporary_folder outer;
    fs::create_directories(outer / "allowed/inner");
    write_bytes(outer / "secret", "s");
    fs::create_symlink(outer.path(), outer / "allowed/up");
    fs::create_symlink(outer / "secret", outer / "allowed/file");
    fs::create_symlink(outer / "allowed/inner", outer / "allowed/within");
    const tn::file_access below = tn::file_access::below(outer / "allowed");
    for (const char* out : {"up/secret", "file", "up/allowed/../secret"}) {
        INFO(out);
        CHECK_THROWS_AS((void)below.resolve("read_file", out), tn::permission_denied_error);
    }
    CHECK_THROWS_AS((void)below.resolve("write_file", "up/made/x", true), tn::permission_denied_error);
    CHECK_FALSE(fs::exists(outer / "made"));
    CHECK(below.resolve("read_file", "within/x") == below.folder() + "/inner/x");
}

TEST_CASE("missing folders are made where that is asked for, below the folder alone") {
    const temporary_folder outer;
    fs::create_directories(outer / "allowed");
    const tn::file_access below = tn::file_access::below(outer / "allowed");
    CHECK(below.resolve("write_file", "a/b/c", true) == below.folder() + "/a/b/c");
    CHECK(fs::is_directory(outer / "allowed/a/b"));
    CHECK_THROWS_AS((void)below.resolve("write_file", "../made/c", true), tn::permission_denied_error);
    CHECK_THROWS_AS((void)below.resolve("write_file", "n/../../made/c", true), tn::permission_denied_error);
    CHECK_FALSE(fs::exists(outer / "made"));
    const tn::file_access all;
    CHECK(all.resolve("write_file", outer / "free/d/e", true) == fs::canonical(outer.path()).string() + "/free/d/e");
    CHECK(fs::is_directory(outer / "free/d"));
}
