// Files of ours as Arrow's library reads and writes them, and what it says as errors of ours. Included by the .ipp files here.
#pragma once

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/status.h>

#include <tenon/core/error.hpp>
#include <tenon/io/files/file_system.hpp>

namespace tenon::detail {

// Calls of ours under Arrow's, which throws nothing: what they threw is kept and thrown again behind it.
class kept_throw {
public:
    template <class F>::arrow::Status call(F f) {
        try {
            f();
            return ::arrow::Status::OK();
        } catch (...) {
            thrown_ = std::current_exception();
            return ::arrow::Status::IOError("the file cannot be read or written");
        }
    }
    void rethrow(const std::string& where) {
        if (!thrown_) return;
        try {
            std::rethrow_exception(std::exchange(thrown_, nullptr));
        } catch (const error& e) {
            throw_error(e, where + ": " + e.what());
        }
    }

private:
    std::exception_ptr thrown_;
};

// What a library says, in one line.
inline std::string one_line(std::string said) {
    while (!said.empty() && said.back() == '\n') said.pop_back();
    std::replace(said.begin(), said.end(), '\n', ' ');
    return said;
}

// `where`: "parquet: 'a.parquet'".
[[noreturn]] inline void throw_status(const ::arrow::Status& s, const std::string& where) {
    const std::string text = where + ": " + one_line(s.message());
    if (s.IsOutOfMemory() || s.IsCapacityError()) throw resource_exhausted_error(text);
    if (s.IsNotImplemented()) throw unimplemented_error(text);
    throw data_loss_error(text);
}

// A file, or what is unpacked of one, whose size nobody knows.
class arrow_input final : public ::arrow::io::RandomAccessFile {
public:
    arrow_input(std::unique_ptr<readable_file> file, std::string where) :
        file_(std::move(file)), where_(std::move(where)), size_(file_->size()) {}

    const std::string& where() const noexcept { return where_; }
    bool has_size() const noexcept { return size_ >= 0; }
    void check(const ::arrow::Status& s) {
        if (s.ok()) return;
        thrown_.rethrow(where_);
        throw_status(s, where_);
    }
    template <class T> T take(::arrow::Result<T> r) {
        check(r.status());
        return std::move(r).ValueUnsafe();
    }
    // What the libraries throw, too: Parquet's does in places.
    template <class F> auto guarded(F f) {
        try {
            return f();
        } catch (const error&) {
            throw;
        } catch (const std::bad_alloc&) {
            throw resource_exhausted_error(where_ + ": there is no memory for what it says it holds");
        } catch (const std::exception& e) {
            throw data_loss_error(where_ + ": " + one_line(e.what()));
        }
    }

    ::arrow::Status Close() override {
        closed_ = true;
        return ::arrow::Status::OK();
    }
    bool closed() const override { return closed_; }
    ::arrow::Result<std::int64_t> Tell() const override { return at_; }
    ::arrow::Result<std::int64_t> GetSize() override {
        if (size_ < 0) return ::arrow::Status::IOError("nobody knows its size: it is packed, or a pipe");
        return size_;
    }
    ::arrow::Status Seek(std::int64_t position) override {
        if (position < 0) return ::arrow::Status::Invalid("it names a place before its beginning");
        if (position == at_) return ::arrow::Status::OK();
        at_ = position;
        return thrown_.call([&] { file_->seek(static_cast<std::uint64_t>(position)); });
    }
    ::arrow::Result<std::int64_t> Read(std::int64_t bytes, void* to) override {
        if (bytes < 0) return ::arrow::Status::Invalid("it names a length below 0");
        std::size_t got = 0;
        ARROW_RETURN_NOT_OK(thrown_.call([&] { got = read_fully(*file_, to, static_cast<std::size_t>(bytes)); }));
        at_ += static_cast<std::int64_t>(got);
        return static_cast<std::int64_t>(got);
    }
    // There is memory for what is there, not for what the file says.
    ::arrow::Result<std::shared_ptr<::arrow::Buffer>> Read(std::int64_t bytes) override {
        if (bytes < 0) return ::arrow::Status::Invalid("it names a length below 0");
        constexpr std::int64_t step = std::int64_t{1} << 24;
        const std::int64_t most = size_ < 0 ? bytes : std::min(bytes, std::max<std::int64_t>(size_ - at_, 0));
        std::int64_t room = size_ < 0 ? std::min(most, step) : most, done = 0;
        ARROW_ASSIGN_OR_RAISE(std::unique_ptr<::arrow::ResizableBuffer> buffer, ::arrow::AllocateResizableBuffer(room));
        for (;;) {
            ARROW_ASSIGN_OR_RAISE(const std::int64_t got, Read(room - done, buffer->mutable_data() + done));
            done += got;
            if (done < room || room == most) break;
            room = std::min(most, 2 * room);
            ARROW_RETURN_NOT_OK(buffer->Resize(room));
        }
        ARROW_RETURN_NOT_OK(buffer->Resize(done));
        return std::shared_ptr<::arrow::Buffer>(std::move(buffer));
    }

private:
    std::unique_ptr<readable_file> file_;
    const std::string where_;
    const std::int64_t size_;
    std::int64_t at_ = 0;
    bool closed_ = false;
    kept_throw thrown_;
};

class arrow_output final : public ::arrow::io::OutputStream {
public:
    arrow_output(std::unique_ptr<writable_file> file, std::string where) :
        file_(std::move(file)), where_(std::move(where)) {}
    void check(const ::arrow::Status& s) {
        if (s.ok()) return;
        thrown_.rethrow(where_);
        if (s.IsInvalid()) throw invalid_argument_error(where_ + ": " + s.message());
        throw_status(s, where_);
    }
    template <class T> T take(::arrow::Result<T> r) {
        check(r.status());
        return std::move(r).ValueUnsafe();
    }
    void commit() { file_->commit(); }

    ::arrow::Status Close() override {
        closed_ = true;
        return ::arrow::Status::OK();
    }
    bool closed() const override { return closed_; }
    ::arrow::Result<std::int64_t> Tell() const override { return at_; }
    using OutputStream::Write;
    ::arrow::Status Write(const void* from, std::int64_t bytes) override {
        at_ += bytes;
        return thrown_.call([&] { file_->write(from, static_cast<std::size_t>(bytes)); });
    }

private:
    std::unique_ptr<writable_file> file_;
    const std::string where_;
    std::int64_t at_ = 0;
    bool closed_ = false;
    kept_throw thrown_;
};

} // namespace tenon::detail
