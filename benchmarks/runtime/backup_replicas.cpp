// Backup replicas (train/replicated/sync_replicas.hpp) under a simulated time: the ledger of real steps, with replicas whose times of
// computing a gradient are drawn from a seed, for 10, 100 and 1,000 replicas of which some are backups. Beside the mean time of a step
// stands what no system can do better: the mean of the time by which the k fastest of n fresh replicas are ready.
//
// Times of a gradient: lognormal around 1 with a deviation of 0.1 in the logarithm; one in `straggle` is slower by a factor with a Pareto tail
// (exponent 1.5, cut at 50), as on machines that others use, too: J. Chen et al., arXiv:1604.00981, section 2.1, saw waits of over ten times the
// median for the last of 100 workers. Messages take 0.002.
//
//   backup_replicas [--seed N] [--steps N]

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <queue>
#include <random>
#include <vector>

#include <tenon/resources/step_ledger.hpp>

namespace {

namespace tn = tenon;

constexpr double message = 0.002, straggle = 0.02;

class times {
public:
    explicit times(unsigned seed) : random_(seed) {}
    double next() {
        double t = std::exp(0.1 * normal_(random_));
        if (uniform_(random_) < straggle) t *= std::min(50.0, 1.5 * std::pow(1 - uniform_(random_), -1 / 1.5));
        return t;
    }

private:
    std::mt19937_64 random_;
    std::normal_distribution<double> normal_;
    std::uniform_real_distribution<double> uniform_;
};

struct waiting final : tn::ledger_attempt {
    void completed(std::exception_ptr) noexcept override { ended = true; }
    bool ended = false;
};

struct outcome {
    double step = 0;    // mean time
    double dropped = 0; // of gradients
};

// The replicas' events in their order, against a ledger. Applying takes no time but two messages.
outcome simulate(int replicas, int aggregate, int steps, unsigned seed) {
    struct replica {
        std::unique_ptr<waiting> token;
        tn::replica_turn turn;
    };
    struct event {
        double at;
        int replica;
        bool operator<(const event& o) const { return at > o.at; }
    };
    tn::step_ledger ledger("train", {aggregate, replicas, ""});
    times draw(seed);
    std::vector<replica> all(static_cast<std::size_t>(replicas));
    std::priority_queue<event> ready; // whose gradients are complete then
    const auto begin = [&](int r, double now) {
        replica& of = all[static_cast<std::size_t>(r)];
        of.turn = ledger.begin(r, r + 1, 0);
        ready.push({now + draw.next() + message, r});
    };
    for (int r = 0; r < replicas; ++r) begin(r, 0);
    waiting applies;
    std::int64_t step = 0;
    double now = 0;
    ledger.apply(applies, 0, 1, 0);
    while (step < steps) {
        const event e = ready.top();
        ready.pop();
        now = e.at;
        replica& of = all[static_cast<std::size_t>(e.replica)];
        ledger.commit(of.turn);
        of.token = std::make_unique<waiting>();
        ledger.await(*of.token, e.replica, e.replica + 1);
        const bool over = applies.ended;
        if (over) {
            ledger.advance(++step);
            applies.ended = false;
            ledger.apply(applies, 0, 1, step);
        }
        const auto go_on = [&](int r) {
            std::unique_ptr<waiting>& token = all[static_cast<std::size_t>(r)].token;
            if (!token || !token->ended) return;
            token.reset();
            begin(r, now + 2 * message);
        };
        if (over)
            for (int r = 0; r < replicas; ++r) go_on(r);
        else go_on(e.replica); // it was late
    }
    const auto is = ledger.state();
    return {now / steps, static_cast<double>(is.dropped) / static_cast<double>(is.dropped + is.counted)};
}

// Of n fresh replicas in each step.
double least(int replicas, int aggregate, int steps, unsigned seed) {
    times draw(seed + 1);
    double sum = 0;
    std::vector<double> t(static_cast<std::size_t>(replicas));
    for (int s = 0; s < steps; ++s) {
        for (double& x : t) x = draw.next();
        std::nth_element(t.begin(), t.begin() + aggregate - 1, t.end());
        sum += t[static_cast<std::size_t>(aggregate - 1)];
    }
    return sum / steps + 3 * message;
}

} // namespace

int main(int argc, char** argv) {
    unsigned seed = 1;
    int steps = 400;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!std::strcmp(argv[i], "--seed")) seed = static_cast<unsigned>(std::atoi(argv[i + 1]));
        if (!std::strcmp(argv[i], "--steps")) steps = std::max(1, std::atoi(argv[i + 1]));
    }
    std::printf(
        "times of a step, of which a gradient's median is 1; seed %u, %d steps\n"
        "replicas  averaged  backups   step   k fastest of n fresh   ratio   of no backups   gradients dropped\n",
        seed, steps);
    for (const int n : {10, 100, 1000}) {
        double none = 0;
        for (const int percent : {0, 1, 2, 4, 6, 10, 20}) {
            const int backups = n * percent / 100;
            if (percent > 0 && backups == 0) continue;
            const outcome is = simulate(n, n - backups, steps, seed);
            const double bound = least(n, n - backups, steps, seed);
            if (percent == 0) none = is.step;
            std::printf("%8d  %8d  %7d  %5.2f   %20.2f   %5.2f   %13.2f   %15.1f %%\n", n, n - backups, backups,
                        is.step, bound, is.step / bound, none / is.step, 100 * is.dropped);
        }
    }
}
