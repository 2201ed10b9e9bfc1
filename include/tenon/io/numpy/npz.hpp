#pragma once

#include <cstddef>
#include <initializer_list>
#include <map>
#include <span>
#include <string>

#include <tenon/core/array/any_array.hpp>
#include <tenon/io/safetensors/safetensors.hpp>

/// NumPy's files of several arrays: .npz, a zip archive (PKWARE's APPNOTE.TXT) of .npy files.
///
///     tn::write_npz("run.npz", {{"w", w}, {"b", b}}, {.compressed = true});
///     const auto arrays = tn::read_npz("run.npz");   // arrays.at("w")

namespace tenon {

/// Reads all arrays of an .npz file by their names; compressed ones (numpy.savez_compressed) need a build with zlib.
///
/// Throws what read_npy throws of each; data_loss_error when the archive is cut off or damaged, also where only its
/// directory and what stands before each member do not agree: no array is lost in silence; unimplemented_error when it is
/// encrypted or packed in another way, and for a pipe.
std::map<std::string, any_array> read_npz(const std::string& path);
/// The same from memory; `name` stands in messages.
std::map<std::string, any_array> parse_npz(std::span<const std::byte> bytes, const std::string& name = "npz data");

struct npz_options {
    bool compressed = false; ///< as numpy.savez_compressed does; needs a build with zlib
};
/// Writes arrays under their names, as numpy.savez does; whole or not at all. What write_npy throws of each;
/// invalid_argument_error for a name that is empty or given twice; unimplemented_error without zlib, whose checksums the archive needs.
void write_npz(const std::string& path, std::span<const named_array> arrays, const npz_options& o = {});
inline void write_npz(const std::string& path, std::initializer_list<named_array> arrays, const npz_options& o = {}) {
    write_npz(path, std::span(arrays.begin(), arrays.size()), o);
}

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/numpy/npz.ipp>
#endif
