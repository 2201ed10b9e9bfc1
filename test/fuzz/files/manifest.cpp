// Reads a manifest and a list of checkpoints from any bytes: what is none is an error of two kinds, what is one is written and
// read again.
// covers: train/checkpoint/manifest io/json/json_value io/json/json_parse core/xxh64

#include <tenon/core/error.hpp>
#include <tenon/train/checkpoint/manifest.hpp>

#include "fuzz/fuzzing.hpp"

namespace {

template <class Read, class Write> void read_twice(const std::string& text, Read read, Write write) {
    fuzz::is_read<tenon::data_loss_error, tenon::unimplemented_error>([&] {
        const auto first = read(text);
        fuzz::require(read(write(first)) == first, "what was read is not what was written");
    });
}

} // namespace

void try_input(const fuzz::input& in) {
    const std::string text = in.text();
    read_twice(
        text, [](const std::string& t) { return tenon::checkpoint_manifest::from_json(t, "m"); },
        [](const tenon::checkpoint_manifest& m) { return m.to_json(); });
    read_twice(
        text, [](const std::string& t) { return tenon::detail::kept_of_json(t, "m"); },
        [](const std::vector<tenon::detail::kept_checkpoint>& k) { return tenon::detail::json_of_kept(k); });
    (void)tenon::detail::checkpoint_file_of(text, "model");
}
