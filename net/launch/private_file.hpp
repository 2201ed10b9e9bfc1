#pragma once

#include <string>

/// Files that this user alone may read, and folders that it alone may enter.

namespace tenon::net {

/// Such a folder of this host, for what this user's processes tell each other; make_private_folder() makes it.
std::string private_folder();
/// Whether it is such a folder.
bool is_private_folder(const std::string& path);
/// Makes it where it is not there. Throws permission_denied_error where it is another user's, or others can enter it, and unavailable_error
/// where it cannot be made.
void make_private_folder(const std::string& path);

/// Writes it beside its place and renames it, so that nobody reads half of it; one that is there is replaced. Throws unavailable_error
/// that names it and says why.
void write_private_file(const std::string& path, const std::string& text);

/// Its text, of `most` bytes at most. Throws unavailable_error where it cannot be read, is longer or no file, belongs to another user, or
/// others may write it.
std::string read_private_file(const std::string& path, std::size_t most);

} // namespace tenon::net
