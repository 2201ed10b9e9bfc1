#include <bit>

#include <net/wire/bytes.hpp>

namespace tenon::net {

static_assert(std::endian::native == std::endian::little, "tenon::net: arrays travel as they lie in memory");

} // namespace tenon::net
