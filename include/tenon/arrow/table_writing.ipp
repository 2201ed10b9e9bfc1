#pragma once

#include <tenon/arrow/table_writing.hpp>

#include <algorithm>
#include <cstring>

#include <tenon/core/error.hpp>
#include <tenon/io/text/element_text.hpp>

#if TENON_WITH_ARROW
#include <arrow/array/array_binary.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/util.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <tenon/arrow/arrow_input.inl>
#endif

namespace tenon::detail {

#if TENON_WITH_ARROW

inline std::shared_ptr<::arrow::DataType> arrow_type(element_type e, bool binary) {
    switch (e) {
    case element_type::float32: return ::arrow::float32();
    case element_type::float64: return ::arrow::float64();
    case element_type::float16: return ::arrow::float16();
    case element_type::int8: return ::arrow::int8();
    case element_type::int16: return ::arrow::int16();
    case element_type::int32: return ::arrow::int32();
    case element_type::int64: return ::arrow::int64();
    case element_type::uint8: return ::arrow::uint8();
    case element_type::uint16: return ::arrow::uint16();
    case element_type::uint32: return ::arrow::uint32();
    case element_type::uint64: return ::arrow::uint64();
    case element_type::boolean: return ::arrow::boolean();
    case element_type::string: return binary ? ::arrow::binary() : ::arrow::utf8();
    case element_type::bfloat16:
    case element_type::none: break;
    }
    return nullptr;
}

inline ::arrow::Compression::type arrow_codec(table_compression c) {
    switch (c) {
    case table_compression::snappy: return ::arrow::Compression::SNAPPY;
    case table_compression::gzip: return ::arrow::Compression::GZIP;
    case table_compression::zstd: return ::arrow::Compression::ZSTD;
    case table_compression::lz4: return ::arrow::Compression::LZ4_FRAME;
    case table_compression::none: break;
    }
    return ::arrow::Compression::UNCOMPRESSED;
}

// A column of rows that have not been written: its elements one after another, and of lists of any length where they begin.
class written_arrow_column {
public:
    written_arrow_column(const std::string& name, const tensor_type& row, bool binary) : row_(row) {
        element_ = arrow_type(row.element, binary);
        if (!element_)
            throw invalid_argument_error("column " + shown_text(name) + ": Arrow has no " +
                                         std::string(name_of(row.element)) + "; make it float");
        ends_.resize(static_cast<std::size_t>(row.extents.rank()));
    }
    int rank() const { return row_.extents.rank(); }
    // Of what lists in dimensions 0 .. depth - 1 hold.
    std::shared_ptr<::arrow::DataType> type(int depth) const {
        std::shared_ptr<::arrow::DataType> t = element_;
        for (int k = rank(); k-- > depth;) t = listed(k, t);
        return t;
    }
    std::shared_ptr<::arrow::DataType> listed(int k, const std::shared_ptr<::arrow::DataType>& t) const {
        const extent size = row_.extents[k];
        return size.is_number() ? ::arrow::fixed_size_list(t, static_cast<std::int32_t>(size.size)) : ::arrow::list(t);
    }

