#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include <tenon/io/files/crc32c.hpp>
#include <tenon/io/records/record_writer.hpp>

/// Files that are read: they are written first, and so in the page cache.

namespace input_files {

constexpr std::size_t record_bytes = 784;

/// Of this process, which ends with it.
class folder {
public:
    folder() { std::filesystem::create_directories(path_); }
    folder(folder&&) = delete;
    ~folder() { std::filesystem::remove_all(path_); }
    std::string operator/(const std::string& name) const { return path_ / name; }

private:
    std::filesystem::path path_ =
        std::filesystem::temp_directory_path() / ("tenon-input-" + std::to_string(::getpid()));
};

/// Rows of numbers in -1 .. 1, of which every other one is so many times as large.
inline void write_table(const std::string& path, std::int64_t rows, std::int64_t columns, double larger = 1) {
    std::mt19937 random(1);
    std::uniform_real_distribution<double> number(-1, 1);
    std::ofstream file(path);
    for (std::int64_t i = 0; i < rows * columns; ++i) {
        char field[32];
        std::snprintf(field, sizeof field, "%.6g%c", number(random) * (i % 2 ? 1 : larger),
                      (i + 1) % columns ? ',' : '\n');
        file << field;
    }
}

/// TFRecords of 784 bytes.
inline void write_records(const std::string& path, std::int64_t count) {
    std::mt19937 random(1);
    tenon::tfrecord_writer out(path);
    std::string record(record_bytes, '\0');
    for (std::int64_t i = 0; i < count; ++i) {
        for (char& c : record) c = static_cast<char>(random());
        out.write(record);
    }
    out.commit();
}

/// What is within such a file, by hand: of each record the length and the data, with a checksum each.
inline void read_and_sum(benchmark::State& state, const std::string& path) {
    constexpr std::size_t all = 12 + record_bytes + 4, at_once = (std::size_t{1} << 18) / all * all;
    const auto buffer = std::make_unique_for_overwrite<std::byte[]>(at_once);
    for (auto _ : state) {
        const int file = ::open(path.c_str(), O_RDONLY);
        std::uint32_t sum = 0;
        for (ssize_t n = 0; (n = ::read(file, buffer.get(), at_once)) > 0;)
            for (std::size_t at = 0; at < static_cast<std::size_t>(n); at += all)
                sum ^= tenon::crc32c({buffer.get() + at, 8}) ^ tenon::crc32c({buffer.get() + at + 12, record_bytes});
        ::close(file);
        benchmark::DoNotOptimize(sum);
    }
}

} // namespace input_files
