#include <net/link/link.hpp>

#include <net/link/handshake.hpp>
#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

constexpr std::size_t head_bytes = 128; // about what a message takes here, beside its body and arrays

bool is_numbered(message_type t) noexcept {
    return t == message_type::call || t == message_type::reply || t == message_type::note;
}

/// Its own body, with what a call has at the end, and a share of its arrays.
message to_send(const message& m, time_point deadline, time_point now) {
    message out{m.type, m.verb, m.sequence, 0, m.request, {}, {}};
    const bool timed = m.type == message_type::call;
    out.body.reserve(m.body.size() + (timed ? time_left_bytes : 0));
    out.body.assign(m.body.begin(), m.body.end());
    if (timed) add_time_left(out.body, deadline, now);
    out.arrays.reserve(m.arrays.size());
    for (const any_array& a : m.arrays) out.arrays.push_back(a.share());
    return out;
}

} // namespace

link::link(side s, const link_options& options, time_point now) :
    side_(s), options_(options), contact_(now), late_(options.lease) {}

void link::wrong(const std::string& what) { throw data_loss_error("link: " + what); }

std::uint64_t link::post(message m, time_point deadline) {
    m.sequence = acknowledged_ + kept_.size() + 1;
    const std::size_t size = head_bytes + m.body.size() + m.payload_bytes();
    if (!is_small(m) || size + time_left_bytes > small_message) large_.push_back(m.sequence);
    kept_.push_back({std::move(m), deadline, size});
    kept_bytes_ += size;
    return acknowledged_ + kept_.size();
}

std::vector<message> link::take_kept() {
    std::vector<message> all;
    all.reserve(kept_.size());
    for (kept& k : kept_) all.push_back(std::move(k.m));
    kept_.clear();
    large_.clear();
    kept_bytes_ = 0;
    return all;
}

void link::post_urgent(message m) {
    m.sequence = 0;
    if (connected_) urgent_.push_back(std::move(m));
}

std::optional<message> link::next(time_point now) {
    if (!connected_) return {};
    std::optional<message> out;
    if (!urgent_.empty()) {
        out = std::move(urgent_.front());
        urgent_.pop_front();
    } else if (pong_) {
        out.emplace();
        out->type = message_type::pong;
        out->request = *std::exchange(pong_, {});
    } else if (unsent_ < kept_.size() && !overtakes_too_many()) {
        const kept& k = kept_[unsent_++];
        out = to_send(k.m, k.deadline, now);
        sent_ = std::max(sent_, k.m.sequence);
    } else if (acknowledge_now_) {
        out.emplace();
        out->type = message_type::acknowledge;
    } else return {};
    out->acknowledged = received_;
    owed_messages_ = 0;
    owed_bytes_ = 0;
    acknowledge_now_ = false;
    return out;
}

/// The other end holds what has overtaken a large message, and ends the connection where that is too much.
bool link::overtakes_too_many() const noexcept {
    return !large_.empty() && acknowledged_ + unsent_ + 1 > large_.front() + options_.early_messages / 2;
}

void link::connected(std::uint64_t by_other, time_point now) {
    if (by_other < acknowledged_)
        wrong("the other end has received " + std::to_string(by_other) + " messages, and had " +
              std::to_string(acknowledged_) + " before");
    if (by_other > sent_)
        wrong("the other end has received " + std::to_string(by_other) + " messages, of which " +
              std::to_string(sent_) + " were sent");
    acknowledge(by_other);
    connected_ = true;
    contact_ = now;
    unsent_ = 0;
    owed_messages_ = 0; // the handshake has said it
    owed_bytes_ = 0;
    acknowledge_now_ = false;
}

void link::disconnected() noexcept {
    connected_ = false;
    urgent_.clear();
    asked_ = never;
    pong_.reset();
    acknowledge_now_ = false;
}

bool link::acknowledge(std::uint64_t by_other) {
    const bool any = by_other > acknowledged_;
    for (; acknowledged_ < by_other; ++acknowledged_) {
        kept& k = kept_.front();
        kept_bytes_ -= k.size;
        for (any_array& a : k.m.arrays) released_.push_back(std::move(a));
        kept_.pop_front();
        if (unsent_ > 0) --unsent_;
    }
    while (!large_.empty() && large_.front() <= acknowledged_) large_.pop_front();
    return any;
}

