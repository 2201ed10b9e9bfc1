// What cuDNN needs of CUDA's driver to make plans: it takes the kernels that are compiled for GPUs that are only described, and runs none. A
// library of the driver's name: whoever opens that by its name afterwards gets this one.

namespace {
constexpr int success = 0, not_found = 500, not_supported = 801; // of CUresult
int something = 0;
} // namespace

extern "C" {

int cuInit(unsigned) { return success; }
int cuDeviceGetCount(int* count) { return *count = 1, success; }
int cuGetExportTable(const void** table, const void*) { return *table = nullptr, not_found; }
int cuGetErrorName(int, const char** name) { return *name = "an answer of no driver", success; }
int cuGetErrorString(int, const char** text) { return *text = "there is no driver", success; }
int cuLibraryLoadData(void** library, const void*, void*, void*, unsigned, void*, void*, unsigned) {
    return *library = &something, success;
}
int cuLibraryUnload(void*) { return success; }
int cuLibraryGetKernel(void** kernel, void*, const char*) { return *kernel = &something, success; }
int cuModuleLoadData(void** module, const void*) { return *module = &something, success; }
int cuModuleUnload(void*) { return success; }
int cuModuleGetFunction(void** function, void*, const char*) { return *function = &something, success; }

// What it looks for at the same time, and does not call.
#define TENON_NOT_THERE(NAME) \
    int NAME() { return not_supported; }
TENON_NOT_THERE(cuCtxGetCurrent)
TENON_NOT_THERE(cuCtxGetLimit)
TENON_NOT_THERE(cuCtxPopCurrent)
TENON_NOT_THERE(cuCtxPushCurrent)
TENON_NOT_THERE(cuDeviceGet)
TENON_NOT_THERE(cuDriverGetVersion)
TENON_NOT_THERE(cuKernelGetAttribute)
TENON_NOT_THERE(cuKernelGetFunction)
TENON_NOT_THERE(cuKernelSetAttribute)
TENON_NOT_THERE(cuLaunchCooperativeKernel)
TENON_NOT_THERE(cuLaunchKernel)
TENON_NOT_THERE(cuLaunchKernelEx)
TENON_NOT_THERE(cuLibraryLoadFromFile)
TENON_NOT_THERE(cuLinkAddData)
TENON_NOT_THERE(cuLinkComplete)
TENON_NOT_THERE(cuLinkCreate)
TENON_NOT_THERE(cuLinkDestroy)
TENON_NOT_THERE(cuOccupancyMaxPotentialClusterSize)
TENON_NOT_THERE(cuStreamGetCtx)
TENON_NOT_THERE(cuTensorMapEncodeIm2col)
TENON_NOT_THERE(cuTensorMapEncodeTiled)
}
