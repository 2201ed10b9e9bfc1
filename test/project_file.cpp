#include "project_file.hpp"

#include <cstdlib>

// A program may run elsewhere than it was built (cuda/check.sh).
std::string project_file(const std::string& name) {
    const char* const here = std::getenv("TENON_PROJECT_DIR");
    return (here ? here : TENON_PROJECT_DIR) + ("/" + name);
}
