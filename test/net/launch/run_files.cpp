#include <filesystem>
#include <unistd.h>

#include <net/launch/private_file.hpp>
#include <net/launch/run_files.hpp>

#include "tests.hpp"

// Runs that this user has started here, and their tokens.

namespace fs = std::filesystem;
using namespace tenon::net;

namespace {

/// A folder for this user alone, in the place of XDG_RUNTIME_DIR.
class own_folder {
public:
    own_folder() {
        if (const char* const is = std::getenv("XDG_RUNTIME_DIR")) before_ = is;
        fs::permissions(folder_.path(), fs::perms::owner_all);
        ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1);
    }
    ~own_folder() {
        if (before_) ::setenv("XDG_RUNTIME_DIR", before_->c_str(), 1);
        else ::unsetenv("XDG_RUNTIME_DIR");
    }
    const fs::path& path() const { return folder_.path(); }

private:
    temporary_folder folder_;
    std::optional<std::string> before_;
};

run_file run_of(const std::string& name, const std::string& address, int process = ::getpid()) {
    return {name, "token of " + name + " \"\\\xc3\xbc", tn::cluster({{"ps", {address}}, {"worker", {"gpu1:7"}}}),
            process};
}

std::string mistake(const std::string& json) {
    return message_of<tn::error>([&] { (void)read_run_file(json); });
}

} // namespace

TEST_CASE("run files: one is there for this user alone as long as its run") {
    const own_folder place;
    CHECK_FALSE(find_run("127.0.0.1:4001"));
    {
        const noted_run a(run_of("a", "127.0.0.1:4001")), b(run_of("b", "localhost:4002"));
        const fs::path file = place.path() / "tenon" / "a.json";
        CHECK(static_cast<unsigned>(fs::status(file).permissions()) == 0600);
        CHECK(static_cast<unsigned>(fs::status(place.path() / "tenon").permissions()) == 0700);
        REQUIRE(find_run("localhost:4001"));
        CHECK(find_run("localhost:4001")->token == "token of a \"\\\xc3\xbc");
        CHECK(find_run("127.0.0.1:4002")->run == "b");
        CHECK_FALSE(find_run("127.0.0.1:4003"));
        CHECK_FALSE(find_run("nonsense"));

        // One that others can write is not believed, and what is none does not matter.
        fs::permissions(file, fs::perms::group_write, fs::perm_options::add);
        write_private_file((place.path() / "tenon" / "c.json").string(), "{");
        CHECK_FALSE(find_run("localhost:4001"));
        CHECK(find_run("localhost:4002"));
    }
    CHECK_FALSE(find_run("localhost:4002"));
}

TEST_CASE("run files: what a run that was killed has left is passed over, and removed") {
    const own_folder place;
    const int none = 0x3fffffff; // above every process
    write_private_file(folder_of_runs() + "/old.json", to_json(run_of("old", "127.0.0.1:4001", none)));
    CHECK_FALSE(find_run("127.0.0.1:4001"));
    const noted_run next(run_of("next", "127.0.0.1:4001"));
    CHECK_FALSE(fs::exists(folder_of_runs() + "/old.json"));
    CHECK(find_run("127.0.0.1:4001")->run == "next");
}

TEST_CASE("run files: a folder that others can enter is refused") {
    const own_folder place;
    fs::create_directory(place.path() / "tenon");
    fs::permissions(place.path() / "tenon", fs::perms::others_exec, fs::perm_options::add);
    CHECK_ERROR(tn::permission_denied_error, "is no folder of this user alone", folder_of_runs());
    CHECK_FALSE(find_run("127.0.0.1:4001"));

    // And so is XDG_RUNTIME_DIR itself: another place is taken.
    fs::permissions(place.path(), fs::perms::others_exec, fs::perm_options::add);
    CHECK(folder_of_runs() == "/tmp/tenon-" + std::to_string(::geteuid()));
}

TEST_CASE("run files: what is none is refused") {
    const run_file r = run_of("a", "b:1"), same = read_run_file(to_json(r));
    CHECK(same.run == r.run);
    CHECK(same.token == r.token);
    CHECK(same.tasks == r.tasks);
    CHECK(same.process == r.process);
    CHECK(contains(mistake("{"), "run file"));
    CHECK(contains(mistake("[]"), "must be an object, not a list"));
    CHECK(contains(mistake(R"({"run": "a", "token": "", "pid": 1, "cluster": {"ps": ["a:1"]}})"), "\"token\""));
    for (const char* pid : {"0", "-1", "1.5", "\"1\"", "99999999999"})
        CHECK(contains(
            mistake(R"({"run": "a", "token": "b", "cluster": {"ps": ["a:1"]}, "pid": )" + std::string(pid) + "}"),
            "\"pid\": a whole number from 1 to "));
    CHECK(contains(mistake(R"({"run": "a", "token": "b", "pid": 1})"), "has no \"cluster\""));
    CHECK(contains(mistake(R"({"run": "a", "token": "b", "pid": 1, "cluster": {"ps": ["a"]}})"), "has no port"));
    const std::string digits = random_digits(64);
    CHECK(digits.size() == 64);
    CHECK(digits.find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(random_digits(64) != digits);
}
