# An actor and a critic (A2C). state: float[batch, n]; action: int64[batch]; reward: float[batch], all that followed.
import torch.nn.functional as F
from torch import nn


class ActorCritic(nn.Module):
    def __init__(self, size, actions):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(size, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.actor = nn.Linear(64, actions)
        self.critic = nn.Linear(64, 1)

    def forward(self, state):
        h = self.body(state)
        return self.actor(h), self.critic(h).squeeze(1)


def actor_critic_loss(model, state, action, reward):
    logits, value = model(state)
    surprise = (reward - value).detach()
    chosen = F.cross_entropy(logits, action, reduction="none")
    entropy = -(logits.softmax(1) * logits.log_softmax(1)).sum(1)
    return (chosen * surprise).mean() + 0.5 * F.mse_loss(value, reward) - 0.01 * entropy.mean()
