#pragma once

#include <type_traits>

#if __has_include(<Eigen/Core>)
#include <Eigen/Core>
#else // as Debian installs it, for those who have not asked for its include folder
#include <eigen3/Eigen/Core>
#endif

#include <tenon/core/array/array.hpp>

/// Arrays as Eigen's maps: no copy, and the array's memory must outlive the map. The only public header that
/// includes Eigen; include it where you want to compute with Eigen.

namespace tenon {

namespace detail {

template <class T> using eigen_matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T> using eigen_vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

inline void require_rank(const any_array& a, int rank, const char* what) {
    if (a.rank() != rank)
        throw invalid_argument_error(std::string(what) + ": " + to_string(a.type()) + " has rank " +
                                     std::to_string(a.rank()) + "; reshape it to rank " + std::to_string(rank));
}

} // namespace detail

/// A row-major matrix over an array of rank 2; invalid_argument_error for another rank.
template <Element T, class S>
    requires std::is_arithmetic_v<T> Eigen::Map<detail::eigen_matrix<T>> as_matrix(array<T, S>& a) {
        detail::require_rank(a, 2, "as_matrix");
        return {a.data(), a.extent(0), a.extent(1)};
    }
template <Element T>
    requires std::is_arithmetic_v<T> Eigen::Map<const detail::eigen_matrix<T>> as_matrix(const array_base<T>& a) {
        detail::require_rank(a, 2, "as_matrix");
        return {a.data(), a.extent(0), a.extent(1)};
    }

/// A column vector over an array of rank 1; invalid_argument_error for another rank.
template <Element T, class S>
    requires std::is_arithmetic_v<T> Eigen::Map<detail::eigen_vector<T>> as_vector(array<T, S>& a) {
        detail::require_rank(a, 1, "as_vector");
        return {a.data(), a.extent(0)};
    }
template <Element T>
    requires std::is_arithmetic_v<T> Eigen::Map<const detail::eigen_vector<T>> as_vector(const array_base<T>& a) {
        detail::require_rank(a, 1, "as_vector");
        return {a.data(), a.extent(0)};
    }

// A map of a temporary would dangle.
template <Element T> void as_matrix(const array_base<T>&&) = delete;
template <Element T> void as_vector(const array_base<T>&&) = delete;

} // namespace tenon
