// Letters of sounds: a spectrum for each step, read in both directions. spectra: float[batch, time, n].
#pragma once

#include <tenon/tenon.hpp>

namespace models {
namespace tn = tenon;
namespace nn = tenon::nn;

template <int Letters, int Hidden> auto speech() {
    return
        [front = nn::conv1d<Hidden, 5, tn::conv1d_options{.padding = tn::same}>(nn::relu), forth = nn::lstm<Hidden>(),
         back = nn::lstm<Hidden>({.reversed = true}), head = nn::dense<Letters + 1>()](const auto& spectra) {
            const auto x = front(spectra);
            const auto forward = forth(x).sequence;
            return head(tn::concat<-1>(forward, back(x).sequence));
        };
}

auto speech_loss(const auto& model, const auto& spectra, const auto& letters, const auto& times, const auto& lengths) {
    return nn::ctc(model(spectra), letters, times, lengths);
}

} // namespace models
