#pragma once

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tenon/core/xxh64.hpp>
#include <tenon/core/error.hpp>
#include <tenon/io/files/file.hpp>
#include <tenon/io/json/json_parse.hpp>
#include <tenon/search/grid_file.hpp>

namespace tenon::detail {

inline constexpr const char* grid_file_format = "tenon grid";

TENON_INLINE std::string grid_identity::described() const {
    return "grid \"" + name + "\" of " + std::to_string(points) + " points (" + axes + "), seed " +
           std::to_string(seed) + ", where " + (smaller_is_better ? "smaller" : "larger") + " is better";
}

namespace grid_lines {

// JSON has no numbers that are none.
inline json_value number(double v) {
    if (std::isfinite(v)) return v;
    return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
}

inline json_value header(const grid_identity& g, const std::string& id) {
    return json_value::object{{"format", grid_file_format},
                              {"version", 1},
                              {"id", id},
                              {"grid", g.name},
                              {"axes", g.axes},
                              {"points", g.points},
                              {"hash", text_of_xxh64(g.points_hash)},
                              {"seed", std::to_string(g.seed)},
                              {"smaller_is_better", g.smaller_is_better}};
}

inline json_value outcome(const trial_outcome& o) {
    json_value::list history, lost;
    for (const reported_score& r : o.history) history.push_back(json_value::list{r.step, number(r.score)});
    for (const std::string& d : o.lost_on) lost.push_back(d);
    json_value::object all{{"point", o.point},
                           {"settings", o.text},
                           {"end", name_of(o.end)},
                           {"score", number(o.score)},
                           {"step", o.best_step},
                           {"history", std::move(history)},
                           {"seconds", number(o.seconds)},
                           {"device", o.device}};
    if (!lost.empty()) all.push_back({"lost_on", std::move(lost)});
    if (!o.message.empty()) all.push_back({"message", is_utf8(o.message) ? o.message : "(no UTF-8)"});
    if (o.weights) all.push_back({"weights", true});
    return all;
}

// Throws an invalid_argument_error that says what is wrong.
class reader {
public:
    explicit reader(const json_value& of) : of_(of) {}
    template <class T> const T& get(const char* name) const {
        const json_value* const v = of_.find(name);
        const T* const is = v ? v->get<T>() : nullptr;
        if (!is) wrong(name);
        return *is;
    }
    static double number(const json_value& v, const char* name) {
        if (const double* d = v.get<double>()) return *d;
        if (const std::int64_t* i = v.get<std::int64_t>()) return static_cast<double>(*i);
        const std::string* const text = v.get<std::string>();
        if (text && *text == "nan") return std::numeric_limits<double>::quiet_NaN();
        if (text && *text == "inf") return std::numeric_limits<double>::infinity();
        if (text && *text == "-inf") return -std::numeric_limits<double>::infinity();
        wrong(name);
    }
    double number(const char* name) const {
        const json_value* const v = of_.find(name);
        if (!v) wrong(name);
        return number(*v, name);
    }
    [[noreturn]] static void wrong(const char* name) {
        throw invalid_argument_error(std::string("\"") + name + "\" is missing, or not what it is to be");
    }

private:
    const json_value& of_;
};

inline std::pair<grid_identity, std::string> header_of(const json_value& v) {
    const reader r(v);
    if (r.get<std::string>("format") != grid_file_format)
        throw invalid_argument_error("it is no file of a grid's results");
    if (r.get<std::int64_t>("version") != 1)
        throw unimplemented_error("it is of version " + std::to_string(r.get<std::int64_t>("version")) +
                                  ", which a later Tenon wrote; this one reads version 1");
    grid_identity g{r.get<std::string>("grid"),      r.get<std::string>("axes"), r.get<std::int64_t>("points"), 0, 0,
                    r.get<bool>("smaller_is_better")};
    if (!xxh64_of_text(r.get<std::string>("hash"), g.points_hash)) reader::wrong("hash");
    for (const char c : r.get<std::string>("seed")) {
        if (c < '0' || c > '9') reader::wrong("seed");
        g.seed = 10 * g.seed + static_cast<std::uint64_t>(c - '0');
    }
    return {std::move(g), r.get<std::string>("id")};
}

inline trial_outcome outcome_of(const json_value& v, const grid_identity& of) {
    const reader r(v);
    trial_outcome o;
    const std::int64_t point = r.get<std::int64_t>("point");
    if (point < 0 || point >= of.points) reader::wrong("point");
    o.point = static_cast<int>(point);
    o.text = r.get<std::string>("settings");
    const std::string& end = r.get<std::string>("end");
    o.end = end == name_of(trial_end::done)      ? trial_end::done
            : end == name_of(trial_end::stopped) ? trial_end::stopped
                                                 : trial_end::failed;
    if (end != name_of(o.end)) reader::wrong("end");
    o.score = r.number("score");
    o.best_step = r.get<std::int64_t>("step");
    for (const json_value& pair : r.get<json_value::list>("history")) {
        const json_value::list* const both = pair.get<json_value::list>();
        const std::int64_t* const step = both && both->size() == 2 ? (*both)[0].get<std::int64_t>() : nullptr;
        if (!step) reader::wrong("history");
        o.history.push_back({*step, reader::number((*both)[1], "history")});
    }
    o.seconds = r.number("seconds");
    o.device = r.get<std::string>("device");
    if (v.find("lost_on"))
        for (const json_value& d : r.get<json_value::list>("lost_on")) {
            if (!d.get<std::string>()) reader::wrong("lost_on");
            o.lost_on.push_back(*d.get<std::string>());
        }
    if (v.find("message")) o.message = r.get<std::string>("message");
    if (v.find("weights")) o.weights = trial_weights(std::string("beside"));
    return o;
}

} // namespace grid_lines

TENON_INLINE grid_file_content read_grid_file(const std::string& path, const grid_identity& of) {
    grid_file_content c;
    std::string text;
    try {
        input_file in("grid_search", path);
        char some[65536];
        for (std::size_t n; (n = in.read(some, sizeof some)) > 0;) text.append(some, n);
    } catch (const not_found_error&) {
        return c;
    }
    int line = 0;
    for (std::size_t end; (end = text.find('\n', c.whole)) != std::string::npos; c.whole = end + 1) {
        ++line;
        std::optional<grid_identity> other;
        try {
            const json_value v = parse_json(text.substr(c.whole, end - c.whole), "its text");
            if (line > 1) c.outcomes.push_back(grid_lines::outcome_of(v, of));
            else {
                auto [there, id] = grid_lines::header_of(v);
                c.id = std::move(id);
                if (there != of) other = std::move(there);
            }
        } catch (const unimplemented_error& e) {
            throw unimplemented_error("grid_search: '" + path + "': " + e.what());
        } catch (const error& e) {
            if (line > 1 && end + 1 == text.size()) break; // the last one, which a lost machine may have left so
            throw data_loss_error("grid_search: '" + path + "' is damaged in line " + std::to_string(line) + ": " +
                                  e.what() + "; give another file, or delete the line");
        }
        if (other)
            throw invalid_argument_error("grid_search: '" + path + "' has the results of " + other->described() +
                                         ", and this is " + of.described() + "; give this one another file");
    }
    // One that is somebody else's is not to be cut off.
    const std::string begin = std::string("{\"format\":\"") + grid_file_format;
    if (line == 0 && text.compare(0, begin.size(), begin, 0, std::min(begin.size(), text.size())) != 0)
        throw data_loss_error("grid_search: '" + path + "' is no file of a grid's results; give another one");
    return c;
}

TENON_INLINE std::string weights_beside(const std::string& path, int point) {
    return path + ".point-" + std::to_string(point) + ".safetensors";
}

TENON_INLINE grid_file::grid_file(std::string path, const grid_identity& of) : path_(std::move(path)) {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor_ < 0) throw_file_error("grid_search", path_, errno);
    try {
        begin(of);
    } catch (...) {
        ::close(descriptor_);
        throw;
    }
}
TENON_INLINE grid_file::~grid_file() { ::close(descriptor_); }

