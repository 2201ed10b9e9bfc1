#include <functional>
#include <optional>
#include <utility>

#include <tenon/input.hpp>

#include "scenario.hpp"

namespace tn = tenon;

namespace no_memory {

namespace {

tn::session_options two_threads() {
    return {.intra_op_threads = 2, .inter_op_threads = 2, .use_per_session_threads = true};
}

// Numbers in a queue, and the sum of those that steps took out. Each number is a power of two: the sum tells which.
class taking_from_queue : public scenario {
public:
    explicit taking_from_queue(bool two_tasks) : two_tasks_(two_tasks) {}
    void prepare() override {
        const tn::graph_scope here(graph_);
        const tn::fifo_queue<float> numbers(8);
        const auto given = tn::placeholder<float>("given");
        const auto sum = [&] {
            const tn::device_scope there(two_tasks_ ? "/job:store" : "");
            return tn::variable("sum", tn::constant(0.0F));
        }();
        const auto added = sum.assign_add(numbers.dequeue());
        const auto put = numbers.enqueue(given);
        open();
        session_->run(tn::initialize_variables());
        put_ = [step = std::make_shared<decltype(session_->callable(tn::feeds(given), tn::fetches(put)))>(
                    session_->callable(tn::feeds(given), tn::fetches(put)))](float n) { (*step)(n); };
        auto take = std::make_shared<decltype(session_->callable(tn::feeds(), tn::fetches(added)))>(
            session_->callable(tn::feeds(), tn::fetches(added)));
        take_ = [take] { (void)(*take)(); };
        start_ = [take]() -> std::function<void()> { return [started = take->start()] { (void)started.get(); }; };
        auto state = std::make_shared<decltype(session_->callable(tn::feeds(), tn::fetches(numbers.size(), sum)))>(
            session_->callable(tn::feeds(), tn::fetches(numbers.size(), sum)));
        state_ = [state] {
            const auto [size, total] = (*state)();
            return std::pair(static_cast<int>(size()), static_cast<int>(total()));
        };
        for (const float n : {1.0F, 2.0F, 4.0F}) put_(n);
        begin();
    }
    // None is added twice, what is left can be taken, and the queue goes on.
    void check(bool well) override {
        auto [there, sum] = state_();
        require(sum >= 0 && sum <= most_,
                "the sum is " + std::to_string(sum) + ", of at most " + std::to_string(most_));
        require(!well || sum == wanted_,
                "all ended well, and the sum is " + std::to_string(sum) + ", not " + std::to_string(wanted_));
        for (; there > 0; --there) take_();
        const int before = state_().second;
        require(before <= most_,
                "the sum is " + std::to_string(before) + " of the numbers up to " + std::to_string(most_));
        put_(64.0F);
        take_();
        require(state_() == std::pair(0, before + 64), "another number was added to " + std::to_string(before) +
                                                           ", which made " + std::to_string(state_().second));
    }

protected:
    virtual void begin() {}
    const bool two_tasks_;
    int most_ = 7, wanted_ = 7;
    std::function<void(float)> put_;
    std::function<void()> take_;
    std::function<std::function<void()>()> start_;
    std::function<std::pair<int, int>()> state_; // how many are in the queue; the sum

private:
    void open() {
        if (!two_tasks_) {
            session_.emplace(graph_, two_threads());
            return;
        }
        tn::session_options o{.allow_soft_placement = true};
        session_.emplace(std::vector<tn::task>{tn::task({.job = "work"}), tn::task({.job = "store"})}, graph_, o);
    }
    tn::graph graph_;
    std::optional<tn::session> session_;
};

struct steps_that_take final : taking_from_queue {
    using taking_from_queue::taking_from_queue;
    void act() override {
        for (int n = 0; n < 3; ++n) take_();
    }
};

struct steps_that_were_started final : taking_from_queue {
    using taking_from_queue::taking_from_queue;
    void act() override {
        std::vector<std::function<void()>> started;
        std::exception_ptr first;
        const auto trying = [&](const auto& f) {
            try {
                f();
            } catch (...) {
                if (!first) first = std::current_exception();
            }
        };
        for (int n = 0; n < 3; ++n) trying([&] { started.push_back(start_()); });
        for (const auto& s : started) trying(s);
        if (first) std::rethrow_exception(first);
    }
    bool has_own_allocations() const override { return true; }
};

// Elements of a data set, 0, 1, 2, ..: by steps that end well, or are late and give back what they took. Other queues are full, empty or
// closed meanwhile.
class elements_of_data_set : public scenario {
public:
    elements_of_data_set(bool waits, bool late) : late_(late) {
        const tn::graph_scope here(graph_);
        const auto numbers = tn::data::range(1000);
        const auto it = waits ? tn::make_one_shot_iterator(numbers.map_host([](std::int64_t n) { return n; }))
                              : tn::make_one_shot_iterator(numbers);
        const tn::priority_queue<std::int64_t> least(10);
        const tn::fifo_queue<std::int64_t> never(1), closed(1);
        const auto next = it.get_next();
        session_.emplace(graph_, two_threads());
        for (const std::int64_t n : {2, 1, 3}) session_->run(least.enqueue(n, n));
        session_->run(closed.close());
        const auto one = std::make_shared<decltype(session_->callable(tn::feeds(), tn::fetches(next)))>(
            session_->callable(tn::feeds(), tn::fetches(next)));
        next_ = [one] { return std::get<0>(one->run_for(10.0)).item(); };
        const auto batch = std::get<0>(least.dequeue_many<2>());
        const auto in_vain =
            std::make_shared<decltype(session_->callable(tn::feeds(), tn::fetches(next, batch, never.dequeue())))>(
                session_->callable(tn::feeds(), tn::fetches(next, batch, never.dequeue())));
        take_in_vain_ = [in_vain] {
            try {
                (void)in_vain->run_for(0.01);
            } catch (const tn::deadline_exceeded_error&) {
            }
        };
        const auto size = least.size(), end = closed.dequeue();
        least_ = [this, size] { return session_->run(size).item(); };
        end_ = [this, end] {
            try {
                (void)session_->run(end);
            } catch (const tn::end_of_data_error&) {
            }
        };
        take_in_vain_();
        end_();
    }
    void prepare() override {}
    void act() override {
        if (late_) take_in_vain_();
        else last_ = next_();
        end_();
    }
    // An element that was given and whose step failed then is the only one that may be missing.
    void check(bool well) override {
        const std::int64_t n = next_();
        require(n == last_ + 1 || (!well && n <= last_ + 2), // where it is late, too: memory may end first
                "the next element is " + std::to_string(n) + " after " + std::to_string(last_));
        require(least_() == 3, "3 were given back to a queue, which has " + std::to_string(least_()));
        take_in_vain_();
        require(next_() == n + 1, "the element after that is another one");
        end_();
    }

private:
    const bool late_;
    tn::graph graph_;
    std::optional<tn::session> session_;
    std::function<std::int64_t()> next_, least_;
    std::function<void()> take_in_vain_, end_;
    std::int64_t last_ = -1;
};

// Elements of an enqueue_many, which are all in the queue or none.
class many_at_once final : public scenario {
public:
    void prepare() override {
        const tn::graph_scope here(graph_);
        const tn::fifo_queue<float> queue(1000);
        const auto all = tn::placeholder<float, tn::shape<40>>("all");
        session_.emplace(graph_, two_threads());
        put_ = [this, put = queue.enqueue_many(all), all] {
            session_->run(tn::feed(all, tn::array<float, tn::shape<40>>()), put);
        };
        size_ = [this, size = queue.size()] { return session_->run(size).item(); };
        put_();
    }
    void act() override { put_(); }
    bool has_own_allocations() const override { return true; }
    void check(bool well) override {
        const std::int64_t n = size_();
        require(n == 80 || (!well && n == 40), "the queue has " + std::to_string(n) + " elements");
        put_();
        require(size_() == n + 40, "40 more are not there");
    }

private:
    tn::graph graph_;
    std::optional<tn::session> session_;
    std::function<void()> put_;
    std::function<std::int64_t()> size_;
};

} // namespace

std::vector<named_scenario> waiting_scenarios() {
    std::vector<named_scenario> all;
    for (const bool two : {false, true}) {
        const std::string where = two ? "two tasks, " : "one task, ";
        all.push_back(
            {where + "steps that take from a queue", [two] { return std::make_unique<steps_that_take>(two); }});
        all.push_back({where + "started steps", [two] { return std::make_unique<steps_that_were_started>(two); }});
    }
    for (const bool waits : {false, true})
        for (const bool late : {false, true})
            all.push_back(
                {std::string("elements of a data set") + (waits ? " that may wait" : "") + (late ? ", given back" : ""),
                 [=] { return std::make_unique<elements_of_data_set>(waits, late); }});
    all.push_back({"many elements at once", [] { return std::make_unique<many_at_once>(); }});
    return all;
}

} // namespace no_memory
