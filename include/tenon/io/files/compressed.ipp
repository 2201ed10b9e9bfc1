#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#if TENON_WITH_ZLIB
#include <zlib.h>
#endif

#include <tenon/core/error.hpp>
#include <tenon/io/files/compressed.hpp>
#include <tenon/io/files/unpacking_file.hpp>
#include <tenon/io/files/zstd.hpp>

namespace tenon {

namespace detail {

class bytes_file final : public readable_file {
public:
    bytes_file(const void* bytes, std::size_t size) : bytes_(static_cast<const std::byte*>(bytes)), size_(size) {}
    std::size_t read(void* to, std::size_t bytes) override {
        const std::size_t n = std::min(bytes, size_ - std::min(at_, size_));
        if (n > 0) std::memcpy(to, bytes_ + at_, n);
        at_ += n;
        return n;
    }
    void seek(std::uint64_t position) override { at_ = static_cast<std::size_t>(position); }
    std::int64_t size() const override { return static_cast<std::int64_t>(size_); }

private:
    const std::byte* bytes_;
    std::size_t size_, at_ = 0;
};

TENON_INLINE std::unique_ptr<readable_file> file_of_bytes(const void* bytes, std::size_t size) {
    return std::make_unique<bytes_file>(bytes, size);
}

// What was read of a file already, and then the file.
class peeked_file final : public readable_file {
public:
    peeked_file(std::vector<unsigned char> peeked, std::unique_ptr<readable_file> rest) :
        peeked_(std::move(peeked)), rest_(std::move(rest)) {}
    std::size_t read(void* to, std::size_t bytes) override {
        if (given_ == peeked_.size()) return rest_->read(to, bytes);
        const std::size_t n = std::min(bytes, peeked_.size() - given_);
        if (n > 0) std::memcpy(to, peeked_.data() + given_, n);
        given_ += n;
        return n;
    }
    void seek(std::uint64_t position) override {
        rest_->seek(position);
        given_ = peeked_.size();
    }
    std::int64_t size() const override { return rest_->size(); }

private:
    std::vector<unsigned char> peeked_;
    std::size_t given_ = 0;
    std::unique_ptr<readable_file> rest_;
};

inline constexpr std::size_t peeked_bytes = 64;

inline bool begins_gzip(const std::vector<unsigned char>& first) {
    return first.size() >= 2 && first[0] == 0x1F && first[1] == 0x8B && (first.size() < 3 || first[2] == 8);
}

#if TENON_WITH_ZLIB
// A window of 32 KiB and no dictionary, which is how zlib files are written. Two bytes say little ("x^2 + 1" begins so too):
// what follows must unpack.
inline bool begins_zlib(std::vector<unsigned char> first) {
    if (first.size() < 2 || first[0] != 0x78 || (first[0] * 256 + first[1]) % 31 != 0 || (first[1] & 0x20))
        return false;
    z_stream stream{};
    if (::inflateInit2(&stream, 15) != Z_OK) throw resource_exhausted_error("no memory for zlib");
    std::vector<Bytef> out(peeked_bytes * static_cast<std::size_t>(best_compression));
    stream.next_in = first.data();
    stream.avail_in = static_cast<uInt>(first.size());
    stream.next_out = out.data();
    stream.avail_out = static_cast<uInt>(out.size());
    const int result = ::inflate(&stream, Z_SYNC_FLUSH);
    ::inflateEnd(&stream);
    return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR;
}
#endif

// How many first bytes tell what a file is, when so many are there. Two tell nearly always: a pipe may not have more for a long
// time.
inline std::size_t telling_bytes(const std::vector<unsigned char>& first, std::size_t there) {
    if (there < 2) return 2;
    const bool may_be_zlib = first[0] == 0x78 && (first[0] * 256 + first[1]) % 31 == 0;
    if (first[0] == 0x1F || may_be_zlib) return peeked_bytes;
    const bool may_be_zstd = (first[0] == 0x28 && first[1] == 0xB5) || (first[0] >> 4 == 5 && first[1] == 0x2A);
    return may_be_zstd ? 4 : 2;
}

TENON_INLINE compression compression_of(std::unique_ptr<readable_file>& file) {
    std::vector<unsigned char> first(peeked_bytes);
    std::size_t there = 0;
    while (there < telling_bytes(first, there)) {
        const std::size_t n = file->read(first.data() + there, first.size() - there);
        if (n == 0) break;
        there += n;
    }
    first.resize(there);
    compression kind = begins_gzip(first)   ? compression::gzip
                       : begins_zstd(first) ? compression::zstd
                                            : compression::none;
#if TENON_WITH_ZLIB
    if (kind == compression::none && begins_zlib(first)) kind = compression::zlib;
#endif
    if (file->size() >= 0) file->seek(0);
    else file = std::make_unique<peeked_file>(std::move(first), std::move(file));
    return kind;
}

TENON_INLINE std::string unpacked_text(const char* who, const std::string& path) {
    return said_by(who, [&] {
        const std::unique_ptr<readable_file> file = unpacked(file_system_of(path).open(path), path);
        std::string bytes;
        for (std::size_t had = 0;; had = bytes.size()) {
            bytes.resize(had + (std::size_t{1} << 20));
            const std::size_t n = read_fully(*file, bytes.data() + had, bytes.size() - had);
            bytes.resize(had + n);
            if (n == 0) return bytes;
        }
    });
}

TENON_INLINE std::int64_t most_unpacked(std::int64_t packed, compression how) {
    if (packed < 0) return -1;
    const std::int64_t each = how == compression::zstd ? best_zstd : best_compression;
    if (packed >= std::numeric_limits<std::int64_t>::max() / each) return std::numeric_limits<std::int64_t>::max();
    return (packed + 1) * each;
}

#if TENON_WITH_ZLIB
// As zlib names the formats: how large the window is, and what stands around it.
inline constexpr int gzip_bits = 15 + 16, zlib_bits = 15, deflate_bits = -15;

class unpacking_zlib_file final : public unpacking_file {
public:
    unpacking_zlib_file(std::unique_ptr<readable_file> from, std::string path, int bits) :
        unpacking_file(std::move(from), std::move(path),
                       bits == gzip_bits   ? "gzipped"
                       : bits == zlib_bits ? "zlib"
                                           : "deflated"),
        bits_(bits) {
        if (::inflateInit2(&stream_, bits) != Z_OK) throw resource_exhausted_error("no memory for zlib");
    }
    ~unpacking_zlib_file() override { ::inflateEnd(&stream_); }

private:
    std::size_t unpack(unsigned char* to, std::size_t room) override {
        stream_.next_in = const_cast<Bytef*>(next_); // zlib only reads it
        stream_.avail_in = static_cast<uInt>(left_);
        stream_.next_out = to;
        stream_.avail_out = static_cast<uInt>(room);
        const int result = ::inflate(&stream_, Z_NO_FLUSH);
        next_ = stream_.next_in;
        left_ = stream_.avail_in;
        more_waits_ = stream_.avail_out == 0 && result == Z_OK;
        if (result == Z_STREAM_END) between_members_ = true;
        else if (result != Z_OK && result != Z_BUF_ERROR)
            damaged("is damaged" + (stream_.msg ? std::string(" (") + stream_.msg + ")" : std::string()));
        return room - stream_.avail_out;
    }
    // What follows a member: another one, or zeros, with which tapes and disks are filled up.
    bool begin_member() override {
        if (bits_ != gzip_bits) {
            damaged("is followed by other bytes");
            return false;
        }
        while (left_ > 0 && *next_ == 0) {
            ++next_;
            --left_;
        }
        if (left_ == 0) return false;
        ::inflateReset(&stream_);
        between_members_ = false;
        return true;
    }
    void restart() override { ::inflateReset(&stream_); }

