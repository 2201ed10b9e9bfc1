#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include <tenon/core/array/any_array.hpp>

/// NumPy's files of several arrays: .npz, a zip archive (PKWARE's APPNOTE.TXT) of .npy files.

namespace tenon {

/// Reads all arrays of an .npz file by their names; compressed ones (numpy.savez_compressed) need a build with zlib.
///
/// Throws what read_npy throws of each; data_loss_error when the archive is cut off or damaged, also where only its
/// directory and what stands before each member do not agree: no array is lost in silence; unimplemented_error when it is
/// encrypted or packed in another way, and for a pipe.
std::map<std::string, any_array> read_npz(const std::string& path);
/// The same from memory; `name` stands in messages.
std::map<std::string, any_array> parse_npz(std::span<const std::byte> bytes, const std::string& name = "npz data");

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/numpy/npz.ipp>
#endif
