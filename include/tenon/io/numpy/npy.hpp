#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include <tenon/core/array/array.hpp>
#include <tenon/io/files/compressed.hpp>

/// NumPy's files of one array: .npy, versions 1 to 3 (numpy.lib.format).

namespace tenon {

struct file_mark;

/// Reads an array of bools, integers, halfs, floats, doubles or texts (U, which become UTF-8, and S), of either byte order, stored by rows or by columns (Fortran); by
/// rows in memory. Complex numbers have a last dimension of 2, as fft has them: complex64[5] is float[5, 2]. Packed files (gzip, zlib, zstd) too.
///
/// Throws not_found_error (and permission_denied_error, ...) when the file cannot be opened, invalid_argument_error when it is no
/// .npy file, data_loss_error when it is cut off, has more bytes than it should, or is damaged, unimplemented_error for other
/// elements: dates, objects, records.
any_array read_npy(const std::string& path);
/// The same from memory; `name` stands in messages.
any_array parse_npy(std::span<const std::byte> bytes, const std::string& name = "npy data");

/// Writes an array as NumPy does: version 1.0, little-endian, by rows; whole or not at all. unimplemented_error for strings and
/// for bfloat16, which NumPy does not have.
void write_npy(const std::string& path, const any_array& a);

/// The array in a file of this machine without reading it: in the file's own mapped memory, which it keeps alive, so that elements are read
/// when they are used, and as many processes as like share them. Writing to it does not change the file. Whoever may see the file
/// overwritten in place takes a copy(): where it is cut short, what was behind ends the process that uses it (SIGBUS).
///
/// Throws what read_npy throws, where the size is not the header's, too; unimplemented_error for what does not lie in the file as in
/// memory: packed, by columns (Fortran), of the other byte order, bools, or not at a multiple of its elements' size.
any_array map_npy(const std::string& path);

namespace detail {
/// How an .npy file of this array begins; `who` begins messages.
std::string npy_head(const any_array& a, const std::string& who);
void require_npy_element(const std::string& path, const any_array& a, element_type wanted);
/// The same, and the size of the file and its time.
any_array read_npy_and_mark(const std::string& path, file_mark& is);
/// `there`: how many bytes the file has at most, or exactly; -1: nobody knows.
any_array read_npy_from(readable_file& from, const std::string& name, std::int64_t there, bool exact);
} // namespace detail

/// Reads elements of type T; invalid_argument_error when they are of another.
template <Element T> array<T> read_npy(const std::string& path) {
    any_array a = read_npy(path);
    detail::require_npy_element(path, a, element_type_of<T>);
    return array<T>(std::move(a));
}

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/numpy/npy.ipp>
#endif
