#pragma once

#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <tenon/tenon.hpp>

#include "examples/support.hpp"

/// What programs of examples/ print, and what the comments above them say that they print.

// What a program prints that is run in a graph of its own, as if nothing had been before it.
template <class Main> std::string output_of(Main run) {
    const tenon::graph g;
    const tenon::graph_scope in(g);
    return printed([&] { CHECK(run() == 0); });
}

inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

// The lines that the comment above a program says it prints.
inline std::vector<std::string> said_output(const std::string& name) {
    const std::string begin = "//     ";
    std::vector<std::string> said;
    for (const std::string& line : lines_of(read_bytes(project_file("examples/" + name)))) {
        if (!line.starts_with("//")) break;
        if (line.starts_with(begin)) said.push_back(line.substr(begin.size()));
    }
    return said;
}

// Whether the output is what was said, where "..." stands for any lines, or for the rest of one.
inline bool is_as_said(const std::string& output, const std::string& name) {
    const std::string dots = "...";
    const std::vector<std::string> lines = lines_of(output), said = said_output(name);
    std::size_t at = 0;
    bool any = false;
    for (const std::string& s : said) {
        if (s == dots) {
            any = true;
            continue;
        }
        const auto fits = [&](const std::string& line) {
            return s.ends_with(dots) ? line.starts_with(s.substr(0, s.size() - dots.size())) : line == s;
        };
        while (any && at < lines.size() && !fits(lines[at])) ++at;
        if (at == lines.size() || !fits(lines[at])) {
            MESSAGE("\"" << s << "\" is not the next line of\n" << output);
            return false;
        }
        ++at;
        any = false;
    }
    return !said.empty() && (any || at == lines.size());
}

// Text without what differs from run to run: one '#' for each number, one space for several.
inline std::string without_numbers(const std::string& text) {
    std::string plain;
    for (const char c : text) {
        const char shown = c >= '0' && c <= '9' ? '#' : c;
        if ((shown == '#' || shown == ' ') && !plain.empty() && plain.back() == shown) continue;
        plain += shown;
    }
    return plain;
}

inline bool is_as_said_without_numbers(const std::string& output, const std::string& name) {
    std::string said;
    for (const std::string& line : said_output(name)) said += line + "\n";
    const bool same = without_numbers(output) == without_numbers(said);
    if (!same) MESSAGE(output);
    return same;
}
