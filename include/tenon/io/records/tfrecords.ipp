#pragma once

#include <utility>

#include <tenon/io/records/buffered_records.hpp>
#include <tenon/io/records/tfrecord.hpp>

namespace tenon::detail {

class tfrecord_source final : public buffered_records {
public:
    explicit tfrecord_source(record_file f) : buffered_records(std::move(f)) {}

    bool next(std::string_view& record) override {
        constexpr std::size_t around = tfrecord_head_bytes + tfrecord_tail_bytes;
        while (!ended_) {
            if (!fill(tfrecord_head_bytes)) {
                if (available() > 0) cut_off(around);
                break;
            }
            if (masked_crc32c(data(), 8) != little_endian<std::uint32_t>(data() + 8)) {
                lost("the checksum of its length does not fit: the file is damaged, or is no TFRecord file");
                continue;
            }
            const auto length = little_endian<std::uint64_t>(data());
            if (length > static_cast<std::uint64_t>(format_.largest_record)) {
                too_large(length);
                continue;
            }
            const auto size = static_cast<std::size_t>(length);
            if (!fill(around + size)) {
                cut_off(around + size);
                continue;
            }
            const char* const from = data() + tfrecord_head_bytes;
            const bool good = masked_crc32c(from, size) == little_endian<std::uint32_t>(from + size);
            const std::string said = good ? std::string() : say("the checksum of its data does not fit: it is damaged");
            take(around + size);
            number_ = ++records_;
            if (!good) {
                leave_out(error_code::data_loss, said);
                continue;
            }
            record = {from, size};
            return true;
        }
        ended_ = true;
        record = {};
        return false;
    }

private:
    // Where the next record begins is not known any more.
    void lost(const std::string& what) {
        const std::string said = say(what);
        number_ = ++records_;
        end();
        leave_out(error_code::data_loss, said);
    }
    void cut_off(std::size_t wanted) {
        lost("the file is cut off: " + std::to_string(available()) + " bytes are left of a record of " +
             (available() < tfrecord_head_bytes ? "at least " : "") + std::to_string(wanted));
    }
    void too_large(std::uint64_t length) {
        const std::string said = say(std::to_string(length) + " bytes of data are more than largest_record, which is " +
                                     std::to_string(format_.largest_record));
        number_ = ++records_;
        // Its length is as it was written; where the file does not have as much, nothing follows.
        if (!skip(tfrecord_head_bytes) || !skip(length) || !skip(tfrecord_tail_bytes)) ended_ = true;
        leave_out(error_code::resource_exhausted, said);
    }
};

TENON_INLINE std::unique_ptr<record_source> tfrecords(record_file f) {
    return std::make_unique<tfrecord_source>(std::move(f));
}

} // namespace tenon::detail
