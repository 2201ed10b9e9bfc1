#pragma once

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include <tenon/data/idx.hpp>
#include <tenon/io/files/compressed.hpp>
#include <tenon/io/numpy/elements.hpp>
#include <tenon/io/records/idx_header.hpp>
#include <tenon/io/records/buffered_records.hpp>

namespace tenon {

namespace detail {

// Turns big-endian elements into the host's, or back.
inline void swap_idx_bytes(any_array& a) {
    if constexpr (std::endian::native == std::endian::little) swap_bytes(a);
}

// `there`: how many bytes there are at most; -1 when unknown. `exact`: there are exactly so many.
inline any_array read_idx_from(readable_file& from, const std::string& name, std::int64_t there, bool exact) {
    std::size_t header_bytes = 0;
    const tensor_type type =
        read_idx_header([&](void* to, std::size_t bytes) { return read_fully(from, to, bytes); },
                        [&](const std::string& why) { return "'" + name + "': " + why; }, header_bytes);
    any_array a =
        read_elements(from, type, name, there < 0 ? -1 : there - static_cast<std::int64_t>(header_bytes), exact);
    swap_idx_bytes(a);
    return std::move(a).reshape(type.extents);
}

inline any_array read_idx_file(const auto& open, const std::string& name) {
    return detail::said_by("read_idx", [&] {
        std::unique_ptr<readable_file> file = open();
        const std::int64_t stored = file->size();
        const compression how = compression_of(file);
        if (how == compression::none) return read_idx_from(*file, name, stored, stored >= 0);
        const std::unique_ptr<readable_file> plain = unpacked(std::move(file), name, how);
        return read_idx_from(*plain, name, most_unpacked(stored, how), false);
    });
}

// The file `stem` in `folder` under any of the spellings in use; empty when there is none.
inline std::string find_idx(const std::string& folder, const std::string& stem, const std::string& kind,
                            std::string& looked_for) {
    for (const char* separator : {"-", "."}) {
        for (const char* suffix : {"", ".gz", ".zst"}) {
            const std::string name = stem + separator + kind + suffix;
            const std::string path = folder + '/' + name;
            if (file_system_of(path).exists(path)) return path;
            looked_for += (looked_for.empty() ? "" : ", ") + name;
        }
    }
    return {};
}

TENON_INLINE any_array read_idx_and_mark(const std::string& path, file_mark& is) {
    return read_idx_file([&] { return open_and_mark(path, is.size, is.modified); }, path);
}

TENON_INLINE void require_idx_element(const std::string& path, const any_array& a, element_type wanted) {
    if (a.element() != wanted)
        throw invalid_argument_error("read_idx: '" + path + "' holds " + to_string(a.type()) +
                                     ", not elements of type " + name_of(wanted));
}

} // namespace detail

TENON_INLINE any_array read_idx(const std::string& path) {
    return detail::read_idx_file([&] { return file_system_of(path).open(path); }, path);
}

TENON_INLINE any_array parse_idx(std::span<const std::byte> bytes, const std::string& name) {
    return detail::read_idx_file([&] { return detail::file_of_bytes(bytes.data(), bytes.size()); }, name);
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

    detail::said_by("write_idx", [&] {
        const std::unique_ptr<writable_file> file = packed(file_system_of(path).create(path), path);
        file->write(header.data(), header.size());
        file->write(elements.data(), elements.bytes());
        file->commit();
    });
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
