#include <net/worker/programs.hpp>

#include <algorithm>
#include <utility>

namespace tenon::net {

std::shared_ptr<const packed> programs::find(const program_hash& hash) {
    std::list<std::shared_ptr<const packed>> dropped; // ends after the lock does
    const std::lock_guard lock(guard_);
    const auto at = known_.find(hash);
    auto program = at == known_.end() ? nullptr : at->second.lock();
    return program ? use(hash, std::move(program), dropped) : nullptr;
}

std::shared_ptr<const packed> programs::enter(const program_hash& hash, std::shared_ptr<const packed> program) {
    std::list<std::shared_ptr<const packed>> dropped; // ends after the lock does
    const std::lock_guard lock(guard_);
    if (const auto at = known_.find(hash); at != known_.end())
        if (auto there = at->second.lock()) program = std::move(there);
    return use(hash, std::move(program), dropped);
}

bool programs::give_back() noexcept {
    std::list<std::shared_ptr<const packed>> dropped; // ends after the lock does
    const std::unique_lock lock(guard_, std::try_to_lock);
    if (!lock) return false;
    for (auto at = kept_.begin(); at != kept_.end();) {
        const auto next = std::next(at);
        if (at->use_count() == 1) {
            kept_bytes_ -= (*at)->size();
            dropped.splice(dropped.end(), kept_, at);
        }
        at = next;
    }
    return !dropped.empty();
}

std::shared_ptr<const packed> programs::use(const program_hash& hash, std::shared_ptr<const packed> program,
                                            std::list<std::shared_ptr<const packed>>& dropped) {
    known_[hash] = program;
    if (const auto at = std::find(kept_.begin(), kept_.end(), program); at != kept_.end())
        kept_.splice(kept_.begin(), kept_, at);
    else {
        kept_.push_front(program);
        kept_bytes_ += program->size();
    }
    while (kept_bytes_ > most_) {
        kept_bytes_ -= kept_.back()->size();
        dropped.splice(dropped.end(), kept_, std::prev(kept_.end()));
    }
    if (known_.size() > 2 * kept_.size() + 1024) // nobody uses most of the others any more
        std::erase_if(known_, [](const auto& k) { return k.second.expired(); });
    return program;
}

} // namespace tenon::net
