#pragma once

#include <cstdint>
#include <string>

#include <tenon/core/array/any_array.hpp>
#include <tenon/io/files/file_system.hpp>

/// The elements that stand behind a file's header.

namespace tenon::detail {

/// All that follows in `from`, which a header promised to be of `type`, as it is stored: of rank 1. `there` says how many bytes
/// there are at most, or exactly; -1: nobody knows. data_loss_error, naming `name`, where there are fewer or more;
/// invalid_argument_error for what no memory holds. No more memory is taken than twice what there is.
any_array read_elements(readable_file& from, const tensor_type& type, const std::string& name, std::int64_t there,
                        bool exact);

/// Rows of units, zeros at the end of each left out, as texts: of uint8 bytes, of uint32 Unicode's code points, which become UTF-8.
/// data_loss_error, naming `name`, where one is none.
any_array texts_of_units(const any_array& units, std::int64_t each, const std::string& name);

/// Turns the bytes of each element around.
void swap_bytes(any_array& a);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/io/numpy/elements.ipp>
#endif
