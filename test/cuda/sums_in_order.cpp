#if defined(TENON_WITH_NCCL)

// Collectives become complete in another order in each process; GPUs sum in one.

#include <chrono>

#include <tenon/ops/collective/device_collective.hpp>
#include <tenon/resources/collective/process_sums.hpp>

#include "emulator/libraries/nccl.hpp" // two cards are there on the emulated GPU alone
#include "process_values.hpp"
#include "summed_cards.hpp"

using namespace all_reduce_test;

namespace {

using group = std::shared_ptr<tn::collective_group>;

// A group whose collectives become complete in another order in each process: the last that all have come to first, or any.
class shuffled final : public tn::collective_group {
public:
    struct hub {
        std::mutex guard;
        std::vector<shuffled*> members;
        std::map<std::uint64_t, std::map<int, tn::any_array>> came;                         // by number and rank
        std::vector<std::pair<shuffled*, std::pair<std::uint64_t, tn::any_array>>> results; // to be told
        std::mt19937 draw;

        // What is there by now, in an order that is drawn.
        void tell() {
            std::vector<std::pair<shuffled*, std::pair<std::uint64_t, tn::any_array>>> now;
            {
                const std::lock_guard lock(guard);
                now.swap(results);
                std::shuffle(now.begin(), now.end(), draw);
            }
            for (auto& [to, result] : now) to->finish(result.first, std::move(result.second));
        }
    };
    shuffled(hub& h, int rank, int size) :
        collective_group("shuffled seen by " + std::to_string(rank), rank, size), hub_(h) {
        h.members.push_back(this);
    }
    std::string member(int rank) const override { return "rank " + std::to_string(rank); }

private:
    void issue(std::uint64_t number, const tn::collective_signature& what, double, tn::any_array value) override {
        const std::lock_guard lock(hub_.guard);
        auto& came = hub_.came[number];
        came.emplace(rank(), std::move(value));
        if (static_cast<int>(came.size()) < size()) return;
        tn::any_array result;
        if (what.kind == tn::collective_kind::gather) {
            result = tn::any_array(what.type.element, tn::extents(size(), what.type.extents[1]));
            for (const auto& [r, v] : came)
                std::memcpy(static_cast<char*>(result.data()) + v.bytes() * static_cast<std::size_t>(r), v.data(),
                            v.bytes());
        } else {
            result = tn::any_array::zeros(tn::element_type::float64, {});
            for (const auto& [r, v] : came) *result.data<double>() += *v.data<double>();
        }
        for (shuffled* to : hub_.members) hub_.results.emplace_back(to, std::pair(number, result.copy()));
        hub_.came.erase(number);
    }
    void end(tn::error_code, const std::string&, tn::error_reason, bool) noexcept override {}
    std::string missing(std::uint64_t) const override { return {}; }
    hub& hub_;
};

} // namespace

TEST_CASE("GPUs sum in the order of the group's numbers, in whichever all have come in each process") {
    constexpr int sums = 8, steps = 10;
    for (unsigned seed = 1; seed <= 3; ++seed) {
        CAPTURE(seed);
        const machine m(2);
        shuffled::hub hub;
        hub.draw.seed(seed);
        const group members[] = {std::make_shared<shuffled>(hub, 0, 2), std::make_shared<shuffled>(hub, 1, 2)};
        for (const group& g : members) tn::collective_group::enter(g);
        std::atomic<int> running{2};
        std::thread teller([&] {
            while (running > 0) {
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
                hub.tell();
            }
        });
        const auto body = [&](int rank) {
            const own_graph own;
            const group& g = members[rank];
            const auto chosen = tn::choose_process_sums(g, gpu(rank));
            REQUIRE(chosen.by);
            std::vector<tn::any_tensor> fed, found;
            for (int k = 0; k < sums; ++k) {
                const tn::device_scope on(gpu(rank));
                fed.push_back(tn::untyped::placeholder(tn::element_type::float32, tn::extents(1 + k)));
                found.push_back(tn::add_device_collective(g, chosen.name, tn::collective_kind::mean,
                                                          tn::untyped::identity(fed.back())));
            }
            tn::session s;
            for (int step = 0; step < steps; ++step) {
                std::vector<tn::fed_value> f;
                for (int k = 0; k < sums; ++k)
                    f.push_back({fed[static_cast<std::size_t>(k)],
                                 values_of(tn::element_type::float32, tn::extents(1 + k), 10 * k + rank)});
                const auto got = s.run_untyped(std::move(f), found);
                for (int k = 0; k < sums; ++k) {
                    const auto a = values_of(tn::element_type::float32, tn::extents(1 + k), 10 * k),
                               b = values_of(tn::element_type::float32, tn::extents(1 + k), 10 * k + 1);
                    CHECK(number_at(got[static_cast<std::size_t>(k)], k) ==
                          doctest::Approx((number_at(a, k) + number_at(b, k)) / 2).epsilon(1e-6).scale(1));
                }
            }
        };
        std::thread other([&] {
            body(1);
            --running;
        });
        body(0);
        --running;
        other.join();
        teller.join();
        CHECK(*m.sums_by_nccl() == sums * steps);
    }
}

#endif
