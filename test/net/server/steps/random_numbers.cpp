#include <net/server/servers.hpp>

#include "tests.hpp"

// Random numbers of sessions on servers: SEMANTICS 21, 46.

using namespace net_test;

namespace {

using vector16 = tn::shape<16>;
using floats = tn::array<float, vector16>;

// Its variables are on the first parameter server, its random ops on a worker.
struct model {
    model() : scope(graph) {
        graph.set_seed(3);
        {
            const tn::device_scope there("/job:ps/task:0");
            w.emplace_back(tn::variable<float, vector16>("w", tn::normal()));
        }
        const tn::device_scope here("/job:worker/task:0");
        x.emplace_back(tn::placeholder<float, vector16>("x"));
        noise.emplace_back(tn::random_normal<float, vector16>());
        like.emplace_back(tn::random_uniform_like(noise[0]));
        train = w[0].assign_sub((tn::dropout(w[0], 0.5) + noise[0]) * 0.1f).operation();
        initialize = tn::initialize_variables();
    }
    void run(tn::session& s, int steps) const {
        for (int i = 0; i < steps; ++i) s.run(train);
    }
    tn::graph graph;
    tn::graph_scope scope;
    std::vector<tn::variable_tensor<float, vector16>> w;
    std::vector<tn::tensor<float, vector16>> x, noise, like;
    tn::operation train, initialize;
};

tn::session here(const model& m) {
    tn::session_options o{.allow_soft_placement = true};
    const auto task = [](const char* job) { return tn::task(tn::task_options{.job = job}); };
    return tn::session({task("worker"), task("ps")}, m.graph, o);
}

floats of_steps_here(int steps) {
    const model m;
    tn::session s = here(m);
    s.run(m.initialize);
    m.run(s, steps);
    return s.run(m.w[0]);
}

} // namespace

TEST_CASE("SEMANTICS 21: a session on servers draws the numbers of any other, whatever sessions they have had") {
    servers all(1, 1);
    const floats first = of_steps_here(0), last = of_steps_here(4);
    std::vector<tn::session> open; // and have
    for (const auto& [job, task] : {std::pair("worker", 0), std::pair("ps", 0), std::pair("worker", 0)}) {
        const model m;
        tn::session s(all.target(job, task), m.graph);
        s.run(m.initialize);
        CHECK(s.run(m.w[0]) == first);
        m.run(s, 4);
        CHECK(s.run(m.w[0]) == last);
        open.push_back(std::move(s));
    }
}

TEST_CASE("SEMANTICS 21: what a client knows of the runs of random ops is what they have run") {
    servers all(1, 1);
    const model m;
    tn::session there(all.target("worker", 0), m.graph), local = here(m);
    const floats some{};
    for (tn::session* s : {&there, &local}) {
        s->run(m.initialize);
        m.run(*s, 2);
        (void)s->run(m.like[0]);                     // asks for the sizes of the noise
        s->run(tn::feed(m.noise[0], some), m.train); // which is fed
        auto step = s->callable(tn::feeds(m.x[0]), tn::fetches(m.noise[0] + m.x[0], m.like[0]));
        (void)step(some);
        auto begun = step.start(some);
        (void)begun.get();
        CHECK_THROWS_AS((void)s->run(m.noise[0] + m.x[0]), tn::invalid_argument_error); // is not fed
    }
    CHECK(local.random_runs().size() == 4);
    CHECK(there.random_runs() == local.random_runs());
}

TEST_CASE(
    "SEMANTICS 21, 46: a training with random numbers goes on in another session on servers as if nothing had been") {
    const temporary_folder folder;
    tn::server_options o = quick();
    o.files = folder.path().string();
    servers all(1, 1, std::move(o));
    const floats last = of_steps_here(9);
    {
        const model m;
        tn::session s(all.target("worker", 0), m.graph);
        s.run(m.initialize);
        m.run(s, 4);
        (void)tn::saver("m").save(s, 4);
        m.run(s, 2);
    }
    for (const auto& [job, task] : {std::pair("ps", 0), std::pair("worker", 0)}) {
        const model other;
        tn::session between(all.target("worker", 0), other.graph);
        other.run(between, 3);
        const model m;
        tn::session s(all.target(job, task), m.graph);
        m.run(s, 1);
        (void)tn::saver("m").restore(s);
        m.run(s, 5);
        CHECK(s.run(m.w[0]) == last);
    }
    // Saved again by one that went on itself.
    const model m;
    tn::session s(all.target("worker", 0), m.graph);
    (void)tn::saver("m").restore(s);
    m.run(s, 3);
    (void)tn::saver("m").save(s, 7);
    const model again;
    tn::session t(all.target("worker", 0), again.graph);
    (void)tn::saver("m").restore(t);
    again.run(t, 2);
    CHECK(t.run(again.w[0]) == last);
}

TEST_CASE("SEMANTICS 21, 46: where the variables live on, random numbers go on after the step that was lost") {
    servers all(1, 1);
    const model m, reference;
    tn::session local = here(reference);
    local.run(reference.initialize);
    const tn::graph_scope in(m.graph);
    tn::monitored_session sess({.target = all.target("worker", 0), .recovery_timeout = 60});
    const auto both = [&](int steps) {
        for (int i = 0; i < steps; ++i) sess.run(m.train);
        reference.run(local, steps);
        CHECK(sess.session().run(m.w[0]) == local.run(reference.w[0]));
    };
    both(3);
    for (int opened = 2; opened < 4; ++opened) {
        // The session's own server, which holds no variable.
        all.stop("worker", 0);
        all.start("worker", 0);
        sess.run(m.train); // is lost
        CHECK(sess.sessions_opened() == opened);
        const floats before = local.run(reference.w[0]);
        reference.run(local, 1); // so are its numbers
        {
            const tn::graph_scope there(reference.graph);
            const auto back = tn::placeholder<float, vector16>("back");
            local.run(tn::feed(back, before), reference.w[0].assign(back).operation());
        }
        both(2);
    }
}

TEST_CASE("SEMANTICS 21, 46: restored after a loss, random numbers are those after the checkpoint again") {
    const temporary_folder folder;
    tn::server_options o = quick();
    o.files = folder.path().string();
    servers all(1, 1, std::move(o));
    const floats last = of_steps_here(7);
    const model m;
    const tn::graph_scope in(m.graph);
    tn::monitored_session sess(
        {.target = all.target("worker", 0), .checkpoint = "m", .save_every = {.steps = 4}, .recovery_timeout = 60});
    for (int i = 0; i < 6; ++i) sess.run(m.train);
    all.stop("ps", 0);
    all.start("ps", 0);
    for (int i = 0; i < 3; ++i) sess.run(m.train); // of the checkpoint of step 4
    CHECK(sess.session().run(m.w[0]) == last);
    sess.close();
    // A later program.
    const model later;
    const tn::graph_scope of_later(later.graph);
    all.stop("ps", 0);
    all.start("ps", 0);
    tn::monitored_session next({.target = all.target("worker", 0), .checkpoint = "m", .recovery_timeout = 60});
    next.run(later.train);
    CHECK(next.session().run(later.w[0]) == of_steps_here(8));
}
