// Lines and CSV rows of any bytes: the first byte says which, how many header lines and how long they may be.
// covers: io/records/text_records io/records/buffered_records

#include "fuzz/fuzzing.hpp"
#include "records.hpp"

void try_input(const fuzz::input& in) {
    if (in.size() == 0) return;
    tenon::record_format f;
    f.kind = in[0] & 1 ? tenon::record_kind::csv_lines : tenon::record_kind::text_lines;
    f.skip_header_lines = in[0] >> 1 & 3;
    f.largest_record = 1 + (in[0] >> 3);
    fuzz::check_records(in.text(1), f);
}
