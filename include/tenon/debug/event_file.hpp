#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <tenon/core/config.hpp>

namespace tenon::detail {

/// A file of a folder of logs that nobody else writes to: "events.out.tfevents.SECONDS.HOST.PROCESS", with a further number where there
/// is one of that name. It holds TFRecords, and grows by whole ones. For one thread at a time.
class event_file {
public:
    /// Makes the folder where there is none. Errors are those of files, with its name.
    event_file(const std::string& folder, std::int64_t seconds);
    event_file(event_file&&) = delete;
    ~event_file();

    const std::string& path() const noexcept { return path_; }
    /// Keeps it until flush().
    void add(std::string_view record);
    std::size_t waiting_bytes() const noexcept { return waiting_.size(); }
    /// Writes what was added, all of it or nothing: where it fails, for want of room say, the error names the file and says how many
    /// records are lost, and what is written later can be read.
    void flush();

private:
    std::string path_, waiting_;
    std::size_t waiting_records_ = 0;
    int descriptor_ = -1;
};

} // namespace tenon::detail

#if TENON_HEADER_ONLY
#include <tenon/debug/event_file.ipp>
#endif
