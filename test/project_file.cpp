#include "project_file.hpp"

std::string project_file(const std::string& name) { return TENON_PROJECT_DIR "/" + name; }
