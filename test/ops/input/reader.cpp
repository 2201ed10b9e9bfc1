#include <deque>
#include <filesystem>
#include <zlib.h>

#include <tenon/input.hpp>
#include <tenon/io/files/input_path.hpp>

#include "ops/waiting.hpp"
#include "readers.hpp"

using namespace reader_test;
using namespace waiting;
using tn::element_type;

TEST_CASE("SEMANTICS 35: a reader gives lines of the files that a queue names, and keeps its place from run to run") {
    const temporary_folder folder;
    const std::string a = folder / "a.csv", b = folder / "b.csv";
    write_bytes(a, "x,y\n1,2\r\n3,4\n");
    write_bytes(b, "x,y\n5,6");
    own_graph g;
    CHECK(all_of(tn::text_line_reader({.skip_header_lines = 1}), {a, b}) ==
          texts{a + ":2=1,2", a + ":3=3,4", b + ":2=5,6"});
}

TEST_CASE("SEMANTICS 35: whole files, records of fixed length, TFRecords, IDX and .npy elements, packed or not") {
    const temporary_folder folder;
    const std::string a = folder / "a", b = folder / "b";
    own_graph g;
    write_bytes(a, "one\ntwo\n");
    write_bytes(b, "");
    CHECK(all_of(tn::whole_file_reader(), {a, b}) == texts{a + "=one\ntwo\n", b + "="});
    write_bytes(a, "HHabcdefF");
    CHECK(all_of(tn::fixed_length_record_reader(3, {.header_bytes = 2, .footer_bytes = 1}), {a}) ==
          texts{a + ":1=abc", a + ":2=def"});
    write_bytes(a, tfrecords({"one", "", "three"}));
    write_gzip(b, tfrecords({"four"}));
    CHECK(all_of(tn::tf_record_reader(), {a, b}) == texts{a + ":1=one", a + ":2=", a + ":3=three", b + ":1=four"});
    CHECK(all_of(tn::tf_record_reader({.compressed = tn::compression::gzip}), {b}) == texts{b + ":1=four"});
    write_bytes(a, std::string("\0\0\x08\x02\0\0\0\x02\0\0\0\x03", 12) + "abcdef");
    CHECK(all_of(tn::idx_reader(), {a}) == texts{a + ":1=abc", a + ":2=def"});
    const tn::array<std::int16_t> pairs{{1, 2}, {3, 4}};
    tn::write_npy(a, pairs);
    CHECK(all_of(tn::npy_reader(), {a}) ==
          texts{a + ":1=" + std::string("\1\0\2\0", 4), a + ":2=" + std::string("\3\0\4\0", 4)});
    write_bytes(a, "1,\"a\nb\"\n2,c\n");
    CHECK(all_of(tn::text_line_reader({.csv_rows = true}), {a}).size() == 2);
}

TEST_CASE_FIXTURE(in_folder, "SEMANTICS 35: read_up_to goes on from file to file; only the end gives fewer") {
    texts files;
    for (int f = 0; f < 3; ++f) {
        files.push_back(folder / std::to_string(f));
        write_bytes(files.back(), std::to_string(10 * f) + "\n" + std::to_string(10 * f + 1) + "\n");
    }
    own_graph g;
    tn::session sess({.operation_timeout = 60});
    const reading from(sess, tn::text_line_reader(), files);
    const auto [keys, values] = from.reader.read_up_to<some>(from.names, 4);
    static_assert(std::is_same_v<decltype(values), const tn::tensor<std::string, tn::shape<some>>>);
    const auto [k, v] = sess.run(keys, values);
    CHECK(texts_of(k) == texts{files[0] + ":1", files[0] + ":2", files[1] + ":1", files[1] + ":2"});
    CHECK(texts_of(v) == texts{"0", "1", "10", "11"});
    CHECK(texts_of(sess.run(values)) == texts{"20", "21"});
    CHECK_THROWS_AS((void)sess.run(values), tn::end_of_data_error);
    const auto [no_keys, none] = from.reader.read_up_to(from.names, 0);
    CHECK(sess.run(none).size() == 0);
}

