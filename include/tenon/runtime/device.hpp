#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/kernel/kernel.hpp>
#include <tenon/kernel/memory_account.hpp>
#include <tenon/kernel/memory_allocator.hpp>
#include <tenon/kernel/resources.hpp>

/// What a session asks of a device: its own memory, its own kernels, and work that goes on while the caller does.

namespace tenon {

struct op_definition;

struct device_attributes {
    std::string name;        ///< "/device:CPU:0"
    std::string type;        ///< "CPU"
    std::int64_t memory = 0; ///< bytes
    std::string description;
};

/// A point in a device's work: reached when all work queued before it has ended.
class device_event {
public:
    virtual ~device_event() = default;
    virtual bool reached() const = 0;
    virtual void wait() = 0;
};

/// A device runs kernels in the order they are queued. On the CPU a queued kernel has ended when launch returns;
/// a GPU's goes on, and its errors come with the event.
class device : public memory_allocator {
public:
    virtual const device_attributes& attributes() const = 0;
    const std::string& name() const override { return attributes().name; }

    virtual void copy_from_host(void* to, const void* from, std::size_t bytes) = 0;
    virtual void copy_to_host(void* to, const void* from, std::size_t bytes) = 0;

    /// This device's kernel for an op; nullptr where it has none.
    virtual kernel_factory kernel_of(const op_definition& op) const = 0;
    virtual void launch(kernel& k, const kernel_run& r) = 0;
    virtual std::unique_ptr<device_event> record() = 0;

    /// Their memory is this device's.
    virtual resource_manager& resources() = 0;
    /// Counts what is allocated.
    virtual memory_account& memory() = 0;
};

/// Memory of a device, which must outlive it.
class device_memory {
public:
    device_memory() = default;
    /// Throws what device::allocate throws.
    device_memory(device& d, std::size_t bytes) : device_(&d), data_(d.allocate(bytes)), bytes_(bytes) {}
    ~device_memory() {
        if (device_) device_->deallocate(data_, bytes_);
    }
    device_memory(device_memory&& from) noexcept :
        device_(std::exchange(from.device_, nullptr)), data_(from.data_), bytes_(from.bytes_) {}
    device_memory& operator=(device_memory&& from) noexcept {
        std::swap(device_, from.device_);
        std::swap(data_, from.data_);
        std::swap(bytes_, from.bytes_);
        return *this;
    }
    void* data() const noexcept { return data_; }

private:
    device* device_ = nullptr;
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

/// The CPU of this process, of whose memory so many bytes may be taken (0: all there are).
std::unique_ptr<device> make_cpu_device(std::size_t memory_limit = 0);

/// The devices of this process: its CPU.
std::vector<device_attributes> list_physical_devices();

} // namespace tenon

#if TENON_HEADER_ONLY
#include <tenon/runtime/device.ipp>
#endif
