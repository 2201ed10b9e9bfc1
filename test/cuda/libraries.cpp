// Libraries that are opened when they are needed, with files that are there, are not, or are something else.

#include <dlfcn.h>

#include <cuda/device/library.hpp>

#include "tests.hpp"

using tenon::unavailable_error;
using tenon::cuda::library;

namespace {

const std::string built = TENON_TEST_LIBRARIES; // the folder with folders of libraries

std::string why_not(library& l, const char* symbol = "tenon_test_answer") {
    return message_of<unavailable_error>([&] { (void)l.find(symbol); });
}
// What the loader itself says of a file.
std::string words_of_loader(const std::string& file) {
    REQUIRE(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr);
    return dlerror();
}

} // namespace

TEST_CASE(
    "a library that is nowhere is an unavailable_error with each file that was tried, and why it was not opened") {
    const temporary_folder empty;
    library l("Some library", {"libtenon-absent.so.7", "libtenon-absent.so"}, empty.path().string());
    const std::string why = why_not(l);
    INFO(why);
    CHECK(contains(why, "Some library could not be loaded: "));
    for (const std::string& file : {std::string("libtenon-absent.so.7"), std::string("libtenon-absent.so"),
                                    empty / "libtenon-absent.so.7", empty / "libtenon-absent.so"})
        CHECK(contains(why, words_of_loader(file)));
    CHECK(contains(why, "LD_LIBRARY_PATH"));
    CHECK(why_not(l) == why); // each time
    library nowhere("Some library", {"libtenon-absent.so.7"});
    CHECK(contains(why_not(nowhere), words_of_loader("libtenon-absent.so.7")));
    CHECK_FALSE(contains(why_not(nowhere), "/libtenon-absent.so.7"));
}

TEST_CASE_FIXTURE(in_folder, "a file that is no library is passed over, and the message says so") {
    const std::string text = folder / "libtenon-text.so", empty = folder / "libtenon-empty.so";
    write_bytes(text, std::string(4096, 'x'));
    write_bytes(empty, "");
    library l("Some library", {"libtenon-text.so", "libtenon-empty.so"}, folder.path().string());
    const std::string why = why_not(l);
    INFO(why);
    for (const std::string& file : {text, empty}) CHECK(contains(why, words_of_loader(file)));
    // What can be opened after it is.
    library found("Some library", {text.c_str(), "libtenon_test_answer.so"}, built + "/first");
    CHECK(found.get<int()>("tenon_test_answer")() == 1);
}

TEST_CASE("of a library that needs a missing one the message names both") {
    library l("Some library", {"libtenon_test_needing.so"}, built + "/needing");
    const std::string why = why_not(l);
    INFO(why);
    CHECK(contains(why, built + "/needing/libtenon_test_needing.so: "));
    CHECK(contains(why, words_of_loader(built + "/needing/libtenon_test_needing.so")));
    CHECK(contains(why, "libtenon_test_needed.so"));
}

TEST_CASE("what a library needs is found beside it, where the loader does not look") {
    library l("Some library", {"libtenon_test_accompanied.so"}, built + "/beside", "libtenon_test_companion.so");
    CHECK(l.get<int()>("tenon_test_passed_on")() == 5);
}

TEST_CASE("a library without a function is too old, and is named; its other functions can be had") {
    library l("Some library", {"libtenon_test_answer.so"}, built + "/first");
    const std::string why = why_not(l, "tenon_test_question");
    INFO(why);
    CHECK(contains(why, "Some library has no function tenon_test_question: "));
    CHECK(contains(why, "libtenon_test_answer.so is too old; install a newer one"));
    CHECK(l.get<int()>("tenon_test_answer")() == 1);
}

TEST_CASE("what the loader finds goes before what is in the folder") {
    // A library that is loaded the loader finds by its name alone.
    REQUIRE(dlopen((built + "/second/libtenon_test_other.so").c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr);
    library l("Some library", {"libtenon_test_other.so"}, built + "/first");
    CHECK(l.get<int()>("tenon_test_answer")() == 3);
}

TEST_CASE("what the program has linked itself goes before all libraries") {
    library l("Some library", {"libtenon-absent.so.7"});
    CHECK(l.get<int(int)>("abs")(-3) == 3);
}
