#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/io/records/tar.hpp>

namespace tenon {

namespace detail {
inline constexpr std::size_t tar_block = 512;
inline constexpr std::uint64_t longest_tar_name = 1 << 20; // of a name, and of the records of pax, also of attributes

inline std::string_view tar_text(const char* field, std::size_t bytes) {
    return {field, std::min(bytes, std::strlen(std::string(field, bytes).c_str()))};
}

// A number in octal digits, or, where the first bit is set, in base 256.
inline std::optional<std::uint64_t> tar_number(const char* field, std::size_t bytes) {
    std::uint64_t n = 0;
    if (static_cast<unsigned char>(field[0]) & 0x80) {
        for (std::size_t i = 1; i < bytes; ++i) {
            if (n >> 55 != 0) return std::nullopt;
            n = n << 8 | static_cast<unsigned char>(field[i]);
        }
        return n;
    }
    for (std::size_t i = 0; i < bytes && field[i] != '\0'; ++i) {
        if (field[i] == ' ') continue;
        if (field[i] < '0' || field[i] > '7' || n >> 60 != 0) return std::nullopt;
        n = n << 3 | static_cast<std::uint64_t>(field[i] - '0');
    }
    return n;
}

// The sum of a header's bytes, those of the sum itself counted as blanks.
inline std::uint64_t tar_sum(const char* block) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < tar_block; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(block[i]);
    return sum;
}

// The records of a pax header: "length key=value\n".
inline std::optional<std::string_view> pax_value(std::string_view records, std::string_view key) {
    std::optional<std::string_view> found;
    while (!records.empty()) {
        std::size_t length = 0, i = 0;
        for (; i < records.size() && records[i] >= '0' && records[i] <= '9' && length < longest_tar_name; ++i)
            length = length * 10 + static_cast<std::size_t>(records[i] - '0');
        if (i == 0 || i >= records.size() || records[i] != ' ' || length <= i + 1 || length > records.size())
            return std::nullopt;
        const std::string_view record = records.substr(i + 1, length - i - 2);
        if (record.size() > key.size() && record.starts_with(key) && record[key.size()] == '=')
            found = record.substr(key.size() + 1);
        records.remove_prefix(length);
    }
    return found;
}
} // namespace detail

TENON_INLINE tar_reader::tar_reader(const std::string& path, const tar_limits& o) :
    tar_reader(file_system_of(path).open(path), path, o) {}
TENON_INLINE tar_reader::tar_reader(std::unique_ptr<readable_file> file, std::string name, const tar_limits& o) :
    file_(unpacked(std::move(file), name, o.compressed)), name_(std::move(name)), largest_(o.largest_file) {}

TENON_INLINE void tar_reader::damaged(const std::string& what) const {
    throw data_loss_error("tar: '" + name_ + "': the archive is cut off or damaged: " + what);
}

TENON_INLINE bool tar_reader::read_block(char* to) {
    const std::size_t n = detail::read_fully(*file_, to, detail::tar_block);
    at_ += n;
    if (n != 0 && n != detail::tar_block) {
        if (at_ == n && (n < 263 || std::memcmp(to + 257, "ustar", 5) != 0))
            throw invalid_argument_error("tar: '" + name_ + "': no tar archive");
        damaged("it ends within a header, at byte " + std::to_string(at_));
    }
    return n != 0;
}

TENON_INLINE std::string tar_reader::contents(std::uint64_t size, const std::string& what, bool passed_over) {
    std::string bytes;
    // No more memory is taken than twice what there is.
    for (std::uint64_t left = size; left > 0;) {
        if (passed_over) bytes.clear();
        const auto part = static_cast<std::size_t>(
            std::min<std::uint64_t>(left, std::max<std::size_t>(bytes.size(), std::size_t{1} << 16)));
        const std::size_t had = bytes.size();
        bytes.resize(had + part);
        const std::size_t n = detail::read_fully(*file_, bytes.data() + had, part);
        at_ += n;
        if (n < part)
            damaged(what + " has " + std::to_string(size) + " bytes; " + std::to_string(size - left + n) +
                    " are there");
        left -= part;
    }
    char rest[detail::tar_block];
    const std::size_t padding = (detail::tar_block - size % detail::tar_block) % detail::tar_block;
    const std::size_t n = detail::read_fully(*file_, rest, padding);
    at_ += n;
    if (n < padding) damaged("it ends behind " + what);
    return bytes;
}

