// Rank 0 of a rendezvous.

#include <net/launch/rendezvous/rendezvous.hpp>

#include <algorithm>
#include <map>
#include <mutex>

#include <unistd.h>

#include <net/launch/private_file.hpp>
#include <net/launch/run_files.hpp>
#include <net/rpc/service.hpp>
#include <net/transport/service.hpp>
#include <net/wire/text_hash.hpp>
#include <tenon/core/error.hpp>

namespace tenon::net {

namespace {

constexpr duration parting = std::chrono::seconds(2);     // for answers to be taken, after a failure
constexpr duration confirming = std::chrono::seconds(10); // for all to ask for their places, at least

std::string host_of(const std::string& address) { return address.substr(0, address.rfind(':')); }

bool on_loopback(const std::string& host) {
    return is_loopback_address(host + ":0") || host.starts_with("[::ffff:127.");
}

// 16 digits for each number.
std::string random_word(transport& t, int numbers) {
    std::string word;
    for (int i = 0; i < numbers; ++i) {
        std::uint64_t n = t.random_number();
        for (int digit = 0; digit < 16; ++digit, n >>= 4) word += "0123456789abcdef"[n & 15];
    }
    return word;
}

// What rank 0 keeps where no other user reads it, of a run that has a token of its own, until it ends: killed and started again it is
// the rank 0 of those that have met, who do not come again.
struct kept_rendezvous {
    std::string path; // empty: nothing is kept
    pid_t process = 0;
    std::string run; // its own name
    std::vector<joining> ranks;

    kept_rendezvous() = default;
    kept_rendezvous(const rendezvous_point& p, const std::string& token) {
        if (token.empty()) return;
        std::string all = p.run + "\n" + token;
        for (const std::string& at : p.listen) all += "\n" + at;
        path = private_folder() + "/meeting-" + std::to_string(hash_of_text(all));
    }
    /// Of this run, by a process that is no more.
    bool read(const std::string& run_of, int size) {
        try {
            const std::string text = read_private_file(path, most_bytes);
            byte_reader r(std::as_bytes(std::span(text)), "a meeting");
            process = static_cast<pid_t>(r.number<std::int64_t>());
            run = r.text();
            for (auto n = r.number<std::int32_t>(); n > 0; --n) {
                const std::string who = r.text();
                ranks.push_back(decode_joining(std::as_bytes(std::span(who))));
            }
            r.end();
        } catch (const error&) {
            return false;
        }
        return process > 0 && has_ended(process) && static_cast<int>(ranks.size()) == size &&
               ranks.front().run == run_of;
    }
    void write() const {
        byte_writer w;
        w.number(static_cast<std::int64_t>(::getpid()));
        w.text(run);
        w.number(static_cast<std::int32_t>(ranks.size()));
        for (const joining& who : ranks) {
            const bytes one = encode(who);
            w.text(std::string(reinterpret_cast<const char*>(one.data()), one.size()));
        }
        const bytes all = w.take();
        try {
            make_private_folder(private_folder());
            write_private_file(path, std::string(reinterpret_cast<const char*>(all.data()), all.size()));
        } catch (const error&) { // it cannot come again, then
        }
    }

    static constexpr std::size_t most_bytes = std::size_t{64} << 20;
};

// An answer that is given when the lock is no longer held.
struct answering {
    replier to;
    bytes body;
    error_code code = error_code::unknown;
    std::string why; // not empty: a failure
};

void give(std::vector<answering>& answers) {
    for (answering& a : answers) a.why.empty() ? a.to.reply(std::move(a.body)) : a.to.fail(a.code, a.why);
}

/// Timers look for it when they are due.
class host final : public service_handler, public std::enable_shared_from_this<host> {
public:
    host(transport& t, const rendezvous_point& point, rendezvous_options options, const std::string& word) :
        transport_(t),
        options_(std::move(options)),
        began_(t.now()),
        word_(word),
        own_name_(point.run + " " + random_word(t, 1)),
        made_token_(options_.token.empty() ? random_word(t, 4) : std::string()),
        table_(point.run, point.size),
        size_(point.size) {}

