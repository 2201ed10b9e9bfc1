#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#if TENON_WITH_ZLIB
#include <zlib.h>
#endif

#include <tenon/io/numpy/npy.hpp>
#include <tenon/io/numpy/npz.hpp>
#include <tenon/io/records/tfrecord.hpp>

// Zip archives as numpy.savez writes them (APPNOTE.TXT 4.3): a directory at the end says where the members are.

namespace tenon {

namespace detail {

struct zip_member {
    std::string name;
    unsigned method = 0; // 0: stored, 8: deflated
    std::uint32_t crc = 0;
    std::uint64_t packed = 0, size = 0, offset = 0;
};

// So many bytes of a file from where it is, as a file; with their CRC-32 where zlib is there.
class zip_section final : public readable_file {
public:
    zip_section(readable_file& from, std::uint64_t bytes) : from_(from), left_(bytes) {}
    std::size_t read(void* to, std::size_t bytes) override {
        const std::size_t n = from_.read(to, static_cast<std::size_t>(std::min<std::uint64_t>(bytes, left_)));
        left_ -= n;
        return n;
    }
    void seek(std::uint64_t) override { throw unimplemented_error("a member of a zip archive is read once"); }
    std::int64_t size() const override { return -1; }

private:
    readable_file& from_;
    std::uint64_t left_;
};

class zip_archive {
public:
    zip_archive(readable_file& file, std::string name) : file_(file), name_(std::move(name)) {
        if (file.size() < 0)
            throw unimplemented_error("'" + name_ + "' is read from its end, which a pipe does not have; use a file");
        size_ = static_cast<std::uint64_t>(file.size());
    }

    std::vector<zip_member> members() {
        const std::string directory = find_directory();
        std::vector<zip_member> found;
        std::uint64_t held = 0;
        for (std::size_t at = 0; at < directory.size();) {
            const auto entry = std::string_view(directory).substr(at);
            if (entry.size() < 46 || number<std::uint32_t>(entry, 0) != 0x02014B50)
                damaged("its directory has no entry at byte " + std::to_string(at));
            const std::size_t name = number<std::uint16_t>(entry, 28), extra = number<std::uint16_t>(entry, 30);
            const std::size_t all = 46 + name + extra + number<std::uint16_t>(entry, 32);
            if (entry.size() < all) damaged("its directory is cut off at byte " + std::to_string(at));
            zip_member m{std::string(entry.substr(46, name)), number<std::uint16_t>(entry, 10),
                         number<std::uint32_t>(entry, 16),    number<std::uint32_t>(entry, 20),
                         number<std::uint32_t>(entry, 24),    number<std::uint32_t>(entry, 42)};
            take_large_sizes(entry.substr(46 + name, extra), m);
            if (number<std::uint16_t>(entry, 8) & 1)
                throw unimplemented_error(member(m) + " is encrypted, which cannot be read");
            held += m.packed;
            if (m.packed > size_ || held > size_) damaged("its members are larger than itself"); // or overlap
            found.push_back(std::move(m));
            at += all;
        }
        return found;
    }

    any_array read(const zip_member& m) {
        const std::string head = bytes_at(m.offset, 30, member(m));
        if (number<std::uint32_t>(head, 0) != 0x04034B50)
            damaged("there is no " + member(m) + " where its directory says");
        const std::uint64_t begin = m.offset + 30 + number<std::uint16_t>(head, 26) + number<std::uint16_t>(head, 28);
        if (begin > size_ || m.packed > size_ - begin) damaged(member(m) + " reaches behind the end of the file");
        file_.seek(begin);
        auto section = std::make_unique<zip_section>(file_, m.packed);
        const auto size = static_cast<std::int64_t>(std::min<std::uint64_t>(m.size, std::uint64_t{1} << 62));
        if (m.method == 0) {
            if (m.packed != m.size) damaged(member(m) + " is stored, but of two sizes");
            return checked(m, *section, size, true);
        }
        if (m.method != 8)
            throw unimplemented_error(member(m) + " is compressed by method " + std::to_string(m.method) +
                                      "; stored and deflated members can be read");
        const auto most = static_cast<std::int64_t>((m.packed + 1) * static_cast<std::uint64_t>(best_compression));
        if (size > most) damaged(member(m) + " cannot unpack to " + std::to_string(m.size) + " bytes");
        return checked(m, *inflated(std::move(section), member(m)), size, false);
    }

private:
    template <class T> static T number(std::string_view bytes, std::size_t at) {
        return little_endian<T>(bytes.data() + at);
    }
    [[noreturn]] void damaged(const std::string& what) const {
        throw data_loss_error("'" + name_ + "': the .npz file is cut off or damaged: " + what);
    }
    std::string member(const zip_member& m) const { return name_ + ":" + m.name; }
    std::string bytes_at(std::uint64_t at, std::uint64_t bytes, const std::string& what) {
        if (at > size_ || bytes > size_ - at) damaged(what + " reaches behind the end of the file");
        std::string b(static_cast<std::size_t>(bytes), '\0');
        file_.seek(at);
        if (read_fully(file_, b.data(), b.size()) < b.size()) damaged("it became shorter");
        return b;
    }

