#pragma once

#include <string>
#include <vector>

#include <net/wire/rows.hpp>

/// What tasks say of themselves as JSON: /status.json, tenon status --json. docs/operating.md says what its members are.

namespace tenon::net {

/// Of long lists the first few hundred or thousand are there, and how many are not. `age`: seconds since they were asked.
std::string status_json(const std::vector<task_row>& tasks, double age = 0);

/// A text that others chose as JSON, and Prometheus, can have it: what is no UTF-8 becomes question marks.
std::string as_utf8(std::string text);

} // namespace tenon::net
