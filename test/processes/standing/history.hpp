#pragma once

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

/// What processes asked of servers and were answered, line by line in files, so that it outlives who wrote it.

namespace standing {

inline constexpr int servers = 2;
inline constexpr std::size_t slots = 64; ///< of a writer's table

enum class kind {
    open, ///< a session
    add,  ///< 1 to a slot of the writer's table
    pair, ///< both variables of the writer's pair become `number`
    put,  ///< an element into the server's queue
    take, ///< an element out of it
    read, ///< a writer's table and pair
};
enum class outcome {
    ok,
    failed,  ///< nothing of it was applied
    unknown, ///< it was applied once, or not at all
};

/// One operation. Times are seconds of the machine's steady clock.
struct operation {
    standing::kind kind{};
    int server = 0;          ///< whose variables and queue
    int writer = 0;          ///< whose table and pair
    std::int64_t number = 0; ///< of a writer's operation, rising; what pairs and elements hold
    double begin = 0, limit = 0;
    double end = -1; ///< below 0: who asked is gone
    standing::outcome outcome = standing::outcome::unknown;
    std::string error;                  ///< the code's name and the words, where it failed
    std::int64_t life = 0;              ///< of the server, as it said; of what was taken: that of the put
    std::int64_t taken = 0;             ///< the element
    std::int64_t first = 0, second = 0; ///< of the pair
    std::vector<std::int64_t> table;    ///< by slot
};

/// A server from when its variables were there until it was killed, or the end.
struct life {
    int server = 0;
    std::int64_t number = 0;
    double begin = 0, end = 1e300;
};

/// An element that says who put it.
inline std::int64_t element(int writer, std::int64_t number) { return std::int64_t{writer} << 40 | number; }

inline double seconds_now() {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// A process's file. A line is written at once: it is there when the process is killed.
class log {
public:
    explicit log(const std::string& file) :
        to_(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {}
    log(const log&) = delete;
    ~log() { ::close(to_); }
    void begun(const operation& o) {
        std::ostringstream line;
        line.precision(17);
        line << "b " << static_cast<int>(o.kind) << ' ' << o.server << ' ' << o.writer << ' ' << o.number << ' '
             << o.begin << ' ' << o.limit << '\n';
        write(line.str());
    }
    void ended(const operation& o) {
        std::ostringstream line;
        line.precision(17);
        line << "e " << o.end << ' ' << static_cast<int>(o.outcome) << ' ' << o.life << ' ' << o.taken << ' ' << o.first
             << ' ' << o.second;
        for (std::size_t s = 0; s < slots && o.kind == kind::read && o.outcome == outcome::ok; ++s)
            line << ' ' << o.table[s];
        if (o.outcome != outcome::ok) {
            line << ' ';
            for (const char c : o.error) line << (c == '\n' ? ' ' : c);
        }
        line << '\n';
        write(line.str());
    }

private:
    void write(const std::string& line) const { (void)!::write(to_, line.data(), line.size()); }
    const int to_;
};

/// Appends what a file holds. Its process does one thing after another.
inline void read_log(const std::string& file, std::vector<operation>& to) {
    std::ifstream from(file);
    for (std::string text; std::getline(from, text);) {
        std::istringstream line(text);
        char what = 0;
        int number = 0;
        line >> what;
        if (what == 'b') {
            operation& o = to.emplace_back();
            line >> number >> o.server >> o.writer >> o.number >> o.begin >> o.limit;
            o.kind = static_cast<kind>(number);
        } else if (what == 'e' && !to.empty()) {
            operation& o = to.back();
            line >> o.end >> number >> o.life >> o.taken >> o.first >> o.second;
            o.outcome = static_cast<outcome>(number);
            if (o.outcome != outcome::ok) std::getline(line >> std::ws, o.error);
            else if (o.kind == kind::read) {
                o.table.resize(slots);
                for (std::int64_t& v : o.table) line >> v;
            }
        }
    }
}

} // namespace standing
