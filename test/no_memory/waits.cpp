#include <functional>
#include <optional>
#include <utility>

#include <tenon/tenon.hpp>

#include "scenario.hpp"

namespace tn = tenon;

namespace no_memory {

namespace {

tn::session_options two_threads() {
    tn::session_options o;
    o.intra_op_threads = 2;
    o.inter_op_threads = 2;
    o.use_per_session_threads = true;
    return o;
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
        tn::session_options o;
        o.allow_soft_placement = true;
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

} // namespace

std::vector<named_scenario> waiting_scenarios() {
    std::vector<named_scenario> all;
    for (const bool two : {false, true}) {
        const std::string where = two ? "two tasks, " : "one task, ";
        all.push_back(
            {where + "steps that take from a queue", [two] { return std::make_unique<steps_that_take>(two); }});
        all.push_back({where + "started steps", [two] { return std::make_unique<steps_that_were_started>(two); }});
    }
    return all;
}

} // namespace no_memory
