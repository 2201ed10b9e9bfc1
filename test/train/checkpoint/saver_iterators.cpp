#include <tenon/input.hpp>

#include "tests.hpp"

// Where iterators are is part of a checkpoint: SEMANTICS 38 and 46.

using numbers = std::vector<std::int64_t>;

namespace {

inline constexpr struct rows : tn::dim<"rows"> {} rows;

// A training that a program makes each time that it is started: shuffled, mapped by threads, batched, prefetched.
struct training {
    explicit training(int parallelism = 3) : scope(graph) {
        const auto set =
            tn::data::range(40)
                .shuffle(16, {.seed = 3})
                .map([](auto v) { return tn::cast<float>(v) + tn::random_uniform<float, tn::shape<>>(0, 1, 5); },
                     {.parallelism = parallelism})
                .map_host([](float v) { return std::tuple(v, static_cast<std::int64_t>(v)); },
                          {.parallelism = parallelism})
                .repeat(2)
                .batch<rows>(3)
                .prefetch(2);
        const auto it = tn::make_one_shot_iterator(set, {.name = "train"});
        const auto [x, n] = it.get_next();
        const auto w = tn::variable("w", 0.5f);
        weights = w;
        step = w.assign(w * 0.9f + tn::sum(x * x) * 0.001f).operation();
        taken = n;
        initialize = tn::initialize_variables();
    }
    numbers run(tn::session& s, int steps) const {
        numbers got;
        for (int i = 0; i < steps; ++i) {
            const auto [n] = std::tuple(s.run(taken, step));
            got.insert(got.end(), n.begin(), n.end());
        }
        return got;
    }
    numbers run_to_end(tn::session& s) const {
        numbers got;
        try {
            for (;;) {
                const numbers more = run(s, 1);
                got.insert(got.end(), more.begin(), more.end());
            }
        } catch (const tn::end_of_data_error&) {
        }
        return got;
    }
    float weight(tn::session& s) const { return s.run(weights).item(); }

    tn::graph graph;
    tn::graph_scope scope;
    tn::tensor<float, tn::shape<>> weights;
    tn::operation step, initialize;
    tn::tensor<std::int64_t, tn::shape<rows>> taken;
};

} // namespace

TEST_CASE(
    "SEMANTICS 46: a training that goes on in another session gets what it had not got, and ends the same to the bit") {
    numbers all;
    float last = 0;
    {
        const training t;
        tn::session s;
        s.run(t.initialize);
        all = t.run_to_end(s);
        last = t.weight(s);
    }
    REQUIRE(all.size() == 80);
    for (const int before :
         {0, 1, 5, 13, 14, 26, 27}) { // in the first epoch, at its end, in the second, and at the end
        CAPTURE(before);
        const temporary_folder folder;
        numbers first;
        {
            const training t;
            tn::session s;
            s.run(t.initialize);
            first = t.run(s, before);
            const auto saved = tn::saver(folder / "m").save(s, before);
            REQUIRE(saved.manifest.iterators.size() == 1);
            CHECK(saved.manifest.iterators[0].name == "train");
            t.run_to_end(s); // what comes later is not in it
        }
        for (const int parallelism : {3, 1}) { // with other threads, too
            CAPTURE(parallelism);
            const training t(parallelism);
            tn::session s;
            CHECK(tn::saver(folder / "m").restore(s).step == before);
            const numbers second = t.run_to_end(s);
            numbers together = first;
            together.insert(together.end(), second.begin(), second.end());
            CHECK(together == all);
            CHECK(t.weight(s) == last);
        }
    }
}

