#include <net/master/data_sets.hpp>

#include <sys/eventfd.h>
#include <unistd.h>

#include <net/rpc/answer.hpp>
#include <tenon/concurrency/stop_source.hpp>
#include <tenon/core/array/text_array.hpp>

namespace tenon::net {

// One that has been asked, until its answer is there: then its descriptor can be read.
struct client_data::asked {
    asked() : descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        if (descriptor < 0)
            throw resource_exhausted_error("no descriptor is left to wait for an element of a client's data set");
    }
    asked(asked&&) = delete;
    ~asked() { ::close(descriptor); }
    void came() const noexcept { (void)::eventfd_write(descriptor, 1); }

    const int descriptor;
    give_data answer;          // under the guard, until it has come
    std::exception_ptr failed; // there is no answer
};

namespace {

// Of one that was opened at the client.
class client_stream final : public element_stream {
public:
    client_stream(std::shared_ptr<client_data> of, std::uint64_t source, const std::vector<tensor_type>& components) :
        of_(std::move(of)), components_(components), number_(of_->new_stream()) {
        data_wanted w = wanted(data_action::open);
        w.source = source;
        try {
            (void)of_->ask(std::move(w));
        } catch (...) {
            of_->close(number_);
            throw;
        }
    }
    ~client_stream() override { of_->close(number_); }

    bool next(std::vector<any_array>& element) override {
        give_data given = of_->ask(wanted(data_action::next));
        if (given.end) return false;
        bool fits = given.element.size() == components_.size();
        for (std::size_t c = 0; fits && c < components_.size(); ++c)
            fits = misfit(given.element[c].type(), components_[c]).empty();
        if (!fits)
            throw data_loss_error("the client gave an element of other types than its data set has, " +
                                  to_string(components_));
        element = std::move(given.element);
        return true;
    }
    std::string report() const override { return text_of(of_->ask(wanted(data_action::report))); }
    // The client's words alone: what was saved here can be restored where the data set is, and the reverse.
    void save(state_writer& to) override { to.append(text_of(of_->ask(wanted(data_action::save)))); }
    void restore(state_reader& from) override {
        data_wanted w = wanted(data_action::restore);
        w.state = tenon::detail::text_array(from.rest());
        w.name = from.name();
        (void)of_->ask(std::move(w));
    }

private:
    static std::string text_of(const give_data& given) {
        if (const std::string* const text =
                given.element.size() == 1 ? tenon::detail::text_in(given.element[0]) : nullptr)
            return *text;
        throw data_loss_error("the client answered no text where a state or a report of its data set was asked for");
    }
    data_wanted wanted(data_action what) const { return data_wanted{.stream = number_, .action = what}; }
    const std::shared_ptr<client_data> of_;
    const std::vector<tensor_type> components_;
    const std::uint64_t number_;
};

class client_source final : public element_source {
public:
    client_source(std::shared_ptr<client_data> of, std::uint64_t number, std::vector<tensor_type> components) :
        of_(std::move(of)), number_(number), components_(std::move(components)) {}
    const std::vector<tensor_type>& components() const override { return components_; }
    std::unique_ptr<element_stream> open() const override {
        return std::make_unique<client_stream>(of_, number_, components_);
    }
    bool may_wait() const override { return true; }

private:
    const std::shared_ptr<client_data> of_;
    const std::uint64_t number_;
    const std::vector<tensor_type> components_;
};

} // namespace

std::shared_ptr<const element_source> client_data::find(std::uint64_t number,
                                                        const std::vector<tensor_type>& components) {
    return std::make_shared<client_source>(shared_from_this(), number, components);
}

std::uint64_t client_data::new_stream() {
    const std::lock_guard lock(guard_);
    if (open_ == most_open_)
        throw resource_exhausted_error(
            client_ + ": " + std::to_string(open_) +
            " are gone through at a time, and no more (client_limits::data_sets); initialise "
            "iterators that are there with other data sets, or open another session");
    ++open_;
    return ++streams_;
}

// All that there is to ask, where the client waits for it.
void client_data::send(std::unique_lock<std::mutex>& lock) {
    if (to_ask_.empty() || !to_) return;
    serve_data::reply all;
    all.wanted.swap(to_ask_);
    replier to = std::move(to_);
    lock.unlock();
    reply<serve_data>(to, all);
}

void client_data::wait_to_be_asked(replier&& client) {
    std::unique_lock lock(guard_);
    if (ended_) std::rethrow_exception(ended_);
    const replier before = std::exchange(to_, std::move(client)); // who calls twice is asked by the later call
    send(lock);
}

void client_data::take(give_data&& given) {
    std::shared_ptr<asked> who;
    const std::lock_guard lock(guard_);
    const auto at = asked_.find(given.request);
    if (at == asked_.end()) return; // it is not wanted any more
    who = std::move(at->second);
    asked_.erase(at);
    who->answer = std::move(given);
    who->came();
}

void client_data::end(const std::exception_ptr& why) noexcept {
    replier to;
    {
        const std::lock_guard lock(guard_);
        if (ended_) return;
        ended_ = why;
        to = std::move(to_);
        to_ask_.clear();
        for (const auto& [request, who] : asked_) {
            who->failed = why;
            who->came();
        }
        asked_.clear();
    }
    if (!to) return;
    try {
        fail(to, why);
    } catch (...) { // no memory for words: it is answered all the same, as it goes
    }
}

give_data client_data::ask(data_wanted what) {
    const auto who = std::make_shared<asked>();
    std::unique_lock lock(guard_);
    if (ended_) std::rethrow_exception(ended_);
    const std::uint64_t request = what.request = ++requests_;
    asked_.emplace(request, who);
    to_ask_.push_back(std::move(what));
    send(lock);
    if (lock.owns_lock()) lock.unlock();
    try {
        tenon::detail::wait_to_read(who->descriptor, client_.c_str());
    } catch (...) {
        lock.lock();
        asked_.erase(request);
        throw;
    }
    lock.lock();
    if (who->failed) std::rethrow_exception(who->failed);
    if (who->answer.failed) who->answer.why.raise();
    return std::move(who->answer);
}

void client_data::close(std::uint64_t stream) noexcept {
    try {
        std::unique_lock lock(guard_);
        --open_;
        if (ended_) return;
        to_ask_.push_back({.stream = stream, .action = data_action::close});
        send(lock);
    } catch (...) { // no memory: the client keeps it until the session ends
    }
}

} // namespace tenon::net
