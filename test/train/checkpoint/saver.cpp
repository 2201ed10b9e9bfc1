#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>

#include "tests.hpp"
#include "saver_model.hpp"

using namespace saver_test;

namespace {

// While it lives no file grows beyond so many bytes: as on a disk that is full.
class full_disk {
public:
    explicit full_disk(rlim_t bytes) {
        old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
        getrlimit(RLIMIT_FSIZE, &old_);
        rlimit now = old_;
        now.rlim_cur = bytes;
        setrlimit(RLIMIT_FSIZE, &now);
    }
    ~full_disk() {
        setrlimit(RLIMIT_FSIZE, &old_);
        std::signal(SIGXFSZ, old_handler_);
    }

private:
    rlimit old_{};
    void (*old_handler_)(int);
};

} // namespace

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 46: a checkpoint of one task is a shard and a manifest, and comes back") {
    const temporary_folder folder;
    const auto w = tn::variable<float, tn::shape<2, 3>>("w", tn::uniform(-1, 1, 3));
    const auto b = tn::variable<double, tn::shape<2>>("layer/b", tn::ones());
    tn::session sess;
    tn::saver saver(folder / "run/model");
    CHECK_ERROR(tn::failed_precondition_error, "before it has a value", saver.save(sess, 7));
    CHECK_ERROR(tn::not_found_error, "there is no checkpoint", saver.restore(sess));
    CHECK_ERROR(tn::invalid_argument_error, "global_step", saver.save(sess));
    sess.run(tn::initialize_variables());
    const auto was = sess.run(w);
    const tn::saved_checkpoint saved = saver.save(sess, 7);
    CHECK(saved.path == folder / "run/model-7.json");
    CHECK(saved.trouble.empty());
    REQUIRE(saved.manifest.shards.size() == 1);
    CHECK(saved.manifest.shards[0].task == "/job:localhost/replica:0/task:0");
    CHECK(saver.manifest(sess, saved.path) == saved.manifest);
    CHECK(saver.checkpoints(sess) == names{saved.path});
    // A shard is a file that others read, too.
    const std::string shard = folder / ("run/" + saved.manifest.shards[0].file);
    CHECK(tn::read_safetensors(shard).load<float>("w") == was);

    const std::int64_t nodes = g.size();
    sess.run(w.assign_add(1.0f), b.assign_add(1.0));
    const std::int64_t more = g.size();
    const tn::restored_checkpoint restored = saver.restore(sess);
    CHECK(restored.step == 7);
    CHECK(restored.path == saved.path);
    CHECK(restored.loaded == names{"w", "layer/b"});
    CHECK(sess.run(w) == was);
    CHECK(sess.run(b)(1) == 1);
    (void)saver.save(sess, 8);
    CHECK(g.size() == more); // nothing is added again
    CHECK(more > nodes);

    tn::session other; // not initialised: restoring counts as that
    (void)saver.restore(other, {.checkpoint = saved.path});
    CHECK(other.run(w) == was);
}

TEST_CASE("SEMANTICS 46: each task writes what it holds; it is restored into more tasks, and into fewer") {
    const temporary_folder folder;
    std::vector<tn::array<float, vector4>> was;
    {
        model two(2);
        two.sess->run(two.initialize);
        was = two.values();
        const tn::saved_checkpoint saved = tn::saver(folder / "m").save(*two.sess, 1);
        REQUIRE(saved.manifest.shards.size() == 2);
        CHECK(saved.manifest.shards[0].task == "/job:ps/replica:0/task:0");
        CHECK(saved.manifest.shards[1].task == "/job:ps/replica:0/task:1");
        CHECK(saved.manifest.find("v1")->shard == 0);
        CHECK(saved.manifest.find("v2")->shard == 1);
    }
    for (const int ps : {1, 2, 3, 5}) {
        model other(ps);
        const tn::restored_checkpoint r = tn::saver(folder / "m").restore(*other.sess);
        CHECK(r.loaded.size() == 6);
        CHECK(other.values() == was);
        CHECK(other.sess->run(other.step[0])() == 0);
        // And from there.
        const std::string again = folder / ("from" + std::to_string(ps));
        CHECK(tn::saver(again).save(*other.sess, 2).manifest.shards.size() == static_cast<std::size_t>(ps));
        model one(1);
        (void)tn::saver(again).restore(*one.sess);
        CHECK(one.values() == was);
    }
}