TENON_INLINE bool tar_reader::next(tar_entry& e) {
    std::string long_name;
    std::uint64_t long_size = 0;
    bool has_long_size = false, sparse = false;
    char block[detail::tar_block];
    while (!std::exchange(ended_, true)) { // unless it turns out that more can be read
        const std::uint64_t begin = at_;
        if (!read_block(block))
            damaged("it ends at byte " + std::to_string(at_) + " without the block of zeros that is the end");
        if (std::all_of(block, block + detail::tar_block, [](char c) { return c == '\0'; }))
            return false; // whatever follows is padding
        const auto sum = detail::tar_number(block + 148, 8), stored = detail::tar_number(block + 124, 12);
        if (!sum || *sum != detail::tar_sum(block)) {
            if (begin == 0)
                throw invalid_argument_error("tar: '" + name_ +
                                             "': no tar archive: the checksum of its first header does not fit");
            damaged("the checksum of the header at byte " + std::to_string(begin) + " does not fit");
        }
        if (!stored) damaged("the size in the header at byte " + std::to_string(begin) + " is no number");
        const char kind = block[156];
        std::string name(detail::tar_text(block, 100));
        if (std::memcmp(block + 257, "ustar\0", 6) == 0)
            if (const std::string_view folder = detail::tar_text(block + 345, 155); !folder.empty())
                name = std::string(folder) + "/" + name;
        if (kind == 'L' || kind == 'x' || kind == 'g') {
            if (*stored > detail::longest_tar_name) damaged("a header of " + std::to_string(*stored) + " bytes");
            const std::string text = contents(*stored, "the header at byte " + std::to_string(begin));
            if (kind == 'L') long_name = text.c_str();
            else if (kind == 'x') {
                if (const auto path = detail::pax_value(text, "path")) long_name = *path;
                for (const char* const key : {"GNU.sparse.major", "GNU.sparse.size"})
                    sparse = sparse || detail::pax_value(text, key);
                if (const auto path = detail::pax_value(text, "GNU.sparse.name")) long_name = *path;
                if (const auto size = detail::pax_value(text, "size")) {
                    std::uint64_t n = 0;
                    for (const char c : *size) {
                        if (c < '0' || c > '9' || n >> 58 != 0) damaged("a size is \"" + std::string(*size) + '"');
                        n = n * 10 + static_cast<std::uint64_t>(c - '0');
                    }
                    long_size = n;
                    has_long_size = true;
                }
            }
            ended_ = false;
            continue;
        }
        if (kind == 'S') // where its parts lie goes on behind the header
            for (bool more = block[482] != 0; more; more = block[504] != 0)
                if (!read_block(block)) damaged("it ends within a header, at byte " + std::to_string(at_));
        const std::uint64_t size = has_long_size ? long_size : *stored;
        if (!long_name.empty()) name = std::exchange(long_name, {});
        has_long_size = false;
        const bool too_large = size > static_cast<std::uint64_t>(std::max<std::int64_t>(largest_, 0));
        // Links and folders have no contents, whatever their size says.
        std::string bytes;
        if (kind < '1' || kind > '6') bytes = contents(size, name, too_large);
        ended_ = false;
        if (too_large)
            throw resource_exhausted_error("tar: '" + name_ + "': " + name + " has " + std::to_string(size) +
                                           " bytes; " + std::to_string(largest_) +
                                           " are allowed (tar_limits::largest_file)");
        if (std::exchange(sparse, false) || kind == 'S')
            throw unimplemented_error("tar: '" + name_ + "': " + name +
                                      " is stored without its holes, which is not read: pack it without --sparse");
        if (kind != '0' && kind != '\0' && kind != '7') continue;
        if (kind == '\0' && name.ends_with('/')) continue; // a folder, before there was ustar
        e.name = std::move(name);
        e.bytes = std::move(bytes);
        return true;
    }
    return false;
}

} // namespace tenon
