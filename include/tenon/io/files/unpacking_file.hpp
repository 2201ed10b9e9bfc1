#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/io/files/file_system.hpp>

namespace tenon::detail {

/// A packed file, unpacked while it is read: what the formats share. It is made of members, one after another, which a format may
/// call frames. Where it is cut off or damaged, what came before is given, then data_loss_error.
class unpacking_file : public readable_file {
public:
    std::size_t read(void* to, std::size_t bytes) final {
        std::size_t done = 0;
        while (done < bytes && !ended_) {
            if (fault_) {
                if (done > 0) break; // what came before it is given first
                std::rethrow_exception(fault_);
            }
            if (left_ == 0 && !more_waits_ && !refill()) continue;
            if (between_members_ && !begin_member()) continue;
            done += unpack(static_cast<unsigned char*>(to) + done, std::min<std::size_t>(bytes - done, 1U << 30));
        }
        at_ += done;
        return done;
    }
    void seek(std::uint64_t position) final {
        if (position < at_) {
            from_->seek(0);
            restart();
            left_ = 0;
            at_ = taken_ = 0;
            between_members_ = ended_ = more_waits_ = false;
            fault_ = nullptr;
        }
        std::vector<std::byte> passed(std::min<std::uint64_t>(position - at_, 1 << 16));
        while (at_ < position)
            if (read(passed.data(), std::min<std::uint64_t>(position - at_, passed.size())) == 0) break;
    }
    std::int64_t size() const final { return -1; }

protected:
    /// `kind` is how messages call what is packed: "the gzipped data".
    unpacking_file(std::unique_ptr<readable_file> from, std::string path, std::string kind) :
        from_(std::move(from)), path_(std::move(path)), kind_(std::move(kind)), packed_(1 << 16) {}

    /// Unpacks at most `room` bytes of what next_ and left_ say, and takes from these what it has used. Sets more_waits_,
    /// between_members_ and, by damaged() or fail(), the fault.
    virtual std::size_t unpack(unsigned char* to, std::size_t room) = 0;
    /// Bytes follow a member. Whether another one begins with them; where none does, they are used or a fault.
    virtual bool begin_member() = 0;
    /// Forgets what it was unpacking.
    virtual void restart() = 0;

    void damaged(const std::string& what) { fail<data_loss_error>(what); }
    template <class Error> void fail(const std::string& what) {
        fault_ = std::make_exception_ptr(Error("'" + path_ + "': the " + kind_ + " data " + what + ", at byte " +
                                               std::to_string(taken_ - left_) + " of the file"));
    }

    const unsigned char* next_ = nullptr; ///< what was read of the file and is not unpacked yet,
    std::size_t left_ = 0;                ///< so many bytes
    bool more_waits_ = false;             ///< in the library, for which there was no room
    bool between_members_ = false;

private:
    bool refill() {
        try {
            next_ = packed_.data();
            left_ = from_->read(packed_.data(), packed_.size());
        } catch (...) {
            fault_ = std::current_exception();
            return false;
        }
        taken_ += left_;
        if (left_ > 0) return true;
        if (between_members_) ended_ = true;
        else damaged(taken_ == 0 ? "is empty: not even its header is there" : "ends too early");
        return false;
    }

    std::unique_ptr<readable_file> from_;
    std::string path_, kind_;
    std::vector<unsigned char> packed_;
    std::uint64_t at_ = 0;    // of what is unpacked
    std::uint64_t taken_ = 0; // of the file
    bool ended_ = false;
    std::exception_ptr fault_; // told when all that came before it has been given
};

} // namespace tenon::detail
