#include <filesystem>

#include <net/server/servers.hpp>
#include <tenon/ops/input/reader.hpp>

#include "tests.hpp"

// Readers on servers: which files they may read.

using namespace net_test;

TEST_CASE("SEMANTICS 35: a reader on a server reads files below the folder that the server allows, and no others") {
    const temporary_folder folder;
    std::filesystem::create_directory(folder.path() / "allowed");
    write_bytes(folder / "allowed/a", "1\n2\n");
    write_bytes(folder / "secret", "3\n");
    tn::server_options o{.files = folder / "allowed"};
    servers all(1, 1, o);
    const own_graph g;
    const tn::device_scope there("/job:worker/task:0");
    const tn::fifo_queue<std::string> names(9);
    const auto file = tn::placeholder<std::string, tn::shape<>>("file");
    const auto put = names.enqueue(file);
    const tn::text_line_reader lines;
    const auto [key, line] = lines.read(names);
    tn::session sess(all.target("worker", 0), g, {.operation_timeout = 60});
    for (const std::string& name :
         {std::string("a"), folder / "secret", std::string("../secret"), "file://" + (folder / "secret")})
        sess.run(tn::feed(file, name), put);
    CHECK(sess.run(key)() == "a:1");
    CHECK(sess.run(line)() == "2");
    for (int i = 0; i < 3; ++i) {
        const auto why = message_of<tn::permission_denied_error>([&, &line = line] { (void)sess.run(line); });
        CHECK_MESSAGE(contains(why, "is outside"), why);
    }
}