TEST_CASE_FIXTURE(in_graph_and_folder, "a reader counts records and files, and can be reset") {
    const std::string a = folder / "a", b = folder / "b";
    write_bytes(a, "1\n2\n3\n");
    write_bytes(b, "4\n");
    tn::session sess({.operation_timeout = 60});
    const reading from(sess, tn::text_line_reader({.name = "lines"}), {a, b, a});
    const auto records = from.reader.num_records_produced();
    const auto files = from.reader.num_work_units_completed();
    const auto reset = from.reader.reset();
    CHECK(records.name() == "lines/num_records_produced");
    CHECK(reset.name() == "lines/reset");
    const auto given = from.reader.read(from.names);
    [[maybe_unused]] const auto &key = std::get<0>(given), &value = std::get<1>(given);
    CHECK(key.name() == "lines/read");
    for (int i = 0; i < 4; ++i) (void)sess.run(value);
    CHECK(sess.run(records)() == 4);
    CHECK(sess.run(files)() == 1);
    CHECK(sess.run(value)() == "1");
    CHECK(sess.run(files)() == 2);
    sess.run(reset);
    CHECK(sess.run(records)() == 0);
    CHECK_THROWS_AS((void)sess.run(value), tn::end_of_data_error); // the file that was being read is left
}

TEST_CASE_FIXTURE(in_graph_and_folder, "one step takes one record, whatever of it is fetched") {
    const std::string a = folder / "a";
    write_bytes(a, "1\n2\n3\n");
    tn::session sess({.operation_timeout = 60});
    const reading from(sess, tn::text_line_reader(), {a});
    const auto given = from.reader.read(from.names);
    [[maybe_unused]] const auto &key = std::get<0>(given), &value = std::get<1>(given);
    CHECK(sess.run(key)() == a + ":1");
    const auto [k, v, again] = sess.run(key, value, value);
    CHECK(k() == a + ":2");
    CHECK(v() == "2");
    CHECK(again() == "2");
}

TEST_CASE_FIXTURE(in_graph, "a file that cannot be opened is an error that names it, once; then comes the next file") {
    const temporary_folder folder;
    const std::string gone = folder / "gone", good = folder / "good", hidden = folder / "hidden";
    write_bytes(good, "1\n");
    write_bytes(hidden, "2\n");
    std::filesystem::permissions(hidden, std::filesystem::perms::none);
    tn::session sess({.operation_timeout = 60});
    const reading from(sess, tn::text_line_reader({.name = "lines"}),
                       {gone, folder.path().string(), hidden, good, "nobody://has/it"});
    const auto given = from.reader.read(from.names);
    [[maybe_unused]] const auto &key = std::get<0>(given), &value = std::get<1>(given);
    const auto missing = message_of<tn::not_found_error>([&] { (void)sess.run(value); });
    CHECK_MESSAGE(contains(missing, gone), missing);
    CHECK_MESSAGE(contains(missing, "reader \"lines\""), missing);
    const auto of_folder = message_of<tn::invalid_argument_error>([&] { (void)sess.run(value); });
    CHECK_MESSAGE(contains(of_folder, folder.path().string()), of_folder);
    if (::geteuid() == 0) CHECK(sess.run(value)() == "2"); // whom no permission stops
    else CHECK_THROWS_AS((void)sess.run(value), tn::permission_denied_error);
    CHECK(sess.run(value)() == "1");
    CHECK_THROWS_AS((void)sess.run(value), tn::not_found_error);
    CHECK_THROWS_AS((void)sess.run(value), tn::end_of_data_error);
}

TEST_CASE_FIXTURE(in_folder, "what comes before damage is given first, then the error, then what is behind it") {
    const std::string a = folder / "a", b = folder / "b";
    std::string bytes = tfrecords({"one", "two", "three", "four"});
    bytes[(12 + 3 + 4) * 2 + 12] ^= 1; // in "three"
    write_bytes(a, bytes);
    write_bytes(b, tfrecords({"five"}));
    {
        own_graph g;
        tn::session sess({.operation_timeout = 60});
        const reading from(sess, tn::tf_record_reader(), {a, b});
        const auto [keys, values] = from.reader.read_up_to(from.names, 10);
        CHECK(texts_of(sess.run(values)) == texts{"one", "two"});
        const auto damage = message_of<tn::data_loss_error>([&, &values = values] { (void)sess.run(values); });
        CHECK_MESSAGE(contains(damage, a), damage);
        CHECK(texts_of(sess.run(values)) == texts{"four", "five"});
    }
    own_graph g;
    tn::session sess({.operation_timeout = 60});
    const reading from(sess, tn::tf_record_reader({.ignore_errors = true}), {a, b, a});
    const auto ignored = from.reader.num_records_ignored();
    const auto [keys, values] = from.reader.read_up_to(from.names, 4);
    CHECK(texts_of(sess.run(values)) == texts{"one", "two", "four", "five"});
    CHECK(sess.run(ignored)() == 1);
    CHECK(texts_of(sess.run(values)) == texts{"one", "two", "four"});
    CHECK(sess.run(ignored)() == 2);
}

