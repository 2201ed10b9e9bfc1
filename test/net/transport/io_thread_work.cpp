#include <future>

#include <net/transport/tcp.hpp>
#include <tenon/concurrency/deferred_flush.hpp>

#include "peers.hpp"

// Work that a transport's thread does aside, while others read on.

using namespace net_test;

namespace {

// A transport with so many I/O threads, whose user is called with each message while it is received; and who sends to it.
class listening {
public:
    explicit listening(int threads) : there_(make_tcp_transport({.io_threads = threads})), here_(make_tcp_transport()) {
        listener_ = there_->listen("127.0.0.1:0", [this](std::shared_ptr<connection> c) {
            const auto user = std::make_shared<telling>();
            user->of = this;
            user->to = std::move(c);
            return user;
        });
    }
    std::shared_ptr<connection> dial_it() {
        const auto user = std::make_shared<recorder>();
        answers_.push_back(user);
        return dial(*here_, listener_->address(), user).to;
    }
    recorder& answers(std::size_t connection) { return *answers_[connection]; }
    transport& there() { return *there_; }

    std::function<void(const std::string& said, connection& to)> when_told; // set before anybody is

private:
    struct telling final : connection_user {
        listening* of = nullptr;
        std::shared_ptr<connection> to;
        void received(message m) override { of->when_told(to_text(m.body), *to); }
        void closed(const std::string&) override { to.reset(); }
    };
    std::shared_ptr<transport> there_, here_;
    std::vector<std::shared_ptr<recorder>> answers_;
    std::unique_ptr<listener> listener_;
};

template <class T> T soon(std::future<T>& f) {
    REQUIRE(f.wait_for(long_enough) == std::future_status::ready);
    return f.get();
}

} // namespace

TEST_CASE(
    "aside: the thread that has read does it when it has told all, and what comes meanwhile is read by another one") {
    listening l(2);
    std::promise<void> begun, release;
    std::promise<bool> taken, on_time;
    std::promise<std::thread::id> reader, worker, other_reader;
    bool telling = false; // by the thread that is to do it
    l.when_told = [&](const std::string& said, connection& to) {
        if (said == "work") {
            telling = true;
            reader.set_value(std::this_thread::get_id());
            tn::work_item work = [&] {
                worker.set_value(std::this_thread::get_id());
                on_time.set_value(!telling);
                begun.set_value();
                release.get_future().wait();
            };
            taken.set_value(l.there().defer(work));
            telling = false;
            return;
        }
        if (said == "who") other_reader.set_value(std::this_thread::get_id());
        to.send(note(said));
    };
    const auto one = l.dial_it(), other = l.dial_it();
    one->send(note("work"));
    auto was_taken = taken.get_future(), came_late = on_time.get_future();
    auto did = begun.get_future();
    REQUIRE(soon(was_taken));
    soon(did);
    CHECK(soon(came_late));
    // It is under way until it is released: whatever is answered is answered beside it.
    one->send(note("who"));
    for (int i = 0; i < 20; ++i) {
        one->send(note("same"));
        other->send(note("other"));
    }
    CHECK(l.answers(0).wait_for_messages(21));
    CHECK(l.answers(1).wait_for_messages(20));
    const std::thread::id read = reader.get_future().get();
    CHECK(worker.get_future().get() == read);
    CHECK(other_reader.get_future().get() != read);
    release.set_value();
}

TEST_CASE("aside: the last thread that reads takes nothing") {
    listening l(2);
    std::promise<void> begun, release;
    std::promise<bool> refused;
    l.when_told = [&](const std::string& said, connection&) {
        tn::work_item work = [&] {
            begun.set_value();
            release.get_future().wait();
        };
        const bool taken = l.there().defer(work);
        if (said == "second") refused.set_value(!taken && work);
    };
    const auto to = l.dial_it();
    to->send(note("first"));
    auto is_aside = begun.get_future();
    soon(is_aside);
    to->send(note("second"));
    auto was_refused = refused.get_future();
    CHECK(soon(was_refused));
    release.set_value();
}

TEST_CASE("aside: a thread takes one piece of work at a time; one alone, and threads of others, take none") {
    for (const int threads : {1, 2}) {
        CAPTURE(threads);
        listening l(threads);
        std::promise<std::pair<bool, bool>> taken;
        l.when_told = [&](const std::string&, connection&) {
            tn::work_item one = [] {}, two = [] {};
            const bool first = l.there().defer(one);
            taken.set_value({first, l.there().defer(two)});
        };
        l.dial_it()->send(note("both"));
        auto told = taken.get_future();
        CHECK(soon(told) == std::pair(threads > 1, false));
        tn::work_item mine = [] {};
        CHECK_FALSE(l.there().defer(mine));
        CHECK(mine);
    }
}

TEST_CASE("aside: what is sent is kept until kernels run or the work ends, and nothing while they run") {
    listening l(2);
    std::promise<std::vector<std::size_t>> seen;
    l.when_told = [&](const std::string&, connection& to) {
        tn::work_item work = [&seen, &to] {
            std::vector<std::size_t> unsent;
            const auto look = [&] { unsent.push_back(to.unsent_bytes() > 0); };
            to.send(note("a"));
            look();
            {
                const tn::deferred_flush::running kernels;
                look();
                to.send(note("b"));
                look();
            }
            to.send(note("c"));
            look();
            seen.set_value(std::move(unsent));
        };
        CHECK(l.there().defer(work));
    };
    l.dial_it()->send(note("go"));
    auto told = seen.get_future();
    CHECK(soon(told) == std::vector<std::size_t>{1, 0, 0, 1});
    REQUIRE(l.answers(0).wait_for_messages(3));
    CHECK(text_at(l.answers(0), 2) == "c");
}