    int bits_;
    z_stream stream_{};
};

class packing_zlib_file final : public writable_file {
public:
    packing_zlib_file(std::unique_ptr<writable_file> to, compression how, int level) :
        to_(std::move(to)), packed_(1 << 16) {
        if (::deflateInit2(&stream_, level, Z_DEFLATED, how == compression::gzip ? gzip_bits : zlib_bits, 8,
                           Z_DEFAULT_STRATEGY) != Z_OK)
            throw resource_exhausted_error("no memory for zlib");
    }
    ~packing_zlib_file() override { ::deflateEnd(&stream_); }

    void write(const void* from, std::size_t bytes) override {
        const auto* at = static_cast<const Bytef*>(from);
        while (bytes > 0) {
            const std::size_t part = std::min<std::size_t>(bytes, 1U << 30);
            run(at, static_cast<uInt>(part), Z_NO_FLUSH);
            at += part;
            bytes -= part;
        }
    }
    void commit() override {
        run(nullptr, 0, Z_FINISH);
        to_->commit();
    }

private:
    void run(const Bytef* from, uInt bytes, int flush) {
        stream_.next_in = const_cast<Bytef*>(from); // zlib only reads it
        stream_.avail_in = bytes;
        do {
            stream_.next_out = packed_.data();
            stream_.avail_out = static_cast<uInt>(packed_.size());
            ::deflate(&stream_, flush);
            const std::size_t n = packed_.size() - stream_.avail_out;
            if (n > 0) to_->write(packed_.data(), n);
        } while (stream_.avail_out == 0);
    }

