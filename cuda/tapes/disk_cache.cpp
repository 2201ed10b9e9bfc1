#include <cuda/tapes/disk_cache.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <unistd.h>

#include <cuda/tapes/hash.hpp>

namespace tenon::cuda::tapes {

namespace fs = std::filesystem;

namespace {

// A file: this line, the keys with a line each, an empty line, the hash of what follows in a line, the image.
constexpr std::string_view first_line = "tenon compiled tapes 1\n";

std::string content_of(const std::vector<std::string>& keys, const std::string& image) {
    std::string text(first_line);
    for (const std::string& k : keys) text += k + "\n";
    return text + "\n" + hash_of(image).text() + "\n" + image;
}

// The image, where `text` is whole and was made for the key.
std::optional<std::string> image_in(const std::string& text, const std::string& key) {
    if (!text.starts_with(first_line)) return {};
    bool ours = false;
    for (std::size_t at = first_line.size();;) {
        const std::size_t end = text.find('\n', at);
        if (end == std::string::npos) return {};
        const std::string line = text.substr(at, end - at);
        at = end + 1;
        if (!line.empty()) {
            ours = ours || line == key;
            continue;
        }
        const std::size_t hash_end = text.find('\n', at);
        if (hash_end == std::string::npos || !ours) return {};
        std::string image = text.substr(hash_end + 1);
        if (image.empty() || hash_of(image).text() != text.substr(at, hash_end - at)) return {};
        return image;
    }
}

} // namespace

disk_cache::disk_cache(fs::path folder, std::uint64_t most_bytes) :
    folder_(std::move(folder)), most_bytes_(most_bytes) {}

fs::path disk_cache::usual_folder() {
    const auto set = [](const char* name) -> fs::path {
        const char* value = std::getenv(name);
        return value ? value : "";
    };
    fs::path folder = set("TENON_CACHE_DIR");
    if (folder.empty() && !set("XDG_CACHE_HOME").empty()) folder = set("XDG_CACHE_HOME") / "tenon";
    if (folder.empty() && !set("HOME").empty()) folder = set("HOME") / ".cache" / "tenon";
    return folder.empty() ? folder : folder / "tapes";
}

std::optional<std::string> disk_cache::load(const std::string& key) const {
    if (folder_.empty()) return {};
    const fs::path file = file_of(key);
    std::ifstream in(file, std::ios::binary);
    if (!in) return {};
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    std::optional<std::string> image = image_in(text, key);
    std::error_code ignored;
    if (image) fs::last_write_time(file, fs::file_time_type::clock::now(), ignored); // it was used
    return image;
}

void disk_cache::store(const std::vector<std::string>& keys, const std::string& image) const {
    if (folder_.empty() || keys.empty()) return;
    std::error_code failed;
    fs::create_directories(folder_, failed);
    if (failed) return;
    static std::atomic<unsigned> made{0};
    const std::string own = std::to_string(getpid()) + "." + std::to_string(made.fetch_add(1));
    const fs::path whole = folder_ / ("new." + own), link = folder_ / ("link." + own);
    {
        std::ofstream out(whole, std::ios::binary | std::ios::trunc);
        const std::string text = content_of(keys, image);
        out.write(text.data(), static_cast<std::streamsize>(text.size()));
        out.close();
        if (!out) {
            fs::remove(whole, failed);
            return;
        }
    }
    // Kernels that were compiled together share the file; each name appears at once.
    for (std::size_t k = 1; k < keys.size(); ++k) {
        fs::create_hard_link(whole, link, failed);
        if (failed) fs::copy_file(whole, link, failed);
        if (!failed) fs::rename(link, file_of(keys[k]), failed);
        // Of two names of one file, rename() leaves both.
        std::error_code ignored;
        fs::remove(link, ignored);
    }
    fs::rename(whole, file_of(keys[0]), failed);
    std::error_code ignored;
    fs::remove(whole, ignored);
    shrink();
}

void disk_cache::shrink() const {
    struct entry {
        fs::path path;
        fs::file_time_type used;
        std::uint64_t bytes;
    };
    std::vector<entry> files;
    std::uint64_t all = 0;
    std::error_code failed;
    for (fs::directory_iterator at(folder_, failed), end; !failed && at != end; at.increment(failed)) {
        std::error_code gone;
        if (at->path().extension() != ".tape") continue;
        const std::uint64_t links = std::max<std::uint64_t>(1, at->hard_link_count(gone));
        const std::uint64_t bytes = at->file_size(gone);
        const auto used = at->last_write_time(gone);
        if (gone) continue;
        files.push_back({at->path(), used, bytes / links + 1});
        all += files.back().bytes;
    }
    if (all <= most_bytes_) return;
    std::sort(files.begin(), files.end(), [](const entry& a, const entry& b) { return a.used < b.used; });
    for (const entry& f : files) {
        if (all <= most_bytes_) break;
        std::error_code ignored;
        fs::remove(f.path, ignored);
        all -= f.bytes;
    }
}

} // namespace tenon::cuda::tapes
