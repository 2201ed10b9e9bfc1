#pragma once

#include <unsupported/Eigen/FFT>

#include <tenon/dense/fourier/fourier.hpp>

namespace tenon::dense {

template <class T> struct fourier_transform<T>::library { Eigen::internal::kissfft_impl<T> plans; };

template <class T>
fourier_transform<T>::fourier_transform(std::int64_t n) :
    library_(std::make_unique<library>()), n_(static_cast<int>(n)) {}
template <class T> fourier_transform<T>::~fourier_transform() = default;

template <class T> void fourier_transform<T>::forward(const std::complex<T>* x, std::complex<T>* y) {
    if (n_ == 1) *y = *x; // which the library cannot
    else library_->plans.fwd(y, x, n_);
}
template <class T> void fourier_transform<T>::inverse(const std::complex<T>* y, std::complex<T>* x) {
    if (n_ == 1) *x = *y;
    else library_->plans.inv(x, y, n_);
}
template <class T> void fourier_transform<T>::forward_real(const T* x, std::complex<T>* y) {
    if (n_ == 1) *y = *x;
    else library_->plans.fwd(y, x, n_);
}
template <class T> void fourier_transform<T>::inverse_real(const std::complex<T>* y, T* x) {
    if (n_ == 1) *x = y->real();
    else library_->plans.inv(x, y, n_);
}

#if !TENON_HEADER_ONLY
template class fourier_transform<float>;
template class fourier_transform<double>;
#endif

} // namespace tenon::dense
