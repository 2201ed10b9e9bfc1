#pragma once

#include <bit>
#include <memory>
#include <string_view>

#include <tenon/dense/strided_copy.hpp>
#include <tenon/io/files/file.hpp>
#include <tenon/io/numpy/elements.hpp>
#include <tenon/io/numpy/npy.hpp>
#include <tenon/io/records/npy_header.hpp>
#include <tenon/io/records/buffered_records.hpp>

namespace tenon {

namespace detail {

// From by columns to by rows; of complex numbers the parts are together in both.
inline any_array transposed(const any_array& a, const extents& sizes, bool is_complex) {
    any_array result(a.element(), sizes);
    copied_dimension dims[max_rank];
    const row_major_steps to(sizes);
    const int by_columns = sizes.rank() - is_complex;
    std::int64_t step = is_complex ? 2 : 1;
    for (int d = 0; d < by_columns; step *= sizes[d++].size) dims[d] = {sizes[d].size, step, to[d]};
    if (is_complex) dims[by_columns] = {2, 1, 1};
    strided_copy(dims, sizes.rank(), size_of(a.element())).run(a.data(), result.data(), nullptr);
    return result;
}

TENON_INLINE any_array read_npy_from(readable_file& from, const std::string& name, std::int64_t there, bool exact) {
    std::size_t header_bytes = 0;
    const npy_header h =
        read_npy_header([&](char* to, std::size_t bytes) { return read_fully(from, to, bytes); },
                        [&](const std::string& what) { return "'" + name + "': " + what; }, header_bytes);
    const bool texts = h.text_units > 0;
    tensor_type stored = h.type;
    if (texts) {
        if (h.fortran && h.type.extents.rank() > 1)
            throw unimplemented_error("'" + name + "': its texts, " + to_string(h.type) +
                                      ", lie by columns (Fortran); write numpy.ascontiguousarray(x)");
        if (h.type.extents.rank() == max_rank)
            throw unimplemented_error("'" + name + "': texts of " + std::to_string(max_rank) + " dimensions");
        stored.element = h.wide ? element_type::uint32 : element_type::uint8;
        stored.extents.push_back(h.text_units);
    }
    any_array a =
        read_elements(from, stored, name, there < 0 ? -1 : there - static_cast<std::int64_t>(header_bytes), exact);
    if (h.swapped) swap_bytes(a);
    if (texts) return texts_of_units(a, h.text_units, name).reshape(h.type.extents);
    if (h.type.element == element_type::boolean) { // any other byte is no bool
        auto* const bytes = static_cast<unsigned char*>(a.data());
        for (std::size_t i = 0; i < a.bytes(); ++i) bytes[i] = bytes[i] != 0;
    }
    if (h.fortran && h.type.extents.rank() > 1) return transposed(a, h.type.extents, h.is_complex);
    return std::move(a).reshape(h.type.extents);
}

inline any_array read_npy_file(const auto& open, const std::string& name) {
    return detail::said_by("read_npy", [&] {
        std::unique_ptr<readable_file> file = open();
        const std::int64_t stored = file->size();
        const compression how = compression_of(file);
        if (how == compression::none) return read_npy_from(*file, name, stored, stored >= 0);
        const std::unique_ptr<readable_file> plain = unpacked(std::move(file), name, how);
        return read_npy_from(*plain, name, most_unpacked(stored, how), false);
    });
}

TENON_INLINE any_array read_npy_and_mark(const std::string& path, file_mark& is) {
    return read_npy_file([&] { return open_and_mark(path, is.size, is.modified); }, path);
}

TENON_INLINE void require_npy_element(const std::string& path, const any_array& a, element_type wanted) {
    if (a.element() != wanted)
        throw invalid_argument_error("read_npy: '" + path + "' holds " + to_string(a.type()) +
                                     ", not elements of type " + name_of(wanted));
}

} // namespace detail

TENON_INLINE any_array read_npy(const std::string& path) {
    return detail::read_npy_file([&] { return file_system_of(path).open(path); }, path);
}

TENON_INLINE any_array parse_npy(std::span<const std::byte> bytes, const std::string& name) {
    return detail::read_npy_file([&] { return detail::file_of_bytes(bytes.data(), bytes.size()); }, name);
}

TENON_INLINE any_array map_npy(const std::string& path) {
    const auto say = [&](const std::string& what) { return "map_npy: '" + path + "': " + what; };
    auto map = std::make_unique<detail::mapped_file>("map_npy", path);
    std::unique_ptr<readable_file> bytes = detail::file_of_bytes(map->data(), map->size());
    if (detail::compression_of(bytes) != compression::none)
        throw unimplemented_error(say("it is packed; read_npy reads it"));
    std::size_t header_bytes = 0;
    const detail::npy_header h = detail::read_npy_header(
        [&](char* to, std::size_t n) { return detail::read_fully(*bytes, to, n); }, say, header_bytes);
    if (h.text_units > 0) throw unimplemented_error(say("it has texts; read_npy reads them"));
    if (h.fortran && h.type.extents.rank() > 1)
        throw unimplemented_error(say("its elements lie by columns (Fortran); read_npy reads them"));
    if (h.swapped) throw unimplemented_error(say("its elements are of the other byte order; read_npy reads them"));
    if (h.type.element == element_type::boolean)
        throw unimplemented_error(say("it has bools, of which each must be looked at; read_npy reads them"));
    const std::int64_t elements =
        detail::said_by("map_npy: '" + path + "'", [&] { return checked_elements(h.type.element, h.type.extents); });
    const std::uint64_t wanted = static_cast<std::uint64_t>(elements) * size_of(h.type.element);
    if (map->size() - header_bytes != wanted)
        throw data_loss_error(say(to_string(h.type) + " needs " + std::to_string(wanted) + " bytes; there are " +
                                  std::to_string(map->size() - header_bytes)));
    if (elements == 0) return any_array(h.type.element, h.type.extents);
    if (header_bytes % size_of(h.type.element) != 0)
        throw unimplemented_error(say("its elements begin at byte " + std::to_string(header_bytes) +
                                      ", no multiple of their size; read_npy reads them"));
    const auto unmap = [](void* context, void*) { delete static_cast<detail::mapped_file*>(context); };
    any_array a = any_array::adopt(const_cast<std::byte*>(map->data()) + header_bytes, h.type.element, h.type.extents,
                                   unmap, map.get());
    (void)map.release();
    return a;
}

TENON_INLINE std::string detail::npy_head(const any_array& a, const std::string& who) {
    std::string_view code;
    for (const detail::npy_element& e : detail::npy_elements)
        if (e.element == a.element()) code = e.code;
    if (code.empty())
        throw unimplemented_error(who + ": " + to_string(a.type()) +
                                  " cannot be an .npy file, which holds bools, integers, halfs, floats and doubles");
    std::string header = std::string("{'descr': '") + (code[1] == '1' ? '|' : '<') + std::string(code) +
                         "', 'fortran_order': False, 'shape': (";
    for (int i = 0; i < a.rank(); ++i) header += (i > 0 ? ", " : "") + std::to_string(a.extents()[i].size);
    header += a.rank() == 1 ? ",), }" : "), }";
    // So that the elements begin at a multiple of 64 bytes.
    const std::size_t before = detail::npy_magic.size() + 4;
    header.append(63 - (before + header.size()) % 64, ' ');
    header += '\n';
    std::string head = std::string(detail::npy_magic) + '\1' + '\0';
    head += static_cast<char>(header.size() & 0xFF);
    head += static_cast<char>(header.size() >> 8);
    head += header;
    return head;
}

TENON_INLINE void write_npy(const std::string& path, const any_array& a) {
    const std::string head = detail::npy_head(a, "write_npy: '" + path + "'");
    detail::said_by("write_npy", [&] {
        const std::unique_ptr<writable_file> file = packed(file_system_of(path).create(path), path);
        file->write(head.data(), head.size());
        if constexpr (std::endian::native == std::endian::little) file->write(a.data(), a.bytes());
        else {
            any_array turned = a.copy();
            detail::swap_bytes(turned);
            file->write(turned.data(), turned.bytes());
        }
        file->commit();
    });
}

} // namespace tenon
