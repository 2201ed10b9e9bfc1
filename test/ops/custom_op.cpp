#include <doctest/doctest.h>

#include "temporary_folder.hpp"

// docs/adding-an-op.md shows examples/custom_op.cpp, which is built and run as a test of its own.

TEST_CASE("the code in docs/adding-an-op.md is that of examples/custom_op.cpp") {
    const std::string root = std::string(TENON_TEST_DIR) + "/../";
    const std::string page = read_bytes(root + "docs/adding-an-op.md"),
                      program = read_bytes(root + "examples/custom_op.cpp");
    REQUIRE(!page.empty());
    REQUIRE(!program.empty());
    int blocks = 0;
    const std::string fence = "```cpp\n";
    for (std::size_t at = page.find(fence); at != std::string::npos; at = page.find(fence, at)) {
        at += fence.size();
        const std::size_t end = page.find("```", at);
        REQUIRE(end != std::string::npos);
        const std::string code = page.substr(at, end - at);
        INFO(code);
        CHECK(program.find(code) != std::string::npos);
        ++blocks;
    }
    CHECK(blocks >= 6);
}
