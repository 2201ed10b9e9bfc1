// Columns within columns: fields of structs, also of those in lists and maps, as columns of their own. Included by table_reading.ipp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/type.h>

#include <tenon/arrow/arrow_columns.inl>
#include <tenon/core/function_ref.hpp>

namespace tenon::detail {

// What is no struct. Its name is "address.city": the column's, and behind points those of fields; so are those of structs that lists
// hold, of which each row has a list. Of a map they are "key" and "value".
struct leaf_column {
    std::string name;
    int column = 0; // of the file
    std::vector<std::string> fields;
    std::shared_ptr<::arrow::DataType> type; // of its rows
};

inline bool is_map(const ::arrow::DataType& t) { return t.id() == ::arrow::Type::MAP; }
// A list as `list` is one, or as a map is, of other values.
inline std::shared_ptr<::arrow::DataType> list_like(const ::arrow::DataType& list,
                                                    const std::shared_ptr<::arrow::DataType>& values) {
    switch (list.id()) {
    case ::arrow::Type::LARGE_LIST: return ::arrow::large_list(values);
    case ::arrow::Type::LIST_VIEW: return ::arrow::list_view(values);
    case ::arrow::Type::LARGE_LIST_VIEW: return ::arrow::large_list_view(values);
    case ::arrow::Type::FIXED_SIZE_LIST:
        return ::arrow::fixed_size_list(values, static_cast<const ::arrow::FixedSizeListType&>(list).list_size());
    default: return ::arrow::list(values);
    }
}

// Calls f(path, type) for each leaf: the names of its fields, and what its rows are.
using leaf_function = function_ref<void(const std::vector<std::string>&, std::shared_ptr<::arrow::DataType>)>;
inline void for_each_leaf(const std::shared_ptr<::arrow::DataType>& type, std::vector<std::string>& path,
                          leaf_function f) {
    std::vector<const ::arrow::DataType*> around; // lists, the outermost first
    const ::arrow::DataType* t = &storage_type_of(*type);
    for (; holds_lists(*t) || is_map(*t); t = &listed_type(*t)) around.push_back(t);
    if (t->id() != ::arrow::Type::STRUCT || t->num_fields() == 0) return f(path, type);
    for (const auto& field : t->fields()) {
        path.push_back(field->name());
        for_each_leaf(field->type(), path,
                      [&](const std::vector<std::string>& to, std::shared_ptr<::arrow::DataType> row) {
                          for (auto list = around.rbegin(); list != around.rend(); ++list) row = list_like(**list, row);
                          f(to, std::move(row));
                      });
        path.pop_back();
    }
}
inline std::vector<leaf_column> leaves_in(const ::arrow::Schema& schema) {
    std::vector<leaf_column> leaves;
    for (int i = 0; i < schema.num_fields(); ++i) {
        std::vector<std::string> path;
        for_each_leaf(schema.field(i)->type(), path,
                      [&](const std::vector<std::string>& fields, std::shared_ptr<::arrow::DataType> type) {
                          std::string name = schema.field(i)->name();
                          for (const std::string& f : fields) name += '.' + f;
                          leaves.push_back({std::move(name), i, fields, std::move(type)});
                      });
    }
    return leaves;
}

// The rows of a leaf. What is in a struct that is null is null, too.
inline std::shared_ptr<::arrow::Array> rows_of_leaf(std::shared_ptr<::arrow::Array> a,
                                                    std::span<const std::string> fields) {
    if (fields.empty()) return a;
    while (a->type_id() == ::arrow::Type::EXTENSION) a = static_cast<const ::arrow::ExtensionArray&>(*a).storage();
    if (a->type_id() == ::arrow::Type::STRUCT) {
        const int at = static_cast<const ::arrow::StructType&>(*a->type()).GetFieldIndex(fields[0]);
        auto field = at < 0 ? ::arrow::Result<std::shared_ptr<::arrow::Array>>(::arrow::Status::Invalid("no field"))
                            : static_cast<const ::arrow::StructArray&>(*a).GetFlattenedField(at);
        if (!field.ok())
            throw invalid_argument_error("a struct has not one field " + fields[0] + ": " + field.status().ToString());
        return rows_of_leaf(std::move(field).ValueUnsafe(), fields.subspan(1));
    }
    // The lists stay where they are, and hold the field alone.
    const std::shared_ptr<::arrow::ArrayData> lists = a->data()->Copy();
    const auto held = rows_of_leaf(::arrow::MakeArray(lists->child_data[0]), fields);
    lists->type = list_like(*a->type(), held->type());
    lists->child_data = {held->data()};
    return ::arrow::MakeArray(lists);
}

} // namespace tenon::detail
