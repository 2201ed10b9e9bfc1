#include "tests.hpp"
#include "ops/untyped_run.hpp"

// Gradients that are compressed on their way to the variables.

namespace {

inline constexpr struct batch_size : tn::dim<"batch"> {} batch;
using pairs = std::vector<tn::gradient_and_variable>;
enum class way { plain, top_k, quantized };

pairs small(const pairs& p, way how, bool feedback = true, std::int64_t least = 1, double fraction = 0.1,
            std::int64_t block = 16) {
    if (how == way::plain) return p;
    if (how == way::top_k) return tn::compressed(p, tn::top_k_gradients{fraction, feedback, least, 0});
    return tn::compressed(p, tn::quantized_gradients{block, feedback, least, 0});
}

tn::any_array random_numbers(const tn::extents& sizes, std::mt19937& random) {
    std::normal_distribution<double> normal;
    tn::any_array a(tn::element_type::float64, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i) a.data<double>()[i] = normal(random);
    return a;
}

// Variables whose gradients are what is fed.
struct fed_gradients {
    own_graph graph;
    tn::variable_tensor<double, tn::shape<7, 11>> w = tn::variable<double, tn::shape<7, 11>>("w", tn::zeros());
    tn::tensor<double, tn::shape<7, 11>> g = tn::placeholder<double, tn::shape<7, 11>>("g");
    pairs given = tn::optimizer::compute_gradients(sum(w * g));
};

const std::vector<tn::any_tensor> residuals(const tn::graph& g) { return g.collection(tn::local_variables); }

} // namespace

TEST_CASE("error feedback: what was sent and what is left add up to the sum of the gradients") {
    for (const way how : {way::top_k, way::quantized}) {
        fed_gradients p;
        const auto sent = small(p.given, how)[0].gradient;
        REQUIRE(residuals(p.graph).size() == 1);
        initialized_session s(p.graph);
        std::mt19937 random(3);
        std::vector<double> all(77), arrived(77);
        for (int step = 0; step < 40; ++step) {
            const tn::any_array g = random_numbers({7, 11}, random);
            const tn::any_array now = std::move(s.run_untyped(tn::test::fed(p.g, g), {sent})[0]);
            int nonzero = 0;
            for (std::size_t i = 0; i < 77; ++i) {
                all[i] += g.data<double>()[i];
                arrived[i] += now.data<double>()[i];
                nonzero += now.data<double>()[i] != 0;
            }
            if (how == way::top_k) CHECK(nonzero == 8); // a tenth of 77, rounded up
            const tn::any_array left = std::move(s.run_untyped({}, residuals(p.graph))[0]);
            for (std::size_t i = 0; i < 77; ++i) CHECK(std::abs(arrived[i] + left.data<double>()[i] - all[i]) < 1e-12);
        }
    }
}

TEST_CASE("the largest elements are sent as they are; 8 bits are within half a scale of the block") {
    fed_gradients p;
    const auto top = small(p.given, way::top_k, false)[0].gradient;
    const auto bits = tn::compressed(p.given, tn::quantized_gradients{11, false, 1, 0})[0].gradient;
    CHECK(residuals(p.graph).empty());
    initialized_session s(p.graph);
    std::mt19937 random(4);
    const tn::any_array g = random_numbers({7, 11}, random);
    const std::vector<tn::any_array> out = s.run_untyped(tn::test::fed(p.g, g), {top, bits});
    std::vector<double> sizes;
    for (int i = 0; i < 77; ++i) sizes.push_back(std::abs(g.data<double>()[i]));
    std::sort(sizes.rbegin(), sizes.rend());
    for (int i = 0; i < 77; ++i) {
        const double in = g.data<double>()[i], sent = out[0].data<double>()[i];
        CHECK(sent == (std::abs(in) >= sizes[7] ? in : 0.0));
        double largest = 0; // of its block, a row
        for (int j = i / 11 * 11; j < i / 11 * 11 + 11; ++j) largest = std::max(largest, std::abs(g.data<double>()[j]));
        CHECK(std::abs(out[1].data<double>()[i] - in) <= largest / 127 / 2 * (1 + 1e-12));
    }
}

