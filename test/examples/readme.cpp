// The README shows a program, what it prints, and what the compiler says to a mistake; docs/adding-an-op.md shows parts of programs, and
// what one of them prints: all of it must stay true. (docs/guide: test/guide.)
#define main linear_regression
#include "../../examples/linear_regression.cpp"
#undef main
#define main waiting_op
#include "../../examples/waiting_op.cpp"
#undef main

#include <doctest/doctest.h>

#include <string>

#include "examples/support.hpp"

TEST_CASE("the README's program is the one in examples/, and prints what the README says") {
    const std::string readme = read_bytes(project_file("README.md"));
    CHECK(holds(readme, "```cpp\n" + program("linear_regression.cpp") + "```"));
    CHECK(holds(readme, "```text\n" + printed([] { linear_regression(); }) + "```"));
}

TEST_CASE("the README's compile error is the one that test/compile_fail/nn_wrong_shape.cpp holds the compiler to") {
    const std::string readme = read_bytes(project_file("README.md"));
    const std::string example = read_bytes(project_file("examples/wrong_shape.cpp"));
    const std::string mistake = "auto wrong = matmul(x, w2);";
    CHECK(holds(example, "#ifdef TENON_EXPECT_ERROR\n    " + mistake + "\n#endif"));
    CHECK(holds(readme, mistake));

    const std::string test = read_bytes(project_file("test/compile_fail/nn_wrong_shape.cpp"));
    const std::string before = "// error[gcc]: ";
    const std::size_t begin = test.find(before) + before.size();
    std::string words;
    for (const char c : test.substr(begin, test.find('\n', begin) - begin))
        if (c != '\\') words += c;
    CHECK(words == "matmul: inner dimensions differ: [batch, 784] x [300, 10]");
    CHECK(holds(readme, words));
}

TEST_CASE("the code in docs/adding-an-op.md is that of examples/custom_op.cpp, or of the file it names") {
    const std::string page = read_bytes(project_file("docs/adding-an-op.md")), example = program("custom_op.cpp");
    const std::string opening = "```cpp";
    int of_example = 0, of_library = 0;
    for (std::size_t at = page.find(opening); at != std::string::npos; at = page.find(opening, at)) {
        const std::size_t end = page.find('\n', at);
        const std::string file = page.substr(at + opening.size(), end - at - opening.size());
        at = page.find("```", end);
        const std::string block = page.substr(end + 1, at - end - 1);
        CHECK_MESSAGE(holds(file.empty() ? example : read_bytes(project_file(file.substr(1))), block), block);
        ++(file.empty() ? of_example : of_library);
        at += 3;
    }
    CHECK(of_example > 5);
    CHECK(of_library > 5);
}

TEST_CASE("examples/waiting_op.cpp prints what docs/adding-an-op.md says, and what it says itself") {
    const tn::graph g;
    const tn::graph_scope in(g);
    std::string output = printed([] { CHECK(waiting_op() == 0); });
    const std::string place = "made at ";
    for (std::size_t at = 0; (at = output.find(place, at)) != std::string::npos;) { // of the file the name alone
        at += place.size();
        output.erase(at, output.rfind('/', output.find(':', at)) + 1 - at);
    }
    CHECK_MESSAGE(holds(read_bytes(project_file("docs/adding-an-op.md")), "```text\n" + output + "```"), output);
    std::string comment;
    for (std::size_t at = 0, end; (end = output.find('\n', at)) != std::string::npos; at = end + 1)
        comment += "//     " + output.substr(at, end - at) + "\n";
    const std::string file = read_bytes(project_file("examples/waiting_op.cpp"));
    const std::size_t cut = comment.find("readings in mailbox \"north\" [node"); // a line too long for a comment
    CHECK(holds(file, comment.substr(0, cut) + "readings in mailbox ...\n"));
    CHECK(holds(file, comment.substr(comment.find('\n', cut) + 1)));
}
