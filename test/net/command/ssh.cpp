#include <net/command/hosts.hpp>
#include <net/command/ssh.hpp>

#include "tests.hpp"

// What is said to ssh; what becomes of it is tested with processes (test/processes/ssh.sh).

using namespace tenon::command;

TEST_CASE("ssh: variables and certificates are part of no command line") {
    task_plan plan;
    plan.job = "worker";
    plan.arguments = {"train", "it's"};
    plan.variables = {{"TENON_TOKEN", "secret's"}};
    plan.login = "ada@gpu1";
    ssh_options o;
    o.command = "ssh -F 'my config'";
    o.folder = "/data/run 1";
    o.certificates = tn::net::cluster_certificates{"AUTHORITIES\n", "CERTIFICATE\n", "KEY\n"};
    send_by_ssh(plan, o);
    CHECK(plan.variables.empty());
    REQUIRE(plan.input);
    CHECK(plan.arguments == std::vector<std::string>{"sh", "-c", "exec ssh -F 'my config' \"$@\"", "sh", "ada@gpu1",
                                                     "exec sh -c 'eval \"$(dd bs=1 count=" +
                                                         std::to_string(plan.input->text.size()) + " 2>/dev/null)\"'"});
    for (const char* part : {"export TENON_TOKEN='secret'\\''s'\n", "\nKEY\nEND_", "cd '/data/run 1' ",
                             "'train' 'it'\\''s' ", "export TENON_KEY=\"$tenon_folder/key.pem\"\n"})
        CHECK_MESSAGE(contains(plan.input->text, part), part << " is not in " << plan.input->text);
}

TEST_CASE("launch: lists of hosts") {
    const auto hosts = read_hosts("--hosts", "a,ada@b,c=10.0.0.3,ada@d=d.local,fe80::7");
    REQUIRE(hosts.size() == 5);
    const std::string logins[] = {"a", "ada@b", "c", "ada@d", "fe80::7"},
                      addresses[] = {"a", "b", "10.0.0.3", "d.local", "fe80::7"};
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        CHECK(hosts[i].login == logins[i]);
        CHECK(hosts[i].address == addresses[i]);
    }
    CHECK(before_port("fe80::7") == "[fe80::7]");
    for (const char* wrong : {"", "a,", "-oProxyCommand=x", "a b", "a=", "=a", "@a", "a;b", "ada@-x y", "a=b=c"}) {
        const std::string said = message_of<tn::invalid_argument_error>([&] { read_hosts("--ps-hosts", wrong); });
        CHECK_MESSAGE(contains(said, "--ps-hosts \"" + std::string(wrong) + "\""), said);
    }
}

TEST_CASE("launch: variables that are handed on are there") {
    CHECK(variables_of_shell({"PATH"}).at(0).first == "PATH");
    CHECK_ERROR(tn::invalid_argument_error, "--env TENON_NO_SUCH: this shell has no such variable",
                variables_of_shell({"TENON_NO_SUCH"}));
    CHECK_ERROR(tn::invalid_argument_error, "--env PATH=x: this is no variable's name", variables_of_shell({"PATH=x"}));
}
