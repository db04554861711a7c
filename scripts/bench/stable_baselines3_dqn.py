"""Trains Stable-Baselines3's DQN on CartPole with the settings of `dqn_cartpole.gin`, on demand.

For each line of standard input, a number of agent steps, it trains for that many and prints how many
it took a second. A process of its own and without TensorFlow, beside which PyTorch may crash.
"""

import sys
import time

sys.modules['tensorflow'] = None  # which PyTorch's TensorBoard would load

import gymnasium  # noqa: E402
import stable_baselines3  # noqa: E402


def main():
    model = stable_baselines3.DQN(
        'MlpPolicy',
        gymnasium.make('CartPole-v1', max_episode_steps=200),
        learning_rate=0.001,
        buffer_size=50_000,
        learning_starts=500,
        batch_size=128,
        gamma=0.99,
        train_freq=4,
        gradient_steps=1,
        target_update_interval=100,
        exploration_initial_eps=0.01,
        exploration_final_eps=0.01,
        policy_kwargs={'net_arch': [512, 512]},
        device='cpu',
    )
    for line in sys.stdin:
        before, start = model.num_timesteps, time.perf_counter()
        model.learn(int(line), log_interval=None, reset_num_timesteps=False)
        print((model.num_timesteps - before) / (time.perf_counter() - start), flush=True)


if __name__ == '__main__':
    main()
