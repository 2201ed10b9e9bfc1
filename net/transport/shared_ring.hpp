#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// Bytes from one process to another through memory that both have mapped: a ring with one writer and one reader. Neither trusts the
/// other: each keeps its own count, reads the other's once before it relies on it, and takes one that cannot be for damage.

namespace tenon::net {

/// An open file.
class file_descriptor {
public:
    file_descriptor() = default;
    explicit file_descriptor(int file) noexcept : file_(file) {}
    file_descriptor(file_descriptor&& other) noexcept;
    file_descriptor& operator=(file_descriptor&& other) noexcept;
    ~file_descriptor();
    int get() const noexcept { return file_; }

private:
    int file_ = -1;
};

/// Memory that several processes have, of a file without a name. The file is sealed: for whoever has mapped it, it stays as long as
/// it is.
class shared_pages {
public:
    /// Fresh ones, all zero. Throws resource_exhausted_error where there are none.
    static shared_pages make(std::size_t bytes);
    /// Those of a file that another process has made. Throws failed_precondition_error where the file could become shorter, is no
    /// memory, or is larger than `most`.
    static shared_pages map(const file_descriptor& file, std::size_t most);

    shared_pages(shared_pages&& other) noexcept;
    shared_pages& operator=(shared_pages&&) = delete;
    ~shared_pages();

    std::span<std::byte> memory() const noexcept { return memory_; }
    /// What another process maps it by; none where it was mapped.
    file_descriptor take_file() noexcept;

    /// Bytes that this process has mapped at present.
    static std::size_t mapped() noexcept;

private:
    shared_pages() = default;
    void map(int file, std::size_t bytes);

    std::span<std::byte> memory_;
    file_descriptor file_;
};

/// What the two ends tell each other, at the beginning of the memory; the bytes lie from ring_head_bytes on. Zero at first.
struct ring_head {
    alignas(64) std::uint64_t written; ///< bytes, since the beginning; the writer's
    alignas(64) std::uint64_t read;    ///< likewise; the reader's
    alignas(64) std::uint32_t waiting; ///< 1: the writer is to be told when half of the ring is free
};
inline constexpr std::size_t ring_head_bytes = 4096;

class ring_writer {
public:
    /// In memory that outlives it, more than ring_head_bytes.
    explicit ring_writer(std::span<std::byte> memory) noexcept;
    std::size_t capacity() const noexcept { return bytes_.size(); }
    /// Whether so many bytes, at most half of the capacity, have room. Where not, the reader will say when there may be. Throws
    /// data_loss_error where the reader's count cannot be.
    bool has_room(std::size_t bytes);
    /// Bytes for which there is room. The reader sees them with publish().
    void write(std::span<const std::byte> from) noexcept;
    void publish() noexcept;

private:
    std::size_t room();

    ring_head* head_;
    std::span<std::byte> bytes_;
    std::uint64_t written_ = 0, read_ = 0;
    bool waits_ = false; // as far as this side knows
};

class ring_reader {
public:
    explicit ring_reader(std::span<std::byte> memory) noexcept;
    /// The next bytes. Throws data_loss_error where they have not been written, or the writer's count cannot be.
    void read(std::span<std::byte> to);
    /// Gives the room of what has been read back. True: the writer waits for it, and is to be told.
    bool release() noexcept;

private:
    std::size_t there();

    ring_head* head_;
    std::span<const std::byte> bytes_;
    std::uint64_t read_ = 0;
};

} // namespace tenon::net
