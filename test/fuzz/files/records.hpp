#pragma once

#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <io/sources.hpp>

/// What holds for the records of any bytes, whatever their format.

namespace fuzz {

struct reading {
    std::vector<std::string> records; // errors among them
    std::vector<tenon::record_position> places;
    std::uint64_t ignored = 0;
};

inline reading read_records(const std::string& bytes, const tenon::record_format& f, std::size_t buffer, bool pipe) {
    auto file = std::make_unique<test_file>(bytes);
    file->pipe = pipe;
    file->at_once = buffer;
    reading r;
    const auto source = source_of(std::move(file), f, buffer);
    r.places.push_back(source->position());
    for (bool more = true; more;) {
        std::string_view record;
        try {
            more = source->next(record);
            if (more) r.records.emplace_back(record);
        } catch (const tenon::error& e) {
            r.records.push_back(std::string("!") + e.what());
        }
        if (r.records.size() > bytes.size() + 2) {
            if ((f.kind == tenon::record_kind::idx || f.kind == tenon::record_kind::npy) && r.records.front().empty())
                break;    // as many as the header promises, and what is said of bytes behind them
            std::abort(); // it never ends
        }
        if (more) r.places.push_back(source->position());
    }
    r.ignored = source->ignored();
    return r;
}

/// The same records and errors come whatever the buffer is and however the file is read, also from a place in the middle; one
/// that is ignored is one that is an error where none is.
inline void check_records(const std::string& bytes, tenon::record_format f) {
    f.compressed = tenon::compression::none;
    const reading all = read_records(bytes, f, 1 << 12, false);
    const reading narrow = read_records(bytes, f, 1 + bytes.size() % 7, true);
    if (all.records != narrow.records || all.places != narrow.places) std::abort();
    const auto is_error = [](const std::string& r) { return r.starts_with("!read: "); };
    if (!all.records.empty()) {
        const std::size_t at = bytes.size() % all.records.size();
        const auto source = source_of(bytes, f, 1 + bytes.size() % 11);
        try {
            source->go_to(all.places[at]);
            std::string_view record;
            if (!source->next(record) || record != all.records[at]) std::abort();
        } catch (const tenon::error& e) {
            if (all.records[at] != std::string("!") + e.what()) std::abort();
        }
    }
    f.ignore_errors = true;
    const reading ignoring = read_records(bytes, f, 64, false);
    std::vector<std::string> good = all.records;
    std::erase_if(good, is_error);
    std::vector<std::string> still = ignoring.records;
    if (std::erase_if(still, is_error) == 0 && (still != good || ignoring.ignored != all.records.size() - good.size()))
        std::abort();
}

} // namespace fuzz
