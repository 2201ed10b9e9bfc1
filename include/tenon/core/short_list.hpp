#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include <tenon/core/config.hpp>

/// A list that is nearly always short.

namespace tenon {

/// A std::vector of trivial values, of which the first Few take no memory of their own.
template <class T, std::uint32_t Few> class short_list {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
    using value_type = T;
    using iterator = T*;
    using const_iterator = const T*;

    short_list() noexcept {}
    short_list(std::initializer_list<T> values) { append(values.begin(), values.end()); }
    template <class Iterator> short_list(Iterator first, Iterator last) { append(first, last); }
    short_list(const short_list& o) { append(o.begin(), o.end()); }
    short_list(short_list&& o) noexcept { take(o); }
    short_list& operator=(const short_list& o) {
        if (this != &o) {
            clear();
            append(o.begin(), o.end());
        }
        return *this;
    }
    short_list& operator=(short_list&& o) noexcept {
        if (this != &o) {
            give_back();
            take(o);
        }
        return *this;
    }
    ~short_list() { give_back(); }

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    T* data() noexcept { return is_short() ? few_ : many_; }
    const T* data() const noexcept { return is_short() ? few_ : many_; }
    T* begin() noexcept { return data(); }
    T* end() noexcept { return data() + size_; }
    const T* begin() const noexcept { return data(); }
    const T* end() const noexcept { return data() + size_; }
    T& operator[](std::size_t i) noexcept { return data()[i]; }
    const T& operator[](std::size_t i) const noexcept { return data()[i]; }
    T& front() noexcept { return *begin(); }
    const T& front() const noexcept { return *begin(); }
    T& back() noexcept { return end()[-1]; }
    const T& back() const noexcept { return end()[-1]; }

    void reserve(std::size_t n) {
        if (n > capacity_) grow(n);
    }
    void push_back(T value) {
        if (size_ == capacity_) grow(size_ + std::size_t{1});
        data()[size_++] = value;
    }
    /// What it appends is not of the list itself.
    template <class Iterator> void append(Iterator first, Iterator last) {
        const auto more = static_cast<std::size_t>(last - first);
        reserve(size_ + more);
        std::copy(first, last, end());
        size_ += static_cast<std::uint32_t>(more);
    }
    void resize(std::size_t n, T value = T{}) {
        reserve(n);
        if (n > size_) std::fill(end(), data() + n, value);
        size_ = static_cast<std::uint32_t>(n);
    }
    void erase(const T* first, const T* last) noexcept {
        T* const to = begin() + (first - begin());
        size_ = static_cast<std::uint32_t>(std::copy(last, static_cast<const T*>(end()), to) - begin());
    }
    void erase(const T* at) noexcept { erase(at, at + 1); }
    void clear() noexcept { size_ = 0; }

    friend bool operator==(const short_list& a, const short_list& b) noexcept {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

private:
    bool is_short() const noexcept { return capacity_ == Few; }
    void give_back() noexcept {
        if (!is_short()) delete[] many_;
    }
    // Of another, which is empty then.
    void take(short_list& o) noexcept {
        if (o.is_short()) std::copy(o.few_, o.few_ + o.size_, few_);
        else many_ = o.many_;
        size_ = std::exchange(o.size_, 0);
        capacity_ = std::exchange(o.capacity_, Few);
    }
    void grow(std::size_t n) {
        const auto capacity = static_cast<std::uint32_t>(std::max(n, std::size_t{2} * capacity_));
        T* const made = new T[capacity];
        std::copy(begin(), end(), made);
        give_back();
        many_ = made;
        capacity_ = capacity;
    }

    union {
        T few_[Few];
        T* many_;
    };
    std::uint32_t size_ = 0, capacity_ = Few; // Few: they are in few_
};

} // namespace tenon