TEST_CASE("a reader and the queue of its names are on one device: one that is asked for elsewhere is an error") {
    const temporary_folder folder;
    const std::string a = folder / "a";
    write_bytes(a, "1\n");
    own_graph g;
    const auto second = [](auto f) { return tn::on("/cpu:1", f); };
    const tn::text_line_reader lines = second([] { return tn::text_line_reader({.name = "lines"}); });
    const tn::fifo_queue<std::string> follows(3, {.name = "follows"});
    const tn::fifo_queue<std::string> fixed =
        tn::on("/cpu:0", [] { return tn::fifo_queue<std::string>(3, {.name = "fixed"}); });
    const auto [k1, v1] = lines.read(follows);
    const auto [k2, v2] = lines.read(fixed);
    tn::session sess(g, {.operation_timeout = 60, .cpu_devices = 2});
    // Both are placed by the first step that needs them.
    CHECK(sess.run(v1, follows.enqueue(tn::constant(a)))() == "1");
    const auto why = message_of<tn::invalid_argument_error>([&, &v2 = v2] { (void)sess.run(v2); });
    CHECK_MESSAGE(contains(why, "which they must share"), why);
    CHECK_MESSAGE(contains(why, "fixed"), why);
}

TEST_CASE_FIXTURE(in_folder, "a graph with a reader is written and read") {
    const std::string a = folder / "a";
    write_bytes(a, "x\n1\n");
    std::string json;
    {
        own_graph g;
        const tn::fifo_queue<std::string> names(3, {.name = "names"});
        const tn::text_line_reader lines({.skip_header_lines = 1, .name = "lines"});
        (void)lines.read(names);
        json = tn::to_json(g);
    }
    const tn::graph g = tn::graph_from_json(json);
    const tn::graph_scope in(g);
    const tn::reader lines(tn::untyped::reader(g.tensor("lines")));
    CHECK(lines.untyped().format().skip_header_lines == 1);
    tn::session sess(g, {.operation_timeout = 60});
    const tn::queue<std::string> names(tn::untyped::queue(g.tensor("names")));
    sess.run(names.enqueue(tn::constant(a)));
    CHECK(sess.run(tn::as<std::string, tn::shape<>>(g.tensor("lines/read:1")))() == "1");
}

TEST_CASE_FIXTURE(in_graph, "what is no reader, no queue of names or no format is refused where the graph is made") {
    const tn::fifo_queue<std::int64_t> numbers(3, {.name = "numbers"});
    const tn::fifo_queue<std::string> names(3);
    const tn::text_line_reader lines({.name = "lines"});
    CHECK_ERROR(tn::invalid_argument_error, "file names are scalar strings", lines.untyped().read(numbers.untyped()));
    CHECK_ERROR(tn::invalid_argument_error, "-1 records", lines.read_up_to(names, -1));
    CHECK_ERROR(tn::invalid_argument_error, "stands for no reader", tn::untyped::reader(names.untyped().handle()));
    CHECK_ERROR(tn::invalid_argument_error, "record_bytes is 0", tn::fixed_length_record_reader(0));
    CHECK_ERROR(tn::invalid_argument_error, "reader \"x\"",
                tn::text_line_reader({.skip_header_lines = -1, .name = "x"}));
}

TEST_CASE(
    "paths with and without file:// are those that the task allows; other file systems are their owners' matter") {
    const temporary_folder folder;
    std::filesystem::create_directory(folder.path() / "in");
    write_bytes(folder / "in/a", "1\n");
    write_bytes(folder / "out", "2\n");
    const auto allowed = tn::file_access::below(folder / "in");
    CHECK(tn::input_path(allowed, "reader", "a") == tn::input_path(allowed, "reader", "file://a"));
    CHECK(tn::input_path(allowed, "reader", "memory://x/y") == "memory://x/y");
    for (const std::string& path : {folder / "out", "file://" + (folder / "out"), std::string("file://../out")})
        CHECK_THROWS_AS(tn::input_path(allowed, "reader", path), tn::permission_denied_error);
    CHECK_THROWS_AS(tn::input_path(tn::file_access::none(), "reader", "file://a"), tn::permission_denied_error);
}

