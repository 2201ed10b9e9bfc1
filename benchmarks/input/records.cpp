// Reading records (the targets of input): TFRecords of 784 bytes beside reading the same bytes into a buffer and their CRC32C,
// both by the same function; lines of text beside memchr over the mapped file. Files are in the page cache.

#include <cstring>
#include <memory>
#include <string>

#include <tenon/io/files/file.hpp>
#include <tenon/io/records/record_source.hpp>

#include "files.hpp"
#include "ratio.hpp"

namespace tn = tenon;

namespace {

constexpr int records = 50'000;
constexpr int lines = 500'000;

struct files {
    input_files::folder folder;
    std::string tfrecords = folder / "a.tfrecord", text = folder / "a.txt";
    files() {
        input_files::write_records(tfrecords, records);
        tn::text_writer text_out(text);
        for (int i = 0; i < lines; ++i) text_out.write(std::string(static_cast<std::size_t>(20 + i * 37 % 100), 'y'));
        text_out.commit();
    }
};
const files& there() {
    static const files f;
    return f;
}

std::size_t read_all(const std::string& path, tn::record_kind kind) {
    const auto source = tn::open_records("benchmark", path, {.kind = kind});
    std::string_view record;
    std::size_t bytes = 0;
    while (source->next(record)) bytes += record.size();
    return bytes;
}

void our_tfrecords(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(read_all(there().tfrecords, tn::record_kind::tfrecord));
}
void read_and_sum(benchmark::State& state) { input_files::read_and_sum(state, there().tfrecords); }

void our_lines(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(read_all(there().text, tn::record_kind::text_lines));
}
void our_csv_lines(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(read_all(there().text, tn::record_kind::csv_lines));
}
void mapped_lines(benchmark::State& state) {
    for (auto _ : state) {
        const tn::detail::mapped_file file("benchmark", there().text);
        const char* at = reinterpret_cast<const char*>(file.data());
        const char* const end = at + file.size();
        std::size_t bytes = 0;
        while (at < end) {
            const auto* const line_end =
                static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
            bytes += static_cast<std::size_t>(line_end - at);
            at = line_end + 1;
        }
        benchmark::DoNotOptimize(bytes);
    }
}

template <std::uint32_t (*Sum)(std::span<const std::byte>, std::uint32_t) noexcept, std::size_t Bytes>
void sum_of(benchmark::State& state) {
    const auto bytes = std::make_unique<std::byte[]>(Bytes);
    std::uint32_t sum = 0;
    for (auto _ : state) benchmark::DoNotOptimize(sum = Sum({bytes.get(), Bytes}, sum));
}

} // namespace

BENCHMARK(our_tfrecords)->Name("tfrecords");
BENCHMARK(read_and_sum)->Name("tfrecords: read and CRC");
BENCHMARK(our_lines)->Name("lines");
BENCHMARK(our_csv_lines)->Name("csv lines");
BENCHMARK(mapped_lines)->Name("lines: memchr");
BENCHMARK(sum_of<tn::crc32c, 784>)->Name("crc 784");
BENCHMARK(sum_of<tn::detail::crc32c_by_table, 784>)->Name("crc 784: tables");
BENCHMARK(sum_of<tn::crc32c, 65536>)->Name("crc 64 KiB");
BENCHMARK(sum_of<tn::detail::crc32c_by_table, 65536>)->Name("crc 64 KiB: tables");

int main(int argc, char** argv) {
    return ratio::run(
        argc, argv,
        {{"a TFRecord of 784 bytes, read() and CRC", "tfrecords", "tfrecords: read and CRC", 0.9, records},
         {"a line of text of 70 bytes, memchr over the map", "lines", "lines: memchr", 0.9, lines},
         {"the same as CSV, memchr over the map", "csv lines", "lines: memchr", 0, lines},
         {"CRC32C of 784 bytes, by tables", "crc 784", "crc 784: tables"},
         {"CRC32C of 64 KiB, by tables", "crc 64 KiB", "crc 64 KiB: tables"}});
}
