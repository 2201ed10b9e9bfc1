#include "child_program.hpp"
#include "tests.hpp"

// A program that is killed while it saves.

namespace {

constexpr const char* child_case = "the program that saves until it is killed";

// Two variables that are equal whenever they are saved, large enough for a file to take a while.
struct model {
    own_graph graph;
    tn::variable_tensor<float, tn::shape<200'000>> a{tn::variable<float, tn::shape<200'000>>("a", tn::zeros())};
    tn::variable_tensor<float, tn::shape<200'000>> b{tn::variable<float, tn::shape<200'000>>("b", tn::zeros())};
    tn::operation more = tn::group(a.assign_add(1.0f), b.assign_add(1.0f));
    tn::session sess;
};

// Whether a file's name has this in it; any, where nothing is asked for.
bool has_file(const temporary_folder& folder, const std::string& part) {
    if (part.empty()) return true;
    std::error_code gone; // files come and go meanwhile
    for (std::filesystem::directory_iterator at(folder.path(), gone), end; at != end; at.increment(gone))
        if (at->path().filename().string().find(part) != std::string::npos) return true;
    return false;
}

} // namespace

TEST_CASE("the program that saves until it is killed" * doctest::skip()) {
    const char* const folder = child_program::task();
    if (!folder) return; // nobody asks for it
    model m;
    tn::saver saver(std::string(folder) + "/m", {.keep = 2});
    std::int64_t step = 0;
    try {
        step = saver.restore(m.sess).step;
    } catch (const tn::not_found_error&) {
        m.sess.run(m.a.initializer(), m.b.initializer());
    }
    for (;;) {
        m.sess.run(m.more);
        (void)saver.save(m.sess, ++step);
        child_program::tell(); // of each checkpoint that it has saved
    }
}

TEST_CASE("SEMANTICS 46: whenever the program is killed, the last checkpoint that was saved is there, and whole") {
    const temporary_folder folder;
    std::int64_t saved = 0;
    for (int round = 0; round < 12; ++round) {
        child_program child(child_case, folder.path().string());
        // Killed in its first save, or when so many were told of; or while it writes a shard, a manifest or the list.
        for (int i = 0; i < round % 3; ++i) REQUIRE(child.told());
        saved += round % 3;
        constexpr const char* writing[] = {"", ".safetensors.partial-", "json.partial-", "checkpoints.json.partial-"};
        while (!has_file(folder, writing[round % 4])) std::this_thread::yield();
        child.kill();
        while (child.told()) ++saved; // those that it had told of by then
        if (saved == 0) continue;
        model m;
        tn::saver saver(folder / "m", {.keep = 2});
        const tn::restored_checkpoint r = saver.restore(m.sess);
        CHECK((r.step == saved || r.step == saved + 1)); // it may not have come to telling
        saved = r.step;
        const auto [a, b] = m.sess.run(m.a, m.b);
        CHECK(a(0) == static_cast<float>(r.step));
        CHECK(a(199'999) == a(0));
        CHECK(b == a);
    }
    REQUIRE(saved > 0);
    model m;
    tn::saver saver(folder / "m", {.keep = 2});
    (void)saver.restore(m.sess);
    (void)saver.save(m.sess, saved + 1);
    CHECK(folder.file_count() <= 2 * 2 + 1); // what was left behind is gone
}
