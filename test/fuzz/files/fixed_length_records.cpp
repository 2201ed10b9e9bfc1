// Records of fixed length, whole files and elements of IDX and .npy files of any bytes, with sizes from the first four.
// covers: io/records/fixed_length_records io/records/array_records io/records/buffered_records

#include "fuzz/fuzzing.hpp"
#include "records.hpp"

void try_input(const fuzz::input& in) {
    if (in.size() < 4) return;
    tenon::record_format f{.largest_record = 300};
    if (in[0] % 4 == 0) f.kind = tenon::record_kind::whole_file;
    else if (in[0] % 4 == 1) f.kind = in[1] % 2 == 0 ? tenon::record_kind::idx : tenon::record_kind::npy;
    else {
        f.kind = tenon::record_kind::fixed_length;
        f.header_bytes = in[1];
        f.record_bytes = 1 + in[2];
        f.footer_bytes = in[3];
    }
    fuzz::check_records(in.text(4), f);
}
