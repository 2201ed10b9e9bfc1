#pragma once

#include <cstddef>

#include <nvrtc.h>

/// NVRTC on a machine without it: the host's compiler makes kernels for the emulated GPU of the same sources.

namespace tenon::emulator {

/// Programs that were compiled, or should have been.
std::size_t nvrtc_programs();
/// The next `times` programs are not compiled, and answer this.
void fail_nvrtc(nvrtcResult answer, int times);

/// While this lives, programs wait before they are compiled.
class nvrtc_pause {
public:
    nvrtc_pause();
    ~nvrtc_pause();
    nvrtc_pause(nvrtc_pause&&) = delete;
};

} // namespace tenon::emulator
