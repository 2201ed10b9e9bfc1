#include <filesystem>

#include <net/command/certificates.hpp>
#include <net/transport/peers.hpp>

#include "tests.hpp"

// What `tenon certificates` makes.

using namespace net_test;
using namespace tn::command;

namespace {

tcp_options with(const std::string& folder) {
    return {.tls = tls_options{folder + "/certificate.pem", folder + "/key.pem", folder + "/authorities.pem"}};
}

// Why a client cannot reach a server at this address, or empty where both believe each other.
std::string why_not(const std::string& address, const std::string& server_files, const std::string& client_files) {
    const auto server = make_tcp_transport(with(server_files)), client = make_tcp_transport(with(client_files));
    acceptor a(*server, address);
    const auto user = std::make_shared<recorder>();
    const dialed_result r = dial(*client, a.address(), user);
    if (!r.to) return r.why;
    r.to->send(note("here"));
    CHECK(a.at(0).second->wait_for_messages(1)); // the server has shaken hands, too
    r.to->close("done");
    return "";
}

std::string mistake(const certificates_options& o) {
    return message_of<tn::error>([&] { (void)make_certificates(o); });
}

} // namespace

TEST_CASE("certificates: servers and clients show them, and they are valid for the hosts and this machine alone") {
    const temporary_folder work;
    const std::string own = work / "own", others = work / "others";
    CHECK(make_certificates({.hosts = "127.0.0.3,gpu1,fd00::7", .folder = own}) ==
          "TENON_CERTIFICATE=" + own + "/certificate.pem\nTENON_KEY=" + own + "/key.pem\nTENON_AUTHORITIES=" + own +
              "/authorities.pem\n");
    CHECK(why_not("127.0.0.3:0", own, own).empty());
    CHECK(why_not("127.0.0.1:0", own, own).empty());
    CHECK(why_not("localhost:0", own, own).empty());
    const std::string by_name = why_not("127.0.0.2:0", own, own);
    CHECK_MESSAGE(contains(by_name, "not for '127.0.0.2'"), by_name);
    CHECK_MESSAGE(contains(by_name, "DNS:gpu1"), by_name);

    (void)make_certificates({.hosts = "127.0.0.3", .folder = others});
    const std::string by_authority = why_not("127.0.0.3:0", own, others);
    CHECK_MESSAGE(contains(by_authority, "an authority that is not known here"), by_authority);
}

TEST_CASE("certificates: nobody else can read them, and what is there stays but by --force") {
    const temporary_folder work;
    certificates_options o{.hosts = "a", .folder = work / "tls"};
    (void)make_certificates(o);
    namespace fs = std::filesystem;
    const auto mode = [](const std::string& path) { return static_cast<unsigned>(fs::status(path).permissions()); };
    CHECK(mode(o.folder) == 0700);
    for (const char* name : {"/authorities.pem", "/certificate.pem", "/key.pem"}) CHECK(mode(o.folder + name) == 0600);
    CHECK(std::distance(fs::directory_iterator(o.folder), {}) == 3); // the authority's key is not among them

    const std::string before = read_bytes(o.folder + "/key.pem");
    CHECK(contains(mistake(o), "/certificate.pem' already; give another folder, or --force"));
    CHECK(read_bytes(o.folder + "/key.pem") == before);
    o.force = true;
    (void)make_certificates(o);
    CHECK(read_bytes(o.folder + "/key.pem") != before);
    CHECK(why_not("127.0.0.1:0", o.folder, o.folder).empty());
}

TEST_CASE("certificates: what is no host is named") {
    const temporary_folder work;
    const auto of = [&](const std::string& hosts) { return mistake({.hosts = hosts, .folder = work / "tls"}); };
    CHECK(contains(of("a,,b"), "--hosts \"a,,b\", --days 365: \"\" is no host"));
    CHECK(
        contains(of("a,[::1]"), "\"[::1]\" is no host; give names as DNS has them, or IP addresses without brackets"));
    CHECK(contains(of("a DNS:b"), "\"a DNS:b\" is no host"));
    CHECK(contains(mistake({.hosts = "a", .folder = work / "no/where"}), "the folder cannot be made"));
    CHECK_FALSE(std::filesystem::exists(work / "tls"));
}
