#include <cuda/nccl/library.hpp>

#if defined(TENON_WITH_NCCL)

#include <cuda/device/library.hpp>
#include <tenon/core/error.hpp>

namespace tenon::cuda::nccl {

namespace {

library& opened() {
    static auto& l = *new library("NCCL", {"libnccl.so.2", "libnccl.so"}, library_folders::nccl);
    return l;
}

#define TENON_FUNCTION(name) from.get<decltype(::name)>(#name)
void fill(library& from, std::unique_ptr<const functions>& to) {
    to.reset(new functions{TENON_FUNCTION(ncclCommInitAll), TENON_FUNCTION(ncclCommAbort),
                           TENON_FUNCTION(ncclAllReduce), TENON_FUNCTION(ncclGroupStart), TENON_FUNCTION(ncclGroupEnd),
                           TENON_FUNCTION(ncclGetErrorString)});
}
#if defined(TENON_NCCL_JOINS_PROCESSES)
void fill(library& from, std::unique_ptr<const process_functions>& to) {
    to.reset(new process_functions{TENON_FUNCTION(ncclGetUniqueId), TENON_FUNCTION(ncclCommInitRankConfig),
                                   TENON_FUNCTION(ncclCommGetAsyncError), TENON_FUNCTION(ncclCommFinalize),
                                   TENON_FUNCTION(ncclCommDestroy), TENON_FUNCTION(ncclRedOpCreatePreMulSum),
                                   TENON_FUNCTION(ncclRedOpDestroy)});
}
#endif
#undef TENON_FUNCTION

} // namespace

template <class F> const found<F>& found<F>::get() {
    static const found& f = *[] {
        auto* made = new found;
        try {
            int version = 0; // 22809 of 2.28.9; 2708 of 2.7.8
            (void)opened().get<decltype(::ncclGetVersion)>("ncclGetVersion")(&version);
            const int unit = version < 10000 ? 1000 : 10000;
            opened().require_version(version / unit, version % unit / 100, NCCL_MAJOR, false);
            fill(opened(), made->has);
        } catch (const unavailable_error& e) {
            made->why_not = e.what();
        }
        return made;
    }();
    return f;
}
template const found<functions>& found<functions>::get();
#if defined(TENON_NCCL_JOINS_PROCESSES)
template const found<process_functions>& found<process_functions>::get();
#endif

void require(ncclResult_t answer, const char* call, const std::string& asked) {
    if (answer == ncclSuccess) return;
    const std::string text = std::string(call) + ", for " + asked + ": " +
                             found<functions>::get().has->ncclGetErrorString(answer) +
                             "; NCCL_DEBUG=WARN has it say more";
    if (answer == ncclSystemError || answer == ncclRemoteError) throw unavailable_error(text);
    throw internal_error(text);
}

ncclDataType_t type_of(element_type e) {
    switch (e) {
    case element_type::float64: return ncclFloat64;
    case element_type::float16: return ncclFloat16;
    case element_type::bfloat16: return ncclBfloat16;
    case element_type::int8: return ncclInt8;
    case element_type::int32: return ncclInt32;
    case element_type::int64: return ncclInt64;
    case element_type::uint8: return ncclUint8;
    case element_type::uint32: return ncclUint32;
    case element_type::uint64: return ncclUint64;
    default: return ncclFloat32;
    }
}

} // namespace tenon::cuda::nccl

#endif
