#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// Compiled kernels on disk, for later processes.

namespace tenon::cuda::tapes {

/// One file for each key, of which several may be one file. Files appear at once, complete; what is damaged or of another version is
/// as if it were not there. Whatever goes wrong with files goes unsaid: there is no cache then. Thread-safe, and safe beside other
/// processes.
class disk_cache {
public:
    static constexpr std::uint64_t usual_bytes = std::uint64_t{256} << 20;

    /// An empty folder: no cache.
    explicit disk_cache(std::filesystem::path folder, std::uint64_t most_bytes = usual_bytes);
    /// $TENON_CACHE_DIR, else $XDG_CACHE_HOME/tenon, else ~/.cache/tenon; in it the folder "tapes". Empty where there is none of them.
    static std::filesystem::path usual_folder();

    std::optional<std::string> load(const std::string& key) const;
    /// Those that were not used for longest are removed where the files become more than `most_bytes`.
    void store(const std::vector<std::string>& keys, const std::string& image) const;

    const std::filesystem::path& folder() const noexcept { return folder_; }

private:
    std::filesystem::path file_of(const std::string& key) const { return folder_ / (key + ".tape"); }
    void shrink() const;

    std::filesystem::path folder_;
    std::uint64_t most_bytes_;
};

} // namespace tenon::cuda::tapes