TEST_CASE("blocks: the nearest size without a remainder; lists that none divides are padded, and zeros stay zeros") {
    CHECK(tn::detail::block_length(784 * 300, 256) == 245);
    CHECK(tn::detail::block_length(77, 0) == 77);
    CHECK(tn::detail::block_length(5, 256) == 5);
    CHECK(tn::detail::block_length(1009, 256) == 256); // a prime
    const auto list = tn::placeholder<float, tn::shape<1009>>("list");
    const tn::detail::quantized_list q = tn::detail::quantize(list, 256);
    CHECK(q.values.type() == tn::tensor_type{tn::element_type::int8, {4, 256}});
    const tn::any_tensor back = tn::detail::dequantize(q, 1009);
    tn::session s;
    tn::any_array in = tn::any_array::zeros(tn::element_type::float32, {1009});
    for (int i = 256; i < 1009; ++i) in.data<float>()[i] = static_cast<float>(i % 256 == 40 ? 127 : i % 255 - 127);
    const tn::any_array out = std::move(s.run_untyped(tn::test::fed(list, in), {back})[0]);
    for (int i = 0; i < 1009; ++i) CHECK(out.data<float>()[i] == doctest::Approx(in.data<float>()[i]).epsilon(1e-6));
    CHECK(out.data<float>()[0] == 0);
}

TEST_CASE("what is infinite or no number reaches the variable as such, and is not kept for later") {
    for (const way how : {way::top_k, way::quantized})
        for (const double wrong : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
            fed_gradients p;
            const auto sent = small(p.given, how)[0].gradient;
            initialized_session s(p.graph);
            std::mt19937 random(5);
            const auto step = [&](const tn::any_array& g) {
                return std::move(s.run_untyped(tn::test::fed(p.g, g), {sent})[0]);
            };
            tn::any_array g = random_numbers({7, 11}, random);
            g.data<double>()[20] = wrong;
            CHECK_FALSE(std::isfinite(step(g).data<double>()[20]));
            const tn::any_array later = step(random_numbers({7, 11}, random));
            for (int i = 0; i < 77; ++i) CHECK(std::isfinite(later.data<double>()[i]));
        }
}

TEST_CASE("a convex problem: with error feedback the optimum is reached, by the largest elements without it not") {
    // Least squares of two rows that disagree in the first coordinate: what is small but steady is what feedback keeps.
    const auto distance = [](way how, bool feedback) {
        const own_graph g;
        const auto w = tn::variable<double, tn::shape<40>>("w", tn::zeros());
        tn::array<double, tn::shape<40>> noise, target;
        for (int i = 0; i < 40; ++i) target(i) = 0.01 * (i + 1);
        const auto push = tn::placeholder<double, tn::shape<40>>("push");
        const auto loss = sum(tn::square(w - tn::constant(target.copy()))) + sum(w * push);
        const auto opt = tn::gradient_descent(0.02);
        const tn::operation train = opt.apply_gradients(small(opt.compute_gradients(loss), how, feedback, 1, 0.05));
        initialized_session s(g);
        for (int step = 0; step < 4000; ++step) { // two coordinates are pushed to and fro, and take all places
            for (int i = 0; i < 40; ++i) noise(i) = i < 2 ? (step % 2 ? 1.0 : -1.0) : 0;
            s.run(tn::feed(push, noise), train);
        }
        double most = 0;
        const auto is = s.run(w);
        for (int i = 2; i < 40; ++i) most = std::max(most, std::abs(is(i) - target(i)));
        return most;
    };
    CHECK(distance(way::plain, true) < 1e-9);
    CHECK(distance(way::quantized, true) < 0.01);
    CHECK(distance(way::top_k, true) < 0.05);
    CHECK(distance(way::top_k, false) > 0.3); // nearly the whole way
}

