#pragma once

#include <cstring>
#include <utility>

#include <tenon/io/records/buffered_records.hpp>
#include <tenon/io/records/idx_header.hpp>
#include <tenon/io/records/npy_header.hpp>

namespace tenon::detail {

// What the elements of an array in a file are; its records are those along dimension 0.
inline tensor_type read_type_of_idx(const auto& read, const auto& say) {
    std::size_t header_bytes = 0;
    return read_idx_header(read, say, header_bytes);
}
inline tensor_type read_type_of_npy(const auto& read, const auto& say) {
    std::size_t header_bytes = 0;
    const npy_header h = read_npy_header(read, say, header_bytes);
    if (h.text_units > 0) throw unimplemented_error(say("its elements are texts, which read_npy reads, all at once"));
    if (h.fortran && h.type.extents.rank() > 1)
        throw unimplemented_error(
            say("the elements, " + to_string(h.type) +
                ", are stored by columns (fortran_order), so that those along dimension 0 do not lie "
                "together; write them by rows: numpy.save(file, numpy.ascontiguousarray(x))"));
    return h.type;
}

class array_source final : public buffered_records {
public:
    explicit array_source(record_file f) : buffered_records(std::move(f)) {}

    bool next(std::string_view& record) override {
        if (ended_) return false;
        if (at_beginning()) read_header();
        if (records_ == count_) {
            if (!fill(1)) {
                ended_ = true;
                return false;
            }
            return lost("more bytes follow the " + std::to_string(count_) + " records that the header promises");
        }
        if (!fill(bytes_))
            return lost("the file ends within a record: " + std::to_string(available()) + " bytes are left of " +
                        std::to_string(bytes_) + ", and the header promises " + std::to_string(count_) + " records");
        record = {data(), bytes_};
        take(bytes_);
        number_ = ++records_;
        return true;
    }
    void go_to(const record_position& p) override {
        if (p.bytes > 0 && !header_) {
            buffered_records::go_to({});
            read_header();
        }
        buffered_records::go_to(p);
    }

private:
    void read_header() {
        const auto refuse = [&](error_code code, const std::string& what) {
            ended_ = true;
            throw_error(code, say(what));
        };
        const auto read = [&](void* to, std::size_t bytes) {
            ended_ = false;
            const std::size_t n = fill(bytes) ? bytes : available();
            std::memcpy(to, data(), n);
            take(n);
            ended_ = true;
            return n;
        };
        const auto named = [&](const std::string& what) { return say(what); };
        ended_ = true; // unless all is well
        const tensor_type type =
            format_.kind == record_kind::npy ? read_type_of_npy(read, named) : read_type_of_idx(read, named);
        if (type.extents.rank() == 0)
            refuse(error_code::invalid_argument, "the elements are a scalar, which has no dimension to go along");
        checked_size bytes = static_cast<std::int64_t>(size_of(type.element));
        for (int i = 1; i < type.extents.rank(); ++i) bytes = bytes * type.extents[i].size;
        if (!bytes.fits() || bytes.value() > format_.largest_record)
            refuse(error_code::resource_exhausted, "records of " + to_string(type) +
                                                       " are larger than largest_record, which is " +
                                                       std::to_string(format_.largest_record) + " bytes");
        bytes_ = static_cast<std::size_t>(bytes.value());
        count_ = static_cast<std::uint64_t>(type.extents[0].size);
        header_ = true;
        ended_ = false;
    }
    bool lost(const std::string& what) {
        const std::string said = say(what);
        number_ = records_ + 1;
        end();
        leave_out(error_code::data_loss, said);
        return false;
    }

    bool header_ = false;
    std::size_t bytes_ = 0;
    std::uint64_t count_ = 0;
};

TENON_INLINE std::unique_ptr<record_source> array_records(record_file f) {
    return std::make_unique<array_source>(std::move(f));
}

} // namespace tenon::detail
