#pragma once

#if defined(TENON_WITH_NCCL)

#include <memory>
#include <string>

#include <nccl.h>

#include <tenon/core/element_type.hpp>

/// NCCL, which is opened when it is first needed.

namespace tenon::cuda::nccl {

/// What is called of it. Where one of them is missing, none can be used.
struct functions {
    decltype(&::ncclCommInitAll) ncclCommInitAll;
    decltype(&::ncclCommAbort) ncclCommAbort;
    decltype(&::ncclAllReduce) ncclAllReduce;
    decltype(&::ncclGroupStart) ncclGroupStart;
    decltype(&::ncclGroupEnd) ncclGroupEnd;
    decltype(&::ncclGetErrorString) ncclGetErrorString;
};

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 14, 0)
#define TENON_NCCL_JOINS_PROCESSES 1
/// Beside those, for several processes: of NCCL 2.14, whose calls can be made to return before they are done.
struct process_functions {
    decltype(&::ncclGetUniqueId) ncclGetUniqueId;
    decltype(&::ncclCommInitRankConfig) ncclCommInitRankConfig;
    decltype(&::ncclCommGetAsyncError) ncclCommGetAsyncError;
    decltype(&::ncclCommFinalize) ncclCommFinalize;
    decltype(&::ncclCommDestroy) ncclCommDestroy;
    decltype(&::ncclRedOpCreatePreMulSum) ncclRedOpCreatePreMulSum;
    decltype(&::ncclRedOpDestroy) ncclRedOpDestroy;
};
#endif

template <class F> struct found {
    std::unique_ptr<const F> has;
    std::string why_not; ///< where it has none
    static const found& get();
};

/// Throws what a call answered. What went wrong with the network or another process: unavailable_error; else internal_error.
void require(ncclResult_t answer, const char* call, const std::string& asked);
ncclDataType_t type_of(element_type e);

} // namespace tenon::cuda::nccl

#endif
