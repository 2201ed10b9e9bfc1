# Letters of sounds: a spectrum for each step, read in both directions. spectra: float[batch, time, n].
import torch.nn.functional as F
from torch import nn


class Speech(nn.Module):
    def __init__(self, size, letters, hidden):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(size, hidden, 5, padding=2), nn.ReLU())
        self.lstm = nn.LSTM(hidden, hidden, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, letters + 1)

    def forward(self, spectra):
        x = self.front(spectra.transpose(1, 2)).transpose(1, 2)
        h, _ = self.lstm(x)
        return self.head(h)


def speech_loss(model, spectra, letters, times, lengths):
    log_probabilities = model(spectra).log_softmax(-1).transpose(0, 1)
    return F.ctc_loss(log_probabilities, letters, times, lengths)
