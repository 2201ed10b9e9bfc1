#pragma once

#include <memory>
#include <string>

#include <tenon/io/records/records.hpp>

/// Opens files whose records are read.

namespace tenon {

/// Throws invalid_argument_error, naming what is wrong, where a format makes no sense. `who` begins the message.
void check_format(const std::string& who, const record_format& f);

/// Opens a file, whose path is resolved. `who` begins the messages.
std::unique_ptr<record_source> open_records(const std::string& who, const std::string& path, const record_format& f);

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/io/records/record_source.ipp>
#endif
