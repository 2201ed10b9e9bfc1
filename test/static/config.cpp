#include <tenon/core/config.hpp>

// Versions are compared where the preprocessor decides, too.
#if TENON_VERSION_NUMBER < TENON_MAKE_VERSION(0, 1, 0) || \
    TENON_VERSION_NUMBER >= TENON_MAKE_VERSION(TENON_VERSION_MAJOR + 1, 0, 0)
#error "TENON_VERSION_NUMBER is not that of the version"
#endif
static_assert(TENON_MAKE_VERSION(0, 1, 999) < TENON_MAKE_VERSION(0, 2, 0));
static_assert(TENON_MAKE_VERSION(0, 999, 999) < TENON_MAKE_VERSION(1, 0, 0));

// What is deprecated works as before (compile_fail/deprecated.cpp: and says so).
struct TENON_DEPRECATED("use layer") old_layer;
template <class T> struct TENON_DEPRECATED("use layer") old_layer_of {};
TENON_DEPRECATED("use layer()") constexpr int old_function();
