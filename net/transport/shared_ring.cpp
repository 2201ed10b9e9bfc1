#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <net/transport/shared_ring.hpp>
#include <tenon/core/error.hpp>

namespace tenon::net {

// ---- files ----

file_descriptor::file_descriptor(file_descriptor&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
file_descriptor& file_descriptor::operator=(file_descriptor&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
}
file_descriptor::~file_descriptor() {
    if (file_ >= 0) ::close(file_);
}

// ---- pages ----

namespace {

std::atomic<std::size_t> bytes_mapped{0};

[[noreturn]] void none(const char* what) {
    throw resource_exhausted_error(std::string("no memory to share: ") + what + ": " + std::strerror(errno));
}

} // namespace

std::size_t shared_pages::mapped() noexcept { return bytes_mapped.load(); }

shared_pages::shared_pages(shared_pages&& other) noexcept :
    memory_(std::exchange(other.memory_, {})), file_(std::move(other.file_)) {}

shared_pages::~shared_pages() {
    if (memory_.empty()) return;
    ::munmap(memory_.data(), memory_.size());
    bytes_mapped -= memory_.size();
}

file_descriptor shared_pages::take_file() noexcept { return std::move(file_); }

void shared_pages::map(int file, std::size_t size) {
    void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    if (at == MAP_FAILED) none("mmap");
    memory_ = {static_cast<std::byte*>(at), size};
    bytes_mapped += size;
}

shared_pages shared_pages::make(std::size_t size) {
    shared_pages p;
    p.file_ = file_descriptor(::memfd_create("tenon", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    const int file = p.file_.get();
    if (file < 0) none("memfd_create");
    // Pages are there from the beginning: later there would be nobody to tell that there are none.
    if (const int wrong = ::posix_fallocate(file, 0, static_cast<off_t>(size))) {
        errno = wrong;
        none("fallocate");
    }
    if (::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) none("F_ADD_SEALS");
    p.map(file, size);
    return p;
}

shared_pages shared_pages::map(const file_descriptor& file, std::size_t most) {
    const auto refuse = [](const std::string& why) {
        return failed_precondition_error("the memory that was given " + why);
    };
    // A file that can be sealed is memory. Of huge pages there could be none when they are touched.
    const int seals = ::fcntl(file.get(), F_GET_SEALS);
    if (seals < 0) throw refuse("is none");
    if (!(seals & F_SEAL_SHRINK)) throw refuse("could become less");
    struct stat is {};
    struct statfs on {};
    if (::fstat(file.get(), &is) != 0 || ::fstatfs(file.get(), &on) != 0 || on.f_type != TMPFS_MAGIC)
        throw refuse("is of another kind");
    const auto size = static_cast<std::uint64_t>(is.st_size);
    if (size <= ring_head_bytes || size > most)
        throw refuse("has " + std::to_string(size) + " bytes, where at most " + std::to_string(most) + " are taken");
    shared_pages p;
    p.map(file.get(), static_cast<std::size_t>(size));
    return p;
}

// ---- the ring ----

namespace {

std::atomic_ref<std::uint64_t> shared(std::uint64_t& n) { return std::atomic_ref(n); }

[[noreturn]] void damaged(const char* who, std::uint64_t count) {
    throw data_loss_error(std::string("shared memory: the ") + who + " says that it is at byte " +
                          std::to_string(count) + ", where it cannot be");
}

} // namespace

ring_writer::ring_writer(std::span<std::byte> memory) noexcept :
    head_(reinterpret_cast<ring_head*>(memory.data())), bytes_(memory.subspan(ring_head_bytes)) {}

std::size_t ring_writer::room() {
    const std::uint64_t read = shared(head_->read).load();
    if (read - read_ > written_ - read_) damaged("reader", read);
    read_ = read;
    return bytes_.size() - static_cast<std::size_t>(written_ - read_);
}

bool ring_writer::has_room(std::size_t size) {
    bool is_there = room() >= size;
    if (!is_there) {
        waits_ = true;
        std::atomic_ref(head_->waiting).store(1);
        is_there = room() >= size; // what was given back before the reader could see who waits
    }
    if (is_there && std::exchange(waits_, false)) std::atomic_ref(head_->waiting).store(0);
    return is_there;
}

void ring_writer::write(std::span<const std::byte> from) noexcept {
    const auto at = static_cast<std::size_t>(written_ % bytes_.size());
    const std::size_t first = std::min(from.size(), bytes_.size() - at);
    std::memcpy(bytes_.data() + at, from.data(), first);
    if (first < from.size()) std::memcpy(bytes_.data(), from.data() + first, from.size() - first);
    written_ += from.size();
}

void ring_writer::publish() noexcept { shared(head_->written).store(written_, std::memory_order_release); }

ring_reader::ring_reader(std::span<std::byte> memory) noexcept :
    head_(reinterpret_cast<ring_head*>(memory.data())), bytes_(memory.subspan(ring_head_bytes)) {}

std::size_t ring_reader::there() {
    const std::uint64_t written = shared(head_->written).load(std::memory_order_acquire);
    if (written - read_ > bytes_.size()) damaged("writer", written);
    return static_cast<std::size_t>(written - read_);
}

void ring_reader::read(std::span<std::byte> to) {
    if (const std::size_t n = there(); n < to.size())
        throw data_loss_error("shared memory: " + std::to_string(to.size()) + " bytes are announced, where " +
                              std::to_string(n) + " have been written");
    const auto at = static_cast<std::size_t>(read_ % bytes_.size());
    const std::size_t first = std::min(to.size(), bytes_.size() - at);
    std::memcpy(to.data(), bytes_.data() + at, first);
    if (first < to.size()) std::memcpy(to.data() + first, bytes_.data(), to.size() - first);
    read_ += to.size();
}

bool ring_reader::release() noexcept {
    shared(head_->read).store(read_);
    if (std::atomic_ref(head_->waiting).load() == 0) return false;
    const std::uint64_t left = shared(head_->written).load(std::memory_order_relaxed) - read_;
    if (left > bytes_.size() / 2) return false;
    return std::atomic_ref(head_->waiting).exchange(0) == 1;
}

} // namespace tenon::net