TEST_CASE_FIXTURE(in_folder, "SEMANTICS 46: the last k stay, and nothing else is left of the others") {
    model m(2);
    m.sess->run(m.initialize);
    tn::saver saver(folder / "m", {.keep = 2});
    for (int i = 1; i <= 5; ++i) {
        m.sess->run(m.step[0].assign_add(std::int64_t{1}));
        (void)saver.save(*m.sess, i);
        CHECK(folder.file_count() == std::min(i, 2) * 3 + 1);
    }
    CHECK(saver.checkpoints(*m.sess) == names{folder / "m-4.json", folder / "m-5.json"});
    CHECK(saver.restore(*m.sess, {.checkpoint = folder / "m-4.json"}).step == 4);
    CHECK(m.sess->run(m.step[0])() == 4);
    // The same step again takes the place of that; what was saved later is the latest.
    (void)saver.save(*m.sess, 4);
    CHECK(saver.checkpoints(*m.sess) == names{folder / "m-5.json", folder / "m-4.json"});
    CHECK(saver.restore(*m.sess).step == 4);
    CHECK(folder.file_count() == 7);
    // Another saver, also where the list was lost, finds what there is.
    std::filesystem::remove(folder / "m.checkpoints.json");
    tn::saver other(folder / "m", {.keep = 0});
    CHECK(other.checkpoints(*m.sess) == names{folder / "m-4.json", folder / "m-5.json"});
    (void)other.save(*m.sess, 6);
    CHECK(other.checkpoints(*m.sess).size() == 3);
    // One may be told to stay, for as long as it is told.
    for (int i = 7; i <= 9; ++i)
        (void)saver.save(*m.sess, i, {.metadata = {{"best", "7"}}, .stays = folder / "m-7.json"});
    CHECK(saver.checkpoints(*m.sess) == names{folder / "m-7.json", folder / "m-8.json", folder / "m-9.json"});
    CHECK(saver.manifest(*m.sess, folder / "m-9.json").metadata.at("best") == "7");
    CHECK(saver.restore(*m.sess, {.checkpoint = folder / "m-7.json"}).step == 7);
    // Files of others are left alone.
    write_bytes(folder / "m-notes.txt", "mine");
    write_bytes(folder / "m-6.00000000-1-of-2.safetensors.partial-1-1", "left behind");
    write_bytes(folder / "m-3.12345678-1-of-2.safetensors", "left behind");
    (void)saver.save(*m.sess, 7);
    CHECK(read_bytes(folder / "m-notes.txt") == "mine");
    CHECK(folder.file_count() == 2 * 3 + 2);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 46: a save that fails leaves what was there, and nothing of its own") {
    const temporary_folder folder;
    const auto large = tn::variable<float, tn::shape<100, 100>>("large", tn::ones());
    initialized_session sess;
    tn::saver saver(folder / "m");
    (void)saver.save(sess, 1);
    const int files = folder.file_count();
    sess.run(large.assign_add(1.0f));
    // Each file that is written fails once: the shard by its size, then what is small.
    for (const rlim_t bytes : {rlim_t{20000}, rlim_t{1000}, rlim_t{0}}) {
        const full_disk full(bytes);
        CHECK_ERROR(tn::resource_exhausted_error, "free space", saver.save(sess, 2));
        CHECK(folder.file_count() == files);
    }
    (void)saver.restore(sess);
    CHECK(sess.run(large)(3, 4) == 1);
    sess.run(large.assign_add(1.0f));
    (void)saver.save(sess, 2);
    CHECK(saver.checkpoints(sess).size() == 2);

    std::filesystem::permissions(folder.path(),
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    if (::geteuid() != 0) CHECK_THROWS_AS(saver.save(sess, 3), tn::permission_denied_error);
    std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
}

TEST_CASE(
    "SEMANTICS 46: a name has one writer at a time; none removes the last checkpoint of another that still saves") {
    const temporary_folder folder;
    // Two trainings, in sessions that share nothing but the files.
    model one(1), other(1);
    one.sess->run(one.initialize);
    other.sess->run(other.initialize);
    for (const auto& v : other.v) other.sess->run(v.assign_add(100.0f));
    const auto ones = one.values(), others = other.values();
    {
        tn::saver a(folder / "m", {.keep = 1}), b(folder / "m", {.keep = 1});
        std::string last_a, last_b;
        for (int i = 0; i < 4; ++i) {
            last_a = a.save(*one.sess, 2 * i).path;
            last_b = b.save(*other.sess, 2 * i + 1).path;
            (void)a.restore(*one.sess, {.checkpoint = last_a});
            CHECK(one.values() == ones);
        }
        CHECK(a.checkpoints(*one.sess) == names{last_a, last_b});
        last_a = a.save(*one.sess, 10).path;
        last_a = a.save(*one.sess, 11).path; // the other saves no more
        CHECK(a.checkpoints(*one.sess) == names{last_a});
        CHECK(folder.file_count() == 3);
    }
    // At the same time.
    std::vector<std::thread> savers;
    std::atomic<int> saved{0};
    for (model* const m : {&one, &other})
        savers.emplace_back([&, m] {
            tn::saver s(folder / "m", {.keep = 2});
            for (int i = 0; i < 15; ++i) {
                const tn::saved_checkpoint c = s.save(*m->sess, 100 + 2 * i + (m == &one));
                CHECK(c.trouble.empty());
                CHECK(s.restore(*m->sess, {.checkpoint = c.path}).step == 100 + 2 * i + (m == &one));
                ++saved;
            }
        });
    for (std::thread& t : savers) t.join();
    CHECK(saved == 30);
    CHECK(one.values() == ones);
    CHECK(other.values() == others);
    CHECK_FALSE(std::filesystem::exists(folder / "m.lease"));
    // One of another process, which still writes.
    const int held = ::open((folder / "m.lease").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(::write(held, "a saver elsewhere", 17) == 17);
    struct flock all {};
    all.l_type = F_WRLCK;
    all.l_whence = SEEK_SET;
    REQUIRE(::fcntl(held, F_OFD_SETLK, &all) == 0);
    tn::saver late(folder / "m", {.lease = 1});
    const int files = folder.file_count();
    CHECK_ERROR(tn::aborted_error, "a saver elsewhere saves under the name", late.save(*one.sess, 500));
    CHECK(folder.file_count() == files);
    ::close(held);
    CHECK(late.save(*one.sess, 500).manifest.step == 500);
}

TEST_CASE("a saver that is gone for longer than its lease writes nothing more: list and manifest are the next one's") {
    const temporary_folder folder;
    const own_graph g;
    const auto path = tn::untyped::placeholder(tn::element_type::string, {}),
               text = tn::untyped::placeholder(tn::element_type::string, {}),
               who = tn::untyped::placeholder(tn::element_type::string, {}),
               lease = tn::untyped::placeholder(tn::element_type::string, {}),
               seconds = tn::untyped::placeholder(tn::element_type::float64, {});
    const auto claimed = tn::add<tn::claim_file_op>({}, {lease, who, seconds});
    const auto renewed = tn::add<tn::claim_file_op>({true}, {lease, who, seconds});
    const auto write = tn::add<tn::write_file_op>({}, {path, text, lease, who}).operation();
    tn::session sess;
    const auto text_array = [](const std::string& of) {
        tn::any_array a(tn::element_type::string, {});
        *a.data<std::string>() = of;
        return a;
    };
    const auto claim = [&](const std::string& by, double length, bool again = false) {
        tn::any_array s(tn::element_type::float64, {});
        *s.data<double>() = length;
        std::vector<tn::any_array> fed;
        fed.push_back(text_array(folder / "a.lease"));
        fed.push_back(text_array(by));
        fed.push_back(std::move(s));
        return *sess.callable_untyped({lease, who, seconds}, {again ? renewed : claimed}, {})
                    .run_for(0, fed)[0]
                    .data<std::string>();
    };
    const auto write_as = [&](const std::string& by) {
        std::vector<tn::any_array> fed;
        fed.push_back(text_array(folder / "file"));
        fed.push_back(text_array(by));
        fed.push_back(text_array(folder / "a.lease"));
        fed.push_back(text_array(by));
        (void)sess.callable_untyped({path, text, lease, who}, {}, {write}).run_for(0, fed);
    };
    CHECK_ERROR(tn::aborted_error, "its time has passed", write_as("one"));
    CHECK(claim("one", 1000) == "one");
    write_as("one");
    CHECK(claim("two", 1000) == "one");
    CHECK_ERROR(tn::aborted_error, "one has it", write_as("two"));
    CHECK(claim("one", -1).empty());
    CHECK(claim("one", 1e-9) == "one"); // its time passes
    CHECK(claim("two", 1000) == "two");
    CHECK_ERROR(tn::aborted_error, "two has it", write_as("one"));
    write_as("two");
    CHECK(read_bytes(folder / "file") == "two");
    // What has passed is not gone on with: somebody has had it between, and has given it back.
    CHECK(claim("two", 1000, true) == "two");
    CHECK(claim("one", 1000, true) == "two");
    CHECK(claim("two", -1).empty());
    CHECK(claim("one", 1000, true).empty());
    CHECK_THROWS_AS(write_as("one"), tn::aborted_error);
    CHECK(claim("two", 1000) == "two");
    CHECK(claim("two", -1).empty());
    CHECK_FALSE(std::filesystem::exists(folder / "a.lease"));
}

TEST_CASE("SEMANTICS 46: what does not fit is named, on both sides; a partial restore takes the rest") {
    const temporary_folder folder;
    {
        const own_graph g;
        const auto a = tn::variable<float, vector4>("a", tn::ones());
        const auto b = tn::variable<float, vector4>("b", tn::ones());
        const auto c = tn::variable<float, vector4>("c", tn::ones());
        initialized_session s;
        (void)tn::saver(folder / "m").save(s, 3);
    }
    const own_graph g;
    const auto a = tn::variable<float, vector4>("a", tn::zeros());
    const auto b = tn::variable<double, vector4>("b", tn::zeros());
    const auto d = tn::variable<float, vector4>("d", tn::zeros());
    initialized_session s;
    tn::saver saver(folder / "m");
    CHECK_ERROR(tn::invalid_argument_error, "b: double[4] here, float[4] in the file", saver.restore(s));
    CHECK_ERROR(tn::not_found_error, "lacks d; it has b, c", tn::saver(folder / "m", {.variables = {a, d}}).restore(s));
    CHECK(s.run(a)(0) == 0);
    const tn::restored_checkpoint r = saver.restore(s, {.partial = true});
    CHECK(r.loaded == names{"a"});
    CHECK(r.mismatched == names{"b: double[4] here, float[4] in the file"});
    CHECK(r.missing == names{"d"});
    CHECK(r.unused == names{"c"});
    CHECK(s.run(a)(0) == 1);
    CHECK(s.run(d)(0) == 0);
}

TEST_CASE_FIXTURE(in_graph_and_folder, "SEMANTICS 46: what is saved while others train is of one moment") {
    const auto a = tn::variable<float, tn::shape<1000>>("a", tn::zeros());
    const auto b = tn::variable<float, tn::shape<1000>>("b", tn::zeros());
    const auto both = tn::group(a.assign_add(1.0f), b.assign_sub(1.0f));
    initialized_session sess;
    std::atomic<bool> done{false};
    std::atomic<int> steps{0};
    std::vector<std::thread> training;
    for (int i = 0; i < 2; ++i)
        training.emplace_back([&] {
            while (!done) {
                sess.run(both);
                ++steps;
            }
        });
    tn::saver saver(folder / "m", {.keep = 0});
    for (int i = 0; i < 20; ++i) {
        (void)saver.save(sess, i);
        // So that they differ: of each thread one step may be in what was saved, and not counted yet.
        const int after = steps;
        while (steps < after + 3) std::this_thread::yield();
    }
    done = true;
    for (std::thread& t : training) t.join();
    std::vector<float> seen;
    for (const std::string& path : saver.checkpoints(sess)) {
        (void)saver.restore(sess, {.checkpoint = path});
        const auto [av, bv] = sess.run(a, b);
        for (int i = 0; i < 1000; ++i) REQUIRE((av(i) == av(0) && bv(i) == -av(0)));
        CHECK((seen.empty() || av(0) > seen.back()));
        seen.push_back(av(0));
    }
}

TEST_CASE_FIXTURE(in_folder, "variables of a task's GPUs are in its shard, and go back there; copies of replicas too") {
    const auto make = [&](auto&& body) {
        const own_graph g;
        tn::session s(tn::session_options{.gpus = tn::simulated_gpu(2, std::size_t{16} << 20)});
        tn::variable_tensor<float, vector4> on_gpu =
            tn::on("/gpu:1", [] { return tn::variable<float, vector4>("g", tn::uniform(0, 1, 5)); });
        tn::variable_tensor<float, vector4> on_cpu =
            tn::on("/cpu:0", [] { return tn::variable<float, vector4>("c", tn::ones()); });
        tn::saver saver(folder / "m");
        body(s, saver, on_gpu, on_cpu);
    };
    tn::array<float, vector4> was{0.0f, 0.0f, 0.0f, 0.0f};
    make([&](auto& s, auto& saver, auto& on_gpu, auto&) {
        s.run(tn::initialize_variables());
        was = s.run(on_gpu);
        CHECK(saver.save(s, 1).manifest.shards.size() == 1);
    });
    make([&](auto& s, auto& saver, auto& on_gpu, auto& on_cpu) {
        (void)saver.restore(s);
        CHECK(s.run(on_gpu) == was);
        CHECK(s.run(on_cpu)(2) == 1);
    });
}

TEST_CASE("a saver without a name, or with options that make no sense, is refused") {
    CHECK_THROWS_AS(tn::saver("run/"), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::saver(""), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::saver("m", {.keep = -1}), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::saver("m", {.timeout = -1}), tn::invalid_argument_error);
    CHECK_THROWS_AS(tn::saver("m", {.lease = 0}), tn::invalid_argument_error);
}

TEST_CASE_FIXTURE(in_graph_and_folder, "a task that may use no files refuses to save, and says what would let it") {
    std::filesystem::create_directories(folder / "allowed");
    const auto a = tn::variable("a", 1.0f);
    const auto try_it = [&](const tn::file_access& files, const std::string& prefix) {
        const tn::task t(tn::task_options{.files = files});
        initialized_session s(t, g);
        return tn::saver(prefix).save(s, 1).path;
    };
    CHECK_ERROR(tn::permission_denied_error, "server_options::files", try_it(tn::file_access::none(), "m"));
    const tn::file_access below = tn::file_access::below(folder / "allowed");
    CHECK(try_it(below, "run/m") == "run/m-1.json");
    CHECK(std::filesystem::exists(folder / "allowed/run/m-1.json"));
    CHECK_THROWS_AS(try_it(below, "../m"), tn::permission_denied_error);
    CHECK_THROWS_AS(try_it(below, folder / "m"), tn::permission_denied_error);
}
