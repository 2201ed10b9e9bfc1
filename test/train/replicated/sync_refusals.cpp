#include "tests.hpp"
#include "sync_model.hpp"

// What synchronous replicas are refused (SEMANTICS 41).

using namespace sync_test;

TEST_CASE("S41: replicas that do not train the same are refused with what differs, before anything is changed") {
    tn::task task;
    struct one {
        one(const tn::task& t, double rate, int total, const char* name, bool more) {
            const tn::graph_scope in(g);
            const auto w = tn::variable<double, tn::shape<2>>(name, tn::zeros());
            tn::tensor<double, tn::shape<>> loss = sum(tn::square(w - 1.0));
            if (more) loss = loss + tn::square(tn::variable("extra", 1.0));
            tn::sync_replicas sync(tn::gradient_descent(rate), {.aggregate = 1, .total = total, .replica = 0});
            train = sync.minimize(loss);
            join = sync.step();
            initialize = tn::initialize_variables();
            sess.emplace(std::vector<tn::task>{t}, g);
            value = w;
        }
        tn::graph g;
        tn::operation train, initialize;
        tn::tensor<std::int64_t, tn::shape<>> join;
        tn::tensor<double, tn::shape<2>> value;
        std::optional<tn::session> sess;
    };
    one first(task, 0.1, 2, "w", false);
    first.sess->run(first.initialize);
    first.sess->run(first.join);
    const auto error = [&](one&& other) {
        return message_of<tn::invalid_argument_error>([&] { other.sess->run_for(5, other.train); });
    };
    CHECK(contains(error(one(task, 0.2, 2, "w", false)),
                   "replicas do not train the same: optimiser gradient_descent, learning rate 0.1, and optimiser "
                   "gradient_descent, learning rate 0.2"));
    CHECK(contains(error(one(task, 0.1, 3, "w", false)), "replicas: 2, and 3"));
    CHECK(contains(error(one(task, 0.1, 3, "w", false)),
                   "end all of them and reset the container (tenon reset, session::reset)"));
    CHECK(contains(error(one(task, 0.1, 2, "v", false)), "variable w double[2], and variable v double[2]"));
    CHECK(contains(error(one(task, 0.1, 2, "w", true)), "nothing more, and variable extra double[]"));
    CHECK(first.sess->run(first.value)(0) == 0);
    task.reset();
    one next(task, 0.1, 3, "w", false);
    next.sess->run(next.initialize);
    CHECK(next.sess->run(next.join).item() == 0);
}

TEST_CASE("S41: replicas whose optimisers have other settings are refused, and what differs is named") {
    const auto refused = [](const auto& one, const auto& other, bool counts = true) {
        const tn::task task;
        const auto first_run = [&](const auto& how, bool advances) {
            const own_graph g;
            const auto w = tn::variable("w", 1.0);
            const tn::sync_replicas sync(how, {.aggregate = 1, .total = 2, .replica = 0});
            const auto train = sync.minimize(tn::square(w), {.advance_global_step = advances});
            initialized_session s({task}, g);
            s.run(sync.step());
        };
        first_run(one, true);
        return message_of<tn::invalid_argument_error>([&] { first_run(other, counts); });
    };
    using tn::adagrad, tn::adam, tn::momentum, tn::rmsprop;
    CHECK(contains(refused(momentum(0.1), momentum(0.1, 0.8)),
                   "optimiser momentum, learning rate 0.1, factor 0.9, nesterov 0, and optimiser momentum, learning "
                   "rate 0.1, factor 0.8, nesterov 0"));
    CHECK(contains(refused(momentum(0.1), momentum(0.1, 0.9, {.nesterov = true})), ", factor 0.9, nesterov 1"));
    CHECK(contains(refused(adagrad(0.1), adagrad(0.1, {.initial = 1})), "initial 1, epsilon 1e-07"));
    CHECK(contains(refused(adagrad(0.1), adagrad(0.1, {.epsilon = 1})), "initial 0.1, epsilon 1"));
    const auto plain = rmsprop(0.1);
    CHECK(contains(refused(plain, rmsprop(0.1, {.decay = 0.5})), "decay 0.5, momentum 0, epsilon 1e-07, centered 0"));
    CHECK(contains(refused(plain, rmsprop(0.1, {.momentum = 0.5})), "decay 0.9, momentum 0.5"));
    CHECK(contains(refused(plain, rmsprop(0.1, {.epsilon = 1})), "momentum 0, epsilon 1, centered 0"));
    CHECK(contains(refused(plain, rmsprop(0.1, {.centered = true})), "epsilon 1e-07, centered 1"));
    CHECK(contains(refused(adam(), adam(0.001, {.beta1 = 0.8})), "beta1 0.8, beta2 0.999, epsilon 1e-08"));
    CHECK(contains(refused(adam(), adam(0.001, {.beta2 = 0.9})), "beta1 0.9, beta2 0.9,"));
    CHECK(contains(refused(adam(), adam(0.001, {.epsilon = 1})), "epsilon 1, weight_decay 0"));
    CHECK(contains(refused(adam(), adam(0.001, {.weight_decay = 0.5})), "epsilon 1e-08, weight_decay 0.5"));
    CHECK(contains(refused(momentum(0.1), momentum(0.1), false), "nesterov 0, global step not advanced"));
}

