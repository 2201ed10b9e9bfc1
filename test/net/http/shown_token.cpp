#include <net/http/place.hpp>
#include <net/http/shown_token.hpp>

#include "tests.hpp"

using namespace tenon::net;

TEST_CASE("a token is taken out of headers as they are written, and out of none that look alike") {
    CHECK(bearer_of("Bearer secret") == "secret");
    CHECK(bearer_of(" bearer   secret ") == "secret");
    CHECK(bearer_of("BEARER a b") == "a b");
    CHECK(bearer_of("Bearersecret") == "");
    CHECK(bearer_of("Basic c2VjcmV0") == "");
    CHECK(bearer_of("Bearer") == "");
    CHECK(bearer_of("") == "");
    CHECK(cookie_of("a=1; tenon_http=x; b=2", "tenon_http") == "x");
    CHECK(cookie_of("tenon_http=x=y", "tenon_http") == "x=y");
    CHECK(cookie_of("not_tenon_http=x;tenon_http", "tenon_http") == "");
    CHECK(cookie_of(";;;=;tenon_http=", "tenon_http") == "");
    CHECK(cookie_of("tenon_http=first; tenon_http=second", "tenon_http") == "first");

    const token_check t("secret");
    CHECK(t.is_wanted());
    CHECK(t.is_token("secret"));
    CHECK_FALSE(t.is_token("secre"));
    CHECK_FALSE(t.is_token("secret "));
    CHECK_FALSE(t.is_token(""));
    CHECK(t.is_cookie(t.cookie()));
    CHECK_FALSE(t.is_cookie("secret"));
    CHECK_FALSE(t.is_token(t.cookie()));
    CHECK_FALSE(contains(t.cookie(), "secret"));
    CHECK(t.cookie() != token_check("secret2").cookie());
    CHECK_FALSE(token_check("").is_wanted());
}

TEST_CASE("where it serves: this machine, unless told; beyond it by a token, and TLS or by name") {
    const auto at = [](std::string where, std::string token = {}, bool tls = false, bool insecure = false) {
        http_options o{.where = std::move(where), .said_by = "TENON_HTTP", .token = std::move(token)};
        if (tls) o.tls = {"chain.pem", "key.pem", {}};
        o.insecure = insecure;
        return http_address(o);
    };
    CHECK(at("8080") == "127.0.0.1:8080");
    CHECK(at("0") == "127.0.0.1:0");
    CHECK(at("localhost:80") == "localhost:80");
    CHECK(at("[::1]:80") == "[::1]:80");
    CHECK(at("0.0.0.0:80", "secret", true) == "0.0.0.0:80");
    CHECK(at(":80", "secret", false, true) == ":80");
    for (const char* const wrong : {"65536", "host", "a b:1", "-1", "http://localhost:80", ":", "[::1:80"}) {
        CAPTURE(wrong);
        CHECK_ERROR(tn::invalid_argument_error, "TENON_HTTP=\"", at(wrong));
    }
    CHECK_ERROR(tn::permission_denied_error, "give the server a token", at(":80"));
    CHECK_ERROR(tn::permission_denied_error, "give the server a token", at("0.0.0.0:80", "", true, true));
    CHECK_ERROR(tn::permission_denied_error, "it is not encrypted", at("0.0.0.0:80", "secret"));
    CHECK_THROWS_AS(at("node7:80", "secret"), tn::permission_denied_error);
}
