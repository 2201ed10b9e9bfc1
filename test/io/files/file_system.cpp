#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <io/sources.hpp>

#include "tests.hpp"

using strings = std::vector<std::string>;

namespace {

// Files that a program holds itself: "memory://folder/name".
class memory_files final : public tn::file_system {
public:
    std::unique_ptr<tn::readable_file> open(const std::string& path) override {
        const std::lock_guard lock(guard_);
        const auto at = files_.find(path);
        if (at == files_.end()) throw tn::not_found_error("'" + path + "': no such file");
        return std::make_unique<test_file>(at->second);
    }
    std::unique_ptr<tn::writable_file> create(const std::string& path) override {
        struct written final : tn::writable_file {
            memory_files& to;
            std::string path, bytes;
            written(memory_files& t, std::string p) : to(t), path(std::move(p)) {}
            void write(const void* from, std::size_t n) override { bytes.append(static_cast<const char*>(from), n); }
            void commit() override {
                const std::lock_guard lock(to.guard_);
                to.files_[path] = bytes;
            }
        };
        return std::make_unique<written>(*this, path);
    }
    std::vector<std::string> list(const std::string& folder) override {
        const std::lock_guard lock(guard_);
        const std::string below = folder.ends_with('/') ? folder : folder + '/';
        std::vector<std::string> names;
        for (const auto& [path, bytes] : files_)
            if (path.starts_with(below))
                names.push_back(path.substr(below.size(), path.find('/', below.size()) - below.size()));
        std::sort(names.begin(), names.end());
        names.erase(std::unique(names.begin(), names.end()), names.end());
        return names;
    }
    bool exists(const std::string& path) override { return files_.count(path) != 0 || is_folder(path); }
    bool is_folder(const std::string& path) override { return !list(path).empty(); }

private:
    std::mutex guard_;
    std::map<std::string, std::string> files_;
};

std::string bytes_of(const std::string& path) {
    const auto file = tn::file_system_of(path).open(path);
    std::string bytes(1000, '\0');
    bytes.resize(tn::detail::read_fully(*file, bytes.data(), bytes.size()));
    return bytes;
}
void write_file(const std::string& path, const std::string& bytes) {
    const auto file = tn::file_system_of(path).create(path);
    file->write(bytes.data(), bytes.size());
    file->commit();
}

} // namespace

TEST_CASE_FIXTURE(in_folder, "a local file is written whole or not at all, and read from anywhere") {
    const std::string path = folder / "a";
    {
        const auto file = tn::file_system_of(path).create(path);
        file->write("abc", 3);
    }
    CHECK(folder.file_count() == 0);
    write_file(path, "abcdef");
    CHECK(bytes_of(path) == "abcdef");
    CHECK(bytes_of("file://" + path) == "abcdef");
    const auto file = tn::file_system_of(path).open(path);
    CHECK(file->size() == 6);
    char c[4];
    file->seek(4);
    CHECK(file->read(c, 4) == 2);
    CHECK(file->read(c, 4) == 0);
    file->seek(1);
    CHECK(file->read(c, 2) == 2);
    CHECK(std::string(c, 2) == "bc");
}

TEST_CASE_FIXTURE(in_folder, "what is wrong with a local path is the error that fits") {
    tn::file_system& files = tn::file_system_of("");
    CHECK_THROWS_AS(files.open(folder / "nowhere"), tn::not_found_error);
    CHECK_THROWS_AS(files.open(folder.path().string()), tn::invalid_argument_error);
    CHECK_THROWS_AS(files.create(folder / "no/such/folder"), tn::not_found_error);
    CHECK_THROWS_AS(files.list(folder / "nowhere"), tn::not_found_error);
    CHECK_THROWS_AS(files.open(std::string("/tmp\0/x", 7)), tn::invalid_argument_error);
    write_bytes(folder / "a", "");
    CHECK_THROWS_AS(files.list(folder / "a"), tn::invalid_argument_error);
    CHECK_THROWS_AS(files.open(folder / "a/b"), tn::invalid_argument_error);
}

