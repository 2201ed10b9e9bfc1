#include <stdexcept>

#include <tenon/search/grid_search.hpp>

#include "tests.hpp"

// Random searches against a model of what has ended: trainings that end, fail, are lost, or stopped; logs that throw; programs that are
// killed while they write; and files of others beside. TENON_SEARCH_SEEDS: so many instead of a few.

namespace {

struct number {
    int v = 0;
};

/// What a point has ended with.
struct ended_point {
    bool failed = false;
    double score = std::numeric_limits<double>::quiet_NaN();
    std::int64_t step = -1; // of the best score
    float weight = -1;      // then; -1: it had none
};

class random_search {
public:
    explicit random_search(unsigned seed) : seed_(seed), random_(seed) {
        const int n = draw(1, 7);
        std::vector<int> all;
        for (int i = 0; i < n; ++i) all.push_back(i);
        points_ = std::make_unique<tn::grid<number>>(tn::grid(tn::axis("v", &number::v, all)));
        devices_ = tn::devices_of(tn::task({.cpu_devices = draw(1, 3)}));
        has_file_ = draw(0, 3) > 0;
        options_.file = has_file_ ? folder_ / (draw(0, 1) ? "w.jsonl" : "w") : std::string();
        options_.smaller_is_better = draw(0, 1) > 0;
        options_.keep = draw(0, n + 2);
        options_.attempts = draw(1, 3);
        options_.log = [this](const std::string&) {
            const std::lock_guard lock(guard_);
            if (std::exchange(log_throws_, false)) throw std::runtime_error("no log");
        };
        for (const char* ends :
             {"", ".1", ".point-0.best.safetensors", ".point-0.safetensors.bak", ".point-00.safetensors",
              ".point-9.safetensors", ".point-9.safetensors.partial-1", ".point--1.safetensors",
              ".point-0.safetensors.partial-x", ".point-of-view.safetensors", ".point-0.best-of-paper.safetensors",
              ".point-0.safetensors.partial-1999-12-31", ".point-0.safetensors.partial-",
              ".point-0.safetensors.partial-7-1", ".point-.safetensors"})
            for (const char* begins : {"w", "w.jsonl", "ww"}) {
                const std::string path = folder_ / (std::string(begins) + ends);
                if (path != options_.file && draw(0, 1)) others_.insert(path);
            }
        for (const std::string& path : others_) write_bytes(path, "of " + path);
    }

    void run() {
        bool complete = false;
        for (int runs = 0; !complete; ++runs) {
            REQUIRE(runs < 200);
            if (!search_ || draw(0, 1)) open();
            complete = run_once();
            check();
        }
        if (options_.retry_failed) return;
        search_->run([](const number&, tn::trial&) { FAIL_CHECK("nothing is left"); });
        check();
    }

private:
    int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
    std::size_t count() const { return static_cast<std::size_t>(points_->size()); }
    bool has_ended(int point) const { return ended_.contains(point) && !left_again_.contains(point); }
    bool is_better(int a, int b) const {
        const double x = ended_.at(a).back().score, y = ended_.at(b).back().score;
        return x == y ? a < b : options_.smaller_is_better ? x < y : x > y;
    }
    std::vector<int> ranked() const {
        std::vector<int> all;
        for (const auto& [point, lines] : ended_)
            if (has_ended(point) && !lines.back().failed && !std::isnan(lines.back().score)) all.push_back(point);
        std::sort(all.begin(), all.end(), [&](int a, int b) { return is_better(a, b); });
        return all;
    }
    std::string weights_of(int point) const {
        return options_.file + ".point-" + std::to_string(point) + ".safetensors";
    }

    /// As another program would, after one that was killed, perhaps while it wrote.
    void open() {
        search_.reset();
        if (has_file_ && !ended_.empty() && draw(0, 1)) tear();
        if (has_file_ && draw(0, 3) == 0)
            write_bytes(weights_of(draw(0, points_->size() - 1)) + ".partial-" + std::to_string(draw(0, 99)), "a part");
        options_.retry_failed = draw(0, 2) == 0;
        if (!has_file_) ended_.clear();
        times_lost_.clear();
        leave_failed_again();
        search_ = std::make_unique<tn::grid_search<number>>(*points_, devices_, options_);
        CHECK(search_->results().size() == how_many_ended());
    }
    void leave_failed_again() {
        left_again_.clear();
        if (!has_file_ || !options_.retry_failed) return;
        for (const auto& [point, lines] : ended_)
            if (lines.back().failed) left_again_.insert(point);
    }
    std::size_t how_many_ended() const { return ended_.size() - left_again_.size(); }

