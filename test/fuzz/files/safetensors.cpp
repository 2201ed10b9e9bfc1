// Whatever the bytes, a safetensors_file opens and gives arrays that fill them, or throws a tenon::error.
// covers: io/safetensors/safetensors io/files/file

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include <tenon/io/safetensors/safetensors.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const tenon::safetensors_file file(tenon::array<std::uint8_t>(std::span(data, size)), "input");
        std::size_t bytes = 0;
        for (const auto& tensor : file.tensors()) {
            bytes += static_cast<std::size_t>(tensor.end - tensor.begin);
            try {
                const tenon::any_array a = file.load(tensor.name);
                if (a.type() != tensor.type) std::abort();
                if (a.bytes() > 0 && a.copy().bytes() != a.bytes()) std::abort();
            } catch (const tenon::data_loss_error&) { // a bool that is none
            }
        }
        if (bytes >= size) std::abort();
    } catch (const tenon::error&) { // as it should be
    }
    return 0;
}
