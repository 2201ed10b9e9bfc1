#include <net/rpc/service_link.hpp>

/// The listening side's half of the handshake.

namespace tenon::net {

message_limits accepted::limits() {
    if (!linked.load(std::memory_order_relaxed)) return {most_handshake_bytes, 0, 0};
    const link_limits& l = core_->options.limits;
    return {l.body_bytes, l.payload_bytes, l.arrays};
}

any_array accepted::place_for(const message& head, std::size_t i, const tensor_type& type, std::size_t size) {
    return linked && link_ ? link_->place_for(*this, head, i, type, size) : any_array();
}

std::shared_ptr<connection> accepted::to() const {
    const std::lock_guard held(mutex_);
    return connection_;
}

void accepted::close(const std::string& why) {
    if (const auto c = to()) c->close(why);
}

void accepted::send(message_type type, bytes body) {
    message m{.type = type, .body = std::move(body)};
    if (const auto c = to()) c->send(std::move(m));
}

void accepted::refuse(error_code code, const std::string& why) {
    step_ = step::refused; // and is closed by the other side, or after a while
    core_->refused();
    if (const auto c = to()) core_->log("refused " + c->peer() + ": " + why);
    send(message_type::goodbye, write(goodbye{code, why}));
}

void accepted::received(message m) {
    if (step_.load(std::memory_order_acquire) != step::linked) {
        const std::lock_guard turn(turn_);
        if (step_ != step::linked) return shake_hands(m);
    }
    link_->received(*this, std::move(m));
}

void accepted::shake_hands(const message& m) {
    if (step_ == step::refused) return;
    const message_type expected = step_ == step::hello ? message_type::hello : message_type::proof;
    std::string wrong;
    if (step_ == step::proof && m.type == message_type::goodbye) { // it has asked who answers here, and knows
        step_ = step::refused;
        if (const auto c = to()) c->close("it has said goodbye");
        return;
    }
    if (step_ == step::confirming || m.type != expected)
        wrong = "it says something else than what comes next in a handshake";
    else if (!m.arrays.empty() || m.body.size() > most_handshake_bytes)
        wrong = "a handshake is longer than " + std::to_string(most_handshake_bytes) + " bytes";
    else {
        try {
            return step_ == step::hello ? greeted(m) : proven(m);
        } catch (const data_loss_error& e) {
            wrong = e.what();
        }
    }
    step_ = step::refused;
    core_->refused();
    if (const auto c = to()) {
        core_->log("refused " + c->peer() + ": " + wrong);
        c->close(wrong);
    }
}

void accepted::greeted(const message& m) {
    hello_ = read_hello(m.body);
    hello_bytes_ = m.body;
    const hello& h = hello_;
    const identity& self = core_->options.self;
    const auto c = to();
    if (!c) return;
    if (h.newest < oldest_link_version || h.oldest > newest_link_version)
        return refuse(error_code::failed_precondition,
                      "it speaks versions " + std::to_string(oldest_link_version) + " to " +
                          std::to_string(newest_link_version) + " of the protocol, and was offered " +
                          std::to_string(h.oldest) + " to " + std::to_string(h.newest) + ": update the older one");
    if (!c->is_private() && !self.insecure)
        return refuse(error_code::permission_denied,
                      "it takes no connections that others can read: use TLS, or ask for insecure ones by name");
    if (h.cluster != 0 && self.cluster != 0 && h.cluster != self.cluster)
        return refuse(error_code::failed_precondition,
                      core_->name + " is of another run, or of a cluster with another description: start all tasks "
                                    "together, with the same one");
    if (!h.expected_job.empty() && (h.expected_job != self.job || h.expected_task != self.task))
        return refuse(error_code::failed_precondition, "it is " + core_->name + ", not " +
                                                           name_of(h.expected_job, h.expected_task) +
                                                           ": check the addresses of the cluster");
    if (h.expected_incarnation != 0 && h.expected_incarnation != self.incarnation)
        return refuse(error_code::aborted, "it was restarted");
    if (h.has_token != !self.token.empty())
        return refuse(error_code::permission_denied, self.token.empty() ? "it has no token, and was offered one"
                                                                        : "it asks for a token, and was offered none");
    challenge said;
    said.job = self.job;
    said.task = self.task;
    said.incarnation = self.incarnation;
    said.has_token = !self.token.empty();
    said.random = random_nonce();
    challenge_bytes_ = write(said);
    step_ = step::proof;
    send(message_type::challenge, challenge_bytes_);
}

void accepted::proven(const message& m) {
    const std::string& token = core_->options.self.token;
    const proof p = read_proof(m.body);
    if (!token.empty() && !same(p.mac, dialing_proof(token, hello_bytes_, challenge_bytes_)))
        return refuse(error_code::permission_denied, "the token is not the cluster's");
    step_ = step::confirming;
    // The answer may come within this call: what follows it is done here then, where the turn is this thread's.
    struct answer {
        std::mutex guard; // of what follows
        bool returned = false, there = false;
        error_code code{};
        std::string why_not;
    };
    const auto a = std::make_shared<answer>();
    core_->confirm(hello_, [a, weak = weak_from_this()](error_code code, const std::string& why_not) {
        {
            const std::lock_guard lock(a->guard);
            if (!a->returned) {
                a->there = true;
                a->code = code;
                a->why_not = why_not;
                return;
            }
        }
        const auto self = weak.lock();
        if (!self) return;
        const std::lock_guard turn(self->turn_);
        self->confirmed(code, why_not);
    });
    {
        const std::lock_guard lock(a->guard);
        a->returned = true;
        if (!a->there) return;
    }
    confirmed(a->code, a->why_not);
}

void accepted::confirmed(error_code code, const std::string& why_not) {
    if (step_ != step::confirming || ended_) return;
    if (!why_not.empty()) return refuse(code, why_not);
    link_up();
}

void accepted::link_up() {
    const auto [code, why] = core_->admit(shared_from_this(), hello_, hello_bytes_, challenge_bytes_, link_);
    if (!why.empty()) {
        link_.reset();
        return refuse(code, why);
    }
    step_.store(step::linked, std::memory_order_release);
    core_->shaken(*this);
}

void accepted::closed(const std::string& why) {
    std::shared_ptr<connection> ended;
    {
        const std::lock_guard held(mutex_);
        ended = std::move(connection_);
    }
    linked = false;
    {
        const std::lock_guard turn(turn_);
        ended_ = true;
    }
    if (link_) link_->closed(*this, why);
    else if (step_ != step::refused && ended) // one that has said nothing that is a hello may be a probe
        core_->log("no link with " + ended->peer() + ": " + why, step_ == step::hello);
    core_->gone(*this);
}

} // namespace tenon::net
