#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include <net/wire/rows.hpp>
#include <net/wire/values.hpp>

/// Parts of programs by what they are, so that each is sent once.

namespace tenon::net {

/// Programs that somebody uses, and those used last, up to `kept_bytes`. Thread-safe.
class programs {
public:
    explicit programs(std::size_t kept_bytes) : most_(kept_bytes) {}

    /// nullptr: there is none.
    std::shared_ptr<const packed> find(const program_hash& hash);
    /// What has this hash; the one that was there, where there was one.
    std::shared_ptr<const packed> enter(const program_hash& hash, std::shared_ptr<const packed> program);

    /// Drops those that nobody uses: false where there are none.
    bool give_back() noexcept;

private:
    std::shared_ptr<const packed> use(const program_hash& hash, std::shared_ptr<const packed> program,
                                      std::list<std::shared_ptr<const packed>>& dropped);

    const std::size_t most_;
    std::mutex guard_; // of what follows
    std::map<program_hash, std::weak_ptr<const packed>> known_;
    std::list<std::shared_ptr<const packed>> kept_; // the last used first
    std::size_t kept_bytes_ = 0;
};

} // namespace tenon::net
