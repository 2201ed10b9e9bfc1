#pragma once

#include <algorithm>
#include <bit>
#include <set>
#include <string_view>
#include <vector>

#if TENON_WITH_ZLIB
#include <zlib.h>
#endif

#include <tenon/io/numpy/elements.hpp>
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
    std::uint64_t begin = 0; // of its data
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

    // All that are in it. The directory is held against what stands before each member, so that none is lost in silence where
    // either is damaged.
    std::vector<zip_member> members() {
        std::vector<zip_member> found = listed();
        std::vector<zip_member*> by_place;
        for (zip_member& m : found) by_place.push_back(&m);
        std::sort(by_place.begin(), by_place.end(),
                  [](const zip_member* a, const zip_member* b) { return a->offset < b->offset; });
        std::uint64_t end = 0;
        for (zip_member* const m : by_place) {
            require_nothing_between(end, m->offset);
            end = hold_against_header(*m);
        }
        require_nothing_between(end, directory_begin_);
        std::sort(by_place.begin(), by_place.end(),
                  [](const zip_member* a, const zip_member* b) { return a->name < b->name; });
        for (std::size_t i = 1; i < by_place.size(); ++i)
            if (by_place[i]->name == by_place[i - 1]->name)
                damaged("its directory has " + member(*by_place[i]) + " twice");
        return found;
    }

    any_array read(const zip_member& m) {
        file_.seek(m.begin);
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
    std::vector<zip_member> listed() {
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
            take_large_sizes(entry.substr(46 + name, extra), m, {&m.size, &m.packed, &m.offset});
            if (number<std::uint16_t>(entry, 8) & 1)
                throw unimplemented_error(member(m) + " is encrypted, which cannot be read");
            held += m.packed;
            if (m.packed > size_ || held > size_) damaged("its members are larger than itself"); // or overlap
            found.push_back(std::move(m));
            at += all;
        }
        if (found.size() != count_)
            damaged("its directory has " + std::to_string(found.size()) + " members, and its end says " +
                    std::to_string(count_));
        return found;
    }

    // What stands before the member's data must say what the directory says. Where what follows its data begins.
    std::uint64_t hold_against_header(zip_member& m) {
        const std::string head = bytes_at(m.offset, 30, member(m));
        if (number<std::uint32_t>(head, 0) != 0x04034B50)
            damaged("there is no " + member(m) + " where its directory says");
        const std::uint64_t name = number<std::uint16_t>(head, 26), extra = number<std::uint16_t>(head, 28);
        m.begin = m.offset + 30 + name + extra;
        if (m.begin > size_ || m.packed > size_ - m.begin) damaged(member(m) + " reaches behind the end of the file");
        const std::string rest = bytes_at(m.offset + 30, name + extra, member(m));
        zip_member here{rest.substr(0, static_cast<std::size_t>(name)), number<std::uint16_t>(head, 8),
                        number<std::uint32_t>(head, 14), number<std::uint32_t>(head, 18),
                        number<std::uint32_t>(head, 22)};
        if (here.name != m.name)
            damaged("its directory calls a member " + member(m) + ", which calls itself " + member(here));
        take_large_sizes(std::string_view(rest).substr(static_cast<std::size_t>(name)), here,
                         {&here.size, &here.packed});
        const bool sizes_follow = (number<std::uint16_t>(head, 6) & 8) != 0; // behind the data
        const bool says_none = sizes_follow && here.crc == 0 && (here.packed == 0 || here.packed == 0xFFFFFFFF) &&
                               (here.size == 0 || here.size == 0xFFFFFFFF);
        if (here.method != m.method ||
            (!says_none && (here.crc != m.crc || here.packed != m.packed || here.size != m.size)))
            damaged("its directory says other than what stands before " + member(m) + ": " + facts(m) + ", not " +
                    facts(here));
        return m.begin + m.packed + (sizes_follow ? bytes_of_sizes(m) : 0);
    }
    static std::string facts(const zip_member& m) {
        return "method " + std::to_string(m.method) + ", " + std::to_string(m.packed) + " bytes for " +
               std::to_string(m.size) + ", checksum " + std::to_string(m.crc);
    }
    // Of what follows the data where its writer knew the sizes then only: 32 or 64 bits each, with a mark before them or without.
    std::uint64_t bytes_of_sizes(const zip_member& m) {
        const std::uint64_t at = m.begin + m.packed;
        const std::string there = bytes_at(at, std::min<std::uint64_t>(24, size_ - at), member(m));
        for (const std::size_t mark : {std::size_t{4}, std::size_t{0}})
            for (const std::size_t each : {std::size_t{4}, std::size_t{8}}) {
                if (there.size() < mark + 4 + 2 * each) continue;
                if (mark && number<std::uint32_t>(there, 0) != 0x08074B50) continue;
                const auto value = [&](std::size_t i) {
                    const std::size_t from = mark + 4 + i * each;
                    return each == 4 ? number<std::uint32_t>(there, from) : number<std::uint64_t>(there, from);
                };
                if (number<std::uint32_t>(there, mark) == m.crc && value(0) == m.packed && value(1) == m.size)
                    return mark + 4 + 2 * each;
            }
        damaged("what follows the data of " + member(m) + " does not have its sizes");
    }
    void require_nothing_between(std::uint64_t begin, std::uint64_t end) {
        if (begin == end) return;
        if (begin > end) damaged("two members, or one and the directory, overlap at byte " + std::to_string(end));
        const std::string head = bytes_at(begin, std::min<std::uint64_t>(end - begin, 30 + 0xFFFF), "a member");
        std::string what = "bytes " + std::to_string(begin) + " to " + std::to_string(end) + " are no member's";
        if (head.size() >= 30 && number<std::uint32_t>(head, 0) == 0x04034B50)
            what = member({head.substr(30, number<std::uint16_t>(head, 26))}) + " is not in its directory";
        damaged(what);
    }

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
        std::uint64_t behind = size_ - tail + at; // the directory
        count_ = number<std::uint16_t>(end, 10);
        if ((bytes == 0xFFFFFFFF || offset == 0xFFFFFFFF || count_ == 0xFFFF) && at >= 20 &&
            last.compare(at - 20, 4, std::string_view("PK\6\7", 4)) == 0) {
            behind = number<std::uint64_t>(last, at - 20 + 8);
            const std::string larger = bytes_at(behind, 56, "its larger end");
            if (number<std::uint32_t>(larger, 0) != 0x06064B50) damaged("its larger end is not where it should be");
            count_ = number<std::uint64_t>(larger, 32);
            bytes = number<std::uint64_t>(larger, 40);
            offset = number<std::uint64_t>(larger, 48);
        }
        if (offset > behind || bytes != behind - offset)
            damaged("its end says that the directory is " + std::to_string(bytes) + " bytes at byte " +
                    std::to_string(offset) + ", and the end is at byte " + std::to_string(behind));
        directory_begin_ = offset;
        return bytes_at(offset, bytes, "its directory");
    }

    // Sizes and places that do not fit into 32 bits stand in the extra field 1.
    void take_large_sizes(std::string_view extra, const zip_member& m,
                          std::initializer_list<std::uint64_t*> those) const {
        while (extra.size() >= 4) {
            const std::size_t id = number<std::uint16_t>(extra, 0), bytes = number<std::uint16_t>(extra, 2);
            if (extra.size() - 4 < bytes) return;
            std::string_view values = extra.substr(4, bytes);
            for (std::uint64_t* const value : those) {
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
    std::uint64_t count_ = 0, directory_begin_ = 0; // members, as its end says
};

inline std::map<std::string, any_array> read_npz_file(const auto& open, const std::string& name) {
    return detail::said_by("read_npz", [&] {
        const std::unique_ptr<readable_file> file = open();
        zip_archive archive(*file, name);
        std::map<std::string, any_array> arrays;
        for (const zip_member& m : archive.members())
            if (m.name.ends_with(".npy")) arrays.insert_or_assign(m.name.substr(0, m.name.size() - 4), archive.read(m));
        return arrays;
    });
}

#if TENON_WITH_ZLIB

// A zip archive while it is written: members one after another, then where they are.
class zip_writer {
public:
    zip_writer(writable_file& to, bool compressed) : to_(to), compressed_(compressed) {}

    void add(const std::string& name, const std::string& head, const any_array& a) {
        std::uint32_t crc = 0;
        const std::string_view parts[] = {head, {static_cast<const char*>(a.data()), a.bytes()}};
        std::uint64_t size = 0;
        for (const std::string_view p : parts) {
            for (std::size_t at = 0; at < p.size(); at += chunk)
                crc = static_cast<std::uint32_t>(::crc32(crc, reinterpret_cast<const Bytef*>(p.data() + at),
                                                         static_cast<uInt>(std::min(chunk, p.size() - at))));
            size += p.size();
        }
        const std::string small = compressed_ ? deflated(parts) : std::string();
        const std::uint64_t stored = compressed_ ? small.size() : size;
        entry e{name, crc, stored, size, at_};
        put(header(e, false));
        if (compressed_) put(small);
        else
            for (const std::string_view p : parts) put(p);
        entries_.push_back(std::move(e));
    }

    void finish() {
        const std::uint64_t begin = at_;
        for (const entry& e : entries_) put(header(e, true));
        const std::uint64_t bytes = at_ - begin, count = entries_.size();
        std::string end;
        if (count >= 0xFFFF || bytes >= none || begin >= none) { // the larger end, and where it is
            const std::uint64_t larger = at_;
            number(end, 0x06064B50, 4), number(end, 44, 8), number(end, 45, 2), number(end, 45, 2), number(end, 0, 8);
            number(end, count, 8), number(end, count, 8), number(end, bytes, 8), number(end, begin, 8);
            number(end, 0x07064B50, 4), number(end, 0, 4), number(end, larger, 8), number(end, 1, 4);
        }
        const auto few = static_cast<std::uint64_t>(std::min<std::uint64_t>(count, 0xFFFF));
        number(end, 0x06054B50, 4), number(end, 0, 4), number(end, few, 2), number(end, few, 2);
        number(end, std::min(bytes, none), 4), number(end, std::min(begin, none), 4), number(end, 0, 2);
        put(end);
    }

private:
    static constexpr std::size_t chunk = std::size_t{1} << 30;
    static constexpr std::uint64_t none = 0xFFFFFFFF;
    struct entry {
        std::string name;
        std::uint32_t crc;
        std::uint64_t packed, size, offset;
    };

    static void number(std::string& to, std::uint64_t v, int bytes) {
        for (int i = 0; i < bytes; ++i) to += static_cast<char>(v >> (8 * i));
    }
    void put(std::string_view bytes) {
        to_.write(bytes.data(), bytes.size());
        at_ += bytes.size();
    }
    // What stands before a member's data, or in the directory. Sizes of 4 GiB and more are in an extra field.
    std::string header(const entry& e, bool in_directory) const {
        std::string extra;
        const bool large = e.packed >= none || e.size >= none, far = in_directory && e.offset >= none;
        if (large) number(extra, e.size, 8), number(extra, e.packed, 8);
        if (far) number(extra, e.offset, 8);
        std::string h;
        number(h, in_directory ? 0x02014B50 : 0x04034B50, 4);
        if (in_directory) number(h, 45, 2);
        number(h, 45, 2), number(h, 0x0800, 2), number(h, compressed_ ? 8 : 0, 2); // names are UTF-8
        number(h, 0, 2), number(h, 0x21, 2); // 1 January 1980, so that equal arrays are equal files
        number(h, e.crc, 4);
        number(h, large ? none : e.packed, 4), number(h, large ? none : e.size, 4);
        number(h, e.name.size(), 2), number(h, extra.empty() ? 0 : extra.size() + 4, 2);
        if (in_directory)
            number(h, 0, 2), number(h, 0, 2), number(h, 0, 2), number(h, 0, 4), number(h, far ? none : e.offset, 4);
        h += e.name;
        if (!extra.empty()) number(h, 1, 2), number(h, extra.size(), 2), h += extra;
        return h;
    }
    static std::string deflated(std::span<const std::string_view> parts) {
        z_stream z{};
        if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            throw resource_exhausted_error("there is no memory to compress");
        const std::unique_ptr<z_stream, int (*)(z_stream*)> ends(&z, deflateEnd);
        std::string out, buffer(std::size_t{1} << 18, '\0');
        const auto run = [&](int flush) {
            int code = Z_OK;
            do {
                z.next_out = reinterpret_cast<Bytef*>(buffer.data());
                z.avail_out = static_cast<uInt>(buffer.size());
                code = ::deflate(&z, flush);
                out.append(buffer, 0, buffer.size() - z.avail_out);
            } while (flush == Z_FINISH ? code != Z_STREAM_END : z.avail_in > 0 || z.avail_out == 0);
        };
        for (const std::string_view p : parts)
            for (std::size_t at = 0; at < p.size(); at += chunk) {
                z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(p.data() + at));
                z.avail_in = static_cast<uInt>(std::min(chunk, p.size() - at));
                run(Z_NO_FLUSH);
            }
        run(Z_FINISH);
        return out;
    }

    writable_file& to_;
    bool compressed_;
    std::uint64_t at_ = 0;
    std::vector<entry> entries_;
};

#endif

} // namespace detail

