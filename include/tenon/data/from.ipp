#pragma once

#include <tenon/core/error.hpp>
#include <tenon/data/from.hpp>

namespace tenon::data {

TENON_INLINE data_set<std::string> text_lines(std::vector<std::string> files, const text_options& o) {
    record_format f;
    f.kind = record_kind::text_lines;
    f.compressed = o.compressed;
    f.skip_header_lines = o.skip_header_lines;
    f.largest_record = o.largest_line;
    return data_set<std::string>(untyped::data_set(tenon::detail::record_elements("text_lines", std::move(files), f)));
}

TENON_INLINE data_set<std::string> fixed_length_records(std::vector<std::string> files, std::int64_t record_bytes,
                                                        const fixed_length_options& o) {
    record_format f;
    f.kind = record_kind::fixed_length;
    f.compressed = o.compressed;
    f.header_bytes = o.header_bytes;
    f.record_bytes = record_bytes;
    f.footer_bytes = o.footer_bytes;
    return data_set<std::string>(
        untyped::data_set(tenon::detail::record_elements("fixed_length_records", std::move(files), f)));
}

TENON_INLINE data_set<std::string> tf_records(std::vector<std::string> files, const tf_record_options& o) {
    record_format f;
    f.kind = record_kind::tfrecord;
    f.compressed = o.compressed;
    f.ignore_errors = o.ignore_errors;
    f.largest_record = o.largest_record;
    return data_set<std::string>(untyped::data_set(tenon::detail::record_elements("tf_records", std::move(files), f)));
}

TENON_INLINE data_set<std::string> files(const std::string& pattern) {
    const std::vector<std::string> found = matching_files(pattern);
    if (found.empty())
        throw not_found_error("files: none match '" + pattern +
                              "'; check the path, which is relative to the current folder unless it starts with '/'");
    std::vector<any_array> names;
    any_array& all = names.emplace_back(element_type::string, extents{static_cast<std::int64_t>(found.size())});
    for (std::size_t i = 0; i < found.size(); ++i) all.data<std::string>()[i] = found[i];
    return data_set<std::string>(
        untyped::data_set(tenon::detail::row_elements(std::move(names), {tensor_type{element_type::string, {}}})));
}

} // namespace tenon::data
