#include <doctest/doctest.h>

#include "messages.hpp"
#include "saver_model.hpp"

// Checkpoints and lists of them that are damaged (SEMANTICS 46).

namespace tn = tenon;
using namespace saver_test;

TEST_CASE("SEMANTICS 46: a damaged shard is named, and no variable of any task has changed") {
    const temporary_folder folder;
    model m(2);
    m.sess->run(m.initialize);
    tn::saver saver(folder / "m");
    const tn::saved_checkpoint saved = saver.save(*m.sess, 1);
    for (const auto& v : m.v) m.sess->run(v.assign_add(1.0f));
    const auto now = m.values();
    for (const auto& shard : saved.manifest.shards) {
        const std::string path = folder / shard.file, good = read_bytes(path);
        std::string bad = good;
        bad[bad.size() - 3] ^= 8;
        for (const std::string& bytes : {bad, good.substr(0, good.size() - 1), std::string()}) {
            write_bytes(path, bytes);
            CHECK_ERROR(tn::data_loss_error, shard.file, saver.restore(*m.sess));
            CHECK(m.values() == now);
        }
        std::filesystem::remove(path);
        CHECK_ERROR(tn::data_loss_error, shard.file, saver.restore(*m.sess));
        CHECK(m.values() == now);
        write_bytes(path, good);
    }
    write_bytes(saved.path, "{\"format\": \"tenon");
    CHECK_ERROR(tn::data_loss_error, "m-1.json", saver.restore(*m.sess));
}

TEST_CASE("SEMANTICS 46: where the newest is damaged restore says so, and takes the last that is whole where that is "
          "asked for") {
    const temporary_folder folder;
    model m(2);
    m.sess->run(m.initialize);
    tn::saver saver(folder / "m");
    std::vector<tn::saved_checkpoint> saved;
    std::vector<std::vector<tn::array<float, vector4>>> was;
    for (int i = 0; i < 4; ++i) {
        saved.push_back(saver.save(*m.sess, i));
        was.push_back(m.values());
        for (const auto& v : m.v) m.sess->run(v.assign_add(1.0f));
    }
    const auto fall_back = [&](int to, std::size_t passed_over) {
        const tn::restored_checkpoint r = saver.restore(*m.sess, {.fall_back = true});
        CHECK(r.step == to);
        CHECK(r.path == saved[static_cast<std::size_t>(to)].path);
        CHECK(r.passed_over.size() == passed_over);
        CHECK(m.values() == was[static_cast<std::size_t>(to)]);
        return r.passed_over;
    };
    fall_back(3, 0);
    const std::string shard = folder / saved[3].manifest.shards[1].file, good = read_bytes(shard);
    write_bytes(shard, good.substr(0, good.size() - 1));
    CHECK_ERROR(tn::data_loss_error, "restore_options::fall_back", saver.restore(*m.sess));
    CHECK(m.values() == was[3]);
    const names lines = fall_back(2, 1);
    CHECK(lines[0].find(saved[3].path) == 0);
    CHECK(contains(lines[0], saved[3].manifest.shards[1].file));
    std::filesystem::remove(folder / saved[2].manifest.shards[0].file); // one that is lost
    fall_back(1, 2);
    write_bytes(saved[1].path, "{}"); // a manifest that is none
    fall_back(0, 3);
    write_bytes(shard, good);
    CHECK(saver.restore(*m.sess, {.checkpoint = saved[2].path, .fall_back = true}).step == 0); // those before it
    fall_back(3, 0);
    std::filesystem::remove(saved[3].path);
    fall_back(0, 3);
    write_bytes(folder / "m.checkpoints.json", "{\"format\": "); // the list too
    CHECK_THROWS_AS(saver.restore(*m.sess), tn::data_loss_error);
    fall_back(0, 3);
    std::filesystem::remove(folder / saved[0].manifest.shards[0].file);
    CHECK_ERROR(tn::data_loss_error, "is whole:", saver.restore(*m.sess, {.fall_back = true}));
}

