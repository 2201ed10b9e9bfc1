#include "tests.hpp"

namespace {

// A console whose time is set by the test.
struct recorder : tn::progress_console {
    bool terminal = false;
    int columns = 80;
    double now = 1000;
    std::vector<std::string> written;

    void write(const std::string& text) override { written.push_back(text); }
    bool is_terminal() const override { return terminal; }
    int width() const override { return columns; }
    double seconds() const override { return now; }
};

} // namespace

TEST_CASE("elsewhere than on a terminal, a plain line is written at each tenth and at the end") {
    recorder out;
    {
        tn::progress_bar bar(1000, "training", {.samples_per_step = 128, .console = &out});
        for (int i = 1; i <= 1000; ++i) {
            out.now += 0.01;
            bar.advance(1, {{"loss", 1.0 / i}});
        }
    }
    REQUIRE(out.written.size() == 10);
    CHECK(out.written[0] == "training: 100/1000 (10%), 100 steps/s, 12.8k samples/s, loss 0.01, 1.0 s, 9.0 s left\n");
    CHECK(out.written[9] == "training: 1000/1000 (100%), 100 steps/s, 12.8k samples/s, loss 0.001, 10.0 s\n");
    for (const std::string& line : out.written)
        CHECK(std::count_if(line.begin(), line.end(), [](char c) { return c < ' '; }) == 1);
}

TEST_CASE("large strides and small totals write no line twice") {
    recorder out;
    tn::progress_bar bar(3, "", {.console = &out});
    for (int i = 0; i < 3; ++i) {
        out.now += 100;
        bar.advance();
    }
    bar.finish();
    bar.finish();
    bar.advance();
    CHECK(out.written == std::vector<std::string>{"1/3 (33%), 0.01 steps/s, 1:40, 3:20 left\n",
                                                  "2/3 (66%), 0.01 steps/s, 3:20, 1:40 left\n",
                                                  "3/3 (100%), 0.01 steps/s, 5:00\n"});
}

TEST_CASE("a loop that ends early says how far it came") {
    recorder out;
    { tn::progress_bar bar(100, "x", {.console = &out}); }
    REQUIRE(out.written.size() == 1);
    CHECK(out.written[0] == "x: 0/100 (0%), 0 steps/s, 0.0 s\n");
}

TEST_CASE("without a total, a line is written at most each 30 seconds") {
    recorder out;
    tn::progress_bar bar(0, "reading", {.console = &out});
    for (int i = 0; i < 100; ++i) {
        out.now += 1;
        bar.advance(1000);
    }
    REQUIRE(out.written.size() == 3);
    CHECK(out.written[1] == "reading: 60000 steps, 1000 steps/s, 1:00\n");
}

TEST_CASE("on a terminal one line is redrawn at most ten times a second, and ends as a plain line") {
    recorder out;
    out.terminal = true;
    out.columns = 90;
    {
        tn::progress_bar bar(10000, "training", {.console = &out});
        for (int i = 0; i < 10000; ++i) {
            out.now += 0.0005;
            bar.advance(1, {{"loss", 0.25}});
        }
    }
    REQUIRE(out.written.size() > 40);
    CHECK(out.written.size() <= 53);
    for (std::size_t i = 0; i + 2 < out.written.size(); ++i) {
        const std::string& text = out.written[i];
        CHECK(text.front() == '\r');
        CHECK(text.ends_with("\x1b[K"));
        CHECK(text.size() - 4 < 90);
        CHECK(text.find('\n') == std::string::npos);
    }
    CHECK(contains(out.written[20], "training  40%"));
    CHECK(contains(out.written[20], "[#"));
    CHECK(contains(out.written[20], "2000 steps/s  loss 0.25"));
    CHECK(out.written.back() == "training: 10000/10000 (100%), 2000 steps/s, loss 0.25, 5.0 s\n");
}

TEST_CASE("a drawn line fits the terminal, however narrow, and letters are not cut in two") {
    for (int width = 1; width < 60; ++width) {
        recorder out;
        out.terminal = true;
        out.columns = width;
        tn::progress_bar bar(100, "Ubung \u00dcbung \u00dcbung\n\x1b", {.console = &out});
        out.now += 1;
        bar.advance(50, {{"loss", 1}});
        REQUIRE(out.written.size() == 2);
        const std::string text = out.written[1].substr(1, out.written[1].size() - 4);
        const auto columns = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
        CHECK(columns <= std::max(width - 1, 1));
        CHECK((text.empty() || text.back() != '\xC3'));
        CHECK(std::none_of(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\x1b'; }));
    }
}

TEST_CASE("in a narrow terminal samples per second go first, then the last values; the time stays") {
    recorder out;
    out.terminal = true;
    tn::progress_bar bar(100, "training", {.samples_per_step = 10, .console = &out});
    const auto drawn = [&](int columns) {
        out.columns = columns;
        out.now += 1;
        bar.advance(1, {{"loss", 0.5}, {"accuracy", 0.75}});
        const std::string& text = out.written.back();
        return text.substr(1, text.size() - 4);
    };
    CHECK(drawn(200) == "training   1% [..............................]  1/100  1 steps/s  10 samples/s  "
                        "loss 0.5  accuracy 0.75"
                        "  1.0 s, 1:39 left");
    CHECK(drawn(76) == "training   2%  2/100  1 steps/s  loss 0.5  accuracy 0.75  2.0 s, 1:38 left");
    CHECK(drawn(60) == "training   3%  3/100  1 steps/s  loss 0.5  3.0 s, 1:37 left");
    CHECK(drawn(30) == "training   4%  4/100");
}

TEST_CASE("the rate shown follows the last seconds") {
    recorder out;
    out.terminal = true;
    tn::progress_bar bar(1'000'000, "", {.console = &out});
    for (int i = 0; i < 100; ++i) {
        out.now += 0.2;
        bar.advance(20);
    }
    CHECK(contains(out.written.back(), " 100 steps/s"));
    for (int i = 0; i < 150; ++i) {
        out.now += 0.2;
        bar.advance(200);
    }
    CHECK(contains(out.written.back(), " 1000 steps/s"));
}

TEST_CASE_FIXTURE(in_folder, "a file is no terminal, and gets plain lines") {
    std::FILE* file = std::fopen((folder / "log").c_str(), "w");
    REQUIRE(file);
    tn::file_console console(file);
    CHECK_FALSE(console.is_terminal());
    CHECK(console.width() > 0);
    const double before = console.seconds();
    {
        tn::progress_bar bar(1, "x", {.console = &console});
        bar.advance();
    }
    CHECK(console.seconds() >= before);
    std::fclose(file);
    const std::string text = read_bytes(folder / "log");
    CHECK(text.starts_with("x: 1/1 (100%), "));
    CHECK(std::count(text.begin(), text.end(), '\n') == 1);
}
