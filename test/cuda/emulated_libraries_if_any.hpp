#pragma once

#include "emulator_if_any.hpp"

/// The same of the libraries beside it.

#if defined(TENON_CUDA_EMULATED)
#include "emulator/cublaslt.hpp"
#if defined(TENON_WITH_NCCL)
#include "emulator/nccl.hpp"
#endif
#endif
