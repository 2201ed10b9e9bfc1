#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/core/shared_function.hpp>
#include <tenon/data/steps/pipeline.hpp>
#include <tenon/io/records/record_source.hpp>

/// Where elements come from.

namespace tenon::detail {

/// One element.
data_node::pointer one_element(std::vector<any_array> element, std::vector<tensor_type> types);
/// The rows of arrays that share dimension 0. `types`: of a row. invalid_argument_error, naming them, where they do not.
data_node::pointer row_elements(data_rows rows, std::vector<tensor_type> types);
/// begin, begin + step, ... as long as it is before end: int64.
data_node::pointer range_elements(std::int64_t begin, std::int64_t end, std::int64_t step);
/// The records of files, one file after another: a text each. A file that cannot be read is thrown by next(), which then goes on
/// with the next one.
data_node::pointer record_elements(const char* source, std::vector<std::string> files, const record_format& f);
/// What a function of the user's gives, made anew each time that the data set is gone through. It is taken to be the same each
/// time where a stream goes on from where another one was.
using element_generator = shared_function<bool(data_element&)>; ///< false: at its end
data_node::pointer generated_elements(std::vector<tensor_type> types, shared_function<element_generator()> begin);
/// Random numbers without end: even in [0, 1) of floating types, even over all values of integers. Of one seed the same.
data_node::pointer random_elements(const tensor_type& type, std::uint64_t seed);

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/data/steps/sources.ipp>
#endif
