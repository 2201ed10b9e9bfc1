// The rows of a file as Arrow's record batches, of chosen columns. Included by table_reading.ipp.
#pragma once

#include <cstring>
#include <memory>
#include <span>

#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <tenon/arrow/arrow_fields.inl>
#include <tenon/arrow/arrow_input.inl>
#include <tenon/io/files/compressed.hpp>
#include <tenon/io/files/crc32c.hpp>
#include <tenon/io/records/buffered_records.hpp>
#include <tenon/io/records/records.hpp>

namespace tenon::detail {

// For one thread at a time. A file's rows are in groups, at whose beginning one can begin.
class arrow_batches {
public:
    using pointer = std::shared_ptr<::arrow::RecordBatch>;

    arrow_batches() = default;
    arrow_batches(arrow_batches&&) = delete;
    virtual ~arrow_batches() = default;

    // Of all columns of the file.
    virtual const ::arrow::Schema& schema() const = 0;
    // What batches have from now on: the columns of these leaves, in the file's order, of structs perhaps these fields alone.
    virtual void choose(const std::vector<leaf_column>& leaves) = 0;
    // The next batch, which is of group(); nullptr at the end. What it throws is of a group, and the next call goes on behind it.
    virtual pointer next() = 0;
    virtual std::int64_t group() const = 0;
    // The next batch is the first of this group. Whether there is one, or it is the file's end.
    virtual bool go_to(std::int64_t group) = 0;
    virtual const char* unit() const = 0;
};

class parquet_batches final : public arrow_batches {
public:
    static constexpr std::int64_t most_decoded_bytes = std::int64_t{64} << 20;

    parquet_batches(std::shared_ptr<arrow_input> in, std::int64_t rows) : in_(std::move(in)), most_rows_(rows) {
        in_->guarded([&] {
            ::parquet::ReaderProperties how = ::parquet::default_reader_properties();
            how.set_page_checksum_verification(true);
            ::parquet::ArrowReaderProperties what(false); // no threads of its own
            what.set_pre_buffer(false);                   // which reads on other threads
            ::parquet::arrow::FileReaderBuilder builder;
            in_->check(builder.Open(in_, how));
            builder.properties(what);
            in_->check(builder.Build(&reader_));
            in_->check(reader_->GetSchema(&schema_));
        });
    }
    const ::arrow::Schema& schema() const override { return *schema_; }
    void choose(const std::vector<leaf_column>& leaves) override {
        leaves_.clear();
        for (const leaf_column& l : leaves)
            add_leaves(reader_->manifest().schema_fields[static_cast<std::size_t>(l.column)], l.fields);
        std::sort(leaves_.begin(), leaves_.end());
        leaves_.erase(std::unique(leaves_.begin(), leaves_.end()), leaves_.end());
    }
    pointer next() override {
        return in_->guarded([&]() -> pointer {
            for (;;) {
                if (!rows_) {
                    if (group_ + 1 >= reader_->num_row_groups()) return nullptr;
                    rows_ = open(static_cast<int>(++group_));
                }
                pointer batch;
                const ::arrow::Status read = rows_->ReadNext(&batch);
                if (!read.ok() || !batch) rows_.reset();
                in_->check(read);
                if (!batch || batch->num_rows() == 0) continue;
                in_->check(batch->Validate());
                return batch;
            }
        });
    }
    std::int64_t group() const override { return group_; }
    bool go_to(std::int64_t group) override {
        rows_.reset();
        group_ = group - 1;
        return group <= reader_->num_row_groups();
    }
    const char* unit() const override { return "row group"; }

private:
    // Those below these fields. Lists have one child, which is no field.
    void add_leaves(const ::parquet::arrow::SchemaField& f, std::span<const std::string> fields) {
        if (f.is_leaf()) leaves_.push_back(f.column_index);
        const bool chosen = !fields.empty() && storage_type_of(*f.field->type()).id() == ::arrow::Type::STRUCT;
        for (const ::parquet::arrow::SchemaField& child : f.children)
            if (!chosen || child.field->name() == fields[0]) add_leaves(child, chosen ? fields.subspan(1) : fields);
    }
    std::unique_ptr<::arrow::RecordBatchReader> open(int group) {
        // Rows of large values, such as images, are fewer.
        const auto said = reader_->parquet_reader()->metadata()->RowGroup(group);
        std::int64_t each = 1;
        for (const int leaf : leaves_)
            each += std::max<std::int64_t>(said->ColumnChunk(leaf)->total_uncompressed_size(), 0) /
                    std::max<std::int64_t>(said->num_rows(), 1) / static_cast<std::int64_t>(leaves_.size());
        const std::int64_t most = most_decoded_bytes / static_cast<std::int64_t>(leaves_.size()) / each;
        reader_->set_batch_size(std::clamp<std::int64_t>(most, 1, most_rows_));
        return opened(*reader_, std::vector<int>{group});
    }
    // Older releases give what they made by a pointer.
    template <class Reader>
    std::unique_ptr<::arrow::RecordBatchReader> opened(Reader& r, const std::vector<int>& groups) {
        if constexpr (requires { r.GetRecordBatchReader(groups, leaves_).status(); }) {
            return in_->take(r.GetRecordBatchReader(groups, leaves_));
        } else {
            std::unique_ptr<::arrow::RecordBatchReader> made;
            in_->check(r.GetRecordBatchReader(groups, leaves_, &made));
            return made;
        }
    }

