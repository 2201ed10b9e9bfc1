#pragma once

#include <tenon/io/files/zstd.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

#if TENON_WITH_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
#endif

#include <tenon/core/error.hpp>
#include <tenon/io/files/unpacking_file.hpp>

namespace tenon::detail {

TENON_INLINE bool begins_zstd(const std::vector<unsigned char>& first) {
    if (first.size() < 4) return false;
    std::uint32_t magic = 0; // little-endian
    for (std::size_t i = 4; i-- > 0;) magic = magic << 8 | first[i];
    return magic == 0xFD2FB528 || (magic & 0xFFFFFFF0) == 0x184D2A50;
}

#if TENON_WITH_ZSTD
class unpacking_zstd_file final : public unpacking_file {
public:
    unpacking_zstd_file(std::unique_ptr<readable_file> from, std::string path) :
        unpacking_file(std::move(from), std::move(path), "zstd"), stream_(::ZSTD_createDStream()) {
        if (!stream_) throw resource_exhausted_error("no memory for zstd");
        ::ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, most_zstd_window);
    }

private:
    // A call that fails does not say what it had unpacked before: each is given one block, or what stands before one, which is what the
    // last one asked for less the three bytes behind it, and what waits in the library is taken first.
    std::size_t unpack(unsigned char* to, std::size_t room) override {
        const std::size_t piece = asked_ > 3 ? asked_ - 3 : asked_;
        ZSTD_inBuffer in{next_, more_waits_ ? 0 : std::min(left_, piece), 0};
        ZSTD_outBuffer out{to, room, 0};
        const std::size_t result = ::ZSTD_decompressStream(stream_.get(), &out, &in);
        next_ += in.pos;
        left_ -= in.pos;
        if (::ZSTD_isError(result)) {
            told(result);
        } else {
            between_members_ = result == 0;
            frames_ += between_members_;
            asked_ = result == 0 ? at_first : result;
            more_waits_ = out.pos == room && result != 0;
        }
        return out.pos;
    }
    bool begin_member() override {
        between_members_ = false; // the library looks at what follows
        return true;
    }
    void restart() override {
        ::ZSTD_DCtx_reset(stream_.get(), ZSTD_reset_session_only);
        frames_ = 0;
        asked_ = at_first;
    }
    void told(std::size_t result) {
        switch (::ZSTD_getErrorCode(result)) {
        case ZSTD_error_frameParameter_windowTooLarge:
            return fail<resource_exhausted_error>(
                "needs a window of more than " + std::to_string(1 << (most_zstd_window - 20)) +
                " MiB in memory: pack the file again with --long=" + std::to_string(most_zstd_window) + " or less");
        case ZSTD_error_dictionary_wrong:
            return fail<unimplemented_error>("needs a dictionary: pack the file again without one");
        case ZSTD_error_memory_allocation: return fail<resource_exhausted_error>("needs memory that is not there");
        case ZSTD_error_prefix_unknown:
            if (frames_ > 0) return damaged("is followed by other bytes");
            [[fallthrough]];
        default: return damaged("is damaged (" + std::string(::ZSTD_getErrorName(result)) + ")");
        }
    }

    static constexpr std::size_t at_first = 5; // the least of a frame's header
    struct freed {
        void operator()(ZSTD_DStream* s) const { ::ZSTD_freeDStream(s); }
    };
    std::unique_ptr<ZSTD_DStream, freed> stream_;
    std::size_t asked_ = at_first; // bytes, by the library
    std::uint64_t frames_ = 0;     // that have ended
};

class packing_zstd_file final : public writable_file {
public:
    packing_zstd_file(std::unique_ptr<writable_file> to, int level) :
        to_(std::move(to)), stream_(::ZSTD_createCStream()), packed_(::ZSTD_CStreamOutSize()) {
        if (!stream_) throw resource_exhausted_error("no memory for zstd");
        if (level != -1) ::ZSTD_CCtx_setParameter(stream_.get(), ZSTD_c_compressionLevel, level);
        ::ZSTD_CCtx_setParameter(stream_.get(), ZSTD_c_checksumFlag, 1);
    }

    void write(const void* from, std::size_t bytes) override {
        ZSTD_inBuffer in{from, bytes, 0};
        while (in.pos < in.size) run(in, ZSTD_e_continue);
    }
    void commit() override {
        ZSTD_inBuffer in{nullptr, 0, 0};
        while (run(in, ZSTD_e_end) > 0) {
        }
        to_->commit();
    }

private:
    // How much is still to come of it.
    std::size_t run(ZSTD_inBuffer& in, ZSTD_EndDirective end) {
        ZSTD_outBuffer out{packed_.data(), packed_.size(), 0};
        const std::size_t left = ::ZSTD_compressStream2(stream_.get(), &out, &in, end);
        if (::ZSTD_isError(left))
            throw resource_exhausted_error(std::string("zstd cannot pack: ") + ::ZSTD_getErrorName(left));
        if (out.pos > 0) to_->write(packed_.data(), out.pos);
        return left;
    }

    struct freed {
        void operator()(ZSTD_CStream* s) const { ::ZSTD_freeCStream(s); }
    };
    std::unique_ptr<writable_file> to_;
    std::unique_ptr<ZSTD_CStream, freed> stream_;
    std::vector<unsigned char> packed_;
};

TENON_INLINE std::unique_ptr<readable_file> unpacked_zstd(std::unique_ptr<readable_file> file,
                                                          const std::string& path) {
    return std::make_unique<unpacking_zstd_file>(std::move(file), path);
}
TENON_INLINE std::unique_ptr<writable_file> packed_zstd(std::unique_ptr<writable_file> file, const std::string&,
                                                        int level) {
    return std::make_unique<packing_zstd_file>(std::move(file), level);
}
TENON_INLINE std::string zstd_library() { return ::ZSTD_versionString(); }
#else
[[noreturn]] inline void no_zstd(const std::string& path, const char* instead) {
    throw unimplemented_error("'" + path + "' is compressed by zstd and this build of Tenon has no libzstd; " +
                              instead + " or build with libzstd (Debian: libzstd-dev)");
}
TENON_INLINE std::unique_ptr<readable_file> unpacked_zstd(std::unique_ptr<readable_file>, const std::string& path) {
    no_zstd(path, "unpack the file (unzstd)");
}
TENON_INLINE std::unique_ptr<writable_file> packed_zstd(std::unique_ptr<writable_file>, const std::string& path, int) {
    no_zstd(path, "write it without");
}
TENON_INLINE std::string zstd_library() { return "not found: .zst files cannot be read"; }
#endif

} // namespace tenon::detail
