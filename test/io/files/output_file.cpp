#include <sys/stat.h>

#include <tenon/io/files/file.hpp>

#include "child_program.hpp"
#include "tests.hpp"

// Programs that are killed while they write.

namespace {

constexpr const char* child_case = "the program that writes a file until it is killed";

void save(const std::string& path, float value) {
    tn::write_safetensors(path, {{"v", tn::array<float>({value}).untyped()}});
}
float saved(const std::string& path) { return tn::read_safetensors(path).load<float>("v")(0); }

} // namespace

TEST_CASE("the program that writes a file until it is killed" * doctest::skip()) {
    const char* const path = child_program::task();
    if (!path) return; // nobody asks for it
    tn::detail::output_file file("test", path);
    file.write("half", 4);
    child_program::tell();
    for (;;) ::pause();
}

TEST_CASE_FIXTURE(in_folder, "what a killed program had begun to write goes when the path is written again") {
    const std::string path = folder / "w.safetensors";
    save(path, 1);
    for (int killed = 0; killed < 3; ++killed) {
        // Several at the same time, of which one is killed while the others write on.
        child_program first(child_case, path), second(child_case, path), third(child_case, path),
            other(child_case, path + "2");
        REQUIRE((first.told() && second.told() && third.told() && other.told()));
        child_program* const all[] = {&first, &second, &third};
        CHECK(folder.file_count() == 5);
        all[killed]->kill();
        CHECK(folder.file_count() == 5);
        CHECK(saved(path) == 1);
        save(path, 1);
        CHECK(folder.file_count() == 4); // who still writes is left alone, and so is another path's file
        for (child_program* const c : all)
            if (c != all[killed]) c->kill();
        other.kill();
        save(path, 1);
        save(path + "2", 2);
        CHECK(folder.file_count() == 2);
        std::filesystem::remove(path + "2");
    }
}

TEST_CASE_FIXTURE(in_folder, "writers of one path, in threads of one process, do not disturb each other") {
    const std::string path = folder / "w.safetensors";
    save(path, 0);
    std::vector<std::thread> threads;
    std::atomic<int> failed{0};
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 100; ++i) try {
                    save(path, static_cast<float>(t));
                    if (!(saved(path) < 4)) ++failed;
                } catch (const tn::error& e) {
                    if (failed++ == 0) MESSAGE(e.what());
                }
        });
    for (std::thread& t : threads) t.join();
    CHECK(failed == 0);
    CHECK(folder.file_count() == 1);
}

TEST_CASE_FIXTURE(in_folder,
                  "a file that was removed while it was written, on a file system without locks, is never another's") {
    const std::string path = folder / "a";
    tn::detail::output_file file("test", path);
    file.write("mine", 4);
    std::filesystem::remove(path + ".partial-0");
    write_bytes(path + ".partial-0", "theirs");
    CHECK_ERROR(tn::aborted_error, "was removed by another program", file.commit());
    CHECK(!std::filesystem::exists(path));
    CHECK(read_bytes(path + ".partial-0") == "theirs");
}

TEST_CASE_FIXTURE(in_folder, "what has the name of an unfinished file and is none stays") {
    const std::string path = folder / "a", aside = folder / "b";
    std::filesystem::create_directory(path + ".partial-0");
    std::filesystem::create_symlink(aside, path + ".partial-1");
    REQUIRE(::mkfifo((path + ".partial-2").c_str(), 0600) == 0);
    write_bytes(path + ".partial-x", "mine");
    write_bytes(aside, "mine, too");
    save(path, 5);
    CHECK(saved(path) == 5);
    CHECK(folder.file_count() == 6);
    CHECK(read_bytes(aside) == "mine, too");
}