    void add(const any_array& value) {
        if (const std::string why = misfit(value.type(), row_); !why.empty()) throw invalid_argument_error(why);
        // The lists of each dimension, of which those before it are as many as the sizes before it say.
        std::int64_t lists = 1;
        for (std::size_t k = 0; k < ends_.size(); ++k) {
            const std::int64_t size = value.extents()[static_cast<int>(k)].size;
            if (!row_.extents[static_cast<int>(k)].is_number())
                for (std::int64_t i = 0; i < lists; ++i) {
                    const std::int64_t end = (ends_[k].empty() ? 0 : ends_[k].back()) + size;
                    if (end > std::numeric_limits<std::int32_t>::max())
                        throw resource_exhausted_error(
                            "lists of a group of rows hold more than 2^31 elements; make group_rows smaller");
                    ends_[k].push_back(static_cast<std::int32_t>(end));
                }
            lists *= size;
        }
        if (row_.element == element_type::string) {
            const auto* const texts = value.data<std::string>();
            texts_.insert(texts_.end(), texts, texts + value.elements());
        } else {
            const auto* const bytes = static_cast<const std::uint8_t*>(value.data());
            bytes_.insert(bytes_.end(), bytes, bytes + value.bytes());
        }
    }
    // What was added, without the lists in dimensions 0 .. depth - 1.
    ::arrow::Result<std::shared_ptr<::arrow::Array>> finish(int depth) {
        ARROW_ASSIGN_OR_RAISE(std::shared_ptr<::arrow::Array> array, elements());
        for (int k = rank(); k-- > depth;) {
            ARROW_ASSIGN_OR_RAISE(array, lists(k, array));
        }
        return array;
    }
    // The lists of dimension k that hold these values, one behind another.
    ::arrow::Result<std::shared_ptr<::arrow::Array>> lists(int k, const std::shared_ptr<::arrow::Array>& values) {
        const extent size = row_.extents[k];
        if (size.is_number()) {
            if (size.size == 0) return ::arrow::Status::NotImplemented("lists of size 0 cannot be written");
            return ::arrow::FixedSizeListArray::FromArrays(values, static_cast<std::int32_t>(size.size));
        }
        ::arrow::Int32Builder offsets;
        ARROW_RETURN_NOT_OK(offsets.Append(0));
        ARROW_RETURN_NOT_OK(offsets.AppendValues(ends_[static_cast<std::size_t>(k)]));
        ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<::arrow::Array> places, offsets.Finish());
        return ::arrow::ListArray::FromArrays(*places, *values);
    }
    void forget() {
        for (auto& ends : ends_) ends.clear();
    }

private:
    ::arrow::Result<std::shared_ptr<::arrow::Array>> elements() {
        if (row_.element == element_type::string) {
            ARROW_ASSIGN_OR_RAISE(auto builder, ::arrow::MakeBuilder(element_));
            auto& texts = static_cast<::arrow::BinaryBuilder&>(*builder); // of which that of UTF-8 is one
            for (const std::string& s : std::exchange(texts_, {})) ARROW_RETURN_NOT_OK(texts.Append(s));
            ARROW_ASSIGN_OR_RAISE(std::shared_ptr<::arrow::Array> array, builder->Finish());
            const ::arrow::Status valid = array->ValidateFull();
            if (!valid.ok())
                return ::arrow::Status::Invalid("a text is no UTF-8: name its column in table_write_options::binary");
            return array;
        }
        const std::vector<std::uint8_t> bytes = std::exchange(bytes_, {});
        if (row_.element == element_type::boolean) {
            ::arrow::BooleanBuilder bits;
            ARROW_RETURN_NOT_OK(bits.AppendValues(bytes.data(), static_cast<std::int64_t>(bytes.size())));
            return bits.Finish();
        }
        ARROW_ASSIGN_OR_RAISE(std::shared_ptr<::arrow::Buffer> buffer,
                              ::arrow::AllocateBuffer(static_cast<std::int64_t>(bytes.size())));
        if (!bytes.empty()) std::memcpy(buffer->mutable_data(), bytes.data(), bytes.size());
        const auto n = static_cast<std::int64_t>(bytes.size() / size_of(row_.element));
        return ::arrow::MakeArray(::arrow::ArrayData::Make(element_, n, {nullptr, std::move(buffer)}, 0));
    }

    const tensor_type row_;
    std::shared_ptr<::arrow::DataType> element_;
    std::vector<std::uint8_t> bytes_;
    std::vector<std::string> texts_;
    std::vector<std::vector<std::int32_t>> ends_; // of each dimension, where its size is no number
};

