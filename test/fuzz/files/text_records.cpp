// Lines and CSV rows of any bytes: the first byte says which, how many header lines and how long they may be.
// covers: io/records/text_records io/records/buffered_records

#include <cstdint>

#include "records.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    tenon::record_format f;
    f.kind = data[0] & 1 ? tenon::record_kind::csv_lines : tenon::record_kind::text_lines;
    f.skip_header_lines = data[0] >> 1 & 3;
    f.largest_record = 1 + (data[0] >> 3);
    fuzz::check_records(std::string(reinterpret_cast<const char*>(data + 1), size - 1), f);
    return 0;
}