TEST_CASE("bytes: 8 bits are a quarter, the largest hundredth is a fiftieth of the gradients' bytes") {
    const auto crossing = [](way how, const char* around = "") {
        const own_graph g;
        const auto placed = tn::on(tn::replica_device_setter(1, {.worker_device = "/job:worker/task:0"}));
        const auto w = tn::variable<float, tn::shape<400, 300>>("w", tn::zeros());
        const auto x = tn::constant(tn::array<float, tn::shape<1, 400>>());
        const auto loss = mean(tn::square(matmul(x, w) - 1.0f));
        const auto opt = tn::gradient_descent(0.1);
        const pairs gradients = opt.compute_gradients(loss);
        const pairs sent = [&] {
            const tn::device_scope device{tn::device_name(around)};
            return small(gradients, how, true, 1024, 0.01, 256);
        }();
        const tn::operation train = opt.apply_gradients(sent);
        const tn::task ps({.job = "ps"}), worker({.job = "worker"});
        tn::session s({ps, worker}, g);
        for (const auto& n : s.explain_placement(train).nodes)
            if (n.name == "replica_0/w/residual")
                CHECK(tn::to_string(n.device) == "/job:worker/replica:0/task:0/device:CPU:0");
        return static_cast<double>(s.explain_placement(train).crossing_bytes());
    };
    const double w_bytes = 400 * 300 * 4, plain = crossing(way::plain), read = plain - w_bytes;
    CHECK(plain >= 2 * w_bytes); // the variable is read, its gradient comes back
    // Each half is where it belongs, whatever scope is around them.
    for (const char* around : {"", "/job:worker/task:0", "/job:ps/task:0"}) {
        CHECK((crossing(way::quantized, around) - read) / w_bytes == doctest::Approx(0.258).epsilon(0.01));
        CHECK((crossing(way::top_k, around) - read) / w_bytes == doctest::Approx(0.02).epsilon(0.01));
    }
}

TEST_CASE("what 8 bits leave of gradients that are too small for the wire's type arrives all the same") {
    constexpr int elements = 512, steps = 200;
    for (const tn::element_type wire :
         {tn::element_type::none, tn::element_type::bfloat16, tn::element_type::float16}) {
        const own_graph graph;
        const auto placed = tn::on(tn::replica_device_setter(1, {.worker_device = "/job:worker/task:0"}));
        const auto w = tn::variable<float, tn::shape<elements>>("w", tn::zeros());
        const auto g = tn::placeholder<float, tn::shape<elements>>("g");
        const auto opt = tn::gradient_descent(1);
        const tn::operation train =
            opt.apply_gradients(small(opt.compute_gradients(sum(w * g)), way::quantized, true, 1, 0.1, 64));
        const tn::task ps({.job = "ps"}), worker({.job = "worker"});
        initialized_session s({ps, worker}, graph, {.wire_type = wire});
        tn::array<float, tn::shape<elements>> small_numbers;
        for (int i = 0; i < elements; ++i) small_numbers(i) = 3e-6f * (1 + static_cast<float>(i * 37 % 100) / 100);
        for (int i = 0; i < steps; ++i) s.run(tn::feed(g, small_numbers), train);
        const tn::any_array arrived = std::move(s.run_untyped({}, {w})[0]);
        const float feeds_lost = wire == tn::element_type::none ? 0 : 0.01f; // what is fed here crosses, too
        for (int i = 0; i < elements; ++i)
            CHECK(std::abs(arrived.data<float>()[i] / (-steps * small_numbers(i)) - 1) < 0.01f + feeds_lost);
    }
}

TEST_CASE("gradients of rows stay sparse: untouched, or each row as 8 bits; small gradients stay as they are") {
    const own_graph g;
    const auto table =
        tn::variable<float, tn::shape<50, 16>>("table", tn::uniform(-1, 1, 2), {.partition = {.parts = 2}});
    const auto b = tn::variable<float, tn::shape<16>>("b", tn::zeros());
    const auto ids = tn::placeholder<std::int32_t, tn::shape<batch>>("ids");
    const pairs given = tn::optimizer::compute_gradients(sum(tn::square(gather(table, ids) + b)));
    const pairs top = tn::compressed(given, tn::top_k_gradients{}),
                bits = tn::compressed(given, tn::quantized_gradients{});
    REQUIRE((top.size() == 3 && bits.size() == 3)); // two parts, and b
    CHECK(residuals(g).empty());
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(top[i].variable.output() == bits[i].variable.output());
        const bool of_rows = top[i].variable.rank() == 2;
        CHECK(tn::sparse_rows(top[i].gradient).has_value() == of_rows);
        CHECK(tn::sparse_rows(bits[i].gradient).has_value() == of_rows);
        if (!of_rows) CHECK(bits[i].gradient.output() == top[i].gradient.output());
    }
    const auto narrow = tn::variable<float, tn::shape<50, 4>>("narrow", tn::ones());
    const pairs few = tn::optimizer::compute_gradients(sum(tn::square(gather(narrow, ids))));
    CHECK(tn::compressed(few, tn::quantized_gradients{})[0].gradient.output() ==
          few[0].gradient.output()); // not worth it
    initialized_session s(g);
    for (std::size_t i = 0; i < 3; ++i) {
        std::vector<tn::fed_value> feeds;
        feeds.push_back({ids, tn::array<std::int32_t>{3, 40, 3, 11}.untyped()});
        const std::vector<tn::any_array> both = s.run_untyped(std::move(feeds), {top[i].gradient, bits[i].gradient});
        CHECK(all_close(both[1], both[0], 0.02, 0.03));
    }
}