TEST_CASE_FIXTURE(in_graph, "S41: a count of steps that leaves no room for more is refused, and nothing is changed") {
    const auto w = tn::variable("w", 1.0);
    const tn::sync_replicas sync(tn::gradient_descent(0.1), {.aggregate = 1, .total = 1});
    const auto train = sync.minimize(tn::square(w));
    const auto far =
        tn::untyped::assign(g.tensor("train_steps"), tn::constant(std::numeric_limits<std::int64_t>::max()));
    initialized_session s(g);
    s.run_untyped({}, {}, {far.operation()});
    const char* const said =
        "step ledger \"train_steps\": there is no step 9223372036854775807; they are numbered from 0";
    CHECK_ERROR(tn::invalid_argument_error, said, sync.start(s));
    CHECK_ERROR(tn::invalid_argument_error, said, s.run_for(20, train));
    CHECK(s.run(w).item() == 1);
}

TEST_CASE("S41: numbers that make no sense are refused; a hook of nothing, too") {
    const auto make = [](int aggregate, int total, int replica) {
        return message_of<tn::invalid_argument_error>([&] {
            tn::sync_replicas(tn::gradient_descent(0.1), {.aggregate = aggregate, .total = total, .replica = replica});
        });
    };
    CHECK(contains(make(3, 2, 0), "aggregate is 3 of a total of 2 replicas, each of which gives one gradient a step"));
    CHECK(contains(make(1, 0, 0), "total is 0"));
    CHECK(contains(make(1, 2, 2), "replica is 2; give 0 to 1"));
    CHECK(contains(make(-1, 2, 0), "aggregate is -1"));
    const tn::sync_replicas none(tn::gradient_descent(0.1), {});
    CHECK_THROWS_AS(none.hook(), tn::failed_precondition_error);
    CHECK_THROWS_AS(none.counted(), tn::failed_precondition_error);
    CHECK_THROWS_AS(none.apply_gradients({}), tn::invalid_argument_error);
}

TEST_CASE("S41: what cannot be applied fails the steps of the replica that would apply it, with the reason") {
    const own_graph g;
    const auto w = tn::variable("w", 1.0);
    const auto never = tn::variable<double, tn::shape<>>("rate", tn::constant_value(0.1), {.trainable = false});
    const tn::sync_replicas sync(tn::gradient_descent(never), {.aggregate = 1, .total = 1});
    const auto train = sync.minimize(tn::square(w), {.variables = {w}});
    tn::session s(g);
    std::vector<tn::any_tensor> others;
    for (const tn::any_tensor& v : g.collection(tn::global_variables))
        if (v.name() != never.name()) others.push_back(v);
    const auto initialize = tn::untyped::initialize_variables(others);
    s.run(initialize);
    const auto applies = sync.start(s);
    CHECK_ERROR(tn::failed_precondition_error, "replica 0 cannot go on: ", s.run_for(20, train));
    CHECK(s.run(w).item() == 1);
}
