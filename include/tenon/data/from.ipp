#pragma once

#include <algorithm>
#include <span>

#include <tenon/core/error.hpp>
#include <tenon/core/text/letter_case.hpp>
#include <tenon/data/from.hpp>
#include <tenon/io/files/image_library.hpp>
#if TENON_HEADER_ONLY // nothing is linked, and they are there
#include <tenon/io/image/image.hpp>
#endif

namespace tenon::detail {

TENON_INLINE void require_rows(const any_array& rows, const tensor_type& type, const std::string& path) {
    tensor_type wanted = type;
    wanted.extents.insert(0, dynamic_extent);
    const std::string why = misfit(rows.type(), wanted);
    if (!why.empty())
        throw invalid_argument_error("'" + path + "' holds " + to_string(rows.type()) + ", whose rows are not " +
                                     to_string(type) + ": " + why);
}

TENON_INLINE data_rows rows_from(any_array rows, const std::string& path, const file_mark& is) {
    data_rows r;
    r.files.push_back(std::make_shared<const row_file>(path, is, rows.share()));
    r.arrays.push_back(std::move(rows));
    return r;
}

TENON_INLINE any_array image_of_file(const std::string& path, int channels, std::int64_t largest_pixels) {
    const auto file =
        open_records("image_folder", path, {.kind = record_kind::whole_file, .compressed = compression::none});
    std::string_view bytes;
    if (!file->next(bytes)) bytes = {};
    const std::string who = "'" + path + "'";
    return require_image_library(who).decode(bytes, channels, largest_pixels, who);
}

inline data_set<std::string> records_of(const char* source, const data::name_list& files, const record_format& f) {
    return data_set<std::string>(untyped::data_set(record_elements(source, files.all(), f)));
}

} // namespace tenon::detail

namespace tenon::data {

TENON_INLINE std::vector<std::string> class_names(const std::string& folder) {
    file_system& files = file_system_of(folder);
    std::vector<std::string> names;
    for (const std::string& name : files.list(folder))
        if (files.is_folder(folder + "/" + name)) names.push_back(name);
    return names;
}

TENON_INLINE data_set<std::string, std::int32_t> image_files(const std::string& folder) {
    std::vector<std::string> paths;
    std::vector<std::int32_t> labels;
    const std::vector<std::string> classes = class_names(folder);
    for (std::size_t c = 0; c < classes.size(); ++c)
        for (const std::string& name : file_system_of(folder).list(folder + "/" + classes[c])) {
            std::string end = name.substr(std::min(name.rfind('.'), name.size()));
            for (char& letter : end) letter = tenon::detail::lower(letter);
            if (end != ".png" && end != ".jpg" && end != ".jpeg" && end != ".ppm" && end != ".pgm" && end != ".pbm" &&
                end != ".pnm")
                continue;
            paths.push_back(folder + "/" + classes[c] + "/" + name);
            labels.push_back(static_cast<std::int32_t>(c));
        }
    if (paths.empty())
        throw not_found_error("image_folder: '" + folder + "' has no images in its " + std::to_string(classes.size()) +
                              " folders; it needs a folder for each class, with PNG, JPEG or PNM files");
    const auto n = static_cast<std::int64_t>(paths.size());
    array<std::string, shape<dyn>> names(std::span<const std::string>(paths), extents{n});
    array<std::int32_t, shape<dyn>> numbers(std::span<const std::int32_t>(labels), extents{n});
    return slices(names, numbers);
}

TENON_INLINE data_set<std::string> text_lines(const name_list& files, const text_options& o) {
    return tenon::detail::records_of("text_lines", files,
                                     {.kind = record_kind::text_lines,
                                      .compressed = o.compressed,
                                      .skip_header_lines = o.skip_header_lines,
                                      .largest_record = o.largest_line});
}

TENON_INLINE data_set<std::string> fixed_length_records(const name_list& files, std::int64_t record_bytes,
                                                        const fixed_length_options& o) {
    return tenon::detail::records_of("fixed_length_records", files,
                                     {.kind = record_kind::fixed_length,
                                      .compressed = o.compressed,
                                      .header_bytes = o.header_bytes,
                                      .record_bytes = record_bytes,
                                      .footer_bytes = o.footer_bytes});
}

TENON_INLINE data_set<std::string> tf_records(const name_list& files, const tf_record_options& o) {
    return tenon::detail::records_of("tf_records", files,
                                     {.kind = record_kind::tfrecord,
                                      .compressed = o.compressed,
                                      .largest_record = o.largest_record,
                                      .ignore_errors = o.ignore_errors});
}

TENON_INLINE data_set<std::string> files(const std::string& pattern) {
    const std::vector<std::string> found = matching_files(pattern);
    if (found.empty())
        throw not_found_error("files: none match '" + pattern +
                              "'; check the path, which is relative to the current folder unless it starts with '/'");
    tenon::detail::data_rows names;
    any_array& all = names.arrays.emplace_back(element_type::string, extents{static_cast<std::int64_t>(found.size())});
    for (std::size_t i = 0; i < found.size(); ++i) all.data<std::string>()[i] = found[i];
    return data_set<std::string>(
        untyped::data_set(tenon::detail::row_elements(std::move(names), {tensor_type{element_type::string, {}}})));
}

} // namespace tenon::data
