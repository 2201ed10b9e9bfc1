#pragma once

#include <algorithm>
#include <utility>

#include <tenon/io/records/buffered_records.hpp>

namespace tenon::detail {

class fixed_length_source final : public buffered_records {
public:
    explicit fixed_length_source(record_file f) :
        buffered_records(std::move(f)),
        bytes_(static_cast<std::size_t>(format_.record_bytes)),
        footer_(static_cast<std::size_t>(format_.footer_bytes)) {}

    bool next(std::string_view& record) override {
        if (ended_) return false;
        if (at_beginning() && format_.header_bytes > 0 && !skip(static_cast<std::uint64_t>(format_.header_bytes)))
            return cut_off("within its header of " + std::to_string(format_.header_bytes) + " bytes");
        // As much as the footer has is never a record.
        if (!fill(bytes_ + footer_)) {
            const std::size_t left = available();
            if (left < footer_) return cut_off("within its footer of " + std::to_string(footer_) + " bytes");
            if (left > footer_)
                return cut_off("within a record: " + std::to_string(left - footer_) + " bytes are left of " +
                               std::to_string(bytes_));
            ended_ = true;
            return false;
        }
        record = {data(), bytes_};
        take(bytes_);
        number_ = ++records_;
        return true;
    }

private:
    bool cut_off(const std::string& where) {
        const std::string said = say("the file ends " + where);
        number_ = ++records_;
        end();
        leave_out(error_code::data_loss, said);
        return false;
    }

    const std::size_t bytes_, footer_;
};

TENON_INLINE std::unique_ptr<record_source> fixed_length_records(record_file f) {
    return std::make_unique<fixed_length_source>(std::move(f));
}

class whole_file_source final : public buffered_records {
public:
    explicit whole_file_source(record_file f) : buffered_records(std::move(f)) {}

    bool next(std::string_view& record) override {
        if (ended_ || records_ > 0) return false;
        const auto limit = static_cast<std::size_t>(format_.largest_record);
        const bool larger = fill(limit + 1);
        if (ended_) return false;
        const std::string said =
            larger ? say("the file has more than largest_record, which is " + std::to_string(limit) + " bytes")
                   : std::string();
        number_ = ++records_;
        if (larger) {
            end();
            leave_out(error_code::resource_exhausted, said);
            return false;
        }
        record = {data(), available()};
        take(available());
        return true;
    }
};

TENON_INLINE std::unique_ptr<record_source> whole_file_record(record_file f) {
    return std::make_unique<whole_file_source>(std::move(f));
}

} // namespace tenon::detail
