// TFRecords of any bytes. The first byte says whether checksums are put right first, so that what is behind them is reached.
// covers: io/records/tfrecords io/records/buffered_records io/files/crc32c

#include <tenon/io/records/tfrecord.hpp>

#include "fuzz/fuzzing.hpp"
#include "records.hpp"

void try_input(const fuzz::input& in) {
    using namespace tenon::detail;
    if (in.size() == 0) return;
    std::string bytes = in.text(1);
    for (std::size_t at = 0; (in[0] & 1) && bytes.size() - at >= tfrecord_head_bytes;) {
        put_little_endian(masked_crc32c(bytes.data() + at, 8), bytes.data() + at + 8);
        const auto length = little_endian<std::uint64_t>(bytes.data() + at);
        const std::size_t rest = bytes.size() - at - tfrecord_head_bytes;
        if (rest < tfrecord_tail_bytes || length > rest - tfrecord_tail_bytes) break;
        char* const from = bytes.data() + at + tfrecord_head_bytes;
        if (!(in[0] & 2)) put_little_endian(masked_crc32c(from, length), from + length);
        at += tfrecord_head_bytes + length + tfrecord_tail_bytes;
    }
    fuzz::check_records(bytes, {.kind = tenon::record_kind::tfrecord, .largest_record = 200});
}
