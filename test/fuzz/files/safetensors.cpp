// Whatever the bytes, a safetensors_file opens and gives arrays that fill them, or throws a tenon::error.
// covers: io/safetensors/safetensors io/files/file

#include <tenon/io/safetensors/safetensors.hpp>

#include "fuzz/fuzzing.hpp"

void try_input(const fuzz::input& in) {
    fuzz::is_read<tenon::error>([&] {
        const tenon::safetensors_file file(tenon::array<std::uint8_t>(in.raw()), "input");
        std::size_t bytes = 0;
        for (const auto& tensor : file.tensors()) {
            bytes += static_cast<std::size_t>(tensor.end - tensor.begin);
            fuzz::is_read<tenon::data_loss_error>([&] { // a bool that is none
                const tenon::any_array a = file.load(tensor.name);
                if (a.type() != tensor.type) std::abort();
                if (a.bytes() > 0 && a.copy().bytes() != a.bytes()) std::abort();
            });
        }
        if (bytes >= in.size()) std::abort();
    });
}