    std::shared_ptr<arrow_input> in_;
    const std::int64_t most_rows_; // that are decoded together
    std::unique_ptr<::parquet::arrow::FileReader> reader_;
    std::shared_ptr<::arrow::Schema> schema_;
    std::vector<int> leaves_;
    std::unique_ptr<::arrow::RecordBatchReader> rows_; // of the group
    std::int64_t group_ = -1;
};

class ipc_batches final : public arrow_batches {
public:
    explicit ipc_batches(std::shared_ptr<arrow_input> in) : in_(std::move(in)) {
        char first[8] = {};
        (void)in_->take(in_->Read(sizeof first, first));
        if (std::memcmp(first, "FEA1", 4) == 0)
            throw unimplemented_error(in_->where() +
                                      ": it is Feather version 1; write it again as version 2, which is read");
        is_file_ = std::memcmp(first, "ARROW1", 6) == 0;
        if (is_file_ && !in_->has_size())
            throw unimplemented_error(
                in_->where() +
                ": an Arrow file that is packed as a whole, or in a pipe, cannot be read; unpack it, write "
                "it with compressed columns, or as a stream");
        options_.use_threads = false;
        open();
        schema_ = file_ ? file_->schema() : stream_->schema();
    }
    const ::arrow::Schema& schema() const override { return *schema_; }
    void choose(const std::vector<leaf_column>& leaves) override {
        std::vector<int>& columns = options_.included_fields;
        for (const leaf_column& l : leaves) columns.push_back(l.column);
        std::sort(columns.begin(), columns.end());
        columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
        open();
    }
    pointer next() override {
        return in_->guarded([&]() -> pointer {
            for (;;) {
                pointer batch;
                if (is_file_) {
                    if (group_ + 1 >= file_->num_record_batches()) return nullptr;
                    batch = in_->take(file_->ReadRecordBatch(static_cast<int>(++group_)));
                } else {
                    if (!stream_) return nullptr;
                    ++group_;
                    const ::arrow::Status read = stream_->ReadNext(&batch);
                    if (!read.ok() || !batch) stream_.reset(); // nothing behind it can be found
                    in_->check(read);
                    if (!batch) return nullptr;
                }
                // Its offsets and texts are as the file says.
                in_->check(batch->ValidateFull());
                if (batch->num_rows() > 0) return batch;
            }
        });
    }
    std::int64_t group() const override { return group_; }
    bool go_to(std::int64_t group) override {
        if (is_file_) {
            group_ = group - 1;
            return group <= file_->num_record_batches();
        }
        while (group_ + 1 < group) {
            pointer batch;
            in_->guarded([&] { in_->check(stream_->ReadNext(&batch)); });
            if (!batch) return false;
            ++group_;
        }
        return true;
    }
    const char* unit() const override { return "record batch"; }

private:
    void open() {
        in_->guarded([&] {
            in_->check(in_->Seek(0));
            group_ = -1;
            if (is_file_) file_ = in_->take(::arrow::ipc::RecordBatchFileReader::Open(in_, options_));
            else stream_ = in_->take(::arrow::ipc::RecordBatchStreamReader::Open(in_, options_));
        });
    }

    std::shared_ptr<arrow_input> in_;
    ::arrow::ipc::IpcReadOptions options_ = ::arrow::ipc::IpcReadOptions::Defaults();
    std::shared_ptr<::arrow::Schema> schema_;
    std::shared_ptr<::arrow::ipc::RecordBatchFileReader> file_;
    std::shared_ptr<::arrow::RecordBatchReader> stream_;
    bool is_file_ = false;
    std::int64_t group_ = -1;
};

// `where`: "parquet: 'a.parquet'".
inline std::unique_ptr<arrow_batches> open_table(table_format format, const std::string& path, const std::string& where,
                                                 std::int64_t rows, file_mark& mark) {
    std::unique_ptr<readable_file> file;
    try {
        file = open_and_mark(path, mark.size, mark.modified);
        if (format == table_format::arrow) file = unpacked(std::move(file), path);
    } catch (const error& e) {
        throw_error(e, where.substr(0, where.find(':')) + ": " + e.what());
    }
    auto in = std::make_shared<arrow_input>(std::move(file), where);
    if (in->has_size()) { // its end, where the directory is, tells files apart that have one size
        const std::int64_t end = std::min<std::int64_t>(mark.size, 1 << 16);
        const auto bytes = in->take(in->ReadAt(mark.size - end, end));
        mark.checksum = crc32c(std::as_bytes(std::span(bytes->data(), static_cast<std::size_t>(bytes->size()))));
        in->check(in->Seek(0));
    }
    if (format == table_format::arrow) return std::make_unique<ipc_batches>(std::move(in));
    if (!in->has_size())
        throw unimplemented_error(where +
                                  ": a Parquet file in a pipe cannot be read, since its directory is at its end");
    return std::make_unique<parquet_batches>(std::move(in), rows);
}

} // namespace tenon::detail
