#include <net/launch/rendezvous/rendezvous.hpp>

#include <atomic>

#include <unistd.h>

#include <net/launch/private_file.hpp>
#include <net/rpc/peer.hpp>
#include <tenon/core/error.hpp>
#include <tenon/train/session/stop_signal.hpp>

namespace tenon::net {

namespace {

constexpr std::size_t most_of_file = 4096;

std::string seconds(duration d) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
    return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

} // namespace

const char* name_of_rendezvous_verb(std::uint8_t verb) {
    return verb == 1 ? "rendezvous: join" : verb == 2 ? "rendezvous: place" : "rendezvous: unknown";
}

std::unique_ptr<rendezvous_part> rendezvous_part::begin(transport& t, const rendezvous_point& point,
                                                        rendezvous_options options) {
    if (point.size < 1 || point.rank < 0 || point.rank >= point.size)
        throw invalid_argument_error("rendezvous: rank " + std::to_string(point.rank) + " of " +
                                     std::to_string(point.size) + " processes; ranks begin with 0");
    if (options.serve.empty()) options.serve = point.serve;
    return point.rank == 0 ? host_rendezvous(t, point, std::move(options))
                           : visit_rendezvous(t, point, std::move(options));
}

namespace {

// Whoever answers for the word in the file is rank 0 of another run of this name, which lives: its processes and this one's would mix.
void check_no_other(transport& t, const rendezvous_point& point, const rendezvous_options& options) {
    constexpr duration to_answer = std::chrono::seconds(2);
    rendezvous_file other;
    if (point.rank != 0 || point.file.empty() || !read_rendezvous_file(point.file, other).empty()) return;
    peer_options o{.address = other.address};
    o.self.incarnation = t.random_number();
    o.self.token = options.token + other.word;
    o.self.insecure = options.insecure;
    const auto found = std::make_shared<std::atomic<int>>(0); // 1: it is there, 2: it is not
    const auto rank_0 = peer::make(t, std::move(o));
    const time_point until = t.now() + to_answer;
    rank_0->connect(until, [found, &t](const answer& a) {
        *found = a.failed ? 2 : 1;
        t.wake();
    });
    (void)t.work_until([&] { return *found != 0; }, until + to_answer);
    rank_0->close();
    if (*found == 1)
        throw already_exists_error("rendezvous: another run of the name \"" + point.run +
                                   "\" is under way: its rank 0 serves at " + other.address + ", by " + point.file +
                                   "; stop it, or give this run another name (TENON_RUN) or file (TENON_RENDEZVOUS)");
}

} // namespace

met meet(transport& t, cluster_source& source, const rendezvous_options& options) {
    if (!source.rendezvous) return {};
    const time_point began = t.now();
    check_no_other(t, *source.rendezvous, options);
    auto part = rendezvous_part::begin(t, *source.rendezvous, options);
    // Each part has its own limits; this one is far behind them.
    const tenon::detail::stop_listener on_signal([&t](int) { t.wake(); });
    t.work_until([&] { return part->done() || stop_signal() != 0; },
                 began + 4 * options.limit + std::chrono::minutes(1));
    if (!part->done() && stop_signal() != 0)
        throw cancelled_error("rendezvous: signal " + std::to_string(stop_signal()) +
                              " asked to stop before all ranks had met");
    placed place = part->result();
    source.tasks = std::move(place.tasks);
    source.job = std::move(place.job);
    source.task = place.task;
    source.run = std::move(place.run);
    source.explanation.push_back("all " + std::to_string(source.rendezvous->size) + " ranks have met within " +
                                 seconds(t.now() - began) + ": this process is /job:" + source.job + "/task:" +
                                 std::to_string(source.task) + " at " + source.tasks.address(source.job, source.task));
    if (source.rendezvous->rank != 0) part.reset();
    source.rendezvous.reset();
    return {std::move(place.token), std::move(part)};
}

std::string own_name() {
    char name[256] = {};
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

void write_rendezvous_file(const std::string& path, const rendezvous_file& what) {
    try {
        const std::string folder = private_folder();
        if (path.starts_with(folder + "/")) make_private_folder(folder);
        write_private_file(path, what.address + "\n" + what.word + "\n");
    } catch (const error& e) {
        throw unavailable_error("rendezvous: rank 0 cannot write its address into " + path + ": " + e.what() +
                                "; name a file in a folder that all processes see, as "
                                "TENON_RENDEZVOUS=file:PATH");
    }
}

std::string read_rendezvous_file(const std::string& path, rendezvous_file& what) {
    std::string text;
    try {
        text = read_private_file(path, most_of_file);
    } catch (const unavailable_error& e) {
        return e.what();
    }
    const std::size_t first = text.find('\n'), second = first == std::string::npos ? first : text.find('\n', first + 1);
    if (second == std::string::npos || second + 1 != text.size()) return path + ": it is not what rank 0 writes";
    what.address = text.substr(0, first);
    what.word = text.substr(first + 1, second - first - 1);
    return "";
}

} // namespace tenon::net