    void begin(const rendezvous_point& point) {
        service_options o;
        o.self.incarnation = transport_.random_number();
        o.self.token = options_.token + word_;
        o.self.insecure = options_.insecure;
        o.links = static_cast<std::size_t>(size_) + 64;
        o.limits = {.body_bytes = 65536, .payload_bytes = 0, .arrays = 0, .calls = 4, .bytes = 1 << 20};
        if (!point.addresses.empty()) own_host_ = host_of(point.addresses.front());
        service_ = service::make(transport_, std::move(o), *this);
        listen(point.listen);
        joining me{.run = point.run, .size = point.size, .job = point.job, .task = point.task};
        std::vector<answering> answers;
        {
            const std::lock_guard lock(mutex_);
            if (point.addresses.empty()) own_host_ = host_of(address_); // which nobody knows yet
            me.address = options_.serve.starts_with(':') ? own_host_ + options_.serve : options_.serve;
            kept_ = kept_rendezvous(point, options_.token);
            if (kept_.read(point.run, point.size)) {
                own_name_ = kept_.run;
                for (const joining& who : kept_.ranks)
                    if (const std::string why = table_.join(who); !why.empty())
                        throw data_loss_error("rendezvous: " + kept_.path + ": " + why);
                me = kept_.ranks.front();
            }
            if (const std::string why = table_.join(me); !why.empty())
                throw invalid_argument_error("rendezvous: " + why);
            set_timer(began_ + options_.limit, [](host& h, std::vector<answering>& a) { h.give_up(a); });
            see_whether_all_are_here(answers);
        }
        give(answers);
        if (!point.file.empty()) write_rendezvous_file(file_ = point.file, {address_, word_});
    }

    // On the first that is free; another run may have taken one. Others are told of it by the name that it is given.
    void listen(const std::vector<std::string>& places) {
        std::string why;
        for (const std::string& at : places) try {
                const std::string bound = service_->listen(at);
                const std::string named = host_of(at);
                address_ = (named.empty() ? own_name() : named) + bound.substr(bound.rfind(':'));
                return;
            } catch (const unavailable_error& e) {
                why += (why.empty() ? "" : "; ") + std::string(e.what());
            }
        throw unavailable_error("rendezvous: rank 0 cannot serve it: " + why);
    }

    void end() {
        if (service_) service_->stop(transport_.now() + parting);
        std::uint64_t timer = 0;
        bool has_met = false;
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
            has_met = result_.has_value();
            timer = std::exchange(timer_, 0);
        }
        if (timer != 0) transport_.cancel(timer);
        service_.reset();
        if (!file_.empty()) ::unlink(file_.c_str());
        if (has_met && !kept_.path.empty()) ::unlink(kept_.path.c_str());
    }

    bool done() const {
        const std::lock_guard lock(mutex_);
        return over_ || ((failed_ || result_) && answered_.size() == joined_.size());
    }

    placed result() const {
        const std::lock_guard lock(mutex_);
        if (failed_) throw_error(failed_->first, failed_->second);
        if (!result_) throw internal_error("rendezvous: there is no result yet");
        return *result_;
    }

    void linked(link_number link, const link_peer& who) override {
        const std::lock_guard lock(mutex_);
        guests_[link].host = host_of(who.address);
    }

