#pragma once

// A part of search/grid_search.ipp: what the threads of a search share.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tenon/search/search_record.hpp>

namespace tenon::detail {

inline std::string shown_score(double v) {
    char text[32];
    std::snprintf(text, sizeof text, "%.5g", v);
    return text;
}

// What a thread has under way, or has had last.
class search_core::training final : public running_trial {
public:
    training(state& of, const grid_device& on) : of_(of), on_(on) { device = on.name; }
    tenon::session& session() override;
    bool report(std::int64_t step, double score) override;
    bool should_stop() const noexcept override;

    void take_weights();
    void forget_container() noexcept;

    std::string container{};
    double began = 0;
    bool by_median = false;
    bool refused = false;                   // its session could not be opened
    mutable bool cut_off = false;           // it was told that a stop is requested
    std::shared_ptr<tenon::session> open{}; // its thread writes it, under the state's guard
    std::shared_ptr<const safetensors_file> best{};

private:
    state& of_;
    const grid_device& on_;
};

// A device and its thread.
struct search_core::worker {
    grid_device device;
    training* runs = nullptr; // one of those that `running` counts; under the guard, and so what follows
    bool lost = false;
    std::string why{};
    std::vector<std::string> containers{}; // of trainings that were lost with it
};

struct search_core::state : std::enable_shared_from_this<search_core::state> {
    state(std::vector<std::string> points, std::string axes, std::vector<grid_device> devices, grid_search_options o);

    void run(const shared_function<void(int, trial&)>& train);
    void start(coordinator& threads, const shared_function<void(int, trial&)>& train);
    void work(worker& w, const shared_function<void(int, trial&)>& train);
    bool take_point(worker& w, int& point);
    bool wait_until_back(worker& w, std::unique_lock<std::mutex>& lock);
    std::string trouble_with(const grid_device& d, double seconds) const;
    void give_up(const std::string& why);
    void train_one(worker& w, int point, const shared_function<void(int, trial&)>& train);
    trial_outcome train_alone(training& t, const shared_function<void(int, trial&)>& train, std::exception_ptr& error);
    void end(worker& w, training& t, trial_outcome o, const std::exception_ptr& error);
    std::optional<std::string> loss_by(const worker& w, const std::exception_ptr& error) const;
    bool lose(worker& w, training& t, const std::string& why, trial_outcome& o);
    void release(worker& w, bool has_ended);
    void close_sessions();
    void request_stop() noexcept;
    search_progress progress_now() const;

    double now() const { return options.clock ? options.clock() : real_now(); }
    static double real_now() {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    static std::chrono::steady_clock::time_point after(double seconds) {
        return std::chrono::steady_clock::now() +
               std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
    }
    std::string point_text(int point) const {
        return "point " + std::to_string(point) + " (" + record.text(point) + ")";
    }
    // Not under the guard. What the log throws ends the search, and no training.
    void tell(const std::string& line) {
        try {
            const std::lock_guard lock(telling);
            const std::string whole = options.name + ": " + line;
            if (options.log) options.log(whole);
            else std::fprintf(stderr, "%s\n", whole.c_str());
        } catch (...) {
            const std::lock_guard lock(guard);
            fail(std::current_exception());
        }
    }
    // Under the guard: the first is what run() throws.
    void fail(const std::exception_ptr& why) {
        if (!failure) failure = why;
        stopping = true;
        changed.notify_all();
    }

    const grid_search_options options;
    std::vector<worker> workers; // as many as at first

    std::mutex telling;
    mutable std::mutex guard; // of what follows
    std::condition_variable changed;
    search_record record;
    std::deque<int> left;
    std::map<int, std::vector<std::string>> lost_on;
    median_stopping medians;
    int running = 0, working = 0, lost_trainings = 0;
    double trained_seconds = 0; // of those that ended in this run
    int trained = 0;
    bool under_way = false;
    std::atomic<bool> stopping{false}; // written under the guard
    std::exception_ptr failure;        // what run() throws
};

} // namespace tenon::detail
