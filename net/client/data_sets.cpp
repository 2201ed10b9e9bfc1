#include <net/client/data_sets.hpp>

#include <condition_variable>
#include <deque>
#include <system_error>
#include <thread>

#include <net/rpc/asking.hpp>
#include <tenon/core/array/text_array.hpp>
#include <tenon/io/stream/element_stream.hpp>

namespace tenon::net {

struct served_data::stream {
    std::condition_variable changed;
    std::deque<data_wanted> asked; // under the guard, as is
    bool is_over = false;          // its thread ends
    std::thread thread;
    std::unique_ptr<element_stream> elements; // its thread's, but that any may ask for the report
};

void served_data::begin() {
    {
        const std::lock_guard lock(guard_);
        if (begun_ || ended_) return;
        begun_ = true;
    }
    wait_to_be_asked();
}

void served_data::wait_to_be_asked() {
    call(
        *server_, serve_data{session_}, never,
        [weak = weak_from_this()](answer a) {
            if (const auto self = weak.lock()) self->take(std::move(a));
        },
        incarnation_);
}

// The server has asked, or the session has ended. A thread of the transport.
void served_data::take(answer&& a) noexcept {
    try {
        serve_data::reply r = read_answer<serve_data>(std::move(a));
        for (data_wanted& w : r.wanted) {
            const std::uint64_t request = w.request;
            try {
                ask(std::move(w));
            } catch (...) { // of this one stream; of close there is nothing to answer
                if (request) give(failed(request));
            }
        }
        wait_to_be_asked();
    } catch (...) { // the session has ended, or the link: its steps say so
    }
}

void served_data::ask(data_wanted&& w) {
    const std::lock_guard lock(guard_);
    if (ended_) return;
    std::erase_if(closed_, [](const std::shared_ptr<stream>& s) {
        if (s->is_over) s->thread.join();
        return s->is_over;
    });
    auto at = streams_.find(w.stream);
    if (w.action == data_action::open && at == streams_.end()) {
        at = streams_.emplace(w.stream, std::make_shared<stream>()).first;
        try {
            at->second->thread = std::thread([self = shared_from_this(), s = at->second] { self->work(*s); });
        } catch (const std::system_error& none) {
            streams_.erase(at);
            throw resource_exhausted_error(std::string("no thread can be had that goes through a data set: ") +
                                           none.what());
        }
    }
    if (at == streams_.end()) throw failed_precondition_error("an iterator's data set is not open in its program");
    stream& s = *at->second;
    if (w.action == data_action::report) { // while an element is computed
        give_data given = given_to(w.request);
        given.element.push_back(tenon::detail::text_array(s.elements ? s.elements->report() : std::string()));
        return give(std::move(given));
    }
    const bool closes = w.action == data_action::close;
    s.asked.push_back(std::move(w));
    s.changed.notify_one();
    if (!closes) return;
    closed_.push_back(std::move(at->second));
    streams_.erase(at);
}

void served_data::work(stream& s) {
    const tenon::detail::stop_scope stopped_with(reads_);
    for (;;) {
        data_wanted w;
        {
            std::unique_lock lock(guard_);
            s.changed.wait(lock, [&] { return ended_ || !s.asked.empty(); });
            s.is_over = ended_ || s.asked.front().action == data_action::close;
            if (s.is_over) return;
            w = std::move(s.asked.front());
            s.asked.pop_front();
        }
        try {
            give_data given = given_to(w.request);
            try {
                work(s, w, given);
            } catch (...) {
                given = failed(w.request);
            }
            give(std::move(given));
        } catch (...) { // the session has ended
        }
    }
}

void served_data::work(stream& s, const data_wanted& w, give_data& given) {
    if (w.action == data_action::open) {
        const auto source = numbered_source(w.source);
        if (!source) throw failed_precondition_error("an iterator's data set is not there any more");
        auto opened = source->open();
        const std::lock_guard lock(guard_);
        s.elements = std::move(opened);
    }
    if (!s.elements) throw failed_precondition_error("an iterator's data set could not be opened");
    if (w.action == data_action::next) given.end = !s.elements->next(given.element);
    if (w.action == data_action::save) {
        state_writer to;
        s.elements->save(to);
        given.element.push_back(tenon::detail::text_array(std::move(to).take()));
    }
    if (w.action == data_action::restore) {
        const std::string* const state = tenon::detail::text_in(w.state);
        if (!state) throw data_loss_error(w.name + " is no text");
        state_reader from(*state, w.name);
        s.elements->restore(from);
        from.require_end();
    }
    // The element may be a part of what the stream goes on with, and the call may be on its way for long.
    for (any_array& v : given.element)
        if (v.is_view()) v = v.copy();
}

give_data served_data::given_to(std::uint64_t request) const {
    return give_data{.session = session_, .request = request};
}

// In a handler.
give_data served_data::failed(std::uint64_t request) const {
    give_data given = given_to(request);
    given.failed = true;
    given.why = failure::of(std::current_exception());
    return given;
}

// What cannot be taken there is an error of the step that asked.
void served_data::give(give_data&& given) const {
    const auto if_refused = [weak = weak_from_this(), request = given.request](const answer& a) {
        const auto self = weak.lock();
        if (!self || !a.failed || a.unknown) return; // who does not answer has lost the session
        try {
            give_data refused = self->given_to(request);
            refused.failed = true;
            refused.why = {a.code, a.message, a.reason};
            call(
                *self->server_, refused, never, [](const answer&) {}, self->incarnation_);
        } catch (...) { // the link is gone
        }
    };
    call(*server_, given, never, if_refused, incarnation_);
}

void served_data::stop() noexcept {
    const std::lock_guard lock(guard_);
    ended_ = true;
    reads_.stop();
    for (const auto& [number, s] : streams_) s->changed.notify_one();
    for (const auto& s : closed_) s->changed.notify_one();
}

void served_data::end() noexcept {
    stop();
    std::vector<std::shared_ptr<stream>> closed;
    std::map<std::uint64_t, std::shared_ptr<stream>> open;
    {
        const std::lock_guard lock(guard_);
        closed.swap(closed_);
        open.swap(streams_);
    }
    const auto end = [](stream& s) {
        if (s.thread.get_id() == std::this_thread::get_id())
            s.thread.detach(); // a data set had the last of the session
        else if (s.thread.joinable()) s.thread.join();
    };
    for (const auto& s : closed) end(*s);
    for (const auto& [number, s] : open) end(*s);
}

} // namespace tenon::net
