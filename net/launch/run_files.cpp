#include <net/launch/run_files.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <random>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <net/launch/private_file.hpp>
#include <tenon/core/error.hpp>
#include <tenon/io/json/json_parse.hpp>
#include <tenon/io/json/json_reader.hpp>

namespace tenon::net {

namespace {

namespace fs = std::filesystem;
using tenon::detail::json_value;

constexpr std::size_t most_of_file = std::size_t{1} << 20;

std::string place_of_runs() {
    const char* const of_user = std::getenv("XDG_RUNTIME_DIR");
    if (of_user && *of_user == '/' && is_private_folder(of_user)) return std::string(of_user) + "/tenon";
    return private_folder();
}

// What can be read of them, with their paths, the newest first.
std::vector<std::pair<fs::path, run_file>> runs_in(const std::string& folder) {
    std::vector<std::pair<fs::file_time_type, fs::path>> paths;
    std::error_code none;
    for (fs::directory_iterator at(folder, none), end; !none && at != end; at.increment(none))
        if (at->path().extension() == ".json") paths.emplace_back(at->last_write_time(none), at->path());
    std::sort(paths.rbegin(), paths.rend());
    std::vector<std::pair<fs::path, run_file>> runs;
    for (const auto& [time, path] : paths) {
        try {
            runs.emplace_back(path, read_run_file(read_private_file(path.string(), most_of_file)));
        } catch (const error&) { // it ends just now, or is none of ours
        }
    }
    return runs;
}

std::string with_number(const std::string& address) {
    const std::string name = "localhost:";
    return address.starts_with(name) ? "127.0.0.1:" + address.substr(name.size()) : address;
}

} // namespace

bool has_ended(int process) { return ::kill(process, 0) != 0 && errno == ESRCH; }

std::string random_digits(int count) {
    std::random_device random;
    std::string digits;
    for (int i = 0; i < count; ++i) digits += "0123456789abcdef"[random() % 16];
    return digits;
}

std::string to_json(const run_file& r) {
    return tenon::detail::json_text(
               json_value::object{{"run", r.run},
                                  {"token", r.token},
                                  {"cluster", tenon::detail::parse_json(r.tasks.to_json(), "cluster JSON", 4)},
                                  {"pid", r.process}}) +
           "\n";
}

run_file read_run_file(const std::string& json) {
    const json_value root = tenon::detail::parse_json(json, "run file", 5);
    tenon::detail::json_reader all(root, "run file", "the whole");
    run_file r;
    r.run = all.text("run");
    r.token = all.text("token");
    r.process = static_cast<int>(all.number(all.member("pid"), "pid", 1, std::numeric_limits<pid_t>::max()));
    r.tasks = cluster::from_json(tenon::detail::json_text(all.member("cluster")));
    return r;
}

std::string folder_of_runs() {
    const std::string folder = place_of_runs();
    make_private_folder(folder);
    return folder;
}

noted_run::noted_run(const run_file& r) {
    const std::string folder = folder_of_runs();
    std::error_code none;
    for (const auto& [path, old] : runs_in(folder))
        if (has_ended(old.process)) fs::remove(path, none);
    path_ = folder + "/" + r.run + ".json";
    write_private_file(path_, to_json(r));
}

noted_run::~noted_run() { ::unlink(path_.c_str()); }

std::optional<run_file> find_run(const std::string& address) {
    const std::string folder = place_of_runs(), wanted = with_number(address);
    if (!is_private_folder(folder)) return std::nullopt;
    for (auto& [path, r] : runs_in(folder)) {
        if (has_ended(r.process)) continue;
        for (const std::string& job : r.tasks.jobs())
            for (const int t : r.tasks.tasks(job))
                if (with_number(r.tasks.address(job, t)) == wanted) return std::move(r);
    }
    return std::nullopt;
}

} // namespace tenon::net
