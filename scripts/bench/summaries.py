"""Times what measuring costs: the summaries of training, and the rows of the tables.

    python scripts/bench/summaries.py [--agents rainbow_cartpole rainbow] [--json summaries.json]

For each gin file: how much longer an update takes that is summarised, spread over the agent steps
from one summary to the next, and the time of an episode's row, spread over an episode of 10 agent
steps (about the shortest that CartPole has), each as a share of an agent step. Exits with 1 if
together they are more than 2 %.
"""

import os
import sys

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')

import agents
import measure
import numpy as np

SHORTEST_EPISODE = 10
BOUND = 0.02


def main():
    parser = measure.parser(__doc__)
    parser.add_argument('--agents', nargs='+', default=['rainbow_cartpole', 'rainbow'])
    parser.add_argument('--steps', type=int, default=1500, help='agent steps that are timed')
    arguments = parser.parse_args()
    figures = {}
    for name in arguments.agents:
        made, _ = agents.runner(name)
        agent, tables = made._agent, made._tables
        agents.rate(made, 1000)
        rates = [agents.rate(made, arguments.steps // 5) for _ in range(5)]
        step_us = 1e6 / float(np.median(rates))
        tables.start(0)
        frequency = agent.summary_writing_frequency
        agent.training_steps = frequency

        def summarised(agent=agent):
            agent._summarized_at = None
            agent._update_online_network()

        def plain(agent=agent, frequency=frequency):
            agent._summarized_at = frequency
            agent._update_online_network()

        times = measure.medians_us(
            {
                'update': plain,
                'summarised update': summarised,
                'row': lambda tables=tables: tables.write_episode('train', 10, 10.0, 1, 0.1),
            },
            400,
        )
        summary = (times['summarised update'] - times['update']) / frequency
        row = times['row'] / SHORTEST_EPISODE
        share = (summary + row) / step_us
        figures[name] = {**times, 'agent step': step_us, 'share': share}
        print(
            f'{name:24}{100 * share:6.2f} % of an agent step of {step_us:.0f} us: a summary every '
            f'{frequency} agent steps takes {summary * frequency:.0f} us, a row {times["row"]:.0f} us'
        )
    measure.finish({'summaries': figures}, arguments.json)
    return int(any(f['share'] > BOUND for f in figures.values()))


if __name__ == '__main__':
    sys.exit(main())
