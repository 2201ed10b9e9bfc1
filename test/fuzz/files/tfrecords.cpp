// TFRecords of any bytes. The first byte says whether checksums are put right first, so that what is behind them is reached.
// covers: io/records/tfrecords io/records/buffered_records io/files/crc32c

#include <cstdint>

#include <tenon/io/records/tfrecord.hpp>

#include "records.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace tenon::detail;
    if (size == 0) return 0;
    std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
    for (std::size_t at = 0; (data[0] & 1) && bytes.size() - at >= tfrecord_head_bytes;) {
        put_little_endian(masked_crc32c(bytes.data() + at, 8), bytes.data() + at + 8);
        const auto length = little_endian<std::uint64_t>(bytes.data() + at);
        const std::size_t rest = bytes.size() - at - tfrecord_head_bytes;
        if (rest < tfrecord_tail_bytes || length > rest - tfrecord_tail_bytes) break;
        char* const from = bytes.data() + at + tfrecord_head_bytes;
        if (!(data[0] & 2)) put_little_endian(masked_crc32c(from, length), from + length);
        at += tfrecord_head_bytes + length + tfrecord_tail_bytes;
    }
    fuzz::check_records(bytes, {.kind = tenon::record_kind::tfrecord, .largest_record = 200});
    return 0;
}
