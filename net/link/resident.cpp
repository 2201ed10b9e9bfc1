#include <net/link/resident.hpp>

#include <memory>
#include <mutex>
#include <utility>

#include <net/link/handshake.hpp>

namespace tenon::net {

namespace {

/// One question. It lives with its dial, its connection and its timer.
class question final : public connection_user, public std::enable_shared_from_this<question> {
public:
    question(std::string job, std::int32_t task, bool insecure, std::function<void(resident)> then) :
        job_(std::move(job)), task_(task), insecure_(insecure), then_(std::move(then)) {}

    message_limits limits() override { return {most_handshake_bytes, 0, 0}; }

    std::shared_ptr<connection_user> dialed(std::shared_ptr<connection> c, const std::string& why, message hello) {
        if (!c) {
            end({0, why});
            return nullptr;
        }
        {
            const std::lock_guard lock(guard_);
            connection_ = c;
        }
        if (!c->is_private() && !insecure_) end({0, "it is reached by a connection that others can read"});
        else c->send(std::move(hello));
        return shared_from_this();
    }

    void received(message m) override {
        try {
            if (m.type == message_type::goodbye) return end({0, read_goodbye(m.body).why});
            if (m.type != message_type::challenge) return end({0, "what it says is no answer to a hello"});
            const challenge c = read_challenge(m.body);
            if (c.job != job_ || c.task != task_) return end({0, "it is " + name_of(c.job, c.task)});
            message bye{.type = message_type::goodbye,
                        .body = write(goodbye{error_code::cancelled, "has asked who answers here"})};
            if (const auto to = connection()) to->send(std::move(bye));
            end({c.incarnation, {}}, false);
        } catch (const data_loss_error& e) {
            end({0, e.what()});
        }
    }

    void closed(const std::string& why) override {
        {
            const std::lock_guard lock(guard_);
            connection_.reset();
        }
        end({0, why});
    }

    /// The first end counts. Where it is not closed here, the other side does that.
    void end(resident r, bool closes = true) {
        std::function<void(resident)> then;
        std::shared_ptr<net::connection> last;
        {
            const std::lock_guard lock(guard_);
            then = std::exchange(then_, nullptr);
            if (closes) last = connection_;
        }
        if (last) last->close("who answers there is known");
        if (then) then(std::move(r));
    }

private:
    std::shared_ptr<net::connection> connection() const {
        const std::lock_guard lock(guard_);
        return connection_;
    }

    const std::string job_;
    const std::int32_t task_;
    const bool insecure_;
    mutable std::mutex guard_; // of what follows
    std::function<void(resident)> then_;
    std::shared_ptr<net::connection> connection_;
};

} // namespace

void ask_resident(transport& t, const std::string& address, const identity& self, const std::string& job,
                  std::int32_t task, duration limit, std::function<void(resident)> then) {
    hello h;
    h.cluster = self.cluster;
    h.job = self.job;
    h.task = self.task;
    h.incarnation = self.incarnation;
    h.expected_job = job;
    h.expected_task = task;
    h.link = h.attempt = 1;
    h.has_token = !self.token.empty();
    h.random = random_nonce();
    const auto m = std::make_shared<message>(message{.type = message_type::hello, .body = write(h)});
    const auto q = std::make_shared<question>(job, task, self.insecure, std::move(then));
    t.call_at(t.now() + limit, [q, limit] { q->end({0, "no answer within " + in_words(limit)}); });
    t.dial(address, limit, [q, m](std::shared_ptr<connection> c, const std::string& why) {
        return q->dialed(std::move(c), why, std::move(*m));
    });
}

} // namespace tenon::net
