#include "tests.hpp"

namespace {

tn::checkpoint_manifest some() {
    tn::checkpoint_manifest m;
    m.step = 700;
    m.id = "5f02c3aa";
    m.shards = {{"model-700.5f02c3aa-1-of-2.safetensors", 1832, 0xfedcba9876543210u, "/job:ps/replica:0/task:0"},
                {"model-700.5f02c3aa-2-of-2.safetensors", 96, 1, "/job:ps/replica:0/task:1"}};
    m.tensors = {{"layer \"1\"/w", {tn::element_type::float32, {784, 300}}, 1},
                 {"global_step", {tn::element_type::int64, {}}, 0}};
    return m;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    return text.replace(at, what.size(), by);
}

struct change {
    const char *what, *by, *words; // of the error
};
// Each of them damages a text that is good; the error names the file.
void check_refused(const std::string& good, std::initializer_list<change> changes) {
    for (const change& c : changes) {
        INFO(c.by);
        const std::string said = message_of<tn::data_loss_error>(
            [&] { (void)tn::checkpoint_manifest::from_json(replaced(good, c.what, c.by), "run/model-700.json"); });
        CHECK_MESSAGE(contains(said, c.words), said);
        CHECK(contains(said, "run/model-700.json"));
    }
}

} // namespace

TEST_CASE("a manifest comes back from its text") {
    const tn::checkpoint_manifest m = some();
    CHECK(tn::checkpoint_manifest::from_json(m.to_json(), "m") == m);
    CHECK(m.find("global_step")->shard == 0);
    CHECK(m.find("absent") == nullptr);
}

TEST_CASE("a manifest tells the slices of what is in parts, as a later version; without any it is as it was") {
    tn::checkpoint_manifest m = some();
    CHECK(contains(m.to_json(), "\"version\": 1"));
    m.tensors.push_back(
        {"table", {tn::element_type::float32, {10, 4}}, 0, {{"table/part_0", 0, 6, 1}, {"t1", 6, 4, 0}}});
    m.tensors.push_back({"none", {tn::element_type::float32, {0, 4}}, 0, {{"none/part_0", 0, 0, 1}}});
    const std::string good = m.to_json();
    CHECK(contains(good, "\"version\": 2"));
    CHECK(tn::checkpoint_manifest::from_json(good, "m") == m);
    check_refused(good, {{"\"rows\": 6", "\"rows\": 5", "one after the other"},
                         {"\"rows\": 6", "\"rows\": 9223372036854775807", "one after the other"},
                         {"\"rows\": 4", "\"rows\": 3", "one after the other"},
                         {"\"first\": 6", "\"first\": 5", "one after the other"},
                         {"\"first\": 6", "\"first\": -6", "negative"},
                         {"\"table/part_0\"", "7", "a text"}});
    tn::checkpoint_manifest wrong = m;
    wrong.tensors[2].slices[1].shard = 7;
    CHECK_ERROR(tn::data_loss_error, "shard 7 of 2", tn::checkpoint_manifest::from_json(wrong.to_json(), "m"));
    CHECK_ERROR(tn::unimplemented_error, "reads version 3",
                tn::checkpoint_manifest::from_json(replaced(good, "\"version\": 2", "\"version\": 4"), "m"));
}

TEST_CASE("SEMANTICS 46: a manifest tells where iterators are, as a later version; without any it is as it was") {
    tn::checkpoint_manifest m = some();
    CHECK_FALSE(contains(m.to_json(), "iterators"));
    m.iterators = {{"train \"1\"", "model-700.5f02c3aa-1-of-2.iterator", 96, 0xfedcba9876543210u},
                   {"test", "model-700.5f02c3aa-2-of-2.iterator", 8, 0}};
    const std::string good = m.to_json();
    CHECK(contains(good, "\"version\": 3"));
    CHECK(tn::checkpoint_manifest::from_json(good, "m") == m);
    check_refused(good, {{"\"bytes\": 96", "\"bytes\": -1", "negative"},
                         {"\"bytes\": 96", "\"bytes\": \"96\"", "an integer"},
                         {"\"model-700.5f02c3aa-2-of-2.iterator\"", "7", "a text"},
                         {"\"model-700.5f02c3aa-2-of-2.iterator\"", "\"../secret\"", "file"},
                         {"\"iterators\": {", "\"iterators\": 3, \"others\": {", "an object"}});
    // With parts of variables beside them.
    m.tensors.push_back(
        {"table", {tn::element_type::float32, {10, 4}}, 0, {{"table/part_0", 0, 6, 1}, {"t1", 6, 4, 0}}});
    CHECK(tn::checkpoint_manifest::from_json(m.to_json(), "m") == m);
}