TEST_CASE("SEMANTICS 46: a restore goes back in the same session, and iterators that have not begun are left out") {
    const temporary_folder folder;
    const own_graph g;
    const auto v = tn::variable("v", std::int64_t{1});
    const auto train = tn::make_initializable_iterator(tn::data::range(10).shuffle(10, {.seed = 1}), {.name = "train"});
    const auto test = tn::make_initializable_iterator(tn::data::range(10), {.name = "test"});
    const auto x = train.get_next(), y = test.get_next();
    const auto initialize = tn::initialize_variables();
    tn::session s;
    s.run(initialize);
    tn::saver saver(folder / "m");
    CHECK(saver.save(s, 1).manifest.iterators.empty());
    s.run(train.initializer());
    const auto first = s.run(x);
    const auto saved = saver.save(s, 2);
    REQUIRE(saved.manifest.iterators.size() == 1);
    CHECK(saved.manifest.iterators[0].name == "train");
    CHECK(saver.manifest(s, saved.path) == saved.manifest);
    const auto second = s.run(x);
    s.run(test.initializer());
    CHECK(s.run(y).item() == 0);
    (void)saver.restore(s);
    CHECK(s.run(x) == second);
    CHECK(s.run(y).item() == 1); // of which the checkpoint says nothing
    (void)saver.restore(s, {.checkpoint = folder / "m-1.json"});
    CHECK(s.run(y).item() == 2);

    // Restored before it is initialised: the first initializer goes on there, the next ones begin anew.
    tn::session other;
    (void)saver.restore(other);
    CHECK_THROWS_AS(other.run(x), tn::failed_precondition_error);
    other.run(train.initializer());
    CHECK(other.run(x) == second);
    other.run(train.initializer());
    CHECK(other.run(x) == first);
}

TEST_CASE_FIXTURE(in_folder, "a checkpoint whose places do not fit is refused before a variable has changed") {
    const auto make = [](const auto& set) { return tn::make_one_shot_iterator(set, {.name = "train"}).get_next(); };
    std::string place;
    {
        const own_graph g;
        const auto v = tn::variable("v", std::int64_t{1});
        const auto x = make(tn::data::range(10).skip(1));
        initialized_session s;
        s.run(x);
        place = folder / tn::saver(folder / "m").save(s, 1).manifest.iterators.at(0).file;
    }
    const own_graph g;
    const auto v = tn::variable("v", std::int64_t{2});
    const auto x = make(tn::data::range(10).take(5));
    initialized_session s;
    CHECK(s.run(x).item() == 0);
    tn::saver saver(folder / "m");
    CHECK_ERROR(tn::data_loss_error, "it is of skip(1) of range, not of take(5) of range", saver.restore(s));
    CHECK(s.run(v).item() == 2);
    CHECK(s.run(x).item() == 1);
    // One that was damaged, and one that is missing.
    write_bytes(place, read_bytes(place) + "x");
    CHECK_ERROR(tn::data_loss_error, "is not as it was written", saver.restore(s));
    std::filesystem::remove(place);
    CHECK_THROWS_AS((void)saver.restore(s), tn::data_loss_error);
    CHECK(s.run(v).item() == 2);
    CHECK(s.run(x).item() == 2);
}

