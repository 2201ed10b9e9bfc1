#pragma once

/// For tests that run on a real GPU, too, and ask the emulated one for more: its controls, where TENON_CUDA_EMULATED is defined. (What
/// includes those itself is a test of the emulated GPU alone.)

#if defined(TENON_CUDA_EMULATED)
#include "emulator/control.hpp"
#endif
