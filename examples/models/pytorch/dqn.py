# Deep Q-learning: what an action is worth in a state, learnt of pairs of states by a network that follows slowly.
import torch
import torch.nn.functional as F
from torch import nn


def dqn(size, actions):
    return nn.Sequential(nn.Linear(size, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, actions))


def dqn_loss(model, target, state, action, reward, following, ended):
    taken = model(state).gather(1, action[:, None])
    with torch.no_grad():
        future = target(following).max(1).values
    return F.huber_loss(taken.squeeze(1), reward + 0.99 * (1 - ended) * future)
