// Records of fixed length, whole files and elements of IDX and .npy files of any bytes, with sizes from the first four.
// covers: io/records/fixed_length_records io/records/array_records io/records/buffered_records

#include <cstdint>

#include "records.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 4) return 0;
    tenon::record_format f;
    f.largest_record = 300;
    if (data[0] % 4 == 0) f.kind = tenon::record_kind::whole_file;
    else if (data[0] % 4 == 1) f.kind = data[1] % 2 == 0 ? tenon::record_kind::idx : tenon::record_kind::npy;
    else {
        f.kind = tenon::record_kind::fixed_length;
        f.header_bytes = data[1];
        f.record_bytes = 1 + data[2];
        f.footer_bytes = data[3];
    }
    fuzz::check_records(std::string(reinterpret_cast<const char*>(data + 4), size - 4), f);
    return 0;
}
