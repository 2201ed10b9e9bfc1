#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/io/records/buffered_records.hpp>
#include <tenon/io/records/record_source.hpp>

/// Sources of records over bytes that a test holds.

/// A file that gives at most `at_once` bytes a read, has no size where it is a pipe, and fails behind `good` bytes.
class test_file final : public tenon::readable_file {
public:
    std::string bytes;
    std::size_t at_once = static_cast<std::size_t>(-1);
    bool pipe = false;
    std::size_t good = static_cast<std::size_t>(-1);

    explicit test_file(std::string b) : bytes(std::move(b)) {}
    std::size_t read(void* to, std::size_t most) override {
        if (at_ >= good) throw tenon::data_loss_error("'it': the disk is broken");
        const std::size_t n = std::min({most, at_once, std::min(bytes.size(), good) - std::min(at_, bytes.size())});
        std::memcpy(to, bytes.data() + std::min(at_, bytes.size()), n);
        at_ += n;
        return n;
    }
    void seek(std::uint64_t position) override {
        if (pipe) throw tenon::unimplemented_error("'it': it is a pipe");
        at_ = static_cast<std::size_t>(position);
    }
    std::int64_t size() const override { return pipe ? -1 : static_cast<std::int64_t>(bytes.size()); }

private:
    std::size_t at_ = 0;
};

inline std::unique_ptr<tenon::record_source> source_of(std::unique_ptr<tenon::readable_file> file,
                                                       const tenon::record_format& f,
                                                       std::size_t buffer_bytes = 1 << 18) {
    file = tenon::unpacked(std::move(file), "it", f.compressed);
    return tenon::detail::make_record_source({"read", "it", std::move(file), f, buffer_bytes});
}

inline std::unique_ptr<tenon::record_source> source_of(const std::string& bytes, const tenon::record_format& f,
                                                       std::size_t buffer_bytes = 1 << 18) {
    return source_of(std::make_unique<test_file>(bytes), f, buffer_bytes);
}

/// All records; what was thrown stands among them as "!" and the message.
inline std::vector<std::string> all_of(tenon::record_source& source) {
    std::vector<std::string> records;
    for (;;) {
        std::string_view r;
        try {
            if (!source.next(r)) break;
            records.emplace_back(r);
        } catch (const tenon::error& e) {
            records.push_back(std::string("!") + name_of(e.code()) + " " + e.what());
        }
    }
    return records;
}
inline std::vector<std::string> all_of(const std::string& bytes, const tenon::record_format& f,
                                       std::size_t buffer_bytes = 1 << 18) {
    return all_of(*source_of(bytes, f, buffer_bytes));
}
