#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <optional>
#include <utility>

#include <net/transport/socket_connection.hpp>

namespace tenon::net {

namespace {

constexpr std::size_t most_at_once = std::size_t{4} << 20;  // read or written, before others have their turn
constexpr std::size_t times_copied = 4;                     // what is not read to where it belongs, about
constexpr std::size_t most_batch = 64;                      // small messages
constexpr std::size_t least_direct = std::size_t{4} << 10;  // of a payload, to be read where it belongs
constexpr std::size_t least_beside = std::size_t{16} << 10; // of a frame's payload, to go through shared memory
constexpr std::size_t least_offer = std::size_t{256} << 10; // of a message's payload, for there to be shared memory

} // namespace

socket_connection::socket_connection(std::shared_ptr<connection_owner> owner, std::uint64_t id,
                                     std::unique_ptr<byte_stream> stream, std::string peer, connection_traits is,
                                     announced then) :
    owner_(std::move(owner)),
    id_(id),
    peer_(std::move(peer)),
    is_(is),
    then_(std::move(then)),
    stream_(std::move(stream)) {}

socket_connection::~socket_connection() = default;

void socket_connection::start() { owner_->sockets().add(stream_->socket(), id_, shared_from_this()); }

// ---- the turn ----

void socket_connection::ready(std::uint32_t what) {
    if (what & (readiness::write | readiness::over)) {
        told_to_write_.fetch_add(1);
        if (is_blocked_.load()) write_more(true);
    }
    if (told_.fetch_or(what | busy) & busy) return; // who has the turn looks again
    for (;;) {
        turn(told_.exchange(busy) & ~busy);
        if (has_ended_) return; // the turn is nobody's any more
        std::uint32_t nothing_new = busy;
        if (told_.compare_exchange_strong(nothing_new, 0)) return;
        if (!owner_->sockets().has_deferred()) continue;
        // This thread has something else to do, which is not to wait for what comes here: the next turn is another's.
        told_.fetch_and(~busy);
        const std::lock_guard lock(guard_);
        if (stream_) owner_->sockets().tell_again(stream_->socket(), id_);
        return;
    }
}

void socket_connection::turn(std::uint32_t what) {
    if (is_closing_.load()) return end(reason());
    if (!is_open_.load()) {
        if (!shake_hands()) return;
        what |= readiness::read; // it may lie in the stream already
    }
    if (what & (readiness::read | readiness::over) || stream_->read_waits_for_write()) read_all(what);
    if (is_broken_.load() && !has_ended_) end(reason());
}

bool socket_connection::shake_hands() {
    const byte_stream::result r = stream_->handshake();
    switch (r.what) {
    case byte_stream::outcome::done: break;
    case byte_stream::outcome::blocked: return false;
    case byte_stream::outcome::ended: end("the other side closed the connection while hands were shaken"); return false;
    case byte_stream::outcome::failed: end(stream_->error()); return false;
    }
    decoder_ = std::make_unique<message_decoder>();
    is_open_ = true;
    const announced then = std::exchange(then_, nullptr);
    try {
        user_ = then(shared_from_this(), {});
    } catch (const std::exception& e) {
        end(e.what());
        return false;
    }
    if (!user_) {
        end({});
        return false;
    }
    write_more(true); // what was put there meanwhile
    return true;
}

void socket_connection::read_all(std::uint32_t what) {
    std::array<std::byte, std::size_t{64} << 10> ahead; // what comes behind the bytes wanted
    const std::span<std::byte> room = ahead;
    std::size_t sum = 0;
    for (;;) {
        if (is_closing_.load()) return end(reason());
        // Heads and small messages come together, in one piece; large payloads go where they belong.
        const std::span<std::byte> wanted = decoder_->wanted();
        const bool is_direct = wanted.size() >= least_direct;
        const byte_stream::result r = is_direct ? stream_->read(wanted, room) : stream_->read(room, {});
        switch (r.what) {
        case byte_stream::outcome::done: break;
        case byte_stream::outcome::blocked: return;
        case byte_stream::outcome::ended:
            return end(decoder_->is_between_messages()
                           ? "the other side closed the connection"
                           : "the other side closed the connection in the middle of a message");
        case byte_stream::outcome::failed: return end(stream_->error());
        }
        const std::size_t placed = is_direct ? std::min(r.bytes, wanted.size()) : 0;
        try {
            decoder_->got(placed, *this);
            decoder_->push(room.first(r.bytes - placed), *this);
        } catch (const std::exception& e) {
            return end(e.what());
        }
        const bool is_all = stream_->short_read_is_all() && r.bytes < room.size() + (is_direct ? wanted.size() : 0);
        if (is_all && !(what & readiness::over) && !is_closing_.load()) return;
        sum += placed + times_copied * (r.bytes - placed);
        if (sum >= most_at_once) return owner_->sockets().tell_again(stream_->socket(), id_);
    }
}

any_array socket_connection::place_for(const message& head, const tensor_type& type, std::size_t size) {
    return user_->place_for(head, head.arrays.size(), type, size);
}

void socket_connection::received(message m) {
    if (is_closing_.load()) return;
    if (!has_spoken_) {
        has_spoken_ = true;
        owner_->has_spoken(id_);
    }
    if (m.type == message_type::shared_memory) heard(m);
    else user_->received(std::move(m));
}

std::string socket_connection::reason() {
    const std::lock_guard lock(guard_);
    return why_;
}

void socket_connection::end(const std::string& why) {
    has_ended_ = true;
    std::string first_why;
    std::optional<leftovers> left;
    {
        const std::lock_guard lock(guard_);
        owner_->sockets().remove(stream_->socket(), id_);
        is_over_ = true;
        first_why = is_closing_.exchange(true) ? why_ : why;
        if (!is_writing_) left = take_all(); // else the writer does it
    }
    left.reset();
    decoder_.reset();
    taking_.reset();
    read_ring_.reset();
    owner_->has_ended(id_);
    const announced then = std::exchange(then_, nullptr);
    if (const auto user = std::exchange(user_, nullptr)) user->closed(first_why);
    else if (then) then(nullptr, first_why);
}

// ---- writing ----

void socket_connection::send(message m) {
    const bool is_small = net::is_small(m);
    outgoing out;
    std::size_t over = 0;
    if (is_.may_share && !is_small && m.payload_bytes() >= least_offer) offer_ring();
    {
        out = std::make_unique<message_encoder>(std::move(m), is_small ? 0 : 1, owner_->options().chunk_bytes);
        const std::lock_guard lock(guard_);
        if (is_closing_.load() || is_broken_.load()) return;
        const std::size_t unsent = unsent_.fetch_add(out->size()) + out->size();
        (is_small ? small_ : large_).push_back(std::move(out));
        if (unsent > owner_->options().slow_reader_bytes && !is_watching_reader_) {
            is_watching_reader_ = true;
            reader_caught_up_ = false;
            over = gone_.load() + 1;
        }
    }
    if (over > 0) watch_reader(over - 1);
    if (!is_small || !owner_->sockets().keep_back(shared_from_this())) write_more(false);
}

// Puts what goes next into pieces_, where nothing is left there; false where nothing is left at all.
bool socket_connection::next_batch() {
    if (piece_ < pieces_.size()) return true;
    pieces_.clear();
    piece_ = offset_ = 0;
    std::size_t frames = 0;
    for (; !small_.empty() && frames < most_batch; ++frames) {
        batch_.push_back(std::move(small_.front()));
        small_.pop_front();
        batch_.back()->next_frame(pieces_);
    }
    batch_has_large_ = next_large_frame();
    frames += batch_has_large_;
    unsent_.fetch_add(frames * sizeof(frame_header));
    return frames > 0;
}

// False where there is none, or no room for it.
bool socket_connection::next_large_frame() {
    if (large_.empty()) return false;
    message_encoder& m = *large_.front();
    if (ring_stage_ != ring_stage::used || m.payload_left() < least_beside) {
        m.next_frame(pieces_);
        return true;
    }
    const std::size_t most = std::min(m.payload_left(), std::min(ring_->writer.capacity() / 4, most_frame_payload));
    try {
        if (!ring_->writer.has_room(most)) return false;
    } catch (const error& e) {
        close_now(e.what());
        return false;
    }
    m.next_frame(pieces_, beside_, most);
    return true;
}

void socket_connection::count_gone(std::size_t count) {
    const std::size_t left = unsent_.fetch_sub(count) - count;
    gone_.fetch_add(count);
    if (left <= owner_->options().slow_reader_bytes) reader_caught_up_ = true;
}

void socket_connection::advance(std::size_t count, std::vector<outgoing>& finished) {
    count_gone(count);
    for (offset_ += count; piece_ < pieces_.size() && offset_ >= pieces_[piece_].size(); ++piece_)
        offset_ -= pieces_[piece_].size();
    if (piece_ < pieces_.size()) return;
    for (outgoing& o : batch_) finished.push_back(std::move(o));
    batch_.clear();
    if (batch_has_large_ && large_.front()->ended()) {
        finished.push_back(std::move(large_.front()));
        large_.pop_front();
    }
    batch_has_large_ = false;
}

void socket_connection::write_more(bool told) {
    std::vector<outgoing> finished; // they end outside of the lock, with their arrays
    std::optional<leftovers> left;
    std::unique_lock lock(guard_);
    if (told) is_blocked_ = false;
    if (is_writing_ || is_blocked_.load() || is_broken_.load() || !is_open_.load() || is_closing_.load()) return;
    is_writing_ = true;
    for (std::size_t sum = 0; !is_closing_.load() && (next_batch() || stream_->unflushed());)
        if (!write_once(lock, sum, finished)) break;
    is_writing_ = false;
    if (is_over_) left = take_all();
    lock.unlock();
}

// Says whether more can be written now. Not under the lock while the system has it.
bool socket_connection::write_once(std::unique_lock<std::mutex>& lock, std::size_t& sum,
                                   std::vector<outgoing>& finished) {
    byte_stream& to = *stream_;
    if (sum >= most_at_once) {
        is_blocked_ = true;
        owner_->sockets().tell_again(to.socket(), id_);
        return false;
    }
    if (!beside_.empty()) { // what a frame says lies there does when the frame comes
        const auto ring = ring_;
        std::size_t count = 0;
        lock.unlock();
        for (const auto piece : beside_) {
            ring->writer.write(piece);
            count += piece.size();
        }
        ring->writer.publish();
        lock.lock();
        beside_.clear();
        ring_used_ = std::chrono::steady_clock::now();
        sum += count;
        count_gone(count);
        if (is_closing_.load()) return false;
    }
    std::array<iovec, 64> list;
    std::size_t count = 0;
    for (std::size_t i = piece_; i < pieces_.size() && count < list.size(); ++i, ++count) {
        const std::size_t skip = i == piece_ ? offset_ : 0;
        list[count].iov_base = const_cast<std::byte*>(pieces_[i].data()) + skip;
        list[count].iov_len = pieces_[i].size() - skip;
    }
    const std::uint32_t told_before = told_to_write_.load();
    lock.unlock();
    const byte_stream::result r = to.write(std::span(list).first(count));
    lock.lock();
    sum += r.bytes;
    if (r.bytes > 0) advance(r.bytes, finished);
    switch (r.what) {
    case byte_stream::outcome::done: return true;
    case byte_stream::outcome::blocked:
        is_blocked_ = true;
        if (told_to_write_.load() == told_before) return false;
        is_blocked_ = false; // it was told meanwhile
        return true;
    default: // the other side may have said why, before it went: what has come is still read
        if (!is_closing_.load()) why_ = to.error(); // who closed it has said why
        is_broken_ = true;
        owner_->sockets().tell_again(to.socket(), id_);
        return false;
    }
}

// With the guard.
socket_connection::leftovers socket_connection::take_all() {
    unsent_ = 0;
    return {std::move(stream_), std::move(batch_), std::move(small_),
            std::move(large_),  std::move(ring_),  std::move(giving_)};
}

// With the guard.
void socket_connection::close_now(const std::string& why) noexcept {
    if (is_closing_.load()) return;
    why_ = why;
    is_closing_ = true;
    if (!stream_) return;
    stream_->shut_down();
    owner_->sockets().tell_again(stream_->socket(), id_);
}

void socket_connection::close(const std::string& why) noexcept {
    const std::lock_guard lock(guard_);
    close_now(why);
}

void socket_connection::watch_reader(std::size_t gone_before) {
    const tcp_options& o = owner_->options();
    owner_->call_at(std::chrono::steady_clock::now() + o.slow_reader_time, [weak = weak_from_this(), gone_before] {
        const auto self = weak.lock();
        if (!self) return;
        const tcp_options& limits = self->owner_->options();
        std::size_t gone = 0;
        {
            const std::lock_guard lock(self->guard_);
            gone = self->gone_.load();
            const std::size_t unsent = self->unsent_.load();
            if (unsent <= limits.slow_reader_bytes) {
                self->is_watching_reader_ = false;
                return;
            }
            if (!self->reader_caught_up_ && gone - gone_before < limits.slow_reader_bytes)
                return self->close_now(
                    "the other side does not read: " + std::to_string(unsent) + " bytes are unsent, and " +
                    std::to_string(gone - gone_before) + " went in the last " +
                    std::to_string(
                        std::chrono::duration_cast<std::chrono::milliseconds>(limits.slow_reader_time).count()) +
                    " ms");
            self->reader_caught_up_ = false;
        }
        self->watch_reader(gone);
    });
}

} // namespace tenon::net
