#pragma once

#include <cstddef>
#include <span>

#include <tenon/concurrency/exit_gate.hpp>

namespace tenon::net {

/// Whoever calls OpenSSL, which ends in exit(), has one meanwhile.
class openssl_use {
public:
    openssl_use();

private:
    tenon::detail::exit_gate::use inside_;
};

/// Bytes that nobody can foresee.
void random_bytes(std::span<std::byte> to);

} // namespace tenon::net