    /// The last line is not all there, and what its point had dropped is. What it had dropped cannot be had again: then it is left whole.
    void tear() {
        const std::string text = read_bytes(options_.file);
        const std::size_t begin = text.rfind('\n', text.size() - 2) + 1;
        if (begin == 0) return; // there is the first only
        const int point = std::atoi(text.c_str() + begin + std::string("{\"point\":").size());
        const auto before = ended_;
        auto& lines = ended_.at(point);
        lines.pop_back();
        if (lines.empty()) ended_.erase(point);
        left_again_.clear();
        int kept = 0;
        for (const int p : ranked())
            if (kept++ < options_.keep && ended_.at(p).back().weight >= 0 && !std::filesystem::exists(weights_of(p))) {
                ended_ = before;
                return;
            }
        write_bytes(options_.file, text.substr(0, begin + static_cast<std::size_t>(
                                                              draw(0, static_cast<int>(text.size() - begin) - 1))));
    }

    /// Whether all have ended.
    bool run_once() {
        leave_failed_again(); // it reads the file again
        stopped_ = false;
        perhaps_failed_.clear();
        bool threw = false;
        try {
            search_->run([&](const number& n, tn::trial& t) { train(n, t); });
        } catch (const std::runtime_error& e) {
            threw = true;
            CHECK(std::string(e.what()) == "no log");
        }
        const auto results = search_->results();
        for (const auto& r : results) // a stop may have come before or after it was seen that it had failed
            if (const auto at = perhaps_failed_.find(r.point); at != perhaps_failed_.end() && !has_ended(r.point)) {
                ended_[r.point].push_back(at->second);
                left_again_.erase(r.point);
            }
        const bool complete = how_many_ended() == count();
        CHECK(search_->is_complete() == complete);
        if (!threw && !stopped_) CHECK(complete);
        return complete;
    }

    enum class fate { ends, ends_its_data, throws, is_lost, is_stopped, is_read };
    void train(const number& n, tn::trial& t) {
        const int p = t.point();
        fate what{};
        bool opens = true;
        std::vector<double> scores;
        {
            const std::lock_guard lock(guard_);
            CHECK(n.v == p);
            CHECK_FALSE(has_ended(p));
            CHECK(running_.insert(p).second);
            CHECK(static_cast<std::size_t>(search_->progress().running) <= devices_.size());
            std::mt19937 own(seed_ * 1009 + static_cast<unsigned>(p) * 31 + static_cast<unsigned>(++begun_[p]));
            const auto one_of = [&](int high) { return static_cast<int>(own() % static_cast<unsigned>(high)); };
            constexpr fate fates[] = {fate::throws,     fate::throws,  fate::is_lost,
                                      fate::is_stopped, fate::is_read, fate::ends_its_data};
            what = one_of(2) ? fate::ends : fates[one_of(6)];
            opens = one_of(5) > 0;
            const double inf = std::numeric_limits<double>::infinity();
            const double values[] = {-1, 0, 0.5, 0.5, 1, 2, inf, -inf, std::numeric_limits<double>::quiet_NaN()};
            for (int i = 0, n_scores = 1 + one_of(3); i < n_scores; ++i) scores.push_back(values[one_of(9)]);
            if (one_of(12) == 0) log_throws_ = true;
        }
        const std::shared_ptr<void> running(nullptr, [&](void*) {
            const std::lock_guard lock(guard_);
            running_.erase(p);
        });
        if (opens) {
            const auto w = tn::variable("w", 0.0f);
            t.session().run(tn::initialize_variables());
            for (std::size_t i = 0; i < scores.size(); ++i) {
                t.session().run(w.assign(weight_of(p, i)));
                (void)t.report(static_cast<std::int64_t>(i), scores[i]);
            }
        } else
            for (std::size_t i = 0; i < scores.size(); ++i) (void)t.report(static_cast<std::int64_t>(i), scores[i]);
        if (what == fate::is_stopped) search_->request_stop();
        if (what == fate::is_read && has_file_) {
            tn::grid_search<number> other(*points_, devices_, options_);
            CHECK(other.results().size() < count());
            CHECK_THROWS_AS(other.run([](const number&, tn::trial&) {}), tn::aborted_error);
        }
        const std::lock_guard lock(guard_);
        if (what == fate::is_stopped) stopped_ = true;
        if (t.should_stop()) return;
        ended_point as;
        for (std::size_t i = 0; i < scores.size(); ++i)
            if (!std::isnan(scores[i]) &&
                (std::isnan(as.score) || (options_.smaller_is_better ? scores[i] < as.score : scores[i] > as.score))) {
                as.score = scores[i];
                as.step = static_cast<std::int64_t>(i);
                as.weight = opens ? weight_of(p, i) : -1;
            }
        if (what == fate::throws || what == fate::is_lost) {
            as.failed = true;
            const bool lost = what == fate::is_lost;
            if (!lost || ++times_lost_[p] >= options_.attempts) perhaps_failed_[p] = as;
            if (lost) tn::throw_error(tn::error_code::unavailable, "it is gone", tn::error_reason::lost_task);
            throw std::logic_error("it fails");
        }
        ended_[p].push_back(as);
        left_again_.erase(p);
        if (what == fate::ends_its_data) throw tn::end_of_data_error("all was read");
    }
    static float weight_of(int point, std::size_t step) {
        return static_cast<float>(100 * point) + static_cast<float>(step);
    }

