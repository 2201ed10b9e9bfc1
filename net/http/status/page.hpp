#pragma once

#include <string>

/// The page that a browser is shown: one file that has all it needs.

namespace tenon::net {

const std::string& http_page();
/// The Content-Security-Policy that it is served with: its own style and script, and questions to where it comes from, nothing else.
const std::string& http_page_policy();

} // namespace tenon::net
