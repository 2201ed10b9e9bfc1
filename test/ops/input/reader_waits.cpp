#include <tenon/input.hpp>

#include "ops/waiting.hpp"
#include "readers.hpp"

// Who reads waits for names of files (SEMANTICS 17, 35).

using namespace waiting;
using tn::element_type;
using namespace reader_test;

TEST_CASE_FIXTURE(in_folder, "SEMANTICS 35: who reads waits for a file name without a thread, and can be stopped") {
    const std::string a = folder / "a";
    write_bytes(a, "1\n2\n");
    by_hand h({.name = "lines"});
    started first(h.read(), h.on);
    CHECK_FALSE(first.done);
    CHECK(first.awaited() == "a file name for reader \"lines\": queue \"names\" to have 1 element; it has 0");
    started second(h.read(), h.on);
    CHECK_FALSE(second.done);
    CHECK(second.awaited() == "its turn to read from reader \"lines\"");
    CHECK(first.stop());
    CHECK_FALSE(first.stop());
    CHECK_FALSE(second.done);
    h.put(a);
    CHECK(value_of(second) == "1");
    CHECK_FALSE(second.stop());
    first.start();
    CHECK(value_of(first) == "2");
    first.start();
    second.start();
    CHECK(second.stop());
    CHECK(first.stop()); // nobody waits for a name any more
    h.put(a);
    CHECK(h.names_left() == 1);
    first.start();
    CHECK(value_of(first) == "1");
    h.close();
    second.start();
    CHECK(value_of(second) == "2");
    first.start();
    CHECK(contains(first.failure, "out_of_range"));
    CHECK(contains(first.failure, "queue \"names\" is closed"));
}

TEST_CASE("records that one who is stopped had taken are the next one's, and nobody waits for more than there is") {
    const temporary_folder folder;
    const std::string a = folder / "a", b = folder / "b";
    write_bytes(a, "1\n2\n3\n");
    write_bytes(b, "4\n");
    by_hand h;
    h.put(a);
    started many(h.read_up_to(5), h.on), one(h.read(), h.on), other(h.read_up_to(3), h.on);
    CHECK_FALSE(many.done);
    CHECK_FALSE(one.done);
    CHECK(many.stop());
    CHECK(value_of(one) == "1");
    CHECK_FALSE(other.done); // has 2 and 3
    h.put(b);
    REQUIRE(other.done);
    CHECK(texts_in(other.got()[1]) == texts{"2", "3", "4"});
    CHECK(texts_in(other.got()[0]) == texts{a + ":2", a + ":3", b + ":1"});
}

TEST_CASE_FIXTURE(in_folder, "a reader may get its names from one queue after another") {
    const std::string a = folder / "a", b = folder / "b";
    write_bytes(a, "1\n");
    write_bytes(b, "2\n");
    by_hand h;
    const tn::fifo_queue<std::string> others(5);
    const tn::operation enqueue = others.enqueue(tn::placeholder<std::string, tn::shape<>>("other"));
    started first(h.read(), h.on), second(std::get<0>(h.lines.read(others)).node(), h.on);
    CHECK(first.stop()); // the one behind it waits for another queue
    started put(enqueue.node(), h.on, tuple(text(b)));
    CHECK(value_of(second) == "2");
    h.put(a);
    CHECK(h.names_left() == 1);
    first.start();
    CHECK(value_of(first) == "1");
}

TEST_CASE("SEMANTICS 26: a shared_name makes readers of several sessions one; another kind of that name is refused") {
    const temporary_folder folder;
    const std::string a = folder / "a";
    write_bytes(a, "1\n2\n");
    device on;
    const auto session = [&](const char* name, auto f) {
        on.session = name;
        own_graph g;
        const tn::fifo_queue<std::string> names(5, {.shared_name = "names"});
        f(names);
    };
    const auto read = [&](const auto& names) {
        const tn::text_line_reader lines({.shared_name = "lines"});
        started s(std::get<0>(lines.read(names)).node(), on);
        return value_of(s);
    };
    session("one", [&](const auto& names) {
        started put(names.enqueue(tn::placeholder<std::string, tn::shape<>>("file")).node(), on, tuple(text(a)));
        CHECK(read(names) == "1");
    });
    session("two", [&](const auto& names) { CHECK(read(names) == "2"); });
    session("three", [&](const auto& names) {
        const tn::whole_file_reader files({.shared_name = "lines"});
        const auto why =
            message_of<tn::invalid_argument_error>([&] { started s(std::get<0>(files.read(names)).node(), on); });
        CHECK_MESSAGE(contains(why, "reader \"lines\""), why);
    });
}

TEST_CASE("who waits is told when the reader's container is cleared") {
    by_hand h;
    started one(h.read(), h.on), two(h.read(), h.on);
    h.on.resources.clear(h.on.session);
    CHECK(contains(one.failure, "aborted"));
    CHECK(contains(two.failure, "aborted"));
}

TEST_CASE(
    "SEMANTICS 17, 37: a step that waits for a file name says so, and that nobody has started what brings names") {
    own_graph g;
    const auto names = tn::string_input_producer({"a"}, {.name = "names"});
    const tn::text_line_reader lines({.name = "lines"});
    const auto [key, line] = lines.read(names);
    tn::session sess;
    const auto why = message_of<tn::deadline_exceeded_error>([&, &line = line] { (void)sess.run_for(0.2, line); });
    CHECK_MESSAGE(contains(why, "a file name for reader \"lines\": queue \"names\" to have 1 element; it has 0"), why);
    CHECK_MESSAGE(contains(why, "the queue runners of \"names\" were never started"), why);
}
