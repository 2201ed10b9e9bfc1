// Where the processes of a run find each other when their launcher does not say.

#include <net/launch/launchers.hpp>
#include <net/launch/private_file.hpp>
#include <net/wire/text_hash.hpp>

namespace tenon::net {

namespace {

// Outside of the ports that systems give out; the same in all processes of a run.
constexpr unsigned first_port = 20000, ports = 10000, tries = 8, step = 1009;

} // namespace

void meet_on_this_host(ranked_process& p) {
    std::string name = p.run;
    for (char& c : name)
        if (c == '/' || c == ' ') c = '-';
    p.file = private_folder() + "/" + name;
    p.listen = {"127.0.0.1:0"};
    p.how = "all run on this host, so rank 0 serves on loopback and writes its address into " + p.file;
}

void meet_at_ports_of_run(ranked_process& p, const std::vector<std::string>& hosts, const std::string& listen) {
    const std::uint64_t hash = hash_of_text(p.run) >> 1; // whose last bit is always set
    for (unsigned i = 0; i < tries; ++i) {
        const std::string port = ":" + std::to_string(first_port + (hash + i * step) % ports);
        p.listen.push_back(listen + port);
        for (const std::string& host : hosts) p.reached.push_back(host + port);
    }
}

} // namespace tenon::net