    void check() {
        const auto results = search_->results();
        REQUIRE(results.size() == how_many_ended());
        for (const auto& r : results) {
            REQUIRE(has_ended(r.point));
            const ended_point& is = ended_.at(r.point).back();
            CHECK((r.end == tn::trial_end::failed) == is.failed);
            CHECK((r.score == is.score || (std::isnan(r.score) && std::isnan(is.score))));
            CHECK(r.best_step == is.step);
        }
        const tn::search_progress p = search_->progress();
        CHECK(p.running == 0);
        CHECK(static_cast<std::size_t>(p.done + p.failed) == results.size());
        CHECK(static_cast<std::size_t>(p.left) == count() - results.size());
        const std::vector<int> order = ranked();
        for (const int k : {-1, 0, 1, options_.keep, 100}) {
            const auto best = search_->best(k);
            REQUIRE(best.size() == std::min(order.size(), static_cast<std::size_t>(std::max(k, 0))));
            for (std::size_t i = 0; i < best.size(); ++i) {
                CHECK(best[i].point == order[i]);
                const float weight = ended_.at(order[i]).back().weight;
                const bool kept = weight >= 0 && static_cast<int>(i) < options_.keep;
                REQUIRE(static_cast<bool>(best[i].weights) == kept);
                if (kept) CHECK(best[i].weights.open()->load<float>("w").item() == weight);
            }
        }
        std::set<std::string> there, wanted = others_;
        for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
            there.insert(entry.path().string());
        if (has_file_) {
            wanted.insert(options_.file);
            for (const auto& r : search_->best(options_.keep))
                if (r.weights) wanted.insert(weights_of(r.point));
        }
        CHECK(there == wanted);
        for (const std::string& path : others_) CHECK(read_bytes(path) == "of " + path);
    }

    const temporary_folder folder_;
    const unsigned seed_;
    std::mt19937 random_;
    std::unique_ptr<tn::grid<number>> points_;
    std::vector<tn::grid_device> devices_;
    tn::grid_search_options options_;
    bool has_file_ = false;
    std::set<std::string> others_; // files that are none of its own
    std::unique_ptr<tn::grid_search<number>> search_;

    std::mutex guard_; // of what follows, while it runs
    bool stopped_ = false, log_throws_ = false;
    std::map<int, int> begun_, times_lost_;
    std::set<int> running_, left_again_;            // the latter: those that have failed, and are tried again
    std::map<int, std::vector<ended_point>> ended_; // in the order of their lines, of which the last counts
    std::map<int, ended_point> perhaps_failed_;
};

} // namespace

TEST_CASE("random searches train each point to its end once, whatever happens meanwhile, and touch no file of others") {
    const char* const asked = std::getenv("TENON_SEARCH_SEEDS");
    const unsigned seeds = asked ? static_cast<unsigned>(std::atoi(asked)) : 30;
    for (unsigned seed = 1; seed <= seeds; ++seed) {
        CAPTURE(seed);
        random_search(seed).run();
    }
}
