#pragma once

#include <cstdio>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "project_file.hpp"
#include "temporary_folder.hpp"

inline bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// What `run` writes to standard output.
template <class F> std::string printed(F run) {
    const temporary_folder folder;
    const std::string path = folder / "output";
    std::fflush(stdout);
    const int saved = ::dup(STDOUT_FILENO);
    REQUIRE(saved >= 0);
    REQUIRE(std::freopen(path.c_str(), "w", stdout) != nullptr);
    run();
    std::fflush(stdout);
    ::dup2(saved, STDOUT_FILENO);
    ::close(saved);
    return read_bytes(path);
}

// The text of a program without the comment lines it begins with.
inline std::string program(const std::string& name) {
    const std::string text = read_bytes(project_file("examples/" + name));
    return text.substr(text.find("#include"));
}