// Columns as fields of a struct, some of which may be structs, or lists of structs.
class written_struct {
public:
    // Whether there is room for column c. `path`: its name, by whose points it is a field of structs; empty: it is a field `name` here.
    bool add(std::string_view path, const std::string& name, std::size_t c) {
        const std::size_t point = path.find('.');
        const std::string here(point == path.npos ? (path.empty() ? std::string_view(name) : path)
                                                  : path.substr(0, point));
        auto at = std::find_if(fields_.begin(), fields_.end(), [&](const field& f) { return f.name == here; });
        const bool inner = point != path.npos;
        if (at == fields_.end()) {
            fields_.push_back({here, c, inner ? std::make_unique<written_struct>() : nullptr});
            at = fields_.end() - 1;
        } else if (!inner || !at->inner) return false;
        return !inner || at->inner->add(path.substr(point + 1), name, c);
    }
    // Makes the struct of this name one in a list; false: there is none.
    bool make_list(std::string_view path) {
        const std::size_t point = path.find('.');
        for (field& f : fields_)
            if (f.inner && f.name == path.substr(0, point))
                return point == path.npos ? (f.inner->listed_ = true) : f.inner->make_list(path.substr(point + 1));
        return false;
    }
    // Calls f with each column and how many lists of structs it is in.
    template <class F> void each_column(const F& f, int depth = 0) const { // NOLINT(misc-no-recursion)
        for (const field& one : fields_)
            if (one.inner) one.inner->each_column(f, depth + one.inner->listed_);
            else f(one.column, depth);
    }
    // Calls f with each list of structs: its name, its dimension, and its columns.
    template <class F>
    void each_list(const F& f, const std::string& before = {}, int depth = 0) const { // NOLINT(misc-no-recursion)
        for (const field& one : fields_) {
            if (!one.inner) continue;
            std::vector<std::size_t> columns;
            one.inner->each_column([&](std::size_t c, int) { columns.push_back(c); });
            if (one.inner->listed_) f(before + one.name, depth, columns);
            one.inner->each_list(f, before + one.name + ".", depth + one.inner->listed_);
        }
    }
    std::shared_ptr<::arrow::DataType> type(const std::vector<written_arrow_column>& columns, int depth = 0) const {
        std::vector<std::shared_ptr<::arrow::Field>> all;
        for (const field& f : fields_) {
            std::shared_ptr<::arrow::DataType> t;
            if (!f.inner) t = columns[f.column].type(depth);
            else t = f.inner->type(columns, depth + f.inner->listed_);
            if (f.inner && f.inner->listed_) t = columns[f.column].listed(depth, t);
            all.push_back(::arrow::field(f.name, std::move(t), false));
        }
        return ::arrow::struct_(std::move(all));
    }
    // What the columns have: so many rows, or structs in lists.
    ::arrow::Result<std::shared_ptr<::arrow::Array>> finish(std::vector<written_arrow_column>& columns,
                                                            std::int64_t rows, int depth = 0) const {
        std::vector<std::shared_ptr<::arrow::ArrayData>> all;
        for (const field& f : fields_) {
            std::shared_ptr<::arrow::Array> values;
            if (!f.inner) {
                ARROW_ASSIGN_OR_RAISE(values, columns[f.column].finish(depth));
            } else if (!f.inner->listed_) {
                ARROW_ASSIGN_OR_RAISE(values, f.inner->finish(columns, rows, depth));
            } else {
                ARROW_ASSIGN_OR_RAISE(values, f.inner->finish(columns, 0, depth + 1));
                ARROW_ASSIGN_OR_RAISE(values, columns[f.column].lists(depth, values));
            }
            rows = values->length();
            all.push_back(values->data());
        }
        return ::arrow::MakeArray(::arrow::ArrayData::Make(type(columns, depth), rows, {nullptr}, std::move(all), 0));
    }

private:
    struct field {
        std::string name;
        std::size_t column; // the first one that it has
        std::unique_ptr<written_struct> inner;
    };
    std::vector<field> fields_;
    bool listed_ = false;
};

