#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <net/transport/handover.hpp>

namespace tenon::net {

namespace {

[[noreturn]] void unavailable(const char* what) {
    throw unavailable_error(std::string(what) + ": " + std::strerror(errno));
}

void fill_random(std::span<std::byte> to) {
    if (::getrandom(to.data(), to.size(), 0) != static_cast<ssize_t>(to.size()))
        unavailable("the system gives no random bytes");
}

struct local_address {
    sockaddr_un at{};
    socklen_t size = 0;
    const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&at); }
};

// An abstract name begins with a zero. No other service has such ones, whatever the bytes.
local_address address_of(const handover_offer& o) {
    constexpr char digits[] = "0123456789abcdef";
    std::string name("\0tenon/", 7);
    for (const std::byte b : o.name) {
        name += digits[std::to_integer<unsigned>(b) >> 4];
        name += digits[std::to_integer<unsigned>(b) & 15];
    }
    local_address a;
    a.at.sun_family = AF_UNIX;
    std::memcpy(a.at.sun_path, name.data(), name.size());
    a.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    return a;
}

file_descriptor local_socket() {
    file_descriptor s(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (s.get() < 0) unavailable("there is no socket of this machine");
    return s;
}

// Of the process that connected, or that listens.
uid_t user_of(const file_descriptor& s) {
    ucred who{};
    socklen_t size = sizeof who;
    if (::getsockopt(s.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) unavailable("nobody says whose it is");
    return who.uid;
}

} // namespace

bytes write(const handover_offer& o) {
    byte_writer w;
    w.raw(o.name.data(), o.name.size());
    w.raw(o.secret.data(), o.secret.size());
    return w.take();
}

handover_offer read_handover_offer(std::span<const std::byte> from) {
    byte_reader r(from, "an offer of shared memory");
    handover_offer o;
    std::ranges::copy(r.raw(o.name.size()), o.name.begin());
    std::ranges::copy(r.raw(o.secret.size()), o.secret.begin());
    r.end();
    return o;
}

giving_end::giving_end() : listening_(local_socket()) {
    fill_random(offer_.name);
    fill_random(offer_.secret);
    const local_address a = address_of(offer_);
    if (::bind(listening_.get(), a.get(), a.size) != 0 || ::listen(listening_.get(), 8) != 0)
        unavailable("nobody can come to a socket of this machine");
}

void giving_end::give(const file_descriptor& file) {
    // Somebody else may have come before; a few are looked at.
    for (int i = 0; i < 8; ++i) {
        const file_descriptor come(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (come.get() < 0) unavailable("the other process has not come for the memory");
        decltype(offer_.secret) shown{};
        if (user_of(come) != ::geteuid() ||
            ::recv(come.get(), shown.data(), shown.size(), MSG_DONTWAIT) != static_cast<ssize_t>(shown.size()) ||
            shown != offer_.secret)
            continue;
        char nothing = 0;
        iovec with{&nothing, 1};
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
        msghdr m{};
        m.msg_iov = &with;
        m.msg_iovlen = 1;
        m.msg_control = control;
        m.msg_controllen = sizeof control;
        cmsghdr* const c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        const int number = file.get();
        std::memcpy(CMSG_DATA(c), &number, sizeof number);
        if (::sendmsg(come.get(), &m, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) unavailable("memory cannot be given away");
        return;
    }
    throw permission_denied_error("others than the other process have come for the memory");
}

taking_end::taking_end(const handover_offer& offer) : socket_(local_socket()) {
    const local_address a = address_of(offer);
    if (::connect(socket_.get(), a.get(), a.size) != 0)
        unavailable("the other process's socket is not to be found here");
    if (const uid_t user = user_of(socket_); user != ::geteuid())
        throw permission_denied_error("the other process is of user " + std::to_string(user) + ", this one of user " +
                                      std::to_string(::geteuid()));
    if (::send(socket_.get(), offer.secret.data(), offer.secret.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
        static_cast<ssize_t>(offer.secret.size()))
        unavailable("the other process's socket does not listen");
}

file_descriptor taking_end::take() {
    char nothing = 0;
    iovec with{&nothing, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr m{};
    m.msg_iov = &with;
    m.msg_iovlen = 1;
    m.msg_control = control;
    m.msg_controllen = CMSG_LEN(sizeof(int)); // for one file: the system closes what is more
    const ssize_t n = ::recvmsg(socket_.get(), &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    const cmsghdr* const c = n > 0 ? CMSG_FIRSTHDR(&m) : nullptr;
    int number = -1;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
        std::memcpy(&number, CMSG_DATA(c), sizeof number);
    if (number < 0) throw unavailable_error("the other process has given no memory");
    return file_descriptor(number);
}

} // namespace tenon::net
