"""Draws `replay.png`: a small replay buffer, which transitions can be sampled, and one that is."""

import drawing
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from dopamine_lite import colours
from dopamine_lite.tf.replay_memory import circular_replay_buffer

CAPACITY, STACK_SIZE, HORIZON = 24, 3, 2
EPISODES = (6, 7, 9)  # transitions of each; the last has not ended
SAMPLED = 13


def fill() -> circular_replay_buffer.OutOfGraphReplayBuffer:
    """Returns a buffer of frames that are just numbered, from 1 on; padding is 0."""
    buffer = circular_replay_buffer.OutOfGraphReplayBuffer(
        observation_shape=(),
        stack_size=STACK_SIZE,
        replay_capacity=CAPACITY,
        batch_size=1,
        update_horizon=HORIZON,
    )
    frame = 0
    for episode, length in enumerate(EPISODES):
        for step in range(length):
            frame += 1
            is_last = step == length - 1 and episode < len(EPISODES) - 1
            buffer.add(frame, action=0, reward=0.0, terminal=is_last)
    return buffer


def draw() -> Figure:
    buffer = fill()
    frames, terminals = buffer._store['observation'], buffer._store['terminal']
    names = [element.name for element in buffer.get_transition_elements()]
    batch = dict(zip(names, buffer.sample_transition_batch(1, [SAMPLED]), strict=True))
    state, next_state = batch['state'][0], batch['next_state'][0]

    figure = drawing.new_figure(10, 3.4)
    axes = figure.add_subplot()
    axes.set_axis_off()
    fill_of = {'valid': colours.SKY_BLUE, 'stored': '#DDDDDD', 'padding': 'white'}
    for index in range(CAPACITY):
        kind = 'padding' if frames[index] == 0 else 'stored'
        if buffer.is_valid_transition(index):
            kind = 'valid'
        axes.add_patch(
            Rectangle((index, 0), 1, 1, facecolor=fill_of[kind], edgecolor='black', linewidth=1)
        )
        axes.text(index + 0.5, 0.5, str(frames[index]), ha='center', va='center', fontsize=11)
        axes.text(
            index + 0.5, -0.3, str(index), ha='center', va='center', fontsize=8, color='#444444'
        )
        if terminals[index]:
            axes.plot([index + 1] * 2, [-0.1, 1.1], color=colours.VERMILION, linewidth=4)
    axes.annotate(
        'cursor: the next\ntransition goes here',
        (buffer.cursor() + 0.5, -0.5),
        (buffer.cursor() + 0.5, -1.5),
        ha='center',
        va='center',
        fontsize=drawing.FONT,
        arrowprops={'arrowstyle': '-|>', 'color': 'black'},
    )

    def brace(first: int, count: int, height: float, text: str, colour: str) -> None:
        left, right = first + 0.1, first + count - 0.1
        axes.plot(
            [left, left, right, right],
            [height - 0.15, height, height, height - 0.15],
            color=colour,
            lw=2,
        )
        axes.text(
            (left + right) / 2, height + 0.1, text, ha='center', va='bottom', fontsize=drawing.FONT
        )

    def numbered(stack) -> str:
        return '[' + ', '.join(str(number) for number in stack) + ']'

    brace(SAMPLED - STACK_SIZE + 1, STACK_SIZE, 1.4, f'state {numbered(state)}', colours.BLUE)
    brace(SAMPLED, HORIZON, 2.2, f'{HORIZON} rewards', colours.GREEN)
    brace(
        SAMPLED + HORIZON - STACK_SIZE + 1,
        STACK_SIZE,
        3.0,
        f'next state {numbered(next_state)}',
        colours.PURPLE,
    )
    axes.legend(
        handles=[
            Patch(facecolor=fill_of['valid'], edgecolor='black', label='can be sampled'),
            Patch(
                facecolor=fill_of['stored'], edgecolor='black', label='stored, cannot be sampled'
            ),
            Patch(facecolor=fill_of['padding'], edgecolor='black', label='padding'),
            Patch(facecolor=colours.VERMILION, label='terminal'),
        ],
        loc='lower left',
        bbox_to_anchor=(0.0, 0.0),
        ncols=4,
        frameon=False,
        fontsize=drawing.FONT,
    )
    axes.text(-0.2, 0.5, 'frame', ha='right', va='center', fontsize=drawing.FONT)
    axes.text(-0.2, -0.3, 'index', ha='right', va='center', fontsize=8, color='#444444')
    axes.set_xlim(-1.6, CAPACITY + 0.6)
    axes.set_ylim(-2.7, 3.6)
    return figure


if __name__ == '__main__':
    drawing.save(draw(), __file__)
