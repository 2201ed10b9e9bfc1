#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <sys/stat.h>

#if TENON_WITH_ZLIB
#include <zlib.h>
#endif

#include <tenon/core/file.hpp>
#include <tenon/data/idx.hpp>

namespace tenon {

namespace detail {

struct idx_element {
    std::uint8_t code;
    element_type element;
};
inline constexpr idx_element idx_elements[] = {{0x08, element_type::uint8},   {0x09, element_type::int8},
                                               {0x0B, element_type::int16},   {0x0C, element_type::int32},
                                               {0x0D, element_type::float32}, {0x0E, element_type::float64}};

// Where the bytes of an IDX file come from.
class idx_source {
public:
    explicit idx_source(input_file& file) : file_(&file), name_(file.path()), stored_(file.size()) {}
    idx_source(std::span<const std::byte> bytes, const std::string& name) :
        rest_(bytes), name_(name), stored_(static_cast<std::int64_t>(bytes.size())) {}

    const std::string& name() const { return name_; }
    // What is stored, compressed or not; -1 when that is not known.
    std::int64_t stored() const { return stored_; }

    std::size_t read(void* to, std::size_t bytes) {
        std::size_t n = std::min(bytes, rest_.size());
        if (n > 0) std::memcpy(to, rest_.data(), n);
        rest_ = rest_.subspan(n);
        if (n < bytes && file_) n += file_->read(static_cast<std::byte*>(to) + n, bytes - n);
        return n;
    }

    bool is_gzipped() {
        if (file_) {
            peeked_.resize(file_->read(peeked_.data(), peeked_.size()));
            rest_ = peeked_;
        }
        return rest_.size() >= 2 && rest_[0] == std::byte{0x1F} && rest_[1] == std::byte{0x8B};
    }

private:
    input_file* file_ = nullptr;
    std::vector<std::byte> peeked_ = std::vector<std::byte>(2);
    std::span<const std::byte> rest_;
    std::string name_;
    std::int64_t stored_;
};

#if TENON_WITH_ZLIB
// Unpacks gzip (RFC 1952), whose members may follow one another.
class gzip_reader {
public:
    explicit gzip_reader(idx_source& from) : from_(from), packed_(1 << 16) {
        if (::inflateInit2(&stream_, 15 + 16) != Z_OK) throw resource_exhausted_error("read_idx: no memory for zlib");
    }
    gzip_reader(const gzip_reader&) = delete;
    gzip_reader& operator=(const gzip_reader&) = delete;
    ~gzip_reader() { ::inflateEnd(&stream_); }

