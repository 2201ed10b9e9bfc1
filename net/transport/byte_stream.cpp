#include <atomic>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <unistd.h>

#include <net/transport/byte_stream.hpp>

namespace tenon::net {

byte_stream::~byte_stream() {
    // What has come and nobody reads would make the system take back what has just been sent.
    ::shutdown(socket_, SHUT_WR);
    char ignored[4096];
    for (int i = 0; i < 64 && ::recv(socket_, ignored, sizeof ignored, MSG_DONTWAIT) > 0; ++i) continue;
    ::close(socket_);
}

void byte_stream::shut_down() noexcept { ::shutdown(socket_, SHUT_RDWR); }

namespace {

class plain_stream final : public byte_stream {
public:
    using byte_stream::byte_stream;

    result read(std::span<std::byte> first, std::span<std::byte> then) override {
        iovec to[2] = {{first.data(), first.size()}, {then.data(), then.size()}};
        for (;;) {
            const ssize_t n = then.empty() ? ::recv(socket(), first.data(), first.size(), 0) : ::readv(socket(), to, 2);
            if (n > 0) return {outcome::done, static_cast<std::size_t>(n)};
            if (n == 0) return {outcome::ended};
            if (errno != EINTR) return gone_wrong();
        }
    }

    result write(std::span<const iovec> from) override {
        // A few bytes are sooner copied together than gathered by the system.
        std::byte few[512];
        iovec whole{few, 0};
        for (const iovec& i : from) {
            if (i.iov_len > sizeof few - whole.iov_len) {
                whole.iov_base = nullptr;
                break;
            }
            if (i.iov_len > 0) std::memcpy(few + whole.iov_len, i.iov_base, i.iov_len);
            whole.iov_len += i.iov_len;
        }
        msghdr m{};
        m.msg_iov = whole.iov_base ? &whole : const_cast<iovec*>(from.data());
        m.msg_iovlen = whole.iov_base ? 1 : from.size();
        for (;;) {
            const ssize_t n = ::sendmsg(socket(), &m, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n >= 0) return {outcome::done, static_cast<std::size_t>(n)};
            if (errno != EINTR) return gone_wrong();
        }
    }

    bool short_read_is_all() const noexcept override { return true; }
    std::string error() const override { return std::strerror(error_.load()); }

private:
    result gone_wrong() noexcept {
        if (errno == EAGAIN || errno == EWOULDBLOCK) return {outcome::blocked};
        error_ = errno;
        return {outcome::failed};
    }

    std::atomic<int> error_{0}; // readers and writers may both fail
};

} // namespace

std::unique_ptr<byte_stream> make_plain_stream(int socket) { return std::make_unique<plain_stream>(socket); }

} // namespace tenon::net