    std::unique_ptr<writable_file> to_;
    z_stream stream_{};
    std::vector<Bytef> packed_;
};
#else
[[noreturn]] inline void no_zlib(const std::string& path, const char* instead) {
    throw unimplemented_error("'" + path + "' is compressed and this build of Tenon has no zlib; " + instead +
                              " or build with zlib");
}
#endif

TENON_INLINE std::unique_ptr<readable_file> inflated([[maybe_unused]] std::unique_ptr<readable_file> file,
                                                     const std::string& path) {
#if TENON_WITH_ZLIB
    return std::make_unique<unpacking_zlib_file>(std::move(file), path, deflate_bits);
#else
    no_zlib(path, "store it without");
#endif
}

} // namespace detail

TENON_INLINE std::unique_ptr<readable_file> unpacked(std::unique_ptr<readable_file> file, const std::string& path,
                                                     compression how) {
    if (how == compression::automatic) how = detail::compression_of(file);
    if (how == compression::none) return file;
    if (how == compression::zstd) return detail::unpacked_zstd(std::move(file), path);
#if TENON_WITH_ZLIB
    return std::make_unique<detail::unpacking_zlib_file>(
        std::move(file), path, how == compression::gzip ? detail::gzip_bits : detail::zlib_bits);
#else
    detail::no_zlib(path, "unpack the file (gunzip)");
#endif
}

TENON_INLINE std::unique_ptr<writable_file> packed(std::unique_ptr<writable_file> file, const std::string& path,
                                                   compression how, int level) {
    if (how == compression::automatic)
        how = path.ends_with(".gz")     ? compression::gzip
              : path.ends_with(".zlib") ? compression::zlib
              : path.ends_with(".zst")  ? compression::zstd
                                        : compression::none;
    const int least = how == compression::zstd ? 1 : 0, most = how == compression::zstd ? 22 : 9;
    if (level != -1 && (level < least || level > most))
        throw invalid_argument_error("'" + path + "': a compression level" +
                                     (how == compression::zstd ? " of zstd" : "") + " is " + std::to_string(least) +
                                     " to " + std::to_string(most) + ", or -1, not " + std::to_string(level));
    if (how == compression::none) return file;
    if (how == compression::zstd) return detail::packed_zstd(std::move(file), path, level);
#if TENON_WITH_ZLIB
    return std::make_unique<detail::packing_zlib_file>(std::move(file), how, level);
#else
    detail::no_zlib(path, "write it without");
#endif
}

} // namespace tenon