    std::size_t read(void* to, std::size_t bytes) {
        std::size_t done = 0;
        while (done < bytes && !ended_) {
            if (stream_.avail_in == 0) {
                stream_.next_in = packed_.data();
                stream_.avail_in = static_cast<uInt>(from_.read(packed_.data(), packed_.size()));
                if (stream_.avail_in == 0) {
                    if (!between_members_)
                        throw data_loss_error("read_idx: '" + from_.name() + "': the gzipped data ends too early");
                    ended_ = true;
                    break;
                }
            }
            if (between_members_) ::inflateReset(&stream_);
            between_members_ = false;
            const auto room = static_cast<uInt>(std::min<std::size_t>(bytes - done, 1U << 30));
            stream_.next_out = static_cast<Bytef*>(to) + done;
            stream_.avail_out = room;
            const int result = ::inflate(&stream_, Z_NO_FLUSH);
            done += room - stream_.avail_out;
            if (result == Z_STREAM_END) between_members_ = true;
            else if (result != Z_OK && result != Z_BUF_ERROR)
                throw data_loss_error("read_idx: '" + from_.name() + "': the gzipped data is damaged" +
                                      (stream_.msg ? std::string(" (") + stream_.msg + ")" : std::string()));
        }
        return done;
    }

private:
    idx_source& from_;
    z_stream stream_{};
    std::vector<Bytef> packed_;
    bool between_members_ = false;
    bool ended_ = false;
};
#endif

// Turns big-endian elements into the host's, or back.
inline void swap_idx_bytes(any_array& a) {
    if constexpr (std::endian::native == std::endian::big) return;
    auto* bytes = static_cast<std::byte*>(a.data());
    const std::size_t size = size_of(a.element()), n = a.bytes();
    const auto reverse_each = [&]<std::size_t Size>(std::integral_constant<std::size_t, Size>) {
        for (std::size_t i = 0; i < n; i += Size)
            for (std::size_t j = 0; j < Size / 2; ++j) std::swap(bytes[i + j], bytes[i + Size - 1 - j]);
    };
    if (size == 2) reverse_each(std::integral_constant<std::size_t, 2>{});
    if (size == 4) reverse_each(std::integral_constant<std::size_t, 4>{});
    if (size == 8) reverse_each(std::integral_constant<std::size_t, 8>{});
}

inline tensor_type read_idx_header(auto& from, const std::string& name, std::size_t& header_bytes) {
    const auto say = [&](const std::string& why) { return "read_idx: '" + name + "': " + why; };
    unsigned char bytes[4 + 4 * max_rank];
    const std::size_t got = from.read(bytes, 4);
    if (got < 4) throw data_loss_error(say("the file ends after " + std::to_string(got) + " bytes, within its header"));
    if (bytes[0] != 0 || bytes[1] != 0)
        throw invalid_argument_error(say("not an IDX file: it does not start with two zero bytes"));
    tensor_type type;
    for (const idx_element& e : idx_elements)
        if (e.code == bytes[2]) type.element = e.element;
    if (type.element == element_type::none)
        throw invalid_argument_error(say("unknown IDX element type " + std::to_string(bytes[2])));
    const int rank = bytes[3];
    if (rank > max_rank)
        throw invalid_argument_error(say("rank " + std::to_string(rank) + " is more than " + std::to_string(max_rank)));
    const std::size_t size_bytes = 4 * static_cast<std::size_t>(rank);
    if (const std::size_t n = from.read(bytes + 4, size_bytes); n < size_bytes)
        throw data_loss_error(say("the file ends after " + std::to_string(4 + n) + " bytes, within its header of " +
                                  std::to_string(4 + size_bytes)));
    for (int i = 0; i < rank; ++i) {
        std::uint32_t size = 0;
        for (int j = 0; j < 4; ++j) size = size << 8 | bytes[4 + 4 * i + j];
        type.extents.push_back(static_cast<std::int64_t>(size));
    }
    header_bytes = 4 + size_bytes;
    return type;
}

// `there`: how many bytes there are at most; -1 when unknown. `exact`: there are exactly so many.
inline any_array read_idx_from(auto& from, const std::string& name, std::int64_t there, bool exact) {
    std::size_t header_bytes = 0;
    const tensor_type type = read_idx_header(from, name, header_bytes);
    std::int64_t elements = 0;
    try {
        elements = checked_elements(type.element, type.extents);
    } catch (const invalid_argument_error& e) {
        throw invalid_argument_error("read_idx: '" + name + "': " + e.what());
    }
    const auto size = static_cast<std::int64_t>(size_of(type.element));
    const std::int64_t promised = elements * size;
    const auto say = [&](const std::string& found) {
        return "read_idx: '" + name + "': the header promises " + to_string(type) + ", " + std::to_string(promised) +
               " bytes of elements, but " + found;
    };
    const std::int64_t most = there - static_cast<std::int64_t>(header_bytes);
    if (there >= 0 && (most < promised || (exact && most != promised)))
        throw data_loss_error(say((exact ? "there are " : "there can be at most ") + std::to_string(most)));

    // Memory is taken as data arrives: a header is easily damaged, and must not take all there is.
    constexpr std::int64_t step = 1 << 24;
    std::int64_t capacity = exact ? elements : std::min(elements, step), filled = 0;
    any_array a(type.element, {capacity});
    for (;;) {
        const std::size_t wanted = static_cast<std::size_t>((capacity - filled) * size);
        const std::size_t got = from.read(static_cast<std::byte*>(a.data()) + filled * size, wanted);
        if (got < wanted)
            throw data_loss_error(
                say("the data ends after " + std::to_string(filled * size + static_cast<std::int64_t>(got))));
        filled = capacity;
        if (filled == elements) break;
        capacity = capacity > elements / 2 ? elements : 2 * capacity;
        any_array larger(type.element, {capacity});
        std::memcpy(larger.data(), a.data(), a.bytes());
        a = std::move(larger);
    }
    if (unsigned char more = 0; from.read(&more, 1) != 0) throw data_loss_error(say("more follow"));
    swap_idx_bytes(a);
    return std::move(a).reshape(type.extents);
}

inline any_array read_idx_source(idx_source& from) {
    if (!from.is_gzipped()) return read_idx_from(from, from.name(), from.stored(), from.stored() >= 0);
#if TENON_WITH_ZLIB
    gzip_reader unpacked(from);
    // Deflate never packs better than 1 : 1032 (zlib's technical notes).
    const std::int64_t most = from.stored() < 0 ? -1 : from.stored() * 1032 + 1032;
    return read_idx_from(unpacked, from.name(), most, false);
#else
    throw unimplemented_error(
        "read_idx: '" + from.name() +
        "' is gzipped and this build of Tenon has no zlib; unpack the file (gunzip) or build with zlib");
#endif
}

// The file `stem` in `folder` under any of the spellings in use; empty when there is none.
inline std::string find_idx(const std::string& folder, const std::string& stem, const std::string& kind,
                            std::string& looked_for) {
    for (const char* separator : {"-", "."}) {
        for (const char* suffix : {"", ".gz"}) {
            const std::string name = stem + separator + kind + suffix;
            const std::string path = folder + '/' + name;
            struct stat status {};
            if (::stat(path.c_str(), &status) == 0) return path;
            looked_for += (looked_for.empty() ? "" : ", ") + name;
        }
    }
    return {};
}

TENON_INLINE void require_idx_element(const std::string& path, const any_array& a, element_type wanted) {
    if (a.element() != wanted)
        throw invalid_argument_error("read_idx: '" + path + "' holds " + to_string(a.type()) +
                                     ", not elements of type " + name_of(wanted));
}

#if TENON_WITH_ZLIB
// Packs what it is given into a file.
class gzip_writer {
public:
    explicit gzip_writer(output_file& to) : to_(to), packed_(1 << 16) {
        if (::deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            throw resource_exhausted_error("write_idx: no memory for zlib");
    }
    gzip_writer(const gzip_writer&) = delete;
    gzip_writer& operator=(const gzip_writer&) = delete;
    ~gzip_writer() { ::deflateEnd(&stream_); }

    void write(const void* from, std::size_t bytes) {
        const auto* at = static_cast<const Bytef*>(from);
        while (bytes > 0) {
            const std::size_t part = std::min<std::size_t>(bytes, 1U << 30);
            run(at, static_cast<uInt>(part), Z_NO_FLUSH);
            at += part;
            bytes -= part;
        }
    }
    void finish() { run(nullptr, 0, Z_FINISH); }

private:
    void run(const Bytef* from, uInt bytes, int flush) {
        stream_.next_in = const_cast<Bytef*>(from); // zlib only reads it
        stream_.avail_in = bytes;
        do {
            stream_.next_out = packed_.data();
            stream_.avail_out = static_cast<uInt>(packed_.size());
            ::deflate(&stream_, flush);
            to_.write(packed_.data(), packed_.size() - stream_.avail_out);
        } while (stream_.avail_out == 0);
    }

    output_file& to_;
    z_stream stream_{};
    std::vector<Bytef> packed_;
};
#endif

} // namespace detail

TENON_INLINE any_array read_idx(const std::string& path) {
    detail::input_file file("read_idx", path);
    detail::idx_source source(file);
    return detail::read_idx_source(source);
}

TENON_INLINE any_array parse_idx(std::span<const std::byte> bytes, const std::string& name) {
    detail::idx_source source(bytes, name);
    return detail::read_idx_source(source);
}

TENON_INLINE void write_idx(const std::string& path, const any_array& a) {
    std::uint8_t code = 0;
    for (const detail::idx_element& e : detail::idx_elements)
        if (e.element == a.element()) code = e.code;
    const bool fits = std::all_of(a.extents().begin(), a.extents().end(), [](extent e) { return e.size >> 32 == 0; });
    if (code == 0 || !fits)
        throw invalid_argument_error(
            "write_idx: '" + path + "': " + to_string(a.type()) +
            " cannot be an IDX file, which holds uint8, int8, int16, int32, float or double, and "
            "sizes below 2^32");
    std::vector<std::uint8_t> header{0, 0, code, static_cast<std::uint8_t>(a.rank())};
    for (const extent& e : a.extents())
        for (int shift = 24; shift >= 0; shift -= 8) header.push_back(static_cast<std::uint8_t>(e.size >> shift));
    any_array elements = a.copy();
    detail::swap_idx_bytes(elements);

    detail::output_file file("write_idx", path);
    if (path.ends_with(".gz")) {
#if TENON_WITH_ZLIB
        detail::gzip_writer packed(file);
        packed.write(header.data(), header.size());
        packed.write(elements.data(), elements.bytes());
        packed.finish();
#else
        throw unimplemented_error("write_idx: '" + path +
                                  "': this build of Tenon has no zlib; leave .gz out of the name or build with zlib");
#endif
    } else {
        file.write(header.data(), header.size());
        file.write(elements.data(), elements.bytes());
    }
    file.commit();
}

TENON_INLINE image_data load_mnist_like(const std::string& folder) {
    struct part {
        const char *stem, *kind;
        int rank;
    };
    constexpr part parts[] = {{"train-images", "idx3-ubyte", 3},
                              {"train-labels", "idx1-ubyte", 1},
                              {"t10k-images", "idx3-ubyte", 3},
                              {"t10k-labels", "idx1-ubyte", 1}};
    std::string paths[4], missing;
    for (int i = 0; i < 4; ++i) {
        std::string looked_for;
        paths[i] = detail::find_idx(folder, parts[i].stem, parts[i].kind, looked_for);
        if (paths[i].empty()) missing += "\n  " + looked_for;
    }
    if (!missing.empty())
        throw not_found_error("load_mnist_like: '" + folder + "' lacks files; looked for any of" + missing +
                              "\nDownload the data set's four IDX files into that folder");
    image_data data;
    array<std::uint8_t>* const arrays[] = {&data.train_images, &data.train_labels, &data.test_images,
                                           &data.test_labels};
    for (int i = 0; i < 4; ++i) {
        *arrays[i] = read_idx<std::uint8_t>(paths[i]);
        if (arrays[i]->rank() != parts[i].rank)
            throw invalid_argument_error("load_mnist_like: '" + paths[i] + "' holds " + to_string(arrays[i]->type()) +
                                         ", but rank " + std::to_string(parts[i].rank) + " is needed");
        if (i % 2 == 1 && arrays[i]->extent(0) != arrays[i - 1]->extent(0))
            throw invalid_argument_error("load_mnist_like: '" + paths[i - 1] + "' holds " +
                                         to_string(arrays[i - 1]->type()) + " and '" + paths[i] + "' " +
                                         to_string(arrays[i]->type()) + ": there must be as many labels as images");
    }
    return data;
}

} // namespace tenon