    // The bytes of the directory. What ends the archive is within its last 64 KiB; large archives have a larger end before it.
    std::string find_directory() {
        const std::uint64_t tail = std::min<std::uint64_t>(size_, 22 + 0xFFFF);
        const std::string last = bytes_at(size_ - tail, tail, "its end");
        if (!last.empty() && size_ == tail && !last.starts_with("PK"))
            throw invalid_argument_error("'" + name_ + "': no .npz file: it does not begin with \"PK\"");
        const std::size_t at = last.rfind(std::string_view("PK\5\6", 4));
        if (at == std::string::npos || last.size() - at < 22) damaged("it has no directory at its end");
        const std::string_view end = std::string_view(last).substr(at);
        std::uint64_t bytes = number<std::uint32_t>(end, 12), offset = number<std::uint32_t>(end, 16);
        if ((bytes == 0xFFFFFFFF || offset == 0xFFFFFFFF) && at >= 20 &&
            last.compare(at - 20, 4, std::string_view("PK\6\7", 4)) == 0) {
            const std::string larger = bytes_at(number<std::uint64_t>(last, at - 20 + 8), 56, "its larger end");
            if (number<std::uint32_t>(larger, 0) != 0x06064B50) damaged("its larger end is not where it should be");
            bytes = number<std::uint64_t>(larger, 40);
            offset = number<std::uint64_t>(larger, 48);
        }
        return bytes_at(offset, bytes, "its directory");
    }

    // Sizes and places that do not fit into 32 bits stand in the extra field 1.
    void take_large_sizes(std::string_view extra, zip_member& m) const {
        while (extra.size() >= 4) {
            const std::size_t id = number<std::uint16_t>(extra, 0), bytes = number<std::uint16_t>(extra, 2);
            if (extra.size() - 4 < bytes) return;
            std::string_view values = extra.substr(4, bytes);
            for (std::uint64_t* value : {&m.size, &m.packed, &m.offset}) {
                if (id != 1 || *value != 0xFFFFFFFF) continue;
                if (values.size() < 8) damaged("the sizes of " + member(m) + " are cut off");
                *value = number<std::uint64_t>(values, 0);
                values.remove_prefix(8);
            }
            extra.remove_prefix(4 + bytes);
        }
    }

    any_array checked(const zip_member& m, readable_file& file, std::int64_t size, bool exact) {
        std::uint32_t crc = 0;
        summed_file summed(file, crc);
        any_array a = read_npy_from(summed, member(m), size, exact);
#if TENON_WITH_ZLIB
        if (crc != m.crc) damaged("the checksum of " + member(m) + " does not fit");
#endif
        return a;
    }

    // Keeps the CRC-32 of what is read.
    class summed_file final : public readable_file {
    public:
        summed_file(readable_file& from, std::uint32_t& crc) : from_(from), crc_(crc) {}
        std::size_t read(void* to, std::size_t bytes) override {
            const std::size_t n = from_.read(to, std::min<std::size_t>(bytes, 1U << 30));
#if TENON_WITH_ZLIB
            crc_ = static_cast<std::uint32_t>(::crc32(crc_, static_cast<const Bytef*>(to), static_cast<uInt>(n)));
#endif
            return n;
        }
        void seek(std::uint64_t position) override { from_.seek(position); }
        std::int64_t size() const override { return from_.size(); }

    private:
        readable_file& from_;
        std::uint32_t& crc_;
    };

    readable_file& file_;
    std::string name_;
    std::uint64_t size_ = 0;
};

inline std::map<std::string, any_array> read_npz_file(const auto& open, const std::string& name) {
    try {
        const std::unique_ptr<readable_file> file = open();
        zip_archive archive(*file, name);
        std::map<std::string, any_array> arrays;
        for (const zip_member& m : archive.members())
            if (m.name.ends_with(".npy")) arrays.insert_or_assign(m.name.substr(0, m.name.size() - 4), archive.read(m));
        return arrays;
    } catch (const error& e) {
        throw_error(e.code(), std::string("read_npz: ") + e.what());
    }
}

} // namespace detail

TENON_INLINE std::map<std::string, any_array> read_npz(const std::string& path) {
    return detail::read_npz_file([&] { return file_system_of(path).open(path); }, path);
}

TENON_INLINE std::map<std::string, any_array> parse_npz(std::span<const std::byte> bytes, const std::string& name) {
    return detail::read_npz_file([&] { return detail::file_of_bytes(bytes.data(), bytes.size()); }, name);
}

} // namespace tenon
