#pragma once

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#if TENON_WITH_ZLIB
#include <zlib.h>
#endif

#include <tenon/core/error.hpp>
#include <tenon/io/files/compressed.hpp>

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

// gzip, zlib or none.
inline compression kind_of(std::unique_ptr<readable_file>& file) {
    // Two bytes tell nearly always: a pipe may not have more for a long time.
    std::vector<unsigned char> first(peeked_bytes);
    std::size_t there = 0;
    while (there < first.size()) {
        const bool may_be_zlib = first[0] == 0x78 && (first[0] * 256 + first[1]) % 31 == 0;
        if (there >= 2 && first[0] != 0x1F && !may_be_zlib) break;
        const std::size_t n = file->read(first.data() + there, first.size() - there);
        if (n == 0) break;
        there += n;
    }
    first.resize(there);
    compression kind = begins_gzip(first) ? compression::gzip : compression::none;
#if TENON_WITH_ZLIB
    if (kind == compression::none && begins_zlib(first)) kind = compression::zlib;
#endif
    if (file->size() >= 0) file->seek(0);
    else file = std::make_unique<peeked_file>(std::move(first), std::move(file));
    return kind;
}

TENON_INLINE bool is_packed(std::unique_ptr<readable_file>& file) { return kind_of(file) != compression::none; }

#if TENON_WITH_ZLIB
// As zlib names the formats: how large the window is, and what stands around it.
inline constexpr int gzip_bits = 15 + 16, zlib_bits = 15, deflate_bits = -15;

class unpacking_file final : public readable_file {
public:
    unpacking_file(std::unique_ptr<readable_file> from, std::string path, int bits) :
        from_(std::move(from)), path_(std::move(path)), bits_(bits), packed_(1 << 16) {
        if (::inflateInit2(&stream_, bits) != Z_OK) throw resource_exhausted_error("no memory for zlib");
    }
    ~unpacking_file() override { ::inflateEnd(&stream_); }

    std::size_t read(void* to, std::size_t bytes) override {
        std::size_t done = 0;
        while (done < bytes && !ended_) {
            if (fault_) {
                if (done > 0) break; // what came before it is given first
                std::rethrow_exception(fault_);
            }
            if (stream_.avail_in == 0 && !more_waits_ && !refill()) continue;
            if (between_members_ && !begin_member()) continue;
            const auto room = static_cast<uInt>(std::min<std::size_t>(bytes - done, 1U << 30));
            stream_.next_out = static_cast<Bytef*>(to) + done;
            stream_.avail_out = room;
            const int result = ::inflate(&stream_, Z_NO_FLUSH);
            done += room - stream_.avail_out;
            more_waits_ = stream_.avail_out == 0 && result == Z_OK; // in zlib, for which there was no room
            if (result == Z_STREAM_END) between_members_ = true;
            else if (result != Z_OK && result != Z_BUF_ERROR)
                damaged("is damaged" + (stream_.msg ? std::string(" (") + stream_.msg + ")" : std::string()));
        }
        at_ += done;
        return done;
    }
    void seek(std::uint64_t position) override {
        if (position < at_) {
            from_->seek(0);
            ::inflateReset(&stream_);
            stream_.avail_in = 0;
            at_ = taken_ = 0;
            between_members_ = ended_ = more_waits_ = false;
            fault_ = nullptr;
        }
        std::vector<std::byte> passed(std::min<std::uint64_t>(position - at_, 1 << 16));
        while (at_ < position)
            if (read(passed.data(), std::min<std::uint64_t>(position - at_, passed.size())) == 0) break;
    }
    std::int64_t size() const override { return -1; }

private:
    bool refill() {
        try {
            stream_.next_in = packed_.data();
            stream_.avail_in = static_cast<uInt>(from_->read(packed_.data(), packed_.size()));
        } catch (...) {
            fault_ = std::current_exception();
            return false;
        }
        taken_ += stream_.avail_in;
        if (stream_.avail_in > 0) return true;
        if (between_members_) ended_ = true;
        else damaged(taken_ == 0 ? "is empty: not even its header is there" : "ends too early");
        return false;
    }
    // What follows a member: another one, or zeros, with which tapes and disks are filled up.
    bool begin_member() {
        if (bits_ != gzip_bits) {
            damaged("is followed by other bytes");
            return false;
        }
        while (stream_.avail_in > 0 && *stream_.next_in == 0) {
            ++stream_.next_in;
            --stream_.avail_in;
        }
        if (stream_.avail_in == 0) return false;
        ::inflateReset(&stream_);
        between_members_ = false;
        return true;
    }
    void damaged(const std::string& what) {
        fault_ = std::make_exception_ptr(data_loss_error("'" + path_ + "': the " +
                                                         (bits_ == gzip_bits   ? "gzipped"
                                                          : bits_ == zlib_bits ? "zlib"
                                                                               : "deflated") +
                                                         " data " + what + ", at byte " +
                                                         std::to_string(taken_ - stream_.avail_in) + " of the file"));
    }

    std::unique_ptr<readable_file> from_;
    std::string path_;
    int bits_;
    z_stream stream_{};
    std::vector<Bytef> packed_;
    std::uint64_t at_ = 0;    // of what is unpacked
    std::uint64_t taken_ = 0; // of the file
    bool between_members_ = false, ended_ = false, more_waits_ = false;
    std::exception_ptr fault_; // told when all that came before it has been given
};

class packing_file final : public writable_file {
public:
    packing_file(std::unique_ptr<writable_file> to, compression how, int level) : to_(std::move(to)), packed_(1 << 16) {
        if (::deflateInit2(&stream_, level, Z_DEFLATED, how == compression::gzip ? gzip_bits : zlib_bits, 8,
                           Z_DEFAULT_STRATEGY) != Z_OK)
            throw resource_exhausted_error("no memory for zlib");
    }
    ~packing_file() override { ::deflateEnd(&stream_); }

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
    return std::make_unique<unpacking_file>(std::move(file), path, deflate_bits);
#else
    no_zlib(path, "store it without");
#endif
}

} // namespace detail

TENON_INLINE std::unique_ptr<readable_file> unpacked(std::unique_ptr<readable_file> file, const std::string& path,
                                                     compression how) {
    if (how == compression::automatic) how = detail::kind_of(file);
    if (how == compression::none) return file;
#if TENON_WITH_ZLIB
    return std::make_unique<detail::unpacking_file>(std::move(file), path,
                                                    how == compression::gzip ? detail::gzip_bits : detail::zlib_bits);
#else
    detail::no_zlib(path, "unpack the file (gunzip)");
#endif
}

TENON_INLINE std::unique_ptr<writable_file> packed(std::unique_ptr<writable_file> file, const std::string& path,
                                                   compression how, int level) {
    if (level < -1 || level > 9)
        throw invalid_argument_error("'" + path + "': a compression level is 0 to 9, or -1, not " +
                                     std::to_string(level));
    if (how == compression::automatic)
        how = path.ends_with(".gz")     ? compression::gzip
              : path.ends_with(".zlib") ? compression::zlib
                                        : compression::none;
    if (how == compression::none) return file;
#if TENON_WITH_ZLIB
    return std::make_unique<detail::packing_file>(std::move(file), how, level);
#else
    detail::no_zlib(path, "write it without");
#endif
}

} // namespace tenon
