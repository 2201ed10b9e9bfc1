#pragma once

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <tenon/core/error.hpp>
#include <tenon/debug/event_file.hpp>
#include <tenon/io/files/file.hpp>
#include <tenon/io/records/tfrecord.hpp>

namespace tenon::detail {

TENON_INLINE event_file::event_file(const std::string& folder, std::int64_t seconds) {
    constexpr const char* what = "summary_writer";
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) throw_file_error(what, folder, failed.value());
    char host[256] = "", name[64];
    (void)::gethostname(host, sizeof host - 1);
    for (char& c : host)
        if (c == '/') c = '_';
    // Names are ordered by their time.
    std::snprintf(name, sizeof name, "events.out.tfevents.%010lld.", static_cast<long long>(seconds));
    const std::string first =
        (std::filesystem::path(folder) / (name + std::string(host) + "." + std::to_string(::getpid()))).string();
    for (int more = 0; descriptor_ < 0; ++more) {
        path_ = more == 0 ? first : first + "." + std::to_string(more);
        descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (descriptor_ < 0 && errno != EEXIST) throw_file_error(what, path_, errno);
    }
}

TENON_INLINE event_file::~event_file() { ::close(descriptor_); }

TENON_INLINE void event_file::add(std::string_view record) {
    const tfrecord_frame around(record);
    waiting_.append(around.head, sizeof around.head).append(record).append(around.tail, sizeof around.tail);
    ++waiting_records_;
}

TENON_INLINE void event_file::flush() {
    std::string writing;
    writing.swap(waiting_);
    const std::size_t records = std::exchange(waiting_records_, 0);
    const ::off_t before = ::lseek(descriptor_, 0, SEEK_END);
    for (std::size_t done = 0; done < writing.size();) {
        const ::ssize_t wrote = ::write(descriptor_, writing.data() + done, writing.size() - done);
        if (wrote >= 0) {
            done += static_cast<std::size_t>(wrote);
            continue;
        }
        const int why = errno;
        if (why == EINTR) continue;
        // Half a record would hide all that follow it.
        const bool whole = before >= 0 && ::ftruncate(descriptor_, before) == 0;
        try {
            throw_file_error("summary_writer", path_, why);
        } catch (const error& e) {
            throw_error(e, std::string(e.what()) + "; " + std::to_string(records) + " records are lost" +
                               (whole ? "" : ", and the file may end with half a record"));
        }
    }
    writing.clear();
    waiting_.swap(writing); // its memory serves again
}

} // namespace tenon::detail
