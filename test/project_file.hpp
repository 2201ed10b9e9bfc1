#pragma once

#include <string>

/// The path of a file of the project. project_file.cpp alone is told where that is: what else tests are made of is the same in every copy
/// of the project, and compiled once for all of them.
std::string project_file(const std::string& name);