TEST_CASE("SEMANTICS 21, 46: a manifest tells how often random ops have run; without any it is as it was, and its "
          "version too") {
    tn::checkpoint_manifest m = some();
    const std::string without = m.to_json();
    CHECK_FALSE(contains(without, "random_runs"));
    m.random_runs = {{"dropout/mask", 700}, {"\"noise\"", std::uint64_t{1} << 62}};
    const std::string good = m.to_json();
    CHECK(contains(good, "\"version\": 1"));
    CHECK(tn::checkpoint_manifest::from_json(good, "m") == m);
    check_refused(good, {{"\"dropout/mask\": 700", "\"dropout/mask\": -1", "negative"},
                         {"\"dropout/mask\": 700", "\"dropout/mask\": \"700\"", "an integer"},
                         {"\"random_runs\": {", "\"random_runs\": [], \"others\": {", "an object"}});
}

TEST_CASE("a manifest has texts of who saves; without any it is as it was, and its version too") {
    tn::checkpoint_manifest m = some();
    CHECK_FALSE(contains(m.to_json(), "metadata"));
    m.metadata = {{"fit/best", "3 0.25"}, {"\"who\"", ""}};
    const std::string good = m.to_json();
    CHECK(contains(good, "\"version\": 1"));
    CHECK(tn::checkpoint_manifest::from_json(good, "m") == m);
    check_refused(good,
                  {{"\"3 0.25\"", "3", "a text"}, {"\"metadata\": {", "\"metadata\": 3, \"others\": {", "an object"}});
}

TEST_CASE("what is no manifest is a data_loss_error that names the file and what is wrong") {
    const std::string good = some().to_json();
    check_refused(good, {{"tenon checkpoint", "another", "no \"tenon checkpoint\""},
                         {"\"step\": 700", "\"step\": -1", "negative"},
                         {"\"step\": 700", "\"step\": \"700\"", "an integer"},
                         {"\"shard\": 1", "\"shard\": 2", "shard 2 of 2"},
                         {"\"float\"", "\"quad\"", "dtype"},
                         {"784", "-784", "size"},
                         {"784", "9223372036854775807", "more elements"},
                         {"xxh64:fedc", "xxh64:fedx", "hash"},
                         {"5f02c3aa\"", "../../aa\"", "8 digits"},
                         // A file is beside its manifest: no text leads elsewhere.
                         {"\"model-700.5f02c3aa-1", "\"../model-1", "no name of a file"},
                         {"\"model-700.5f02c3aa-1", "\"/etc/model-1", "no name of a file"}});
    CHECK_THROWS_AS(tn::checkpoint_manifest::from_json(good.substr(0, good.size() / 2), "m"), tn::data_loss_error);
    CHECK_THROWS_AS(tn::checkpoint_manifest::from_json("", "m"), tn::data_loss_error);
    CHECK_THROWS_AS(tn::checkpoint_manifest::from_json(replaced(good, "\"version\": 1", "\"version\": 4"), "m"),
                    tn::unimplemented_error);
}

TEST_CASE("a saver knows its files by their names, and no others") {
    using tn::detail::checkpoint_file_of;
    CHECK(checkpoint_file_of("model-700.json", "model").step == 700);
    CHECK(checkpoint_file_of("model-700.json", "model").id.empty());
    CHECK(checkpoint_file_of("model-700.5f02c3aa-1-of-2.safetensors", "model").id == "5f02c3aa");
    CHECK(checkpoint_file_of("model-700.5f02c3aa-1-of-2.safetensors.partial-11-2", "model").is_partial);
    CHECK(checkpoint_file_of("model-700.json.partial-11-2", "model").is_partial);
    CHECK(checkpoint_file_of("model.checkpoints.json.partial-11-2", "model").is_partial);
    for (const char* other :
         {"model", "model.checkpoints.json", "model-.json", "model-700", "model-700.txt", "model-700.json.bak",
          "model-a-700.json", "other-700.json", "model-700.5f02c3aa.safetensors",
          "model-700.5F02C3AA-1-of-2.safetensors", "model-700.5f02c3aa-x-of-2.safetensors"})
        CHECK(checkpoint_file_of(other, "model").step == -1);
}