TEST_CASE("each optimiser takes compressed gradients, and variables of 16 bits have theirs") {
    for (const way how : {way::top_k, way::quantized}) {
        const own_graph g;
        const auto w = tn::variable<tn::half, tn::shape<30>>("w", tn::constant_value(1.0));
        const auto loss = sum(tn::square(w));
        const auto opt = tn::adam(0.05);
        const tn::operation train = opt.apply_gradients(small(opt.compute_gradients(loss), how, true, 1, 0.5));
        initialized_session s(g);
        for (int i = 0; i < 200; ++i) s.run(train);
        CHECK(static_cast<float>(s.run(loss).item()) < 0.5f);
    }
}

TEST_CASE_FIXTURE(in_graph, "synchronous replicas average compressed gradients") {
    const auto w = tn::variable<double, tn::shape<30>>("w", tn::constant_value(1.0));
    const auto loss = sum(tn::square(w));
    const tn::sync_replicas sync(tn::gradient_descent(0.1), {.aggregate = 1, .total = 1});
    const tn::operation train = sync.apply_gradients(small(sync.compute_gradients(loss), way::top_k, true, 1, 0.2));
    initialized_session s(g);
    const auto applies = sync.start(s);
    for (int i = 0; i < 150; ++i) s.run(train);
    CHECK(s.run(loss).item() < 1e-3);
}

TEST_CASE_FIXTURE(in_graph, "a monitored session gives a process's own variables values, and saves none of them") {
    const auto w = tn::variable<double, tn::shape<30>>("w", tn::constant_value(1.0));
    const auto loss = sum(tn::square(w));
    const auto opt = tn::gradient_descent(0.1);
    const tn::operation train = opt.apply_gradients(small(opt.compute_gradients(loss), way::quantized));
    for (const tn::any_tensor& v : g.collection(tn::global_variables)) CHECK(!contains(v.name(), "residual"));
    const tn::task shared;
    tn::session before({shared}, g); // another process has given the variables values
    before.run(tn::untyped::initialize_variables(g.collection(tn::global_variables)));
    tn::monitored_session s({.tasks = {shared}, .is_chief = false});
    s.run(train);
    CHECK(s.session().run(loss).item() < 30);
}

TEST_CASE("options that make no sense are refused before anything is added") {
    fed_gradients p;
    const std::int64_t nodes = p.graph.size();
    const auto said = [&](const auto& how) {
        return message_of<tn::invalid_argument_error>([&] { tn::compressed(p.given, how); });
    };
    CHECK(said(tn::top_k_gradients{.fraction = 0}) == "top_k_gradients: fraction is 0; give more than 0, up to 1");
    CHECK(contains(said(tn::top_k_gradients{.fraction = std::nan("")}), "give more than 0, up to 1"));
    CHECK(said(tn::top_k_gradients{.least_elements = -1}) == "top_k_gradients: least_elements is -1; give 0 or more");
    CHECK(said(tn::quantized_gradients{.block = -2}) ==
          "quantized_gradients: block is -2; give a number of elements, or 0 for all");
    CHECK(said(tn::quantized_gradients{.replica = -1}) == "quantized_gradients: replica is -1; give 0 or more");
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::compressed(pairs{}, tn::top_k_gradients{}); }) ==
          "compressed: there are no gradients");
    CHECK(p.graph.size() == nodes);
}
