// Rows of numbers from a file that is mapped into memory to batches of 256, beside a loop of std::from_chars that a careful
// user would write by hand; on one thread, and on two, each of which takes half of the lines.

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include <tenon/io/text/csv.hpp>

#include "ratio.hpp"

namespace {

constexpr std::int64_t rows = 100000, columns = 10, batch = 256;

// A file of lines, mapped.
class mapped {
public:
    explicit mapped(const std::string& text) :
        path_(std::filesystem::temp_directory_path() / ("tenon_benchmark_csv." + std::to_string(getpid()))) {
        std::ofstream(path_, std::ios::binary) << text;
        const int file = open(path_.c_str(), O_RDONLY);
        void* at = mmap(nullptr, text.size(), PROT_READ, MAP_PRIVATE, file, 0);
        if (file < 0 || at == MAP_FAILED) std::abort();
        close(file);
        text_ = {static_cast<const char*>(at), text.size()};
        std::filesystem::remove(path_);
    }
    mapped(const mapped&) = delete;
    mapped& operator=(const mapped&) = delete;
    ~mapped() { munmap(const_cast<char*>(text_.data()), text_.size()); }
    std::string_view text() const { return text_; }
    // Half of the lines.
    std::string_view half(int which) const {
        const std::size_t middle = text_.find('\n', text_.size() / 2) + 1;
        return which == 0 ? text_.substr(0, middle) : text_.substr(middle);
    }

private:
    std::filesystem::path path_;
    std::string_view text_;
};

// Numbers as measured quantities have them: some digits before the point and some behind.
std::string lines_of(bool mixed) {
    std::mt19937 random(1);
    std::string text;
    for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c) {
            char field[32];
            const double v = static_cast<double>(random()) / 4294967296.0;
            if (mixed && c < 3) std::snprintf(field, sizeof field, "%d", static_cast<int>(v * 100000));
            else if (mixed && c == 3) std::snprintf(field, sizeof field, "town%d", static_cast<int>(v * 300));
            else std::snprintf(field, sizeof field, "%.6g", v * (c % 2 ? 1 : 1000) - 0.3);
            text += field;
            text += c + 1 < columns ? ',' : '\n';
        }
    }
    return text;
}

const mapped& floats() {
    static const mapped m(lines_of(false));
    return m;
}
const mapped& mixed() {
    static const mapped m(lines_of(true));
    return m;
}

template <class F> void each_line(std::string_view text, const F& f) {
    const char *at = text.data(), *const end = at + text.size();
    while (at != end) {
        const void* const found = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
        const char* const line_end = found ? static_cast<const char*>(found) : end;
        f(std::string_view(at, static_cast<std::size_t>(line_end - at)));
        at = line_end == end ? end : line_end + 1;
    }
}

struct mixed_batch {
    std::int32_t whole[batch * 3];
    std::string town[batch];
    float rest[batch * 6];
};

// Batches are filled over and over: what is done with them is not measured.
void ours_floats(std::string_view text) {
    static const tenon::csv_row_decoder decoder("csv", {{tenon::element_type::float32, {}, columns}});
    std::vector<float> to(batch * columns);
    void* const out[] = {to.data()};
    std::uint64_t line = 0;
    each_line(text, [&](std::string_view record) {
        decoder.decode(record, {"data.csv", line + 1}, out, static_cast<std::int64_t>(line % batch));
        ++line;
    });
    benchmark::DoNotOptimize(to.data());
}
void ours_mixed(std::string_view text) {
    using tenon::element_type;
    static const tenon::csv_row_decoder decoder(
        "csv", {{element_type::int32, {}, 3}, {element_type::string, {}, 1}, {element_type::float32, {}, 6}});
    const auto to = std::make_unique<mixed_batch>();
    void* const out[] = {to->whole, to->town, to->rest};
    std::uint64_t line = 0;
    each_line(text, [&](std::string_view record) {
        decoder.decode(record, {"data.csv", line + 1}, out, static_cast<std::int64_t>(line % batch));
        ++line;
    });
    benchmark::DoNotOptimize(to.get());
}

// By hand: one pass, and a check of what stands behind each number.
template <class T> const char* take(const char* at, const char* end, T& v, char behind) {
    const std::from_chars_result r = std::from_chars(at, end, v);
    if (r.ec != std::errc() || r.ptr == end || *r.ptr != behind) std::abort();
    return r.ptr + 1;
}
void theirs_floats(std::string_view text) {
    std::vector<float> to(batch * columns);
    const char *at = text.data(), *const end = at + text.size();
    for (std::int64_t row = 0; at != end; row = (row + 1) % batch) {
        float* const values = to.data() + row * columns;
        for (std::int64_t c = 0; c < columns; ++c) at = take(at, end, values[c], c + 1 < columns ? ',' : '\n');
    }
    benchmark::DoNotOptimize(to.data());
}
void theirs_mixed(std::string_view text) {
    const auto to = std::make_unique<mixed_batch>();
    const char *at = text.data(), *const end = at + text.size();
    for (std::int64_t row = 0; at != end; row = (row + 1) % batch) {
        for (std::int64_t c = 0; c < 3; ++c) at = take(at, end, to->whole[row * 3 + c], ',');
        const auto* comma = static_cast<const char*>(std::memchr(at, ',', static_cast<std::size_t>(end - at)));
        if (!comma) std::abort();
        to->town[row].assign(at, comma);
        at = comma + 1;
        for (std::int64_t c = 0; c < 6; ++c) at = take(at, end, to->rest[row * 6 + c], c < 5 ? ',' : '\n');
    }
    benchmark::DoNotOptimize(to.get());
}

template <void (*Read)(std::string_view)> void one_thread(benchmark::State& state, const mapped& file) {
    for (auto _ : state) Read(file.text());
}
template <void (*Read)(std::string_view)> void two_threads(benchmark::State& state, const mapped& file) {
    for (auto _ : state) {
        std::thread other([&] { Read(file.half(1)); });
        Read(file.half(0));
        other.join();
    }
}

} // namespace

int main(int argc, char** argv) {
    const auto add = [](const char* name, auto f, const mapped& file) {
        benchmark::RegisterBenchmark(name, [f, &file](benchmark::State& s) { f(s, file); })->UseRealTime();
    };
    add("floats", one_thread<ours_floats>, floats());
    add("floats_by_hand", one_thread<theirs_floats>, floats());
    add("floats_two_threads", two_threads<ours_floats>, floats());
    add("mixed", one_thread<ours_mixed>, mixed());
    add("mixed_by_hand", one_thread<theirs_mixed>, mixed());
    add("mixed_two_threads", two_threads<ours_mixed>, mixed());
    const double n = static_cast<double>(rows);
    return ratio::run(argc, argv,
                      {{"row of ten floats", "floats", "floats_by_hand", 0.9, n},
                       {"row of ten floats, two threads (other: ours on one)", "floats_two_threads", "floats", 1.7, n},
                       {"row of 3 ints, a text, 6 floats", "mixed", "mixed_by_hand", 0.9, n},
                       {"the same, two threads (other: ours on one)", "mixed_two_threads", "mixed", 1.7, n}});
}
