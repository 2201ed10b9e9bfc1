#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <net/rpc/peer.hpp>
#include <net/wire/calls.hpp>
#include <tenon/concurrency/stop_source.hpp>

/// Data sets of this program in a session on a server, whose iterators ask for their elements.

namespace tenon::net {

/// What a session's client does for them: each stream that the server has it open is gone through by a thread of its own.
/// Thread-safe.
class served_data : public std::enable_shared_from_this<served_data> {
public:
    served_data(std::shared_ptr<peer> server, std::uint64_t session, std::uint64_t incarnation) :
        server_(std::move(server)), session_(session), incarnation_(incarnation) {}
    /// The server may ask from now on. Again: nothing.
    void begin();
    /// It may not any more: nothing further is computed, and who reads is stopped.
    void stop() noexcept;
    /// The same; waits for threads that compute an element.
    void end() noexcept;

private:
    struct stream;
    void wait_to_be_asked();
    void take(answer&& a) noexcept;
    void ask(data_wanted&& w);
    void work(stream& s);
    void work(stream& s, const data_wanted& w, give_data& given);
    give_data given_to(std::uint64_t request) const;
    give_data failed(std::uint64_t request) const;
    void give(give_data&& given) const;

    const std::shared_ptr<peer> server_;
    const std::uint64_t session_, incarnation_;
    tenon::detail::stop_source reads_;
    std::mutex guard_; // of what follows
    bool begun_ = false, ended_ = false;
    std::map<std::uint64_t, std::shared_ptr<stream>> streams_;
    std::vector<std::shared_ptr<stream>> closed_; // are not wanted any more; their threads may still run
};

} // namespace tenon::net