    void called(link_number link, std::uint8_t verb, bytes body, std::vector<any_array>, time_point,
                replier&& answer) override {
        std::vector<answering> answers;
        if (verb == static_cast<std::uint8_t>(rendezvous_verb::join)) {
            joining who = decode_joining(body);
            const std::lock_guard lock(mutex_);
            joins(guests_[link], std::move(who), std::move(answer), answers);
        } else if (verb == static_cast<std::uint8_t>(rendezvous_verb::place)) {
            const std::lock_guard lock(mutex_);
            guest& g = guests_[link];
            if (g.rank < 0)
                answers.push_back(
                    {std::move(answer), {}, error_code::failed_precondition, "rendezvous: join it first"});
            else {
                g.waits = std::move(answer);
                answer_if_known(g, answers);
            }
        } else {
            answers.push_back({std::move(answer), {}, error_code::unimplemented, "rendezvous: there is no such call"});
        }
        give(answers);
        transport_.wake();
    }

    void cancelled(link_number link, std::uint64_t request) override {
        std::vector<answering> answers;
        {
            const std::lock_guard lock(mutex_);
            guest& g = guests_[link];
            if (g.waits && g.waits.request() == request)
                answers.push_back({std::move(g.waits), {}, error_code::cancelled, "rendezvous: it was cancelled"});
        }
        give(answers);
    }

    void peer_lost(link_number link, const std::string&) override {
        replier dead;
        {
            const std::lock_guard lock(mutex_);
            const auto found = guests_.find(link);
            if (found == guests_.end()) return;
            guest& g = found->second;
            dead = std::move(g.waits);
            // Another link of this process may be there by now.
            const bool elsewhere = std::any_of(guests_.begin(), guests_.end(), [&](const auto& other) {
                return other.first != link && other.second.rank == g.rank && other.second.incarnation == g.incarnation;
            });
            if (g.rank > 0 && !result_ && !failed_ && !elsewhere) {
                table_.leave(g.rank, g.incarnation);
                joined_.erase(g.rank);
            }
            guests_.erase(found);
        }
        transport_.wake();
    }

private:
    // One link.
    struct guest {
        std::string host;
        int rank = -1; // it has not joined
        std::uint64_t incarnation = 0;
        replier waits; // the call of `place` that has no answer yet
    };

    void joins(guest& g, joining who, replier answer, std::vector<answering>& answers) {
        const auto refuse = [&](error_code code, const std::string& why) {
            answers.push_back({std::move(answer), {}, code, why});
        };
        if (failed_) return refuse(failed_->first, failed_->second);
        // A visitor from loopback is on this host.
        if (who.address.starts_with(':')) who.address = (on_loopback(g.host) ? own_host_ : g.host) + who.address;
        if (const std::string why = is_back(who) ? table_.come_again(who) : table_.join(who); !why.empty()) {
            if (refused_.find(why) == std::string::npos && refused_.size() < 1000) refused_ += "; refused: " + why;
            // Before all are there, whoever has its rank may be gone, and not missed yet.
            const bool taken = !result_ && table_.is_here(who.rank) && who.run == table_.run() && who.size == size_;
            return refuse(taken                     ? error_code::already_exists
                          : who.run != table_.run() ? error_code::failed_precondition
                                                    : error_code::invalid_argument,
                          "rendezvous: rank 0 refuses: " + why);
        }
        g.rank = who.rank;
        g.incarnation = who.incarnation;
        joined_.insert(g.rank);
        byte_writer w;
        const auto left = began_ + options_.limit - transport_.now();
        w.number(static_cast<std::int64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(left).count()));
        answers.push_back({std::move(answer), w.take(), error_code::unknown, ""});
        see_whether_all_are_here(answers);
    }

    // All were there, and the process that had this rank is here no more.
    bool is_back(const joining& who) const {
        if (!result_ || !table_.is_here(who.rank) || table_.incarnation_of(who.rank) == who.incarnation) return false;
        return std::none_of(guests_.begin(), guests_.end(), [&](const auto& g) {
            return g.second.rank == who.rank && g.second.incarnation == table_.incarnation_of(who.rank);
        });
    }