TENON_INLINE void grid_file::begin(const grid_identity& of) {
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK)
            throw aborted_error("grid_search: another search writes to '" + path_ +
                                "' now; wait for its end, or give another file");
        throw_file_error("grid_search", path_, errno);
    }
    content_ = read_grid_file(path_, of);
    if (::ftruncate(descriptor_, static_cast<off_t>(content_.whole)) != 0)
        throw_file_error("grid_search", path_, errno);
    if (!content_.id.empty()) return;
    std::random_device random;
    std::uint64_t bits = 0;
    for (int i = 0; i < 2; ++i) bits = bits << 32 | random();
    content_.id = text_of_xxh64(bits).substr(6); // without "xxh64:"
    write(json_text(grid_lines::header(of, content_.id)) + "\n");
}

TENON_INLINE void grid_file::append(const trial_outcome& o) { write(json_text(grid_lines::outcome(o)) + "\n"); }

TENON_INLINE void grid_file::write(const std::string& line) {
    struct stat status {};
    if (::fstat(descriptor_, &status) == 0 && status.st_nlink == 0)
        throw not_found_error("grid_search: '" + path_ +
                              "' was removed, or replaced, while this search writes to it; what ended "
                              "since is not kept, and run() begins with the file that is there then");
    const off_t before = ::lseek(descriptor_, 0, SEEK_END);
    for (std::size_t done = 0; done < line.size();) {
        const ssize_t n = ::write(descriptor_, line.data() + done, line.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) { // a part of a line that is followed by others would be damage
            const int why = errno;
            if (before >= 0 && ::ftruncate(descriptor_, before) != 0) throw_file_error("grid_search", path_, errno);
            throw_file_error("grid_search", path_, why);
        }
        done += static_cast<std::size_t>(n);
    }
    if (::fsync(descriptor_) != 0) throw_file_error("grid_search", path_, errno);
}

} // namespace tenon::detail
