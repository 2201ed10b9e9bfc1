#include "tests.hpp"
#include "several_devices.hpp"

// What the mirrored strategy refuses (SEMANTICS 44).

using namespace several_devices;

TEST_CASE("mirrored_strategy: devices that make no sense are refused") {
    CHECK_THROWS_WITH_AS(tn::mirrored_strategy(std::vector<tn::device_name>{}),
                         "mirrored_strategy: there are no devices; name one at least", tn::invalid_argument_error);
    CHECK_THROWS_WITH_AS(tn::mirrored_strategy({"/gpu:0", "/device:GPU:0"}),
                         "mirrored_strategy: /device:GPU:0 is given twice, as 0 and 1; a device has one replica",
                         tn::invalid_argument_error);
    CHECK_THROWS_WITH_AS(tn::mirrored_strategy({"/gpu:0", ""}),
                         "mirrored_strategy: the name of device 1 is empty; name each, as \"/gpu:0\"",
                         tn::invalid_argument_error);
    tn::mirrored_strategy two({"/gpu:0", "/gpu:1"});
    CHECK(two.replicas() == 2);
    CHECK(two.devices()[1] == tn::device_name("/gpu:1"));
}

TEST_CASE_FIXTURE(in_graph, "mirrored_strategy: replicas that make different variables are told which") {
    const tn::mirrored_strategy mirrored(devices(2));
    int calls = 0;
    const auto named = [&] { return tn::variable(calls++ ? "v" : "w", 1.0f) * 2.0f; };
    CHECK_THROWS_WITH_AS(mirrored.run(named),
                         "mirrored_strategy: replica 1 (/device:CPU:1) makes a variable \"v\" (float[]), which "
                         "replica 0 does not make; it makes \"w\" (float[]); the function must make the same "
                         "variables for each replica",
                         tn::invalid_argument_error);
    calls = 0;
    const auto sized = [&] {
        if (calls++) tn::variable("s", tn::constant({1.0f, 2.0f}));
        else tn::variable("s", 1.0f);
    };
    CHECK_THROWS_WITH_AS(mirrored.run(sized),
                         "mirrored_strategy: replica 1 (/device:CPU:1) makes the variable \"s\" as float[2], replica 0 "
                         "as float[]; the function must make the same variables for each replica",
                         tn::invalid_argument_error);
    calls = 0;
    const auto once = [&] {
        if (!calls++) tn::variable("only", 1.0f);
    };
    CHECK_THROWS_WITH_AS(mirrored.run(once),
                         "mirrored_strategy: replica 0 makes a variable \"only\" (float[]), which replica 1 "
                         "(/device:CPU:1) does not make; the function must make the same variables for each replica",
                         tn::invalid_argument_error);
    // What failed left nothing with the strategy.
    const auto sound = mirrored.run([] { return tn::square(tn::variable("sound", 1.0f)); });
    mirrored.minimize(tn::gradient_descent(0.1), sound);
}

TEST_CASE_FIXTURE(in_graph, "mirrored_strategy: losses that are not the replicas' are refused") {
    const tn::mirrored_strategy mirrored(devices(2));
    const auto sound = mirrored.run([] { return tn::square(tn::variable("w", 1.0f)); });
    using losses = tn::per_replica<tn::tensor<float, tn::shape<>>>;
    const auto how = tn::gradient_descent(0.1);
    CHECK_ERROR(tn::invalid_argument_error, "depends on w, which is another replica's; give a loss for each replica",
                mirrored.minimize(how, losses{{sound[0], sound[0]}}));
    CHECK_THROWS_WITH_AS(mirrored.minimize(how, losses{{sound[0]}}),
                         "minimize: a per_replica argument has 1 values, the strategy 2 replicas; give what "
                         "distribute() or run() returned",
                         tn::invalid_argument_error);
    const auto outside = tn::variable("outside", 3.0f);
    const auto mixed = mirrored.run([&] { return outside * tn::variable("inside", 1.0f); });
    CHECK_ERROR(tn::invalid_argument_error, "depends on outside, which is not mirrored; make it in the function",
                mirrored.minimize(how, mixed));
    const auto constant = mirrored.run([] { return tn::constant(1.0f) * 2.0f; });
    CHECK_ERROR(tn::invalid_argument_error, "depend on none of", mirrored.minimize(how, constant));
    CHECK_THROWS_AS(mirrored.minimize(how, losses{{sound[0], {}}}), tn::invalid_argument_error);
    const auto untyped = mirrored.run([&] { return tn::any_tensor(tn::variable("u", tn::constant({1.0f, 2.0f}))); });
    CHECK_THROWS_WITH_AS(mirrored.mean(untyped), "mean: u is float[2]; each value must be a floating scalar",
                         tn::invalid_argument_error);
    CHECK_ERROR(tn::invalid_argument_error, "must be a scalar: [2] (u)", mirrored.minimize(how, untyped));
    CHECK_THROWS_WITH_AS(mirrored.copies(outside), "copies: outside is no variable of the strategy",
                         tn::not_found_error);
    CHECK_THROWS_WITH_AS(mirrored.distribute(tn::any_tensor(outside)),
                         "distribute: outside is a scalar, which has no rows", tn::invalid_argument_error);
    mirrored.minimize(how, sound);
}
