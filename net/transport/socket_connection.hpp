#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <net/transport/byte_stream.hpp>
#include <net/transport/handover.hpp>
#include <net/transport/poller.hpp>
#include <net/transport/tcp.hpp>
#include <net/wire/frame.hpp>

/// A connection over a stream of bytes; large payloads may go beside it, through memory.

namespace tenon::net {

/// What a connection needs of its transport.
class connection_owner {
public:
    virtual ~connection_owner() = default;
    virtual poller& sockets() noexcept = 0;
    virtual const tcp_options& options() const noexcept = 0;
    virtual std::uint64_t call_at(time_point at, std::function<void()> what) = 0;
    virtual void has_spoken(std::uint64_t id) = 0; ///< its first message has come
    virtual void has_ended(std::uint64_t id) = 0;
};

/// What is known of a connection from the beginning.
struct connection_traits {
    bool is_private = false;
    bool may_share = false; ///< the other side may be a process of this machine
};

/// Of the rings that are made, and taken.
inline constexpr std::size_t least_ring = std::size_t{64} << 10, most_ring = std::size_t{64} << 20;

/// What two processes say to each other about shared memory: verbs of message_type::shared_memory. One may be made in each
/// direction; `room` and `ended` are of one that is there.
enum class ring_verb : std::uint8_t {
    offer,  ///< who has large payloads to send: memory can be had; the body is a handover_offer
    come,   ///< the other side: it has come to the socket
    given,  ///< the memory lies there
    mapped, ///< it has been taken, and is used from now on
    refuse, ///< it will not be; why, as text. The answer to offer, or to given
    room,   ///< who reads: the writer waits, and half of the ring is free
    ended,  ///< who writes: nothing comes through it any more
    count,
};

/// Two things go on at once, each by one thread at a time. A *turn* is taken by a thread that is told of the socket: it shakes
/// hands, reads, tells the user, and ends the connection; all that is not said to be guarded belongs to the turn. *Writing* is
/// done by who sends, while the socket takes it, and then by who is told that it takes more; guard_ is held between the writes.
class socket_connection final : public connection,
                                public watched,
                                private message_sink,
                                public std::enable_shared_from_this<socket_connection> {
public:
    /// As transport::dialed: called once, when messages can be sent or when that will never be.
    using announced = transport::dialed;

    socket_connection(std::shared_ptr<connection_owner> owner, std::uint64_t id, std::unique_ptr<byte_stream> stream,
                      std::string peer, connection_traits is, announced then);
    ~socket_connection() override;
    /// Once, before anybody else knows of it.
    void start();

    void send(message m) override;
    std::size_t unsent_bytes() const noexcept override { return unsent_.load(std::memory_order_relaxed); }
    void close(const std::string& why) noexcept override;
    const std::string& peer() const noexcept override { return peer_; }
    bool is_private() const noexcept override { return is_.is_private; }

    void ready(std::uint32_t what) override;
    void send_kept() override { write_more(false); }
    /// Messages can be sent: hands have been shaken.
    bool is_open() const noexcept { return is_open_.load(); }

private:
    // The turn.
    void turn(std::uint32_t what);
    bool shake_hands();
    void read_all(std::uint32_t what);
    void end(const std::string& why);
    std::string reason();
    message_limits limits() override { return user_->limits(); }
    any_array place_for(const message& head, const tensor_type& type, std::size_t size) override;
    void read_beside(std::span<std::byte> to) override;
    void received(message m) override;

    // Shared memory: in the turn, but for the first two.
    void offer_ring();
    void give_ring_back(time_point since);
    void heard(const message& m);
    void take_offer(const message& m);
    void give_ring();
    void take_ring();
    void use_ring();
    void ring_refused(const std::string& why);
    void say(ring_verb v, bytes body = {});
    void tell(const std::function<void(const std::string&)>& log, const char* what, const std::string& why) const;

    // Writing.
    using outgoing = std::unique_ptr<message_encoder>;
    struct outgoing_ring {
        shared_pages pages;
        ring_writer writer{pages.memory()};
    };
    struct leftovers { // what ends outside of the lock
        std::unique_ptr<byte_stream> stream;
        std::vector<outgoing> batch;
        std::deque<outgoing> small, large;
        std::shared_ptr<outgoing_ring> ring;
        std::unique_ptr<giving_end> giving;
    };
    leftovers take_all();
    void write_more(bool told);
    bool write_once(std::unique_lock<std::mutex>& lock, std::size_t& sum, std::vector<outgoing>& finished);
    bool next_batch();
    bool next_large_frame();
    void count_gone(std::size_t count);
    void advance(std::size_t count, std::vector<outgoing>& finished);
    void close_now(const std::string& why) noexcept;
    void watch_reader(std::size_t gone_before);

    const std::shared_ptr<connection_owner> owner_;
    const std::uint64_t id_;
    const std::string peer_;
    const connection_traits is_;

    static constexpr std::uint32_t busy = std::uint32_t{1} << 31;
    std::atomic<std::uint32_t> told_{0}; // what the turn shall look at; busy: somebody has the turn
    announced then_;
    std::shared_ptr<connection_user> user_;
    std::unique_ptr<message_decoder> decoder_;
    bool has_spoken_ = false, has_ended_ = false;
    struct incoming_ring {
        shared_pages pages;
        ring_reader reader{pages.memory()};
    };
    std::unique_ptr<taking_end> taking_;
    std::unique_ptr<incoming_ring> read_ring_;

    std::mutex guard_; // of what follows, but for the atomics
    std::unique_ptr<byte_stream>
        stream_; // the turn reads it without the guard, a writer too; who of them is last ends it
    std::string why_;
    std::atomic<bool> is_open_{false}, is_closing_{false};
    std::atomic<bool> is_broken_{false}; // for writing; what has come is still read
    bool is_over_ = false, is_writing_ = false;
    std::atomic<bool> is_blocked_{false}; // who is told of the socket goes on with the writing
    std::atomic<std::uint32_t> told_to_write_{0};
    std::deque<outgoing> small_, large_;
    std::vector<outgoing> batch_; // small ones, of which each is one frame; then a frame of the first large one
    bool batch_has_large_ = false;
    std::vector<std::span<const std::byte>> pieces_; // of the batch
    std::size_t piece_ = 0, offset_ = 0;             // the next to go
    std::atomic<std::size_t> unsent_{0}, gone_{0};
    bool is_watching_reader_ = false, reader_caught_up_ = false;
    enum class ring_stage { none, offered, given, used, ending, refused } ring_stage_ = ring_stage::none;
    std::unique_ptr<giving_end> giving_;  // while offered
    std::shared_ptr<outgoing_ring> ring_; // while given and used
    message_encoder::pieces beside_;      // of the batch; they go before the rest of it
    time_point ring_used_{};
};

} // namespace tenon::net
