// Steps over several cards are recorded, as one graph of all of them, and are what they are where they are not.

#include "tests.hpp"
#include "emulator/control.hpp"
#include "environment.hpp"
#include "left_behind.hpp"
#include "summed_cards.hpp"

namespace emulator = tenon::emulator;
using all_reduce_test::gpus;
using tn::test::environment;

namespace {

constexpr int rows = 12, in = 6, steps = 10;

struct trained {
    std::vector<float> numbers = {}; // losses, and the weights of all copies in the end
    tn::recording_counts told = {};
    std::size_t launched; // graphs
};

// A network of two layers on every card, of a part of each batch, whose gradients are summed.
trained train(int n, const std::shared_ptr<const tn::all_reduce_method>& by) {
    const own_graph g;
    tn::graph(g).set_seed(11);
    const auto x = tn::placeholder<float, tn::shape<rows, in>>("x");
    const auto y = tn::placeholder<float, tn::shape<rows, 2>>("y");
    const tn::mirrored_strategy mirrored(gpus(n), by);
    auto first = tn::nn::dense<5>(tn::nn::relu);
    auto second = tn::nn::dense<2>();
    const auto losses =
        mirrored.run([&](auto part, auto wanted) { return tn::nn::mean_squared_error(second(first(part)), wanted); },
                     mirrored.distribute(x), mirrored.distribute(y));
    const auto [update, loss] = mirrored.minimize(tn::momentum(0.05), losses);
    initialized_session s(g);
    const auto step = s.callable(tn::feeds(x, y), tn::fetches(update, loss));
    tn::array<float, tn::shape<rows, in>> xs;
    tn::array<float, tn::shape<rows, 2>> ys;
    trained all{.launched = emulator::count_calls("cudaGraphLaunch")};
    for (int i = 0; i < steps; ++i) {
        for (int r = 0, k = 7 * i; r < rows; ++r) {
            for (int c = 0; c < in; ++c) xs(r, c) = std::sin(static_cast<float>(++k));
            ys(r, 0) = xs(r, 0) - xs(r, 1);
            ys(r, 1) = 2 * xs(r, 2);
        }
        const auto [value] = step(xs, ys);
        all.numbers.push_back(value.item());
    }
    all.launched = emulator::count_calls("cudaGraphLaunch") - all.launched;
    for (const auto& layer : {first.kernel(), second.kernel()})
        for (const tn::any_array& w : s.run_untyped({}, mirrored.copies(layer)))
            all.numbers.insert(all.numbers.end(), w.data<float>(), w.data<float>() + w.elements());
    all.told = s.report(tn::feed(x, xs), tn::feed(y, ys), update, loss).recordings;
    return all;
}

std::vector<emulator::card> cards_that(int n, bool reach) {
    std::vector<emulator::card> all(static_cast<std::size_t>(n));
    for (emulator::card& c : all) c.reaches_peers = reach;
    return all;
}

} // namespace

TEST_CASE("a data-parallel training step is recorded as one graph of its cards, and is to the bit what it is "
          "unrecorded, in any order that the cards may take, whether they reach each other or not") {
    const environment tapes("TENON_CUDA_TAPES", "interpreted");
    for (const int n : {2, 3, 4})
        for (const bool reach : {true, false}) {
            CAPTURE(n);
            CAPTURE(reach);
            const auto sum = std::make_shared<const tn::chunked_all_reduce>();
            emulator::reset();
            emulator::cards(cards_that(n, reach));
            const trained plain = [&] {
                const environment one_by_one("CUDA_LAUNCH_BLOCKING", "1");
                return train(n, sum);
            }();
            CHECK(plain.told.replayed == 0);
            CHECK(plain.launched == 0);
            CHECK(plain.numbers[steps - 1] < plain.numbers[0]);
            for (std::uint64_t seed = 1; seed <= 3; ++seed) {
                emulator::reset();
                emulator::cards(cards_that(n, reach));
                emulator::seed(seed);
                const trained recorded = train(n, sum);
                CHECK(recorded.numbers == plain.numbers);
                CHECK(recorded.told.replayed == steps - 1);
                CHECK(recorded.told.recorded <= 4); // a variable has few places
                CHECK(recorded.told.given_again == 0);
                CHECK(recorded.launched == steps - 1);
                CHECK(emulator::violations().empty());
            }
        }
    emulator::reset();
}

namespace {

// Two chains on two cards, which add each other's halves again and again.
struct crossing {
    using row = tn::tensor<float, tn::shape<4>>;
    using numbers = tn::array<float, tn::shape<4>>;

    crossing() {
        for (int i = 0; i < 3; ++i) {
            const row sum = tn::on("/gpu:0", [&] { return tn::add_n(a, b); });
            b = tn::on("/gpu:1", [&] { return tn::add_n(tn::add_n(a, b), b); });
            a = sum;
        }
    }
    void step(float by) {
        numbers fed;
        for (float& v : fed) v = by;
        const auto [first, second] = s.run(tn::feed(x, fed), a, b);
        float p = by, q = by;
        for (int i = 0; i < 3; ++i) {
            const float sum = p + q;
            q = p + q + q;
            p = sum;
        }
        CHECK(first(0) == p);
        CHECK(second(3) == q);
    }
    tn::recording_counts told() { return s.report(tn::feed(x, numbers()), a, b).recordings; }

    const own_graph g;
    row x = tn::placeholder<float, tn::shape<4>>("x");
    row a = x, b = x;
    tn::session s{g};
};

} // namespace

TEST_CASE("what fails while a step over two cards is recorded costs the recording alone, which is counted and tried "
          "again") {
    for (const char* call :
         {"cudaEventRecord", "cudaStreamWaitEvent", "cudaMemcpyAsync", "cudaLaunchKernel", "cudaStreamEndCapture",
          "cudaGraphInstantiate", "cudaGraphLaunch", "cudaStreamBeginCapture"}) {
        CAPTURE(call);
        const tn::test::machine fresh;
        emulator::cards(cards_that(2, true));
        crossing program;
        program.step(1);
        emulator::fail(call, cudaErrorStreamCaptureUnsupported, {.after = 1, .times = 1});
        for (int i = 0; i < 14; ++i) program.step(static_cast<float>(i));
        const tn::recording_counts told = program.told();
        // A recording has one of these calls: the second is of a later step, or of a session's next recording.
        CHECK(told.failed <= 1);
        CHECK(told.failed + told.recorded >= 1);
        CHECK(told.replayed + told.given_again == 14);
        CHECK(told.replayed > 0);
    }
}

TEST_CASE("a card that is lost in a recorded step fails it, also where another one's streams tell its end") {
    for (const int lost : {0, 1}) {
        CAPTURE(lost);
        emulator::reset();
        emulator::cards(cards_that(2, true));
        crossing program;
        for (int i = 0; i < 4; ++i) program.step(1);
        CHECK(program.told().replayed == 3);
        emulator::lose_card(lost, 2);
        CHECK_ERROR(tn::internal_error, "GPU " + std::to_string(lost), program.step(1));
        emulator::reset();
    }
}

TEST_CASE("a session that ends leaves nothing of recordings over several cards behind") {
    emulator::reset();
    emulator::cards(cards_that(2, true));
    tn::test::check_nothing_is_left([] {
        crossing program;
        for (int i = 0; i < 4; ++i) program.step(1);
    });
    emulator::reset();
}
