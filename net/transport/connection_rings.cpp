#include <utility>

#include <net/transport/socket_connection.hpp>

/// Shared memory of a connection: how it comes, is used and goes. Each direction has a ring of its own, made by who writes when
/// there is the first large payload. What is said of it goes over the stream, in order with all else: so each step finds the one
/// before done, the reader finds a payload written when it hears of it, and nothing waits. Where a ring cannot be had, payloads go
/// over the stream as they did before.

namespace tenon::net {

namespace {

bytes text(const std::string& words) {
    byte_writer w;
    w.text(std::string_view(words).substr(0, 1024));
    return w.take();
}

std::string text_of(const message& m) {
    byte_reader r(m.body, "what is said of shared memory");
    std::string words = r.text();
    r.end();
    for (char& c : words) // it is printed
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    return words;
}

} // namespace

void socket_connection::say(ring_verb v, bytes body) {
    message m{.type = message_type::shared_memory, .verb = static_cast<std::uint8_t>(v), .body = std::move(body)};
    send(std::move(m));
}

void socket_connection::tell(const std::function<void(const std::string&)>& log, const char* what,
                             const std::string& why) const {
    if (log) log("connection with " + peer_ + ": " + what + why);
}

// By who has a large message to send: before that message, so that the answer comes soon.
void socket_connection::offer_ring() {
    handover_offer offer;
    std::string wrong;
    {
        const std::lock_guard lock(guard_);
        if (ring_stage_ != ring_stage::none || is_closing_.load()) return;
        ring_stage_ = ring_stage::offered;
    }
    try {
        auto made = std::make_unique<giving_end>();
        offer = made->offer();
        const std::lock_guard lock(guard_);
        if (is_over_) return;
        giving_ = std::move(made);
    } catch (const error& e) {
        wrong = e.what();
    }
    if (wrong.empty()) say(ring_verb::offer, write(offer));
    else ring_refused(wrong);
}

void socket_connection::heard(const message& m) {
    const auto out_of_place = [](const char* what) { throw data_loss_error(std::string("shared memory: ") + what); };
    // A stranger is as little a partner here as in anything else.
    if (user_->limits().payload_bytes == 0) out_of_place("it is spoken of before it is known who speaks");
    if (!m.arrays.empty()) out_of_place("a word of it has arrays");
    if (m.verb >= static_cast<std::uint8_t>(ring_verb::count)) out_of_place("the word is not known");
    const auto v = static_cast<ring_verb>(m.verb);
    const bool has_body = v == ring_verb::offer || v == ring_verb::refuse;
    if (has_body == m.body.empty()) out_of_place("a word has too many bytes, or too few");
    ring_stage stage;
    {
        const std::lock_guard lock(guard_);
        stage = ring_stage_;
    }
    switch (v) {
    case ring_verb::offer: return take_offer(m);
    case ring_verb::come:
        if (stage != ring_stage::offered) out_of_place("what was not offered is fetched");
        return give_ring();
    case ring_verb::given:
        if (!taking_) out_of_place("what was not asked for is given");
        return take_ring();
    case ring_verb::mapped:
        if (stage != ring_stage::given) out_of_place("what was not given is used");
        return use_ring();
    case ring_verb::refuse:
        if (stage != ring_stage::offered && stage != ring_stage::given) out_of_place("what was not offered is refused");
        return ring_refused(text_of(m));
    case ring_verb::room: return write_more(false);
    case ring_verb::ended:
        taking_.reset();
        read_ring_.reset();
        return;
    case ring_verb::count: break;
    }
}

// ---- the reader's side ----

void socket_connection::take_offer(const message& m) {
    const handover_offer offer = read_handover_offer(m.body);
    if (taking_ || read_ring_) throw data_loss_error("shared memory: there is some, and more is offered");
    if (!is_.may_share)
        return say(ring_verb::refuse, text(owner_->options().shared_memory ? "the addresses are of two machines"
                                                                           : "it is turned off there"));
    try {
        taking_ = std::make_unique<taking_end>(offer);
        say(ring_verb::come);
    } catch (const error& e) {
        say(ring_verb::refuse, text(e.what()));
    }
}

void socket_connection::take_ring() {
    const auto from = std::move(taking_);
    try {
        read_ring_ = std::make_unique<incoming_ring>(incoming_ring{shared_pages::map(from->take(), most_ring)});
        say(ring_verb::mapped);
    } catch (const error& e) {
        say(ring_verb::refuse, text(e.what()));
    }
}

void socket_connection::read_beside(std::span<std::byte> to) {
    if (!read_ring_) return message_sink::read_beside(to);
    read_ring_->reader.read(to);
    if (read_ring_->reader.release()) say(ring_verb::room);
}

// ---- the writer's side ----

void socket_connection::give_ring() {
    std::unique_ptr<giving_end> to;
    {
        const std::lock_guard lock(guard_);
        to = std::move(giving_);
    }
    if (!to) throw data_loss_error("shared memory: it is fetched twice");
    try {
        const auto made = std::make_shared<outgoing_ring>(
            outgoing_ring{shared_pages::make(ring_head_bytes + owner_->options().ring_bytes)});
        to->give(made->pages.take_file());
        const std::lock_guard lock(guard_);
        ring_ = made;
        ring_stage_ = ring_stage::given;
    } catch (const error& e) {
        say(ring_verb::ended);
        return ring_refused(e.what());
    }
    say(ring_verb::given);
}

void socket_connection::use_ring() {
    const time_point now = std::chrono::steady_clock::now();
    std::size_t capacity = 0;
    {
        const std::lock_guard lock(guard_);
        if (!ring_) return;
        ring_stage_ = ring_stage::used;
        ring_used_ = now;
        capacity = ring_->writer.capacity();
    }
    tell(owner_->options().log_verbose, "large payloads go through shared memory, ",
         std::to_string(capacity >> 10) + " KiB");
    give_ring_back(now);
}

void socket_connection::ring_refused(const std::string& why) {
    std::unique_ptr<giving_end> unused;
    std::shared_ptr<outgoing_ring> ring;
    {
        const std::lock_guard lock(guard_);
        ring_stage_ = ring_stage::refused;
        unused = std::move(giving_);
        ring = std::move(ring_);
    }
    tell(owner_->options().log, "no shared memory, large payloads go over TCP: ", why);
}

// Looks again when it has been idle long enough, or does it.
void socket_connection::give_ring_back(time_point since) {
    const duration idle = owner_->options().ring_idle;
    owner_->call_at(since + idle, [weak = weak_from_this(), idle] {
        const auto self = weak.lock();
        if (!self) return;
        std::shared_ptr<outgoing_ring> last;
        time_point used;
        {
            const std::lock_guard lock(self->guard_);
            if (self->is_over_ || self->ring_stage_ != ring_stage::used) return;
            used = self->ring_used_;
            const time_point now = std::chrono::steady_clock::now();
            if (now - used >= idle && !self->is_writing_ && self->beside_.empty() && self->large_.empty()) {
                self->ring_stage_ = ring_stage::ending; // no other is offered before the end of this one has been said
                last = std::move(self->ring_);
            } else if (now - used >= idle) used = now; // large ones are under way, or wait
        }
        if (!last) return self->give_ring_back(used);
        self->say(ring_verb::ended);
        const std::lock_guard lock(self->guard_);
        self->ring_stage_ = ring_stage::none;
    });
}

} // namespace tenon::net
