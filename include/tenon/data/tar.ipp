#pragma once

#include <algorithm>
#include <utility>

#include <tenon/data/tar.hpp>

namespace tenon::detail {

// What is before the first dot of a name's last part; the extension is what is behind it.
inline std::string_view key_of_sample(std::string_view name) {
    const std::size_t slash = name.rfind('/');
    const std::size_t dot = name.find('.', slash == std::string_view::npos ? 0 : slash + 1);
    return name.substr(0, dot);
}

TENON_INLINE bool tar_samples::peek() {
    while (!ahead_) {
        if (!reader_) {
            if (file_ == files_.size()) return false;
            reader_.emplace(files_[file_++], options_.limits);
        }
        tar_entry e;
        if (reader_->next(e)) ahead_ = std::move(e);
        else reader_.reset(); // so it is behind what is damaged: the next file is tried then
    }
    return true;
}

TENON_INLINE bool tar_samples::next(std::vector<std::string>& sample) {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    while (peek()) {
        const std::string key(key_of_sample(ahead_->name));
        const std::string in = files_[file_ - 1];
        sample.assign(extensions_.size() + 1, {});
        sample[0] = key;
        std::vector<bool> there(extensions_.size());
        bool same = true;
        while (same) {
            const std::string_view name = ahead_->name;
            const std::string extension(name.size() > key.size() ? name.substr(key.size() + 1) : std::string_view());
            const auto which = std::find(extensions_.begin(), extensions_.end(), extension) - extensions_.begin();
            if (which < static_cast<std::ptrdiff_t>(extensions_.size())) {
                sample[static_cast<std::size_t>(which) + 1] = std::move(ahead_->bytes);
                there[static_cast<std::size_t>(which)] = true;
            }
            ahead_.reset();
            // A sample does not go from one archive to the next.
            try {
                same = peek() && files_[file_ - 1] == in && key_of_sample(ahead_->name) == key;
            } catch (...) {
                failure_ = std::current_exception(); // what is wrong behind a sample comes behind it
                same = false;
            }
        }
        const auto lacks = std::find(there.begin(), there.end(), false);
        if (lacks == there.end()) return true;
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
        if (!options_.skip_incomplete)
            throw not_found_error("tar: '" + in + "': sample \"" + key + "\" has no file ." +
                                  extensions_[static_cast<std::size_t>(lacks - there.begin())] +
                                  "; tar_options::skip_incomplete leaves such samples out");
    }
    return false;
}

} // namespace tenon::detail