TEST_CASE(
    "SEMANTICS 46: a list of checkpoints that is damaged is named, with what to do; where that is asked for they are "
    "found by their manifests") {
    const temporary_folder folder;
    model m(1);
    m.sess->run(m.initialize);
    tn::saver saver(folder / "m");
    for (int i = 1; i <= 3; ++i) (void)saver.save(*m.sess, i);
    const std::string list = folder / "m.checkpoints.json", good = read_bytes(list);
    for (const std::string& bytes :
         {std::string(), good.substr(0, good.size() / 2), std::string(good.size(), '\0'), std::string("{}"),
          std::string("[]"), std::string("{\"format\": \"tenon checkpoints\", \"version\": 1, \"kept\": 3}"),
          std::string("{\"format\": \"tenon checkpoints\", \"version\": 1, \"kept\": [3]}"),
          std::string("{\"format\": \"tenon checkpoints\", \"version\": \"1\", \"kept\": []}"),
          std::string("{\"format\": \"tenon checkpoints\", \"version\": 0, \"kept\": []}")}) {
        INFO(bytes);
        write_bytes(list, bytes);
        for (const char* words : {"m.checkpoints.json'", "restore_options::fall_back), or delete it"}) {
            CHECK_ERROR(tn::data_loss_error, words, saver.restore(*m.sess));
            CHECK_ERROR(tn::data_loss_error, words, saver.checkpoints(*m.sess));
        }
        const tn::restored_checkpoint r = saver.restore(*m.sess, {.fall_back = true});
        CHECK(r.step == 3);
        REQUIRE(r.passed_over.size() == 1);
        CHECK(r.passed_over[0].find(list + ": ") == 0);
        names damaged;
        CHECK(saver.checkpoints(*m.sess, &damaged) ==
              names{folder / "m-1.json", folder / "m-2.json", folder / "m-3.json"});
        CHECK(damaged == r.passed_over);
        CHECK(read_bytes(list) == bytes);
    }
    write_bytes(folder / "m-3.json", "");
    CHECK(saver.restore(*m.sess, {.fall_back = true}).step == 2);
    write_bytes(list, good);
    std::filesystem::remove(folder / "m-2.json"); // one that the list names
    CHECK(saver.restore(*m.sess, {.fall_back = true}).step == 1);
    for (const char* const file : {"m-1.json", "m-3.json", "m.checkpoints.json"}) write_bytes(folder / file, "");
    CHECK_ERROR(tn::data_loss_error, "is whole:", saver.restore(*m.sess, {.fall_back = true}));
}

TEST_CASE("SEMANTICS 46: a save makes a list that is damaged anew of what is whole, says so, and removes nothing") {
    const temporary_folder folder;
    model m(1);
    m.sess->run(m.initialize);
    tn::saver a(folder / "m", {.keep = 2}), b(folder / "m", {.keep = 0});
    for (int i = 1; i <= 4; ++i) (void)b.save(*m.sess, i);
    const std::string list = folder / "m.checkpoints.json";
    const int files = folder.file_count();
    std::filesystem::resize_file(list, 0);
    write_bytes(folder / "m-2.json", "{");
    write_bytes(list + ".partial-1-1", "{"); // of one that was killed
    const tn::saved_checkpoint saved = a.save(*m.sess, 5);
    REQUIRE(saved.passed_over.size() == 2);
    CHECK(saved.passed_over[0].find(list + ": ") == 0);
    CHECK(saved.passed_over[1].find(folder / "m-2.json: ") == 0);
    CHECK(a.checkpoints(*m.sess) ==
          names{folder / "m-1.json", folder / "m-3.json", folder / "m-4.json", folder / "m-5.json"});
    CHECK(folder.file_count() == files + 3); // the checkpoint, and what was left
    CHECK(a.restore(*m.sess).step == 5);
    // The other has its turn before the next save removes again.
    CHECK(b.save(*m.sess, 6).passed_over.empty());
    CHECK(a.save(*m.sess, 7).passed_over.empty());
    CHECK(a.checkpoints(*m.sess) == names{folder / "m-6.json", folder / "m-7.json"});
    CHECK(folder.file_count() == 2 * 2 + 1);
    CHECK_FALSE(std::filesystem::exists(folder / "m.lease"));
    // A step that is saved again is not there twice.
    std::filesystem::resize_file(list, 10);
    CHECK(a.save(*m.sess, 6).passed_over.size() == 1);
    CHECK(a.checkpoints(*m.sess) == names{folder / "m-7.json", folder / "m-6.json"});
    // A manifest that is damaged, where there is no list.
    std::filesystem::remove(list);
    write_bytes(folder / "m-7.json", "");
    CHECK(a.save(*m.sess, 8).passed_over.size() == 1);
    CHECK(a.checkpoints(*m.sess) == names{folder / "m-6.json", folder / "m-8.json"});
}

TEST_CASE("SEMANTICS 46: a list, or a manifest, of a later version is not taken for a damaged one: it is refused, and "
          "stays") {
    const temporary_folder folder;
    model m(1);
    m.sess->run(m.initialize);
    tn::saver saver(folder / "m");
    (void)saver.save(*m.sess, 1);
    const auto refused = [&](const std::string& file, const std::string& bytes) {
        write_bytes(folder / file, bytes);
        const int files = folder.file_count();
        CHECK_ERROR(tn::unimplemented_error, "a later Tenon wrote", saver.restore(*m.sess));
        CHECK_THROWS_AS(saver.restore(*m.sess, {.fall_back = true}), tn::unimplemented_error);
        CHECK_ERROR(tn::unimplemented_error, file, saver.save(*m.sess, 2));
        CHECK(read_bytes(folder / file) == bytes);
        CHECK(folder.file_count() == files);
    };
    refused("m.checkpoints.json", "{\"format\": \"tenon checkpoints\", \"version\": 2, \"newest\": 1}");
    std::filesystem::remove(folder / "m.checkpoints.json");
    refused("m-1.json", "{\"format\": \"tenon checkpoint\", \"version\": 9}");
}
