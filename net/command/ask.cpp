#include <net/command/ask.hpp>

#include <cstdio>

#include <net/client/ask_once.hpp>
#include <net/command/printable.hpp>
#include <net/http/status/stalls.hpp>
#include <net/http/status/status_json.hpp>

namespace tenon::command {

namespace {

using namespace net;

std::string in_units(std::uint64_t bytes) {
    const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double size = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; size >= 1024 && unit + 1 < std::size(units); ++unit) size /= 1024;
    char text[32];
    std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", size, units[unit]);
    return text;
}

std::string in_seconds(double s) {
    char text[32];
    if (s < 120) std::snprintf(text, sizeof text, "%.1f s", s);
    else if (s < 7200) std::snprintf(text, sizeof text, "%.0f min", s / 60);
    else std::snprintf(text, sizeof text, "%.1f h", s / 3600);
    return text;
}

// Names, words and descriptions are what others have chosen.
std::string missing_text(const task_row& t) {
    return printable(t.task + " at " + t.address) + ": does not answer: " + printable(t.trouble) + "\n";
}

std::string text_of(const task_row& t) {
    if (!t.reached) return missing_text(t);
    std::string text = printable(t.task + " at " + t.address + ", tenon " + t.version) + ", for " +
                       in_seconds(t.seconds) + (t.stopping ? ", stopping" : "") + "\n";
    for (const device_row& d : t.devices)
        text += "  device " + printable(to_string(d.device.name) + ": " + d.device.description) + ", " +
                in_units(static_cast<std::uint64_t>(d.memory.in_use)) + " in use" +
                (d.memory.limit ? " of " + in_units(static_cast<std::uint64_t>(d.memory.limit)) : "") + "\n";
    for (const holder_row& h : t.holders) text += "  memory of " + h.client + ": " + in_units(h.bytes) + "\n";
    for (const session_row& s : t.sessions)
        text += "  session of " + printable(s.client + " (" + s.peer + ")") + ": " + std::to_string(s.nodes) +
                " nodes, " + std::to_string(s.steps) + " steps, open for " + in_seconds(s.seconds) + ", last used " +
                in_seconds(s.idle) + " ago\n";
    for (const resource_row& r : t.resources) {
        if (r.kind == "counter") continue; // of random ops
        text += "  " + printable(r.kind + " " + r.name + (r.container.empty() ? "" : " in " + r.container) +
                                 (r.description.empty() ? "" : ": " + r.description));
        if (r.bytes) text += ", " + in_units(r.bytes);
        if (r.updates) text += ", " + std::to_string(r.updates) + " updates";
        text += "\n";
    }
    for (const step_row& s : t.steps) {
        text += "  step " + std::to_string(s.step) + ", for " + in_seconds(s.seconds) + "\n";
        for (const wait_row& w : s.waits)
            text += "    " + printable(w.node + " (" + w.op + ") waits for " + w.what) + ", for " +
                    in_seconds(w.seconds) + "\n";
    }
    return text;
}

} // namespace

cluster_status status_of(const std::string& target, bool all_tasks, double seconds, bool as_json) {
    cluster_status s;
    const std::vector<task_row> tasks = ask_once(target, ask_status{all_tasks, seconds}, seconds + 1).tasks;
    if (as_json) s.text = status_json(tasks);
    for (const task_row& t : tasks) {
        if (!as_json) s.text += text_of(t);
        s.is_whole = s.is_whole && t.reached;
    }
    if (!as_json)
        for (const stall& one : stalls_of(tasks)) s.text += "stalled: " + printable(one.words) + "\n";
    return s;
}

std::string devices_text(const std::string& target, double seconds) {
    std::string text;
    for (const task_row& t : ask_once(target, ask_status{true, seconds}, seconds + 1).tasks) {
        if (!t.reached) text += missing_text(t);
        for (const device_row& d : t.devices)
            text += printable(to_string(d.device.name)) + "  " + in_units(static_cast<std::uint64_t>(d.device.memory)) +
                    "  " + printable(d.device.description) + "\n";
    }
    return text;
}

void reset(const std::string& target, const std::vector<std::string>& containers, double seconds) {
    (void)ask_once(target, reset_containers{containers, seconds}, seconds + 1);
}

void stop(const std::string& target, bool all_tasks, double grace, double seconds) {
    stop_server c{.grace = grace, .all_tasks = all_tasks};
    (void)ask_once(target, c, seconds);
}

} // namespace tenon::command
