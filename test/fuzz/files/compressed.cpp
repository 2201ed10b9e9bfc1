// gzip, zlib and zstd of any bytes: at most as much comes out as these can have packed, the same in large pieces and in small ones,
// and again from the middle.
// covers: io/files/compressed io/files/zstd

#include <algorithm>

#include <io/sources.hpp>

#include "fuzz/fuzzing.hpp"

namespace {

struct outcome {
    std::string bytes, error;
};

outcome unpack(tenon::readable_file& file, std::size_t piece, std::size_t most) {
    outcome o;
    std::string part(piece, '\0');
    try {
        while (const std::size_t n = file.read(part.data(), piece)) {
            o.bytes.append(part, 0, n);
            if (o.bytes.size() > most) std::abort();
        }
    } catch (const tenon::error& e) {
        o.error = e.what();
        if (!o.error.starts_with("'it': ")) std::abort();
        o.error.resize(std::min(o.error.size(), o.error.find(" (")));         // the words of zlib, which depend on
        o.error.resize(std::min(o.error.size(), o.error.find(", at byte "))); // how much it is given, as does the byte
    }
    return o;
}

} // namespace

void try_input(const fuzz::input& in) {
    if (in.size() == 0) return;
    constexpr tenon::compression kinds[] = {tenon::compression::automatic, tenon::compression::gzip,
                                            tenon::compression::zlib, tenon::compression::zstd};
    const std::string bytes = in.text(1);
    const auto open = [&](bool pipe) {
        auto file = std::make_unique<test_file>(bytes);
        file->pipe = pipe;
        file->at_once = pipe ? 3 : bytes.size();
        return tenon::unpacked(std::move(file), "it", kinds[in[0] % 4]);
    };
    fuzz::is_read<tenon::unimplemented_error>([&] { // of a build without zlib
        const auto most = static_cast<std::size_t>(
            tenon::detail::most_unpacked(static_cast<std::int64_t>(in.size()), tenon::compression::zstd));
        const auto file = open(false);
        const outcome all = unpack(*file, 1 << 16, most);
        const outcome piped = unpack(*open(true), 17, most);
        // Of a stored block of zstd that is damaged, what came of it before is given; of one that came whole, nothing.
        const bool same = kinds[in[0] % 4] == tenon::compression::gzip || kinds[in[0] % 4] == tenon::compression::zlib
                              ? piped.bytes == all.bytes
                              : piped.bytes.starts_with(all.bytes);
        if (!same || piped.error != all.error) std::abort();
        const std::size_t at = all.bytes.empty() ? 0 : in[0] % all.bytes.size();
        file->seek(at);
        const outcome rest = unpack(*file, 1 << 10, most);
        if (rest.bytes != all.bytes.substr(at) || rest.error != all.error) std::abort();
    });
}
