#pragma once

#include <array>
#include <string>
#include <string_view>

/// The token, as who asks by HTTP shows it.

namespace tenon::net {

/// Of "Bearer TOKEN"; empty where it is none.
std::string_view bearer_of(std::string_view authorization) noexcept;
/// The value of a cookie, of "a=1; b=2"; empty where there is none of this name.
std::string_view cookie_of(std::string_view cookies, std::string_view name) noexcept;

/// Knows a token without keeping it. Thread-safe.
class token_check {
public:
    static constexpr const char* cookie_name = "tenon_http";

    /// An empty token: nothing has to be shown.
    explicit token_check(const std::string& token);

    bool is_wanted() const noexcept { return is_wanted_; }
    // They take as long whatever differs.
    bool is_token(std::string_view shown) const;
    bool is_cookie(std::string_view shown) const;
    /// What a browser shows from then on: made from the token, from which it cannot be made again.
    const std::string& cookie() const noexcept { return cookie_; }

private:
    using digest = std::array<unsigned char, 32>;

    bool is_wanted_;
    digest digest_{};
    std::string cookie_;
};

} // namespace tenon::net
