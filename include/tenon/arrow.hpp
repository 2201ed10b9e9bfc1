#pragma once

/// Parquet and Arrow files as data sets, through Apache Arrow's C++ library. They are a library of their own, tenon::arrow; what is
/// header-only defines TENON_WITH_ARROW=1 and links Arrow and Parquet itself.

#include <tenon/arrow/table_reading.hpp> // data_set<C...> of files
#include <tenon/arrow/table_writing.hpp> // and files of data sets