TENON_INLINE std::map<std::string, any_array> read_npz(const std::string& path) {
    return detail::read_npz_file([&] { return file_system_of(path).open(path); }, path);
}

TENON_INLINE std::map<std::string, any_array> parse_npz(std::span<const std::byte> bytes, const std::string& name) {
    return detail::read_npz_file([&] { return detail::file_of_bytes(bytes.data(), bytes.size()); }, name);
}

TENON_INLINE void write_npz(const std::string& path, std::span<const named_array> arrays,
                            [[maybe_unused]] const npz_options& o) {
    const std::string who = "write_npz: '" + path + "'";
#if TENON_WITH_ZLIB
    std::vector<std::string> heads;
    std::set<std::string> names;
    for (const named_array& a : arrays) {
        if (a.name.empty()) throw invalid_argument_error(who + ": an array has no name");
        if (a.name.size() > 60000)
            throw invalid_argument_error(who + ": a name has " + std::to_string(a.name.size()) + " bytes");
        if (!names.insert(a.name).second)
            throw invalid_argument_error(who + ": the name \"" + a.name + "\" is given twice");
        heads.push_back(detail::npy_head(a.value, who + ": \"" + a.name + '"'));
    }
    detail::said_by("write_npz", [&] {
        const std::unique_ptr<writable_file> file = file_system_of(path).create(path);
        detail::zip_writer zip(*file, o.compressed);
        for (std::size_t i = 0; i < arrays.size(); ++i) {
            any_array stored = arrays[i].value.share();
            if constexpr (std::endian::native == std::endian::big) {
                stored = stored.copy();
                detail::swap_bytes(stored);
            }
            zip.add(arrays[i].name + ".npy", heads[i], stored);
        }
        zip.finish();
        file->commit();
    });
#else
    (void)arrays;
    throw unimplemented_error(who + ": this build has no zlib, which it needs; build with TENON_WITH_ZLIB=ON");
#endif
}

} // namespace tenon