TEST_CASE("random reads, stops and names: all records come once, in the order of the files, to whom is served") {
    const temporary_folder folder;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random(seed);
        const auto below = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
        texts wanted, came;
        by_hand h;
        int line = 0, file = 0;
        std::deque<std::unique_ptr<started>> waiting;
        // Those that are done: only the first ones, in their order.
        const auto collect = [&] {
            while (!waiting.empty() && waiting.front()->done) {
                REQUIRE(waiting.front()->failure == "");
                for (const std::string& v : texts_in(waiting.front()->got()[1])) came.push_back(v);
                waiting.pop_front();
            }
            for (const auto& w : waiting) REQUIRE_FALSE(w->done);
        };
        for (int step = 0; step < 40; ++step) {
            switch (below(4)) {
            case 0: {
                std::string bytes;
                for (int i = 0, n = below(4); i < n; ++i) {
                    wanted.push_back(std::to_string(line++));
                    bytes += wanted.back() + "\n";
                }
                const std::string path = folder / (std::to_string(seed) + "-" + std::to_string(file++));
                write_bytes(path, bytes);
                h.put(path);
                break;
            }
            case 1: waiting.push_back(std::make_unique<started>(h.read(), h.on)); break;
            case 2: waiting.push_back(std::make_unique<started>(h.read_up_to(1 + below(4)), h.on)); break;
            case 3:
                if (!waiting.empty()) {
                    const auto at = waiting.begin() + below(static_cast<int>(waiting.size()));
                    REQUIRE((*at)->stop());
                    waiting.erase(at);
                }
            }
            collect();
        }
        h.close();
        while (!waiting.empty()) {
            started& first = *waiting.front();
            REQUIRE(first.done);
            if (first.failure.empty())
                for (const std::string& v : texts_in(first.got()[1])) came.push_back(v);
            else CHECK(contains(first.failure, "out_of_range"));
            waiting.pop_front();
        }
        for (;;) {
            started rest(h.read_up_to(3), h.on);
            REQUIRE(rest.done);
            if (!rest.failure.empty()) break;
            for (const std::string& v : texts_in(rest.got()[1])) came.push_back(v);
        }
        CHECK(came == wanted);
    }
}

TEST_CASE_FIXTURE(in_graph_and_folder, "threads that read, and are stopped in mid-wait, get each record once") {
    const tn::fifo_queue<std::string> names(3);
    const auto file = tn::placeholder<std::string, tn::shape<>>("file");
    const auto put = names.enqueue(file);
    const auto close = names.close();
    const tn::text_line_reader lines;
    const auto [key, one] = lines.read(names);
    const auto [keys, many] = lines.read_up_to(names, 3);
    tn::session sess(g, {.operation_timeout = 60});
    constexpr int files = 60, each = 7, readers = 4;
    std::mutex guard; // of what came
    std::multiset<std::string> came;
    std::vector<std::thread> all;
    for (int r = 0; r < readers; ++r)
        all.emplace_back([&, r, &many = many, &one = one] {
            auto read_one = sess.callable(tn::feeds(), tn::fetches(one));
            auto read_many = sess.callable(tn::feeds(), tn::fetches(many));
            try {
                for (int i = 0;; ++i) {
                    texts got;
                    try {
                        if ((i + r) % 2 == 0) {
                            auto step = read_one.start();
                            if (i % 3 == 0) step.stop();
                            got.push_back(std::get<0>(step.get())());
                        } else {
                            auto step = read_many.start();
                            if (i % 5 == 0) step.stop();
                            got = texts_of(std::get<0>(step.get()));
                        }
                    } catch (const tn::cancelled_error&) {
                        continue;
                    }
                    const std::lock_guard lock(guard);
                    came.insert(got.begin(), got.end());
                }
            } catch (const tn::end_of_data_error&) {
            }
        });
    for (int f = 0; f < files; ++f) {
        std::string bytes;
        for (int i = 0; i < each; ++i) bytes += std::to_string(f * each + i) + "\n";
        const std::string path = folder / std::to_string(f);
        write_bytes(path, bytes);
        sess.run(tn::feed(file, path), put);
    }
    sess.run(close);
    for (std::thread& t : all) t.join();
    // A step that was stopped when it had its record already has lost it, as with a queue's element; none comes twice.
    const std::set<std::string> different(came.begin(), came.end());
    CHECK(different.size() == came.size());
    const auto produced = sess.run(lines.num_records_produced())();
    CHECK(produced == files * each);
    CHECK(came.size() <= files * each);
}
