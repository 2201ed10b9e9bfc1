// error: layer.*deprecated.*use dense\(\)
#include <tenon/core/config.hpp>

#pragma GCC diagnostic error "-Wdeprecated-declarations"

TENON_DEPRECATED("use dense()") inline int layer() { return 1; }

#ifdef TENON_EXPECT_ERROR
int answer = layer();
#endif
