#include <tenon/graph/graph.hpp>
#include <tenon/graph/scope.hpp>

#pragma GCC diagnostic error "-Wunused-result"
#pragma GCC diagnostic error "-Wunused-value"

// case name: a scope without a name of its own ends where it begins
// error[gcc]: ignoring return value of .*name_scope.*nodiscard
// error[clang]: ignoring temporary created by a constructor declared with 'nodiscard'
void layer() {
    tenon::name_scope("layer");          // wrong
    const tenon::name_scope in("layer"); // right
}

// case controls
// error[gcc]: ignoring return value of .*control_dependencies.*nodiscard
// error[clang]: ignoring temporary created by a constructor declared with 'nodiscard'
void later(const tenon::operation& train) {
    tenon::control_dependencies{train};             // wrong
    const tenon::control_dependencies after(train); // right
}