TEST_CASE("SEMANTICS 28, 46: what the chief of one shard saved is restored by that of another, whose iterator stays") {
    const temporary_folder folder;
    const auto data_of = [](std::int64_t worker) {
        return tn::data::range(10).shard(3, worker).shuffle(4, {.seed = 1});
    };
    const auto make = [&](std::int64_t worker) {
        return tn::make_one_shot_iterator(data_of(worker), {.name = "train"}).get_next();
    };
    {
        const own_graph g;
        const auto v = tn::variable("v", std::int64_t{1});
        const auto x = make(0);
        initialized_session s;
        s.run(x);
        tn::saver(folder / "m").save(s, 1);
    }
    const auto first_of = [&](std::int64_t worker) {
        const own_graph g;
        const auto x = make(worker);
        tn::session s;
        return s.run(x).item();
    };
    for (const bool initialised_before : {false, true}) {
        CAPTURE(initialised_before);
        const own_graph g;
        const auto v = tn::variable("v", std::int64_t{2});
        const auto train = tn::make_initializable_iterator(data_of(1), {.name = "train"});
        const auto x = train.get_next();
        initialized_session s;
        if (initialised_before) s.run(train.initializer());
        const tn::restored_checkpoint r = tn::saver(folder / "m").restore(s);
        CHECK(r.other_shards == std::vector<std::string>(initialised_before ? 1 : 0, "train"));
        CHECK(s.run(v).item() == 1);
        if (!initialised_before) s.run(train.initializer());
        CHECK(s.run(x).item() == first_of(1));
    }
    { // the state of all that is like it but for the shard, and no other
        const own_graph g;
        const auto v = tn::variable("v", std::int64_t{2});
        const auto x =
            tn::make_one_shot_iterator(tn::data::range(10).shard(2, 1).shuffle(4, {.seed = 1}), {.name = "train"})
                .get_next();
        tn::session s;
        s.run(tn::initialize_variables(), x);
        CHECK_THROWS_AS((void)tn::saver(folder / "m").restore(s), tn::data_loss_error);
        CHECK(s.run(v).item() == 2);
    }
    const own_graph g;
    const auto v = tn::variable("v", std::int64_t{2});
    const auto x = make(2);
    std::vector<std::string> lines;
    tn::monitored_session s({.checkpoint = folder / "m", .fall_back = true, .log = [&](const std::string& line) {
                                 lines.push_back(line);
                             }});
    CHECK(s.run(x).item() == first_of(2));
    CHECK(std::count(lines.begin(), lines.end(),
                     "session: the checkpoint is of another shard's data; from their beginning: train") == 1);
}

TEST_CASE_FIXTURE(in_graph_and_folder, "files of places go with their checkpoints") {
    const auto v = tn::variable("v", std::int64_t{1});
    const auto x = tn::make_one_shot_iterator(tn::data::range(10)).get_next();
    initialized_session s;
    tn::saver saver(folder / "m", {.keep = 2});
    std::vector<std::int64_t> of_step(1);
    for (int i = 1; i <= 5; ++i) {
        of_step.push_back(s.run(x).item());
        (void)saver.save(s, i);
    }
    int places = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder.path()))
        places += file.path().extension() == ".iterator";
    CHECK(places == 2);
    (void)saver.restore(s, {.checkpoint = folder / "m-4.json"});
    CHECK(s.run(x).item() == of_step[5]);
}

TEST_CASE("SEMANTICS 46: while other threads train, a checkpoint has one place for each iterator, and all goes on") {
    const temporary_folder folder;
    const own_graph g;
    const auto v = tn::variable("v", std::int64_t{1});
    const auto x =
        tn::make_one_shot_iterator(tn::data::range(3000).map_host([](std::int64_t n) { return n; })).get_next();
    const auto initialize = tn::initialize_variables();
    tn::session s;
    s.run(initialize);
    tn::saver saver(folder / "m");
    std::vector<numbers> got(2);
    tn::coordinator coord;
    for (numbers& mine : got)
        coord.start("taker", [&] {
            while (!coord.should_stop()) mine.push_back(s.run(x).item());
        });
    for (int i = 1; i <= 3; ++i) (void)saver.save(s, i);
    coord.join();
    numbers all = got[0];
    all.insert(all.end(), got[1].begin(), got[1].end());
    std::sort(all.begin(), all.end());
    REQUIRE(all.size() == 3000);
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == static_cast<std::int64_t>(i));
    for (int i = 1; i <= 3; ++i) { // from there on it is as it would have been
        (void)saver.restore(s, {.checkpoint = folder / ("m-" + std::to_string(i) + ".json")});
        std::int64_t last = -1;
        bool follows = true;
        try {
            for (;;) {
                const std::int64_t now = s.run(x).item();
                follows = follows && (last < 0 || now == last + 1);
                last = now;
            }
        } catch (const tn::end_of_data_error&) {
        }
        CHECK(follows);
    }
}