TEST_CASE_FIXTURE(in_folder, "a pipe has no size, gives what is there, and cannot go back") {
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
    const int in = ::open((folder / "pipe").c_str(), O_RDWR);
    const auto file = tn::file_system_of("").open(folder / "pipe");
    REQUIRE(::write(in, "abc", 3) == 3);
    char c[10];
    CHECK(file->size() == -1);
    CHECK(file->read(c, 10) == 3);
    CHECK_THROWS_AS(file->seek(0), tn::unimplemented_error);
    ::close(in);
    CHECK(file->read(c, 10) == 0);
}

TEST_CASE("a scheme names a file system that a program adds") {
    const auto files = std::make_shared<memory_files>();
    tn::add_file_system("memory://", files);
    write_file("memory://a/b", "text");
    CHECK(bytes_of("memory://a/b") == "text");
    CHECK(tn::has_scheme("memory://a/b"));
    CHECK_FALSE(tn::has_scheme("/a/b"));
    CHECK_FALSE(tn::has_scheme("a://"[0] + std::string("/b")));
    CHECK_THROWS_AS(tn::add_file_system("memory://", files), tn::already_exists_error);
    CHECK_THROWS_AS(tn::add_file_system("file://", files), tn::already_exists_error);
    for (const char* no_scheme : {"", "memory", "memory:/", "://", "1a://", "a b://", "a://b"})
        CHECK_THROWS_AS(tn::add_file_system(no_scheme, files), tn::invalid_argument_error);
    CHECK(contains(message_of<tn::not_found_error>([] { tn::file_system_of("other://a"); }),
                   "no file system has the scheme 'other://'; known are file://, memory://"));
    write_file("memory://a/c1", "");
    write_file("memory://b/c2", "");
    CHECK(tn::matching_files("memory://*/c?") == strings{"memory://a/c1", "memory://b/c2"});
    CHECK(all_of(*tn::open_records("who", "memory://a/b", {})) == strings{"text"});
}

TEST_CASE_FIXTURE(in_folder, "patterns: '*', '?' and sets stand for characters of one name") {
    for (const char* name : {"a1", "a2", "ab", "b1", "a[1]", ".a1"}) write_bytes(folder / name, "");
    std::filesystem::create_directories(folder / "sub/deep");
    for (const char* name : {"sub/a1", "sub/deep/a1", "sub/deep/c"}) write_bytes(folder / name, "");
    const auto matching = [&](const std::string& pattern) {
        strings found = tn::matching_files(folder / pattern);
        for (std::string& f : found) f.erase(0, (folder / "").size());
        return found;
    };
    CHECK(matching("a*") == strings{"a1", "a2", "a[1]", "ab"});
    CHECK(matching("a?") == strings{"a1", "a2", "ab"});
    CHECK(matching("*1") == strings{"a1", "b1"});
    CHECK(matching("[a-b]1") == strings{"a1", "b1"});
    CHECK(matching("[!a]1") == strings{"b1"});
    CHECK(matching("a[0-9a]") == strings{"a1", "a2"});
    CHECK(matching("a\\[1]") == strings{"a[1]"});
    CHECK(matching("a[[]1]") == strings{"a[1]"});
    CHECK(matching("*/a1") == strings{"sub/a1"});
    CHECK(matching("*/d*p/*") == strings{"sub/deep/a1", "sub/deep/c"});
    CHECK(matching(".*") == strings{".a1"});
    CHECK(matching("*").size() == 5); // files only
    CHECK(matching("a1") == strings{"a1"});
    CHECK(matching("a3").empty());
    CHECK(matching("sub") == strings{"sub"}); // who opens it is told that it is a folder
    CHECK(matching("nowhere/*").empty());
    CHECK(matching("a1/*").empty());
    CHECK(matching("*a*a*a*a*a*a*a*a*a*b").empty());
}