class table_writer::state {
public:
    state(table_format format, const std::string& path, const std::vector<tensor_type>& types,
          const table_write_options& o) :
        where_(std::string(format == table_format::parquet ? "write_parquet" : "write_arrow") + ": '" + path + "'"),
        group_rows_(o.group_rows) {
        const auto refuse = [&](const std::string& what) { throw invalid_argument_error(where_ + ": " + what); };
        if (group_rows_ < 1) refuse("group_rows is " + std::to_string(group_rows_) + "; give 1 or more");
        if (!o.columns.empty() && o.columns.size() != types.size())
            refuse(std::to_string(o.columns.size()) + " columns for " + std::to_string(types.size()) +
                   " components; give a name for each, or none");
        std::vector<std::string> names = o.columns;
        for (std::size_t c = names.size(); c < types.size(); ++c) names.push_back(std::to_string(c));
        for (const std::string& b : o.binary)
            if (std::find(names.begin(), names.end(), b) == names.end())
                refuse("there is no column called " + shown_text(b));
        for (std::size_t c = 0; c < types.size(); ++c) {
            if (std::count(names.begin(), names.end(), names[c]) > 1)
                refuse("two columns are called " + shown_text(names[c]));
            const bool binary = std::find(o.binary.begin(), o.binary.end(), names[c]) != o.binary.end();
            told([&] { columns_.emplace_back(names[c], types[c], binary); });
            if (!root_.add(o.structs ? names[c] : std::string(), names[c], c))
                refuse("column " + shown_text(names[c]) + " is a struct of others, too");
        }
        for (const std::string& list : o.lists) {
            if (!root_.make_list(list)) refuse("there is no struct called " + shown_text(list));
        }
        root_.each_column([&](std::size_t c, int depth) {
            if (columns_[c].rank() < depth)
                refuse("column " + shown_text(names[c]) + " is a field in lists, and " + to_string(types[c]) +
                       " has too few dimensions");
        });
        root_.each_list([&](const std::string& name, int k, const std::vector<std::size_t>& all) {
            for (const std::size_t c : all)
                if (types[c].extents[k].is_number() != types[all[0]].extents[k].is_number())
                    refuse("the fields of " + shown_text(name) + " are " + to_string(types[all[0]]) + " and " +
                           to_string(types[c]) + "; either all of its lists are of a length that is a number, or none");
        });
        const ::arrow::Compression::type codec = arrow_codec(o.compressed);
        if (!::arrow::util::Codec::IsAvailable(codec))
            throw unimplemented_error(where_ + ": Arrow's library was built without " +
                                      ::arrow::util::Codec::GetCodecAsString(codec) +
                                      "; choose another table_write_options::compressed");
        schema_ = ::arrow::schema(root_.type(columns_)->fields());
        told([&] { out_ = std::make_shared<arrow_output>(file_system_of(path).create(path), where_); });
        if (format == table_format::parquet) {
            const auto properties =
                ::parquet::WriterProperties::Builder()
                    .compression(codec == ::arrow::Compression::LZ4_FRAME ? ::arrow::Compression::LZ4 : codec)
                    ->max_row_group_length(group_rows_)
                    ->enable_page_checksum()
                    ->build();
            const auto lists =
                ::parquet::ArrowWriterProperties::Builder().store_schema()->build(); // sizes of lists, and half
            parquet_ = out_->take(
                ::parquet::arrow::FileWriter::Open(*schema_, ::arrow::default_memory_pool(), out_, properties, lists));
        } else {
            ::arrow::ipc::IpcWriteOptions how = ::arrow::ipc::IpcWriteOptions::Defaults();
            how.use_threads = false;
            if (codec != ::arrow::Compression::UNCOMPRESSED)
                how.codec = out_->take(::arrow::util::Codec::Create(codec));
            ipc_ = out_->take(::arrow::ipc::MakeFileWriter(out_, schema_, how));
        }
    }
    void write(const std::vector<any_array>& element) {
        root_.each_list([&](const std::string& name, int k, const std::vector<std::size_t>& all) {
            for (const std::size_t c : all)
                if (!(element[c].extents()[k] == element[all[0]].extents()[k]))
                    throw invalid_argument_error(where_ + ": the fields of " + shown_text(name) + " are " +
                                                 to_string(element[all[0]].type()) + " and " +
                                                 to_string(element[c].type()) + " in one row; they need one length");
        });
        for (std::size_t c = 0; c < columns_.size(); ++c) told([&] { columns_[c].add(element[c]); });
        if (++rows_ == group_rows_) flush();
    }
    void commit() {
        flush();
        if (parquet_) out_->check(parquet_->Close());
        else out_->check(ipc_->Close());
        told([&] { out_->commit(); });
    }

private:
    template <class F> void told(F f) { said_by(where_, f); }
    void flush() {
        if (rows_ == 0) return;
        const auto rows = out_->take(root_.finish(columns_, rows_));
        for (written_arrow_column& c : columns_) c.forget();
        const auto batch = ::arrow::RecordBatch::Make(schema_, std::exchange(rows_, 0), rows->data()->child_data);
        if (ipc_) return out_->check(ipc_->WriteRecordBatch(*batch));
        const auto table = out_->take(::arrow::Table::FromRecordBatches(schema_, {batch}));
        out_->check(parquet_->WriteTable(*table, group_rows_));
    }

    const std::string where_;
    const std::int64_t group_rows_;
    std::vector<written_arrow_column> columns_;
    written_struct root_; // whose fields are the file's columns
    std::shared_ptr<::arrow::Schema> schema_;
    std::shared_ptr<arrow_output> out_;
    std::unique_ptr<::parquet::arrow::FileWriter> parquet_;
    std::shared_ptr<::arrow::ipc::RecordBatchWriter> ipc_;
    std::int64_t rows_ = 0;
};

TENON_INLINE table_writer::table_writer(table_format format, const std::string& path,
                                        const std::vector<tensor_type>& types, const table_write_options& o) :
    state_(std::make_unique<state>(format, path, types, o)) {}
TENON_INLINE table_writer::~table_writer() = default;
TENON_INLINE void table_writer::write(const std::vector<any_array>& element) { state_->write(element); }
TENON_INLINE void table_writer::commit() { state_->commit(); }

#else

class table_writer::state {};
TENON_INLINE table_writer::table_writer(table_format format, const std::string& path, const std::vector<tensor_type>&,
                                        const table_write_options&) {
    throw unimplemented_error(
        std::string(format == table_format::parquet ? "write_parquet" : "write_arrow") + ": '" + path +
        "': this program was built without Apache Arrow; link tenon::arrow, or define TENON_WITH_ARROW=1 where "
        "Tenon is header-only");
}
TENON_INLINE table_writer::~table_writer() = default;
TENON_INLINE void table_writer::write(const std::vector<any_array>&) {}
TENON_INLINE void table_writer::commit() {}

#endif

} // namespace tenon::detail
