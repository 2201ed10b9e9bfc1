#include "interleavings/endings.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <tenon/tenon.hpp>

namespace tn = tenon;

namespace interleavings {

namespace {

/// Its input; meanwhile another thread may go on. Without effects, so that it may be a part of an update's arithmetic, where
/// its step holds the variable.
struct yield_op {
    static constexpr const char* name = "test_yield";
    static constexpr tn::element_types gpu_types = tn::no_elements;
    using attributes = tn::no_attributes;
    static tn::inferred infer(const attributes&, tn::type_list in, int) {
        return in.size() == 1 ? tn::inferred(in[0]) : tn::inferred(tn::fault::expects_more_operands);
    }
    struct yield_kernel final : tn::kernel {
        explicit yield_kernel(const tn::kernel_setup&) {}
        void run(const tn::kernel_run& r) override {
            std::this_thread::yield();
            *r.output<std::int64_t>(0) = *r.input<std::int64_t>(0);
        }
    };
    static tn::kernel_pointer prepare(const tn::kernel_setup& s) { return std::make_unique<yield_kernel>(s); }
};

using tn::error_code;
using number = std::int64_t;

enum class ending { stop, limit, close, reset };

class endings {
public:
    explicit endings(std::uint64_t seed) :
        random_(seed),
        ending_(static_cast<ending>(seed % 4)),
        task_(tn::task_options{.intra_op_threads = 1}) { // no threads that are the process's, and outlive it

        const tn::graph_scope in(graph_);
        const tn::fifo_queue<number> q(3, tn::queue_options{.shared_name = "q"});
        const auto v = tn::variable("v", number{0}), w = tn::variable("w", number{0});
        begin_ = tn::group(v.initializer(), w.initializer());
        put_ = q.enqueue(number{1});
        const auto taken = q.dequeue(), more = q.dequeue();
        take_ = tn::group(v.assign_add(taken), w.assign_add(taken));
        take_two_ = tn::group(v.assign_add(taken + more), w.assign_add(taken + more));
        const auto added = [](const tn::any_tensor& to) {
            const tn::any_tensor now = tn::detail::current_value(to);
            return tn::untyped::assign(to, tn::add<yield_op>({}, {tn::untyped::add(now, number{1000})}));
        };
        add_ = tn::group(added(v).operation(), added(w).operation());
        const auto sum = (v * number{2} - w).materialize(); // v, where they are equal
        set_ = tn::group(v.assign(sum), w.assign(sum));
        all_ = {v, w, q.size()};
    }

    std::string run() {
        watch_.emplace(task_, graph_);
        watch_->run(begin_);
        const int elements = below(4);
        for (int n = 0; n < elements; ++n) watch_->run(put_);
        session_.emplace(task_, graph_,
                         tn::session_options{.intra_op_threads = 2,
                                             .inter_op_threads = chance(0.3) ? 1 : 0,
                                             .use_per_session_threads = true});
        struct planned {
            tn::operation what;
            number adds, takes, puts;
        };
        const planned kinds[] = {
            {take_, 1, 1, 0}, {take_two_, 2, 2, 0}, {add_, 1000, 0, 0}, {set_, 0, 0, 0}, {put_, 0, 0, 1}};
        std::vector<std::thread> threads;
        for (int t = 2 + below(2); t > 0; --t) {
            std::vector<planned> steps;
            for (int n = 1 + below(3); n > 0; --n) steps.push_back(kinds[below(5)]);
            const int cut_after = below(60), how = below(2);
            threads.emplace_back([=, this] {
                for (const planned& p : steps) {
                    const auto failed =
                        how == 0 || ending_ == ending::stop ? end_of(p.what, cut_after) : end_of_run(p.what, cut_after);
                    const std::lock_guard lock(guard_);
                    if (!failed) {
                        adds_ += p.adds;
                        left_ += p.puts - p.takes;
                    } else if (!may_end_so(*failed))
                        wrong_ += std::string("a step ends with ") + tn::name_of(*failed) + ": " + message_ + "\n";
                }
            });
        }
        if (ending_ == ending::close || ending_ == ending::reset) {
            std::this_thread::sleep_for(std::chrono::microseconds(below(100)));
            if (ending_ == ending::close) session_->close();
            else task_.reset({""});
        }
        for (int n = below(4); n > 0; --n) put_one_more();
        for (std::thread& t : threads) t.join();
        if (ending_ != ending::reset) look(elements);
        return wrong_;
    }

private:
    int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
    bool chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }

    void put_one_more() {
        try {
            watch_->run_for(1e-3, put_);
            const std::lock_guard lock(guard_);
            ++left_;
        } catch (const tn::error&) { // it is full, or was reset
        }
    }

    template <class F> std::optional<error_code> outcome(const F& f) {
        try {
            f();
            return {};
        } catch (const tn::error& e) {
            const std::lock_guard lock(guard_);
            message_ = e.what();
            return e.code();
        }
    }
    double limit(int cut_after) const {
        return ending_ == ending::limit ? cut_after * 1e-6 + 1e-7 : ending_ == ending::reset ? 5e-3 : 0;
    }
    std::optional<error_code> end_of(const tn::operation& what, int cut_after) {
        return outcome([&] {
            const auto call = session_->callable(tn::feeds(), tn::fetches(what));
            const auto pending = call.start_for(limit(cut_after));
            if (ending_ == ending::stop) {
                if (cut_after > 0) std::this_thread::sleep_for(std::chrono::microseconds(cut_after));
                pending.stop();
            }
            pending.get();
        });
    }
    std::optional<error_code> end_of_run(const tn::operation& what, int cut_after) {
        return outcome([&] { session_->run_for(limit(cut_after), what); });
    }

    bool may_end_so(error_code c) const {
        switch (ending_) {
        case ending::stop: return c == error_code::cancelled;
        case ending::limit: return c == error_code::deadline_exceeded;
        case ending::close: return c == error_code::cancelled || c == error_code::failed_precondition;
        default: // whoever comes after it finds variables without a value, and a queue that nobody fills
            return c == error_code::aborted || c == error_code::failed_precondition ||
                   c == error_code::deadline_exceeded;
        }
    }

    void look(int elements) {
        number found[3];
        const std::vector<tn::any_array> left = watch_->run_untyped({}, all_);
        for (std::size_t n = 0; n < 3; ++n) found[n] = *left[n].data<number>();
        if (found[0] != found[1] || found[0] != adds_)
            wrong_ += "the steps that ended well add " + std::to_string(adds_) + ", the variables are " +
                      std::to_string(found[0]) + " and " + std::to_string(found[1]) + "\n";
        if (found[2] != elements + left_)
            wrong_ += "there should be " + std::to_string(elements + left_) + " elements, and are " +
                      std::to_string(found[2]) + "\n";
    }

    std::mt19937_64 random_;
    const ending ending_;
    tn::task task_;
    tn::graph graph_;
    tn::operation begin_, put_, take_, take_two_, add_, set_;
    std::vector<tn::any_tensor> all_; // the variables, and how many elements there are
    std::optional<tn::session> watch_, session_;

    std::mutex guard_; // of what follows
    number adds_ = 0, left_ = 0;
    std::string wrong_, message_;
};

} // namespace

std::string run_endings(std::uint64_t seed) { return endings(seed).run(); }

} // namespace interleavings
