#include <bit>

#include <net/transport/transport.hpp>

namespace tenon::net {

static_assert(std::endian::native == std::endian::little, "tenon::net: arrays travel as they lie in memory");

} // namespace tenon::net
