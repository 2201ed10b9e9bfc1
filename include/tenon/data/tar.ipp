#pragma once

#include <algorithm>
#include <string_view>
#include <utility>

#include <tenon/core/text/letter_case.hpp>
#include <tenon/data/tar.hpp>

namespace tenon::detail {

// What is before the first dot of a name's last part; the extension is what is behind it. Nothing where either is not there.
inline std::string_view key_of_sample(std::string_view name) {
    const std::size_t last = name.rfind('/') + 1; // 0 where there is no slash
    const std::size_t dot = name.find('.', last);
    return dot == std::string_view::npos || dot == last ? std::string_view() : name.substr(0, dot);
}

TENON_INLINE bool tar_samples::peek() {
    while (!ahead_) {
        if (!reader_) {
            if (file_ == files_.size()) return false;
            reader_.emplace(files_[file_++], options_.limits);
        }
        tar_entry e;
        if (!reader_->next(e)) reader_.reset(); // so it is behind what is damaged: the next file is tried then
        else if (!key_of_sample(e.name).empty()) ahead_ = std::move(e);
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
        std::string twice;
        while (same) {
            const std::string_view extension = std::string_view(ahead_->name).substr(key.size() + 1);
            auto at = std::find(extensions_.begin(), extensions_.end(), extension);
            if (at == extensions_.end())
                at = std::find_if(extensions_.begin(), extensions_.end(),
                                  [&](const std::string& e) { return is_same_but_for_case(e, extension); });
            if (at != extensions_.end()) {
                const auto which = static_cast<std::size_t>(at - extensions_.begin());
                if (there[which]) twice = *at;
                sample[which + 1] = std::move(ahead_->bytes);
                there[which] = true;
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
        if (!twice.empty())
            throw invalid_argument_error("tar: '" + in + "': sample \"" + key + "\" has two files ." + twice +
                                         "; files of one sample have a name that no other has");
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
