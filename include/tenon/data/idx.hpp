#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <tenon/core/array/array.hpp>

/// IDX files, in which MNIST and its relatives come: two zero bytes, an element type, a rank, the sizes and
/// the elements, all big-endian (Y. LeCun, "The MNIST database of handwritten digits").

namespace tenon {

/// Reads an IDX file: uint8, int8, int16, int32, float or double; packed ones too (gzip, zlib, zstd), whatever their name.
///
/// Throws not_found_error (and permission_denied_error, ...) when the file cannot be opened,
/// invalid_argument_error when it is no IDX file, data_loss_error when it is truncated, has more bytes than
/// it should, or is damaged, unimplemented_error when it is packed and Tenon was built without zlib or libzstd.
any_array read_idx(const std::string& path);

/// The same from memory; `name` stands in messages.
any_array parse_idx(std::span<const std::byte> bytes, const std::string& name = "IDX data");

/// Writes an IDX file, whole or not at all; packed when the name ends in .gz or .zst. Throws invalid_argument_error
/// for element types and sizes (2^32 and more) that the format does not have.
void write_idx(const std::string& path, const any_array& a);

struct file_mark;

namespace detail {
void require_idx_element(const std::string& path, const any_array& a, element_type wanted);
/// The same, and the size of the file and its time.
any_array read_idx_and_mark(const std::string& path, file_mark& is);
} // namespace detail

/// Reads an IDX file of elements of type T; invalid_argument_error when they are of another.
template <Element T> array<T> read_idx(const std::string& path) {
    any_array a = read_idx(path);
    detail::require_idx_element(path, a, element_type_of<T>);
    return array<T>(std::move(a));
}

/// A data set like MNIST: images [n, height, width], labels [n].
struct image_data {
    array<std::uint8_t> train_images;
    array<std::uint8_t> train_labels;
    array<std::uint8_t> test_images;
    array<std::uint8_t> test_labels;
};

/// Reads the four files of a data set like MNIST from `folder`: train-images-idx3-ubyte,
/// train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, each with or without .gz or .zst, and
/// with '.' or '-' before "idx". Throws not_found_error that lists what was looked for,
/// invalid_argument_error when the files do not belong together.
image_data load_mnist_like(const std::string& folder);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/data/idx.ipp>
#endif