void link::owe(std::size_t size, time_point now) noexcept {
    if (owed_messages_++ == 0) owed_since_ = now;
    owed_bytes_ += size;
    if (owed_messages_ >= options_.acknowledge_messages || owed_bytes_ >= options_.acknowledge_bytes)
        acknowledge_now_ = true;
}

bool link::is_new(const message& head) const { return head.sequence > received_ && !early_.contains(head.sequence); }

std::optional<message> link::receive(message m, time_point now) {
    if (m.acknowledged > sent_)
        wrong("message " + std::to_string(m.acknowledged) + " is acknowledged, of " + std::to_string(sent_) +
              " that were sent");
    const bool answered = acknowledge(m.acknowledged);
    if (side_ == side::listening || answered || m.type == message_type::pong) {
        contact_ = now;
        asked_ = never;
    }

    if (!is_numbered(m.type)) {
        if (m.sequence != 0) wrong("a message that has no number has number " + std::to_string(m.sequence));
        switch (m.type) {
        case message_type::ping:
            (void)late_.of(static_cast<std::int64_t>(m.request), now);
            // Who pings more often is not answered more often.
            if (now - ponged_ >= pong_gap || ponged_ == time_point{}) {
                pong_ = m.request;
                ponged_ = now;
            }
            return {};
        case message_type::pong:
            if (m.request == static_cast<std::uint64_t>(delays::nanoseconds(pinged_))) {
                if (trips_.back() == duration{}) trips_.fill(now - pinged_); // the first
                trips_[++last_trip_ % trips_.size()] = now - pinged_;
            }
            return {};
        case message_type::acknowledge: return {};
        case message_type::cancel:
            if (side_ == side::dialing) wrong("a service cancels a call");
            return m;
        case message_type::goodbye: return m;
        default: wrong("a handshake in the middle of a link");
        }
    }
    if (m.sequence == 0) wrong("a call, reply or note has no number");
    if ((m.type == message_type::reply) != (side_ == side::dialing))
        wrong(side_ == side::dialing ? "a service calls" : "a reply comes to who has not called");

    owe(m.body.size() + m.payload_bytes(), now);
    if (!is_new(m)) return {}; // it came twice; the arrays it brought are of no use
    if (m.sequence == received_ + 1) {
        ++received_;
        if (side_ == side::dialing)
            while (!early_.empty() && early_.begin()->first == received_ + 1) {
                early_.erase(early_.begin());
                ++received_;
            }
        return m;
    }
    if (early_.size() >= options_.early_messages)
        wrong("message " + std::to_string(received_ + 1) + " is missing behind " + std::to_string(early_.size()) +
              " later ones");
    const std::uint64_t number = m.sequence;
    if (side_ == side::dialing) {
        early_.emplace(number, message());
        return m;
    }
    if (!is_small(m)) // it would be held; connections have only small ones overtake others
        wrong("message " + std::to_string(number) + " is large, and comes ahead of message " +
              std::to_string(received_ + 1));
    early_.emplace(number, std::move(m));
    return {};
}

std::optional<message> link::next_in_order() {
    const auto first = early_.begin();
    if (side_ == side::dialing || first == early_.end() || first->first != received_ + 1) return {};
    std::optional<message> m(std::move(first->second));
    early_.erase(first);
    ++received_;
    return m;
}

void link::tick(time_point now) {
    if (!connected_) return;
    if (owed_messages_ > 0 && now >= owed_since_ + options_.acknowledge_within) acknowledge_now_ = true;
    if (side_ == side::dialing && now >= std::max(contact_, pinged_) + options_.heartbeat) ping(now);
}

// Its number says when it was sent.
void link::ping(time_point now) {
    pinged_ = now;
    asked_ = std::min(asked_, now);
    post_urgent(message{.type = message_type::ping, .request = static_cast<std::uint64_t>(delays::nanoseconds(now))});
}

void link::ask(time_point now) {
    if (connected_ && asked_ == never && now >= may_ask()) ping(now);
}

time_point link::take_deadline(bytes& body, time_point now) { return take_time_left(body, now, late_); }

time_point link::next_tick() const noexcept {
    time_point at = contact_ + options_.lease;
    if (!connected_) return at;
    if (owed_messages_ > 0) at = std::min(at, owed_since_ + options_.acknowledge_within);
    if (side_ == side::dialing) at = std::min({at, std::max(contact_, pinged_) + options_.heartbeat, doubtful_at()});
    return at;
}

} // namespace tenon::net