    void see_whether_all_are_here(std::vector<answering>& answers) {
        if (result_ || failed_ || !table_.complete()) return;
        result_ = place_of(0);
        if (!kept_.path.empty()) {
            kept_.run = own_name_;
            kept_.ranks = table_.all();
            kept_.write();
        }
        for (auto& [link, g] : guests_) answer_if_known(g, answers);
        // The limit was for all to be there; now it is for them to hear of it.
        set_timer(std::max(began_ + options_.limit, transport_.now() + confirming),
                  [](host& h, std::vector<answering>&) { h.over_ = true; });
    }

    void answer_if_known(guest& g, std::vector<answering>& answers) {
        if (!g.waits || !(result_ || failed_)) return;
        if (result_) answers.push_back({std::move(g.waits), encode(place_of(g.rank)), error_code::unknown, ""});
        else answers.push_back({std::move(g.waits), {}, failed_->first, failed_->second});
        answered_.insert(g.rank);
    }

    placed place_of(int rank) {
        placed p = table_.place_of(rank);
        p.run = own_name_;
        p.token = made_token_;
        return p;
    }

    void give_up(std::vector<answering>& answers) {
        if (result_) return;
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(options_.limit).count();
        if (const std::uint64_t n = service_->count().refused; n > 0)
            refused_ += "; refused: " + std::to_string(n) + (n == 1 ? " connection" : " connections") +
                        " of another token, encryption or version than rank 0's";
        failed_.emplace(error_code::deadline_exceeded,
                        "rendezvous: of " + std::to_string(size_) + " ranks these did not come to rank 0 at " +
                            address_ + " within " + std::to_string(ms) + " ms: " + table_.missing() + refused_);
        for (auto& [link, g] : guests_) answer_if_known(g, answers);
        set_timer(transport_.now() + parting, [](host& h, std::vector<answering>&) { h.over_ = true; });
    }

    // In the place of the one before. What it does is done under the lock.
    void set_timer(time_point at, void (*what)(host&, std::vector<answering>&)) {
        if (timer_ != 0) transport_.cancel(timer_);
        const int turn = ++timers_;
        timer_ = transport_.call_at(at, [self = weak_from_this(), what, turn] {
            const auto h = self.lock();
            if (!h) return;
            std::vector<answering> answers;
            {
                const std::lock_guard lock(h->mutex_);
                if (h->ended_ || h->timers_ != turn) return;
                what(*h, answers);
            }
            give(answers);
            h->transport_.wake();
        });
    }

    transport& transport_;
    const rendezvous_options options_;
    const time_point began_;
    const std::string word_;
    std::string own_name_;         // of this run, from begin() on
    const std::string made_token_; // of this run
    kept_rendezvous kept_;         // with the mutex
    std::string address_, file_;   // the thread of begin() and end()

    mutable std::mutex mutex_; // of all below but the service
    rendezvous_table table_;
    const int size_;
    std::string own_host_;
    std::map<link_number, guest> guests_;
    std::set<int> joined_, answered_; // ranks
    std::optional<placed> result_;
    std::optional<std::pair<error_code, std::string>> failed_;
    std::string refused_;
    std::uint64_t timer_ = 0;
    int timers_ = 0;
    bool over_ = false;
    bool ended_ = false;

    std::unique_ptr<service> service_; // the thread of begin() and end()
};

/// Ends it.
class host_part final : public rendezvous_part {
public:
    explicit host_part(std::shared_ptr<host> h) : host_(std::move(h)) {}
    ~host_part() override { host_->end(); }
    bool done() const override { return host_->done(); }
    placed result() const override { return host_->result(); }

private:
    std::shared_ptr<host> host_;
};

} // namespace

std::unique_ptr<rendezvous_part> host_rendezvous(transport& t, const rendezvous_point& point,
                                                 rendezvous_options options) {
    auto h =
        std::make_shared<host>(t, point, std::move(options), point.file.empty() ? std::string() : random_word(t, 2));
    auto part = std::make_unique<host_part>(h);
    h->begin(point);
    return part;
}

} // namespace tenon::net
